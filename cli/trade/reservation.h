/* SPDX-License-Identifier: Apache-2.0 */
/* A reservation is a pool of the market: nodes of a type for a time, under a name. */
#ifndef CLI_TRADE_RESERVATION_H
#define CLI_TRADE_RESERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trade/market_link.h"

struct reservation_part { /* of one type */
	char *sku;
	struct model_span *spans;
	size_t count;
};

struct reservation {
	char *id, *name, *kind;
	int64_t created_at;
	struct reservation_part *parts; /* one for each type that it has or will have nodes of */
	size_t count;
};

void reservation_copy(struct reservation *r, const struct model_pool *p);
void reservation_release(struct reservation *r);
void reservation_clone(struct reservation *to, const struct reservation *from);

/* Refuses a name that no reservation has; the nearest one is named. field: the option that gave it, or NULL. */
int reservation_missing(struct market_link *m, const char *typed, const char *field);

/* By name or id. 0, or an exit status after saying why. */
int reservation_find(struct market_link *m, const char *typed, struct reservation *out);

/* The same in silence: 0, 1 where there is none, or a negative code in m->fail. */
int reservation_look(struct market_link *m, const char *typed, struct reservation *out);

/* The part of this type; sku NULL: the only part. NULL where there is none, or several and sku is NULL. */
const struct reservation_part *reservation_part(const struct reservation *r, const char *sku);

int64_t part_nodes_at(const struct reservation_part *p, int64_t at);
int64_t part_start(const struct reservation_part *p);
int64_t part_begins(const struct reservation_part *p, int64_t now);     /* `now` where it runs, else its next start */
int64_t part_end(const struct reservation_part *p);                     /* of its last span */
int64_t part_least(const struct reservation_part *p, int64_t start,
	int64_t end); /* nodes that it has through the whole window */
int64_t part_most(const struct reservation_part *p);

struct part_end_at { /* so many nodes end then, while others may go on */
	int64_t at, nodes;
};

/* All ends after `after`, the last one first: at most `room` of them. Returns how many there are. */
size_t part_ends(const struct reservation_part *p, int64_t after, struct part_end_at *list, size_t room);

/* "pending" (not yet its time), "running", or "ended": it holds no more time. */
const char *reservation_state(const struct reservation *r, int64_t now);

/* Tells people shortly before the end of one that runs, and how to keep it. Not where they gave its time back. */
void reservation_tell_end(struct nanopod *np, const struct reservation *r, int64_t now);
void reservation_tell_soon(struct nanopod *np, const char *name, int64_t end, int64_t now); /* it runs until end */

/* Notes that a release made this its end. */
void reservation_note_released(const struct market_link *m, const char *name, int64_t end);

/* A name has letters, digits, '.', '_' and '-'. 0, or -EINVAL with a sentence. */
int reservation_check_name(const char *name, struct fail *f);

#endif
