/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads many logs of many nodes at once, in the order of their times: consoles from the market, all else by SSH.
 * Following survives lost connections, restarted nodes and a market that is away.
 */
#ifndef CLI_LOGS_LOGTAIL_H
#define CLI_LOGS_LOGTAIL_H

#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/logs/logsource.h"
#include "cli/trade/market_link.h"

struct logtail;

/* c: NULL where all logs are consoles; m: NULL where none is. The caller keeps both. */
int logtail_new(struct nanopod *np, struct connect *c, struct market_link *m, const struct log_want *w,
	struct logtail **out);
void logtail_free(struct logtail *t);

/* Adds a log. label: the node's name; instance: of a console; else the label is the host. An exit status. */
int logtail_add(struct logtail *t, const char *label, enum log_kind kind, const char *what, const char *instance);

/* A log that is shown under another name. */
struct logtail_pick {
	const char *label;
	enum log_kind kind;
	const char *what, *name;
	const char *unit;         /* of a file: whose journal else; NULL */
	bool root;                /* where sudo needs no password */
	bool optional;            /* no error where it does not exist */
};

int logtail_pick(struct logtail *t, const struct logtail_pick *p);

struct logtail_line {
	const char *label, *what; /* what: the name where it has one */
	enum log_kind kind;
	size_t number;            /* of the node, from 0 */
	const struct logline *line;
};

/* Anything but 0 ends the reading. */
typedef int (*logtail_fn)(void *arg, const struct logtail_line *l);

/* Reads until all logs end, or a signal comes. An exit status, after printing what failed. */
int logtail_run(struct logtail *t, logtail_fn fn, void *arg);

#endif
