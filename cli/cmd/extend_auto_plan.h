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
	size_t count;       /* extensions that this command saw */
	int64_t retry_ms;   /* nothing is bought before */
	int status, number; /* exit status of the last trouble, 0: none; the signal */
	char trouble[400];  /* as it was said; "": none */
	bool away;          /* the last look failed */
	bool shorter;       /* somebody released or sold its end */
	bool line;
};

bool extend_auto_priced(const struct auto_extend *a);
int64_t extend_auto_spent(const struct auto_extend *a);
int64_t extend_auto_left(const struct auto_extend *a); /* of the budget */
int64_t extend_auto_lead(const struct auto_extend *a); /* seconds before the end */
int64_t extend_auto_now(const struct auto_extend *a);

void extend_auto_show(struct auto_extend *a);

#endif
