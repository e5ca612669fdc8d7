/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/nodewait.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodestart.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/signals.h"

enum { FIRST_LOOK_MS = 200, LAST_LOOK_MS = 2000, DRAW_MS = 250, PHASE_TEXT = 300 };

struct waiting {
	struct market_link *m;
	const char *reservation;
	const char *const *names;
	size_t count, running;
	int64_t began, since; /* since: the phase is the same */
	int64_t start, start_ms; /* when their time begins, and that on clock_ms(); 0: not known */
	int64_t ahead;           /* on clock_ms(), when that of the late one begins; 0: it has begun, or not known */
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

/* On a terminal one line that counts the time, down to the start where that is known; else one line a change. */
static void nodewait_show(struct waiting *w)
{
	struct nanopod *np = w->m->np;
	int64_t now = clock_ms(), left = w->ahead ? w->ahead - now : 0;
	char time[NODESTART_TEXT], tail[NODESTART_TEXT + 8];

	if (strcmp(w->phase, w->said) != 0)
		w->since = now;
	/* The start may have passed since the market was last asked. */
	nodestart_left(left > 0 ? left : now - w->since, time);
	if (np->tty_err && !np->errors_json) {
		snprintf(tail, sizeof tail, left > 0 ? " (in %s)" : ", %s", time);
		progress_line(np, w->phase, tail);
		w->line = true;
	} else if (strcmp(w->phase, w->said) != 0) {
		print_note(np, left > 0 ? "%s (in %s)" : "%s", w->phase, time);
	}
	memcpy(w->said, w->phase, sizeof w->said);
}

/* What a node that does not run yet waits for. The market may say when it starts, or the caller knows it. */
static const char *nodewait_why(struct waiting *w, const struct node *n, char room[NODESTART_TEXT])
{
	int64_t ms = node_starts_in(n), start = n->start ? n->start : w->start;

	w->ahead = 0;
	if (n->message && *n->message)
		return n->message;
	if (n->status == MODEL_INSTANCE_RUNNING)
		return "booting";
	if (!n->start && !n->end && w->start_ms > clock_ms())
		ms = w->start_ms - clock_ms();
	if (ms) {
		w->ahead = clock_ms() + ms;
		return nodestart_at(start, ms, room);
	}
	return n->end   ? "its host has not started it yet"
		: start ? "no host yet"
			: "waiting for its start time or a host";
}

/* 0, or 3 where one of them will never run. The phase names the first that does not run yet. */
static int nodewait_judge(struct waiting *w, const struct nodes *n)
{
	const struct node *late = NULL;
	char room[NODESTART_TEXT];
	int said;

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
	w->ahead = 0;
	said = snprintf(w->phase, sizeof w->phase, "%zu of %zu node%s running", w->running, w->count,
		w->count == 1 ? "" : "s");
	if (late)
		snprintf(w->phase + said, sizeof w->phase - (size_t)said, "; %.80s: %.120s", late->name,
			nodewait_why(w, late, room));
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

static int nodewait_wait(struct waiting *w, int64_t wait_ms, int *number)
{
	int64_t every = FIRST_LOOK_MS, next = w->began, now;
	int rc;

	for (;;) {
		now = clock_ms();
		if (now >= next) {
			rc = nodewait_look(w);
			if (rc == CLIENT_STOPPED && signals_rest(0, number))
				return 2;
			/* A market that is away for a moment is asked again. */
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
		if (signals_rest(next - clock_ms() < DRAW_MS ? next - clock_ms() : DRAW_MS, number))
			return 2;
	}
}

int nodewait_by(struct market_link *m, const char *reservation, const char *const *names, size_t count, int64_t start,
	int64_t now, int64_t wait_ms, int *number)
{
	struct waiting w = { .m = m,
		.reservation = reservation,
		.names = names,
		.count = count,
		.began = clock_ms(),
		.start = start,
		.start_ms = start > 0 ? clock_ms() + (start - now) * 1000 : 0,
		.phase = "asking the market" };
	char time[NODESTART_TEXT];
	int rc;

	rc = nodewait_wait(&w, wait_ms, number);
	nodewait_hide(&w);
	if (rc == 1 && w.ahead > clock_ms())
		fail_set(&m->fail, 0, "%s (in %s)", w.phase, nodestart_left(w.ahead - clock_ms(), time));
	else if (rc == 1)
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
		return print_fail(np, STATUS_WAITING, hint, "timed out while waiting: %s", m->fail.text);
	case 2:
		return print_fail(np, number == SIGTERM ? STATUS_TERM : STATUS_INT, hint,
			"interrupted while waiting for the nodes");
	case 3:
		return print_fail(np, STATUS_CONFLICT, "'nanopod nodes --all' lists it", "cannot wait any longer: %s",
			m->fail.text);
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
	rc = nodewait_by(m, NULL, names, count, 0, 0, wait_ms, &number);
	rc = nodewait_told(m, rc, number, "repeat the command to go on waiting");
	market_sign_out(m);
	return rc;
}
