/* SPDX-License-Identifier: Apache-2.0 */
/* clush: its options, hosts, copies and exit statuses; clushshow.c has its output. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/dropin/clushshow.h"
#include "cli/dropin/dropgroups.h"
#include "cli/dropin/drophosts.h"
#include "cli/dropin/dropin.h"
#include "cli/dropin/dropssh.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"

enum { CLUSH_COMMAND_MAX = 32000 };

static const struct option options[] = {
	{ "nodes", 'w', OPTION_LIST, "NODES", .help = "hosts: n[1-9], @group, with , ! & ^ between them; repeatable" },
	{ "exclude", 'x', OPTION_LIST, "NODES", .help = "leave these hosts out" },
	{ "all", 'a', OPTION_FLAG, .help = "the hosts of the group 'all'" },
	{ "group", 'g', OPTION_LIST, "GROUP", .help = "hosts of this group" },
	{ "exclude-group", 'X', OPTION_LIST, "GROUP", .help = "leave hosts of this group out" },
	{ "hostfile", 0, OPTION_LIST, "FILE", .help = "hosts and groups from a file; repeatable" },
	{ "machinefile", 0, OPTION_LIST, "FILE", .help = "the same" },
	{ "pick", 0, OPTION_STRING, "N", .help = "only N of the hosts, at random" },
	{ "nostdin", 'n', OPTION_FLAG, .help = "do not send standard input to the hosts" },
	{ "quiet", 'q', OPTION_FLAG, .help = "print less" },
	{ "debug", 'd', OPTION_FLAG, .help = "accepted, without effect" },
	{ "groupbase", 'G', OPTION_FLAG, .help = "accepted, without effect" },
	{ "line-mode", 'L', OPTION_FLAG, .help = "print output at the end, host by host; with -b line by line" },
	{ "no-label", 'N', OPTION_FLAG, .help = "print no names of hosts" },
	{ "progress", 'P', OPTION_FLAG, .help = "show progress" },
	{ "dshbak", 'b', OPTION_FLAG, .help = "print output at the end, once for all hosts with the same" },
	{ "gatherall", 'B', OPTION_FLAG, .help = "like -b, with standard error" },
	{ "maxrc", 'S', OPTION_FLAG, .help = "exit with the largest exit status of all hosts" },
	{ "color", 0, OPTION_STRING, "WHEN", .setting = "color", .help = "colours: auto, always or never" },
	{ "diff", 0, OPTION_FLAG, .help = "print only how outputs differ from the most common one" },
	{ "outdir", 0, OPTION_STRING, "DIR", .help = "keep each host's output in DIR/HOST" },
	{ "errdir", 0, OPTION_STRING, "DIR", .help = "keep each host's standard error in DIR/HOST" },
	{ "copy", 'c', OPTION_FLAG, .help = "copy files and directories to the hosts" },
	{ "rcopy", 0, OPTION_FLAG, .help = "copy files and directories from the hosts" },
	{ "dest", 0, OPTION_STRING, "PATH", .help = "where copies go (default: the folder of the first source)" },
	{ "preserve", 'p', OPTION_FLAG, .help = "keep modes and times of copies" },
	{ "fanout", 'f', OPTION_STRING, "N", .help = "on N hosts at a time (default 64)" },
	{ "user", 'l', OPTION_STRING, "NAME", .help = "user, for hosts without one" },
	{ "options", 'o', OPTION_LIST, "OPTIONS", .help = "options of ssh: '-p 2022 -i FILE'" },
	{ "connect_timeout", 't', OPTION_STRING, "SECONDS", .help = "timeout for reaching a host" },
	{ "command_timeout", 'u', OPTION_STRING, "SECONDS", .help = "timeout for the command on each host" },
	{ "option", 'O', OPTION_LIST, "KEY=VALUE", .help = "a setting of clush.conf(5); repeatable" },
	{ "worker", 'R', OPTION_STRING, "NAME", .help = "only ssh" },
	{ "remote", 0, OPTION_STRING, "yes", .help = "only yes" },
	{ "version", 0, OPTION_FLAG, .help = "show the version" },
	{ "regroup", 'r', OPTION_FLAG, .help = "not supported" },
	{ "groupsource", 's', OPTION_STRING, "SOURCE", .help = "not supported" },
	{ "groupsconf", 0, OPTION_STRING, "FILE", .help = "not supported" },
	{ "conf", 0, OPTION_STRING, "FILE", .help = "not supported" },
	{ "mode", 'm', OPTION_STRING, "MODE", .help = "not supported" },
	{ "sudo", 0, OPTION_FLAG, .help = "not supported" },
	{ "topology", 0, OPTION_STRING, "FILE", .help = "not supported" },
	{ 0 },
};

static const struct dropin_absent absent[] = {
	{ "regroup", "headers show names and ranges" },
	{ "groupsource", "'@SOURCE:GROUP' names a group of a source of groups.conf" },
	{ "groupsconf", "CLUSTERSHELL_CFGDIR names a folder with groups.conf, groups and groups.d" },
	{ "conf", "-O KEY=VALUE or an option says the same" },
	{ "mode", "write the command with what the mode puts in front of it" },
	{ "sudo", "write 'sudo -n' in front of the command" },
	{ "topology", "'nanopod run --via GATEWAYS' goes through gateways" },
	{ 0 },
};

extern const struct command cmd_clush;

/* ---- Options ---------------------------------------------------------------------------- */

