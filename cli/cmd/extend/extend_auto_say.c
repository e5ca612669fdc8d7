/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/extend/extend_auto_say.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "market/when.h"

void extend_auto_hide(struct auto_extend *a)
{
	if (a->line)
		fputs("\r\033[K", a->d->np->err);
	fflush(a->d->np->err);
	a->line = false;
}

/* "train ends", or of several ends the next one: "2 nodes of train end" */
static const char *say_next(const struct auto_extend *a, char room[160])
{
	char nodes[DEAL_NODES];

	if (a->end_count < 2)
		snprintf(room, 160, "%.100s ends", a->e.reservation.name);
	else
		snprintf(room, 160, "%s of %.100s end%s", deal_nodes(a->ends[0].nodes, nodes), a->e.reservation.name,
			a->ends[0].nodes == 1 ? "s" : "");
	return room;
}

void extend_auto_draw(struct auto_extend *a)
{
	struct nanopod *np = a->d->np;
	char end[WHEN_TEXT], next[WHEN_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT], who[160], text[400], tail[100];
	int64_t now = extend_auto_now(a), at = a->end_count ? a->ends[0].at : a->until, due = at - extend_auto_lead(a);

	if (!np->tty_err || np->errors_json)
		return;
	snprintf(text, sizeof text, "%s %s, extension %s", say_next(a, who), when_relative(at, now, end),
		due > now ? when_relative(due, now, next) : "due");
	snprintf(tail, sizeof tail, ", %s of %s spent", deal_about(extend_auto_spent(a), spent),
		deal_about(a->budget, budget));
	progress_line(np, text, tail);
	a->line = true;
}

void extend_auto_warn(struct auto_extend *a, char said[400], const char *text)
{
	if (strcmp(text, said) == 0)
		return;
	snprintf(said, 400, "%s", text);
	extend_auto_hide(a);
	print_warn(a->d->np, "%s; trying again", text);
}

const char *extend_auto_whose(const struct auto_extend *a, const struct auto_end *end, char room[200])
{
	char when[WHEN_TEXT], nodes[DEAL_NODES];

	if (a->end_count < 2)
		snprintf(room, 200, "'%.60s'", a->e.reservation.name);
	else
		snprintf(room, 200, "%s of '%.60s' (until %s)", deal_nodes(end->nodes, nodes), a->e.reservation.name,
			when_local(end->at, extend_auto_now(a), when));
	return room;
}

static void say_add_row(struct auto_extend *a, const struct order_status *o, int64_t cost)
{
	const struct deal_order *e = &a->e;
	char r[6][CELL_TEXT];

	rows_add(a->rows,
		(const char *[]){ e->reservation.name, "extended", cell_int(o->filled_nodes, r[0]),
			cell_time(a->d->np, o->filled_start, r[1]), cell_time(a->d->np, o->filled_end, r[2]),
			cell_price(o->average, order_args_gpus(&e->args, e->sku), r[3]),
			cell_money(a->d->np, cost, r[4]), o->id, NULL, cell_int(cost, r[5]), "false" });
}

void extend_auto_took(struct auto_extend *a, const struct order_status *order, int64_t cost)
{
	char when[WHEN_TEXT], money[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT], nodes[DEAL_NODES];
	const char *name = a->e.reservation.name;

	say_add_row(a, order, cost);
	a->count++;
	a->paid += cost;
	extend_auto_hide(a);
	when_local(order->filled_end, extend_auto_now(a), when);
	money_text(cost, money);
	money_text(extend_auto_spent(a), spent);
	money_text(a->budget, budget);
	if (a->until < order->filled_end)
		return; /* and gave it back */
	if (a->all_count == 1 && a->until == order->filled_end)
		print_note(a->d->np, "'%s' now ends at %s: %s, %s of %s spent", name, when, money, spent, budget);
	else
		print_note(a->d->np, "%s of '%s' now end%s at %s: %s, %s of %s spent",
			deal_nodes(order->filled_nodes, nodes), name, order->filled_nodes == 1 ? "s" : "", when, money,
			spent, budget);
}

