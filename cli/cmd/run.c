/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod run: one command, or a script, on many hosts at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cmd/run/run_options.h"
#include "cli/cmd/run/run_plan.h"
#include "cli/frame/command.h"
#include "cli/remote/become.h"
#include "cli/remote/connect.h"
#include "cli/remote/fanout.h"
#include "cli/nodes/node.h"
#include "cli/remote/perhost.h"
#include "cli/frame/print.h"
#include "cli/frame/retype.h"
#include "cli/remote/save.h"
#include "cli/remote/script.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"
#include "cli/remote/summary.h"
#include "cli/frame/terminal.h"
#include "cli/via/via.h"
#include "cli/remote/view.h"
#include "cli/remote/rounds.h"
#include "cli/frame/signals.h"

/* libssh2 sends no request above 35,000 bytes. */
enum { COMMAND_MAX = 32000, SCRIPT_MAX = 64 << 20, BECOME_SCRIPT_MAX = 1 << 20 };

struct run {
	struct nanopod *np;
	const struct options *o;
	struct buf command, script;
	struct perhost perhost;
	struct watch *watch; /* of --watch, or NULL */
	int watch_status;    /* of its last round */
	struct become become;
	bool becoming;
	struct buf sent; /* what the task runs: the command with its variables */
	struct fanout fanout;
	struct view view;
	struct save save;
	bool saving, save_broke;
	bool hosts_first; /* the first word names the hosts */
};

/* ---- What to run, and where ------------------------------------------------------------ */

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

static int run_needs_hosts(struct run *r, const char *word, bool split)
{
	const char *option = select_reservation_size(r->np, word) ? "-r"
		: nodes_of_host(r->np->nodes, word)               ? "-w"
								  : NULL;
	char near[SELECT_HINT];
	bool slip = split && select_near(r->np, word, near), named = split || option;
	struct buf hint;
	int status;

	buf_init(&hint, SCRIPT_MAX);
	if (buf_addf(&hint, "%s%snanopod run %s", slip ? near : "", slip ? " '" : "", option ? option : "-w"))
		command_nomem();
	retype_word(&hint, named ? word : "n[1-64]");
	if (buf_addf(&hint, " -- COMMAND%s", slip ? "' takes it for a host" : ""))
		command_nomem();
	status = print_fail_field(r->np, STATUS_USAGE, "--hosts", buf_text(&hint), "no hosts given");
	buf_release(&hint);
	return status;
}

/* What stands alone before "--" can only be where to run, if it is a node or reservation. */
static int select_before_split(struct run *r, struct pssh_list *hosts)
{
	char **words = option_argv(r->o);
	bool split = option_split(r->o) == 1;
	int status;

	if (!words[0])
		return run_needs_hosts(r, "n[1-64]", false);
	nodes_guess(r->np, (const char *[]){ words[0] }, 1, split);
	if (split && (nodes_of_host(r->np->nodes, words[0]) || select_reservation_size(r->np, words[0]))) {
		r->hosts_first = true;
		status = select_meant(r->np, hosts, words[0], true);
		status = status ? status : select_exclude(r->np, r->o, hosts);
		return status ? status : select_nodes(r->np, r->o, hosts);
	}
	return run_needs_hosts(r, words[0], split);
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
	char **words = option_words(r->o, r->hosts_first);
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
	run_options_warn_shell(r->np, words);
	return STATUS_OK;
}

/* Adds the command as it is sent to a host; name NULL: to all of them. */
static int run_sent(struct run *r, const char *name, struct buf *out)
{
	struct fail f = { 0 };
	struct buf plain;
	int rc;

	if (!r->becoming) {
		rc = perhost_command(&r->perhost, name, out, &f);
	} else {
		buf_init(&plain, COMMAND_MAX);
		rc = perhost_command(&r->perhost, name, &plain, &f);
		if (!rc && become_command(&r->become, plain.data, out) != 0)
			rc = fail_set(&f, -EFBIG, "the command is too long");
		buf_release(&plain);
	}
	return rc ? print_fail(r->np, STATUS_USAGE, NULL, "%s", f.text) : STATUS_OK;
}

static int run_prepare_become(struct run *r)
{
	struct fail f = { 0 };

	r->becoming = run_options_become(r->o);
	if (!r->becoming)
		return STATUS_OK;
	if (r->script.len > BECOME_SCRIPT_MAX)
		return print_fail_field(r->np, STATUS_USAGE, "--script", "copy it with 'nanopod cp' and run it there",
			"with --become a script has at most 1 MiB");
	if (become_init(&r->become, option_text(r->o, "become-user"), option_text(r->o, "become-password-file"), &f))
		return print_fail_field(r->np, STATUS_USAGE,
			option_given(r->o, "become-password-file") ? "--become-password-file" : "--become-user", NULL,
			"%s", f.text);
	r->become.script = r->script.len ? r->script.data : NULL;
	r->become.script_len = r->script.len;
	return STATUS_OK;
}

