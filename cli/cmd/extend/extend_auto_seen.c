/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/extend/extend_auto_seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/extend/extend_auto_say.h"

void extend_auto_seen_release(struct auto_seen *s)
{
	reservation_release(&s->reservation);
	bought_release(&s->bought);
	free(s->all);
	free(s->ends);
}

static void seen_find_all(struct auto_seen *s, int64_t now)
{
	size_t room = s->part ? s->part->count : 0;

	s->all = calloc(room + 1, sizeof *s->all);
	if (!s->all)
		command_nomem();
	s->all_count = s->part ? part_ends(s->part, now, s->all, room) : 0;
}

static const struct auto_end *seen_end_at(const struct auto_end *list, size_t count, int64_t at)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].at == at)
			return &list[i];
	return NULL;
}

/* Of all ends those that were bought; of one that was there before, what is known of it. */
static void seen_find_ends(const struct auto_extend *a, struct auto_seen *s)
{
	struct part_end_at *kept = calloc(s->all_count + 1, sizeof *kept);

	s->ends = calloc(s->all_count + 1, sizeof *s->ends);
	if (!kept || !s->ends)
		command_nomem();
	memcpy(kept, s->all, s->all_count * sizeof *kept);
	s->end_count = bought_ends(s->counted ? &s->bought : &a->bought, kept, s->all_count);
	for (size_t i = 0; i < s->end_count; i++) {
		const struct part_end_at *k = &kept[s->end_count - 1 - i];
		const struct auto_end *old = seen_end_at(a->ends, a->end_count, k->at);

		s->ends[i] = (struct auto_end){ .at = k->at, .nodes = k->nodes, .cost = -1 };
		if (old && old->nodes == k->nodes)
			s->ends[i] = *old;
	}
	free(kept);
}

bool extend_auto_due(const struct auto_extend *a, const struct auto_end *end)
{
	return !end->spent && extend_auto_now(a) >= end->at - extend_auto_lead(a);
}

static bool seen_any_due(const struct auto_extend *a)
{
	for (size_t i = 0; i < a->end_count; i++)
		if (extend_auto_due(a, &a->ends[i]))
			return true;
	return false;
}

/* Ends that have passed are no news. */
static bool seen_differs(const struct auto_extend *a, const struct auto_seen *s)
{
	size_t still = 0;

	while (still < a->all_count && a->all[still].at > extend_auto_now(a))
		still++;
	return still != s->all_count || memcmp(a->all, s->all, still * sizeof *a->all) != 0;
}

/* When it would have ended as it was bought. */
static int64_t seen_last(const struct auto_extend *a)
{
	int64_t last = a->end_count ? a->ends[a->end_count - 1].at : 0;

	return a->sure > last ? a->sure : last;
}

/*
 * Asked for after the ends: an order that comes between the two makes the sum larger, and a request from the older end
 * void. A market of an older backup shows fewer orders for ever.
 */
static int seen_count(struct auto_extend *a, struct auto_seen *s)
{
	struct market_link *m = a->d->m;
	int rc = bought_read(m, a->e.reservation.id, a->e.sku->id, &s->bought);

	s->counted = !rc;
	if (!rc && (s->all_count || !a->all) && s->bought.sum < a->paid + a->sure_total)
		rc = fail_set(&m->fail, CLIENT_BAD_ANSWER, "it shows fewer orders than it did before");
	return rc;
}

int extend_auto_ask(struct auto_extend *a, struct auto_seen *s)
{
	struct market_link *m = a->d->m;
	struct market_clock *clock = &a->d->args.clock;
	int rc = market_clock_again(m, clock);

	rc = rc ? rc : reservation_look(m, a->e.reservation.id, &s->reservation);
	if (rc == 1) { /* any server on the way can say that there is no such thing */
		s->lost = m->answer.ours;
		rc = s->lost ? 0 : m->fail.code;
	}
	s->part = reservation_part(&s->reservation, a->e.sku->id);
	if (!rc && (!s->part || part_end(s->part) < a->until)) /* it may have passed since */
		rc = market_clock_again(m, clock);
	seen_find_all(s, extend_auto_now(a));
	if (!rc && !s->lost && (a->body.len || a->sure_total || seen_differs(a, s) || seen_any_due(a)))
		rc = seen_count(a, s);
	seen_find_ends(a, s);
	if (!rc && !s->lost && !s->end_count && extend_auto_now(a) < seen_last(a))
		rc = extend_auto_taken_back(a, &s->lost);
	return rc;
}

