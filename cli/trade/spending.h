/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the budget of automatic extensions begins: what the reservation had cost when they began, in the state folder.
 * It is written once; what was spent since then is what the market's orders say beyond it. One command at a time holds
 * the file.
 */
#ifndef CLI_TRADE_SPENDING_H
#define CLI_TRADE_SPENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

struct spending {
	char *path, *key;
	int fd;
	bool begun;     /* by an earlier command */
	int64_t before; /* micro-dollars */
};

void spending_init(struct spending *s);

/*
 * key: market, account, reservation and type. hold: to begin it; -EBUSY where another command holds it. A file that
 * says something else is an error, because a budget must not begin anew by accident. 0, or a negative code with a
 * sentence.
 */
int spending_open(struct spending *s, const char *key, bool hold, struct fail *f);
void spending_close(struct spending *s);

/* Returns when it is on disk. Does nothing where it had begun. */
int spending_begin(struct spending *s, int64_t before, struct fail *f);

#endif
