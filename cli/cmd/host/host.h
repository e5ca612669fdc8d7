/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host: host.c's table takes joining from host_join.c, what the market knows from host_market.c; all use host_agent.c. */
#ifndef CLI_CMD_HOST_HOST_H
#define CLI_CMD_HOST_HOST_H

#include "base/buf.h"
#include "cli/frame/command.h"

enum { HOST_SAID_MAX = 1 << 20, HOST_WORDS = 32 };

/* nanopod-agentd with what --data and --sysfs-root say, to be run with more words. */
struct host_agentd {
	char *program;
	const char *words[HOST_WORDS]; /* ends with NULL */
	size_t count;
};

/* 0, or an exit status and it was said where it was looked for. */
int host_agentd_find(struct nanopod *np, const struct options *o, struct host_agentd *out);
void host_agentd_release(struct host_agentd *a);
void host_agentd_add(struct host_agentd *a, const char *word); /* NULL: none */

/*
 * Runs it. out: what it said, or NULL: it goes where ours goes. What it complains of becomes our error, after
 * `what` ("cannot join 'https://…'"); NULL: it says it itself, as it goes. An exit status; deadline_ms 0: none.
 */
int host_agentd_run(struct nanopod *np, const struct host_agentd *a, const char *const *env, struct buf *out,
	int64_t deadline_ms, const char *what);

int host_join(struct nanopod *np, const struct options *o, char **words);
int host_leave(struct nanopod *np, const struct options *o, char **words);
int host_token(struct nanopod *np, const struct options *o, char **words);
int host_status(struct nanopod *np, const struct options *o, char **words);
int host_offer(struct nanopod *np, const struct options *o, char **words);

#endif
