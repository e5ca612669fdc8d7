/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/tlskeys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_START = 8, KEY_PART = 8, KNOWN_FIRST = 64 };

void tlskeys_release(struct tlskeys *k)
{
	free(k->known);
	k->known = NULL;
	k->count = k->cap = 0;
}

void tlskeys_set(struct tlskeys *k, const char *now, const char *next)
{
	if (strcmp(k->now, now) == 0 && strcmp(k->next, next) == 0)
		return;
	snprintf(k->now, sizeof k->now, "%s", now);
	snprintf(k->next, sizeof k->next, "%s", next);
	k->count = 0;
}

void tlskeys_version(const struct tlskeys *k, char out[TLSKEYS_VERSION])
{
	out[0] = '\0';
	if (k->now[0])
		snprintf(out, TLSKEYS_VERSION, "-%.*s%.*s", KEY_PART, k->now + KEY_START, k->next[0] ? KEY_PART : 0,
			k->next[0] ? k->next + KEY_START : "");
}

static size_t tlskeys_place(const struct tlskeys *k, uint64_t agent)
{
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (k->known[mid] < agent)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool tlskeys_known(const struct tlskeys *k, uint64_t agent)
{
	size_t at = tlskeys_place(k, agent);

	return at < k->count && k->known[at] == agent;
}

void tlskeys_heard(struct tlskeys *k, uint64_t agent)
{
	size_t at = tlskeys_place(k, agent), cap = k->cap ? 2 * k->cap : KNOWN_FIRST;

	if (at < k->count && k->known[at] == agent)
		return;
	if (k->count == k->cap) {
		uint64_t *more = realloc(k->known, cap * sizeof *more);

		if (!more)
			return; /* it counts as one that has not heard, until it asks again */
		k->known = more;
		k->cap = cap;
	}
	memmove(k->known + at + 1, k->known + at, (k->count - at) * sizeof *k->known);
	k->known[at] = agent;
	k->count++;
}
