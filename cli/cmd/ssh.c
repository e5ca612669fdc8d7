/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod ssh: one host as the system's ssh would do it: a terminal, or a command with unchanged streams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/remote/fanout.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodewait.h"
#include "cli/frame/print.h"
#include "cli/remote/script.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"
#include "cli/remote/summary.h"
#include "cli/frame/terminal.h"
#include "cli/frame/value.h"

/* libssh2 sends no request above 35,000 bytes. */
enum { COMMAND_MAX = 32000, PIECE = 16384, WAIT_MS = 5 * 60 * 1000 };

enum escape { ESCAPE_NONE, ESCAPE_LINE_START, ESCAPE_TILDE };

struct session {
	struct nanopod *np;
	const struct options *o;
	struct buf command;
	struct fanout fanout;
	bool pty, raw;
	enum escape escape;
	bool disconnect;
	struct buf held; /* typed, but not sent to the host yet */
};

static const struct option options[] = {
	{ .name = "forward-agent", .letter = 'A', .kind = OPTION_FLAG, .help = "forward the local agent to the host" },
	{ .name = "tty", .letter = 't', .kind = OPTION_FLAG, .help = "run a command in a terminal too" },
	{ .name = "no-tty", .letter = 'T', .kind = OPTION_FLAG, .help = "run without a terminal" },
	{ .name = "wait",
		.kind = OPTION_OPTIONAL,
		.arg = "DURATION",
		.help = "wait for a node that does not run yet (5m without a value)" },
	{ .name = "openssh", .kind = OPTION_FLAG, .help = "run the system's ssh with the same settings" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod ssh n1", "a shell on n1; '~.' at the start of a line ends it, '~?' shows help" },
	{ "nanopod ssh train-0", "a node that you bought" },
	{ "nanopod ssh root@n1 -- journalctl -f", "a command" },
	{ "nanopod ssh n1 cat /var/log/dump >dump", "its output, byte for byte" },
	{ "nanopod ssh --openssh -A n1", "through the system's ssh, with agent forwarding" },
	{ 0 },
};

/* ---- Escapes --------------------------------------------------------------------------- */

static const char escape_help[] = "\r\nAt the start of a line:\r\n"
				  "  ~.   end the connection\r\n"
				  "  ~^Z  suspend nanopod; 'fg' continues\r\n"
				  "  ~~   send ~\r\n"
				  "  ~?   show this help\r\n";

static void go_raw(struct session *s)
{
	s->raw = s->pty && s->np->tty_in && terminal_raw(STDIN_FILENO) == 0;
}

static void ssh_resize(struct session *s)
{
	unsigned columns, rows;

	if (s->pty && terminal_size(STDIN_FILENO, &columns, &rows) == 0)
		pssh_task_resize(s->fanout.task, s->fanout.hosts[0].host, columns, rows);
}

static void ssh_suspend(struct session *s)
{
	fflush(s->np->out);
	terminal_suspend();
	go_raw(s);
	ssh_resize(s);
}

/* The byte after a ~ at the start of a line. True where nothing is sent to the host. */
static bool ssh_escape(struct session *s, char c)
{
	switch (c) {
	case '.':
		s->disconnect = true;
		return true;
	case 'Z' & 31:
		ssh_suspend(s);
		return true;
	case '?':
		fputs(escape_help, s->np->err);
		fflush(s->np->err);
		return true;
	default:
		return false;
	}
}

static void ssh_keep(struct session *s, char c)
{
	if (buf_addc(&s->held, c) != 0)
		command_nomem();
}

static void ssh_typed(struct session *s, const char *data, size_t len)
{
	for (size_t i = 0; i < len && !s->disconnect; i++) {
		char c = data[i];

		if (s->escape == ESCAPE_TILDE) {
			s->escape = ESCAPE_LINE_START;
			if (ssh_escape(s, c))
				continue;
			if (c != '~')
				ssh_keep(s, '~');
		} else if (s->escape == ESCAPE_LINE_START && c == '~') {
			s->escape = ESCAPE_TILDE;
			continue;
		}
		s->escape = c == '\r' || c == '\n' ? ESCAPE_LINE_START : ESCAPE_NONE;
		ssh_keep(s, c);
	}
}

/* Watches the terminal only while the host takes input. */
static void ssh_pass_on(struct session *s)
{
	struct fanout *f = &s->fanout;

	if (s->held.len && !f->input.full) {
		if (pssh_task_write(f->task, NULL, s->held.data, s->held.len) == PSSH_EAGAIN)
			f->input.full = true;
		else
			buf_clear(&s->held);
	}
	f->watch_fd = s->raw && f->running && !s->held.len && !f->asked ? STDIN_FILENO : -1;
}

static void ssh_read_typed(struct session *s)
{
	char piece[PIECE];
	ssize_t n = read(STDIN_FILENO, piece, sizeof piece);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		/* The terminal closed. */
		s->disconnect = true;
		return;
	}
	ssh_typed(s, piece, (size_t)n);
}