/* What -O may set. */
static const struct clush_key {
	const char *name;
	int setting; /* -1: nothing here */
	bool seconds;
} keys[] = {
	{ "fanout", SETTING_ID_FANOUT, false },
	{ "connect_timeout", SETTING_ID_CONNECT_TIMEOUT, true },
	{ "command_timeout", SETTING_ID_TIMEOUT, true },
	{ "ssh_user", SETTING_ID_USER, false },
	{ "color", SETTING_ID_COLOR, false },
	{ "fd_max", -1, false },
	{ "history_size", -1, false },
	{ "verbosity", -1, false },
};

static int clush_key(struct nanopod *np, const char *text, bool *tty)
{
	size_t n = strcspn(text, "=");
	struct dropssh s = { .np = np, .where = "-O" };
	int status;

	for (size_t i = 0; text[n] && i < sizeof keys / sizeof *keys; i++) {
		const struct clush_key *k = &keys[i];

		if (strlen(k->name) != n || memcmp(k->name, text, n) != 0)
			continue;
		return k->setting < 0 ? STATUS_OK
			: k->seconds  ? dropin_seconds(np, (enum setting)k->setting, text + n + 1, "-O")
				      : dropin_set(np, (enum setting)k->setting, text + n + 1, "-O");
	}
	if (text[n] && n == strlen("ssh_options") && memcmp(text, "ssh_options", n) == 0) {
		status = dropssh_text(&s, text + n + 1);
		*tty |= s.tty;
		return status;
	}
	return print_fail_field(np, STATUS_USAGE, "-O",
		"fanout, connect_timeout, command_timeout, ssh_user, "
		"ssh_options and color can be set",
		"nanopod cannot set '%.60s'", text);
}

static int clush_settings(struct nanopod *np, const struct options *o, bool *tty)
{
	const char *worker = option_text(o, "worker"), *remote = option_text(o, "remote");
	int status = dropin_refuse(np, o, absent);

	if (!status && worker && strcmp(worker, "ssh") != 0)
		status = print_fail_field(np, STATUS_USAGE, "-R", "-R ssh, or leave it out",
			"nanopod connects by ssh only, not by '%.60s'", worker);
	if (!status && remote && strcmp(remote, "yes") != 0)
		status = print_fail_field(np, STATUS_USAGE, "--remote", "leave it out",
			"nanopod runs commands on the hosts only");
	status = status ? status : dropin_fanout(np, NULL, "64", "-f");
	for (size_t i = 0; !status && i < option_count(o, "option"); i++)
		status = clush_key(np, option_at(o, "option", i), tty);
	for (size_t i = 0; !status && i < option_count(o, "options"); i++) {
		struct dropssh s = { .np = np, .where = "-o" };

		status = dropssh_text(&s, option_at(o, "options", i));
		*tty |= s.tty;
	}
	status = status ? status : dropin_set(np, SETTING_ID_FANOUT, option_text(o, "fanout"), "-f");
	status = status ? status : dropin_set(np, SETTING_ID_USER, option_text(o, "user"), "-l");
	status = status ? status
			: dropin_seconds(np, SETTING_ID_CONNECT_TIMEOUT, option_text(o, "connect_timeout"), "-t");
	return status ? status : dropin_seconds(np, SETTING_ID_TIMEOUT, option_text(o, "command_timeout"), "-u");
}

/* ---- Hosts ------------------------------------------------------------------------------ */

