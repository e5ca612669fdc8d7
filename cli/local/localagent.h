/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's side of `nanopod local`: which driver, its image, joining, and the daemon itself. */
#ifndef CLI_LOCAL_LOCALAGENT_H
#define CLI_LOCAL_LOCALAGENT_H

#include <stdbool.h>

#include "cli/frame/command.h"
#include "cli/local/localstate.h"

struct localagent {
	struct nanopod *np;
	struct localstate *s;
	char *program;          /* nanopod-agentd */
};

/* Exit statuses, everything said. */
int localagent_open(struct localagent *a, struct nanopod *np, struct localstate *s);
void localagent_close(struct localagent *a);

/*
 * The driver that is used from now on, kept as "driver" and "driver.why": the one that was typed, else
 * the best that works here, with its image built where it needs one.
 */
int localagent_driver(struct localagent *a, const char *typed);

bool localagent_joined(const struct localagent *a);
int localagent_join(struct localagent *a, const char *token, const char *type, long nodes);

/* Left behind; what it says goes to its log. It is noted in agent.pid. */
int localagent_start(struct localagent *a);

/* TERM, and no node's process is left after it. wipe: nor a file of a node. */
int localagent_stop(struct localagent *a, bool wipe);

/* The last line of a log, for whoever asks why its daemon ended; into room. */
const char *localagent_last_words(const char *log, char *room, size_t size);

#endif