/* Ends that passed while there was trouble with them. */
static void seen_lapse(struct auto_extend *a)
{
	for (size_t i = 0; i < a->end_count && a->ends[i].at <= extend_auto_now(a); i++) {
		const struct auto_end *end = &a->ends[i];

		a->lapsed = end->status ? end->status : a->status;
		snprintf(a->lapsed_for, sizeof a->lapsed_for, "%s", end->status ? end->trouble : a->trouble);
	}
}

/* Nodes that had an end as it was bought and have none: nobody extended them. */
static int64_t seen_given(const struct auto_extend *a, const struct auto_seen *s)
{
	int64_t given = 0;

	for (size_t i = 0; i < a->end_count; i++) {
		const struct auto_end *now = seen_end_at(s->ends, s->end_count, a->ends[i].at);
		int64_t missing = a->ends[i].nodes - (now ? now->nodes : 0);

		for (size_t k = 0; k < s->bought.count; k++)
			if (s->bought.orders[k].filled_start == a->ends[i].at &&
				bought_since(&a->bought, &s->bought.orders[k]) > 0)
				missing -= s->bought.orders[k].filled_nodes;
		given += missing > 0 && a->ends[i].at > extend_auto_now(a) ? missing : 0;
	}
	return given;
}

/* Replaces what was seen before; what was seen is released as that. */
static void seen_swap(struct auto_extend *a, struct auto_seen *s)
{
	struct auto_seen old = { .all = a->all, .ends = a->ends };

	if (s->part) { /* else it keeps its name */
		old.reservation = a->e.reservation;
		a->e.reservation = s->reservation;
		a->e.part = s->part;
		s->reservation = (struct reservation){ 0 };
	}
	a->all = s->all;
	a->all_count = s->all_count;
	a->ends = s->ends;
	a->end_count = s->end_count;
	a->until = s->part ? part_end(s->part) : extend_auto_now(a);
	a->e.args.nodes = 0;
	for (size_t i = 0; i < a->end_count; i++)
		a->e.args.nodes += a->ends[i].nodes;
	if (s->counted) {
		old.bought = a->bought;
		a->bought = s->bought;
	}
	a->fresh = s->counted;
	reservation_release(&s->reservation);
	*s = old;
}

int extend_auto_begin(struct auto_extend *a, struct auto_seen *s)
{
	int rc = seen_count(a, s);

	if (rc)
		return rc;
	s->reservation = a->e.reservation;
	s->part = a->e.part;
	a->e.reservation = (struct reservation){ 0 };
	seen_find_all(s, extend_auto_now(a));
	seen_find_ends(a, s);
	seen_swap(a, s);
	a->paid = a->bought.sum;
	return 0;
}

/* What was bought since the last look, by whomever: it counts, the oldest first. before: the orders as they were. */
static bool seen_take_bought(struct auto_extend *a, const struct bought *before)
{
	int64_t paid = a->paid + a->sure_total;
	size_t count = a->count;

	for (size_t i = a->bought.count; i-- > 0;) {
		int64_t cost = bought_since(before, &a->bought.orders[i]);

		if (cost > 0)
			extend_auto_took(a, &a->bought.orders[i], cost);
	}
	a->paid = a->bought.sum > paid ? a->bought.sum : paid;
	a->sure_total = 0;
	return a->count > count;
}

bool extend_auto_take(struct auto_extend *a, struct auto_seen *s)
{
	bool counted = s->counted, longer;
	int64_t given = counted ? seen_given(a, s) : 0, last = seen_last(a);
	const struct auto_end *asked;

	seen_lapse(a);
	a->lost |= s->lost;
	seen_swap(a, s);
	longer = counted && seen_take_bought(a, &s->bought);
	if (given && a->end_count)
		extend_auto_gave(a, given);
	asked = seen_end_at(a->ends, a->end_count, a->asked.at);
	if (longer || !asked || asked->nodes != a->asked.nodes)
		buf_clear(&a->body); /* it was done, or extends what is not there any more */
	a->shorter = !a->end_count && extend_auto_now(a) < last;
	return longer;
}
