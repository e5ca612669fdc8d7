/* SPDX-License-Identifier: Apache-2.0 */
/* pdsh, pdcp and rpdcp: their options, labels and exit statuses. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/dropin/dropgroups.h"
#include "cli/dropin/drophosts.h"
#include "cli/dropin/dropin.h"
#include "cli/dropin/droprun.h"
#include "cli/dropin/dropssh.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"

enum { PDSH_TIMED_OUT = 254, PDSH_COMMAND_MAX = 32000 };

struct pdsh {
	bool domains; /* hosts are of several, so labels say which */
	bool labels;
	char here[256];
};

/* What pdsh and pdcp share. */
#define PDSH_OPTIONS \
	{ "hosts", 'w', OPTION_LIST, "HOSTS", .help = "hosts: n[1-9], -n3, ^FILE, /REGEX/, user@n1; repeatable" }, \
		{ "exclude", 'x', OPTION_LIST, "HOSTS", .help = "leave these hosts out" }, \
		{ "all", 'a', OPTION_FLAG, .help = "all hosts of genders, else of /etc/machines" }, \
		{ "every", 'A', OPTION_FLAG, .help = "all hosts of genders, those with pdsh_all_skip too" }, \
		{ "group", 'g', OPTION_LIST, "GROUPS", \
			.help = "hosts with this attribute of genders, or of dsh's group" }, \
		{ "exclude-group", 'X', OPTION_LIST, "GROUPS", .help = "leave hosts of this group out" }, \
		{ "genders-file", 'F', OPTION_STRING, "FILE", .help = "file of genders (default /etc/genders)" }, \
		{ "user", 'l', OPTION_STRING, "NAME", .help = "user, for hosts without one" }, \
		{ "connect-timeout", 't', OPTION_STRING, "SECONDS", .help = "timeout for reaching a host" }, \
		{ "fanout", 'f', OPTION_STRING, "N", .help = "on N hosts at a time (default 32)" }, \
		{ "list", 'q', OPTION_FLAG, .help = "print the hosts and stop" }, \
		{ "rcmd", 'R', OPTION_STRING, "NAME", .help = "only ssh" }, \
		{ "show-version", 'V', OPTION_FLAG, .help = "show the version" }, \
		{ "batch", 'b', OPTION_FLAG, .help = "accepted; one Ctrl-C stops the commands in any case" }, \
		{ "debug", 'd', OPTION_FLAG, .help = "accepted, without effect" }, \
		{ "modules", 'M', OPTION_STRING, "NAMES", .help = "accepted, without effect" }, \
		{ "modules-list", 'L', OPTION_FLAG, .help = "not supported" }, \
		{ "alternate", 'i', OPTION_FLAG, .help = "not supported" }, \
		{ "up", 'v', OPTION_FLAG, .help = "not supported" }, \
		{ "job", 'j', OPTION_LIST, "JOBS", .help = "not supported" }, \
	{ \
		"partition", 'P', OPTION_LIST, "PARTITIONS", .help = "not supported" \
	}

static const struct option options[] = {
	PDSH_OPTIONS,
	{ "largest", 'S', OPTION_FLAG, .help = "exit with the largest exit status of all hosts" },
	{ "command-timeout", 'u', OPTION_STRING, "SECONDS", .help = "timeout for the command on each host" },
	{ "no-label", 'N', OPTION_FLAG, .help = "print lines without the hosts' names" },
	{ "separate", 's', OPTION_FLAG, .help = "accepted; standard error is separate in any case" },
	{ 0 },
};

static const struct option copy_options[] = {
	PDSH_OPTIONS,
	{ "recursive", 'r', OPTION_FLAG, .help = "copy directories with everything in them" },
	{ "preserve", 'p', OPTION_FLAG, .help = "keep modes and times" },
	{ "remote-program", 'e', OPTION_STRING, "PATH", .help = "accepted; hosts need no pdcp" },
	{ 0 },
};

static const struct dropin_absent absent[] = {
	{ "modules-list", "it has no modules" },
	{ "alternate", "write the hosts' canonical names" },
	{ "up", "hosts that are down are reported, and do not keep the others waiting" },
	{ "job", "-w \"$(squeue -h -o %N -j JOB)\" names a job's hosts" },
	{ "partition", "-w \"$(sinfo -h -o %N -p PARTITION)\" names a partition's hosts" },
	{ 0 },
};

/* ---- Where ----------------------------------------------------------------------------- */