/* ---- The session ----------------------------------------------------------------------- */

static int ssh_make(void *arg, struct fanout *f, struct pssh_task **out)
{
	struct session *s = arg;
	struct pssh *fleet = f->connect->fleet;
	int64_t limit = settings_ms(s->np->settings, SETTING_ID_TIMEOUT);
	unsigned columns = 80, rows = 24;
	struct pssh_task *t;
	int rc = pssh_exec(fleet, s->command.len ? s->command.data : NULL, &t);

	if (rc)
		return print_fail(s->np, STATUS_FAILURE, NULL, "%s", pssh_error(fleet));
	rc = pssh_task_set_output(t, PSSH_OUTPUT_CHUNKS, (size_t)1 << 20, PSSH_OVERFLOW_DROP);
	if (!rc && limit)
		rc = pssh_task_set_deadline(t, (unsigned)limit);
	if (!rc && s->pty) {
		terminal_size(STDIN_FILENO, &columns, &rows);
		rc = pssh_task_set_pty(t, getenv("TERM") ? getenv("TERM") : "dumb", columns, rows);
	}
	if (!rc)
		rc = pssh_task_set_agent_forward(t,
			option_given(s->o, "forward-agent") ? PSSH_FORWARD_YES : PSSH_FORWARD_CONFIGURED);
	if (!rc)
		rc = pssh_task_open_input(t);
	if (rc) {
		pssh_task_free(t);
		return print_fail(s->np, STATUS_FAILURE,
			rc == PSSH_EUNSUPPORTED ? "the system's ssh can forward it: add --openssh" : NULL, "%s",
			pssh_error(fleet));
	}
	*out = t;
	return STATUS_OK;
}

static void ssh_event(struct session *s, const struct pssh_event *ev)
{
	struct nanopod *np = s->np;

	if (ev->type == PSSH_EV_STARTED) {
		s->escape = ESCAPE_LINE_START;
		go_raw(s);
		ssh_resize(s);
	} else if (ev->type == PSSH_EV_STDOUT) {
		fwrite(ev->data, 1, ev->len, np->out);
	} else if (ev->type == PSSH_EV_STDERR) {
		fflush(np->out);
		fwrite(ev->data, 1, ev->len, np->err);
	} else if (ev->type == PSSH_EV_EXIT || ev->type == PSSH_EV_SIGNAL || ev->type == PSSH_EV_ERROR) {
		fflush(np->out);
		terminal_restore();
		s->raw = false;
	}
}

static int ssh_converse(struct session *s)
{
	struct fanout *f = &s->fanout;
	const struct pssh_event *ev;
	struct outcome *o;
	enum fanout_turn turn;
	int status;

	f->make = ssh_make;
	f->arg = s;
	f->progress.on = false;
	/* Without a terminal there are no escapes: the fanout passes standard input on. */
	f->input.open = !(s->pty && s->np->tty_in);
	f->input.fd = f->input.open ? STDIN_FILENO : -1;
	status = fanout_start(f);
	while (!status) {
		ssh_pass_on(s);
		turn = fanout_next(f, &ev, &o);
		if (turn == FANOUT_DONE)
			break;
		if (turn == FANOUT_WATCH)
			ssh_read_typed(s);
		else if (turn == FANOUT_SIGNAL)
			ssh_resize(s);
		else if (o)
			ssh_event(s, ev);
		if (s->disconnect && !f->asked) {
			ssh_pass_on(s);
			f->asked = 1;
			pssh_task_stop(f->task);
		}
	}
	terminal_restore();
	if (status)
		return status;
	if (s->disconnect) {
		if (s->pty && s->np->tty_err)
			fputc('\n', s->np->err);
		print_note(s->np, "connection to %s ended", f->hosts[0].name);
		return STATUS_TRANSPORT;
	}
	summary_show(f, NULL);
	return summary_status(f, false);
}

