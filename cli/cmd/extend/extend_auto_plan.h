/* SPDX-License-Identifier: Apache-2.0 */
/* What `extend --auto-extend` knows while it runs, and the plan that it shows before. */
#ifndef CLI_CMD_EXTEND_EXTEND_AUTO_PLAN_H
#define CLI_CMD_EXTEND_EXTEND_AUTO_PLAN_H

#include "cli/cmd/extend/extend_auto.h"
#include "cli/cmd/extend/bought.h"
#include "cli/trade/spending.h"

/* So many nodes end then, as it was bought: they are extended. */
struct auto_end {
	int64_t at, nodes;
	int64_t cost, price; /* of the next extension, as last quoted; cost -1: cannot be bought now */
	bool spent;          /* that costs more than is left */
	int status;          /* exit status of its last trouble; 0: none */
	char trouble[400];   /* as it was said; "": none */
};

struct auto_extend {
	struct deal *d;
	struct deal_order e;
	struct spending since;
	struct rows *rows;
	int64_t budget, step;    /* micro-dollars; seconds */
	struct part_end_at *all; /* all ends of the reservation's nodes, as last seen at the market */
	size_t all_count;
	struct auto_end *ends; /* of them those that were bought, the first one first */
	size_t end_count;
	int64_t until;            /* the last of all */
	struct bought bought;     /* the orders that made them */
	bool fresh;               /* as of the last look */
	int64_t paid;             /* what these cost */
	int64_t begun_with;       /* what was spent before this command */
	int64_t sure, sure_total; /* what the market said when it extended: the least that the next look must show */
	struct buf body;          /* of an extension that may have been done; empty: none */
	struct part_end_at asked; /* which end it extends */
	char key[256];
	size_t count;       /* extensions that this command saw */
	int64_t retry_ms;   /* nothing is bought before */
	int status, number; /* exit status of the last trouble with the market, 0: none; the signal */
	char trouble[400];  /* as it was said; "": none */
	int lapsed;         /* exit status of the trouble for which nodes were not extended; 0: none */
	char lapsed_for[400];
	char cannot[400]; /* why one of them cannot be bought when it begins */
	bool away;        /* the last look failed */
	bool shorter;     /* it ends earlier than it did */
	bool lost;        /* and that by its host or its market */
	bool line;
};

bool extend_auto_priced(const struct auto_extend *a);
int64_t extend_auto_spent(const struct auto_extend *a);
int64_t extend_auto_left(const struct auto_extend *a); /* of the budget */
int64_t extend_auto_lead(const struct auto_extend *a); /* seconds before the end */
int64_t extend_auto_now(const struct auto_extend *a);

/* Sets *yes where a host takes the end of one of its nodes back. 0, or a negative code in d->m->fail. */
int extend_auto_taken_back(struct auto_extend *a, bool *yes);

/* The same command with a budget that has room for as much again. */
const char *extend_auto_more(const struct auto_extend *a, struct buf *out);

/* spend-max counts for what one command may spend. */
int extend_auto_check_cap(struct auto_extend *a);

/* A procurement buys for it beside the orders that count. 0, or an exit status after saying so. */
int extend_auto_check_procurements(struct auto_extend *a);

void extend_auto_show(struct auto_extend *a);

#endif
