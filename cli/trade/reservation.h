/* SPDX-License-Identifier: Apache-2.0 */
/* A reservation is a pool of the market: a name under which nodes of a type are had for a time. */
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
	struct reservation_part *parts; /* types of which it has or will have something */
	size_t count;
};

void reservation_copy(struct reservation *r, const struct model_pool *p);
void reservation_release(struct reservation *r);

/* By name or id. 0, or an exit status and it was said why. */
int reservation_find(struct market_link *m, const char *typed, struct reservation *out);

/* The same without a word: 0, 1 where there is none, or a negative code in m->fail. */
int reservation_look(struct market_link *m, const char *typed, struct reservation *out);

/*
 * The part of this type; sku NULL: the only one. NULL where there is none, or several and none was
 * named.
 */
const struct reservation_part *reservation_part(const struct reservation *r, const char *sku);

int64_t part_nodes_at(const struct reservation_part *p, int64_t at);
int64_t part_start(const struct reservation_part *p);
int64_t part_end(const struct reservation_part *p);                     /* of its last span */
int64_t part_least(const struct reservation_part *p, int64_t start, int64_t end); /* nodes had all through */
int64_t part_most(const struct reservation_part *p);

/* "running", "coming", "over" or "empty". */
const char *reservation_state(const struct reservation *r, int64_t now);

/* What a person may call one: letters, digits, '.', '_' and '-'. 0, or -EINVAL with a sentence. */
int reservation_check_name(const char *name, struct fail *f);

#endif
