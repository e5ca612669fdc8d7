/* SPDX-License-Identifier: Apache-2.0 */
/* What steps hand to others, in memory alone, and wiped. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"
#include "cli/provision/rollout/rollout_part.h"

static void wipe(char **s)
{
	if (*s)
		explicit_bzero(*s, strlen(*s));
	free(*s);
	*s = NULL;
}

static void forget(struct rollout_gift *g)
{
	wipe(&g->text);
	wipe(&g->hash);
	if (g->bytes)
		explicit_bzero(g->bytes, g->len);
	free(g->bytes);
	free(g->name);
	list_remove(&g->link);
	free(g);
}

void rollout_gift_forget(struct rollout *e, const char *name)
{
	struct list *at, *tmp;

	list_each(at, tmp, &e->gifts) {
		struct rollout_gift *g = list_entry(at, struct rollout_gift, link);

		if (!name || strcmp(g->name, name) == 0)
			forget(g);
	}
}

struct rollout_gift *rollout_gift_find(const struct rollout *e, const char *name)
{
	struct list *at, *tmp;

	list_each(at, tmp, (struct list *)(uintptr_t)&e->gifts) {
		struct rollout_gift *g = list_entry(at, struct rollout_gift, link);

		if (strcmp(g->name, name) == 0)
			return g;
	}
	return NULL;
}

static int value_of(char c)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* False where it is no base64: it goes into scripts of other nodes. */
static bool decode(struct rollout_gift *g)
{
	size_t n = strlen(g->text), pad = n && g->text[n - 1] == '=' ? 1 + (n > 1 && g->text[n - 2] == '=') : 0;
	unsigned bits = 0, have = 0;

	if (n % 4)
		return false;
	g->len = 0;
	g->bytes = malloc(n / 4 * 3 + 1);
	if (!g->bytes)
		command_nomem();
	for (size_t i = 0; i < n - pad; i++) {
		int v = value_of(g->text[i]);

		if (v < 0)
			return false;
		bits = bits << 6 | (unsigned)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			g->bytes[g->len++] = (char)(bits >> have);
		}
	}
	g->bytes[g->len] = '\0';
	return true;
}

static bool is_hash(const char *s)
{
	size_t n = 0;

	for (; isalnum((unsigned char)s[n]); n++)
		;
	return !s[n] && n <= 128;
}

static char *copy(const char *s)
{
	char *c = strdup(s);

	if (!c)
		command_nomem();
	return c;
}

void rollout_gift_set(struct rollout *e, const char *name, const char *text, const char *hash)
{
	struct rollout_gift *g = rollout_gift_find(e, name);

	if (hash && !is_hash(hash))
		return;
	if (!g) {
		g = calloc(1, sizeof *g);
		if (!g)
			command_nomem();
		list_init(&g->link);
		list_append(&e->gifts, &g->link);
		g->name = copy(name);
	}
	if (hash) {
		wipe(&g->hash);
		g->hash = copy(hash);
	}
	if (!text)
		return;
	wipe(&g->text);
	if (g->bytes)
		explicit_bzero(g->bytes, g->len);
	free(g->bytes);
	g->bytes = NULL;
	g->text = copy(text);
	if (!decode(g))
		forget(g);
}

const char *rollout_given(const struct rollout *e, const char *name, size_t *len)
{
	const struct rollout_gift *g = rollout_gift_find(e, name);

	if (!g || !g->bytes)
		return NULL;
	*len = g->len;
	return g->bytes;
}
