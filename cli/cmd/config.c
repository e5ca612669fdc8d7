/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod config: shows which value is in force and why, and writes the person's settings file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli/frame/action.h"
#include "cli/frame/command.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/frame/value.h"
#include "conf/conf.h"
#include "conf/confedit.h"
#include "pssh/pssh.h"

enum { KEYS_MAX = 5 };

/* A key as typed: "fanout", "groups.web", "profile", "profiles.prod.user". */
struct key {
	char text[256];
	const char *parts[KEYS_MAX];
	int count;
	int setting;  /* an enum setting, or -1: a group or the profile */
	bool group;
};

/* ---- Keys ------------------------------------------------------------------------------ */

static int unknown_key(struct nanopod *np, const char *typed)
{
	const char *near = NULL;
	size_t far, best = SIZE_MAX;
	char hint[128];

	for (int i = 0; i < SETTING_IDS; i++) {
		const char *key = settings_row((enum setting)i)->key;

		if (value_near(typed, key, &far) && far < best) {
			best = far;
			near = key;
		}
	}
	if (near)
		snprintf(hint, sizeof hint, "did you mean '%s'?", near);
	else
		snprintf(hint, sizeof hint, "'nanopod config' lists them, and 'groups.NAME' is a group");
	return print_fail_field(np, STATUS_USAGE, typed, hint, "cannot use '%.100s': no such setting", typed);
}

static int parse_key(struct nanopod *np, const char *typed, struct key *key)
{
	int first = 0;
	char *rest;

	*key = (struct key){ .setting = -1 };
	if (strlen(typed) >= sizeof key->text)
		return unknown_key(np, typed);
	memcpy(key->text, typed, strlen(typed) + 1);
	for (rest = key->text; rest && key->count < KEYS_MAX - 1;) {
		/* A group's name may contain dots, so it is everything after "groups.". */
		if (key->count && strcmp(key->parts[key->count - 1], "groups") == 0) {
			key->parts[key->count++] = rest;
			rest = NULL;
		} else {
			key->parts[key->count++] = strsep(&rest, ".");
		}
	}
	if (rest)
		return unknown_key(np, typed);
	if (key->count > 2 && strcmp(key->parts[0], "profiles") == 0 && *key->parts[1])
		first = 2;
	key->group = key->count == first + 2 && strcmp(key->parts[first], "groups") == 0 && *key->parts[first + 1];
	if (key->group || (first == 0 && key->count == 1 && strcmp(typed, "profile") == 0))
		return 0;
	key->setting = key->count == first + 1 ? settings_find(key->parts[first]) : -1;
	return key->setting < 0 ? unknown_key(np, typed) : 0;
}

/* ---- Showing --------------------------------------------------------------------------- */

static void join_items(const struct settings *s, enum setting id, struct buf *out)
{
	const char *item;

	buf_clear(out);
	for (size_t i = 0; (item = settings_item(s, id, i)); i++)
		if ((i && buf_addc(out, ',')) || buf_adds(out, item))
			command_nomem();
}

static int config_list(struct nanopod *np, const struct options *o)
{
	struct column columns[] = {
		{ "key", COLUMN_ID, "the setting's name" },
		{ "value", 0, "value in force" },
		{ "origin", option_given(o, "origin") ? 0 : COLUMN_WIDE,
			"default, system, person, directory, environment or flag" },
		{ "where", option_given(o, "origin") ? 0 : COLUMN_WIDE, "file and line, variable or flag" },
		{ "default", COLUMN_WIDE, "value where nothing sets it" },
		{ "environment", COLUMN_HIDDEN, "environment variable" },
		{ "help", COLUMN_HIDDEN, "meaning" },
		{ 0 },
	};
	const struct settings *s = np->settings;
	struct buf value;
	struct rows *r;
	const char *name;
	int status;

	r = rows_new(np, o, columns, &status);
	if (!r)
		return status;
	buf_init(&value, 1 << 20);
	for (int i = 0; i < SETTING_IDS; i++) {
		enum setting id = (enum setting)i;
		const struct setting_row *row = settings_row(id);
		char env[64];

		settings_env(id, env, sizeof env);
		join_items(s, id, &value);
		rows_add(r,
			(const char *[]){ row->key, settings_count(s, id) ? buf_text(&value) : NULL,
				settings_layer_name(settings_layer(s, id)), settings_where(s, id), row->fallback, env,
				row->help });
	}
	rows_add(r,
		(const char *[]){ "profile", settings_profile(s), NULL, NULL, NULL, "NANOPOD_PROFILE",
			"the profile in force" });
	for (size_t i = 0; (name = settings_group_name(s, i)); i++) {
		buf_clear(&value);
		if (buf_addf(&value, "groups.%s", name))
			command_nomem();
		rows_add(r,
			(const char *[]){ buf_text(&value), settings_group(s, name), "file",
				settings_group_where(s, name), NULL, NULL,
				"a group of hosts: '@NAME' in any list of hosts" });
	}
	buf_release(&value);
	return rows_end(r);
}