/* The command as it is sent, where hosts have none of their own. */
static int run_prepare(struct run *r)
{
	struct fail f = { 0 };
	int status;

	for (size_t i = 0; i < option_count(r->o, "env"); i++)
		if (perhost_env(&r->perhost, option_at(r->o, "env", i), &f) != 0)
			return print_fail_field(r->np, STATUS_USAGE, "--env", NULL, "%s", f.text);
	perhost_set(&r->perhost, r->command.data, option_given(r->o, "script") ? buf_text(&r->script) : NULL,
		r->script.len);
	if (option_given(r->o, "via") && perhost_differs(&r->perhost))
		return print_fail_field(r->np, STATUS_USAGE, "--via", "use \"$(hostname)\" there",
			"{host} and NANOPOD_HOST do not go through gateways");
	status = run_prepare_become(r);
	return status ? status : run_sent(r, NULL, &r->sent);
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
	rc = pssh_task_set_output(t, r->becoming ? PSSH_OUTPUT_LINES : view_output(&r->view), (size_t)1 << 20,
		PSSH_OVERFLOW_DROP);
	if (!rc && limit)
		rc = pssh_task_set_deadline(t, (unsigned)limit);
	if (!rc && option_given(r->o, "tty")) {
		terminal_size(STDOUT_FILENO, &columns, &rows);
		rc = pssh_task_set_pty(t, getenv("TERM") ? getenv("TERM") : "dumb", columns, rows);
	}
	if (!rc)
		rc = pssh_task_set_agent_forward(t,
			option_given(r->o, "forward-agent") ? PSSH_FORWARD_YES : PSSH_FORWARD_CONFIGURED);
	if (!rc && (f->input.open || r->becoming))
		rc = pssh_task_open_input(t);
	if (rc) {
		pssh_task_free(t);
		return print_fail(r->np, STATUS_FAILURE,
			rc == PSSH_EUNSUPPORTED ? "'nanopod ssh --openssh -A HOST' forwards it" : NULL, "%s",
			pssh_error(fleet));
	}
	*out = t;
	return STATUS_OK;
}

