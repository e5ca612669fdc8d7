/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/autoscale/scale.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "market/money.h"
#include "market/when.h"

enum {
	JOINS_MOST = 3,
	LEAD_MOST = 600,             /* seconds */
	LEAVES = 90,                 /* seconds */
	BLIND_MOST_MS = 3600 * 1000, /* then its end is its end */
	LOST_MOST = 3,
	LOST_WAIT = 600, /* seconds; each further one doubles it */
	LOST_WAIT_MOST = 2 * 3600,
};

const char *scale_verb(enum scale_verb verb)
{
	static const char *const words[] = {
#define SCALE_X(name, word) [name] = (word),
		SCALE_VERBS(SCALE_X)
#undef SCALE_X
	};

	return words[verb];
}

static const char *scale_s(int64_t n)
{
	return n == 1 ? "" : "s";
}

static const char *scale_time(int64_t ms, char room[WHEN_TEXT])
{
	return when_span(ms < 1000 ? 1 : ms / 1000, room);
}

__attribute__((format(printf, 4, 5))) static struct scale_step *scale_add(struct scale_plan *p, enum scale_verb verb,
	size_t node, const char *fmt, ...)
{
	struct scale_step *s = &p->steps[p->count++];
	va_list ap;

	*s = (struct scale_step){ .verb = verb, .node = node };
	va_start(ap, fmt);
	vsnprintf(s->why, sizeof s->why, fmt, ap);
	va_end(ap);
	return s;
}

/* ---- Counting ------------------------------------------------------------------------------ */

/* What was given back runs on until the market's next minute. */
static bool scale_leaves(const struct scale_world *w, const struct scale_node *n)
{
	return !n->member && n->end - w->now <= LEAVES;
}

int64_t scale_alive(const struct scale_world *w)
{
	int64_t n = 0;

	for (size_t i = 0; i < w->count; i++)
		n += w->nodes[i].place != SCALE_OVER;
	return n;
}

/* Those of them that count for min. */
static int64_t scale_stay(const struct scale_world *w)
{
	int64_t n = scale_alive(w);

	for (size_t i = 0; i < w->count; i++)
		n -= w->nodes[i].place != SCALE_OVER && scale_leaves(w, &w->nodes[i]);
	return n;
}

/* It does not start, or does not take jobs, for longer than it may. */
static bool scale_is_broken(const struct scale_world *w, const struct scale_node *n)
{
	if (n->place == SCALE_STARTING)
		return n->here_ms > w->limits.patience_ms;
	return n->place == SCALE_UP && (n->failed >= JOINS_MOST || n->joined_ms > w->limits.patience_ms);
}

static bool scale_is_free(const struct scale_world *w, const struct scale_node *n)
{
	return n->place != SCALE_OVER && !scale_leaves(w, n) && !n->drained && !n->busy && !n->moves &&
		!scale_is_broken(w, n);
}

int64_t scale_free(const struct scale_world *w)
{
	int64_t n = 0;

	for (size_t i = 0; i < w->count; i++)
		n += scale_is_free(w, &w->nodes[i]);
	return n;
}

static int64_t scale_lead_of(int64_t ahead, int64_t looks)
{
	int64_t lead = ahead / 4 < LEAD_MOST ? ahead / 4 : LEAD_MOST;

	if (looks && lead < looks + LEAVES)
		lead = looks + LEAVES;
	return lead < ahead / 4 * 3 ? lead : ahead / 4 * 3;
}

int64_t scale_lead(int64_t ahead, int64_t every)
{
	return scale_lead_of(ahead, 2 * every);
}

int64_t scale_join_lead(int64_t ahead, int64_t every)
{
	return scale_lead_of(ahead, every);
}

int64_t scale_wants(const struct scale_world *w)
{
	int64_t room = w->limits.max - scale_alive(w), wants = w->need.more;

	if (w->limits.min - scale_stay(w) > wants)
		wants = w->limits.min - scale_stay(w);
	return wants < room ? wants : room > 0 ? room : 0;
}

/* ---- Nodes that come and go ---------------------------------------------------------------- */

bool scale_member(struct scale_world *w, const char *name, bool lives)
{
	size_t i = 0;

	while (i < w->count && strcmp(w->nodes[i].name, name) != 0)
		i++;
	if (i == w->count && (lives || i == SCALE_NODES))
		return !lives || i == SCALE_NODES;
	if (i == w->count) {
		w->nodes[w->count++] = (struct scale_node){ .place = SCALE_OVER };
		snprintf(w->nodes[i].name, sizeof w->nodes[i].name, "%.127s", name);
	}
	w->nodes[i].member = true;
	return true;
}

