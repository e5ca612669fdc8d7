/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod wait: returns when a reservation or a node runs, or when it has ended. Waiting changes nothing. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodewait.h"
#include "cli/remote/select.h"
#include "cli/trade/market_clock.h"
#include "cli/trade/reservation.h"
#include "market/when.h"

enum { LOOK_MS = 1000 };

struct wait {
	struct nanopod *np;
	struct market_link *m;
	const char *typed;
	struct reservation r; /* id NULL: a node was typed */
	char node[64];        /* its id */
	int64_t end;          /* 0: not known */
	int64_t patience;     /* ms; -1: without end */
};

static int64_t wait_now(struct wait *w)
{
	struct market_clock clock = { 0 };

	market_clock_read(w->m, &clock);
	return market_clock_now(&clock);
}

/* ---- What is meant --------------------------------------------------------------------- */

static int wait_find_node(struct wait *w)
{
	struct nodes *all;
	const struct node *n;
	char hint[SELECT_HINT];
	int rc = nodes_load(w->m, NULL, true, &all);

	if (rc)
		return market_fail(w->m, "cannot look for '%.100s'", w->typed);
	n = nodes_find(all, w->typed);
	if (n) {
		snprintf(w->node, sizeof w->node, "%s", n->id);
		w->end = n->end;
	}
	nodes_free(all);
	if (n)
		return 0;
	if (!select_near(w->np, w->typed, hint))
		snprintf(hint, sizeof hint, "'nanopod reservations' and 'nanopod nodes' list yours");
	return print_fail(w->np, STATUS_NOTFOUND, hint, "no reservation or node '%.100s'", w->typed);
}

static void wait_measure(struct wait *w)
{
	w->end = 0;
	for (size_t i = 0; i < w->r.count; i++)
		w->end = part_end(&w->r.parts[i]) > w->end ? part_end(&w->r.parts[i]) : w->end;
}

/* A name that cannot be a reservation's may be a node's all the same. */
static int wait_find(struct wait *w)
{
	int rc = reservation_look(w->m, w->typed, &w->r);

	if (rc == 1)
		return wait_find_node(w);
	if (rc)
		return market_fail(w->m, "cannot look for '%.100s'", w->typed);
	wait_measure(w);
	return 0;
}

/* ---- Until it runs ----------------------------------------------------------------------- */

/* Its nodes that are pending or run. 0, or an exit status after saying that there is none. */
static int wait_names(struct wait *w, struct nodes **all, const char ***names, size_t *count)
{
	int rc = nodes_load(w->m, w->r.id, false, all);
	char hint[160];

	if (rc)
		return market_fail(w->m, "cannot list the nodes of '%.100s'", w->typed);
	*names = calloc((*all)->count + 1, sizeof **names);
	if (!*names)
		command_nomem();
	for (size_t i = 0; i < (*all)->count; i++)
		if (node_lives(&(*all)->list[i]))
			(*names)[(*count)++] = (*all)->list[i].id;
	if (*count)
		return 0;
	snprintf(hint, sizeof hint, "'nanopod show %.100s' says what it has", w->typed);
	return print_fail(w->np, STATUS_CONFLICT, hint, "cannot wait for '%.100s': it has no pending or running node",
		w->typed);
}

static int wait_running(struct wait *w)
{
	const char *one = w->node, **names = NULL;
	struct nodes *all = NULL;
	size_t count = 0;
	int64_t start = 0, now = wait_now(w);
	int rc = 0, number = 0;

	for (size_t i = 0; i < w->r.count; i++)
		start = !start || part_start(&w->r.parts[i]) < start ? part_start(&w->r.parts[i]) : start;
	if (w->r.id)
		rc = wait_names(w, &all, &names, &count);
	if (!rc) {
		rc = nodewait_by(w->m, w->r.id, w->r.id ? names : &one, w->r.id ? count : 1, start, now, w->patience,
			&number);
		rc = nodewait_told(w->m, rc, number, "run the same command again to wait on");
	}
	if (!rc)
		print_note(w->np, "'%.100s' is running", w->typed);
	if (!rc && w->r.id)
		reservation_tell_end(w->np, &w->r, wait_now(w));
	free(names);
	nodes_free(all);
	return rc;
}

