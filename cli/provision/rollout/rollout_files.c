/* SPDX-License-Identifier: Apache-2.0 */
/* The files that one step hands to others: kept in memory alone, and wiped. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "cli/frame/command.h"
#include "cli/provision/rollout/rollout_part.h"

static void rollout_files_wipe(char **s)
{
	if (*s)
		explicit_bzero(*s, strlen(*s));
	free(*s);
	*s = NULL;
}

static void rollout_files_free(struct rollout_file *g)
{
	rollout_files_wipe(&g->text);
	rollout_files_wipe(&g->hash);
	if (g->bytes)
		explicit_bzero(g->bytes, g->len);
	free(g->bytes);
	free(g->name);
	list_remove(&g->link);
	free(g);
}

void rollout_file_forget(struct rollout *e, const char *name)
{
	struct list *at, *tmp;

	list_each(at, tmp, &e->files) {
		struct rollout_file *g = list_entry(at, struct rollout_file, link);

		if (!name || strcmp(g->name, name) == 0)
			rollout_files_free(g);
	}
}

struct rollout_file *rollout_file_find(const struct rollout *e, const char *name)
{
	struct list *at, *tmp;

	list_each(at, tmp, (struct list *)(uintptr_t)&e->files) {
		struct rollout_file *g = list_entry(at, struct rollout_file, link);

		if (strcmp(g->name, name) == 0)
			return g;
	}
	return NULL;
}

/* The text goes into the scripts of other nodes: false where it is not base64. */
static bool rollout_files_decode(struct rollout_file *g)
{
	int64_t size = base64_size(g->text);

	if (size < 0)
		return false;
	g->len = (size_t)size;
	g->bytes = calloc(1, g->len + 1);
	if (!g->bytes)
		command_nomem();
	return base64_read(g->text, g->bytes, g->len) == 0;
}

static bool is_hash(const char *s)
{
	size_t n = 0;

	for (; isalnum((unsigned char)s[n]); n++)
		;
	return !s[n] && n <= 128;
}

static char *rollout_files_copy(const char *s)
{
	char *c = strdup(s);

	if (!c)
		command_nomem();
	return c;
}

void rollout_file_set(struct rollout *e, const char *name, const char *text, const char *hash)
{
	struct rollout_file *g = rollout_file_find(e, name);

	if (hash && !is_hash(hash))
		return;
	if (!g) {
		g = calloc(1, sizeof *g);
		if (!g)
			command_nomem();
		list_init(&g->link);
		list_append(&e->files, &g->link);
		g->name = rollout_files_copy(name);
	}
	if (hash) {
		rollout_files_wipe(&g->hash);
		g->hash = rollout_files_copy(hash);
	}
	if (!text)
		return;
	rollout_files_wipe(&g->text);
	if (g->bytes)
		explicit_bzero(g->bytes, g->len);
	free(g->bytes);
	g->bytes = NULL;
	g->text = rollout_files_copy(text);
	if (!rollout_files_decode(g))
		rollout_files_free(g);
}

const char *rollout_given(const struct rollout *e, const char *name, size_t *len)
{
	const struct rollout_file *g = rollout_file_find(e, name);

	if (!g || !g->bytes)
		return NULL;
	*len = g->len;
	return g->bytes;
}
