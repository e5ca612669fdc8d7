/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a stack.yaml; stack_step.c reads its steps. */
#include "cli/provision/model/stack.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/provision/model/gate.h"
#include "cli/provision/model/stack_part.h"
#include "cli/provision/model/stack_value.h"
#include "cli/frame/value.h"

static char *stack_read_copy(const char *text)
{
	char *out = strdup(text);

	if (!out)
		command_nomem();
	return out;
}

/* ---- Roles ----------------------------------------------------------------------------- */

static int read_role(struct stack_reading *r, const struct conf *at)
{
	static const char *const keys[] = { "min", "max", "default", "help", NULL };
	struct stack_role *role = &r->s->roles[r->s->role_count];
	size_t which;
	int rc;

	if (r->s->role_count == STACK_ROLES)
		return conf_fail(r->file, at, r->f, "more than %d roles", STACK_ROLES);
	if (!stack_word(at->key) || strcmp(at->key, "all") == 0)
		return conf_fail(r->file, at, r->f, "'%.64s' cannot be the name of a role: letters, digits and '-'",
			at->key);
	rc = conf_expect(r->file, at, CONF_MAP, r->f);
	rc = rc ? rc : conf_known(r->file, at, keys, r->f);
	if (rc)
		return rc;
	r->s->role_count++;
	role->name = stack_read_copy(at->key);
	role->fallback = stack_read_copy("none");
	rc = stack_get_number(r, at, "min", CLUSTER_NODES, &role->min);
	rc = rc ? rc : stack_get_number(r, at, "max", CLUSTER_NODES, &role->max);
	rc = rc ? rc : stack_get_text(r, at, "default", &role->fallback);
	rc = rc ? rc : stack_get_text(r, at, "help", &role->help);
	if (rc)
		return rc;
	if (value_enum(role->fallback, "first|rest|all|none", &which, NULL))
		return conf_fail(r->file, conf_get(at, "default"), r->f, "'%.64s' is not one of first|rest|all|none",
			role->fallback);
	if (role->max && role->max < role->min)
		return conf_fail(r->file, at, r->f, "the role '%s' has a max below its min", role->name);
	return 0;
}

static int stack_read_read_roles(struct stack_reading *r, const struct conf *map)
{
	int rc = map ? conf_expect(r->file, map, CONF_MAP, r->f) : 0;

	for (size_t i = 0; map && i < map->count && !rc; i++)
		rc = read_role(r, &map->items[i]);
	if (!rc && r->s->role_count == 0) {
		r->s->roles[0] = (struct stack_role){ .name = stack_read_copy("nodes"),
			.help = stack_read_copy("its nodes"),
			.min = 1,
			.fallback = stack_read_copy("all") };
		r->s->role_count = 1;
	}
	return rc;
}

/* ---- Settings -------------------------------------------------------------------------- */

static int stack_read_add_setting(struct stack_reading *r, const struct conf *at, const char *key,
	struct stack_setting **out)
{
	struct stack_setting *setting = &r->s->settings[r->s->setting_count];

	if (r->s->setting_count == STACK_SETTINGS)
		return conf_fail(r->file, at, r->f, "more than %d settings", STACK_SETTINGS);
	if (!stack_word(key))
		return conf_fail(r->file, at, r->f, "'%.64s' cannot be the name of a setting: letters, digits and '-'",
			key);
	if (stack_setting(r->s, key))
		return conf_fail(r->file, at, r->f, "the setting '%s' is defined twice", key);
	setting->key = stack_read_copy(key);
	r->s->setting_count++;
	*out = setting;
	return 0;
}

static int read_type(struct stack_reading *r, const struct conf *at, struct stack_setting *setting)
{
	static const char words[] =
#define STACK_X(name, word) "|" word
		STACK_TYPES(STACK_X)
#undef STACK_X
		;
	struct fail why = { 0 };
	char *type = NULL;
	size_t which = 0;
	int rc = stack_get_text(r, at, "type", &type);

	if (!rc && type && value_enum(type, words + 1, &which, &why))
		rc = conf_fail(r->file, conf_get(at, "type"), r->f, "%s", why.text);
	free(type);
	setting->type = (enum stack_type)which;
	return rc;
}

