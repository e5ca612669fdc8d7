/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod run: one command, or a script, on many hosts at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/remote/fanout.h"
#include "cli/nodes/node.h"
#include "cli/remote/perhost.h"
#include "cli/frame/print.h"
#include "cli/remote/save.h"
#include "cli/remote/script.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"
#include "cli/remote/summary.h"
#include "cli/frame/terminal.h"
#include "cli/via/via.h"
#include "cli/remote/view.h"

/* libssh2 sends no request above 35,000 bytes. */
enum { COMMAND_MAX = 32000, SCRIPT_MAX = 64 << 20 };

struct run {
	struct nanopod *np;
	const struct options *o;
	struct buf command, script;
	struct perhost perhost;
	struct buf sent; /* what the task runs: the command with its variables */
	struct fanout fanout;
	struct view view;
	struct save save;
	bool saving, save_broke;
	bool hosts_first; /* the first word names the hosts */
};

static const struct option options[] = {
	SELECT_OPTIONS,
	{ .name = "failed-from",
		.kind = OPTION_STRING,
		.arg = "DIR|-",
		.complete = COMPLETE_DIR,
		.help = "run only on hosts that failed in a --save DIR, or in 'run -o jsonl' on standard input" },
	{ .name = "gather",
		.letter = 'b',
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "show the output at the end, once for all hosts with the same" },
	{ .name = "diff",
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "like --gather, but show of smaller groups only the difference from the largest" },
	{ .name = "no-label",
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "print output unchanged, without the hosts' names" },
	{ .name = "quiet",
		.letter = 'q',
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "print no output of the hosts, only failures" },
	{ .name = "save",
		.kind = OPTION_STRING,
		.arg = "DIR",
		.complete = COMPLETE_DIR,
		.section = "Output",
		.help = "keep each host's output in DIR/HOST.stdout, .stderr and .status" },
	{ .name = "env",
		.kind = OPTION_LIST,
		.arg = "NAME[=VALUE]",
		.section = "Input",
		.help = "set a variable for the command, without VALUE as it is here; repeatable" },
	{ .name = "stdin",
		.kind = OPTION_FLAG,
		.section = "Input",
		.help = "send standard input to the command on every host" },
	{ .name = "script",
		.letter = 's',
		.kind = OPTION_STRING,
		.arg = "FILE",
		.complete = COMPLETE_FILE,
		.section = "Input",
		.help = "run this local script; the words are its arguments" },
	{ .name = "tty",
		.letter = 't',
		.kind = OPTION_FLAG,
		.section = "Input",
		.help = "run the command in a terminal" },
	{ .name = "fanout",
		.letter = 'f',
		.kind = OPTION_INT,
		.arg = "N",
		.min = 1,
		.max = 65536,
		.setting = "fanout",
		.help = "run on N hosts at a time (default: on all, opening 128 connections at a time)" },
	{ .name = "batch",
		.kind = OPTION_STRING,
		.arg = "N|N%",
		.help = "run on so many hosts, then on the next ones once all of these ended" },
	{ .name = "pause", .kind = OPTION_DURATION, .help = "with --batch: wait so long before the next batch" },
	{ .name = "max-fail",
		.kind = OPTION_STRING,
		.arg = "N|N%",
		.help = "begin on no further host once more than N failed (0: one)" },
	{ .name = "timeout",
		.kind = OPTION_DURATION,
		.may_none = true,
		.setting = "timeout",
		.help = "timeout for the command on each host" },
	{ .name = "via",
		.kind = OPTION_LIST,
		.arg = "GATEWAYS",
		.complete = COMPLETE_HOSTS,
		.help = "let these hosts connect to the others, each to an even share; repeatable" },
	{ .name = "forward-agent",
		.letter = 'A',
		.kind = OPTION_FLAG,
		.help = "with --via: gateways sign in to the hosts with your ssh-agent" },
	{ .name = "largest",
		.letter = 'S',
		.kind = OPTION_FLAG,
		.help = "exit with the largest exit status of all hosts" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod run -w 'n[1-64]' -- uptime", "on 64 hosts at once, each line with its host's name" },
	{ "nanopod run -w 'n[1-64]' -b -- uname -r", "hosts with the same output are shown once" },
	{ "nanopod run -r train -- nvidia-smi", "on every node of a reservation" },
	{ "nanopod run -w @gpu --diff -- cat /etc/hosts", "only what differs from most hosts" },
	{ "nanopod run -w 'n[1-64]' -f 1 -- systemctl restart web", "one host after the other" },
	{ "nanopod run -w 'n[1-64]' --batch 25% --pause 30s --max-fail 2 -- ./deploy",
		"a quarter at a time, and no further once 3 failed" },
	{ "nanopod run -w 'n[1-9]' --script setup.sh -- --fast", "a local script, with an argument" },
	{ "nanopod run -w 'n[1-9]' -- 'cp /srv/{host}.conf /etc/app.conf'", "each host with its own name" },
	{ "tar c etc | nanopod run -w 'n[1-9]' --stdin -- tar x -C /", "standard input for every host" },
	{ "nanopod run -w 'n[1-64]' --save out -- make check", "keep each host's output in out/" },
	{ "nanopod run --via 'gw[1-8]' -w 'h[1-10000]' -- uptime", "more hosts than one machine can hold" },
	{ "nanopod run --failed-from out", "the same command again, only where it failed" },
	{ 0 },
};

/* ---- What to run, and where ------------------------------------------------------------ */

static int check_options(struct nanopod *np, const struct options *o)
{
	const char *from = option_text(o, "failed-from");
	bool names = select_uses_stdin(o) || (from && strcmp(from, "-") == 0);
	bool gather = option_given(o, "gather") || option_given(o, "diff");

	if (option_given(o, "stdin") && names)
		return print_fail_field(np, STATUS_USAGE, "--stdin", "put the hosts into a file for --hosts-file",
			"standard input cannot hold both the hosts and the commands' input");
	if (from && select_given(o))
		return print_fail_field(np, STATUS_USAGE, "--failed-from", "use --exclude to leave hosts out",
			"--failed-from names the hosts: leave out --hosts");
	if (gather && (np->format == FORMAT_JSON || np->format == FORMAT_JSONL))
		return print_fail_field(np, STATUS_USAGE, "--gather", NULL,
			"--gather is for people, -o json for programs: choose one");
	if (option_given(o, "tty") && option_given(o, "stdin"))
		return print_fail_field(np, STATUS_USAGE, "--tty", NULL,
			"a command with a terminal cannot read --stdin");
	if (option_given(o, "forward-agent") && !option_given(o, "via"))
		return print_fail_field(np, STATUS_USAGE, "--forward-agent", NULL,
			"--forward-agent is for the gateways of --via");
	if (option_given(o, "via") && option_given(o, "stdin"))
		return print_fail_field(np, STATUS_USAGE, "--via", "'--script FILE' sends a script through gateways",
			"--stdin does not go through gateways");
	if (option_given(o, "tty") && option_given(o, "script"))
		return print_fail_field(np, STATUS_USAGE, "--tty", "copy the script with 'nanopod cp' and run it there",
			"a script cannot be sent through a terminal");
	if (option_given(o, "pause") && !option_given(o, "batch"))
		return print_fail_field(np, STATUS_USAGE, "--pause", "'--batch 1' runs on one host after the other",
			"--pause is between the batches of --batch");
	if (option_given(o, "via") && (option_given(o, "batch") || option_given(o, "max-fail")))
		return print_fail_field(np, STATUS_USAGE, "--via", NULL,
			"--batch and --max-fail do not go through gateways");
	return STATUS_OK;
}

static int read_rolling(struct run *r, struct rolling *out)
{
	static const char *const names[] = { "batch", "max-fail" };
	struct rolling_share *shares[] = { &out->batch, &out->max_fail };
	struct fail f = { 0 };
	char field[16];

	for (int i = 0; i < 2; i++) {
		if (!option_given(r->o, names[i]) ||
			rolling_share_read(option_text(r->o, names[i]), i == 1, shares[i], &f) == 0)
			continue;
		snprintf(field, sizeof field, "--%s", names[i]);
		return print_fail_field(r->np, STATUS_USAGE, field, NULL, "--%s: %s", names[i], f.text);
	}
	out->pause_ms = option_ms(r->o, "pause");
	return STATUS_OK;
}

static int select_failed(struct run *r, struct pssh_list *hosts, char **command)
{
	const char *from = option_text(r->o, "failed-from");
	struct fail f = { 0 };
	int rc, status = STATUS_OK;

	if (strcmp(from, "-") == 0)
		rc = save_failed_jsonl(STDIN_FILENO, hosts, &f);
	else
		rc = save_failed(from, hosts, command, &f);
	if (rc)
		return print_fail_field(r->np, rc == -ENOENT ? STATUS_NOTFOUND : STATUS_USAGE, "--failed-from", NULL,
			"%s", f.text);
	for (size_t i = 0; !status && i < option_count(r->o, "exclude"); i++)
		status = select_drop(r->np, hosts, option_at(r->o, "exclude", i));
	return status ? status : select_nodes(r->np, r->o, hosts);
}

/* What stands alone before "--" can only be where to run, if it is a node or reservation. */
static int select_before_split(struct run *r, struct pssh_list *hosts)
{
	char **words = option_argv(r->o);
	bool split = option_split(r->o) == 1;
	char hint[300 + SELECT_HINT] = "nanopod run -w 'n[1-64]' -- COMMAND", near[SELECT_HINT];
	int status;

	if (!words[0])
		return print_fail_field(r->np, STATUS_USAGE, "--hosts", hint, "no hosts given");
	nodes_guess(r->np, (const char *[]){ words[0] }, 1, split);
	if (split && (nodes_of_host(r->np->nodes, words[0]) || select_reservation_size(r->np, words[0]))) {
		r->hosts_first = true;
		status = select_meant(r->np, hosts, words[0], true);
		status = status ? status : select_exclude(r->np, r->o, hosts);
		return status ? status : select_nodes(r->np, r->o, hosts);
	}
	if (split || select_reservation_size(r->np, words[0]) || nodes_of_host(r->np->nodes, words[0]))
		snprintf(hint, sizeof hint, "nanopod run %s %.100s -- COMMAND",
			select_reservation_size(r->np, words[0]) ? "-r" : "-w", words[0]);
	if (split && select_near(r->np, words[0], near))
		snprintf(hint, sizeof hint, "%s 'nanopod run -w %.60s -- COMMAND' takes it for a host", near, words[0]);
	return print_fail_field(r->np, STATUS_USAGE, "--hosts", hint, "no hosts given");
}

static int select_hosts(struct run *r, struct pssh_list *hosts, char **command)
{
	struct connect_warm *warm = r->np->shell;
	bool given;
	int status;

	if (option_given(r->o, "failed-from"))
		return select_failed(r, hosts, command);
	if (warm && warm->selection && !select_given(r->o)) {
		status = select_meant(r->np, hosts, warm->selection, false);
		status = status ? status : select_exclude(r->np, r->o, hosts);
		status = status ? status : select_nodes(r->np, r->o, hosts);
		given = true;
	} else {
		status = select_options(r->np, r->o, hosts, &given);
	}
	return status || given ? status : select_before_split(r, hosts);
}

static int build_command(struct run *r, const char *saved)
{
	char **words = option_argv(r->o) + r->hosts_first;
	struct fail f = { 0 };

	if (option_given(r->o, "script")) {
		if (script_command(option_text(r->o, "script"), words, &r->script, &r->command, &f) != 0)
			return print_fail_field(r->np, STATUS_USAGE, "--script", NULL, "%s", f.text);
		return STATUS_OK;
	}
	if (!words[0] && saved) {
		if (buf_adds(&r->command, saved) != 0)
			command_nomem();
		return STATUS_OK;
	}
	if (!words[0])
		return print_fail(r->np, STATUS_USAGE, "nanopod run -w 'n[1-64]' -- COMMAND", "no command given");
	if (script_join(words, &r->command) != 0)
		return print_fail(r->np, STATUS_USAGE, "'--script FILE' sends a longer one",
			"the command is longer than %d bytes", COMMAND_MAX);
	return STATUS_OK;
}

/* The command as it is sent, where hosts have none of their own. */
static int run_prepare(struct run *r)
{
	struct fail f = { 0 };

	for (size_t i = 0; i < option_count(r->o, "env"); i++)
		if (perhost_env(&r->perhost, option_at(r->o, "env", i), &f) != 0)
			return print_fail_field(r->np, STATUS_USAGE, "--env", NULL, "%s", f.text);
	perhost_set(&r->perhost, r->command.data, option_given(r->o, "script") ? buf_text(&r->script) : NULL,
		r->script.len);
	if (option_given(r->o, "via") && perhost_differs(&r->perhost))
		return print_fail_field(r->np, STATUS_USAGE, "--via", "use \"$(hostname)\" there",
			"{host} and NANOPOD_HOST do not go through gateways");
	if (perhost_command(&r->perhost, NULL, &r->sent, &f) != 0)
		return print_fail(r->np, STATUS_USAGE, NULL, "%s", f.text);
	return STATUS_OK;
}

/* ---- The task -------------------------------------------------------------------------- */

static int run_make(void *arg, struct fanout *f, struct pssh_task **out)
{
	struct run *r = arg;
	struct pssh *fleet = f->connect->fleet;
	int64_t limit = settings_ms(r->np->settings, SETTING_ID_TIMEOUT);
	unsigned columns = 80, rows = 24;
	struct pssh_task *t;
	int rc = pssh_exec(fleet, r->sent.data, &t);

	if (rc)
		return print_fail(r->np, STATUS_FAILURE, NULL, "%s", pssh_error(fleet));
	rc = pssh_task_set_output(t, view_output(&r->view), (size_t)1 << 20, PSSH_OVERFLOW_DROP);
	if (!rc && limit)
		rc = pssh_task_set_deadline(t, (unsigned)limit);
	if (!rc && option_given(r->o, "tty")) {
		terminal_size(STDOUT_FILENO, &columns, &rows);
		rc = pssh_task_set_pty(t, getenv("TERM") ? getenv("TERM") : "dumb", columns, rows);
	}
	if (!rc && f->input.open)
		rc = pssh_task_open_input(t);
	if (rc) {
		pssh_task_free(t);
		return print_fail(r->np, STATUS_FAILURE, NULL, "%s", pssh_error(fleet));
	}
	*out = t;
	return STATUS_OK;
}

/* A host's own command, where it has {host} or wants to know its name. */
static int run_each(void *arg, struct fanout *f, struct outcome *o)
{
	struct run *r = arg;
	struct fail fail = { 0 };
	struct buf own;
	int rc, status = STATUS_OK;

	if (!perhost_differs(&r->perhost))
		return STATUS_OK;
	buf_init(&own, COMMAND_MAX);
	if (perhost_command(&r->perhost, o->name, &own, &fail) != 0)
		status = print_fail(r->np, STATUS_USAGE, NULL, "%s", fail.text);
	rc = status ? 0 : pssh_task_set_host_command(f->task, o->host, own.data);
	if (rc)
		status = print_fail(r->np, STATUS_FAILURE, NULL, "%s", pssh_error(f->connect->fleet));
	buf_release(&own);
	return status;
}

static void save_event(struct run *r, const struct pssh_event *ev, struct outcome *o)
{
	struct fail f = { 0 };
	int rc = 0;

	if (!r->saving || r->save_broke || !o)
		return;
	if (ev->type == PSSH_EV_STDOUT || ev->type == PSSH_EV_STDERR)
		rc = save_data(&r->save, o, ev->type == PSSH_EV_STDERR, ev->data, ev->len, &f);
	else if (ev->type == PSSH_EV_EXIT || ev->type == PSSH_EV_SIGNAL || ev->type == PSSH_EV_ERROR)
		rc = save_outcome(&r->save, o, &f);
	if (rc) {
		r->save_broke = true;
		fanout_quiet(&r->fanout);
		print_fail_field(r->np, STATUS_FAILURE, "--save", NULL, "%s; stopping the hosts", f.text);
		fanout_cancel(&r->fanout);
	}
}

static enum view_kind kind_of(const struct run *r)
{
	if (option_given(r->o, "quiet"))
		return VIEW_NONE;
	if (r->np->format == FORMAT_JSONL)
		return VIEW_JSONL;
	if (r->np->format == FORMAT_JSON)
		return VIEW_JSON;
	return option_given(r->o, "gather") || option_given(r->o, "diff") ? VIEW_GATHER : VIEW_LINES;
}

static int begin_saving(struct run *r)
{
	struct fail f = { 0 };
	struct buf what;
	int rc;

	if (!option_given(r->o, "save"))
		return STATUS_OK;
	buf_init(&what, COMMAND_MAX * 2);
	/* A script is not kept, so it cannot be repeated: the # line only tells the reader which one it was. */
	if (option_given(r->o, "script"))
		rc = buf_addf(&what, "# script %s\n", option_text(r->o, "script"));
	else
		rc = buf_add(&what, r->command.data, r->command.len);
	if (rc)
		command_nomem();
	rc = save_open(&r->save, option_text(r->o, "save"), &r->fanout, what.data, &f);
	buf_release(&what);
	if (rc)
		return print_fail_field(r->np, STATUS_FAILURE, "--save", NULL, "%s", f.text);
	r->saving = true;
	return STATUS_OK;
}

static int run_go(struct run *r)
{
	const char *again = NULL;
	struct pssh_event const *ev;
	struct outcome *o;
	enum fanout_turn turn;
	char *line = NULL;
	int status;

	r->fanout.make = run_make;
	r->fanout.each = run_each;
	r->fanout.arg = r;
	r->fanout.needs_reader = r->view.kind != VIEW_NONE;
	/* Gateways have the script already. */
	r->fanout.input.open = !r->fanout.source && (option_given(r->o, "stdin") || option_given(r->o, "script"));
	r->fanout.input.fd = option_given(r->o, "stdin") ? STDIN_FILENO : -1;
	r->fanout.input.head = r->script.data;
	r->fanout.input.head_len = r->script.len;
	status = begin_saving(r);
	if (!status)
		status = fanout_start(&r->fanout);
	if (status)
		return status;
	while ((turn = fanout_next(&r->fanout, &ev, &o)) != FANOUT_DONE) {
		if (turn != FANOUT_EVENT)
			continue;
		view_event(&r->view, ev, o);
		save_event(r, ev, o);
	}
	view_end(&r->view);
	if (r->saving && asprintf(&line, "nanopod run --failed-from %s", option_text(r->o, "save")) > 0)
		again = line;
	summary_show(&r->fanout, again);
	free(line);
	return r->save_broke ? STATUS_FAILURE : summary_status(&r->fanout, option_given(r->o, "largest"));
}

static int run_gateways(struct run *r, struct via *via)
{
	struct via_job job = {
		.command = r->sent.data,
		.script = r->script.data,
		.script_len = r->script.len,
		.has_script = option_given(r->o, "script"),
		.chunks = view_output(&r->view) == PSSH_OUTPUT_CHUNKS,
		.tty = option_given(r->o, "tty"),
		.forward = option_given(r->o, "forward-agent"),
	};
	struct pssh_list *list;
	const char **names;
	int status;

	select_new(r->np, &list);
	status = STATUS_OK;
	for (size_t i = 0; !status && i < option_count(r->o, "via"); i++)
		status = select_add(r->np, list, option_at(r->o, "via", i));
	if (!status && pssh_list_count(list) == 0)
		status = print_fail_field(r->np, STATUS_USAGE, "--via", NULL, "no gateway given");
	names = select_names(list);
	if (!status)
		select_recognize(r->np, list);
	if (!status)
		status = via_init(via, &r->fanout, names, &job);
	free(names);
	pssh_list_free(list);
	return status;
}

static int run_on_hosts(struct run *r, struct pssh_list *hosts)
{
	struct via via = { 0 };
	struct connect *c;
	int status = connect_open(r->np, &c);

	if (status)
		return status;
	status = fanout_init_up(&r->fanout, r->np, c, hosts);
	if (!status) {
		if (kind_of(r) != VIEW_NONE)
			select_tell_end(r->np, hosts);
		view_init(&r->view, &r->fanout, kind_of(r));
		r->view.labels = !option_given(r->o, "no-label");
		r->view.diff = option_given(r->o, "diff");
		status = read_rolling(r, &r->fanout.rolling);
		if (!status && option_given(r->o, "via"))
			status = run_gateways(r, &via);
		if (!status)
			status = run_go(r);
		via_release(&via);
		view_release(&r->view);
		fanout_release(&r->fanout);
	}
	connect_close(r->np, c);
	return status;
}

static int run_verb(struct nanopod *np, const struct options *o)
{
	struct run r = { .np = np, .o = o, .save.dir = -1 };
	struct pssh_list *hosts;
	char *saved = NULL;
	int status = check_options(np, o);

	if (status)
		return status;
	buf_init(&r.command, COMMAND_MAX);
	buf_init(&r.script, SCRIPT_MAX);
	buf_init(&r.sent, COMMAND_MAX);
	perhost_init(&r.perhost);
	select_new(np, &hosts);
	status = select_hosts(&r, hosts, &saved);
	if (!status)
		status = build_command(&r, saved);
	if (!status)
		status = run_prepare(&r);
	if (!status && pssh_list_count(hosts) == 0)
		print_note(np, "nothing to do: no host failed");
	else if (!status)
		status = run_on_hosts(&r, hosts);
	save_close(&r.save);
	free(saved);
	pssh_list_free(hosts);
	buf_release(&r.command);
	buf_release(&r.script);
	buf_release(&r.sent);
	perhost_release(&r.perhost);
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.args = "[--] COMMAND [ARGUMENT...]",
	.summary = "run a command on many hosts at once",
	.examples = examples,
	.description = "Joins the words by spaces and gives them to your shell on each host, as ssh does. Prints "
		       "output line by line as it arrives, with the host's name in front; lines of standard error "
		       "are marked with '!' and go to standard error.\n\nThe exit status for one host is the "
		       "command's (255: the connection failed; 8: --timeout ended it); for many it is 0 where all "
		       "succeeded and 10 where some failed. Ctrl-C ends the commands on the hosts too, and says "
		       "what became of them.",
	.positional = "COMMAND   what to run on the hosts\nARGUMENT  further words of it, or with --script the "
		      "script's arguments",
	.options = options,
	.formats = "text|jsonl|json|yaml",
	.flags = COMMAND_STOP | COMMAND_CONNECT | COMMAND_NODES,
	.min_args = 0,
	.max_args = -1,
	.complete_first = COMPLETE_PROGRAM,
	.complete_rest = COMPLETE_FILE,
	.run = run_verb,
};
