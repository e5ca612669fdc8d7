/* SPDX-License-Identifier: Apache-2.0 */
/* What `extend --auto-extend` knows while it runs, and the plan that it shows before. */
#ifndef CLI_CMD_EXTEND_AUTO_PLAN_H
#define CLI_CMD_EXTEND_AUTO_PLAN_H

#include "cli/cmd/extend_auto.h"
#include "cli/trade/spending.h"

struct auto_extend {
	struct deal *d;
	struct deal_order e;
	struct spending since;
	struct rows *rows;
	int64_t budget, step; /* micro-dollars; seconds */
	int64_t ends, paid;   /* the reservation's end and the cost of its orders, as last seen at the market */
	int64_t begun_with;   /* what was spent before this command */
	int64_t sure, bought; /* what the market said when it extended: the least that the next look must show */
	struct buf body;      /* of an extension that may have been done; empty: none */
	char key[256];
	char last[64];      /* the newest order that paid counts */
	size_t count;       /* extensions that this command saw */
	int64_t retry_ms;   /* nothing is bought before */
	int status, number; /* exit status of the last trouble, 0: none; the signal */
	char trouble[400];  /* as it was said; "": none */
	bool away;          /* the last look failed */
	bool shorter;       /* it ends earlier than it did */
	bool lost;          /* and that by its host or its market */
	bool line;
};

bool extend_auto_priced(const struct auto_extend *a);
int64_t extend_auto_spent(const struct auto_extend *a);
int64_t extend_auto_left(const struct auto_extend *a); /* of the budget */
int64_t extend_auto_lead(const struct auto_extend *a); /* seconds before the end */
int64_t extend_auto_now(const struct auto_extend *a);

/* Nodes that no extension reaches any more: they end by a->ends, while others have time until `end`. */
int64_t extend_auto_behind(const struct auto_extend *a, const struct reservation_part *part, int64_t end);

/* Sets *yes where a host takes the end of one of its nodes back. 0, or a negative code in d->m->fail. */
int extend_auto_taken_back(struct auto_extend *a, bool *yes);

/* Some of its nodes now end before the others, which are extended alone. */
void extend_auto_warn_behind(const struct auto_extend *a, int64_t behind);

/* The same command with a budget that has room for as much again. */
const char *extend_auto_more(const struct auto_extend *a, struct buf *out);

/* spend-max counts for what one command may spend. */
int extend_auto_check_cap(struct auto_extend *a);

/* A procurement buys for it beside the orders that count. 0, or an exit status after saying so. */
int extend_auto_check_procurements(struct auto_extend *a);

void extend_auto_show(struct auto_extend *a);

#endif
