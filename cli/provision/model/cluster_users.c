/* SPDX-License-Identifier: Apache-2.0 */
/* Reads `users` of a cluster file: people, who become settings of the stack that makes them on the nodes. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/provision/model/cluster_part.h"
#include "cli/provision/model/stack_value.h"

enum { USERS_MAX = 1000, UID_LEAST = 1000, UID_MOST = 2000000000, SHARES_MOST = 1000000, USER_NAME = 31 };
/* Ids that follow from names are in this range: below those of containers, above those that adduser(8) gives. */
enum { UID_FIRST = 10000, UID_SPAN = 50000 };

/* Users and groups so far, whose names and ids must differ. */
struct users_ids {
	struct {
		char name[USER_NAME + 1];
		long long id;
		bool group;
	} * at;
	size_t count;
};

/* As useradd(8) takes them. */
static bool user_name_ok(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return len > 0 && len <= USER_NAME && !name[len] && (islower((unsigned char)*name) || *name == '_');
}

/* As variables are named. */
static void users_plain(char *key)
{
	for (; *key; key++)
		*key = *key == '-' ? '_' : *key;
}

static void users_add(struct use *u, const char *name, const char *word, const char *value)
{
	char key[USER_NAME + 40];

	snprintf(key, sizeof key, "people_%s_%s", name, word);
	users_plain(key);
	pairs_set(&u->settings, key, value);
}

/* ---- Ids ----------------------------------------------------------------------------------- */

/* The same name has the same id in every cluster, so that files on shared folders stay somebody's. FNV-1a. */
static long long users_id(const char *name)
{
	uint32_t hash = 2166136261U;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619U;
	return UID_FIRST + hash % UID_SPAN;
}

/* "a-b" and "a_b" are one to scripts. */
static bool users_alike(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
			return false;
	return !*a && !*b;
}

static int users_take_id(struct cluster_reading *r, const struct conf *at, struct users_ids *ids, const char *name,
	long long id, bool group)
{
	for (size_t i = 0; i < ids->count; i++) {
		const char *other = ids->at[i].name;

		if (group != ids->at[i].group && strcmp(name, other) == 0)
			return conf_fail(r->file, at, r->f, "a group and a user cannot both be '%s'", name);
		if (users_alike(name, other) && (!group || strcmp(name, other) != 0))
			return conf_fail(r->file, at, r->f, "'%s' and '%s' differ too little", other, name);
		if (ids->at[i].id == id && strcmp(name, other) != 0)
			return conf_fail(r->file, at, r->f,
				"'%s' and '%s' would have the same id %lld; set another 'uid' for one", other, name,
				id);
	}
	ids->at = reallocarray(ids->at, ids->count + 1, sizeof *ids->at);
	if (!ids->at)
		command_nomem();
	snprintf(ids->at[ids->count].name, sizeof ids->at->name, "%s", name);
	ids->at[ids->count].id = id;
	ids->at[ids->count++].group = group;
	return 0;
}

/* ---- Keys -------------------------------------------------------------------------------- */

/* "ssh-ed25519 AAAA… ada@home": a type, its data in base64, a comment. No options in front. */
static bool users_key_ok(const char *key)
{
	static const char *const types[] = { "ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
		"ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com" };
	size_t len = strcspn(key, " "), data;

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (strlen(types[i]) != len || strncmp(key, types[i], len) != 0 || !key[len])
			continue;
		key += len + 1;
		data = strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
		return data >= 40 && (!key[data] || key[data] == ' ') && str_starts(key, "AAAA");
	}
	return false;
}

bool cluster_user_key(const char *line)
{
	for (const unsigned char *c = (const unsigned char *)line; *c; c++)
		if (*c < ' ' || *c == 127)
			return false;
	return users_key_ok(line);
}

char *cluster_user_line(char **rest)
{
	char *line;

	while ((line = strsep(rest, "\n"))) {
		line += strspn(line, " \t\r");
		line[strcspn(line, "\t\r")] = '\0';
		if (*line && *line != '#')
			return line;
	}
	return NULL;
}

/* Each line is a key. */
static int users_add_keys(struct cluster_reading *r, const struct conf *at, struct buf *out)
{
	char *text = strdup(at->text), *rest = text, *line;
	int rc = 0;

	if (!text)
		command_nomem();
	while (!rc && (line = cluster_user_line(&rest))) {
		if (!cluster_user_key(line))
			rc = conf_fail(r->file, at, r->f,
				"'%.48s' is no public key: expected 'ssh-ed25519 AAAA…', as in a file NAME.pub", line);
		else if (buf_addf(out, "%s\n", line))
			rc = conf_fail(r->file, at, r->f, "more than %d bytes of keys", STACK_VALUE_MAX);
	}
	free(text);
	return rc;
}

