/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a receiver of usage events is, on disk: the ledger's own cursor, which moves when the receiver has accepted
 * what is before it, and never earlier. The events themselves stay in the ledger.
 */
#ifndef CLI_METER_METERBOOK_H
#define CLI_METER_METERBOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { METER_CURSOR = 64 };

struct meter_book {
	char *path;
	int lock;
	uint64_t key;              /* which receiver it is */
	char cursor[METER_CURSOR]; /* "": nothing was accepted yet */
	int64_t events;            /* that were accepted */
};

/* Reads it, or begins one, and keeps others from it. 0, -EBUSY where another command has it, or -errno. */
int meter_book_open(struct meter_book *b, const char *path, uint64_t key, struct fail *f);
void meter_book_close(struct meter_book *b);

/* On disk when it returns 0. */
int meter_book_move(struct meter_book *b, const char *cursor, int64_t events, struct fail *f);

/* Is what stands at that place of the ledger, "SEQ-N…", accepted? */
bool meter_book_has(const struct meter_book *b, const char *place);

#endif