/* [a, b] or a|b */
static int read_values(struct stack_reading *r, const struct conf *at, struct stack_setting *setting)
{
	char **words = NULL;
	struct buf b;
	int rc = stack_get_words(r, at, "values", &words);

	if (rc)
		return rc;
	if ((setting->type == STACK_ENUM) != (words != NULL)) {
		stack_free_words(words);
		return conf_fail(r->file, at, r->f,
			"a setting needs 'values' if its type is enum, and may have none otherwise");
	}
	buf_init(&b, STACK_VALUE_MAX);
	for (size_t i = 0; words && words[i] && !rc; i++) {
		size_t len = strlen(words[i]);

		if (!len || *words[i] == '|' || words[i][len - 1] == '|' || strstr(words[i], "||") ||
			strpbrk(words[i], ", "))
			rc = conf_fail(r->file, conf_get(at, "values"), r->f, "'%.64s' cannot be one of 'values'",
				words[i]);
		else if (buf_addf(&b, "%s%s", i ? "|" : "", words[i]))
			command_nomem();
	}
	if (!rc && words)
		setting->values = stack_read_copy(buf_text(&b));
	buf_release(&b);
	stack_free_words(words);
	return rc;
}

static int read_default(struct stack_reading *r, const struct conf *at, struct stack_setting *setting)
{
	const struct conf *value = conf_get(at, "default");
	struct fail why = { 0 };
	char *text = NULL, **words = NULL;
	struct buf b;
	int rc = 0;

	if (value && value->type == CONF_LIST) {
		rc = stack_get_words(r, at, "default", &words);
		buf_init(&b, STACK_VALUE_MAX);
		for (size_t i = 0; words && words[i] && !rc; i++)
			if (buf_addf(&b, "%s%s", i ? " " : "", words[i]))
				rc = conf_fail(r->file, value, r->f, "too long");
		text = rc ? NULL : stack_read_copy(buf_text(&b));
		buf_release(&b);
		stack_free_words(words);
	} else if (value && value->type == CONF_TEXT) {
		text = stack_read_copy(value->text);
	} else if (value && value->type == CONF_MAP && value->count) {
		return conf_fail(r->file, value, r->f,
			"a map cannot have a default: its script decides what an empty one means");
	}
	if (rc)
		return rc;
	if (!text)
		text = stack_read_copy(setting->type == STACK_FLAG ? "no" : "");
	if (stack_value(setting, text, &setting->fallback, &why))
		rc = conf_fail(r->file, value ? value : at, r->f, "%s", why.text);
	free(text);
	return rc;
}

static int stack_read_read_setting(struct stack_reading *r, const struct conf *at)
{
	static const char *const keys[] = { "type", "default", "values", "help", NULL };
	struct stack_setting *setting = NULL;
	int rc = conf_expect(r->file, at, CONF_MAP, r->f);

	rc = rc ? rc : conf_known(r->file, at, keys, r->f);
	rc = rc ? rc : stack_read_add_setting(r, at, at->key, &setting);
	rc = rc ? rc : read_type(r, at, setting);
	rc = rc ? rc : read_values(r, at, setting);
	rc = rc ? rc : read_default(r, at, setting);
	return rc ? rc : stack_get_text(r, at, "help", &setting->help);
}

static int read_settings(struct stack_reading *r, const struct conf *map)
{
	int rc = map ? conf_expect(r->file, map, CONF_MAP, r->f) : 0;

	for (size_t i = 0; map && i < map->count && !rc; i++)
		rc = stack_read_read_setting(r, &map->items[i]);
	return rc;
}

static int read_versions(struct stack_reading *r, const struct conf *map)
{
	int rc = map ? conf_expect(r->file, map, CONF_MAP, r->f) : 0;

	for (size_t i = 0; map && i < map->count && !rc; i++) {
		const struct conf *at = &map->items[i];
		struct stack_setting *setting = NULL;
		struct fail why = { 0 };
		char key[80];

		snprintf(key, sizeof key, "version-%.64s", at->key);
		rc = conf_expect(r->file, at, CONF_TEXT, r->f);
		rc = rc ? rc : stack_read_add_setting(r, at, key, &setting);
		if (rc)
			return rc;
		setting->type = STACK_TEXT;
		if (asprintf(&setting->help, "the version of %s", at->key) < 0)
			command_nomem();
		if (stack_value(setting, at->text, &setting->fallback, &why))
			rc = conf_fail(r->file, at, r->f, "%s", why.text);
	}
	return rc;
}

/* ---- Gates and logs -------------------------------------------------------------------- */

