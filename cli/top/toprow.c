/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/toprow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/nodes/node.h"
#include "market/money.h"

static const struct model_measures toprow_unknown = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
	NAN, NAN, NAN, NAN, NAN };

/* ---- Sums ------------------------------------------------------------------------------ */

static void toprow_add(double *sum, double value)
{
	if (!isnan(value))
		*sum = isnan(*sum) ? value : *sum + value;
}

static void toprow_most(double *most, double value)
{
	if (!isnan(value) && (isnan(*most) || value > *most))
		*most = value;
}

static void toprow_sum_gpus(struct toprow *r, const struct model_measures *gpus, size_t count)
{
	size_t known = 0;

	r->of_gpus = toprow_unknown;
	for (size_t i = 0; i < count; i++) {
		toprow_add(&r->of_gpus.use, gpus[i].use);
		known += !isnan(gpus[i].use);
		toprow_add(&r->of_gpus.memory, gpus[i].memory);
		toprow_add(&r->of_gpus.memory_total, gpus[i].memory_total);
		toprow_add(&r->of_gpus.power, gpus[i].power);
		toprow_add(&r->of_gpus.power_limit, gpus[i].power_limit);
		toprow_add(&r->of_gpus.memory_errors, gpus[i].memory_errors);
		toprow_most(&r->of_gpus.temperature, gpus[i].temperature);
		toprow_most(&r->of_gpus.throttled, gpus[i].throttled);
		toprow_most(&r->of_gpus.clock, gpus[i].clock);
		toprow_most(&r->of_gpus.xid, gpus[i].xid);
	}
	if (known)
		r->of_gpus.use /= (double)known;
}

/* The mean of several curves, point by point from their ends. */
static void toprow_mix(struct toprow *r, const struct model_curve *curves, size_t count)
{
	size_t longest = 0;

	for (size_t c = 0; c < count; c++)
		longest = curves[c].count > longest ? curves[c].count : longest;
	r->points = longest < TOP_POINTS ? longest : TOP_POINTS;
	for (size_t i = 1; i <= r->points; i++) {
		double sum = NAN;
		size_t known = 0;

		for (size_t c = 0; c < count; c++) {
			double value = i <= curves[c].count ? curves[c].list[curves[c].count - i] : NAN;

			toprow_add(&sum, value);
			known += !isnan(value);
		}
		r->curve[r->points - i] = known ? sum / (double)known : NAN;
	}
}

/* A machine's processors are a part of all; a node's are counted, and there is no most: the curve's own is. */
static void toprow_measure(struct toprow *r, const struct model_sample *s, bool machine)
{
	r->most = 1;
	if (s->gpu_count) {
		toprow_mix(r, s->use, s->use_count);
		return;
	}
	toprow_mix(r, &s->cpu, 1);
	for (size_t i = 0; i < r->points && !machine; i++)
		toprow_most(&r->most, r->curve[i]);
}

/* ---- Which ----------------------------------------------------------------------------- */

static bool toprow_named(const struct topwish *w, const struct toprow *r)
{
	for (char *const *n = w->names; n && *n; n++)
		if (strcmp(*n, r->id) == 0 || str_glob(*n, r->name) ||
			(r->reservation && strcmp(*n, r->reservation) == 0))
			return true;
	return !w->names || !*w->names;
}

static bool toprow_passes(const struct topwish *w, const struct toprow *r)
{
	const char *const texts[] = { r->name, r->state, r->type, r->reservation };

	if (!w->filter || !*w->filter || (strpbrk(w->filter, "*?") && str_glob(w->filter, r->name)))
		return true;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i] && strcasestr(texts[i], w->filter))
			return true;
	return false;
}

/* ---- Rows ------------------------------------------------------------------------------ */

static void toprows_push(struct toprows *out, const struct toprow *r)
{
	/* The room doubles: it is full whenever the count is a power of two. */
	if ((out->count & (out->count - 1)) == 0) {
		out->list = reallocarray(out->list, out->count ? out->count * 2 : 1, sizeof *out->list);
		if (!out->list)
			command_nomem();
	}
	out->list[out->count++] = *r;
}

void toprow_sample(struct toprow *r, const struct model_sample *s, bool machine, int64_t now)
{
	r->gpu = -1;
	r->age = -1;
	r->of = r->of_gpus = toprow_unknown;
	if (!s)
		return;
	r->gpus = s->gpu_count > r->gpus ? s->gpu_count : r->gpus;
	r->at = s->at;
	r->age = !s->at ? -1 : now > s->at ? now - s->at : 0;
	r->of = s->of;
	toprow_sum_gpus(r, s->gpus, s->gpu_count);
	toprow_measure(r, s, machine);
}

static void toprows_count(struct toptotals *t, const struct toprow *r, const struct model_sample *s)
{
	size_t known = 0;

	for (size_t i = 0; s && r->age < TOP_STALE_SECONDS && i < s->gpu_count; i++) {
		t->busy += s->gpus[i].use >= TOP_BUSY;
		known += !isnan(s->gpus[i].use);
	}
	t->gpus += r->gpus;
	t->unknown += r->gpus - known;
	if (r->cost > 0)
		t->overflow |= money_add(t->cost, r->cost, &t->cost) != 0;
}

/* "h1, h2" */
static void toprow_used_by(struct toprow *r, const struct model_sample *s)
{
	size_t len = 0;

	for (size_t i = 0; i < s->gpu_host_count && len < sizeof r->used_by; i++)
		if (s->gpu_hosts[i].gpu == r->gpu)
			len += (size_t)snprintf(r->used_by + len, sizeof r->used_by - len, "%s%s", len ? ", " : "",
				s->gpu_hosts[i].name);
}