static int pdsh_groups(struct nanopod *np, const struct options *o, struct pssh_list *l, bool given)
{
	const char *genders = option_text(o, "genders-file");
	struct pssh_list *groups;
	int status = STATUS_OK;

	select_new(np, &groups);
	if (option_given(o, "all") || option_given(o, "every"))
		status = dropgroups_pdsh_all(np, groups, genders, !option_given(o, "every"));
	for (size_t i = 0; !status && i < option_count(o, "group"); i++)
		status = dropgroups_pdsh(np, groups, genders, option_at(o, "group", i));
	/* With -w, -g chooses among those hosts. */
	if (!status && given && option_given(o, "group"))
		drophosts_keep(l, groups);
	else
		drophosts_join(l, groups);
	pssh_list_free(groups);
	return status;
}

static int pdsh_hosts(struct nanopod *np, const struct options *o, struct pssh_list *l)
{
	const char *file = dropin_env("WCOLL");
	bool given = option_given(o, "hosts");
	struct pssh_list *out;
	int status = STATUS_OK;

	select_new(np, &out);
	for (size_t i = 0; !status && i < option_count(o, "hosts"); i++)
		status = drophosts_pdsh_add(np, l, option_at(o, "hosts", i));
	status = status ? status : pdsh_groups(np, o, l, given);
	if (!status && pssh_list_count(l) == 0 && !given && file) {
		char *word;

		if (asprintf(&word, "^%s", file) < 0)
			command_nomem();
		status = select_add(np, l, word);
		free(word);
	}
	for (size_t i = 0; !status && i < option_count(o, "hosts"); i++)
		status = drophosts_pdsh_filter(np, l, option_at(o, "hosts", i), false);
	for (size_t i = 0; !status && i < option_count(o, "exclude"); i++)
		status = drophosts_pdsh_filter(np, l, option_at(o, "exclude", i), true);
	for (size_t i = 0; !status && i < option_count(o, "exclude-group"); i++)
		status = dropgroups_pdsh(np, out, option_text(o, "genders-file"), option_at(o, "exclude-group", i));
	if (!status)
		drophosts_drop(l, out);
	pssh_list_free(out);
	if (!status && pssh_list_count(l) == 0)
		status = print_fail_field(np, STATUS_FAILURE, "-w", "-w 'n[1-9]' names them, or a file in WCOLL",
			"no hosts given");
	return status;
}

static int pdsh_settings(struct nanopod *np, const struct options *o, bool *tty)
{
	const char *rcmd = dropin_text(o, "rcmd", "PDSH_RCMD_TYPE", "ssh");
	const char *args[] = { "PDSH_SSH_ARGS_APPEND", "PDSH_SSH_ARGS" };
	int status = dropin_refuse(np, o, absent);

	if (!status && strcmp(rcmd, "ssh") != 0)
		status = print_fail_field(np, STATUS_USAGE, "-R", "-R ssh, or leave it out",
			"nanopod connects by ssh only, not by '%.60s'", rcmd);
	for (size_t i = 0; !status && i < 2; i++) {
		struct dropssh s = { .np = np, .where = args[i] };

		if (dropin_env(args[i]))
			status = dropssh_text(&s, dropin_env(args[i]));
		*tty |= s.tty;
	}
	status = status ? status : dropin_set(np, SETTING_ID_USER, option_text(o, "user"), "-l");
	status = status ? status : dropin_fanout(np, dropin_text(o, "fanout", "FANOUT", NULL), "32", "-f");
	return status ? status
		      : dropin_seconds(np, SETTING_ID_CONNECT_TIMEOUT,
				dropin_text(o, "connect-timeout", "PDSH_CONNECT_TIMEOUT", NULL), "-t");
}

static int pdsh_list_hosts(struct nanopod *np, const struct pssh_list *l)
{
	char *text;

	if (pssh_list_fold(l, &text) != 0)
		command_nomem();
	fprintf(np->out, "-- Target nodes --\n%s\n", text);
	free(text);
	return STATUS_OK;
}

/* ---- What it shows --------------------------------------------------------------------- */

static const char *pdsh_name(const struct outcome *o)
{
	return strrchr(o->name, '@') ? strrchr(o->name, '@') + 1 : o->name;
}

static bool pdsh_is_address(const char *name)
{
	return strspn(name, "0123456789.") == strlen(name) || strchr(name, ':');
}

static const char *pdsh_domain(const char *name)
{
	return pdsh_is_address(name) || !strchr(name, '.') ? "" : strchr(name, '.');
}

