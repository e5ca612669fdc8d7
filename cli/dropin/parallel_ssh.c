/* SPDX-License-Identifier: Apache-2.0 */
/* pssh and pscp, in Debian parallel-ssh and parallel-scp: their options, reports and exit statuses. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/dropin/drophosts.h"
#include "cli/dropin/dropin.h"
#include "cli/dropin/droprun.h"
#include "cli/dropin/dropssh.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"

/* The tool's exit statuses. */
enum { PSSH_KILLED = 3, PSSH_SSH_FAILED = 4, PSSH_COMMAND_FAILED = 5, PSSH_COMMAND_MAX = 32000 };

struct pssh_files {
	struct dropdir out, err;
};

#define PSSH_OPTIONS \
	{ "hosts", 'h', OPTION_LIST, "FILE", \
		.help = "file with a line for each host: [user@]host[:port]; repeatable" }, \
		{ "host", 'H', OPTION_LIST, "HOSTS", .help = "hosts, separated by blanks; repeatable" }, \
		{ "host-glob", 'g', OPTION_STRING, "PATTERN", .help = "of the files only hosts like this" }, \
		{ "user", 'l', OPTION_STRING, "NAME", .help = "user, for hosts without one" }, \
		{ "par", 'p', OPTION_STRING, "N", .help = "on N hosts at a time (default 32)" }, \
		{ "outdir", 'o', OPTION_STRING, "DIR", .help = "keep each host's output in DIR/HOST" }, \
		{ "errdir", 'e', OPTION_STRING, "DIR", .help = "keep each host's standard error in DIR/HOST" }, \
		{ "timeout", 't', OPTION_STRING, "SECONDS", .help = "timeout for each host (0: none)" }, \
		{ "option", 'O', OPTION_LIST, "OPTION", .help = "a setting of ssh_config(5): Port=22; repeatable" }, \
		{ "options", 0, OPTION_LIST, "OPTION", .help = "the same" }, \
		{ "extra-args", 'x', OPTION_LIST, "ARGUMENTS", .help = "options of ssh, in one word; repeatable" }, \
		{ "extra-arg", 'X', OPTION_LIST, "ARGUMENT", .help = "one option of ssh; repeatable" }, \
		{ "askpass", 'A', OPTION_FLAG, .help = "accepted; nanopod asks where a password is required" }, \
	{ \
		"version", 0, OPTION_FLAG, .help = "show the version" \
	}

static const struct option options[] = {
	PSSH_OPTIONS,
	{ "inline", 'i', OPTION_FLAG, .help = "show output and standard error when a host ends" },
	{ "inline-stdout", 0, OPTION_FLAG, .help = "show output when a host ends" },
	{ "send-input", 'I', OPTION_FLAG, .help = "send standard input to each host" },
	{ "print", 'P', OPTION_FLAG, .help = "show output as it arrives" },
	{ 0 },
};

static const struct option copy_options[] = {
	PSSH_OPTIONS,
	{ "recursive", 'r', OPTION_FLAG, .help = "copy directories with everything in them" },
	{ 0 },
};

/* ---- What it shows --------------------------------------------------------------------- */

static bool pssh_flag(const struct droprun *r, const char *name, const char *variable)
{
	return r->command && (option_given(r->o, name) || dropin_env(variable));
}

static void pssh_data(struct droprun *r, struct outcome *o, bool err, const char *data, size_t len)
{
	struct pssh_files *files = r->own;
	char *label;

	if (pssh_flag(r, "inline", "PSSH_INLINE") || (!err && pssh_flag(r, "inline-stdout", NULL)))
		droprun_keep(r, o, err, data, len);
	dropdir_add(r->np, err ? &files->err : &files->out, o->name, data, len);
	if (err || !pssh_flag(r, "print", "PSSH_PRINT"))
		return;
	label = strdup(strchr(o->name, '@') ? strchr(o->name, '@') + 1 : o->name);
	if (!label)
		command_nomem();
	if (strrchr(label, ':'))
		*strrchr(label, ':') = '\0';
	droprun_lines(r, r->np->out, label, data, len);
	free(label);
}

static bool pssh_timed_out(const struct droprun *r, const struct outcome *o)
{
	return droprun_timed_out(o) ||
		(o->state == OUTCOME_ERROR && o->status == PSSH_ETIMEOUT &&
			dropin_text(r->o, "timeout", "PSSH_TIMEOUT", NULL));
}