static void config_show_json(struct nanopod *np, const char *typed, const struct key *key, const char *value,
	const char *where)
{
	bool many = key->setting >= 0 && settings_row((enum setting)key->setting)->type == SETTING_LIST;
	struct buf text;
	struct json j;

	buf_init(&text, 2 << 20);
	j = json_to(&text);
	json_begin_object(&j, NULL);
	json_text(&j, "key", typed);
	if (many)
		json_begin_array(&j, "value");
	for (size_t i = 0; value; i++) {
		json_text(&j, many ? NULL : "value", value);
		value = many ? settings_item(np->settings, (enum setting)key->setting, i + 1) : NULL;
	}
	if (many)
		json_end(&j);
	json_text(&j, "where", where);
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(np->out, "%s\n", buf_text(&text));
	buf_release(&text);
}

static int config_get(struct nanopod *np, const struct options *o)
{
	const struct settings *s = np->settings;
	const char *typed = option_argv(o)[1], *value, *where = NULL;
	struct key key;
	int rc = parse_key(np, typed, &key);

	if (rc)
		return rc;
	if (key.count > 2)
		return print_fail(np, STATUS_USAGE, NULL, "cannot show '%s': use '--profile %s'", typed, key.parts[1]);
	if (key.setting >= 0) {
		value = settings_text(s, (enum setting)key.setting);
		where = settings_where(s, (enum setting)key.setting);
	} else {
		value = key.group ? settings_group(s, key.parts[1]) : settings_profile(s);
		where = key.group ? settings_group_where(s, key.parts[1]) : NULL;
	}
	if (!value)
		return print_fail_field(np, STATUS_NOTFOUND, typed, NULL, "cannot show '%s': it is not set", typed);
	if (np->format == FORMAT_JSON || np->format == FORMAT_JSONL) {
		config_show_json(np, typed, &key, value, where);
		return STATUS_OK;
	}
	for (size_t i = 0; value; i++) {
		if (option_given(o, "origin") && where)
			fprintf(np->out, "%s\t%s\n", value, where);
		else
			fprintf(np->out, "%s\n", value);
		value = key.setting >= 0 ? settings_item(s, (enum setting)key.setting, i + 1) : NULL;
	}
	return STATUS_OK;
}

/* ---- Changing -------------------------------------------------------------------------- */

/* Unknown groups may be defined later; only a group that contains itself is surely wrong. */
static int resolve_nothing(void *own, const char *group, struct pssh_list *into)
{
	(void)into;
	return strcmp(own, group) == 0 ? PSSH_EINVAL : 0;
}

static int config_check_hosts(struct nanopod *np, const char *group, char **values, int count)
{
	char *own = strdup(group);
	struct pssh_list *l;
	int rc = 0;

	if (!own || pssh_list_new(&l) != 0 || pssh_list_set_resolver(l, resolve_nothing, own) != 0)
		command_nomem();
	for (int i = 0; !rc && i < count; i++)
		rc = pssh_list_add(l, values[i]);
	if (rc)
		rc = print_fail_field(np, STATUS_USAGE, group, "'nanopod help hosts' shows how hosts are written",
			"cannot set '%s': %s", group, pssh_list_error(l));
	pssh_list_free(l);
	free(own);
	return rc;
}

