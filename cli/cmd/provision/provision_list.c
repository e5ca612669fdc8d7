/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `nanopod provision` that touch no nodes: list, stacks, bundle. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/local/daemons.h"
#include "cli/cmd/provision/provision.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/remote/select.h"
#include "cli/frame/value.h"
#include "conf/conf.h"

enum { NAMES_WIDTH = 40, WORDS = 60 };

/* ---- Clusters ----------------------------------------------------------------------------------- */

static const struct column list_columns[] = {
	{ "cluster", COLUMN_ID, "its name" },
	{ "nodes", COLUMN_RIGHT | COLUMN_RAW, "how many" },
	{ "members", 0, "which" },
	{ "stacks", 0, "what runs on them" },
	{ "last", 0, "the last action, and how it ended" },
	{ "time", 0, "when it ended" },
	{ "folder", COLUMN_WIDE, "the folder of its file, journal and logs" },
	{ 0 },
};

static void put_stacks(const char *cluster, struct buf *out)
{
	struct conf_file *file;
	const struct conf *stacks;
	struct buf text;

	buf_init(&text, PROVISION_TEXT);
	if (runlog_kept(cluster, &text, NULL) == 0 &&
		conf_parse(cluster, buf_text(&text), text.len, &file, NULL) == 0) {
		stacks = conf_get(&file->root, "stacks");
		for (size_t i = 0; stacks && stacks->type == CONF_MAP && i < stacks->count; i++)
			(void)buf_addf(out, "%s%s", out->len ? "," : "", stacks->items[i].key);
		conf_free(file);
	}
	buf_release(&text);
}

/* Counts the members; folded: as people write them, malloc'd. */
static size_t members_of(const char *cluster, char **folded)
{
	struct buf text;
	const char **names = NULL;
	size_t n = 0;

	buf_init(&text, 8 << 20);
	if (runlog_members(cluster, &text, NULL) == 0 && text.len) {
		for (char *line = text.data, *name; (name = strsep(&line, "\n"));) {
			if (!*name)
				continue;
			names = reallocarray(names, n + 1, sizeof *names);
			if (!names)
				command_nomem();
			names[n++] = name;
		}
	}
	*folded = select_fold_names(names, n, NAMES_WIDTH);
	free(names);
	buf_release(&text);
	return n;
}

static void put_cluster(struct rows *r, const char *cluster)
{
	struct journal_run last = { 0 };
	char count[24], *members, how[80] = "", folder[PROVISION_PATH];
	struct buf stacks;

	buf_init(&stacks, 4096);
	put_stacks(cluster, &stacks);
	snprintf(count, sizeof count, "%zu", members_of(cluster, &members));
	if (runlog_last(cluster, &last))
		snprintf(how, sizeof how, "%s: %s", last.verb, print_status_code(last.status));
	rows_add(r,
		(const char *[]){ cluster, count, members, buf_text(&stacks), *how ? how : NULL,
			*last.time ? last.time : NULL,
			runlog_folder(cluster, folder, sizeof folder, NULL) ? NULL : folder });
	free(members);
	buf_release(&stacks);
}

int provision_list(struct nanopod *np, const struct options *o, char **words)
{
	int status = STATUS_OK;
	struct rows *r = rows_new(np, o, list_columns, &status);
	char **names;

	(void)words;
	if (!r)
		return status;
	names = runlog_clusters();
	for (char **n = names; *n; n++) {
		put_cluster(r, *n);
		free(*n);
	}
	if (!*names && np->format == FORMAT_TABLE && np->tty_out)
		print_note(np, "no clusters here; 'nanopod provision -r RESERVATION slurm' makes one");
	free(names);
	return rows_end(r);
}

/* ---- Stacks --------------------------------------------------------------------------------------- */

static const struct column stacks_columns[] = {
	{ "stack", COLUMN_ID, "its name" },
	{ "about", COLUMN_TEXT, "what it is" },
	{ "roles", 0, "the roles of its nodes" },
	{ "needs", 0, "stacks it needs" },
	{ "steps", COLUMN_RIGHT | COLUMN_RAW | COLUMN_WIDE, "how many" },
	{ "folder", COLUMN_WIDE, "its folder" },
	{ 0 },
};

static const struct column settings_columns[] = {
	{ "setting", COLUMN_ID, "the SETTING of --set STACK.SETTING=VALUE; 'role ROLE' is for --role" },
	{ "type", 0, "its values" },
	{ "default", 0, "the default" },
	{ "help", COLUMN_TEXT, "what it does" },
	{ 0 },
};

static int bad_stack(struct nanopod *np, int rc, const struct fail *f)
{
	return print_fail(np, rc == -ENOENT ? STATUS_NOTFOUND : STATUS_FAILURE, NULL, "%s", f->text);
}

/* A broken stack does not hide the others. */
static int put_stack(struct nanopod *np, struct rows *r, const char *folder, const char *name)
{
	struct stack *s;
	struct fail f = { 0 };
	struct buf roles, needs;
	char steps[24];
	int rc = stack_read(folder, name, &s, &f);

	if (rc) {
		print_warn(np, "%s", f.text);
		return STATUS_FAILURE;
	}
	buf_init(&roles, 4096);
	buf_init(&needs, 4096);
	for (size_t i = 0; i < s->role_count; i++)
		(void)buf_addf(&roles, "%s%s", i ? "," : "", s->roles[i].name);
	for (char **n = s->needs_stacks; n && *n; n++)
		(void)buf_addf(&needs, "%s%s", needs.len ? "," : "", *n);
	snprintf(steps, sizeof steps, "%zu", s->step_count);
	rows_add(r,
		(const char *[]){ s->name, s->about, roles.len ? buf_text(&roles) : NULL,
			needs.len ? buf_text(&needs) : NULL, steps, s->dir });
	buf_release(&roles);
	buf_release(&needs);
	stack_free(s);
	return STATUS_OK;
}

