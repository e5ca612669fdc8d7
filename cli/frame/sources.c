/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads settings from four files and the environment. A person's file decides which keys are offered and which
 * hosts are trusted, so it is refused where others may write it. Anybody may have made the current directory,
 * so its file may set less.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/settings.h"
#include "cli/frame/value.h"
#include "conf/conf.h"

#define SYSTEM_FILE "/etc/nanopod/config.yaml"
#define DIRECTORY_FILE ".nanopod.yaml"

struct source {
	struct settings *s;
	enum settings_layer layer;
	struct conf_file *file;
	struct fail *f;
};

/* ---- Which files, and whose ------------------------------------------------------------ */

static char *person_path(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char *path = NULL;

	if (xdg && *xdg == '/')
		return asprintf(&path, "%s/nanopod/config.yaml", xdg) < 0 ? NULL : path;
	return str_expand_home("~/.config/nanopod/config.yaml");
}

/* 0; 1: ignore the file, a warning says why; or a failure. */
static int sources_check_owner(struct settings *s, enum settings_layer layer, const char *path, const struct stat *st,
	struct fail *f)
{
	bool ours = st->st_uid == geteuid() || st->st_uid == 0;

	if (layer == LAYER_DIRECTORY && !ours)
		return settings_warn(s, "'%s' is ignored: it belongs to another user", path) ? -ENOMEM : 1;
	if (layer == LAYER_DIRECTORY && st->st_mode & 002)
		return settings_warn(s, "'%s' is ignored: everybody may write it; 'chmod o-w %s' fixes that", path,
			       path)
			? -ENOMEM
			: 1;
	if (layer == LAYER_DIRECTORY)
		return 0;
	if (!ours)
		return fail_set(f, -EPERM,
			"cannot trust '%s': it belongs to another user; 'sudo chown \"$USER\" %s' fixes that", path,
			path);
	if (st->st_mode & 022)
		return fail_set(f, -EPERM, "cannot trust '%s': others may write it; 'chmod 600 %s' fixes that", path,
			path);
	return 0;
}