static void pssh_output(struct droprun *r, struct outcome *o)
{
	struct nanopod *np = r->np;
	size_t len;
	char *text = droprun_text(o->out, &len);

	if (np->tty_out)
		print_safe(np->out, text, len);
	else
		fwrite(text, 1, len, np->out);
	free(text);
	text = droprun_text(o->err, &len);
	if (len)
		fprintf(np->out, "%sStderr: %s", print_color(np, np->out, COLOR_RED),
			print_color(np, np->out, COLOR_NONE));
	if (np->tty_out)
		print_safe(np->out, text, len);
	else
		fwrite(text, 1, len, np->out);
	free(text);
}

static void pssh_end(struct droprun *r, struct outcome *o)
{
	struct nanopod *np = r->np;
	const char *plain = print_color(np, np->out, COLOR_NONE);
	time_t now = time(NULL);
	char clock[16];
	struct tm tm;
	bool ok = outcome_ok(o);

	localtime_r(&now, &tm);
	strftime(clock, sizeof clock, "%H:%M:%S", &tm);
	if (o->state == OUTCOME_ERROR && o->text && *o->text) {
		char *line;
		int n = asprintf(&line, "%s\n", o->text);

		if (n < 0)
			command_nomem();
		if (r->command && (pssh_flag(r, "inline", "PSSH_INLINE") || option_given(r->o, "errdir")))
			pssh_data(r, o, true, line, (size_t)n);
		else
			droprun_lines(r, np->err, o->name, line, (size_t)n);
		free(line);
	}
	fprintf(np->out, "%s[%zu]%s %s %s[%s]%s %s", print_color(np, np->out, COLOR_CYAN), r->number, plain, clock,
		print_color(np, np->out, ok ? COLOR_GREEN : COLOR_RED), ok ? "SUCCESS" : "FAILURE", plain, o->name);
	if (pssh_timed_out(r, o))
		fputs(" Timed out, Killed by signal 9", np->out);
	else if (!ok)
		fprintf(np->out, " Exited with error code %d", r->command ? droprun_status(o) : 1);
	fputc('\n', np->out);
	pssh_output(r, o);
}

static int pssh_done(struct droprun *r)
{
	bool killed = false, ssh = false, command = false;

	for (size_t i = 0; i < r->fanout.count; i++) {
		const struct outcome *o = &r->fanout.hosts[i];

		killed |= pssh_timed_out(r, o);
		ssh |= !outcome_ok(o) && (!r->command || droprun_status(o) == STATUS_TRANSPORT);
		command |= !outcome_ok(o);
	}
	return killed ? PSSH_KILLED : ssh ? PSSH_SSH_FAILED : command ? PSSH_COMMAND_FAILED : STATUS_OK;
}

static const struct dropshow pssh_show = { PSSH_OUTPUT_LINES, pssh_data, pssh_end, pssh_done };

/* ---- Where ----------------------------------------------------------------------------- */

static int pssh_hosts(struct nanopod *np, const struct options *o, struct pssh_list *l)
{
	const char *glob = option_text(o, "host-glob"), *file = dropin_env("PSSH_HOSTS");
	int status = STATUS_OK;

	for (size_t i = 0; !status && i < option_count(o, "hosts"); i++)
		status = drophosts_pssh_file(np, l, option_at(o, "hosts", i), glob);
	if (!status && !option_given(o, "hosts") && file)
		status = drophosts_pssh_file(np, l, file, glob);
	for (size_t i = 0; !status && i < option_count(o, "host"); i++)
		status = drophosts_pssh_words(np, l, option_at(o, "host", i));
	if (!status && pssh_list_count(l) == 0)
		status = print_fail_field(np, STATUS_USAGE, "-H", "-H 'n1 n2' names them, -h FILE a file",
			"no hosts given");
	return status;
}

static int pssh_ssh(struct nanopod *np, const struct options *o, bool *tty)
{
	struct dropssh s = { .np = np, .where = "-O" };
	int status = STATUS_OK;

	if (dropin_env("PSSH_OPTIONS"))
		status = dropssh_line(&s, dropin_env("PSSH_OPTIONS"));
	for (size_t i = 0; !status && i < option_count(o, "option"); i++)
		status = dropssh_line(&s, option_at(o, "option", i));
	for (size_t i = 0; !status && i < option_count(o, "options"); i++)
		status = dropssh_line(&s, option_at(o, "options", i));
	s.where = "-x";
	for (size_t i = 0; !status && i < option_count(o, "extra-args"); i++)
		status = dropssh_text(&s, option_at(o, "extra-args", i));
	s.where = "-X";
	for (size_t i = 0; !status && i < option_count(o, "extra-arg"); i++)
		status = dropssh_word(&s, option_at(o, "extra-arg", i));
	*tty = s.tty;
	return status;
}