static int stack_read_read_gates(struct stack_reading *r, const struct conf *map)
{
	static const char *const known[] = {
#define GATE_X(name, word) word,
		GATES(GATE_X)
#undef GATE_X
	};
	const struct conf *at = conf_get(map, "gates");
	char **words = NULL;
	struct buf b;
	int rc = stack_get_words(r, map, "gates", &words);

	buf_init(&b, STACK_VALUE_MAX);
	for (size_t i = 0; words && words[i] && !rc; i++) {
		size_t k = 0;

		while (k < GATE_COUNT && strcmp(known[k], words[i]) != 0)
			k++;
		if (k == GATE_COUNT)
			rc = stack_unknown(r, at->type == CONF_LIST ? &at->items[i] : at, "gate", words[i], known,
				GATE_COUNT);
		else if (buf_addf(&b, "%s%s", i ? " " : "", words[i]))
			rc = conf_fail(r->file, at, r->f, "too many gates");
	}
	if (!rc)
		r->s->gates = stack_read_copy(buf_text(&b));
	buf_release(&b);
	stack_free_words(words);
	return rc;
}

static int add_log(struct stack_reading *r, const struct conf *at, const char *role, const struct conf *what,
	struct buf *out)
{
	struct fail why = { 0 };
	int rc = conf_expect(r->file, what, CONF_TEXT, r->f);

	if (rc)
		return rc;
	if (stack_text_check(what->text, false, &why))
		return conf_fail(r->file, what, r->f, "the text %s", why.text);
	return buf_addf(out, "%s %s %s %s\n", at->key, role, what->key, what->text)
		? conf_fail(r->file, what, r->f, "too many logs") : 0;
}

static int read_log(struct stack_reading *r, const struct conf *at, struct buf *out)
{
	static const char *const keys[] = { "role", "file", "dir", "unit", "pod", "command", NULL };
	char *role = NULL;
	int rc = conf_expect(r->file, at, CONF_MAP, r->f);

	rc = rc ? rc : conf_known(r->file, at, keys, r->f);
	rc = rc ? rc : stack_get_word(r, at, "role", &role);
	if (!rc && !stack_word(at->key))
		rc = conf_fail(r->file, at, r->f, "'%.64s' cannot be the name of a log: letters, digits and '-'",
			at->key);
	if (!rc && role && strcmp(role, "all") != 0 && !stack_role(r->s, role))
		rc = conf_fail(r->file, conf_get(at, "role"), r->f, "no role '%s' in this stack", role);
	for (size_t i = 0; i < at->count && !rc; i++)
		if (strcmp(at->items[i].key, "role") != 0)
			rc = add_log(r, at, role ? role : "all", &at->items[i], out);
	free(role);
	return rc;
}

static int read_logs(struct stack_reading *r, const struct conf *map)
{
	int rc = map ? conf_expect(r->file, map, CONF_MAP, r->f) : 0;
	struct buf out;

	buf_init(&out, STACK_VALUE_MAX);
	for (size_t i = 0; map && i < map->count && !rc; i++)
		rc = read_log(r, &map->items[i], &out);
	if (!rc)
		r->s->logs = stack_read_copy(buf_text(&out));
	buf_release(&out);
	return rc;
}

/* ---- All of it ------------------------------------------------------------------------- */

static const struct conf *stack_read_part(const struct conf *root, const char *key)
{
	const struct conf *at = conf_get(root, key);

	return at && at->type != CONF_NULL ? at : NULL;
}

static int read_stacks(struct stack_reading *r, const struct conf *root, const char *key, char ***out)
{
	int rc = stack_get_words(r, root, key, out);

	for (size_t i = 0; *out && (*out)[i] && !rc; i++)
		if (!stack_word((*out)[i]))
			rc = conf_fail(r->file, conf_get(root, key), r->f, "'%.64s' is not the name of a stack",
				(*out)[i]);
	if (!rc && !*out && !(*out = calloc(1, sizeof **out)))
		command_nomem();
	return rc;
}

static int stack_read_read_packages(struct stack_reading *r, const struct conf *root)
{
	int rc = stack_get_words(r, root, "packages", &r->s->packages);
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789+-.";

	for (size_t i = 0; r->s->packages && r->s->packages[i] && !rc; i++) {
		const char *name = r->s->packages[i];

		if (!*name || name[strspn(name, letters)] || strchr("+-.", *name))
			rc = conf_fail(r->file, conf_get(root, "packages"), r->f,
				"'%.64s' is not the name of a package", name);
	}
	if (!rc && !r->s->packages && !(r->s->packages = calloc(1, sizeof *r->s->packages)))
		command_nomem();
	return rc;
}