/* 0 with *out set, 1 where there is nothing to read, or a failure. */
static int sources_open_file(struct settings *s, enum settings_layer layer, const char *path, struct conf_file **out,
	struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;
	struct stat st;
	struct buf text;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 1;
	if (fd < 0 || fstat(fd, &st) < 0)
		rc = fail_errno(f, -errno, errno, "cannot read '%s'", path);
	else if (!S_ISREG(st.st_mode))
		rc = fail_set(f, -EINVAL, "cannot read '%s': not a regular file", path);
	else
		rc = sources_check_owner(s, layer, path, &st, f);
	buf_init(&text, CONF_BYTES_MAX);
	if (!rc) {
		rc = buf_read_fd(&text, fd);
		rc = rc ? fail_errno(f, rc, -rc, "cannot read '%s'", path)
			: conf_parse(path, buf_text(&text), text.len, out, f);
	}
	buf_release(&text);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- What a file says ------------------------------------------------------------------ */

/* Calls fn for a text, or for each text of a list. */
static int each_text(struct source *src, const struct conf *value, int (*fn)(struct source *, const char *, void *),
	void *arg)
{
	int rc = 0;

	if (value->type == CONF_LIST) {
		for (size_t i = 0; i < value->count && !rc; i++) {
			rc = conf_expect(src->file, &value->items[i], CONF_TEXT, src->f);
			rc = rc ? rc : fn(src, value->items[i].text, arg);
		}
		return rc;
	}
	rc = conf_expect(src->file, value, CONF_TEXT, src->f);
	return rc ? rc : fn(src, value->text, arg);
}

struct one_setting {
	enum setting id;
	const struct conf *at;
};

static int sources_add_text(struct source *src, const char *text, void *arg)
{
	const struct one_setting *one = arg;
	struct fail why = { 0 };
	char where[PATH_MAX + 16];

	if (settings_check(one->id, text, &why))
		return conf_fail(src->file, one->at, src->f, "cannot set '%s': %s", settings_row(one->id)->key,
			why.text);
	snprintf(where, sizeof where, "%s:%u", src->file->name, one->at->line);
	return settings_set(src->s, one->id, src->layer, text, where, src->f);
}

static int take_setting(struct source *src, enum setting id, const struct conf *value)
{
	struct one_setting one = { id, value };
	const struct setting_row *row = settings_row(id);

	if (value->type == CONF_NULL)
		return 0;
	if (src->layer == LAYER_DIRECTORY && row->trust == TRUST_PERSON)
		return settings_warn(src->s,
			"'%s' in %s:%u is ignored: a directory's file may not set it; "
			"'nanopod config set %s …' sets it for you",
			row->key, src->file->name, value->line, row->key);
	if (row->type != SETTING_LIST) {
		int rc = conf_expect(src->file, value, CONF_TEXT, src->f);

		if (rc)
			return rc;
	}
	settings_forget(src->s, id, src->layer);
	return each_text(src, value, sources_add_text, &one);
}

static int sources_add_hosts(struct source *src, const char *text, void *arg)
{
	struct buf *hosts = arg;
	int rc = hosts->len ? buf_addc(hosts, ',') : 0;

	rc = rc ? rc : buf_adds(hosts, text);
	return rc ? fail_set(src->f, rc, "cannot read '%s': a group is too large", src->file->name) : 0;
}

static int take_group(struct source *src, const struct conf *value)
{
	struct fail why = { 0 };
	struct buf hosts;
	char where[PATH_MAX + 16];
	int rc;

	buf_init(&hosts, CONF_BYTES_MAX);
	rc = value->type == CONF_NULL ? 0 : each_text(src, value, sources_add_hosts, &hosts);
	snprintf(where, sizeof where, "%s:%u", src->file->name, value->line);
	if (!rc && settings_set_group(src->s, value->key, buf_text(&hosts), where, &why))
		rc = conf_fail(src->file, value, src->f, "%s", why.text);
	buf_release(&hosts);
	return rc;
}

static int take_groups(struct source *src, const struct conf *groups)
{
	int rc = groups->type == CONF_NULL ? 0 : conf_expect(src->file, groups, CONF_MAP, src->f);

	for (size_t i = 0; i < groups->count && !rc; i++)
		rc = take_group(src, &groups->items[i]);
	return rc;
}

/* Reads the settings of a file or of one of its profiles, which look the same. */
static int take_map(struct source *src, const struct conf *map, bool outermost)
{
	const char *keys[SETTING_IDS + 4];
	size_t n = 0;
	int rc;

	for (int i = 0; i < SETTING_IDS; i++)
		keys[n++] = settings_row((enum setting)i)->key;
	keys[n++] = "groups";
	if (outermost) {
		keys[n++] = "profile";
		keys[n++] = "profiles";
	}
	keys[n] = NULL;
	rc = conf_known(src->file, map, keys, src->f);
	for (size_t i = 0; i < map->count && !rc; i++) {
		const struct conf *item = &map->items[i];
		int id = settings_find(item->key);

		if (id >= 0)
			rc = take_setting(src, (enum setting)id, item);
		else if (strcmp(item->key, "groups") == 0)
			rc = take_groups(src, item);
	}
	return rc;
}

static int note_profiles(struct source *src)
{
	const struct conf *profiles = conf_get(&src->file->root, "profiles");
	const struct conf *profile = conf_get(&src->file->root, "profile");
	int rc = 0;

	if (profile && profile->type != CONF_NULL) {
		rc = conf_expect(src->file, profile, CONF_TEXT, src->f);
		rc = rc ? rc : settings_use_profile(src->s, profile->text);
	}
	if (rc || !profiles || profiles->type == CONF_NULL)
		return rc;
	rc = conf_expect(src->file, profiles, CONF_MAP, src->f);
	for (size_t i = 0; i < profiles->count && !rc; i++) {
		rc = profiles->items[i].type == CONF_NULL
			? 0
			: conf_expect(src->file, &profiles->items[i], CONF_MAP, src->f);
		rc = rc ? rc : settings_add_profile(src->s, profiles->items[i].key);
	}
	return rc;
}

static int sources_take_file(struct source *src)
{
	const struct conf *profiles = conf_get(&src->file->root, "profiles"), *url;
	int rc = take_map(src, &src->file->root, true);

	for (size_t i = 0; profiles && i < profiles->count && !rc; i++) {
		const struct conf *profile = &profiles->items[i];

		/* Tells no mistake in a profile that is not in force. */
		if (!settings_profile(src->s) || strcmp(profile->key, settings_profile(src->s)) != 0)
			continue;
		url = conf_get(profile, "url");
		if (url && url->type != CONF_NULL) /* the key is the one of the market above */
			settings_forget(src->s, SETTING_ID_MARKET_KEY, src->layer);
		rc = take_map(src, profile, false);
	}
	return rc;
}

char *settings_local_path(const char *name)
{
	const char *xdg = getenv("XDG_DATA_HOME");
	char *base = xdg && *xdg == '/' ? strdup(xdg) : str_expand_home("~/.local/share"), *path = NULL;

	if (base && asprintf(&path, "%s/nanopod/local%s%s", base, *name ? "/" : "", name) < 0)
		path = NULL;
	free(base);
	return path;
}

/* ---- All of them ----------------------------------------------------------------------- */

static int check_profile(const struct settings *s, struct fail *f)
{
	const char *wanted = settings_profile(s), *name, *near = NULL;
	size_t far, best = SIZE_MAX;

	if (!wanted)
		return 0;
	for (size_t i = 0; (name = settings_profile_name(s, i)); i++) {
		if (strcmp(name, wanted) == 0)
			return 0;
		if (value_near(wanted, name, &far) && far < best) {
			best = far;
			near = name;
		}
	}
	if (near)
		return fail_set(f, -ENOENT, "cannot use profile '%s': no settings file has it (did you mean '%s'?)",
			wanted, near);
	return fail_set(f, -ENOENT, "cannot use profile '%s': no settings file has it", wanted);
}

static int take_environment(struct settings *s, struct fail *f)
{
	int rc = 0;

	for (int i = 0; i < SETTING_IDS && !rc; i++) {
		char name[64], *copy, *rest, *word;
		const char *text;

		settings_env((enum setting)i, name, sizeof name);
		text = getenv(name);
		if (!text || !*text)
			continue;
		if (settings_row((enum setting)i)->type != SETTING_LIST) {
			rc = settings_set(s, (enum setting)i, LAYER_ENVIRONMENT, text, name, f);
			continue;
		}
		copy = rest = strdup(text);
		if (!copy)
			return fail_set(f, -ENOMEM, "out of memory");
		while (!rc && (word = strsep(&rest, ",")))
			rc = settings_set(s, (enum setting)i, LAYER_ENVIRONMENT, word, name, f);
		free(copy);
	}
	return rc;
}

static int read_files(struct settings *s, struct source *sources, const char *file, struct fail *f)
{
	char *person = file ? strdup(file) : person_path(), *local = settings_local_path("config.yaml"),
	     *key = settings_local_path("id_ed25519");
	int rc = key ? settings_set_local_identity(s, key) : 0;

	for (enum settings_layer layer = LAYER_LOCAL; layer <= LAYER_DIRECTORY && !rc; layer++) {
		const char *path = layer == LAYER_LOCAL ? local
			: layer == LAYER_SYSTEM         ? SYSTEM_FILE
			: layer == LAYER_PERSON         ? person
							: DIRECTORY_FILE;

		sources[layer] = (struct source){ s, layer, NULL, f };
		if (!path || (layer == LAYER_DIRECTORY && file))
			continue;
		rc = sources_open_file(s, layer, path, &sources[layer].file, f);
		if (rc == 1 && file && layer == LAYER_PERSON)
			rc = fail_set(f, -ENOENT, "cannot read '%s': no such file", file);
		if (rc >= 0)
			rc = settings_set_path(s, layer, path, rc == 0);
		if (!rc && sources[layer].file)
			rc = note_profiles(&sources[layer]);
	}
	free(person);
	free(local);
	free(key);
	return rc;
}

int settings_load(struct settings *s, const char *file, const char *profile, struct fail *f)
{
	struct source sources[LAYERS] = { 0 };
	const char *chosen = profile ? profile : getenv("NANOPOD_PROFILE");
	int rc;

	if (!file && getenv("NANOPOD_CONFIG") && *getenv("NANOPOD_CONFIG"))
		file = getenv("NANOPOD_CONFIG");
	rc = read_files(s, sources, file, f);
	if (!rc && chosen && *chosen)
		rc = settings_use_profile(s, chosen);
	rc = rc ? rc : check_profile(s, f);
	for (int layer = LAYER_LOCAL; layer <= LAYER_DIRECTORY; layer++) {
		if (!rc && sources[layer].file)
			rc = sources_take_file(&sources[layer]);
	}
	for (int layer = LAYER_LOCAL; layer <= LAYER_DIRECTORY; layer++)
		conf_free(sources[layer].file);
	rc = rc ? rc : take_environment(s, f);
	if (rc == -ENOMEM)
		fail_set(f, rc, "out of memory");
	return rc;
}