static int pssh_settings(struct nanopod *np, const struct options *o)
{
	const char *limit = dropin_text(o, "timeout", "PSSH_TIMEOUT", NULL);
	int status = dropin_set(np, SETTING_ID_USER, dropin_text(o, "user", "PSSH_USER", NULL), "-l");

	status = status ? status : dropin_fanout(np, dropin_text(o, "par", "PSSH_PAR", NULL), "32", "-p");
	status = status ? status : dropin_seconds(np, SETTING_ID_TIMEOUT, limit, "-t");
	/* The tool's timeout is for reaching the host, too. */
	if (!status && limit && strtod(limit, NULL) > 0)
		status = dropin_seconds(np, SETTING_ID_CONNECT_TIMEOUT, limit, "-t");
	return status;
}

/* ---- The commands ---------------------------------------------------------------------- */

static int pssh_go(struct droprun *r)
{
	struct pssh_files files = { { -1, NULL }, { -1, NULL } };
	struct pssh_list *l;
	int status;

	select_new(r->np, &l);
	status = pssh_settings(r->np, r->o);
	status = status ? status : pssh_ssh(r->np, r->o, &r->tty);
	status = status ? status : pssh_hosts(r->np, r->o, l);
	status = status ? status : dropdir_open(r->np, &files.out, dropin_text(r->o, "outdir", "PSSH_OUTDIR", NULL));
	status = status ? status : dropdir_open(r->np, &files.err, dropin_text(r->o, "errdir", "PSSH_ERRDIR", NULL));
	for (size_t i = 0; !status && i < pssh_list_count(l); i++) {
		dropdir_add(r->np, &files.out, pssh_list_get(l, i), NULL, 0);
		dropdir_add(r->np, &files.err, pssh_list_get(l, i), NULL, 0);
	}
	r->own = &files;
	status = status ? status : droprun(r, l);
	dropdir_close(&files.out);
	dropdir_close(&files.err);
	pssh_list_free(l);
	return status;
}

static int pssh_verb(struct nanopod *np, const struct options *o)
{
	struct droprun r = { .np = np, .o = o, .show = &pssh_show, .numbered = true };
	struct buf words;
	int status;

	if (option_given(o, "version"))
		return dropin_version(np, "pssh");
	r.input = option_given(o, "send-input");
	if (!option_argc(o) && !r.input)
		return print_fail(np, STATUS_USAGE, "pssh -H n1 -i -- uptime", "no command given");
	buf_init(&words, PSSH_COMMAND_MAX);
	/* Without a command the shell there reads its input. */
	if (option_argc(o) ? dropin_join(o, &words) : buf_adds(&words, "exec $SHELL"))
		status = print_fail(np, STATUS_USAGE, "'pssh -I <FILE' sends a longer one",
			"the command is longer than %d bytes", PSSH_COMMAND_MAX);
	else {
		r.command = words.data;
		status = pssh_go(&r);
	}
	buf_release(&words);
	return status;
}

static int pssh_copy(struct nanopod *np, const struct options *o)
{
	struct droprun r = { .np = np,
		.o = o,
		.show = &pssh_show,
		.put = true,
		.sources = option_argv(o),
		.flags = PSSH_COPY_SPARSE };
	int count = option_argc(o), status;
	char *target;

	if (option_given(o, "version"))
		return dropin_version(np, "pscp");
	if (count < 2)
		return print_fail(np, STATUS_USAGE, "pscp -H n1 FILE /dir", "a local file and a target are required");
	if (option_given(o, "recursive") || dropin_env("PSSH_RECURSIVE"))
		r.flags |= PSSH_COPY_RECURSIVE;
	if (asprintf(&target, count > 2 ? "%s/" : "%s", r.sources[count - 1]) < 0)
		command_nomem();
	option_argv(o)[count - 1] = NULL;
	r.target = target;
	status = pssh_go(&r);
	free(target);
	return status;
}

static const char *const pssh_names[] = { "parallel-ssh", NULL };
static const char *const pscp_names[] = { "parallel-scp", NULL };

const struct command cmd_pssh = {
	.name = "pssh",
	.aliases = pssh_names,
	.args = "COMMAND...",
	.summary = "run a command on many hosts, as pssh does",
	.description = "For scripts that were written for pssh; see nanopod-dropins(7).",
	.options = options,
	.flags = COMMAND_STOP | COMMAND_HIDDEN | COMMAND_DROPIN,
	.max_args = -1,
	.run = pssh_verb,
};

const struct command cmd_pscp = {
	.name = "pscp",
	.aliases = pscp_names,
	.args = "LOCAL... REMOTE",
	.summary = "copy files to many hosts, as pscp does",
	.description = "For scripts that were written for pscp; see nanopod-dropins(7).",
	.options = copy_options,
	.flags = COMMAND_STOP | COMMAND_HIDDEN | COMMAND_DROPIN,
	.max_args = -1,
	.run = pssh_copy,
};