static int users_read_keys(struct cluster_reading *r, const struct conf *at, struct use *u, const char *name)
{
	struct buf keys;
	int rc = 0;

	buf_init(&keys, STACK_VALUE_MAX);
	if (at->type != CONF_LIST) {
		rc = conf_expect(r->file, at, CONF_TEXT, r->f);
		rc = rc ? rc : users_add_keys(r, at, &keys);
	}
	for (size_t i = 0; at->type == CONF_LIST && i < at->count && !rc; i++) {
		rc = conf_expect(r->file, &at->items[i], CONF_TEXT, r->f);
		rc = rc ? rc : users_add_keys(r, &at->items[i], &keys);
	}
	if (!rc)
		users_add(u, name, "keys", buf_text(&keys));
	buf_release(&keys);
	return rc;
}

/* ---- The rest of a person ------------------------------------------------------------------ */

static int users_read_number(struct cluster_reading *r, const struct conf *at, long long least, long long most)
{
	char *end;
	long long n;
	int rc = conf_expect(r->file, at, CONF_TEXT, r->f);

	if (rc)
		return rc;
	errno = 0;
	n = strtoll(at->text, &end, 10);
	if (!isdigit((unsigned char)*at->text) || *end || errno || n < least || n > most)
		return conf_fail(r->file, at, r->f, "%s: '%.32s' is no number from %lld to %lld", at->key, at->text,
			least, most);
	return 0;
}

/* Names of groups, as words. */
static int users_read_groups(struct cluster_reading *r, const struct conf *at, struct buf *out)
{
	bool list = at->type == CONF_LIST;
	int rc = list ? 0 : conf_expect(r->file, at, CONF_TEXT, r->f);

	for (size_t i = 0; !rc && i < (list ? at->count : 1); i++) {
		const struct conf *item = list ? &at->items[i] : at;

		rc = conf_expect(r->file, item, CONF_TEXT, r->f);
		if (!rc && !user_name_ok(item->text))
			rc = conf_fail(r->file, item, r->f,
				"'%.48s' cannot be the name of a group: small letters, digits, _ and -", item->text);
		else if (!rc && buf_addf(out, "%s%s", i ? " " : "", item->text))
			rc = conf_fail(r->file, item, r->f, "too many groups");
	}
	return rc;
}

/* What Slurm is told stands on its command line: words like "MaxJobs=2". */
static int users_read_words(struct cluster_reading *r, const struct conf *at, bool limits)
{
	const char *allowed = limits ? "=,:/+- " : "-";
	int rc = conf_expect(r->file, at, CONF_TEXT, r->f);

	for (const char *c = rc ? "" : at->text; *c && !rc; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && !strchr(allowed, *c))
			rc = conf_fail(r->file, at, r->f,
				limits ? "limits: '%.48s' is not like 'MaxJobs=2 GrpTRES=cpu=8'"
				       : "account: '%.48s' is no word",
				at->text);
	return rc;
}

static int users_read_member(struct cluster_reading *r, const struct conf *at, struct use *u, const char *name)
{
	struct fail why = { 0 };
	struct buf words;
	int rc;

	if (strcmp(at->key, "keys") == 0)
		return users_read_keys(r, at, u, name);
	if (strcmp(at->key, "groups") == 0) {
		buf_init(&words, STACK_VALUE_MAX);
		rc = users_read_groups(r, at, &words);
		if (!rc)
			users_add(u, name, "groups", buf_text(&words));
		buf_release(&words);
		return rc;
	}
	if (strcmp(at->key, "uid") == 0)
		rc = users_read_number(r, at, UID_LEAST, UID_MOST);
	else if (strcmp(at->key, "shares") == 0)
		rc = users_read_number(r, at, 1, SHARES_MOST);
	else if (strcmp(at->key, "account") == 0 || strcmp(at->key, "limits") == 0)
		rc = users_read_words(r, at, *at->key == 'l');
	else
		rc = conf_expect(r->file, at, CONF_TEXT, r->f);
	if (!rc && strcmp(at->key, "sudo") == 0 && strcmp(at->text, "yes") != 0 && strcmp(at->text, "no") != 0 &&
		strcmp(at->text, "true") != 0 && strcmp(at->text, "false") != 0)
		rc = conf_fail(r->file, at, r->f, "sudo: '%.32s' is neither yes nor no", at->text);
	if (!rc && strcmp(at->key, "shell") == 0 && (*at->text != '/' || strpbrk(at->text, " :")))
		rc = conf_fail(r->file, at, r->f, "shell: '%.64s' is no program's path", at->text);
	if (!rc && stack_text_check(at->text, false, &why))
		rc = conf_fail(r->file, at, r->f, "'%.64s' %s", at->key, why.text);
	if (!rc)
		users_add(u, name, at->key, at->text);
	return rc;
}

