/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of `nanopod local`: chooses the driver, builds its image, joins the market, runs the daemon. */
#ifndef CLI_LOCAL_LOCALAGENT_H
#define CLI_LOCAL_LOCALAGENT_H

#include <stdbool.h>

#include "cli/frame/command.h"
#include "cli/local/localstate.h"
#include "market/model.h"

struct localagent {
	struct nanopod *np;
	struct localstate *s;
	char *program;          /* nanopod-agentd */
};

/* Exit statuses, after an error message. */
int localagent_open(struct localagent *a, struct nanopod *np, struct localstate *s);
void localagent_close(struct localagent *a);

/*
 * Chooses the driver and keeps it as "driver" and "driver.why": the typed one, else the best that works here.
 * Builds its image where it needs one.
 */
int localagent_driver(struct localagent *a, const char *typed);

/* What this machine has for nodes of the chosen driver; unknown where that does not keep nodes to sizes. */
void localagent_capacity(struct localagent *a, struct model_sizes *out);

bool localagent_joined(const struct localagent *a);
int localagent_join(struct localagent *a, const char *token, const char *type, long nodes);

/* Starts it in the background, with its output in its log, and notes it in agent.pid. */
int localagent_start(struct localagent *a);

/* Stops it; its nodes run on. */
int localagent_end(struct localagent *a);

/* Stops it and every process of its nodes. wipe: removes the nodes' files too. */
int localagent_stop(struct localagent *a, bool wipe);

/* The last line of a log, which tells why its daemon ended; into room. */
const char *localagent_last_words(const char *log, char *room, size_t size);

#endif