static bool scale_has(const struct scale_world *w, const char *id)
{
	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->nodes[i].id, id) == 0)
			return true;
	return false;
}

struct scale_seen *scale_seen(struct scale_seen *list, size_t *count, const struct scale_world *w, const char *id)
{
	size_t at = 0;

	for (size_t i = 0; i < *count; i++)
		if (strcmp(list[i].id, id) == 0)
			return &list[i];
	if (*count < SCALE_NODES)
		at = (*count)++;
	else
		while (at + 1 < SCALE_NODES && scale_has(w, list[at].id))
			at++;
	list[at] = (struct scale_seen){ .place = SCALE_OVER };
	snprintf(list[at].id, sizeof list[at].id, "%s", id);
	return &list[at];
}

/* ---- Nodes that never take jobs ------------------------------------------------------------ */

int64_t scale_lost_wait(unsigned lost)
{
	int64_t wait = LOST_WAIT;

	if (lost < LOST_MOST)
		return 0;
	for (; lost > LOST_MOST && wait < LOST_WAIT_MOST; lost--)
		wait *= 2;
	return wait < LOST_WAIT_MOST ? wait : LOST_WAIT_MOST;
}

void scale_count_lost(struct scale_lost *l, struct scale_seen *s, const struct scale_world *w,
	const struct scale_node *n, int64_t now)
{
	if (n->place == SCALE_SERVES && !s->served)
		*l = (struct scale_lost){ .count = 0 };
	s->served |= n->place == SCALE_SERVES;
	s->lost &= n->place != SCALE_SERVES;
	if (s->lost || !scale_is_broken(w, n))
		return;
	s->lost = true;
	l->count += l->count < 1000;
	l->until = now + scale_lost_wait(l->count);
}

/* ---- Buying -------------------------------------------------------------------------------- */

static bool scale_affords(const struct scale_world *w, const struct scale_plan *p, int64_t nodes)
{
	int64_t cost, sum;

	return !money_mul(w->price.cost, p->paid + nodes, &cost) && !money_add(w->spent, cost, &sum) &&
		sum <= w->limits.budget;
}

static void scale_over_budget(const struct scale_world *w, const char *what, char why[SCALE_TEXT])
{
	char cost[MONEY_TEXT], spent[MONEY_TEXT], budget[MONEY_TEXT];

	snprintf(why, SCALE_TEXT, "%s would cost %s, and %s of the budget of %s is spent", what,
		money_cents(w->price.cost, cost), money_cents(w->spent, spent), money_cents(w->limits.budget, budget));
}

/* After several that never took jobs: one alone, after a while, and the next when it is known what became of it. */
static int64_t scale_next_try(const struct scale_world *w, struct scale_plan *p)
{
	char wait[WHEN_TEXT];

	if (w->waits)
		snprintf(p->blocked, sizeof p->blocked,
			"%u nodes one after the other did not take %ss; %s after the last one, one more is tried",
			w->lost, w->work, when_span(scale_lost_wait(w->lost), wait));
	for (size_t i = 0; i < w->count; i++)
		if (w->nodes[i].place != SCALE_SERVES && scale_is_free(w, &w->nodes[i]))
			return 0;
	return !w->waits;
}

static void scale_buy(const struct scale_world *w, struct scale_plan *p)
{
	int64_t wants = scale_wants(w), n = wants;
	struct scale_step *s;

	if (wants <= 0 || !w->price.asked)
		return;
	if (!w->price.fills) {
		snprintf(p->blocked, sizeof p->blocked, "%s", w->price.why);
		return;
	}
	while (n > 0 && !scale_affords(w, p, n))
		n--;
	if (n < wants)
		scale_over_budget(w, "a node", p->blocked);
	if (n > 0 && w->lost >= LOST_MOST)
		n = scale_next_try(w, p);
	if (n <= 0)
		return;
	if (w->need.more)
		s = scale_add(p, SCALE_BUY, 0, "%" PRId64 " %s%s wait%s for nodes", w->need.jobs, w->work,
			scale_s(w->need.jobs), w->need.jobs == 1 ? "s" : "");
	else
		s = scale_add(p, SCALE_BUY, 0, "at least %" PRId64 " node%s stay", w->limits.min,
			scale_s(w->limits.min));
	s->nodes = n;
	p->paid += n;
}

/* ---- What goes ----------------------------------------------------------------------------- */

