/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/value.h"
#include "market/client.h"
#include "market/money.h"

enum { WARNINGS_MAX = 32, LIST_MAX = 1000 };

static const struct setting_row rows[] = {
#define SETTING_ROW(id, key, type, trust, fallback, values, min, max, help) \
	[SETTING_ID_##id] = { key, type, trust, fallback, values, min, max, help },
	SETTINGS(SETTING_ROW)
#undef SETTING_ROW
};

/* One layer's value of one setting. */
struct value {
	char **items; /* NULL: not set */
	size_t count;
	char *where;
};

struct group {
	char *name, *hosts, *where;
};

struct settings {
	struct value values[SETTING_IDS][LAYERS];
	struct group *groups;
	size_t group_count;
	char **profiles;
	size_t profile_count;
	char *profile;
	char *paths[LAYERS];
	char *local_identity;
	bool loaded[LAYERS];
	char *warnings[WARNINGS_MAX];
	size_t warning_count;
};

const struct setting_row *settings_row(enum setting id)
{
	return &rows[id];
}

void settings_env(enum setting id, char *room, size_t size)
{
	size_t at = (size_t)snprintf(room, size, "NANOPOD_%s", rows[id].key);

	for (size_t i = sizeof "NANOPOD_" - 1; i < at && i < size; i++)
		room[i] = room[i] == '-' ? '_' : room[i] >= 'a' && room[i] <= 'z' ? (char)(room[i] - 32) : room[i];
}

int settings_find(const char *key)
{
	for (int i = 0; i < SETTING_IDS; i++)
		if (strcmp(rows[i].key, key) == 0)
			return i;
	return -1;
}

static void clear_value(struct value *v)
{
	for (size_t i = 0; i < v->count; i++)
		free(v->items[i]);
	free(v->items);
	free(v->where);
	*v = (struct value){ 0 };
}

static int add_default(struct settings *s, enum setting id)
{
	if (!rows[id].fallback)
		return 0;
	return settings_set(s, id, LAYER_DEFAULT, rows[id].fallback, "default", NULL);
}

int settings_new(struct settings **out)
{
	struct settings *s = calloc(1, sizeof *s);
	int rc = s ? 0 : -ENOMEM;

	for (int i = 0; i < SETTING_IDS && !rc; i++)
		rc = add_default(s, (enum setting)i);
	if (rc) {
		settings_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void settings_free(struct settings *s)
{
	if (!s)
		return;
	for (int layer = 0; layer < LAYERS; layer++) {
		settings_clear(s, (enum settings_layer)layer);
		free(s->paths[layer]);
	}
	for (size_t i = 0; i < s->group_count; i++) {
		free(s->groups[i].name);
		free(s->groups[i].hosts);
		free(s->groups[i].where);
	}
	for (size_t i = 0; i < s->profile_count; i++)
		free(s->profiles[i]);
	for (size_t i = 0; i < s->warning_count; i++)
		free(s->warnings[i]);
	free(s->local_identity);
	free(s->groups);
	free(s->profiles);
	free(s->profile);
	free(s);
}

void settings_clear(struct settings *s, enum settings_layer layer)
{
	for (int i = 0; i < SETTING_IDS; i++)
		clear_value(&s->values[i][layer]);
}

void settings_forget(struct settings *s, enum setting id, enum settings_layer layer)
{
	clear_value(&s->values[id][layer]);
}

/* ---- Setting --------------------------------------------------------------------------- */

static bool settings_is_none(const struct setting_row *row, const char *text)
{
	return row->type == SETTING_DURATION && row->min == 0 && strcmp(text, "none") == 0;
}

/* A program that gets a value with a leading '-' would take it for an option. */
static int settings_check_text(const char *text, struct fail *f)
{
	if (!*text)
		return fail_set(f, -EINVAL, "it is empty");
	if (*text == '-')
		return fail_set(f, -EINVAL, "'%s' begins with '-'", text);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return fail_set(f, -EINVAL, "it has a control character");
	return 0;
}

/* "https://market.example#sha256//…", as 'nanopod host token' prints it, holds two settings. */
static const char *settings_url_key(const char *text)
{
	const char *hash = strstr(text, "#sha256//");

	return hash ? hash + 1 : NULL;
}

static int settings_check_url(const char *text, struct fail *f)
{
	const char *key = settings_url_key(text);
	char *url = key ? strndup(text, (size_t)(key - 1 - text)) : strdup(text);
	int rc = url ? client_check_url(url, f) : fail_set(f, -ENOMEM, "out of memory");

	free(url);
	return rc || !key ? rc : client_check_pin(key, f);
}

int settings_check(enum setting id, const char *text, struct fail *f)
{
	const struct setting_row *row = &rows[id];
	int64_t ms;
	size_t at;
	long n;
	bool b;

	if (settings_is_none(row, text))
		return 0;
	switch (row->type) {
	case SETTING_INT:
		return value_int(text, row->min, row->max, &n, f);
	case SETTING_DURATION:
		return value_duration(text, &ms, f);
	case SETTING_ENUM:
		return value_enum(text, row->values, &at, f);
	case SETTING_BOOL:
		return value_bool(text, &b, f);
	case SETTING_TEXT: case SETTING_PATH: case SETTING_LIST:
		break;
	}
	if (id == SETTING_ID_URL)
		return settings_check_url(text, f);
	if (id == SETTING_ID_MARKET_KEY)
		return client_check_pin(text, f);
	if (id == SETTING_ID_SPEND_MAX)
		return money_parse(text, &ms, f);
	return settings_check_text(text, f);
}

static int settings_set_url(struct settings *s, enum settings_layer layer, const char *text, const char *where,
	struct fail *f)
{
	const char *key = settings_url_key(text);
	char *url = strndup(text, (size_t)(key - 1 - text));
	int rc = url ? settings_set(s, SETTING_ID_URL, layer, url, where, f) : fail_set(f, -ENOMEM, "out of memory");

	if (!rc)
		rc = settings_set(s, SETTING_ID_MARKET_KEY, layer, key, where, f);
	free(url);
	return rc;
}

/* What is kept for a market is found by its URL: HTTPS://Market.example/ is https://market.example. */
static void settings_one_spelling(char *url)
{
	char *host = strstr(url, "://"), *end = url + strlen(url);

	if (!host)
		return;
	host += 3;
	while (end > host && end[-1] == '/')
		*--end = '\0';
	for (char *p = url; p < host + strcspn(host, "/"); p++)
		*p = (char)tolower((unsigned char)*p);
}

int settings_set(struct settings *s, enum setting id, enum settings_layer layer,
	const char *text, const char *where, struct fail *f)
{
	const struct setting_row *row = &rows[id];
	struct value *v = &s->values[id][layer];
	struct fail why = { 0 };
	char **items, *item;

	if (settings_check(id, text, &why))
		return fail_set(f, -EINVAL, "cannot set '%s' by %s: %s", row->key, where, why.text);
	if (id == SETTING_ID_URL && settings_url_key(text))
		return settings_set_url(s, layer, text, where, f);
	if (row->type != SETTING_LIST)
		clear_value(v);
	if (v->count == LIST_MAX)
		return fail_set(f, -E2BIG, "cannot set '%s' by %s: more than %d values", row->key, where, LIST_MAX);
	item = row->type == SETTING_PATH || row->type == SETTING_LIST ? str_expand_home(text) : strdup(text);
	if (item && id == SETTING_ID_URL)
		settings_one_spelling(item);
	items = realloc(v->items, (v->count + 1) * sizeof *items);
	if (items)
		v->items = items;
	if (!v->where)
		v->where = strdup(where);
	if (!item || !items || !v->where) {
		free(item);
		return fail_set(f, -ENOMEM, "out of memory");
	}
	v->items[v->count++] = item;
	return 0;
}

static struct group *find_group(const struct settings *s, const char *name)
{
	for (size_t i = 0; i < s->group_count; i++)
		if (strcmp(s->groups[i].name, name) == 0)
			return &s->groups[i];
	return NULL;
}

int settings_check_group(const char *name, struct fail *f)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (*name && !name[strspn(name, fine)] && *name != '-')
		return 0;
	return fail_set(f, -EINVAL, "'%.100s' is not a group name: use letters, digits, '.', '_' and '-'", name);
}

int settings_set_group(struct settings *s, const char *name, const char *hosts, const char *where, struct fail *f)
{
	struct group *g = find_group(s, name), *groups, made;
	int rc = settings_check_group(name, f);

	if (rc)
		return rc;
	made = (struct group){ strdup(name), strdup(hosts), strdup(where) };
	groups = g ? s->groups : realloc(s->groups, (s->group_count + 1) * sizeof *groups);
	if (groups)
		s->groups = groups;
	if (!groups || !made.name || !made.hosts || !made.where) {
		free(made.name);
		free(made.hosts);
		free(made.where);
		return fail_set(f, -ENOMEM, "out of memory");
	}
	if (g) {
		free(g->name);
		free(g->hosts);
		free(g->where);
	} else {
		g = &s->groups[s->group_count++];
	}
	*g = made;
	return 0;
}

int settings_add_profile(struct settings *s, const char *name)
{
	char **profiles, *copy;

	for (size_t i = 0; i < s->profile_count; i++)
		if (strcmp(s->profiles[i], name) == 0)
			return 0;
	profiles = realloc(s->profiles, (s->profile_count + 1) * sizeof *profiles);
	if (!profiles)
		return -ENOMEM;
	s->profiles = profiles;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	s->profiles[s->profile_count++] = copy;
	return 0;
}

int settings_use_profile(struct settings *s, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(s->profile);
	s->profile = copy;
	return 0;
}

int settings_set_path(struct settings *s, enum settings_layer layer, const char *path, bool loaded)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	free(s->paths[layer]);
	s->paths[layer] = copy;
	s->loaded[layer] = loaded;
	return 0;
}

int settings_set_local_identity(struct settings *s, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	free(s->local_identity);
	s->local_identity = copy;
	return 0;
}

int settings_warn(struct settings *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (s->warning_count == WARNINGS_MAX)
		return 0;
	va_start(ap, fmt);
	n = vasprintf(&s->warnings[s->warning_count], fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	s->warning_count++;
	return 0;
}

/* ---- Reading --------------------------------------------------------------------------- */

/* Is the market in force the local one, whichever layer named it? */
static bool is_local(const struct settings *s)
{
	const struct value *local = &s->values[SETTING_ID_URL][LAYER_LOCAL];
	const char *url = settings_text(s, SETTING_ID_URL);

	return local->items && url && strcmp(url, local->items[0]) == 0;
}

/* The local market's token must not go to another market: its layer counts only with its own URL. */
static bool settings_says(const struct settings *s, enum setting id, int layer)
{
	return s->values[id][layer].items && (layer != LAYER_LOCAL || id == SETTING_ID_URL || is_local(s));
}

enum settings_layer settings_layer(const struct settings *s, enum setting id)
{
	int layer = LAYERS - 1;

	while (layer > LAYER_DEFAULT && !settings_says(s, id, layer))
		layer--;
	return (enum settings_layer)layer;
}

const char *settings_local_identity(const struct settings *s)
{
	return is_local(s) ? s->local_identity : NULL;
}

const char *settings_layer_name(enum settings_layer layer)
{
	static const char *const names[] = {
		[LAYER_DEFAULT] = "default",
		[LAYER_LOCAL] = "local market",
		[LAYER_SYSTEM] = "system",
		[LAYER_PERSON] = "person",
		[LAYER_DIRECTORY] = "directory",
		[LAYER_ENVIRONMENT] = "environment",
		[LAYER_FLAG] = "flag",
		[LAYER_LINE] = "flag",
	};

	return names[layer];
}

static const struct value *settings_value_of(const struct settings *s, enum setting id)
{
	return &s->values[id][settings_layer(s, id)];
}

size_t settings_count(const struct settings *s, enum setting id)
{
	return settings_value_of(s, id)->count;
}

const char *settings_item(const struct settings *s, enum setting id, size_t i)
{
	const struct value *v = settings_value_of(s, id);

	return i < v->count ? v->items[i] : NULL;
}

const char *settings_text(const struct settings *s, enum setting id)
{
	return settings_item(s, id, 0);
}

const char *settings_market_key(const struct settings *s)
{
	bool older = settings_layer(s, SETTING_ID_MARKET_KEY) < settings_layer(s, SETTING_ID_URL);

	return older ? NULL : settings_text(s, SETTING_ID_MARKET_KEY);
}

long settings_int(const struct settings *s, enum setting id)
{
	const char *text = settings_text(s, id);
	size_t at = 0;
	long n = 0;

	if (!text)
		return 0;
	if (rows[id].type == SETTING_ENUM)
		return value_enum(text, rows[id].values, &at, NULL) ? 0 : (long)at;
	return value_int(text, rows[id].min, rows[id].max, &n, NULL) ? 0 : n;
}

int64_t settings_ms(const struct settings *s, enum setting id)
{
	const char *text = settings_text(s, id);
	int64_t ms = 0;

	return !text || value_duration(text, &ms, NULL) ? 0 : ms;
}

bool settings_bool(const struct settings *s, enum setting id)
{
	const char *text = settings_text(s, id);
	bool b = false;

	return text && value_bool(text, &b, NULL) == 0 && b;
}

bool settings_given(const struct settings *s, enum setting id)
{
	return settings_layer(s, id) != LAYER_DEFAULT;
}

const char *settings_where(const struct settings *s, enum setting id)
{
	const struct value *v = settings_value_of(s, id);

	return v->where ? v->where : "default";
}

bool settings_none(const struct settings *s, enum setting id)
{
	const char *text = settings_text(s, id);

	return text && strcmp(text, "none") == 0;
}

size_t settings_groups(const struct settings *s)
{
	return s->group_count;
}

const char *settings_group_name(const struct settings *s, size_t i)
{
	return i < s->group_count ? s->groups[i].name : NULL;
}

const char *settings_group(const struct settings *s, const char *name)
{
	const struct group *g = find_group(s, name);

	return g ? g->hosts : NULL;
}

const char *settings_group_where(const struct settings *s, const char *name)
{
	const struct group *g = find_group(s, name);

	return g ? g->where : NULL;
}

const char *settings_profile(const struct settings *s)
{
	return s->profile;
}

const char *settings_profile_name(const struct settings *s, size_t i)
{
	return i < s->profile_count ? s->profiles[i] : NULL;
}

const char *settings_path(const struct settings *s, enum settings_layer layer)
{
	return s->paths[layer];
}

bool settings_loaded(const struct settings *s, enum settings_layer layer)
{
	return s->loaded[layer];
}

const char *settings_warning(const struct settings *s, size_t i)
{
	return i < s->warning_count ? s->warnings[i] : NULL;
}
