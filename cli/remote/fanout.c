/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/fanout.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodestart.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"

enum { GRACE_MS = 5000, REPLAY_MAX = 1 << 20, LONGEST_QUESTION = 20, DEAF_EVENTS = 64 };

/* A stdout that another program left non-blocking would lose output. */
static void make_blocking(FILE *stream)
{
	int fd = fileno(stream), flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;

	if (flags >= 0 && (flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

/* A node of the market that cannot be reached now. */
static const struct node *fanout_node_down(const struct nanopod *np, const char *name)
{
	const struct node *n = nodes_of_host(np->nodes, name);

	return n && (!node_reachable(n) || !n->key_count) ? n : NULL;
}

static bool fanout_all_down(const struct nanopod *np, const struct pssh_list *names)
{
	for (size_t i = 0; i < pssh_list_count(names); i++)
		if (!fanout_node_down(np, pssh_list_get(names, i)))
			return false;
	return true;
}

static int fanout_leave_out(struct fanout *f, struct outcome *o, const char *name, const struct node *n)
{
	char room[NODESTART_TEXT];
	int64_t ahead = node_starts_in(n);
	/* Without the seconds until then: the summary puts hosts of one text together. */
	const char *why = ahead ? nodestart_at(n->start, ahead, room) : node_why(n, room);
	int rc = pssh_host(f->connect->fleet, name, &o->host);

	if (rc == PSSH_ENOMEM)
		command_nomem();
	if (rc)
		return print_fail(f->np, STATUS_USAGE, NULL, "%s", pssh_error(f->connect->fleet));
	o->state = OUTCOME_ERROR;
	o->left_out = true;
	o->status = node_reachable(n) ? PSSH_EHOSTNEW : PSSH_EAGAIN;
	if (asprintf(&o->text, "%s%s%s",
		    node_reachable(n) ? "the market has no host key of it, so another machine could pose as it"
				      : node_state_told(n),
		    why ? ": " : "", why ? why : "") < 0)
		command_nomem();
	f->progress.failed++;
	return STATUS_OK;
}

static int fanout_add_hosts(struct fanout *f, const struct pssh_list *names, bool some)
{
	int status = STATUS_OK;

	some = some && !fanout_all_down(f->np, names);
	for (size_t i = 0; !status && i < f->count; i++) {
		const char *name = pssh_list_get(names, i);
		const struct node *down = some ? fanout_node_down(f->np, name) : NULL;
		struct outcome *o = &f->hosts[i];

		status = down ? fanout_leave_out(f, o, name, down) : connect_host(f->np, f->connect, name, &o->host);
		if (status)
			break;
		o->name = pssh_host_name(o->host);
		o->index = i;
		pssh_host_set_data(o->host, o);
	}
	return status;
}

static int fanout_init_any(struct fanout *f, struct nanopod *np, struct connect *c, const struct pssh_list *names,
	bool some)
{
	int status;

	*f = (struct fanout){
		.np = np,
		.connect = c,
		.count = pssh_list_count(names),
		.grace_ms = GRACE_MS,
		.cancel_signal = "TERM",
		.watch_fd = -1,
		.input.fd = -1,
	};
	buf_init(&f->input.replay, REPLAY_MAX);
	f->hosts = calloc(f->count + 1, sizeof *f->hosts);
	if (!f->hosts)
		command_nomem();
	select_recognize(np, names);
	progress_begin(&f->progress, np, f->count);
	status = fanout_add_hosts(f, names, some);
	if (!status && signals_begin() != 0)
		status = print_fail(np, STATUS_FAILURE, NULL, "cannot catch signals: %s", strerror(errno));
	if (status) {
		for (size_t i = 0; i < f->count; i++)
			free(f->hosts[i].text);
		free(f->hosts);
		return status;
	}
	make_blocking(np->out);
	return STATUS_OK;
}

int fanout_init(struct fanout *f, struct nanopod *np, struct connect *c, const struct pssh_list *names)
{
	return fanout_init_any(f, np, c, names, false);
}

int fanout_init_up(struct fanout *f, struct nanopod *np, struct connect *c, const struct pssh_list *names)
{
	return fanout_init_any(f, np, c, names, true);
}

void fanout_release(struct fanout *f)
{
	progress_hide(&f->progress);
	pssh_task_free(f->task);
	for (size_t i = 0; i < f->count; i++) {
		pssh_host_set_data(f->hosts[i].host, NULL);
		free(f->hosts[i].text);
		free(f->hosts[i].address);
		free(f->hosts[i].fingerprint);
	}
	free(f->hosts);
	free(f->input.kept);
	buf_release(&f->input.replay);
	signals_end();
}

static int fanout_start_task(struct fanout *f)
{
	int rc = 0, status = STATUS_OK;

	for (size_t i = 0; !rc && !status && i < f->count; i++) {
		if (f->hosts[i].state != OUTCOME_WAITING || f->hosts[i].held)
			continue;
		rc = pssh_task_add(f->task, f->hosts[i].host);
		if (!rc && f->each)
			status = f->each(f->arg, f, &f->hosts[i]);
	}
	if (status)
		return status;
	if (!rc)
		rc = pssh_task_start(f->task);
	if (rc == PSSH_ENOMEM)
		command_nomem();
	return rc ? print_fail(f->np, STATUS_FAILURE, NULL, "%s", pssh_error(f->connect->fleet)) : STATUS_OK;
}

int fanout_start(struct fanout *f)
{
	int status;

	rolling_begin(f);
	pssh_task_free(f->task);
	f->task = NULL;
	status = f->source ? STATUS_OK : f->make(f->arg, f, &f->task);
	if (status)
		return status;
	f->ended = f->count;
	f->running = f->telling = f->passed = false;
	f->input.full = false;
	for (size_t i = 0; i < f->count; i++)
		f->ended -= f->hosts[i].state == OUTCOME_WAITING;
	f->progress.running = 0;
	f->progress.done = f->ended;
	return f->source ? f->source->start(f->source_arg) : fanout_start_task(f);
}

void fanout_quiet(struct fanout *f)
{
	progress_hide(&f->progress);
}

void fanout_cancel(struct fanout *f)
{
	f->asked++;
	f->input.ended = true;
	if (f->asked == 1) {
		f->progress.phase = "stopping";
		prompt_decline(f->connect->prompt, f->connect->fleet);
		if (f->source)
			f->source->cancel(f->source_arg, f->cancel_signal, f->grace_ms);
		else
			pssh_task_cancel(f->task, f->cancel_signal, f->grace_ms);
	} else if (f->source) {
		f->source->cancel(f->source_arg, NULL, 0);
	} else {
		pssh_task_stop(f->task);
	}
}

/* ---- Unknown host keys ----------------------------------------------------------------- */

static bool may_ask(const struct fanout *f, const struct outcome *o)
{
	const struct connect *c = f->connect;

	return c->ask_new && !f->asked && !f->input.lost && (c->ask_all || !pssh_host_strict(o->host));
}

static char *fanout_question(struct fanout *f)
{
	struct buf b;
	size_t count = 0;
	const struct outcome *one = NULL;

	buf_init(&b, 1 << 16);
	for (size_t i = 0; i < f->count; i++) {
		if (!f->hosts[i].ask)
			continue;
		one = &f->hosts[i];
		if (count++ < LONGEST_QUESTION)
			buf_addf(&b, "  %s (%s): %s\n", one->name, outcome_address(one), outcome_fingerprint(one));
	}
	if (count > LONGEST_QUESTION)
		buf_addf(&b, "  … and %zu more\n", count - LONGEST_QUESTION);
	if (count == 1) {
		buf_clear(&b);
		buf_addf(&b,
			"The key of host '%s (%s)' is not known yet:\n  %s\nAccept it, remember it, and connect "
			"(yes/no)? ",
			one->name, outcome_address(one), outcome_fingerprint(one));
	} else {
		buf_addf(&b,
			"The keys of these %zu hosts are not known yet. Accept them, remember them, and connect "
			"(yes/no)? ",
			count);
	}
	return buf_steal(&b);
}

/* Begins on the hosts that wait now, with the input from its beginning. */
static int fanout_again(struct fanout *f)
{
	feed_again(&f->input);
	return fanout_start(f);
}

/* True where another round starts. */
static bool ask_about_keys(struct fanout *f)
{
	char *text;
	bool yes, any = false;

	for (size_t i = 0; i < f->count; i++)
		any |= f->hosts[i].ask && may_ask(f, &f->hosts[i]);
	if (!any)
		return false;
	fanout_quiet(f);
	fflush(f->np->out);
	text = fanout_question(f);
	yes = text && prompt_yes(f->connect->prompt, text, &f->first_signal);
	free(text);
	if (f->first_signal)
		f->asked++;
	if (!yes)
		return false;
	/* Accepts only the keys that were shown. Another source connects to gateways here, whose keys were not. */
	if (!f->source)
		pssh_set_hostkeys(f->connect->fleet, PSSH_HOSTKEYS_ACCEPT_NEW);
	f->connect->loosened = true;
	for (size_t i = 0; i < f->count; i++) {
		struct outcome *o = &f->hosts[i];

		if (!o->ask)
			continue;
		pssh_host_pin(o->host, outcome_fingerprint(o));
		o->ask = false;
		o->accepted = true;
		o->state = OUTCOME_WAITING;
	}
	return fanout_again(f) == STATUS_OK;
}

/* The next host whose key the person did not accept, or that was not up, or at the end whose batch did not come. */
static struct outcome *next_refused(struct fanout *f, bool over)
{
	for (size_t i = 0; i < f->count; i++) {
		struct outcome *o = &f->hosts[i];

		if (over && o->held)
			rolling_not_begun(f, o);
		else if (!o->ask && !o->left_out)
			continue;
		f->ended += o->ask;
		f->progress.failed += o->ask;
		o->ask = o->left_out = o->held = false;
		o->state = OUTCOME_ERROR;
		f->made = (struct pssh_event){
			.type = PSSH_EV_ERROR,
			.task = f->task,
			.host = o->host,
			.data = "",
			.status = o->status,
			.text = o->text ? o->text : "",
			.cancelled = o->cancelled,
		};
		return o;
	}
	return NULL;
}

/* ---- Events ---------------------------------------------------------------------------- */

static void end_of_host(struct fanout *f, struct outcome *o, const struct pssh_event *ev)
{
	if (o->state == OUTCOME_RUNNING && f->progress.running)
		f->progress.running--;
	free(o->text);
	o->text = NULL;
	o->status = ev->status;
	o->cancelled = ev->cancelled;
	o->begun = o->state == OUTCOME_RUNNING || o->moved;
	if (ev->type != PSSH_EV_EXIT && !(o->text = strdup(ev->text)))
		command_nomem();
	o->unbegun = o->unbegun && !o->begun && ev->status == PSSH_ECANCEL;
	if (o->unbegun)
		rolling_not_begun(f, o);
	if (ev->type == PSSH_EV_ERROR && ev->status == PSSH_EHOSTNEW && may_ask(f, o) && *outcome_fingerprint(o)) {
		o->ask = true;
		return;
	}
	o->state = ev->type == PSSH_EV_EXIT  ? OUTCOME_EXIT
		: ev->type == PSSH_EV_SIGNAL ? OUTCOME_SIGNAL
					     : OUTCOME_ERROR;
	f->ended++;
	f->progress.done++;
	if (outcome_ok(o) || o->unbegun)
		return;
	f->progress.failed++;
	rolling_failed(f);
}

static void fanout_moved(struct fanout *f, struct outcome *o, const struct pssh_event *ev)
{
	f->progress.bytes = true;
	f->progress.moved += ev->done - o->moved;
	f->progress.size += ev->total - o->size;
	o->moved = ev->done;
	o->size = ev->total;
	o->unchanged = ev->unchanged;
}

/* Notes an event; true where the command should see it. */
static bool fanout_notice(struct fanout *f, const struct pssh_event *ev, struct outcome *o)
{
	switch (ev->type) {
	case PSSH_EV_PROMPT:
		fanout_quiet(f);
		prompt_add(f->connect->prompt, f->connect->fleet, ev);
		return false;
	case PSSH_EV_WRITABLE:
		f->input.full = false;
		return true;
	case PSSH_EV_STARTED:
		if (o && o->state == OUTCOME_WAITING) {
			o->state = OUTCOME_RUNNING;
			f->progress.running++;
		}
		f->running = true;
		return true;
	case PSSH_EV_PROGRESS:
		if (o)
			fanout_moved(f, o, ev);
		return true;
	case PSSH_EV_EXIT:
	case PSSH_EV_SIGNAL:
	case PSSH_EV_ERROR:
		if (o && !outcome_ended(o))
			end_of_host(f, o, ev);
		return !o || !o->ask;
	default:
		return true;
	}
}

void fanout_pass(struct fanout *f, struct outcome *o)
{
	end_of_host(f, o, &(struct pssh_event){ .type = PSSH_EV_EXIT });
	f->passed = true;
}

/* Where sessions stay open, the library does not say that all hosts have ended. */
static bool fanout_passed(const struct fanout *f)
{
	if (!f->passed || f->telling)
		return false;
	for (size_t i = 0; i < f->count; i++)
		if (!outcome_ended(&f->hosts[i]) && !f->hosts[i].ask)
			return false;
	return true;
}

static int fanout_shorter(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* A write error on standard output stops the work, and so does a pipe that nobody reads: nobody would see the rest. */
static void check_output(struct fanout *f, bool reader_gone)
{
	if (fflush(f->np->out) == 0 && !ferror(f->np->out) && !reader_gone)
		return;
	if (!f->broken && !f->asked) {
		f->broken = true;
		fanout_cancel(f);
	}
}

/* ms -1: without a limit. */
static enum fanout_turn fanout_look(struct fanout *f, int ms)
{
	struct pollfd fds[] = {
		{ .fd = pssh_fd(f->connect->fleet), .events = POLLIN },
		{ .fd = signals_fd(), .events = POLLIN },
		{ .fd = feed_wanted(f) ? f->input.fd : -1, .events = POLLIN },
		{ .fd = prompt_fd(f->connect->prompt), .events = POLLIN },
		{ .fd = f->watch_fd, .events = POLLIN },
		/* Without events a pipe only says that its reader has left. */
		{ .fd = f->needs_reader && !f->broken ? fileno(f->np->out) : -1 },
	};
	bool drawing = fds[3].fd < 0;
	int signal;

	check_output(f, false);
	if (drawing)
		progress_draw(&f->progress);
	if (ms < 0)
		ms = fanout_shorter(rolling_timeout(&f->rolling),
			fanout_shorter(pssh_timeout(f->connect->fleet), drawing ? progress_timeout(&f->progress) : -1));
	if (poll(fds, sizeof fds / sizeof *fds, ms) <= 0)
		return FANOUT_EVENT;
	while (fds[1].revents && (signal = signals_next()) != 0) {
		if (signal == SIGWINCH)
			return FANOUT_SIGNAL;
		f->first_signal = f->first_signal ? f->first_signal : signal;
		if (!f->asked)
			fanout_quiet(f);
		if (!f->asked && f->np->tty_err && !f->telling)
			print_note(f->np, "stopping the running commands; Ctrl-C again does not wait for them");
		fanout_cancel(f);
	}
	if (fds[5].revents & POLLERR) {
		f->reader_gone = true;
		check_output(f, true);
	}
	if (fds[2].revents)
		feed_read(f);
	if (fds[3].revents && prompt_fd(f->connect->prompt) >= 0)
		prompt_step(f->connect->prompt, f->connect->fleet);
	return fds[4].revents ? FANOUT_WATCH : FANOUT_EVENT;
}

/* Between batches and at the end: tells hosts that the library has no event for. */
static enum fanout_turn fanout_batch(struct fanout *f, struct outcome **host)
{
	enum rolling_turn turn;

	*host = next_refused(f, false);
	if (*host)
		return FANOUT_EVENT;
	turn = rolling_next(f);
	if (turn == ROLLING_BATCH && fanout_again(f) != STATUS_OK)
		return FANOUT_DONE;
	if (turn != ROLLING_OVER)
		return FANOUT_EVENT;
	*host = next_refused(f, true);
	return *host ? FANOUT_EVENT : FANOUT_DONE;
}

enum fanout_turn fanout_next(struct fanout *f, const struct pssh_event **out, struct outcome **host)
{
	for (;;) {
		const struct pssh_event *ev;
		enum fanout_turn turn = FANOUT_EVENT;
		int rc;

		*host = NULL;
		if (f->telling) {
			*out = &f->made;
			turn = fanout_batch(f, host);
			if (turn == FANOUT_DONE || *host)
				return turn;
		}
		if (fanout_passed(f)) {
			f->telling = !ask_about_keys(f);
			continue;
		}
		feed_step(f);
		/* Hosts that print without pause must not keep us from noticing Ctrl-C. */
		if (++f->unheard >= DEAF_EVENTS) {
			turn = fanout_look(f, 0);
			f->unheard = 0;
			if (turn != FANOUT_EVENT)
				return turn;
		}
		rc = f->source ? f->source->pull(f->source_arg, &ev) : pssh_next(f->connect->fleet, &ev);
		if (rc < 0) {
			print_fail(f->np, STATUS_FAILURE, NULL, "%s", pssh_error(f->connect->fleet));
			return FANOUT_DONE;
		}
		if (rc == 0) {
			turn = fanout_look(f, -1);
			f->unheard = 0;
			if (turn != FANOUT_EVENT)
				return turn;
			continue;
		}
		if (ev->task && ev->task != f->task) {
			*out = ev;
			if (f->others)
				return FANOUT_EVENT;
			continue;
		}
		if (ev->type == PSSH_EV_DONE) {
			if (!ask_about_keys(f))
				f->telling = true;
			continue;
		}
		*host = ev->host ? pssh_host_data(ev->host) : NULL;
		if (fanout_notice(f, ev, *host)) {
			*out = ev;
			return FANOUT_EVENT;
		}
	}
}
