/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/logs/logtail.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/nodes/console_read.h"
#include "cli/nodes/node.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/frame/signals.h"
#include "cli/remote/summary.h"

enum {
	HOLD_FIRST_MS = 1000, HOLD_MS = 250, FIRST_MS = 1500, /* how long a line waits for older ones of others */
	PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 10000,
	CONSOLE_MS = 1000, IDLE_POLLS = 15, KEEPALIVE_MS = 5000, CHUNK_MAX = 1 << 20, COMMAND_MAX = 32000,
	NOT_THERE = 3,               /* of the file's script */
};

/* One log of one node. */
struct feed {
	struct logtail *t;
	struct log_source source;
	char *label, *instance;      /* instance: the market has it */
	char *name;                  /* name to show; NULL: its own */
	size_t node;
	struct pssh_task *task;
	int64_t due, pause_ms;       /* when to ask (again); clock_ms() */
	uint64_t seq;                /* console */
	size_t early;                /* lines to skip before the last ones */
	int idle;
	bool asked, ended, lost, good; /* lost: its loss was reported; good: it worked once */
	bool optional;                 /* no error where it does not exist */
	int status;                    /* enum status of a failure; 0 */
};

struct logtail {
	struct nanopod *np;
	struct connect *connect;
	struct market_link *m;
	struct log_want want;
	struct feed **list;
	size_t count, cap, nodes;
	struct logmerge *merge;
	int64_t began;
	int nomem;
};

int logtail_new(struct nanopod *np, struct connect *c, struct market_link *m, const struct log_want *w,
	struct logtail **out)
{
	struct logtail *t = calloc(1, sizeof *t);

	if (!t)
		command_nomem();
	*t = (struct logtail){ .np = np, .connect = c, .m = m, .want = *w };
	if (c && w->follow)
		pssh_set_keepalive(c->fleet, KEEPALIVE_MS);
	*out = t;
	return STATUS_OK;
}

void logtail_free(struct logtail *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++) {
		struct feed *f = t->list[i];

		if (t->connect)
			pssh_task_free(f->task);
		logsource_release(&f->source);
		free(f->label);
		free(f->instance);
		free(f->name);
		free(f);
	}
	free(t->list);
	logmerge_free(t->merge);
	free(t);
}

static char *logtail_copy_of(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		command_nomem();
	return copy;
}

static struct feed *feed_add(struct logtail *t, const char *label, enum log_kind kind, const char *what)
{
	struct feed *f = calloc(1, sizeof *f);

	if (t->count == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 16;
		t->list = realloc(t->list, t->cap * sizeof *t->list);
	}
	if (!f || !t->list)
		command_nomem();
	logsource_init(&f->source, kind, logtail_copy_of(what), t->count);
	f->t = t;
	f->label = logtail_copy_of(label);
	if (t->count && strcmp(t->list[t->count - 1]->label, label) != 0)
		t->nodes++;
	f->node = t->nodes;
	t->list[t->count++] = f;
	return f;
}

int logtail_add(struct logtail *t, const char *label, enum log_kind kind, const char *what, const char *instance)
{
	feed_add(t, label, kind, what)->instance = logtail_copy_of(instance);
	return STATUS_OK;
}

int logtail_pick(struct logtail *t, const struct logtail_pick *p)
{
	struct feed *f = feed_add(t, p->label, p->kind, p->what);

	f->name = logtail_copy_of(p->name);
	f->source.unit = logtail_copy_of(p->unit);
	f->source.root = p->root;
	f->optional = p->optional;
	return STATUS_OK;
}

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void logtail_need(int rc)
{
	if (rc == -ENOMEM)
		command_nomem();
}

/* ---- Ends and new beginnings ------------------------------------------------------------- */

static void logtail_over(struct feed *f, int status)
{
	f->ended = true;
	f->status = status;
	logtail_need(logsource_end(&f->source, &f->t->want, f->t->merge, now_us()));
}

/* Tells once that it will try again. */
static void logtail_later(struct feed *f, const char *why)
{
	if (!f->lost)
		print_note(f->t->np, "%s: %s; trying again", f->label, why);
	f->lost = true;
	f->pause_ms = !f->pause_ms ? PAUSE_FIRST_MS : f->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : f->pause_ms * 2;
	f->due = clock_ms() + f->pause_ms;
	f->asked = false;
}

