/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares what an agent measured of its machine with what the types of its hosts ask for. A type may ask for proof,
 * for values that have to be reached ("floors", by the name of a check: "disk_write"), and name tiers by such values.
 * What is measured in microseconds or percent must stay below its floor, everything else reach it.
 */
#ifndef MARKETD_API_JUDGE_H
#define MARKETD_API_JUDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "market/claims.h"
#include "marketd/store/market.h"

enum { JUDGE_HOURS = 7 * 24, JUDGE_HOSTS = 1024 };

struct verdict {
	uint64_t host;
	bool passed, below; /* below: a floor is all that it does not reach */
	int64_t minutes; /* for how long it is valid */
	char why[WHY_BYTES + 1];
};

/* What the properties of a SKU ask for. */
bool judge_asks(const json_t *properties); /* for proof */
int judge_recheck(const struct sku *s);    /* percent of leases that begin with one more */
/* NULL, or what is wrong with names of floors and tiers. */
const char *judge_wrong(const json_t *properties);

/*
 * Were the GPUs' sums computed for this nonce? 0, or -EBADMSG with a sentence. Those count that have an answer and the
 * device of a GPU in the agent's inventory, the first ones of each.
 */
int judge_answers(const struct agent *a, const struct claims *c, struct fail *f);
/*
 * One verdict for each host of the agent whose type asks for proof, or did, in order of id. GPUs, and shares of them,
 * count for one host each: the first that gets all of its own. Returns how many.
 */
size_t judge_hosts(const struct engine *e, const struct agent *a, const struct claims *c, struct verdict *list,
	size_t most);

/* What a type asks for, to be read once for many hosts. NULL: nothing. The caller releases it. */
json_t *judge_floors(const struct sku *s);
/* Does what was measured of a host stay below one of them? Then why says so. */
bool judge_short(const json_t *floors, const char *claims, char *why, size_t size);
/*
 * Of a host whose earlier measurements miss a floor too: does what was measured now reach so many percent of them, for
 * each floor that it misses?
 */
bool judge_holds(const struct sku *s, const struct claims *c, const char *earlier, int percent);

/* The name of the first tier of the type whose floors were reached, or null. */
json_t *judge_tier(const struct sku *s, const struct claims *c);
/* The first ones: [{check, median, least, most, unit, device, at}]. For buyers only what types can ask for. */
json_t *judge_measured(const struct claims *c, size_t most, bool buyers);

#endif
