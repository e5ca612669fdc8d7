/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"

static char *pairs_copy(const char *text)
{
	char *out = strdup(text);

	if (!out)
		command_nomem();
	return out;
}

static struct pair *pairs_find(const struct pairs *p, const char *key)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->at[i].key, key) == 0)
			return &p->at[i];
	return NULL;
}

void pairs_release(struct pairs *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->at[i].key);
		free(p->at[i].value);
	}
	free(p->at);
	*p = (struct pairs){ 0 };
}

void pairs_set(struct pairs *p, const char *key, const char *value)
{
	struct pair *at = pairs_find(p, key);
	char *new_value = pairs_copy(value);

	if (at) {
		free(at->value);
		at->value = new_value;
		return;
	}
	/* The array doubles, so it is full exactly when the count is a power of two. */
	if ((p->count & (p->count - 1)) == 0) {
		at = realloc(p->at, (p->count ? p->count * 2 : 1) * sizeof *at);
		if (!at)
			command_nomem();
		p->at = at;
	}
	p->at[p->count++] = (struct pair){ pairs_copy(key), new_value };
}

void pairs_drop(struct pairs *p, const char *key)
{
	struct pair *at = pairs_find(p, key);
	size_t after;

	if (!at)
		return;
	free(at->key);
	free(at->value);
	after = (size_t)(p->at + p->count - (at + 1));
	memmove(at, at + 1, after * sizeof *at);
	p->count--;
}

const char *pairs_get(const struct pairs *p, const char *key)
{
	const struct pair *at = pairs_find(p, key);

	return at ? at->value : NULL;
}

const char *pairs_or(const struct pairs *p, const char *key, const char *fallback)
{
	const char *value = pairs_get(p, key);

	return value ? value : fallback;
}