/* The host as pdsh writes it: without the domain that all share. */
static char *pdsh_label(const struct droprun *r, const struct outcome *o)
{
	const struct pdsh *p = r->own;
	const char *name = pdsh_name(o);
	size_t n = p->domains || pdsh_is_address(name) ? strlen(name) : strcspn(name, ".");
	char *label = strndup(name, n);

	if (!label)
		command_nomem();
	return label;
}

static bool pdsh_domains_differ(const struct pssh_list *l)
{
	const char *first = NULL;

	for (size_t i = 0; i < pssh_list_count(l); i++) {
		const char *name = pssh_list_get(l, i), *at = strrchr(name, '@');

		name = pdsh_domain(at ? at + 1 : name);
		if (first && strcmp(first, name) != 0)
			return true;
		first = name;
	}
	return false;
}

static void pdsh_data(struct droprun *r, struct outcome *o, bool err, const char *data, size_t len)
{
	const struct pdsh *p = r->own;
	char *label = p->labels ? pdsh_label(r, o) : NULL;

	droprun_lines(r, err ? r->np->err : r->np->out, label, data, len);
	free(label);
}

static void pdsh_end(struct droprun *r, struct outcome *o)
{
	const struct pdsh *p = r->own;
	char *label = pdsh_label(r, o);

	fflush(r->np->out);
	if (o->state == OUTCOME_ERROR && !droprun_timed_out(o))
		droprun_lines(r, r->np->err, label, o->text, strlen(o->text));
	if (droprun_timed_out(o))
		fprintf(r->np->err, "pdsh@%s: %s: command timeout\n", p->here, label);
	else if (droprun_status(o))
		fprintf(r->np->err, "%s@%s: %s: ssh exited with exit code %d\n", r->command ? "pdsh" : "pdcp", p->here,
			label, droprun_status(o));
	free(label);
}

static int pdsh_done(struct droprun *r)
{
	int most = 0;

	/* pdcp has no -S: any failure is told by the messages, and by 1. */
	if (!r->command)
		return droprun_largest(r) ? STATUS_FAILURE : STATUS_OK;
	if (!option_given(r->o, "largest"))
		return STATUS_OK;
	for (size_t i = 0; i < r->fanout.count; i++) {
		const struct outcome *o = &r->fanout.hosts[i];
		int status = droprun_timed_out(o) ? PDSH_TIMED_OUT : droprun_status(o);

		most = status > most ? status : most;
	}
	return most;
}

static const struct dropshow pdsh_show = { PSSH_OUTPUT_LINES, pdsh_data, pdsh_end, pdsh_done };

static void pdsh_prepare(struct pdsh *p, const struct pssh_list *l, bool labels)
{
	p->labels = labels;
	p->domains = pdsh_domains_differ(l);
	if (gethostname(p->here, sizeof p->here - 1) != 0)
		snprintf(p->here, sizeof p->here, "localhost");
	p->here[strcspn(p->here, ".")] = '\0';
}

/* ---- pdsh ------------------------------------------------------------------------------ */

static int pdsh_one(struct droprun *r, const struct pssh_list *l, const char *command)
{
	const char *path = dropin_env("DSHPATH");
	char *line;
	int status;

	if (asprintf(&line, "%s%s%s%s", path ? "PATH=" : "", path ? path : "", path ? "; " : "", command) < 0)
		command_nomem();
	r->command = line;
	status = droprun(r, l);
	r->command = NULL;
	free(line);
	return status;
}

/* No command: each line of standard input is one. */
static int pdsh_read(struct droprun *r, const struct pssh_list *l)
{
	bool asks = r->np->tty_in && r->np->tty_out;
	int status = STATUS_OK;
	char *line = NULL;
	size_t room = 0;
	ssize_t n = 0;

	for (;;) {
		if (asks)
			fputs("pdsh> ", r->np->out);
		fflush(r->np->out);
		n = getline(&line, &room, stdin);
		if (n <= 0)
			break;
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "exit") == 0 || strcmp(line, "quit") == 0)
			break;
		if (*line == '!') {
			status = print_fail(r->np, STATUS_USAGE, "run it in another shell",
				"nanopod does not run '%.60s' here", line);
			break;
		}
		if (line[strspn(line, " \t")])
			status = pdsh_one(r, l, line);
		if (r->fanout.asked)
			break;
	}
	if (asks && n <= 0)
		fputc('\n', r->np->out);
	free(line);
	return status;
}