static void logtail_heard(struct feed *f)
{
	if (f->lost)
		print_note(f->t->np, "%s: reconnected; continuing where it was", f->label);
	f->lost = false;
}

static void logtail_fed(struct feed *f)
{
	f->good = true;
	f->pause_ms = 0;
}

/* ---- By SSH ------------------------------------------------------------------------------- */

static int begin_task(struct feed *f)
{
	struct logtail *t = f->t;
	struct pssh *fleet = t->connect->fleet;
	struct pssh_host *host;
	struct buf command;
	int rc, status = connect_host(t->np, t->connect, f->label, &host);

	if (status)
		return status;
	pssh_task_free(f->task);
	f->task = NULL;
	buf_init(&command, COMMAND_MAX);
	rc = logsource_command(&f->source, &t->want, &command);
	if (rc) {
		buf_release(&command);
		return print_fail(t->np, STATUS_USAGE, NULL, "%s: the command is too long", f->label);
	}
	rc = pssh_exec(fleet, buf_text(&command), &f->task);
	buf_release(&command);
	if (!rc)
		rc = pssh_task_set_output(f->task, PSSH_OUTPUT_CHUNKS, CHUNK_MAX, PSSH_OVERFLOW_DROP);
	if (!rc && logsource_holds(&f->source, &t->want))
		rc = pssh_task_open_input(f->task);
	if (!rc)
		rc = pssh_task_add(f->task, host);
	if (!rc) {
		pssh_task_set_data(f->task, f);
		rc = pssh_task_start(f->task);
	}
	if (rc)
		return print_fail(t->np, STATUS_FAILURE, NULL, "%s: %s", f->label, pssh_error(fleet));
	f->asked = true;
	return STATUS_OK;
}

/* Failures that a second try does not fix. */
static bool final_error(int code)
{
	return code == PSSH_EAUTH || code == PSSH_EHOSTNEW || code == PSSH_EHOSTKEY || code == PSSH_EPASSPHRASE ||
		code == PSSH_EINVAL || code == PSSH_ESYNTAX;
}

static void logtail_ended(struct feed *f, const struct pssh_event *ev)
{
	const struct log_want *w = &f->t->want;
	char room[SELECT_HINT];

	if (ev->type == PSSH_EV_ERROR && w->follow && (f->good || !final_error(ev->status))) {
		logtail_later(f, ev->text);
	} else if (ev->type == PSSH_EV_ERROR) {
		print_fail(f->t->np, STATUS_UNREACHABLE, summary_hint_about(f->t->np, f->label, ev->status, room),
			"%s: %s", f->label, ev->text);
		logtail_over(f, STATUS_UNREACHABLE);
	} else if (ev->type == PSSH_EV_EXIT && (ev->status == 0 || f->source.kind == LOG_COMMAND)) {
		if (w->follow && (f->source.kind == LOG_JOURNAL || f->source.kind == LOG_POD))
			logtail_later(f,
				f->source.kind == LOG_POD ? "the pod's log ended" : "the journal's reader ended");
		else
			logtail_over(f, ev->status && !f->optional ? STATUS_FAILURE : STATUS_OK);
	} else if (w->follow && f->good && !(ev->type == PSSH_EV_EXIT && ev->status == 127)) {
		logtail_later(f, "its reader was ended");
	} else {
		logtail_over(f, f->optional ? STATUS_OK : ev->status == NOT_THERE ? STATUS_NOTFOUND : STATUS_FAILURE);
	}
}

/* Passes standard error on to the person line by line. */
static void logtail_complain(struct feed *f, const struct pssh_event *ev)
{
	const char *p = ev->data, *end = p + ev->len;

	fflush(f->t->np->out);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		fprintf(f->t->np->err, "%s! ", f->label);
		print_safe(f->t->np->err, p, n);
		fputc('\n', f->t->np->err);
		p += n + (nl != NULL);
	}
}

