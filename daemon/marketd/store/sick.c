/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/store/sick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sick_release(struct sick *s)
{
	for (size_t i = 0; i < s->hosts.cap; i++)
		if (s->hosts.slots[i].id)
			free(s->hosts.slots[i].thing);
	idmap_release(&s->hosts);
}

/* As much of a text as fits, without half a character at its end. */
static void sick_say(char *room, size_t size, bool mild, const char *why)
{
	size_t len = (size_t)snprintf(room, size, "%s%s", sick_is(why) ? "" : mild ? SICK_MILD : SICK_WORDS, why);

	if (len < size)
		return;
	for (len = size - 1; len && (room[len - 1] & 0xC0) == 0x80; len--)
		;
	if (len && (room[len - 1] & 0x80))
		len--;
	room[len] = '\0';
}

void sick_tell(struct sick *s, uint64_t host, bool mild, int64_t since, int64_t now, const char *why)
{
	struct sick_host *x = idmap_get(&s->hosts, host);

	if (x && mild && !x->mild && now < x->until) {
		sick_well(s, host, now);
		return;
	}
	if (!x) {
		x = malloc(sizeof *x);
		if (!x)
			return;
		*x = (struct sick_host){ .host = host, .since = since };
		idmap_add(&s->hosts, host, x);
	} else if (x->mild && !mild) { /* nobody was refunded for what was mild */
		x->since = since;
	}
	x->mild = mild;
	x->until = now + SICK_SECONDS;
	x->told = now;
	x->well = false;
	sick_say(x->why, sizeof x->why, mild, why);
}

void sick_well(struct sick *s, uint64_t host, int64_t now)
{
	struct sick_host *x = idmap_get(&s->hosts, host);

	if (x) {
		x->well = true;
		x->told = now;
	}
}

void sick_passed_over(struct sick *s, uint64_t host, int64_t now)
{
	const struct sick_host *x = idmap_get(&s->hosts, host);

	if (x && x->told != now)
		sick_well(s, host, now);
}

static void sick_forget(struct sick *s, uint64_t host)
{
	struct sick_host *x = idmap_get(&s->hosts, host);

	if (x)
		idmap_remove(&s->hosts, host);
	free(x);
}

const struct sick_host *sick_find(struct sick *s, uint64_t host, int64_t now)
{
	struct sick_host *x = idmap_get(&s->hosts, host);

	if (x && x->well && now >= x->until) {
		sick_forget(s, host);
		x = NULL;
	}
	return x;
}

bool sick_is(const char *why)
{
	return why && (strncmp(why, SICK_WORDS, strlen(SICK_WORDS)) == 0 || sick_is_mild(why));
}

bool sick_is_mild(const char *why)
{
	return why && strncmp(why, SICK_MILD, strlen(SICK_MILD)) == 0;
}

/* ---- Words ---------------------------------------------------------------------------------- */

static const char *const words[] = { NULL,
#define HEALTH_X(name, word) word,
	HEALTHS(HEALTH_X)
#undef HEALTH_X
};

const char *health_word(enum health h)
{
	return words[h];
}

enum health health_read(const char *word)
{
	for (int h = 1; h < HEALTH_KINDS; h++)
		if (strcmp(words[h], word) == 0)
			return (enum health)h;
	return HEALTH_UNTOLD;
}