/* ---- Until it has ended ------------------------------------------------------------------- */

/* 1: it has; 0: not yet; or a negative code in m->fail. */
static int wait_over(struct wait *w)
{
	struct reservation r = { 0 };
	struct nodes *all = NULL;
	const struct node *n;
	const char *state;
	int rc;

	if (!w->r.id) {
		rc = nodes_load(w->m, NULL, true, &all);
		n = rc ? NULL : nodes_find(all, w->node);
		rc = rc ? rc : !n || !node_lives(n);
		w->end = n ? n->end : w->end;
		nodes_free(all);
		return rc;
	}
	rc = reservation_look(w->m, w->r.id, &r);
	if (rc)
		return rc;
	reservation_release(&w->r);
	w->r = r;
	wait_measure(w);
	state = reservation_state(&w->r, wait_now(w));
	return strcmp(state, "running") != 0 && strcmp(state, "pending") != 0;
}

/* "ends Sat 21 Nov 09:00 UTC (in 12m)" */
static const char *wait_phase(struct wait *w, char *room, size_t size)
{
	char when[WHEN_TEXT], relative[WHEN_TEXT];

	if (!w->end)
		return "has no known end";
	snprintf(room, size, "ends %s (%s)", when_local(w->end, wait_now(w), when),
		when_relative(w->end, wait_now(w), relative));
	return room;
}

static int wait_ended(struct wait *w)
{
	int64_t until = clock_ms() + w->patience;
	char phase[200];
	bool said = false;
	int number = 0, rc;

	for (;;) {
		rc = wait_over(w);
		if (rc == 1) {
			print_note(w->np, "'%.100s' has ended", w->typed);
			return 0;
		}
		if (rc < 0 && rc != CLIENT_STOPPED && !client_retryable(rc))
			return market_fail(w->m, "cannot wait for '%.100s'", w->typed);
		if (!rc && !said)
			print_note(w->np, "'%.100s' %s", w->typed, wait_phase(w, phase, sizeof phase));
		said |= !rc;
		if (w->patience >= 0 && clock_ms() >= until)
			return print_fail(w->np, STATUS_WAITING, "run the same command again to wait on",
				"timed out while waiting: '%.100s' %s", w->typed, wait_phase(w, phase, sizeof phase));
		if (signals_rest(LOOK_MS, &number))
			return print_fail(w->np, number == SIGTERM ? STATUS_TERM : STATUS_INT, NULL,
				"interrupted while waiting for '%.100s'", w->typed);
	}
}

/* ---- The command ------------------------------------------------------------------------- */

static int wait_command(struct nanopod *np, const struct options *o)
{
	struct wait w = { .np = np,
		.typed = option_argv(o)[0],
		.patience = option_given(o, "timeout") ? option_ms(o, "timeout") : -1 };
	int rc;

	if (signals_begin())
		command_nomem();
	rc = market_sign_in(np, o, 0, &w.m);
	rc = rc ? rc : wait_find(&w);
	if (!rc)
		rc = strcmp(option_text(o, "for"), "ended") == 0 ? wait_ended(&w) : wait_running(&w);
	reservation_release(&w.r);
	market_sign_out(w.m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "for", 0, OPTION_ENUM, .fallback = "running", .values = "running|ended", .help = "what to wait for",
		.complete = COMPLETE_VALUES },
	{ "timeout", 0, OPTION_DURATION, "DURATION", .help = "how long to wait; default: without end" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod wait train && nanopod run -r train -- hostname", "run a command as soon as all nodes run" },
	{ "nanopod wait train-0 --timeout 10m", "one node; exit status 9 after ten minutes" },
	{ "nanopod wait train --for ended", "return when the reservation is over" },
	{ 0 },
};

const struct command cmd_wait = {
	.name = "wait",
	.args = "NAME",
	.summary = "wait until nodes run or have ended",
	.examples = examples,
	.description =
		"Standard error says what is waited for: the start time, a host, or the boot. When the time runs out "
		"the exit status is 9; if a node ended instead of running it is 5. Ctrl-C changes nothing.",
	.positional = "NAME  a reservation or a node",
	.options = options,
	.flags = COMMAND_MORE | COMMAND_MARKET,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_HOLDING,
	.run = wait_command,
};