static int check_values(struct nanopod *np, const struct key *key, char **values, int count)
{
	struct fail why = { 0 };

	if (key->group && settings_check_group(key->parts[key->count - 1], &why))
		return print_fail(np, STATUS_USAGE, NULL, "cannot set '%s': %s", key->parts[key->count - 1], why.text);
	if (key->group)
		return config_check_hosts(np, key->parts[key->count - 1], values, count);
	if (key->setting < 0 && count != 1)
		return print_fail(np, STATUS_USAGE, NULL, "cannot set 'profile': it takes one name");
	if (key->setting < 0)
		return 0;
	if (count > 1 && settings_row((enum setting)key->setting)->type != SETTING_LIST)
		return print_fail(np, STATUS_USAGE, NULL, "cannot set '%s': it takes one value",
			key->parts[key->count - 1]);
	for (int i = 0; i < count; i++)
		if (settings_check((enum setting)key->setting, values[i], &why))
			return print_fail_field(np, STATUS_USAGE, key->parts[key->count - 1], NULL,
				"cannot set '%s': %s", key->parts[key->count - 1], why.text);
	return 0;
}

/* Refuses to write a directory's file that the next command would ignore. */
static int check_trust(struct nanopod *np, const struct key *key, bool directory)
{
	if (!directory || key->setting < 0 || settings_row((enum setting)key->setting)->trust == TRUST_ANY)
		return 0;
	return print_fail(np, STATUS_USAGE, "leave out '--directory'",
		"cannot set '%s' there: a directory's file may not set it", key->parts[key->count - 1]);
}

static int config_change(struct nanopod *np, const struct options *o, const char *typed, char **values, int count)
{
	bool directory = option_given(o, "directory");
	const char *path = settings_path(np->settings, directory ? LAYER_DIRECTORY : LAYER_PERSON);
	const char *parts[KEYS_MAX + 1] = { 0 };
	struct buf text, changed;
	struct fail f = { 0 };
	struct key key;
	int rc = parse_key(np, typed, &key);

	if (!rc && count)
		rc = check_values(np, &key, values, count);
	rc = rc ? rc : check_trust(np, &key, directory);
	if (rc)
		return rc;
	if (!path)
		return print_fail(np, STATUS_FAILURE, "set HOME, or name a file by '--config'",
			"cannot find your settings file");
	memcpy(parts, key.parts, sizeof key.parts);
	buf_init(&text, CONF_BYTES_MAX);
	buf_init(&changed, CONF_BYTES_MAX);
	rc = buf_read_file(&text, path);
	if (rc && rc != -ENOENT) {
		rc = print_fail(np, STATUS_FAILURE, NULL, "cannot read '%s': %s", path, strerror(-rc));
	} else {
		rc = confedit_set(path, &text, parts, (const char *const *)values, (size_t)count,
			count > 1 ||
				(key.setting >= 0 && settings_row((enum setting)key.setting)->type == SETTING_LIST),
			&changed, &f);
		if (rc == 1)
			rc = print_fail_field(np, STATUS_NOTFOUND, typed, NULL,
				"cannot remove '%s': '%s' does not set it", typed, path);
		else if (rc)
			rc = print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
		else if ((rc = file_folders(path)) ||
			(rc = file_put(path, changed.data, changed.len, directory ? 0644 : 0600)))
			rc = print_fail(np, STATUS_FAILURE, NULL, "cannot write '%s': %s", path, strerror(-rc));
	}
	buf_release(&text);
	buf_release(&changed);
	return rc;
}

/* Warns where a nearer layer hides the new value. */
static void warn_hidden(struct nanopod *np, const struct options *o, const char *typed)
{
	enum settings_layer mine = option_given(o, "directory") ? LAYER_DIRECTORY : LAYER_PERSON;
	int id = settings_find(typed);

	if (id >= 0 && settings_layer(np->settings, (enum setting)id) > mine)
		print_warn(np, "%s sets another value, which wins", settings_where(np->settings, (enum setting)id));
}

