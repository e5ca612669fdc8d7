/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/store/sick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sick_release(struct sick *s)
{
	free(s->list);
	*s = (struct sick){ 0 };
}

static struct sick_host *sick_entry(const struct sick *s, uint64_t host)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].host == host)
			return &s->list[i];
	return NULL;
}

/* As much of a text as fits, without half a character at its end. */
static void sick_say(char *room, size_t size, const char *why)
{
	size_t len = (size_t)snprintf(room, size, "%s%s", sick_is(why) ? "" : SICK_WORDS, why);

	if (len < size)
		return;
	for (len = size - 1; len && (room[len - 1] & 0xC0) == 0x80; len--)
		;
	if (len && (room[len - 1] & 0x80))
		len--;
	room[len] = '\0';
}

void sick_tell(struct sick *s, uint64_t host, int64_t since, int64_t now, const char *why)
{
	struct sick_host *x = sick_entry(s, host);

	if (!x && s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 16;
		struct sick_host *more = reallocarray(s->list, cap, sizeof *more);

		if (!more)
			return;
		s->list = more;
		s->cap = cap;
	}
	if (!x) {
		x = &s->list[s->count++];
		*x = (struct sick_host){ .host = host, .since = since };
	}
	x->until = now + SICK_SECONDS;
	x->well = false;
	sick_say(x->why, sizeof x->why, why);
}

void sick_well(struct sick *s, uint64_t host)
{
	struct sick_host *x = sick_entry(s, host);

	if (x)
		x->well = true;
}

const struct sick_host *sick_find(struct sick *s, uint64_t host, int64_t now)
{
	struct sick_host *x = sick_entry(s, host);

	if (x && x->well && now >= x->until) {
		*x = s->list[--s->count];
		x = NULL;
	}
	return x;
}

bool sick_is(const char *why)
{
	return why && strncmp(why, SICK_WORDS, strlen(SICK_WORDS)) == 0;
}
