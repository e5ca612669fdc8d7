/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows on standard error what a command is about to spend or destroy, and asks whether to do it. -y skips
 * the question, never the plan.
 */
#ifndef CLI_FRAME_PLAN_H
#define CLI_FRAME_PLAN_H

#include <stdint.h>

#include "cli/frame/command.h"
#include "market/money.h"

enum { PLAN_RATE = 80 };

struct plan {
	char *title;
	struct plan_line {
		const char *label; /* "": continues the line before */
		char *text;
	} *lines;
	size_t count;
};

void plan_init(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void plan_release(struct plan *p);
void plan_add(struct plan *p, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void plan_show(struct nanopod *np, const struct plan *p); /* as {"plan":{…}} where errors are JSON */

/* 0, or an exit status where there is neither a terminal to ask on nor -y. Called before the market is asked. */
int plan_can_ask(struct nanopod *np, const struct options *o);

/* 0, or an exit status that names -y where there is no terminal to ask on. */
int plan_is_heard(struct nanopod *np);

/* No exit status: the plan was all that --dry-run asks for. The command returns it, and run ends with STATUS_OK. */
enum { PLAN_SHOWN = -1000 };

/* 0: yes, -y or --explain. Else PLAN_SHOWN, or an exit status, after saying that nothing was changed. */
int plan_agree(struct nanopod *np, const struct options *o, const char *question);

/* "$2.10 per GPU-hour"; gpus 0: "$16.80 per node-hour". */
const char *plan_rate(int64_t price, unsigned gpus, char room[PLAN_RATE]);

/* Of nodes at that price: micro-dollars an hour. */
int64_t plan_burn(int64_t price, int64_t nodes);

#endif
