/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a stack's settings from a cluster file: checks types, flattens maps, resolves paths beside the cluster file. */
#include "cli/provision/model/cluster_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "cli/frame/command.h"
#include "cli/provision/model/stack_value.h"

enum { PAIRS_MAX = 2000, KEY_BYTES = 200 };

/* names: the variables of the scripts, to refuse two settings with one variable. */
struct flattening {
	struct cluster_reading *r;
	struct pairs *to;
	struct table names;
};

static char *cluster_setting_copy(const char *text)
{
	char *out = strdup(text);

	if (!out)
		command_nomem();
	return out;
}

/* Turns a name into a part of a shell variable. */
static void make_name(char *key)
{
	for (; *key; key++)
		if (!((*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z') || (*key >= '0' && *key <= '9')))
			*key = '_';
}

static int add_pair(struct flattening *t, const struct conf *at, const char *key, const char *value)
{
	char name[KEY_BYTES + 1];

	if (strlen(key) > KEY_BYTES)
		return conf_fail(t->r->file, at, t->r->f, "the names down to '%.64s' are longer than %d bytes", at->key,
			KEY_BYTES);
	if (t->to->count == PAIRS_MAX)
		return conf_fail(t->r->file, at, t->r->f, "more than %d values of one stack", PAIRS_MAX);
	snprintf(name, sizeof name, "%s", key);
	make_name(name);
	if (table_get(&t->names, name))
		return conf_fail(t->r->file, at, t->r->f,
			"'%.64s' cannot be told from another name: both are 'S_%s' to scripts", at->key, name);
	if (table_set(&t->names, name, t))
		command_nomem();
	pairs_set(t->to, key, value);
	return 0;
}

/* ---- Lists ----------------------------------------------------------------------------- */

static int join_list(struct flattening *t, const struct conf *list, struct buf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct conf *item = &list->items[i];
		struct fail why = { 0 };
		int rc = conf_expect(t->r->file, item, CONF_TEXT, t->r->f);

		if (rc)
			return rc;
		if (stack_text_check(item->text, false, &why))
			return conf_fail(t->r->file, item, t->r->f, "the text %s", why.text);
		if (!*item->text || strpbrk(item->text, " ,"))
			return conf_fail(t->r->file, item, t->r->f,
				"'%.64s' is not a single word: scripts get a list as words separated by spaces",
				item->text);
		if ((out->len && buf_addc(out, ' ')) || buf_adds(out, item->text))
			return conf_fail(t->r->file, item, t->r->f, "a list longer than %d bytes", STACK_VALUE_MAX);
	}
	return 0;
}

/* ---- Maps ------------------------------------------------------------------------------ */

/* Scripts get names of maps in lists of words and, with other characters replaced by '_', in variable names. */
static bool map_name_ok(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/:");

	return len > 0 && len <= 63 && !name[len] && *name != '-';
}

static int cluster_setting_flatten(struct flattening *t, const struct conf *at, const char *key);

static int flatten_map(struct flattening *t, const struct conf *map, const char *key)
{
	char below[KEY_BYTES + 80];
	struct buf words;
	int rc = 0;

	buf_init(&words, STACK_VALUE_MAX);
	for (size_t i = 0; i < map->count && !rc; i++) {
		const char *name = map->items[i].key;

		if (!map_name_ok(name))
			rc = conf_fail(t->r->file, &map->items[i], t->r->f,
				"'%.64s' cannot be a name here: letters, digits and . _ - / :", name);
		else if (buf_addf(&words, "%s%s", i ? " " : "", name))
			rc = conf_fail(t->r->file, &map->items[i], t->r->f, "too many names");
	}
	rc = rc ? rc : add_pair(t, map, key, buf_text(&words));
	buf_release(&words);
	for (size_t i = 0; i < map->count && !rc; i++) {
		size_t len = (size_t)snprintf(below, sizeof below, "%s_", key);

		snprintf(below + len, sizeof below - len, "%s", map->items[i].key);
		make_name(below + len);
		rc = cluster_setting_flatten(t, &map->items[i], below);
	}
	return rc;
}

static int cluster_setting_flatten(struct flattening *t, const struct conf *at, const char *key)
{
	struct fail why = { 0 };
	struct buf b;
	int rc;

	switch (at->type) {
	case CONF_MAP:
		return flatten_map(t, at, key);
	case CONF_LIST:
		buf_init(&b, STACK_VALUE_MAX);
		rc = join_list(t, at, &b);
		rc = rc ? rc : add_pair(t, at, key, buf_text(&b));
		buf_release(&b);
		return rc;
	case CONF_TEXT:
		if (stack_text_check(at->text, true, &why))
			return conf_fail(t->r->file, at, t->r->f, "'%.64s' %s", at->key, why.text);
		return add_pair(t, at, key, at->text);
	default:
		return add_pair(t, at, key, "");
	}
}

/* ---- One setting ----------------------------------------------------------------------- */

/* A relative path in the file starts at the file's own folder. */
static char *cluster_setting_find_file(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');
	char *out = NULL;

	if (*path == '~')
		out = str_expand_home(path);
	else if (!*path || *path == '/' || !slash || strstr(path, "://"))
		out = cluster_setting_copy(path);
	else if (asprintf(&out, "%.*s%s", (int)(slash - file + 1), file, path) < 0)
		out = NULL;
	if (!out)
		command_nomem();
	return out;
}

static int read_text(struct flattening *t, const struct conf *at, const struct stack_setting *setting)
{
	struct fail why = { 0 };
	char *value = NULL, *path;
	struct buf b;
	int rc = 0;

	buf_init(&b, STACK_VALUE_MAX);
	if (setting->type == STACK_WORDS && at->type == CONF_LIST)
		rc = join_list(t, at, &b);
	else
		rc = conf_expect(t->r->file, at, CONF_TEXT, t->r->f);
	if (!rc && stack_value(setting, at->type == CONF_LIST ? buf_text(&b) : at->text, &value, &why))
		rc = conf_fail(t->r->file, at, t->r->f, "%s", why.text);
	buf_release(&b);
	if (!rc && setting->type == STACK_FILE) {
		path = cluster_setting_find_file(t->r->file->name, value);
		free(value);
		value = path;
	}
	rc = rc ? rc : add_pair(t, at, setting->key, value);
	free(value);
	return rc;
}

static int cluster_setting_read_setting(struct flattening *t, const struct conf *at,
	const struct stack_setting *setting)
{
	int rc;

	if (setting->type != STACK_MAP)
		return read_text(t, at, setting);
	rc = conf_expect(t->r->file, at, CONF_MAP, t->r->f);
	return rc ? rc : flatten_map(t, at, setting->key);
}

static int cluster_setting_check_keys(struct cluster_reading *r, const struct conf *map, const struct stack *s)
{
	const char *words[STACK_SETTINGS], *near;

	for (size_t i = 0; i < s->setting_count; i++)
		words[i] = s->settings[i].key;
	for (size_t i = 0; i < map->count; i++) {
		const struct conf *at = &map->items[i];

		if (stack_setting(s, at->key))
			continue;
		near = stack_nearest(at->key, words, s->setting_count);
		if (near)
			return conf_fail(r->file, at, r->f, "'%s' has no setting '%.64s'; did you mean '%s'?", s->name,
				at->key, near);
		return conf_fail(r->file, at, r->f,
			"'%s' has no setting '%.64s'; 'nanopod provision stacks %s' lists them", s->name, at->key,
			s->name);
	}
	return 0;
}

int cluster_read_settings(struct cluster_reading *r, const struct conf *map, struct use *u)
{
	struct flattening t = { .r = r, .to = &u->settings };
	int rc = map && !u->broken ? cluster_setting_check_keys(r, map, u->stack) : 0;

	table_init(&t.names);
	for (size_t i = 0; i < u->stack->setting_count && !rc; i++) {
		const struct stack_setting *setting = &u->stack->settings[i];
		const struct conf *at = map ? conf_get(map, setting->key) : NULL;

		if (at && at->type != CONF_NULL)
			rc = cluster_setting_read_setting(&t, at, setting);
		else
			rc = add_pair(&t, &r->file->root, setting->key, setting->fallback);
	}
	table_release(&t.names);
	return rc;
}