static void logtail_event(struct logtail *t, const struct pssh_event *ev)
{
	struct feed *f = ev->task ? pssh_task_data(ev->task) : NULL;

	if (ev->type == PSSH_EV_PROMPT) {
		prompt_add(t->connect->prompt, t->connect->fleet, ev);
		return;
	}
	if (!f || f->task != ev->task || f->ended)
		return;
	switch (ev->type) {
	case PSSH_EV_STARTED:
		logtail_heard(f);
		break;
	case PSSH_EV_STDOUT:
		logtail_fed(f);
		logtail_need(logsource_feed(&f->source, &t->want, t->merge, ev->data, ev->len, now_us()));
		if (f->source.lost)
			print_warn(t->np, "%s: '%s' was rotated while disconnected; lines may be missing", f->label,
				f->source.what);
		f->source.lost = false;
		break;
	case PSSH_EV_STDERR:
		if (!f->optional)
			logtail_complain(f, ev);
		break;
	case PSSH_EV_EXIT:
	case PSSH_EV_SIGNAL:
	case PSSH_EV_ERROR:
		logtail_ended(f, ev);
		break;
	default:
		break;
	}
}

/* ---- Consoles ----------------------------------------------------------------------------- */

static int logtail_take_piece(void *arg, const struct model_log *l)
{
	struct feed *f = arg;
	struct logtail *t = f->t;
	struct logmerge *m = t->merge;
	const char *p = l->data, *end = p + l->len;

	f->seq = l->seq;
	f->idle = 0;
	if (console_read_lines(t->m) && l->len && end[-1] == '\n')
		end--;
	if (console_read_lines(t->m))
		return (t->want.since && l->at < t->want.since) || (t->want.until && l->at > t->want.until)
			? 0
			: logmerge_add(m, f->source.number, l->micros ? l->micros : l->at * 1000000, now_us(),
				  clock_ms(), -1, p, (size_t)(end - p));
	return logsource_feed(&f->source, &t->want, m, p, l->len, now_us());
}

/* Can anything still come? */
static bool instance_over(struct feed *f)
{
	struct market_link *m = f->t->m;
	struct model_instance i;

	return !market_get(m, "/v2/instances/%s", f->instance) && !wire_instance(m->doc, WIRE_WHOLE, &i, &m->fail) &&
		(i.status == MODEL_INSTANCE_TERMINATED || i.status == MODEL_INSTANCE_FAILED);
}

/* An exit status where everything must end, as Ctrl-C came during the request. */
static int poll_console(struct feed *f)
{
	struct logtail *t = f->t;
	int rc = console_read(t->m, f->instance, f->seq, f->seq ? -1 : logsource_lines(&t->want), logtail_take_piece,
		f);

	logtail_need(rc);
	if (rc == CLIENT_STOPPED && market_only_resized(rc))
		rc = 0;
	if (rc == CLIENT_STOPPED)
		return STATUS_INT;
	if (rc && t->want.follow && (client_retryable(rc) || f->good)) {
		logtail_later(f, t->m->fail.text);
		return STATUS_OK;
	}
	if (rc) {
		logtail_over(f, market_fail(t->m, "%s: cannot read the console", f->label));
		return STATUS_OK;
	}
	logtail_heard(f);
	logtail_fed(f);
	f->due = clock_ms() + CONSOLE_MS * (int64_t)(1 + t->count / 20);
	if (!t->want.follow) {
		logtail_over(f, STATUS_OK);
	} else if (++f->idle >= IDLE_POLLS) {
		f->idle = 0;
		if (instance_over(f)) {
			print_note(t->np, "%s: ended", f->label);
			logtail_over(f, STATUS_OK);
		}
	}
	return STATUS_OK;
}

/* ---- The whole ---------------------------------------------------------------------------- */

static int logtail_begin_due(struct logtail *t)
{
	int64_t now = clock_ms();
	int rc = STATUS_OK;

	for (size_t i = 0; !rc && i < t->count; i++) {
		struct feed *f = t->list[i];

		if (f->ended || f->asked || f->due > now)
			continue;
		if (f->instance) {
			rc = poll_console(f);
			continue;
		}
		/* The node may have been replaced: another address, another key. */
		if (f->lost && t->np->nodes && nodes_find(t->np->nodes, f->label))
			nodes_know_again(t->np);
		if (begin_task(f))
			logtail_over(f, STATUS_FAILURE);
	}
	return rc;
}

