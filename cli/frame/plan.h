/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about to be spent or destroyed, said in full on standard error before it is done, and the
 * question whether to do it. -y takes the question away and never the plan.
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
		const char *label; /* "": goes on with the line before */
		char *text;
	} *lines;
	size_t count;
};

void plan_init(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void plan_release(struct plan *p);
void plan_add(struct plan *p, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void plan_show(struct nanopod *np, const struct plan *p); /* {"plan":{…}} where errors are JSON */

/* Before anything is asked of anybody: nobody can be asked and there is no -y? Then an exit status. */
int plan_can_ask(struct nanopod *np, const struct options *o);

/* Is there anybody who can be asked? Else an exit status that names -y. */
int plan_is_heard(struct nanopod *np);

/* 0: yes, or -y. Else an exit status, and it was said that nothing was done. */
int plan_agree(struct nanopod *np, const struct options *o, const char *question);

/* "$2.10 per GPU-hour"; gpus 0: "$16.80 per node-hour". */
const char *plan_rate(int64_t price, unsigned gpus, char room[PLAN_RATE]);

/* Of nodes at that price: micro-dollars an hour. */
int64_t plan_burn(int64_t price, int64_t nodes);

#endif