/* How many nodes nobody needs: of those that are free, beyond what waiting jobs fill and beyond min. */
static int64_t scale_spare(const struct scale_world *w)
{
	int64_t spare = scale_free(w) - w->need.taken, above = scale_stay(w) - w->limits.min;

	for (size_t i = 0; i < w->count; i++)
		spare += w->nodes[i].moves && !w->nodes[i].drained;
	return spare < above ? spare : above;
}

static bool scale_ends(const struct scale_world *w, const struct scale_node *n)
{
	return n->end - w->now <= w->limits.lead;
}

/* Is it used in any way that a give-back would break? */
static bool scale_in_use(const struct scale_node *n)
{
	return n->busy || *n->used;
}

static void scale_go_on(const struct scale_world *w, struct scale_plan *p, size_t i, const char *reason)
{
	const struct scale_node *n = &w->nodes[i];
	char when[WHEN_TEXT];

	p->paid++;
	scale_add(p, SCALE_EXTEND, i, "its time ends in %s, and %s",
		when_span(n->end > w->now ? n->end - w->now : 1, when), reason);
}

static bool scale_can_go_on(const struct scale_world *w, const struct scale_plan *p)
{
	return w->price.asked && w->price.fills && scale_affords(w, p, 1);
}

/* A node near its end that is used, or will be, goes on; else it goes. */
static void scale_at_end(const struct scale_world *w, size_t i, int64_t *spare, struct scale_plan *p)
{
	const struct scale_node *n = &w->nodes[i];
	bool in_use = scale_in_use(n), wanted = in_use || (!n->drained && *spare <= 0);
	char when[WHEN_TEXT], why[SCALE_TEXT];

	when_span(n->end > w->now ? n->end - w->now : 1, when);
	if (n->blind && !n->busy && n->blind_ms >= BLIND_MOST_MS) {
		scale_add(p, SCALE_LET_END, i, "it has not said for more than %s who uses it, and no %s runs on it",
			scale_time(BLIND_MOST_MS, when), w->work);
	} else if (!wanted) {
		scale_add(p, SCALE_GIVE_BACK, i, "its time ends in %s, and nobody needs it", when);
		--*spare;
	} else if (scale_can_go_on(w, p)) {
		snprintf(why, sizeof why, n->busy ? "a %s runs on it" : "%ss wait for it", w->work);
		scale_go_on(w, p, i, in_use && !n->busy ? n->used : why);
	} else if (!n->drained && n->place == SCALE_SERVES) {
		snprintf(why, sizeof why, "%s", w->price.asked ? w->price.why : "the market was not asked");
		if (w->price.asked && w->price.fills)
			scale_over_budget(w, "more time", why);
		scale_add(p, SCALE_DRAIN, i, "its time ends in %.30s, and it cannot be extended: %.120s", when, why);
	}
}

static void scale_serves(const struct scale_world *w, size_t i, int64_t *spare, struct scale_plan *p)
{
	const struct scale_node *n = &w->nodes[i];
	char idle[WHEN_TEXT];

	if (scale_ends(w, n)) {
		scale_at_end(w, i, spare, p);
		return;
	}
	if (scale_in_use(n) || n->quiet_ms < w->limits.idle_ms || (!n->drained && *spare <= 0))
		return;
	scale_add(p, SCALE_GIVE_BACK, i, "nothing has used it for %s", scale_time(n->quiet_ms, idle));
	*spare -= !n->drained;
}

/* It is bought, but takes no jobs yet. */
static void scale_comes(const struct scale_world *w, size_t i, int64_t *spare, struct scale_plan *p)
{
	const struct scale_node *n = &w->nodes[i];
	bool broken = scale_is_broken(w, n), joins = n->place == SCALE_UP && !broken;
	int64_t lead = joins && !n->busy ? w->limits.join_lead : w->limits.lead;
	char when[WHEN_TEXT], why[SCALE_TEXT];

	if (broken && n->place == SCALE_STARTING)
		scale_add(p, SCALE_GIVE_BACK, i, "it did not start within %s", scale_time(n->here_ms, when));
	else if (broken && n->failed >= JOINS_MOST && (n->blind || !scale_in_use(n)))
		scale_add(p, SCALE_GIVE_BACK, i, "it did not join the cluster in %u tries", n->failed);
	else if (broken && (n->blind || !scale_in_use(n)))
		scale_add(p, SCALE_GIVE_BACK, i, "it joined the cluster, and %s has had no answer from it for %s",
			w->manager, scale_time(n->joined_ms, when));
	else if (n->place == SCALE_UP && *spare > 0 && !scale_in_use(n) && n->quiet_ms >= w->limits.idle_ms) {
		scale_add(p, SCALE_GIVE_BACK, i, "no %s needs it any more", w->work);
		--*spare;
		return;
	}
	if (broken)
		return;
	if (n->end - w->now <= lead && (n->busy || *spare <= 0) && scale_can_go_on(w, p)) {
		snprintf(why, sizeof why, n->busy ? "a %s runs on it" : "%ss wait for it, though it has not joined yet",
			w->work);
		scale_go_on(w, p, i, why);
	}
	if (joins) {
		snprintf(why, sizeof why, "%s does not get an answer from it", w->manager);
		scale_add(p, SCALE_JOIN, i, "%s", n->member ? why : "it runs");
	}
}

