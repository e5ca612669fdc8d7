/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/http/limit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { SETS = 2048, WAYS = 4, WHOLE = 1000 }; /* WHOLE: a request; so a millisecond adds a whole number */

struct bucket {
	uint64_t key;
	int64_t left, at;  /* thousandths; clock of the last look. at 0: free */
};

struct limit {
	int64_t per_second, burst;
	struct bucket buckets[SETS][WAYS];
};

int limit_new(struct limit **out, int64_t per_second, int64_t burst)
{
	struct limit *l = calloc(1, sizeof *l);

	if (!l)
		return -ENOMEM;
	l->per_second = per_second;
	l->burst = burst;
	*out = l;
	return 0;
}

void limit_free(struct limit *l)
{
	free(l);
}

static uint64_t limit_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* The key's bucket; else the least recently used one of its set, reset. */
static struct bucket *bucket_of(struct limit *l, uint64_t key, int64_t now_ms)
{
	struct bucket *set = l->buckets[limit_mix(key) % SETS], *oldest = set;

	for (int i = 0; i < WAYS; i++) {
		if (set[i].at && set[i].key == key)
			return &set[i];
		if (set[i].at < oldest->at)
			oldest = &set[i];
	}
	*oldest = (struct bucket){ .key = key, .left = l->burst * WHOLE, .at = now_ms };
	return oldest;
}

bool limit_take(struct limit *l, uint64_t key, int64_t now_ms, int *retry_s)
{
	struct bucket *b;
	int64_t passed;

	if (l->per_second <= 0)
		return true;
	b = bucket_of(l, key, now_ms);
	passed = now_ms - b->at;
	if (passed > 0) {
		b->at = now_ms;
		if (passed > 2 * l->burst * WHOLE / l->per_second)
			b->left = l->burst * WHOLE;
		else
			b->left += passed * l->per_second;
		if (b->left > l->burst * WHOLE)
			b->left = l->burst * WHOLE;
	}
	if (b->left < WHOLE) {
		*retry_s = 1 + (int)((WHOLE - b->left) / (l->per_second * WHOLE));
		return false;
	}
	b->left -= WHOLE;
	assert(b->left >= 0 && b->left < l->burst * WHOLE);
	return true;
}

bool limit_left(const struct limit *l, uint64_t key, int64_t now_ms)
{
	const struct bucket *set = l->buckets[limit_mix(key) % SETS];

	for (int i = 0; i < WAYS; i++)
		if (set[i].at && set[i].key == key)
			return set[i].left + (now_ms - set[i].at) * l->per_second >= WHOLE;
	return true;
}

void limit_charge(struct limit *l, uint64_t key, int64_t now_ms, int64_t count)
{
	struct bucket *b;

	if (l->per_second <= 0 || count <= 0)
		return;
	b = bucket_of(l, key, now_ms);
	b->left = count < 2 * l->burst ? b->left - count * WHOLE : -l->burst * WHOLE;
	if (b->left < -l->burst * WHOLE)
		b->left = -l->burst * WHOLE;
}