/* Looks up whether it is a node of the market, and with --wait waits until it runs. */
static int ssh_look_up(struct session *s, const char *name)
{
	const struct node *n;
	struct fail why = { 0 };
	int64_t ms = WAIT_MS;
	const char *text = option_text(s->o, "wait"), *id;
	int status;

	if (text && *text && value_duration(text, &ms, &why))
		return print_fail_field(s->np, STATUS_USAGE, "--wait", NULL, "cannot use '--wait': %s", why.text);
	n = nodes_of_host(s->np->nodes, name);
	if (!n || node_reachable(n) || !option_given(s->o, "wait"))
		return STATUS_OK;
	id = n->id;
	status = nodewait(s->np, &id, 1, ms);
	return status ? status : nodes_know_again(s->np);
}

static int with_host(struct session *s, const char *name)
{
	struct pssh_list *hosts;
	struct connect *c;
	int status;

	status = select_one(s->np, name, "ssh", &hosts);
	status = status ? status : ssh_look_up(s, pssh_list_get(hosts, 0));
	if (!status)
		select_tell_end(s->np, hosts);
	if (!status && option_given(s->o, "openssh")) {
		static char forward[] = "-A", tty[] = "-t", no_tty[] = "-T";
		char *extra[4] = { NULL };
		int n = 0;

		if (option_given(s->o, "forward-agent"))
			extra[n++] = forward;
		if (option_given(s->o, "tty"))
			extra[n++] = tty;
		if (option_given(s->o, "no-tty"))
			extra[n++] = no_tty;
		status = connect_openssh(s->np, pssh_list_get(hosts, 0), extra, option_words(s->o, 1));
		pssh_list_free(hosts);
		return status;
	}
	if (!status)
		status = connect_open(s->np, &c);
	if (!status) {
		status = fanout_init(&s->fanout, s->np, c, hosts);
		if (!status) {
			status = ssh_converse(s);
			fanout_release(&s->fanout);
		}
		connect_close(s->np, c);
	}
	pssh_list_free(hosts);
	return status;
}

static int ssh_run(struct nanopod *np, const struct options *o)
{
	struct session s = { .np = np, .o = o };
	char **words = option_argv(o);
	int status;

	/* No program has such a name: it is an option that ssh takes there, too. */
	if (option_split(o) < 0 && words[1] && words[1][0] == '-' && words[1][1])
		return print_fail(np, STATUS_USAGE,
			"options stand before HOST; 'nanopod tunnel HOST PORT' forwards ports, as ssh -L does",
			"cannot run '%.60s' on '%.100s': no command begins with '-'", words[1], words[0]);
	if (option_given(o, "tty") && option_given(o, "no-tty"))
		return print_fail_field(np, STATUS_USAGE, "--tty", NULL, "--tty and --no-tty exclude each other");
	buf_init(&s.command, COMMAND_MAX);
	buf_init(&s.held, 1 << 20);
	if (script_join(option_words(o, 1), &s.command) != 0)
		return print_fail(np, STATUS_USAGE, "'nanopod run --script FILE' sends a longer one",
			"the command is longer than %d bytes", COMMAND_MAX);
	s.pty = option_given(o, "tty") ? np->tty_in || option_count(o, "tty") > 1 : !s.command.len && np->tty_in;
	if (option_given(o, "tty") && !s.pty)
		print_warn(np, "standard input is not a terminal, so the host gives none either; -tt forces one");
	if (option_given(o, "no-tty"))
		s.pty = false;
	status = with_host(&s, words[0]);
	buf_release(&s.command);
	buf_release(&s.held);
	return status;
}

const struct command cmd_ssh = {
	.name = "ssh",
	.args = "HOST [--] [COMMAND [ARGUMENT...]]",
	.summary = "open a shell or run a command on one host",
	.examples = examples,
	.description = "Reaches what 'ssh HOST' reaches: ~/.ssh/config, known hosts, keys and agent are your own. "
		       "Without a COMMAND it opens a terminal with a shell. The exit status is the command's, or "
		       "255 where the connection failed.\n\nReaches a node that you bought by its name: the market "
		       "tells its address, user and host key, so nanopod asks nothing and refuses any other key.",
	.positional = "HOST      name, user@name or name:port; or a node of yours\nCOMMAND   command to run instead of "
		      "a shell",
	.options = options,
	.formats = NULL,
	.flags = COMMAND_STOP | COMMAND_CONNECT | COMMAND_NODES,
	.min_args = 1,
	.max_args = -1,
	.complete_first = COMPLETE_HOSTS,
	.complete_rest = COMPLETE_PROGRAM,
	.run = ssh_run,
};