void extend_auto_gave(struct auto_extend *a, int64_t count)
{
	char nodes[DEAL_NODES];

	extend_auto_hide(a);
	print_warn(a->d->np,
		"%s of '%s' now end%s earlier than it was bought: released, sold, or taken back; --auto-extend "
		"extends the others",
		deal_nodes(count, nodes), a->e.reservation.name, count == 1 ? "s" : "");
}

void extend_auto_too_dear(struct auto_extend *a, const struct auto_end *end)
{
	char whose[200], left[MONEY_TEXT];

	extend_auto_hide(a);
	print_warn(a->d->np, "the budget does not suffice for %s: %s is left, which extends others",
		extend_auto_whose(a, end, whose), money_text(extend_auto_left(a), left));
}

/* ---- The end ------------------------------------------------------------------------------- */

/* "ends at 18:00", or for several ends "ends at 17:00 (1 node) and 18:00 (2 nodes)". */
static const char *say_until(const struct auto_extend *a, struct buf *out)
{
	char when[WHEN_TEXT], nodes[DEAL_NODES];
	int64_t now = extend_auto_now(a);

	buf_clear(out);
	if (a->end_count < 2) {
		buf_addf(out, "ends at %s", when_local(a->until, now, when));
		return buf_text(out);
	}
	buf_adds(out, "ends at ");
	for (size_t i = 0; i < a->end_count; i++)
		buf_addf(out, "%s%s (%s)",
			i == 0                         ? ""
				: i + 1 < a->end_count ? ", "
						       : " and ",
			when_local(a->ends[i].at, now, when), deal_nodes(a->ends[i].nodes, nodes));
	return buf_text(out);
}

struct say_sums {
	struct buf until, hint;
	char sum[200];
};

static void say_sums_init(struct auto_extend *a, struct say_sums *s)
{
	char paid[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT];

	extend_auto_hide(a);
	buf_init(&s->until, DEAL_TEXT_MAX);
	buf_init(&s->hint, DEAL_TEXT_MAX);
	say_until(a, &s->until);
	snprintf(s->sum, sizeof s->sum, "%zu extension%s for %s, %s of %s spent in total", a->count,
		a->count == 1 ? "" : "s", money_text(extend_auto_spent(a) - a->begun_with, paid),
		money_text(extend_auto_spent(a), spent), money_text(a->budget, budget));
}

static int say_sums_done(struct say_sums *s, int rc)
{
	buf_release(&s->until);
	buf_release(&s->hint);
	return rc;
}

int extend_auto_tell_spent(struct auto_extend *a)
{
	struct say_sums s;

	say_sums_init(a, &s);
	print_note(a->d->np, "the budget is used up, '%s' %s: %s; %s", a->e.reservation.name, buf_text(&s.until), s.sum,
		extend_auto_more(a, &s.hint));
	return say_sums_done(&s, 0);
}

int extend_auto_tell_stopped(struct auto_extend *a)
{
	struct say_sums s;

	say_sums_init(a, &s);
	return say_sums_done(&s,
		print_fail(a->d->np, a->number == SIGTERM ? STATUS_TERM : STATUS_INT,
			"the same command continues, and counts what was spent", "interrupted; '%s' %s%s: %s",
			a->e.reservation.name, buf_text(&s.until),
			a->body.len || a->sure_total ? ", unless its last request extended it" : "", s.sum));
}

int extend_auto_tell_ended(struct auto_extend *a)
{
	struct nanopod *np = a->d->np;
	const char *name = a->e.reservation.name;
	struct say_sums s;
	int rc = 0;

	say_sums_init(a, &s);
	if (a->shorter && a->lost)
		rc = print_fail(np, STATUS_CAPACITY, "'nanopod buy' buys other nodes",
			"stops, as '%s' now %s, earlier than it did: taken back by its host or its market: %s", name,
			buf_text(&s.until), s.sum);
	else if (a->shorter)
		print_note(np, "stops, as '%s' now %s, earlier than it did: released, sold, or taken back: %s", name,
			buf_text(&s.until), s.sum);
	else if (a->lapsed)
		rc = print_fail(np, (enum status)a->lapsed, "'nanopod buy' buys other nodes", "'%s' has ended: %s: %s",
			name, a->lapsed_for, s.sum);
	else
		print_note(np, "'%s' has ended: %s; 'nanopod buy' buys other nodes", name, s.sum);
	return say_sums_done(&s, rc);
}