static void toprows_split(struct toprows *out, const struct toprow *whole, const struct model_sample *s)
{
	for (size_t i = 0; i < whole->gpus; i++) {
		struct toprow r = *whole;
		bool measured = s && i < s->gpu_count;

		r.gpu = (long)i;
		r.of_gpus = measured ? s->gpus[i] : toprow_unknown;
		r.points = 0;
		if (s)
			toprow_used_by(&r, s);
		if (s && i < s->use_count)
			toprow_mix(&r, &s->use[i], 1);
		toprows_push(out, &r);
	}
}

static void toprows_add(struct toprows *out, const struct topwish *w, const struct toprow *r,
	const struct model_sample *s)
{
	toprows_count(&out->totals, r, s);
	if (!toprow_passes(w, r))
		return;
	if (w->of == TOP_OF_GPUS)
		toprows_split(out, r, s);
	else
		toprows_push(out, r);
}

static void toprows_add_node(struct toprows *out, const struct toplook *l, const struct topwish *w, size_t i)
{
	const struct model_node *n = &l->nodes[i];
	const struct model_sample *s = toplook_sample(l, n->id, i);
	struct toprow r = { .name = n->name ? n->name : n->id, .id = n->id, .type = n->type, .nodes = -1, .cost = -1 };
	struct toptotals *t = &out->totals;

	r.state = n->status == MODEL_INSTANCE_RUNNING && n->host_down ? "down" : node_word(n->status, n->status_text);
	r.reservation = n->reservation.name ? n->reservation.name : n->reservation.id;
	r.end = n->end_at;
	r.early = n->ends_early;
	if (n->price >= 0 && money_mul(n->price, 60, &r.cost) != 0)
		r.cost = -1;
	for (size_t k = 0; k < n->gpu_count; k++) /* as its host reports them; no number decides about memory */
		r.gpus += n->gpus[k].count > 0 && n->gpus[k].count <= TOP_POINTS ? (size_t)n->gpus[k].count : 0;
	r.gpus = r.gpus < TOP_POINTS ? r.gpus : TOP_POINTS;
	if (!toprow_named(w, &r))
		return;
	toprow_sample(&r, s, false, w->now);
	t->down += n->host_down;
	t->running += n->status == MODEL_INSTANCE_RUNNING && !n->host_down;
	t->pending += n->status == MODEL_INSTANCE_AWAITING;
	t->failed += n->status == MODEL_INSTANCE_FAILED;
	toprows_add(out, w, &r, s);
}

static void toprows_add_machine(struct toprows *out, const struct toplook *l, const struct topwish *w, size_t i)
{
	const struct model_agent *a = &l->agents[i];
	struct toprow r = { .name = a->name, .id = a->id, .nodes = a->nodes, .cost = -1 };
	bool up = a->state && strcmp(a->state, "up") == 0;

	r.state = up && a->health && strcmp(a->health, "ok") != 0 ? a->health : a->state ? a->state : "unknown";
	if (!toprow_named(w, &r) || (a->state && strcmp(a->state, "left") == 0))
		return;
	toprow_sample(&r, toplook_sample(l, a->id, i), true, w->now);
	out->totals.machines++;
	out->totals.running += a->nodes > 0 ? (size_t)a->nodes : 0;
	out->totals.down += !up;
	toprows_add(out, w, &r, toplook_sample(l, a->id, i));
}

/* ---- Order ----------------------------------------------------------------------------- */

static double toprow_number(int64_t n, bool known)
{
	return known ? (double)n : NAN;
}

/* What rows are sorted by, the highest first; NAN: not known. */
static double toprow_key(const struct toprow *r, enum top_sort sort)
{
	switch (sort) {
	case TOP_BY_USE: /* those without GPUs behind those with */
		return isnan(r->of_gpus.use) ? r->of.cpu / 1e6 : r->of_gpus.use;
	case TOP_BY_MEMORY:
		return isnan(r->of_gpus.memory) ? r->of.memory : r->of_gpus.memory;
	case TOP_BY_WATTS:
		return r->of_gpus.power;
	case TOP_BY_COST:
		return toprow_number(r->cost, r->cost >= 0);
	case TOP_BY_END: /* the one that ends first */
		return toprow_number(-r->end, r->end != 0);
	case TOP_BY_NAME:
		break;
	}
	return 0;
}

static int toprow_by_name(const struct toprow *a, const struct toprow *b)
{
	int rc = strverscmp(a->name, b->name);

	rc = rc ? rc : strcmp(a->id, b->id);
	return rc ? rc : (a->gpu > b->gpu) - (a->gpu < b->gpu);
}

/* What is not known stands last in both directions. */
static int toprow_compare(const void *x, const void *y, void *arg)
{
	const struct toprow *a = x, *b = y;
	const struct topwish *w = arg;
	double p = toprow_key(a, w->sort), q = toprow_key(b, w->sort);
	int rc = w->sort == TOP_BY_NAME ? toprow_by_name(a, b) : (p < q) - (p > q);

	if (isnan(p) != isnan(q))
		return isnan(p) - isnan(q);
	return rc ? (w->reverse ? -rc : rc) : toprow_by_name(a, b);
}

void toprows_make(const struct toplook *l, const struct topwish *w, struct toprows *out)
{
	*out = (struct toprows){ 0 };
	for (size_t i = 0; i < l->node_count; i++)
		toprows_add_node(out, l, w, i);
	for (size_t i = 0; i < l->agent_count; i++)
		toprows_add_machine(out, l, w, i);
	if (out->count)
		qsort_r(out->list, out->count, sizeof *out->list, toprow_compare, (void *)(uintptr_t)w);
}

void toprows_release(struct toprows *r)
{
	free(r->list);
	*r = (struct toprows){ 0 };
}