static int stack_read_read_all(struct stack_reading *r, const struct conf *root, const char *name)
{
	static const char *const keys[] = {
		"stack",
		"about",
		"first",
		"needs",
		"after",
		"roles",
		"settings",
		"versions",
		"gates",
		"packages",
		"logs",
		"steps",
		NULL,
	};
	int rc = conf_known(r->file, root, keys, r->f);

	rc = rc ? rc : stack_get_word(r, root, "stack", &r->s->name);
	if (!rc && (!r->s->name || strcmp(r->s->name, name) != 0))
		rc = fail_set(r->f, -EINVAL, "cannot read '%s': expected 'stack: %s' in it", r->file->name, name);
	rc = rc ? rc : stack_get_text(r, root, "about", &r->s->about);
	rc = rc ? rc : stack_get_text(r, root, "first", &r->s->first);
	rc = rc ? rc : read_stacks(r, root, "needs", &r->s->needs_stacks);
	rc = rc ? rc : read_stacks(r, root, "after", &r->s->after_stacks);
	rc = rc ? rc : stack_read_read_roles(r, stack_read_part(root, "roles"));
	rc = rc ? rc : read_settings(r, stack_read_part(root, "settings"));
	rc = rc ? rc : read_versions(r, stack_read_part(root, "versions"));
	rc = rc ? rc : stack_read_read_gates(r, root);
	rc = rc ? rc : stack_read_read_packages(r, root);
	rc = rc ? rc : read_logs(r, stack_read_part(root, "logs"));
	return rc ? rc : stack_read_steps(r, stack_read_part(root, "steps"));
}

static int fail_missing(const char *folders, const char *name, struct fail *f)
{
	char **names = stack_names(folders);
	const char *near;
	size_t count = 0;

	while (names[count])
		count++;
	near = stack_nearest(name, (const char *const *)names, count);
	if (near)
		fail_set(f, -ENOENT, "no stack '%.64s'; did you mean '%s'?", name, near);
	else
		fail_set(f, -ENOENT, "no stack '%.64s'; 'nanopod provision stacks' lists them", name);
	stack_free_words(names);
	return -ENOENT;
}

static int stack_read_make(const struct conf_file *file, const char *folders, const char *name, struct stack **out,
	struct fail *f)
{
	struct stack_reading r = { .file = file, .f = f, .s = calloc(1, sizeof *r.s) };
	int rc;

	if (!r.s)
		command_nomem();
	r.s->folders = stack_read_copy(folders);
	r.s->dir = strndup(file->name, strlen(file->name) - strlen("/stack.yaml"));
	if (!r.s->dir)
		command_nomem();
	rc = stack_read_read_all(&r, &file->root, name);
	if (rc) {
		stack_free(r.s);
		return -EINVAL;
	}
	*out = r.s;
	return 0;
}

static int stack_read_path_of(const char *folders, const char *name, char path[PATH_MAX], struct fail *f)
{
	char file[80];

	if (!stack_word(name) || strcmp(name, "common") == 0)
		return fail_missing(folders, name, f);
	snprintf(file, sizeof file, "%s/stack.yaml", name);
	(void)stack_find(folders, file, path, PATH_MAX);
	return 0;
}

int stack_parse(const char *folders, const char *name, const char *text, size_t len, struct stack **out, struct fail *f)
{
	struct conf_file *file = NULL;
	char path[PATH_MAX];
	int rc = stack_read_path_of(folders, name, path, f);

	if (rc)
		return rc;
	if (conf_parse(path, text, len, &file, f))
		return -EINVAL;
	rc = stack_read_make(file, folders, name, out, f);
	conf_free(file);
	return rc;
}

int stack_read(const char *folders, const char *name, struct stack **out, struct fail *f)
{
	struct conf_file *file = NULL;
	struct fail why = { 0 };
	char path[PATH_MAX];
	int rc = stack_read_path_of(folders, name, path, f);

	if (rc)
		return rc;
	rc = conf_read(path, &file, &why);
	if (rc == -ENOENT || rc == -ENOTDIR)
		return fail_missing(folders, name, f);
	if (rc)
		return fail_set(f, -EINVAL, "%s", why.text);
	rc = stack_read_make(file, folders, name, out, f);
	conf_free(file);
	return rc;
}
