/* SPDX-License-Identifier: Apache-2.0 */
/* `nanopod provision stack`: begins a stack of one's own, and tries one on a node from nothing to removed. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "cli/cmd/provision/provision.h"
#include "cli/frame/action.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/retype.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/provision/report/runlog.h"
#include "cli/remote/select.h"

/* ---- new ----------------------------------------------------------------------------------------- */

/* As nanopod-stacks(7) has it. */
static const char new_table[] = "stack: %s\n"
				"about: a greeting for whoever signs in\n"
				"needs: [base]\n"
				"settings:\n"
				"  text: {type: text, default: Welcome, help: the greeting}\n"
				"steps:\n"
				"  # greet.sh; 'man nanopod-cluster' has what a stack can have, 'man nanopod-stacks' "
				"what its scripts can call.\n"
				"  - {name: greet, help: write the greeting}\n";
static const char new_script[] = "# Writes /etc/motd, from the setting 'text'.\n"
				 "\n"
				 "want() { printf '%s\\n' \"$S_text\" | np_file /etc/motd 0644 root:root; }\n"
				 "\n"
				 "verify() {\n"
				 "	if [ -s /etc/motd ]; then np_ok \"there is a greeting\"\n"
				 "	else np_bad \"/etc/motd is empty\"\n"
				 "	fi\n"
				 "}\n";

/* The first folder that NANOPOD_STACKS names, else one's own. */
static int new_folder(char room[PATH_MAX], struct fail *f)
{
	const char *said = getenv("NANOPOD_STACKS");
	size_t len;

	said = said ? said + strspn(said, ":") : "";
	len = strcspn(said, ":");
	if (!len)
		return stack_own_folder(room, PATH_MAX, f);
	if ((size_t)snprintf(room, PATH_MAX, "%.*s", (int)len, said) >= PATH_MAX)
		return fail_set(f, -ENAMETOOLONG, "the path of the stacks is too long");
	return 0;
}

static int write_new(const char *folder, const char *name, const char *file, const char *text, struct fail *f)
{
	char path[PATH_MAX];
	int rc;

	if ((size_t)snprintf(path, sizeof path, "%s/%s/%s", folder, name, file) >= sizeof path)
		return fail_set(f, -ENAMETOOLONG, "the path of '%s' is too long", file);
	rc = file_folders(path);
	rc = rc ? rc : file_put(path, text, strlen(text), 0666);
	return rc ? fail_set(f, rc, "cannot write '%s': %s", path, strerror(-rc)) : 0;
}

/* Also a name that some folder has: a stack of one's own would take the place of that one. */
static int new_name(struct nanopod *np, const char *folder, const char *name)
{
	char folders[PROVISION_PATH + PATH_MAX + 1], path[PATH_MAX];
	size_t len = (size_t)snprintf(folders, sizeof folders, "%s:", folder);
	struct fail f = { 0 };
	char file[80];

	if (!stack_word(name) || strcmp(name, "common") == 0)
		return print_fail(np, STATUS_USAGE, NULL,
			"'%.64s' cannot be the name of a stack: letters, digits and '-'", name);
	if (stack_folders(folders + len, sizeof folders - len, &f))
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	snprintf(file, sizeof file, "%s/stack.yaml", name);
	if (stack_find(folders, file, path, sizeof path))
		return print_fail(np, STATUS_CONFLICT, "choose another name", "'%s' already exists: %s", name, path);
	return STATUS_OK;
}

static int stack_new(struct nanopod *np, const struct options *o, char **words)
{
	char folder[PATH_MAX], table[sizeof new_table + 64];
	struct fail f = { 0 };
	int status;

	(void)o;
	if (new_folder(folder, &f))
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	status = new_name(np, folder, *words);
	if (status)
		return status;
	snprintf(table, sizeof table, new_table, *words);
	if (write_new(folder, *words, "greet.sh", new_script, &f) || write_new(folder, *words, "stack.yaml", table, &f))
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	fprintf(np->out, "%s/%s\n", folder, *words);
	print_note(np, "edit its files; 'nanopod provision stack check %s' finds mistakes in them", *words);
	return STATUS_OK;
}

/* ---- test ---------------------------------------------------------------------------------------- */

static const struct column test_columns[] = {
	{ "step", COLUMN_ID, "apply; again: a second apply would change nothing; verify; remove" },
	{ "result", COLUMN_STATE, "ok, or failed" },
	{ "seconds", COLUMN_RIGHT | COLUMN_RAW, "how long it took" },
	{ 0 },
};