/* A host's own command, where it has {host} or wants to know its name. */
static int run_each(void *arg, struct fanout *f, struct outcome *o)
{
	struct run *r = arg;
	struct buf own;
	int rc, status;

	if (!perhost_differs(&r->perhost))
		return STATUS_OK;
	buf_init(&own, COMMAND_MAX);
	status = run_sent(r, o->name, &own);
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
	if (option_given(r->o, "in-order"))
		return VIEW_ORDER;
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

/* q in the middle of a round ends the commands as Ctrl-C does. */
static void run_watch_key(struct run *r)
{
	watch_key(r->watch);
	if (!r->watch->quit)
		return;
	r->fanout.watch_fd = -1;
	fanout_cancel(&r->fanout);
}

/* Begins on all hosts, and passes on what they say until they have ended. An exit status of the beginning. */
static int run_round(struct run *r)
{
	struct pssh_event const *ev;
	struct outcome *o;
	enum fanout_turn turn;
	int status;

	r->fanout.make = run_make;
	r->fanout.each = run_each;
	r->fanout.arg = r;
	/* A terminal that is gone says so itself, by SIGHUP, which nohup may keep away. */
	r->fanout.needs_reader = r->view.kind != VIEW_NONE && !r->np->tty_out;
	/* Gateways have the script already. */
	r->fanout.input.open = !r->fanout.source && !r->becoming &&
		(option_given(r->o, "stdin") || option_given(r->o, "script"));
	r->fanout.input.fd = option_given(r->o, "stdin") ? STDIN_FILENO : -1;
	r->fanout.input.head = r->script.data;
	r->fanout.input.head_len = r->script.len;
	status = begin_saving(r);
	if (!status)
		status = fanout_start(&r->fanout);
	while (!status && (turn = fanout_next(&r->fanout, &ev, &o)) != FANOUT_DONE) {
		if (turn == FANOUT_SIGNAL && r->watch)
			watch_draw(r->watch);
		if (turn == FANOUT_WATCH && r->watch)
			run_watch_key(r);
		if (turn != FANOUT_EVENT)
			continue;
		ev = r->becoming ? become_event(&r->become, &r->fanout, ev, o) : ev;
		if (!ev)
			continue;
		view_event(&r->view, ev, o);
		save_event(r, ev, o);
	}
	return status;
}

static int run_go(struct run *r)
{
	struct buf line;
	int status = run_round(r);

	if (status)
		return status;
	view_end(&r->view);
	buf_init(&line, SCRIPT_MAX);
	if (r->saving) {
		if (buf_adds(&line, "nanopod run --failed-from"))
			command_nomem();
		retype_word(&line, option_text(r->o, "save"));
	}
	summary_show(&r->fanout, r->saving ? buf_text(&line) : NULL);
	buf_release(&line);
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
		status = run_options_rolling(r->np, r->o, &r->fanout.rolling);
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

/* One round of --watch, over the connections of the last one. An exit status. */
static int run_watch_round(struct run *r, struct connect *c, struct pssh_list *hosts)
{
	int status = fanout_init_up(&r->fanout, r->np, c, hosts);

	if (status)
		return status;
	view_init(&r->view, &r->fanout, VIEW_GATHER);
	r->fanout.watch_fd = r->watch->screen.tty;
	watch_begin(r->watch);
	status = run_round(r);
	if (!status && !r->fanout.asked)
		watch_take(r->watch, &r->fanout);
	/* After q the last whole round counts. */
	status = status ? status : r->watch->quit ? r->watch_status : summary_status(&r->fanout, false);
	r->watch->signal = r->fanout.first_signal;
	view_release(&r->view);
	fanout_release(&r->fanout);
	return status;
}

static int run_watch(struct run *r, struct pssh_list *hosts)
{
	const char *every = option_text(r->o, "watch");
	struct watch w;
	struct connect *c;
	int64_t ms;
	int status = run_options_every(r->np, every, &ms);

	if (!status)
		status = connect_open(r->np, &c);
	if (status)
		return status;
	watch_init(&w, r->np, option_given(r->o, "script") ? option_text(r->o, "script") : r->command.data, ms);
	r->watch = &w;
	if (signals_begin() != 0)
		command_nomem();
	do
		status = r->watch_status = run_watch_round(r, c, hosts);
	while (w.screen.open && !w.quit && !w.signal && watch_rest(&w, c->fleet));
	signals_end();
	watch_end(&w);
	if (w.signal)
		status = 128 + w.signal;
	watch_release(&w);
	r->watch = NULL;
	connect_close(r->np, c);
	return status;
}

/* Shows a script as the person names it, not as it is sent. */
static int run_dry(struct run *r, const struct pssh_list *hosts)
{
	const char *user = option_text(r->o, "become-user");
	struct perhost shown = r->perhost;
	struct buf text;
	int status;

	buf_init(&text, COMMAND_MAX);
	if (option_given(r->o, "script")) {
		if (buf_addf(&text, "%s ", option_text(r->o, "script")) != 0 ||
			script_join(option_words(r->o, r->hosts_first), &text) != 0)
			command_nomem();
		buf_cut(&text, text.len - (text.data[text.len - 1] == ' '));
		shown.command = text.data;
	}
	status = run_plan_show(r->np, hosts, &shown, !r->becoming ? NULL : user ? user : "root");
	buf_release(&text);
	return status;
}

static int run_verb(struct nanopod *np, const struct options *o)
{
	struct run r = { .np = np, .o = o, .save.dir = -1 };
	struct pssh_list *hosts;
	char *saved = NULL;
	int status = run_options_check(np, o);

	if (status)
		return status;
	buf_init(&r.command, COMMAND_MAX);
	buf_init(&r.script, SCRIPT_MAX);
	buf_init(&r.sent, COMMAND_MAX);
	perhost_init(&r.perhost);
	select_new(np, &hosts);
	status = select_hosts(&r, hosts, &saved);
	if (!status && option_given(o, "pick"))
		status = run_plan_pick(np, &hosts, (size_t)option_int(o, "pick"));
	if (!status)
		status = build_command(&r, saved);
	if (!status)
		status = run_prepare(&r);
	if (!status && option_given(o, "dry-run"))
		status = run_dry(&r, hosts);
	else if (!status && pssh_list_count(hosts) == 0)
		print_note(np, "nothing to do: no host failed");
	else if (!status && option_given(o, "watch"))
		status = run_watch(&r, hosts);
	else if (!status)
		status = run_on_hosts(&r, hosts);
	save_close(&r.save);
	free(saved);
	pssh_list_free(hosts);
	buf_release(&r.command);
	buf_release(&r.script);
	buf_release(&r.sent);
	perhost_release(&r.perhost);
	become_release(&r.become);
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.args = "[--] COMMAND [ARGUMENT...]",
	.summary = "run a command on many hosts at once",
	.examples = run_examples,
	.description = "Joins the words by spaces and gives them to your shell on each host, as ssh does. Prints "
		       "output line by line as it arrives, with the host's name in front; lines of standard error "
		       "are marked with '!' and go to standard error.\n\nThe exit status for one host is the "
		       "command's (255: the connection failed; 8: --timeout ended it); for many it is 0 where all "
		       "succeeded and 10 where some failed. Ctrl-C ends the commands on the hosts too, and says "
		       "what became of them.",
	.positional = "COMMAND   what to run on the hosts\nARGUMENT  further words of it, or with --script the "
		      "script's arguments",
	.options = run_options,
	.formats = "text|jsonl|json|yaml",
	.flags = COMMAND_STOP | COMMAND_CONNECT | COMMAND_NODES,
	.min_args = 0,
	.max_args = -1,
	.complete_first = COMPLETE_PROGRAM,
	.complete_rest = COMPLETE_FILE,
	.run = run_verb,
};
