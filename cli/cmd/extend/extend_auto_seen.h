/* SPDX-License-Identifier: Apache-2.0 */
/* What one look of `extend --auto-extend` at the market finds. */
#ifndef CLI_CMD_EXTEND_EXTEND_AUTO_SEEN_H
#define CLI_CMD_EXTEND_EXTEND_AUTO_SEEN_H

#include "cli/cmd/extend/extend_auto_plan.h"

struct auto_seen {
	struct reservation reservation;
	const struct reservation_part *part;
	struct part_end_at *all; /* the last end first */
	size_t all_count;
	struct auto_end *ends; /* the first one first */
	size_t end_count;
	struct bought bought;
	bool counted; /* bought was read */
	bool lost;    /* the market no longer knows the reservation, or a host takes it back */
};

/* The first look, at the reservation that is known already: what it bought counts as before. 0 or a negative code. */
int extend_auto_begin(struct auto_extend *a, struct auto_seen *s);

/* Asks for the clock, the reservation and, where anything is to be done or was, its orders. 0 or a negative code. */
int extend_auto_ask(struct auto_extend *a, struct auto_seen *s);
void extend_auto_seen_release(struct auto_seen *s);

/* It can be bought now that its time has come, and the budget may suffice. */
bool extend_auto_due(const struct auto_extend *a, const struct auto_end *end);

/*
 * Takes over what was seen, and says what is new. True: something was bought since the last look. s is released as what
 * was seen before.
 */
bool extend_auto_take(struct auto_extend *a, struct auto_seen *s);

#endif