static int pdsh_verb(struct nanopod *np, const struct options *o)
{
	struct pdsh p;
	struct droprun r = { .np = np, .o = o, .show = &pdsh_show, .templated = true, .own = &p };
	struct pssh_list *l;
	struct buf words;
	int status;

	if (option_given(o, "show-version"))
		return dropin_version(np, "pdsh");
	select_new(np, &l);
	buf_init(&words, PDSH_COMMAND_MAX);
	status = pdsh_settings(np, o, &r.tty);
	status = status ? status
			: dropin_seconds(np, SETTING_ID_TIMEOUT,
				  dropin_text(o, "command-timeout", "PDSH_COMMAND_TIMEOUT", NULL), "-u");
	status = status ? status : pdsh_hosts(np, o, l);
	if (!status && dropin_join(o, &words) != 0)
		status = print_fail(np, STATUS_FAILURE, "'nanopod run --script FILE' sends a longer one",
			"the command is longer than %d bytes", PDSH_COMMAND_MAX);
	if (!status)
		pdsh_prepare(&p, l, !option_given(o, "no-label"));
	if (!status && option_given(o, "list"))
		status = pdsh_list_hosts(np, l);
	else if (!status)
		status = words.len ? pdsh_one(&r, l, words.data) : pdsh_read(&r, l);
	buf_release(&words);
	pssh_list_free(l);
	return status;
}

/* ---- pdcp, rpdcp ----------------------------------------------------------------------- */

static int pdsh_copy(struct nanopod *np, const struct options *o, bool put)
{
	char **words = option_argv(o), *target = NULL;
	struct pdsh p;
	struct droprun r = { .np = np,
		.o = o,
		.show = &pdsh_show,
		.put = put,
		.own = &p,
		.sources = words,
		.flags = PSSH_COPY_SPARSE | PSSH_COPY_GLOB | (option_given(o, "recursive") ? PSSH_COPY_RECURSIVE : 0) |
			(option_given(o, "preserve") ? PSSH_COPY_PRESERVE : 0) | (put ? 0 : PSSH_COPY_PER_HOST) };
	int count = option_argc(o), status;
	struct pssh_list *l;

	if (option_given(o, "show-version"))
		return dropin_version(np, put ? "pdcp" : "rpdcp");
	if (count < 2)
		return print_fail(np, STATUS_FAILURE, "pdcp -w 'n[1-9]' FILE /dir",
			"a source and a target are required");
	if (asprintf(&target, put ? (count > 2 ? "%s/" : "%s") : "%s/{base}.{host}", words[count - 1]) < 0)
		command_nomem();
	words[count - 1] = NULL;
	r.target = target;
	select_new(np, &l);
	status = pdsh_settings(np, o, &r.tty);
	status = status ? status : pdsh_hosts(np, o, l);
	if (!status && option_given(o, "list")) {
		status = pdsh_list_hosts(np, l);
	} else if (!status) {
		pdsh_prepare(&p, l, true);
		status = droprun(&r, l);
	}
	pssh_list_free(l);
	free(target);
	return status;
}

static int pdsh_put(struct nanopod *np, const struct options *o)
{
	return pdsh_copy(np, o, true);
}

static int pdsh_get(struct nanopod *np, const struct options *o)
{
	return pdsh_copy(np, o, false);
}

const struct command cmd_pdsh = {
	.name = "pdsh",
	.args = "[COMMAND...]",
	.summary = "run a command on many hosts, as pdsh does",
	.description = "For scripts that were written for pdsh; see nanopod-dropins(7). Without a command each line of "
		       "standard input is one.",
	.options = options,
	.flags = COMMAND_STOP | COMMAND_HIDDEN | COMMAND_DROPIN,
	.max_args = -1,
	.run = pdsh_verb,
};

const struct command cmd_pdcp = {
	.name = "pdcp",
	.args = "SOURCE... TARGET",
	.summary = "copy files to many hosts, as pdcp does",
	.description = "For scripts that were written for pdcp; see nanopod-dropins(7).",
	.options = copy_options,
	.flags = COMMAND_STOP | COMMAND_HIDDEN | COMMAND_DROPIN,
	.max_args = -1,
	.run = pdsh_put,
};

const struct command cmd_rpdcp = {
	.name = "rpdcp",
	.args = "SOURCE... DIRECTORY",
	.summary = "copy files from many hosts, as rpdcp does",
	.description = "For scripts that were written for rpdcp; see nanopod-dropins(7).",
	.options = copy_options,
	.flags = COMMAND_STOP | COMMAND_HIDDEN | COMMAND_DROPIN,
	.max_args = -1,
	.run = pdsh_get,
};
