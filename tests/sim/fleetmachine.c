/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines with agents, and what befalls them. An agent compares what the market wants, what is on its
 * own disk and what runs; it ends a node by its own clock when the lease is over. See fleet.h.
 */
#include <string.h>

#include "fleet.h"

enum { PATIENCE = 40, SAY_AGAIN = 10, TRIES = 2, GRACE = 20 };

bool machine_alive(const struct fleet *f, const struct machine *m)
{
	return f->clock >= m->off_until && f->clock >= m->dead_until;
}

static int number_of(const struct fleet *f, const struct machine *m)
{
	return (int)(m - f->machine);
}

/* ---- Nodes ------------------------------------------------------------------------------ */

static void node_make(struct fleet *f, struct machine *m, int i)
{
	struct node *n = &m->node[i];
	int tries = n->instance == m->want[i].instance ? n->tries : 0;

	*n = (struct node){ .instance = m->want[i].instance,
		.end_at = m->want[i].end_at,
		.tries = tries + 1,
		.report_at = INT64_MAX };
	n->ready_at = f->clock + 2 + rng_below(&f->rng, 18);
	if (!f->calm && rng_percent(&f->rng, 5))
		n->ready_at += rng_below(&f->rng, 90);
	if (!f->calm && m->ran[i] != n->instance && rng_percent(&f->rng, 3)) { /* it hangs, and nobody says so */
		n->ready_at += 200 + rng_below(&f->rng, 800);
		f->hung++;
	}
	n->doomed = !f->calm && rng_percent(&f->rng, 15);
	f->made++;
}

static void node_remove(struct fleet *f, struct node *n)
{
	if (n->failed)
		*n = (struct node){ .instance = 0 };
	else if (!n->gone_at)
		n->gone_at = f->clock + 1 + rng_below(&f->rng, 5);
}

/* It came up, or did not: then once more, and then the market is told. */
static void node_ready(struct fleet *f, struct machine *m, int i)
{
	struct node *n = &m->node[i];

	if (!n->doomed) {
		n->up = true;
		m->ran[i] = n->instance;
		n->report_at = f->clock;
	} else if (n->tries < TRIES && m->want[i].instance == n->instance) {
		node_make(f, m, i);
	} else {
		n->failed = true;
		n->report_at = f->clock;
	}
}

static void node_report(struct fleet *f, struct machine *m, struct node *n)
{
	struct letter l = { .kind = TO_REPORT,
		.machine = number_of(f, m),
		.generation = m->generation,
		.instance = n->instance,
		.status = n->failed ? INSTANCE_FAILED : INSTANCE_RUNNING };

	n->report_at = f->clock + SAY_AGAIN;
	post_send(f, &l);
}

/* One that it does not know: kept if the market wants it, gone after a while if not, or if nobody can say. */
static void node_unknown(struct fleet *f, struct machine *m, int i)
{
	struct node *n = &m->node[i];

	if (m->knows && m->want[i].instance == n->instance) {
		n->end_at = m->want[i].end_at;
		n->report_at = n->up ? f->clock : n->report_at;
	} else if (f->clock - n->unknown_at >= (m->knows ? GRACE : UNKNOWN_MOST - 10)) {
		node_remove(f, n);
	}
}

static void node_second(struct fleet *f, struct machine *m, int i)
{
	struct node *n = &m->node[i];
	const struct want *want = &m->want[i];

	if (n->instance && n->gone_at && f->clock >= n->gone_at)
		*n = (struct node){ .instance = 0 };
	if (n->instance && !n->up && !n->failed && !n->gone_at && f->clock >= n->ready_at)
		node_ready(f, m, i);
	if (n->instance && !n->end_at) {
		node_unknown(f, m, i);
	} else if (n->instance) {
		if (m->knows && want->instance == n->instance)
			n->end_at = want->end_at;
		if (f->clock >= n->end_at || (m->knows && want->instance != n->instance))
			node_remove(f, n);
	} else if (m->knows && want->instance && f->clock < want->end_at) {
		node_make(f, m, i);
	}
	if (m->session && n->instance && !n->gone_at && f->clock >= n->report_at)
		node_report(f, m, n);
}