static int logtail_least(int a, int64_t b)
{
	int c = b < 0 ? 0 : b > 60000 ? 60000 : (int)b;

	return a < 0 || c < a ? c : a;
}

static int timeout_of(const struct logtail *t, int64_t now)
{
	int ms = t->connect ? pssh_timeout(t->connect->fleet) : -1;

	for (size_t i = 0; i < t->count; i++)
		if (!t->list[i]->ended && !t->list[i]->asked)
			ms = logtail_least(ms, t->list[i]->due - now);
	return logmerge_count(t->merge) ? logtail_least(ms, 50) : ms;
}

/* The signal that ends it, or 0. */
static int logtail_look(struct logtail *t)
{
	struct pollfd fds[] = {
		{ .fd = t->connect ? pssh_fd(t->connect->fleet) : -1, .events = POLLIN },
		{ .fd = signals_fd(), .events = POLLIN },
		{ .fd = t->connect ? prompt_fd(t->connect->prompt) : -1, .events = POLLIN },
	};
	const struct pssh_event *ev;
	int number;

	poll(fds, sizeof fds / sizeof *fds, timeout_of(t, clock_ms()));
	while ((number = signals_next()))
		if (number != SIGWINCH)
			return number;
	if (fds[2].revents)
		prompt_step(t->connect->prompt, t->connect->fleet);
	for (int n = 0; n < 256 && t->connect && pssh_next(t->connect->fleet, &ev) == 1; n++)
		logtail_event(t, ev);
	return 0;
}

static bool all_over(const struct logtail *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->list[i]->ended)
			return false;
	return true;
}

/* With --until the last lines are known only when all have come: skips those before. */
static void count_early(struct logtail *t)
{
	size_t most = (size_t)t->want.lines, *held = calloc(t->count + 1, sizeof *held);

	if (!held)
		command_nomem();
	logmerge_counts(t->merge, held);
	for (size_t i = 0; i < t->count; i++)
		t->list[i]->early = held[i] > most ? held[i] - most : 0;
	free(held);
}

/* Without --follow it sorts everything at the end. */
static int print_ready(struct logtail *t, bool all, logtail_fn fn, void *arg)
{
	int64_t now = clock_ms(), until = now - (now < t->began + FIRST_MS ? HOLD_FIRST_MS : HOLD_MS);
	bool any = false, last = t->want.until && t->want.lines >= 0;
	struct logline l;
	int rc = 0;

	if (all && last)
		count_early(t);
	while (!rc && logmerge_next(t->merge, all ? INT64_MAX : t->want.follow ? until : INT64_MIN, &l)) {
		struct feed *f = t->list[l.source];

		if (last && (!all || f->early)) {
			f->early -= all;
			free(l.text);
			continue;
		}
		rc = fn(arg,
			&(struct logtail_line){ f->label, f->name ? f->name : f->source.what, f->source.kind, f->node,
				&l });
		free(l.text);
		any = true;
	}
	return rc ? rc : any && fflush(t->np->out) != 0;
}

static int logtail_sum(const struct logtail *t)
{
	size_t bad = 0;
	int status = STATUS_OK;

	for (size_t i = 0; i < t->count; i++)
		if (t->list[i]->status) {
			bad++;
			status = t->list[i]->status;
		}
	if (logmerge_overflowed(t->merge))
		print_warn(t->np, "too many lines to put in order; '-n' asks for fewer");
	return !bad ? STATUS_OK : t->count == 1 ? status : STATUS_PARTLY;
}

int logtail_run(struct logtail *t, logtail_fn fn, void *arg)
{
	int status = STATUS_OK, number = 0, stop = 0;

	if (logmerge_new(t->count, &t->merge))
		command_nomem();
	if (signals_begin() != 0)
		return print_fail(t->np, STATUS_FAILURE, NULL, "cannot catch signals: %s", strerror(errno));
	t->began = clock_ms();
	while (!status && !number && !stop && !all_over(t)) {
		status = logtail_begin_due(t);
		if (!status && !all_over(t))
			number = logtail_look(t);
		stop = print_ready(t, false, fn, arg);
	}
	if (!stop)
		print_ready(t, true, fn, arg);
	signals_end();
	if (number)
		return number == SIGTERM ? STATUS_TERM : STATUS_INT;
	return status ? status : logtail_sum(t);
}
