/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/order_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/signals.h"
#include "market/money.h"

enum { FIRST_LOOK_MS = 100, LAST_LOOK_MS = 5000, DRAW_MS = 250 };

static void order_status_keep(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%s", text ? text : "");
}

void order_status_copy(struct order_status *p, const struct model_order *o)
{
	int64_t cost = 0;

	*p = (struct order_status){ .status = o->status,
		.sell = o->sell,
		.standing = o->standing,
		.granted = o->granted,
		.limit = o->limit,
		.average = o->average,
		.reason = o->reason,
		.hold = o->hold };
	order_status_keep(p->id, sizeof p->id, o->id);
	order_status_keep(p->pool, sizeof p->pool, o->pool.id);
	order_status_keep(p->pool_name, sizeof p->pool_name, o->pool.name);
	order_status_keep(p->sku, sizeof p->sku, o->sku.id);
	order_status_keep(p->status_text, sizeof p->status_text, o->status_text);
	order_status_keep(p->reason_text, sizeof p->reason_text, o->reason_text);
	if (o->window.count) {
		p->start = o->window.list[0].start;
		p->end = o->window.list[o->window.count - 1].end;
		p->nodes = o->window.list[0].nodes;
	}
	for (size_t i = 0; i < o->filled.count; i++) {
		const struct model_span *s = &o->filled.list[i];

		if (s->nodes <= 0)
			continue;
		if (!p->filled_minutes)
			p->filled_start = s->start;
		p->filled_end = s->end;
		p->filled_nodes = s->nodes > p->filled_nodes ? s->nodes : p->filled_nodes;
		p->filled_minutes += (s->end - s->start) / 60 * s->nodes;
	}
	if (o->filled_total != MODEL_NONE)
		p->total = o->filled_total;
	else if (o->average >= 0 && money_cost(o->average, p->filled_minutes, 1, &cost) == 0)
		p->total = cost;
}

int order_status_take(struct market_link *m, struct order_status *p)
{
	struct model_order o;
	int rc = wire_order(m->doc, WIRE_WHOLE, &o, &m->fail);

	if (!rc)
		order_status_copy(p, &o);
	return rc;
}

int order_status_look(struct market_link *m, const char *id, struct order_status *p)
{
	int rc = market_get(m, "/v2/orders/%s", id);

	return rc ? rc : order_status_take(m, p);
}

const char *order_status_cell(const struct nanopod *np, const struct order_status *p)
{
	if (p->status == MODEL_ORDER_PARTIALLY_FILLED && cell_for_people(np))
		return "partly filled";
	return *p->status_text ? p->status_text : NULL;
}

bool order_status_decided(const struct order_status *p)
{
	switch (p->status) {
	case MODEL_ORDER_FILLED:
	case MODEL_ORDER_REJECTED:
	case MODEL_ORDER_CANCELLED:
		return true;
	case MODEL_ORDER_UNKNOWN:
	case MODEL_ORDER_PENDING:
	case MODEL_ORDER_PARTIALLY_FILLED:
	case MODEL_ORDER_STANDING:
		break;
	}
	return false;
}

bool order_status_filled(const struct order_status *p)
{
	return p->status == MODEL_ORDER_FILLED;
}

/* ---- Waiting --------------------------------------------------------------------------- */

struct show {
	struct nanopod *np;
	int64_t began;
	char phase[96];
	bool line; /* the last line of the terminal is ours */
};

static const char *phase_of(const struct order_status *p, char *room, size_t size)
{
	if (p->status == MODEL_ORDER_PENDING || p->status == MODEL_ORDER_UNKNOWN)
		snprintf(room, size, "waiting for the market to decide");
	else if (p->status == MODEL_ORDER_PARTIALLY_FILLED)
		snprintf(room, size, "part is filled, the rest waits in the book");
	else
		snprintf(room, size, "waits in the book for %s", p->sell ? "a buyer" : "an offer");
	return room;
}

static void order_status_hide(struct show *s)
{
	if (s->line)
		fputs("\r\033[K", s->np->err);
	fflush(s->np->err);
	s->line = false;
}

/* On a terminal one line that shows the time; elsewhere one line for each change. */
static void order_status_show(struct show *s, const struct order_status *p)
{
	char phase[96], time[32], text[192], tail[40];

	phase_of(p, phase, sizeof phase);
	if (s->np->tty_err && !s->np->errors_json) {
		snprintf(text, sizeof text, "%s: %s", p->id, phase);
		snprintf(tail, sizeof tail, ", %s", progress_time(clock_ms() - s->began, time, sizeof time));
		progress_line(s->np, text, tail);
		s->line = true;
	} else if (strcmp(phase, s->phase) != 0) {
		print_note(s->np, "%s: %s", p->id, phase);
	}
	snprintf(s->phase, sizeof s->phase, "%s", phase);
}

static int order_status_relook(struct market_link *m, struct order_status *p)
{
	char id[sizeof p->id];

	memcpy(id, p->id, sizeof id);
	return order_status_look(m, id, p);
}

int order_status_wait(struct market_link *m, struct order_status *p, int64_t wait_ms, int *number)
{
	struct show s = { .np = m->np, .began = clock_ms() };
	int64_t every = FIRST_LOOK_MS, next = s.began + every, now;
	int rc = 0;

	while (!order_status_decided(p)) {
		now = clock_ms();
		if (wait_ms >= 0 && now - s.began >= wait_ms) {
			rc = 1;
			break;
		}
		order_status_show(&s, p);
		if (signals_rest(next - now < DRAW_MS ? next - now : DRAW_MS, number)) {
			rc = 2;
			break;
		}
		if (clock_ms() < next)
			continue;
		rc = order_status_relook(m, p);
		if (rc == CLIENT_STOPPED && signals_rest(0, number)) {
			rc = 2;
			break;
		}
		/* A failed look is harmless: the next one comes soon. */
		if (rc && !client_retryable(rc))
			break;
		rc = 0;
		every = every * 2 < LAST_LOOK_MS ? every * 2 : LAST_LOOK_MS;
		next = clock_ms() + every;
	}
	order_status_hide(&s);
	return rc;
}