static int users_read_one(struct cluster_reading *r, const struct conf *at, struct use *u)
{
	static const char *const known[] = { "account", "groups", "keys", "limits", "shares", "shell", "sudo", "uid",
		NULL };
	int rc = 0;

	if (!user_name_ok(at->key) || strcmp(at->key, "root") == 0)
		return conf_fail(r->file, at, r->f,
			"'%.48s' cannot be the name of a user: small letters, digits, _ and -, at most %d, and not "
			"root",
			at->key, USER_NAME);
	if (at->type == CONF_NULL)
		return 0;
	rc = conf_expect(r->file, at, CONF_MAP, r->f);
	rc = rc ? rc : conf_known(r->file, at, known, r->f);
	for (size_t i = 0; !rc && i < at->count; i++)
		if (at->items[i].type != CONF_NULL)
			rc = users_read_member(r, &at->items[i], u, at->key);
	return rc;
}

/* The id of a user, who has a group of his own, and those of his other groups. */
static int users_take_ids(struct cluster_reading *r, const struct conf *at, struct use *u, struct users_ids *ids)
{
	const struct conf *uid = at->type == CONF_MAP ? conf_get(at, "uid") : NULL;
	bool said = uid && uid->type == CONF_TEXT;
	char number[32];
	long long id = said ? strtoll(uid->text, NULL, 10) : users_id(at->key);

	snprintf(number, sizeof number, "%lld", id);
	users_add(u, at->key, "uid", number);
	return users_take_id(r, said ? uid : at, ids, at->key, id, false);
}

static int users_take_groups(struct cluster_reading *r, const struct conf *at, struct use *u, struct users_ids *ids,
	struct buf *words)
{
	char key[USER_NAME + 40], number[32], *copy, *rest, *name;
	int rc = 0;

	snprintf(key, sizeof key, "people_%s_groups", at->key);
	users_plain(key);
	copy = rest = strdup(pairs_or(&u->settings, key, ""));
	if (!copy)
		command_nomem();
	while (!rc && (name = strsep(&rest, " "))) {
		bool known = !*name;

		for (size_t i = 0; i < ids->count && !known; i++)
			known = ids->at[i].group && strcmp(ids->at[i].name, name) == 0;
		if (known)
			continue;
		rc = users_take_id(r, at, ids, name, users_id(name), true);
		snprintf(key, sizeof key, "groups_%s", name);
		users_plain(key);
		snprintf(number, sizeof number, "%lld", users_id(name));
		pairs_set(&u->settings, key, number);
		if (!rc && buf_addf(words, "%s%s", words->len ? " " : "", name))
			rc = conf_fail(r->file, at, r->f, "too many groups");
	}
	free(copy);
	return rc;
}

static int users_read_all(struct cluster_reading *r, const struct conf *users, struct use *u, struct users_ids *ids)
{
	struct buf names, groups;
	int rc = 0;

	buf_init(&names, STACK_VALUE_MAX);
	buf_init(&groups, STACK_VALUE_MAX);
	for (size_t i = 0; !rc && i < users->count; i++) {
		rc = users_read_one(r, &users->items[i], u);
		rc = rc ? rc : users_take_ids(r, &users->items[i], u, ids);
		if (!rc && buf_addf(&names, "%s%s", i ? " " : "", users->items[i].key))
			rc = conf_fail(r->file, users, r->f, "too many users");
	}
	for (size_t i = 0; !rc && i < users->count; i++)
		rc = users_take_groups(r, &users->items[i], u, ids, &groups);
	pairs_set(&u->settings, "people", buf_text(&names));
	pairs_set(&u->settings, "groups", buf_text(&groups));
	buf_release(&names);
	buf_release(&groups);
	return rc;
}

int cluster_read_users(struct cluster_reading *r, const struct conf *users, struct use *u)
{
	struct users_ids ids = { 0 };
	int rc = 0;

	pairs_set(&u->settings, "people", "");
	pairs_set(&u->settings, "groups", "");
	if (!users || users->type == CONF_NULL)
		return 0;
	rc = conf_expect(r->file, users, CONF_MAP, r->f);
	if (!rc && users->count > USERS_MAX)
		rc = conf_fail(r->file, users, r->f, "more than %d users", USERS_MAX);
	rc = rc ? rc : users_read_all(r, users, u, &ids);
	free(ids.at);
	return rc;
}