static int clush_file(struct nanopod *np, struct pssh_list *l, const char *path)
{
	struct buf text;
	int rc, status = STATUS_OK;

	buf_init(&text, (size_t)1 << 30);
	rc = buf_read_file(&text, path);
	if (rc)
		status = print_fail_field(np, STATUS_FAILURE, "--hostfile", NULL, "cannot read '%s': %s", path,
			strerror(-rc));
	for (char *rest = text.data, *line; !status && rest && (line = strsep(&rest, " \t\r\n"));)
		if (*line)
			status = drophosts_nodeset(np, l, line);
	buf_release(&text);
	return status;
}

static int clush_group(struct nanopod *np, struct pssh_list *l, const char *names)
{
	char *copy = strdup(names), *rest = copy, *name, *word;
	int status = STATUS_OK;

	if (!copy)
		command_nomem();
	while (!status && (name = strsep(&rest, ","))) {
		if (asprintf(&word, "%s%s", *name == '@' ? "" : "@", name) < 0)
			command_nomem();
		status = drophosts_nodeset(np, l, word);
		free(word);
	}
	free(copy);
	return status;
}

static int clush_hosts(struct nanopod *np, const struct options *o, struct pssh_list *l)
{
	struct pssh_list *out;
	int status = dropgroups_clush(np);

	select_new(np, &out);
	for (size_t i = 0; !status && i < option_count(o, "nodes"); i++)
		status = drophosts_nodeset(np, l, option_at(o, "nodes", i));
	for (size_t i = 0; !status && i < option_count(o, "hostfile"); i++)
		status = clush_file(np, l, option_at(o, "hostfile", i));
	for (size_t i = 0; !status && i < option_count(o, "machinefile"); i++)
		status = clush_file(np, l, option_at(o, "machinefile", i));
	if (!status && option_given(o, "all"))
		status = clush_group(np, l, "all");
	for (size_t i = 0; !status && i < option_count(o, "group"); i++)
		status = clush_group(np, l, option_at(o, "group", i));
	for (size_t i = 0; !status && i < option_count(o, "exclude"); i++)
		status = drophosts_nodeset(np, out, option_at(o, "exclude", i));
	for (size_t i = 0; !status && i < option_count(o, "exclude-group"); i++)
		status = clush_group(np, out, option_at(o, "exclude-group", i));
	if (!status)
		drophosts_drop(l, out);
	pssh_list_free(out);
	if (!status && pssh_list_count(l) == 0)
		status = print_fail_field(np, STATUS_USAGE, "-w", "-w 'n[1-9]' names them", "no hosts given");
	if (!status && option_given(o, "pick"))
		status = drophosts_pick(np, l, option_text(o, "pick"));
	return status;
}

/* ---- What to do ------------------------------------------------------------------------- */

/* The folder of a path, from the root; the caller frees it. */
static char *clush_folder(const char *path)
{
	char here[PATH_MAX], *all;

	if (!getcwd(here, sizeof here))
		here[0] = '\0';
	if (asprintf(&all, "%s%s%s", *path == '/' ? "" : here, *path == '/' ? "" : "/", path) < 0)
		command_nomem();
	for (size_t n = strlen(all); n > 1 && all[n - 1] == '/'; n--)
		all[n - 1] = '\0';
	if (strrchr(all, '/'))
		strrchr(all, '/')[1] = '\0';
	return all;
}

static int clush_copy(struct droprun *r, const struct pssh_list *l)
{
	const char *dest = option_text(r->o, "dest");
	char *folder, *target;
	int status;

	if (!option_argc(r->o))
		return print_fail(r->np, STATUS_USAGE, "clush -w n1 --copy FILE --dest /dir/", "no file given");
	r->sources = option_argv(r->o);
	r->flags = PSSH_COPY_SPARSE | PSSH_COPY_RECURSIVE | PSSH_COPY_GLOB |
		(option_given(r->o, "preserve") ? PSSH_COPY_PRESERVE : 0) | (r->put ? 0 : PSSH_COPY_PER_HOST);
	folder = clush_folder(r->sources[0]);
	if (asprintf(&target, r->put ? (dest && r->sources[1] ? "%s/" : "%s") : "%s/{base}.{host}",
		    dest ? dest : folder) < 0)
		command_nomem();
	r->target = target;
	status = droprun(r, l);
	free(target);
	free(folder);
	return status;
}

