/* SPDX-License-Identifier: Apache-2.0 */
/* How lightsshd can go wrong, and for which connections it does. */
#ifndef LIGHTFAULT_H
#define LIGHTFAULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* X(name, text, what it does) */
#define FAULTS(X) \
	X(NONE, "none", "nothing goes wrong") \
	X(HANG_BANNER, "hang-banner", "accepts, then says nothing") \
	X(CLOSE_BANNER, "close-banner", "accepts, then closes") \
	X(RESET_BANNER, "reset-banner", "accepts, then resets") \
	X(GARBAGE_BANNER, "garbage-banner", "random bytes instead of a banner, then nothing") \
	X(OLD_BANNER, "old-banner", "a banner of protocol 1.5") \
	X(SLOW_BANNER, "slow-banner", "a byte of a text line every 200 ms, for ever") \
	X(FLOOD_BANNER, "flood-banner", "text lines in front of the banner, for ever") \
	X(HANG_KEX, "hang-kex", "the banner, then nothing") \
	X(CLOSE_KEX, "close-kex", "the banner, then closes when the client speaks") \
	X(GARBAGE_KEX, "garbage-kex", "the banner, then random bytes") \
	X(WRONG_KEY, "wrong-key", "another host key") \
	X(HANG_AUTH, "hang-auth", "answers no key and no password") \
	X(CLOSE_AUTH, "close-auth", "closes when a key or password is offered") \
	X(REFUSE_AUTH, "refuse-auth", "accepts no key and no password") \
	X(HANG_OPEN, "hang-open", "answers no channel") \
	X(CLOSE_OPEN, "close-open", "closes when a channel is opened") \
	X(REFUSE_OPEN, "refuse-open", "refuses channels") \
	X(HANG_EXEC, "hang-exec", "opens a channel, answers no command") \
	X(CLOSE_EXEC, "close-exec", "closes when a command is asked for") \
	X(REFUSE_EXEC, "refuse-exec", "refuses commands") \
	X(CLOSE_RUN, "close-run", "closes when the command would end") \
	X(NO_EXIT_STATUS, "no-exit-status", "closes the channel without a status") \
	X(NO_CLOSE, "no-close", "gives status and end-of-file, never closes the channel") \
	X(DEAF, "deaf", "signals do not end commands")

enum fault {
#define X(name, text, what) FAULT_##name,
	FAULTS(X)
#undef X
};

enum { FAULT_RULES = 64, FAULT_RANGES = 32 };

struct fault_rule {
	enum fault fault;
	long times;                              /* how many more connections it hits; -1: all */
	struct { uint32_t net, mask; } range[FAULT_RANGES];
	int ranges;                              /* 0: every address */
};

struct fault_rules {
	struct fault_rule rule[FAULT_RULES];
	int count;
};

/* Adds a rule NAME[:TIMES][@ADDRESS[/BITS][,...]]; changes text. NULL, or what is wrong with it. */
const char *fault_add(struct fault_rules *r, char *text);

/* The fault for a connection to this address: that of the first rule that fits. Counts it. */
enum fault fault_of(struct fault_rules *r, uint32_t address);

bool fault_is_raw(enum fault f);             /* happens before any SSH */
void fault_list(FILE *to);

#endif
