/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many logs of many nodes at once, in the order of their times: consoles from the market, all else by
 * SSH. To follow survives lost connections, nodes that start again and a market that is away.
 */
#ifndef CLI_LOGS_LOGTAIL_H
#define CLI_LOGS_LOGTAIL_H

#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/logs/logsource.h"
#include "cli/trade/market_link.h"

struct logtail;

/* c: NULL where all are consoles; m: NULL where none is. Both stay the caller's. */
int logtail_new(struct nanopod *np, struct connect *c, struct market_link *m, const struct log_want *w,
	struct logtail **out);
void logtail_free(struct logtail *t);

/* One more. label: the node's name; instance: of a console, else the host is the label. An exit status. */
int logtail_add(struct logtail *t, const char *label, enum log_kind kind, const char *what, const char *instance);

/* A log of a host that is shown by another name than what it is. */
struct logtail_pick {
	const char *label;
	enum log_kind kind;
	const char *what, *name;
	const char *unit;         /* of a file: whose journal else; NULL */
	bool root;                /* where that can be without a word */
	bool optional;            /* where it is not there nothing is said */
};

int logtail_pick(struct logtail *t, const struct logtail_pick *p);

struct logtail_line {
	const char *label, *what; /* what: the name where it has one */
	enum log_kind kind;
	size_t number;            /* of the node, from 0 */
	const struct logline *line;
};

/* Not 0 ends all. */
typedef int (*logtail_fn)(void *arg, const struct logtail_line *l);

/* Until all are at their end, or a signal. An exit status; what failed was said. */
int logtail_run(struct logtail *t, logtail_fn fn, void *arg);

#endif
