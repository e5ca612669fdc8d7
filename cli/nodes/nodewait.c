/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/nodewait.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/nodes/node.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/signals.h"

enum { FIRST_LOOK_MS = 200, LAST_LOOK_MS = 2000, DRAW_MS = 250, PHASE_TEXT = 300 };

struct waiting {
	struct market_link *m;
	const char *reservation;
	const char *const *names;
	size_t count, running;
	int64_t began;
	char phase[PHASE_TEXT], said[PHASE_TEXT];
	bool line; /* one stands at the bottom of the terminal */
};

static void nodewait_hide(struct waiting *w)
{
	if (w->line)
		fputs("\r\033[K", w->m->np->err);
	fflush(w->m->np->err);
	w->line = false;
}

/* One line with the time that passed on a terminal, else one line a change. */
static void nodewait_show(struct waiting *w)
{
	struct nanopod *np = w->m->np;
	char time[32];

	if (np->tty_err && !np->errors_json) {
		fprintf(np->err, "\r%s%s, %s%s\033[K", print_color(np, np->err, COLOR_DIM), w->phase,
			progress_time(clock_ms() - w->began, time, sizeof time), print_color(np, np->err, COLOR_NONE));
		fflush(np->err);
		w->line = true;
	} else if (strcmp(w->phase, w->said) != 0) {
		print_note(np, "%s", w->phase);
	}
	memcpy(w->said, w->phase, sizeof w->said);
}

/* 0 or 3. The sentence about the first that does not run yet. */
static int nodewait_judge(struct waiting *w, const struct nodes *n)
{
	const struct node *late = NULL;

	w->running = 0;
	for (size_t i = 0; i < w->count; i++) {
		const struct node *one = nodes_find(n, w->names[i]);

		if (one && node_reachable(one)) {
			w->running++;
		} else if (one && !node_lives(one)) {
			fail_set(&w->m->fail, 0, "'%.100s' %s instead of running%s%.150s", one->name,
				one->status == MODEL_INSTANCE_FAILED ? "failed" : "ended",
				one->message && *one->message ? ": " : "", one->message ? one->message : "");
			return 3;
		} else if (!one && !w->reservation) { /* only those that live were asked for */
			fail_set(&w->m->fail, 0, "'%.100s' ended instead of running", w->names[i]);
			return 3;
		} else if (!late) {
			late = one;
		}
	}
	snprintf(w->phase, sizeof w->phase, "%zu of %zu node%s run%s%s%.80s%s%.120s", w->running, w->count,
		w->count == 1 ? "" : "s", w->count == 1 ? "s" : "", late ? "; " : "", late ? late->name : "",
		late ? ": " : "",
		!late                                            ? ""
			: late->message && *late->message        ? late->message
			: late->status == MODEL_INSTANCE_RUNNING ? "starts"
								 : "waits for its time and its host");
	return 0;
}

static int nodewait_look(struct waiting *w)
{
	struct nodes *n;
	int rc = nodes_load(w->m, w->reservation, w->reservation != NULL, &n);

	if (rc)
		return rc;
	rc = nodewait_judge(w, n);
	nodes_free(n);
	return rc;
}

/* True where a signal asks to stop. */
static bool nodewait_rest(int64_t ms, int *number)
{
	struct pollfd fd = { .fd = signals_fd(), .events = POLLIN };
	int n;

	if (poll(&fd, 1, (int)(ms > 0 ? ms : 0)) <= 0)
		return false;
	n = signals_next();
	if (n == 0 || n == SIGWINCH)
		return false;
	*number = n;
	return true;
}

static int nodewait_wait(struct waiting *w, int64_t wait_ms, int *number)
{
	int64_t every = FIRST_LOOK_MS, next = w->began, now;
	int rc;

	for (;;) {
		now = clock_ms();
		if (now >= next) {
			rc = nodewait_look(w);
			if (rc == CLIENT_STOPPED && nodewait_rest(0, number))
				return 2;
			/* Looking may fail for a while: nothing depends on this one look. */
			if (rc == 3 || (rc && !client_retryable(rc)))
				return rc;
			if (!rc && w->running == w->count)
				return 0;
			every = every * 2 < LAST_LOOK_MS ? every * 2 : LAST_LOOK_MS;
			next = clock_ms() + every;
		}
		if (wait_ms >= 0 && clock_ms() - w->began >= wait_ms)
			return 1;
		nodewait_show(w);
		if (nodewait_rest(next - clock_ms() < DRAW_MS ? next - clock_ms() : DRAW_MS, number))
			return 2;
	}
}

int nodewait_by(struct market_link *m, const char *reservation, const char *const *names, size_t count, int64_t wait_ms,
	int *number)
{
	struct waiting w = { .m = m,
		.reservation = reservation,
		.names = names,
		.count = count,
		.began = clock_ms(),
		.phase = "asking" };
	int rc = nodewait_wait(&w, wait_ms, number);

	nodewait_hide(&w);
	if (rc == 1)
		fail_set(&m->fail, 0, "%s", w.phase);
	return rc;
}

int nodewait_told(struct market_link *m, int answer, int number, const char *hint)
{
	struct nanopod *np = m->np;

	switch (answer) {
	case 0:
		return STATUS_OK;
	case 1:
		return print_fail(np, STATUS_WAITING, hint, "the time to wait is over: %s", m->fail.text);
	case 2:
		return print_fail(np, number == SIGTERM ? STATUS_TERM : STATUS_INT, hint,
			"interrupted while waiting for the nodes");
	case 3:
		return print_fail(np, STATUS_CONFLICT, "'nanopod nodes --all' shows what became of it",
			"cannot wait on: %s", m->fail.text);
	default:
		return market_fail(m, "cannot wait for the nodes");
	}
}

int nodewait(struct nanopod *np, const char *const *names, size_t count, int64_t wait_ms)
{
	struct market_link *m;
	int rc = market_sign_in(np, NULL, 0, &m), number = 0;

	if (rc)
		return rc;
	rc = nodewait_by(m, NULL, names, count, wait_ms, &number);
	rc = nodewait_told(m, rc, number, "the same command again goes on waiting");
	market_sign_out(m);
	return rc;
}