/* ---- What it says and hears ------------------------------------------------------------- */

static void machine_ask(struct fleet *f, struct machine *m, enum letter_kind kind)
{
	struct letter l = { .kind = kind, .machine = number_of(f, m), .version = m->have };

	if (kind == TO_SESSION)
		m->generation++;
	l.generation = m->generation;
	l.asked = m->asked = ++f->names;
	m->asked_at = f->clock;
	post_send(f, &l);
}

void machine_hears(struct fleet *f, struct machine *m, const struct letter *l)
{
	if (l->kind == BACK_REPORT) {
		for (int i = 0; i < HOSTS_EACH; i++) {
			struct node *n = &m->node[i];

			if (n->instance == l->instance && l->status == (n->failed ? INSTANCE_FAILED : INSTANCE_RUNNING))
				n->report_at = INT64_MAX;
		}
		return;
	}
	if (l->asked != m->asked || l->generation != m->generation)
		return; /* of a request that it gave up */
	m->asked = 0;
	if (l->kind == BACK_SESSION || l->kind == BACK_FENCED)
		m->session = l->kind == BACK_SESSION;
	if (l->kind != BACK_WORK || l->version < m->have)
		return;
	m->have = l->version;
	m->knows = true;
	memcpy(m->want, l->want, sizeof m->want);
	(void)f;
}

/* ---- What befalls it -------------------------------------------------------------------- */

/* The agent ends and starts again: what is on its disk stays, unless that is lost too; nodes go on. */
static void agent_dies(struct fleet *f, struct machine *m, int64_t seconds, bool forgets)
{
	f->deaths++;
	m->dead_until = f->clock + seconds;
	m->session = m->knows = false;
	m->asked = m->have = 0;
	for (int i = 0; i < HOSTS_EACH; i++) {
		struct node *n = &m->node[i];

		if (n->instance && !n->failed && (forgets || !n->end_at)) {
			n->end_at = 0;
			n->unknown_at = m->dead_until; /* found again, it is new to it */
		}
		if (n->instance && (n->up || n->failed) && n->report_at == INT64_MAX)
			n->report_at = f->clock; /* it does not know whether it was heard */
	}
	f->forgets += forgets;
}

static void machine_reboots(struct fleet *f, struct machine *m)
{
	f->reboots++;
	m->off_until = f->clock + 10 + rng_below(&f->rng, 300);
	agent_dies(f, m, m->off_until - f->clock, false);
	memset(m->node, 0, sizeof m->node);
}

static void node_crashes(struct fleet *f, struct machine *m, int i)
{
	struct node *n = &m->node[i];

	if (n->instance && n->up && !n->gone_at && n->end_at) {
		n->up = false;
		n->tries = 0;
		n->ready_at = f->clock + 3 + rng_below(&f->rng, 20); /* it is found out, and made again */
	}
}

static void machine_suffers(struct fleet *f, struct machine *m)
{
	switch (rng_below(&f->rng, 8)) {
	case 0: case 1: agent_dies(f, m, 1 + rng_below(&f->rng, 60), false); break;
	case 2: agent_dies(f, m, 1 + rng_below(&f->rng, 60), true); break;
	case 3: machine_reboots(f, m); break;
	case 4: case 5: node_crashes(f, m, (int)rng_below(&f->rng, HOSTS_EACH)); break;
	default:
		f->cuts++;
		m->cut_until = f->clock + 5 + rng_below(&f->rng, rng_percent(&f->rng, 50) ? 60 : 1500);
		break;
	}
}

void machine_second(struct fleet *f, struct machine *m)
{
	if (!f->calm && rng_below(&f->rng, 1500) == 0)
		machine_suffers(f, m);
	if (!machine_alive(f, m))
		return;
	if (m->asked && f->clock - m->asked_at > PATIENCE)
		m->asked = 0;
	if (!m->asked)
		machine_ask(f, m, m->session ? TO_POLL : TO_SESSION);
	for (int i = 0; i < HOSTS_EACH; i++)
		node_second(f, m, i);
}