static const char *type_word(const struct stack_setting *s)
{
	static const char *const words[] = {
#define TYPE_WORD(name, word) [name] = word,
		STACK_TYPES(TYPE_WORD)
#undef TYPE_WORD
	};

	return s->type == STACK_ENUM && s->values ? s->values : words[s->type];
}

static int put_settings(struct nanopod *np, const struct options *o, const char *folder, const char *name)
{
	int status = STATUS_OK, rc;
	struct fail f = { 0 };
	struct stack *s;
	struct rows *r;
	char role[80];

	rc = stack_read(folder, name, &s, &f);
	if (rc)
		return bad_stack(np, rc, &f);
	r = rows_new(np, o, settings_columns, &status);
	for (size_t i = 0; r && i < s->role_count; i++) {
		snprintf(role, sizeof role, "role %.70s", s->roles[i].name);
		rows_add(r, (const char *[]){ role, "hosts", s->roles[i].fallback, s->roles[i].help });
	}
	for (size_t i = 0; r && i < s->setting_count; i++)
		rows_add(r,
			(const char *[]){ s->settings[i].key, type_word(&s->settings[i]),
				s->settings[i].fallback && *s->settings[i].fallback ? s->settings[i].fallback : NULL,
				s->settings[i].help });
	stack_free(s);
	return r ? rows_end(r) : status;
}

int provision_stacks(struct nanopod *np, const struct options *o, char **words)
{
	char folder[PROVISION_PATH], **names;
	struct fail f = { 0 };
	struct rows *r;
	int status = STATUS_OK;

	if (stack_folders(folder, sizeof folder, &f))
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	if (*words)
		return put_settings(np, o, folder, *words);
	r = rows_new(np, o, stacks_columns, &status);
	if (!r)
		return status;
	names = stack_names(folder);
	for (char **n = names; n && *n; n++) {
		if (put_stack(np, r, folder, *n))
			status = STATUS_PARTLY;
		free(*n);
	}
	free(names);
	return provision_worse(rows_end(r), status);
}

/* ---- Bundle ------------------------------------------------------------------------------------------- */

static int check_stacks(struct nanopod *np, const char *folder, char **words)
{
	struct fail f = { 0 };

	for (; *words; words++) {
		struct stack *s;
		int rc = stack_read(folder, *words, &s, &f);

		if (rc)
			return bad_stack(np, rc, &f);
		stack_free(s);
	}
	return STATUS_OK;
}

static int run_bundle(struct nanopod *np, const struct options *o, const char *folder, const char *dir, char **words)
{
	const char *argv[WORDS + 1];
	char script[PROVISION_PATH + 32];
	struct fail f = { 0 };
	size_t n = 0;
	int status = 0, rc;
	char *sh;

	(void)stack_find(folder, "common/bundle.sh", script, sizeof script);
	argv[n++] = script;
	argv[n++] = "--stacks";
	argv[n++] = folder;
	argv[n++] = "-d";
	argv[n++] = dir;
	if (option_given(o, "release")) {
		argv[n++] = "--release";
		argv[n++] = option_text(o, "release");
	}
	for (size_t i = 0; i < option_count(o, "from") && n + 2 < WORDS; i++) {
		argv[n++] = "--from";
		argv[n++] = option_at(o, "from", i);
	}
	for (size_t i = 0; i < option_count(o, "set") && n + 2 < WORDS; i++) {
		argv[n++] = "--set";
		argv[n++] = option_at(o, "set", i);
	}
	while (*words && n < WORDS)
		argv[n++] = *words++;
	argv[n] = NULL;
	if (*words || n == WORDS)
		return print_fail(np, STATUS_USAGE, NULL, "too many stacks for one bundle");
	sh = agentd_find("sh", &f);
	if (!sh)
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	fflush(np->out);
	rc = agentd_run(&(struct agentd_call){ .program = sh, .words = argv }, &status, &f);
	free(sh);
	if (rc)
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	if (status == STATUS_INT || status == STATUS_TERM || status == STATUS_USAGE)
		return status;
	return status
		? print_fail(np, STATUS_FAILURE, "the same command again goes on", "cannot make the bundle '%s'", dir)
		: STATUS_OK;
}

int provision_bundle(struct nanopod *np, const struct options *o, char **words)
{
	char folder[PROVISION_PATH];
	const char *dir = option_text(o, "dir");
	struct fail f = { 0 };
	int status;

	if (!dir)
		return print_fail_field(np, STATUS_USAGE, "--dir", NULL, "--dir is required, e.g. -d bundle");
	if (stack_folders(folder, sizeof folder, &f))
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	status = check_stacks(np, folder, words);
	for (size_t i = 0; !status && i < option_count(o, "from"); i++)
		if (access(option_at(o, "from", i), R_OK | X_OK) < 0)
			status = print_fail_field(np, STATUS_NOTFOUND, "--from", NULL, "cannot read '%s': %s",
				option_at(o, "from", i), strerror(errno));
	if (status)
		return status;
	if (option_given(o, "dry-run")) {
		print_note(np, "would create '%s'", dir);
		return STATUS_OK;
	}
	return run_bundle(np, o, folder, dir, words);
}