static int config_set(struct nanopod *np, const struct options *o)
{
	char **words = option_argv(o);
	int rc = config_change(np, o, words[1], words + 2, option_argc(o) - 2);

	if (rc == STATUS_OK)
		warn_hidden(np, o, words[1]);
	return rc;
}

static int config_unset(struct nanopod *np, const struct options *o)
{
	return config_change(np, o, option_argv(o)[1], NULL, 0);
}

static int config_path(struct nanopod *np, const struct options *o)
{
	const char *text = settings_path(np->settings, option_given(o, "directory") ? LAYER_DIRECTORY : LAYER_PERSON);

	if (!text)
		return print_fail(np, STATUS_FAILURE, "set HOME, or name a file by '--config'",
			"cannot find your settings file");
	fprintf(np->out, "%s\n", text);
	return STATUS_OK;
}

/* ---- The command ----------------------------------------------------------------------- */

static const struct {
	const char *name, *usage;
	int min, max;
	int (*run)(struct nanopod *np, const struct options *o);
} actions[] = {
	{ "list", "nanopod config list", 1, 1, config_list },
	{ "get", "nanopod config get KEY", 2, 2, config_get },
	{ "set", "nanopod config set KEY VALUE...", 3, 1002, config_set },
	{ "unset", "nanopod config unset KEY", 2, 2, config_unset },
	{ "path", "nanopod config path", 1, 1, config_path },
};

static int config_command(struct nanopod *np, const struct options *o)
{
	const char *action = option_argc(o) ? option_argv(o)[0] : NULL;
	char room[ACTION_MISSING];

	if (!action)
		return config_list(np, o);
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (strcmp(actions[i].name, action) != 0)
			continue;
		if (option_argc(o) >= actions[i].min && option_argc(o) <= actions[i].max)
			return actions[i].run(np, o);
		return print_fail(np, STATUS_USAGE, NULL, "cannot run 'config %s': %s%s; usage: %s", action,
			option_argc(o) < actions[i].min ? "an argument is missing" : "too many arguments",
			option_argc(o) < actions[i].min ? action_missing(actions[i].usage, option_argc(o) + 2, room)
							: "",
			actions[i].usage);
	}
	return print_fail(np, STATUS_USAGE, "available: list, get, set, unset and path",
		"cannot run 'config %.60s': no such action", action);
}

static const struct option options[] = {
	{ "origin", 0, OPTION_FLAG, .help = "show where each value comes from" },
	{ "directory", 0, OPTION_FLAG, .help = "set, unset, path: use ./.nanopod.yaml instead of your own file" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod config --origin", "every setting with its value and where that comes from" },
	{ "nanopod config set fanout 256", "write it into your own file" },
	{ "nanopod config set groups.web 'n[1-64]'", "make a group: 'nanopod run -w @web -- uptime'" },
	{ "nanopod config get user --profile prod", "one value of that profile" },
	{ 0 },
};

const struct command cmd_config = {
	.name = "config",
	.args = "[list | get KEY | set KEY VALUE... | unset KEY | path]",
	.summary = "show and change settings",
	.examples = examples,
	.positional = "list             list all settings (the default)\n"
		      "get KEY          print a value; a list one value per line\n"
		      "set KEY VALUE...   write it into your own file, which is created if needed\n"
		      "unset KEY        remove it from your own file\n"
		      "path             print the path of your own file",
	.description = "A value comes from the first of these that has one: flags, NANOPOD_* variables, "
		       "./.nanopod.yaml, ~/.config/nanopod/config.yaml (or below XDG_CONFIG_HOME), "
		       "/etc/nanopod/config.yaml. KEY is a setting's name, groups.NAME, profile, or one of the "
		       "first two after profiles.NAME.\n\nnanopod refuses your own file where others may write it. "
		       "Anybody may have made a directory's file: it may set mere preferences, but not identity, "
		       "jump, ssh-config, known-hosts, host-key, agent, history and those about the market, which "
		       "run programs, choose keys, weaken checks or spend.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.complete_rest = COMPLETE_SETTING,
	.first_values = "list|get|set|unset|path",
	.run = config_command,
};