enum { TEST_WORDS = 256 };

struct stacktest {
	struct nanopod *np;
	const struct options *o;
	const char *stack;
	char cluster[80];
	char *sudo; /* NANOPOD_SUDO_PASSWORD, which each verb takes out of the environment; NULL */
	struct rows *rows;
	char *words[TEST_WORDS + 1];
	size_t count;
};

static void test_word(struct stacktest *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void test_word(struct stacktest *t, const char *fmt, ...)
{
	va_list ap;

	if (t->count == TEST_WORDS)
		return;
	va_start(ap, fmt);
	if (vasprintf(&t->words[t->count], fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	t->words[++t->count] = NULL;
}

/* The options that were typed, but those about the output. nodes: also those about nodes and settings. */
static void test_options(struct stacktest *t, bool nodes)
{
	static const char *const never[] = { "yes", "dry-run", "output", "fields", "quiet", "template", "name",
		"no-verify", "diff", "detailed-exitcode", "force", NULL };
	static const char *const always[] = { "skip-gate", "ask-sudo", "url", "config", "profile", NULL };
	const struct option *row, *connect = command_connection();
	const char *text;

	for (size_t i = 0; option_typed(t->o, i, &row, &text); i++) {
		bool passed = nodes || str_among((char *const *)(uintptr_t)always, row->name);

		for (const struct option *c = connect; c->name; c++)
			passed |= strcmp(row->name, c->name) == 0;
		if (!passed || str_among((char *const *)(uintptr_t)never, row->name))
			continue;
		if (option_takes_argument(row))
			test_word(t, "--%s=%s", row->name, text);
		else
			test_word(t, "--%s", row->name);
	}
}

/* Runs the words as a person would type them; what they say goes to standard error. */
static int test_run(struct stacktest *t)
{
	struct nanopod *np = t->np, was = *np;
	int status;

	np->out = np->err;
	np->tty_out = np->tty_err;
	np->color_out = np->color_err;
	if (t->sudo)
		setenv("NANOPOD_SUDO_PASSWORD", t->sudo, 1);
	status = command_run(np, (int)t->count, t->words);
	np->out = was.out;
	np->tty_out = was.tty_out;
	np->color_out = was.color_out;
	np->format = was.format;
	np->errors_json = was.errors_json;
	while (t->count)
		free(t->words[--t->count]);
	return status;
}

/* One step of the test. 0, or the exit status of the test. */
static int test_step(struct stacktest *t, const char *name, const char *what)
{
	int64_t began = clock_ms();
	char seconds[32], took[32], hint[160];
	int status;

	print_note(t->np, "%s: %s", name, what);
	status = test_run(t);
	snprintf(seconds, sizeof seconds, "%.1f", (double)(clock_ms() - began) / 1000);
	rows_add(t->rows, (const char *[]){ name, status ? "failed" : "ok", seconds });
	if (!status)
		return STATUS_OK;
	if (status == STATUS_UNREACHABLE)
		return print_fail(t->np, status, NULL,
			"stack '%s' was not tried to its end: no way to the node at '%s'", t->stack, name);
	snprintf(hint, sizeof hint, "'nanopod provision remove %s' removes what this left on the node", t->cluster);
	print_fail(t->np, STATUS_CHECK, hint, "stack '%s' fails at '%s' after %s", t->stack, name,
		progress_time(clock_ms() - began, took, sizeof took));
	return status == STATUS_INT || status == STATUS_TERM ? status : STATUS_CHECK;
}

/* more: an option of this verb alone, or NULL. nodes: it says which nodes, else it works on the cluster. */
static void test_words(struct stacktest *t, const char *verb, const char *more, bool nodes)
{
	test_word(t, "provision");
	test_word(t, "%s", verb);
	test_word(t, "--output=table");
	if (more)
		test_word(t, "%s", more);
	if (nodes) {
		test_word(t, "--no-verify");
		test_word(t, "--name=%s", t->cluster);
	}
	test_options(t, nodes);
	test_word(t, "--");
	test_word(t, "%s", nodes ? t->stack : t->cluster);
}

static int test_all(struct stacktest *t)
{
	static const struct {
		const char *name, *verb, *more, *what;
	} steps[] = {
		{ "apply", "apply", "--yes", "install it" },
		{ "again", "plan", "--detailed-exitcode", "a second apply must have nothing to do" },
		{ "verify", "verify", NULL, "its checks must hold" },
		{ "remove", "remove", "--yes", "undo all of it" },
	};
	int status = STATUS_OK;

	for (size_t i = 0; i < sizeof steps / sizeof *steps && !status; i++) {
		test_words(t, steps[i].verb, steps[i].more, i == 0);
		status = test_step(t, steps[i].name, steps[i].what);
	}
	return status;
}

/* A cluster of that name may be a person's own, and the test would remove it. */
static bool test_is_there(struct stacktest *t)
{
	struct buf kept;
	char hint[200];
	bool there;

	buf_init(&kept, 8 << 20);
	there = runlog_kept(t->cluster, &kept, NULL) == 0;
	buf_release(&kept);
	if (!there)
		return false;
	snprintf(hint, sizeof hint, "'nanopod provision list' shows it, 'nanopod provision remove %s' removes it",
		t->cluster);
	(void)print_fail(t->np, STATUS_CONFLICT, hint, "a cluster '%s' is there, of an earlier test or yours",
		t->cluster);
	return true;
}

static int stack_test(struct nanopod *np, const struct options *o, char **words)
{
	struct stacktest t = { .np = np, .o = o, .stack = *words };
	char folders[PROVISION_PATH], *sudo = getenv("NANOPOD_SUDO_PASSWORD");
	struct fail f = { 0 };
	struct stack *s = NULL;
	int status = STATUS_OK, rc;

	if (!select_given(o))
		return print_fail_field(np, STATUS_USAGE, "--hosts",
			"'nanopod buy -t cpu -n 1 -d 1h -p 1' buys one, on 'nanopod local', too",
			"-w HOST or -r RESERVATION is required: a node that may be lost");
	if (option_given(o, "name"))
		return print_fail_field(np, STATUS_USAGE, "--name", NULL,
			"a test has a cluster of its own, 'test-STACK'");
	rc = stack_folders(folders, sizeof folders, &f);
	rc = rc ? rc : stack_read(folders, t.stack, &s, &f);
	stack_free(s);
	if (rc)
		return print_fail(np, rc == -ENOENT ? STATUS_NOTFOUND : STATUS_FAILURE, NULL, "%s", f.text);
	snprintf(t.cluster, sizeof t.cluster, "test-%.60s", t.stack);
	if (test_is_there(&t))
		return STATUS_CONFLICT;
	t.rows = rows_new(np, o, test_columns, &status);
	if (!t.rows)
		return status;
	t.sudo = sudo && *sudo ? strdup(sudo) : NULL;
	status = test_all(&t);
	if (t.sudo) {
		explicit_bzero(t.sudo, strlen(t.sudo));
		free(t.sudo);
	}
	unsetenv("NANOPOD_SUDO_PASSWORD");
	rc = rows_end(t.rows);
	if (!status)
		print_note(np, "'%s' installs, changes nothing when applied again, holds its checks, and goes",
			t.stack);
	return status ? status : rc;
}

/* ---- The verbs ------------------------------------------------------------------------------------ */

int provision_stack(struct nanopod *np, const struct options *o, char **words)
{
	static const struct action verbs[] = {
		{ "new", "NAME", 1, 1, stack_new },
		{ "check", "[STACK...]", 0, -1, provision_stackcheck },
		{ "test", "STACK -w HOST", 1, 1, stack_test },
		{ 0 },
	};
	int count = 0;

	while (words[count])
		count++;
	if (option_given(o, "dry-run"))
		return print_fail_field(np, STATUS_USAGE, "--dry-run",
			"'nanopod provision plan STACK -w HOST' shows what a stack would change",
			"'provision stack' has no --dry-run");
	for (const struct action *v = verbs; v->name; v++) {
		if (strcmp(v->name, *words) != 0)
			continue;
		if (count - 1 >= v->min && (v->max < 0 || count - 1 <= v->max))
			return v->run(np, o, words + 1);
		return print_fail(np, STATUS_USAGE, NULL, "type 'nanopod provision stack %s %s'", v->name, v->usage);
	}
	return print_fail(np, STATUS_USAGE,
		"'nanopod provision stacks' lists stacks, 'nanopod provision stacks STACK' shows one",
		"no action 'provision stack %.60s'; available: new, check and test", *words);
}
