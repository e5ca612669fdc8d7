/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the automatic extensions of one reservation have cost, in the state folder: a budget counts across crashes.
 * One command at a time holds it, so two of them cannot spend one budget twice.
 */
#ifndef CLI_TRADE_SPENDING_H
#define CLI_TRADE_SPENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

struct spending {
	char *path, *key;
	int lock; /* -1: read only */
	int64_t micros;
	char order[64]; /* the last that was added */
};

void spending_init(struct spending *s);

/*
 * key: market, account and reservation. hold: to add to it; -EBUSY where another command holds it. A file that cannot
 * be read is an error, because what it says was spent must not be forgotten. 0, or a negative code with a sentence.
 */
int spending_open(struct spending *s, const char *key, bool hold, struct fail *f);
void spending_close(struct spending *s);

/* Returns when the sum is on disk. The same order twice in a row counts once. */
int spending_add(struct spending *s, const char *order, int64_t micros, struct fail *f);
int spending_reset(struct spending *s, struct fail *f);

/* The reservation is over: removes the file. */
void spending_forget(struct spending *s);

#endif