/* ---- Nobody says what runs ------------------------------------------------------------------ */

/* It is extended once; while the silence is short, again. */
static bool scale_trusts(const struct scale_node *n)
{
	return n->was_used && (!n->prolonged || n->silent_ms < BLIND_MOST_MS);
}

/* All that end together, as the market would choose which. */
static void scale_silent(const struct scale_world *w, struct scale_plan *p)
{
	char why[SCALE_TEXT];

	snprintf(why, sizeof why, "it, or one that ends with it, was in use when %s last answered", w->manager);
	for (size_t i = 0; i < w->count; i++) {
		const struct scale_node *n = &w->nodes[i];
		bool used = false;

		if (n->place == SCALE_OVER || !scale_ends(w, n) || scale_leaves(w, n))
			continue;
		for (size_t k = 0; k < w->count && !used; k++)
			used = w->nodes[k].end == n->end && scale_trusts(&w->nodes[k]);
		if (used && scale_can_go_on(w, p))
			scale_go_on(w, p, i, why);
	}
}

/* ---- In which order it is done ------------------------------------------------------------ */

int64_t scale_extension(const struct scale_world *w, const struct scale_plan *p, int64_t end)
{
	int64_t all = 0, extended = 0, back = 0;

	for (size_t i = 0; i < w->count; i++)
		all += w->nodes[i].place != SCALE_OVER && w->nodes[i].end == end;
	for (size_t i = 0; i < p->count; i++) {
		const struct scale_step *s = &p->steps[i];

		extended += s->verb == SCALE_EXTEND && w->nodes[s->node].end == end;
		back += (s->verb == SCALE_GIVE_BACK || s->verb == SCALE_LET_END) && w->nodes[s->node].end == end;
	}
	if (back && end - w->now >= w->limits.lead / 2)
		return -1;
	return extended + back < all ? extended : 0;
}

bool scale_at_once(const struct scale_world *w, const struct scale_plan *p, size_t i, int64_t end)
{
	const struct scale_step *s = &p->steps[i];

	return (s->verb == SCALE_GIVE_BACK || s->verb == SCALE_LET_END) && w->nodes[s->node].end == end &&
		w->nodes[s->node].place != SCALE_OVER;
}

bool scale_hurries(const struct scale_world *w, const struct scale_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->steps[i].verb == SCALE_GIVE_BACK &&
			w->nodes[p->steps[i].node].end - w->now <= 2 * w->limits.lead)
			return true;
	return false;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void scale_order(struct scale_plan *p)
{
	for (size_t i = 1; i < p->count; i++)
		for (size_t k = i; k && p->steps[k - 1].verb > p->steps[k].verb; k--) {
			struct scale_step swap = p->steps[k];

			p->steps[k] = p->steps[k - 1];
			p->steps[k - 1] = swap;
		}
}

void scale_decide(const struct scale_world *w, struct scale_plan *out)
{
	int64_t spare = scale_spare(w);

	out->count = 0;
	out->paid = 0;
	out->blocked[0] = '\0';
	if (w->silent) {
		scale_silent(w, out);
		return;
	}
	for (size_t i = 0; i < w->count; i++) {
		const struct scale_node *n = &w->nodes[i];

		if (scale_leaves(w, n) && n->place != SCALE_OVER)
			continue;
		if (n->place == SCALE_SERVES)
			scale_serves(w, i, &spare, out);
		else if (n->place != SCALE_OVER)
			scale_comes(w, i, &spare, out);
		else if (n->member)
			scale_add(out, SCALE_FORGET, i, "its time has ended");
	}
	scale_buy(w, out);
	scale_order(out);
}
