/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod host: host.c has the table of actions, host_join.c joining, host_market.c the market, host_hours.c hours that
 * come again, host_room.c what fits, host_check.c what another machine measured, host_price.c prices and floors,
 * host_drain.c hosts in and out of service, host_power.c power; all use host_agent.c.
 */
#ifndef CLI_CMD_HOST_HOST_H
#define CLI_CMD_HOST_HOST_H

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/trade/window.h"
#include "cli/trade/market_link.h"
#include "cli/trade/sku_list.h"

enum { HOST_SAID_MAX = 1 << 20, HOST_WORDS = 96, HOST_ROOM = 200 };

/* The command line of nanopod-agentd, with --data and --sysfs-root; callers add more words. */
struct host_agentd {
	char *program;
	const char *words[HOST_WORDS]; /* ends with NULL */
	size_t count;
};

/* 0, or an exit status after an error that tells where it was looked for. */
/* As plan_can_ask, where the agent does it: what it asks of the market, --explain cannot print. */
int host_agentd_can_ask(struct nanopod *np, const struct options *o, const char *verb);
int host_agentd_find(struct nanopod *np, const struct options *o, struct host_agentd *out);
void host_agentd_release(struct host_agentd *a);
void host_agentd_add(struct host_agentd *a, const char *word); /* NULL: none */

/*
 * Runs it. out: gets its output; NULL: the output goes where ours goes. what ("cannot join 'https://…'"): its
 * error becomes ours after these words; NULL: it prints errors itself. An exit status; deadline_ms 0: none.
 */
int host_agentd_run(struct nanopod *np, const struct host_agentd *a, const char *const *env, struct buf *out,
	int64_t deadline_ms, const char *what);

/* How many nodes of the type a machine has room for; -1: unknown, or the type promises nothing of it. */
int64_t host_room_count(const struct model_sizes *has, const struct sku *sku);
/* "8 GPUs, 208 vCPUs, 2 TiB memory, 28 TiB disk"; NULL: unknown. */
const char *host_room_text(const struct model_sizes *has, char room[HOST_ROOM]);

int host_check(struct nanopod *np, const struct options *o);
int host_join(struct nanopod *np, const struct options *o, char **words);
int host_leave(struct nanopod *np, const struct options *o, char **words);
int host_token(struct nanopod *np, const struct options *o, char **words);
int host_status(struct nanopod *np, const struct options *o, char **words);
int host_power_show(struct nanopod *np, const struct options *o, char **words);
int host_power_plan(struct nanopod *np, const struct options *o, char **words);
int host_power_sweep(struct nanopod *np, const struct options *o, char **words);
int host_power_set(struct nanopod *np, const struct options *o, char **words);
int host_list(struct nanopod *np, const struct options *o, char **words);
int host_drain(struct nanopod *np, const struct options *o, char **words);
int host_undrain(struct nanopod *np, const struct options *o, char **words);
int host_price(struct nanopod *np, const struct options *o, char **words);
int host_floor(struct nanopod *np, const struct options *o, char **words);
int host_volumes(struct nanopod *np, const struct options *o, char **words);
int host_offer(struct nanopod *np, const struct options *o, char **words);

enum { HOST_HOURS = 64 };

/* The windows of --hours that are offered. */
struct host_hours {
	struct hours_window list[HOST_HOURS];
	size_t count;
};

/* --hours, where it is given. An exit status. */
int host_hours_read(struct nanopod *np, const struct options *o, struct hours *out);
int host_hours_plan(struct market_link *m, const struct hours *h, int64_t from, int64_t until, struct host_hours *out);
int host_hours_offer(struct market_link *m, const struct options *o, const char *host, int64_t price, unsigned gpus,
	const struct host_hours *w);

#endif