static int clush_run(struct droprun *r, const struct pssh_list *l)
{
	struct buf words;
	int status;

	buf_init(&words, CLUSH_COMMAND_MAX);
	r->input = !option_given(r->o, "nostdin") && !r->np->tty_in;
	/* Without a command the shell there reads its input. */
	if (option_argc(r->o) ? dropin_join(r->o, &words) : buf_adds(&words, "exec $SHELL"))
		status = print_fail(r->np, STATUS_USAGE, "'clush -w n1 <FILE' sends a longer one",
			"the command is longer than %d bytes", CLUSH_COMMAND_MAX);
	else if (!option_argc(r->o) && !r->input)
		status = print_fail(r->np, STATUS_USAGE, "'nanopod shell' asks for commands", "no command given");
	else {
		r->command = words.data;
		status = droprun(r, l);
	}
	buf_release(&words);
	return status;
}

static int clush_do(struct nanopod *np, const struct options *o)
{
	struct clushshow c = {
		.both = option_given(o, "gatherall"),
		.gather = option_given(o, "dshbak") || option_given(o, "gatherall") || option_given(o, "diff"),
		.lines = option_given(o, "line-mode"),
		.diff = option_given(o, "diff"),
		.labels = !option_given(o, "no-label"),
		.quiet = option_given(o, "quiet"),
		.largest = option_given(o, "maxrc"),
		.out.fd = -1,
		.err.fd = -1,
	};
	struct droprun r = { .np = np,
		.o = o,
		.show = &clushshow,
		.own = &c,
		.progress = option_given(o, "progress"),
		.put = option_given(o, "copy") };
	struct pssh_list *l;
	int status;

	if (option_given(o, "version"))
		return dropin_version(np, "clush");
	if (c.diff && c.lines)
		return print_fail_field(np, STATUS_USAGE, "--diff", NULL, "--diff does not go with -L: choose one");
	select_new(np, &l);
	status = clush_settings(np, o, &r.tty);
	status = status ? status : clush_hosts(np, o, l);
	status = status ? status : dropdir_open(np, &c.out, option_text(o, "outdir"));
	status = status ? status : dropdir_open(np, &c.err, option_text(o, "errdir"));
	for (size_t i = 0; !status && i < pssh_list_count(l); i++) {
		dropdir_add(np, &c.out, pssh_list_get(l, i), NULL, 0);
		dropdir_add(np, &c.err, pssh_list_get(l, i), NULL, 0);
	}
	if (!status)
		status = option_given(o, "copy") || option_given(o, "rcopy") ? clush_copy(&r, l) : clush_run(&r, l);
	dropdir_close(&c.out);
	dropdir_close(&c.err);
	pssh_list_free(l);
	return status;
}

/* Options of copies may follow the files: puts those in front back, and parses all again. */
static int clush_copy_words(struct nanopod *np, const struct options *o)
{
	const struct option *tables[COMMAND_TABLES], *row;
	struct options *all = NULL;
	struct fail f = { 0 };
	const char *text;
	size_t count = 0, typed;
	char **words;
	int status;

	while (option_typed(o, count, &row, &text))
		count++;
	typed = count;
	words = calloc(typed + (size_t)option_argc(o) + 2, sizeof *words);
	if (!words)
		command_nomem();
	for (count = 0; option_typed(o, count, &row, &text); count++)
		if (asprintf(&words[count], "--%s%s%s", row->name, row->kind == OPTION_FLAG ? "" : "=",
			    row->kind == OPTION_FLAG ? "" : text) < 0)
			command_nomem();
	for (int i = 0; i < option_argc(o); i++)
		words[count++] = option_argv(o)[i];
	command_tables(&cmd_clush, tables);
	if (option_parse(tables, false, (int)count, words, &all, &f))
		status = print_fail(np, STATUS_USAGE, "'nanopod clush --help' lists its options", "%s", f.text);
	else
		status = clush_do(np, all);
	option_free(all);
	for (size_t i = 0; i < typed; i++)
		free(words[i]);
	free(words);
	return status;
}

static int clush_verb(struct nanopod *np, const struct options *o)
{
	bool copy = option_given(o, "copy") || option_given(o, "rcopy");

	return copy ? clush_copy_words(np, o) : clush_do(np, o);
}

const struct command cmd_clush = {
	.name = "clush",
	.args = "[COMMAND... | --copy FILE... | --rcopy FILE...]",
	.summary = "run a command on many hosts, as clush does",
	.description = "For scripts that were written for clush; see nanopod-dropins(7).",
	.options = options,
	.flags = COMMAND_STOP | COMMAND_HIDDEN | COMMAND_DROPIN,
	.max_args = -1,
	.run = clush_verb,
};
