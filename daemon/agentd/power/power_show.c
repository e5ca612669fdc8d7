/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/power_show.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 2 * POWER_DEVICES + 1, STEP_TEXT = 96, MEGA = 1000 * 1000 };

/* Sums behind the supply, and what they are at the wall. */
struct sums {
	int64_t draw, limits, targets;
	bool draw_known;
};

static int64_t power_show_wall(const struct power_view *v, int64_t behind)
{
	return v->set ? supply_wall(&v->h->e.supply, behind) : behind;
}

static struct sums power_show_sums(const struct power_view *v)
{
	struct sums s = { .draw = v->h->e.reserve,
		.limits = v->h->e.reserve,
		.targets = v->h->e.reserve,
		.draw_known = true };

	for (size_t i = 0; i < v->h->count; i++) {
		const struct power_device *d = &v->h->list[i];

		s.limits += budget_counts(d);
		s.targets += d->target;
		s.draw += d->draw != POWER_UNKNOWN ? d->draw : d->kind == POWER_CPU ? budget_counts(d) : 0;
		s.draw_known = s.draw_known && (d->draw != POWER_UNKNOWN || d->kind == POWER_CPU);
	}
	return s;
}

static int64_t power_show_round(int64_t milliwatts)
{
	return (milliwatts + 500) / 1000;
}

/* "450 W", "?" */
static const char *power_show_watts(int64_t milliwatts, char room[24])
{
	if (milliwatts == POWER_UNKNOWN || milliwatts == SUPPLY_TOO_MUCH)
		snprintf(room, 24, "?");
	else
		snprintf(room, 24, "%lld W", (long long)power_show_round(milliwatts));
	return room;
}

/* Dollars an hour for so much at the wall. */
static int64_t power_show_cost(const struct power_view *v, int64_t wall)
{
	return wall == SUPPLY_TOO_MUCH ? 0 : wall * v->price / MEGA;
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static void power_show_put(json_t *o, const char *key, int64_t milliwatts)
{
	if (milliwatts != POWER_UNKNOWN && milliwatts != SUPPLY_TOO_MUCH)
		json_object_set_new(o, key, json_integer(power_show_round(milliwatts)));
}

/* Thousandths of its best speed that it would have; -1: unknown. day: when that was measured. */
static int power_show_speed(const struct power_view *v, const struct power_device *d, char day[16])
{
	int64_t at = 0;
	int speed = v->curves && d->way ? curve_speed(v->curves, d, d->target, &at) : -1;
	time_t when = (time_t)at;
	struct tm tm;

	if (speed < 0 || !gmtime_r(&when, &tm) || strftime(day, 16, "%Y-%m-%d", &tm) == 0)
		return -1;
	return speed;
}

static json_t *power_show_device(const struct power_view *v, const struct power_device *d)
{
	json_t *o = json_object();
	char label[32], day[16];
	int speed;

	json_object_set_new(o, "device", json_string(power_label(d, label)));
	json_object_set_new(o, "address", json_string(d->address));
	json_object_set_new(o, "name", json_stringn_nocheck(d->name, strlen(d->name)));
	json_object_set_new(o, "interface", d->way ? json_string(d->way->name) : json_null());
	power_show_put(o, "draw_watts", d->draw);
	power_show_put(o, "limit_watts", d->way ? d->enforced : budget_counts(d));
	power_show_put(o, "least_watts", d->least);
	power_show_put(o, "most_watts", d->most);
	power_show_put(o, "default_watts", d->usual);
	if (v->set && d->target > 0)
		power_show_put(o, "target_watts", d->target);
	if (v->set && (speed = power_show_speed(v, d, day)) >= 0) {
		json_object_set_new(o, "speed_permille", json_integer(speed));
		json_object_set_new(o, "speed_measured", json_string(day));
	}
	if (*d->why)
		json_object_set_new(o, "error", json_string(d->why));
	return o;
}

static json_t *power_show_object(const struct power_view *v, const struct sums *s)
{
	json_t *o = json_object(), *list = json_array();
	const struct envelope *e = &v->h->e;

	json_object_set_new(o, "object", json_string("power"));
	json_object_set_new(o, "set", json_boolean(v->set));
	if (v->set) {
		json_object_set_new(o, "psu", json_string(e->supply.text));
		power_show_put(o, "envelope_watts", e->wall);
		power_show_put(o, "reserve_watts", e->reserve);
		power_show_put(o, "behind_watts", supply_behind(&e->supply, e->wall));
		power_show_put(o, "limits_wall_watts", power_show_wall(v, s->limits));
		power_show_put(o, "targets_wall_watts", power_show_wall(v, s->targets));
		power_show_put(o, "draw_wall_watts", power_show_wall(v, s->draw));
		json_object_set_new(o, "holds", json_boolean(!v->wrong));
	}
	json_object_set_new(o, "draw_known", json_boolean(s->draw_known));
	if (v->wrong)
		json_object_set_new(o, "message", json_string(v->wrong));
	for (size_t i = 0; i < v->h->count; i++)
		json_array_append_new(list, power_show_device(v, &v->h->list[i]));
	json_object_set_new(o, "devices", list);
	return o;
}

static int power_show_dump(json_t *o, FILE *out)
{
	char *text = o ? json_dumps(o, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;

	json_decref(o);
	fprintf(out, "%s\n", text ? text : "null");
	free(text);
	return fflush(out) != 0;
}

/* ---- Text -------------------------------------------------------------------------------------- */

static void power_show_row(const struct power_view *v, const struct power_device *d, FILE *out)
{
	char label[32], draw[24], limit[24], range[48] = "-", usual[24];

	(void)v;
	if (d->way && d->least != POWER_UNKNOWN && d->most != POWER_UNKNOWN)
		snprintf(range, sizeof range, "%lld-%lld W", (long long)power_show_round(d->least),
			(long long)power_show_round(d->most));
	else if (!d->way)
		snprintf(range, sizeof range, "no limit");
	fprintf(out, "%-6s  %-32.32s  %7s  %7s  %-10s  %7s\n", power_label(d, label), d->name,
		power_show_watts(d->draw, draw), power_show_watts(d->way ? d->enforced : budget_counts(d), limit),
		range, d->way ? power_show_watts(d->usual, usual) : "-");
}

static void power_show_head(const struct power_view *v, const struct sums *s, FILE *out)
{
	const struct envelope *e = &v->h->e;
	int64_t limits = power_show_wall(v, s->limits);
	char draw[24], may[24], left[24];

	fprintf(out, "drawn     %s of %lld W at the wall%s\n", power_show_watts(power_show_wall(v, s->draw), draw),
		(long long)(e->wall / 1000), s->draw_known ? ", estimated" : ", without GPUs that tell nothing");
	fprintf(out, "limits    %s at the wall, so %s%s\n", power_show_watts(limits, may),
		limits <= e->wall ? power_show_watts(e->wall - limits, left) : "they do not fit",
		limits <= e->wall ? " are left" : "");
	fprintf(out, "supply    %s: %lld W behind it for that\n", e->supply.text,
		(long long)(supply_behind(&e->supply, e->wall) / 1000));
	fprintf(out, "reserve   %lld W for board, memory, disks and fans\n\n", (long long)(e->reserve / 1000));
}

int power_show(const struct power_view *v, bool json, FILE *out)
{
	struct sums s = power_show_sums(v);

	if (json)
		return power_show_dump(power_show_object(v, &s), out);
	if (v->set)
		power_show_head(v, &s, out);
	fprintf(out, "%-6s  %-32s  %7s  %7s  %-10s  %7s\n", "DEVICE", "NAME", "DRAWS", "LIMIT", "RANGE", "DEFAULT");
	for (size_t i = 0; i < v->h->count; i++)
		power_show_row(v, &v->h->list[i], out);
	for (size_t i = 0; i < v->h->count; i++)
		if (*v->h->list[i].why) {
			char label[32];

			fprintf(out, "%s: %s\n", power_label(&v->h->list[i], label), v->h->list[i].why);
		}
	if (!v->set)
		fprintf(out,
			"\nNothing is set: no limit is kept. Set what the wall bears, e.g.\n"
			"    nanopod host power set --envelope 1440W --psu gold\n");
	else if (v->wrong)
		fprintf(out, "\nLimits do not hold, so no node starts: %s\n", v->wrong);
	else
		fprintf(out, "\nLimits hold.\n");
	return fflush(out) != 0;
}

/* ---- Plans ------------------------------------------------------------------------------------- */

struct step_list {
	char text[STEPS][STEP_TEXT];
	size_t count;
};

static __attribute__((format(printf, 2, 3))) void power_show_step(struct step_list *l, const char *fmt, ...)
{
	va_list ap;

	if (l->count == STEPS)
		return;
	va_start(ap, fmt);
	vsnprintf(l->text[l->count++], STEP_TEXT, fmt, ap);
	va_end(ap);
}

static void power_show_change(const struct power_device *d, bool lowers, struct step_list *l)
{
	char label[32], from[24], to[24];
	bool above = d->enforced > d->target + POWER_GRAIN, below = d->enforced + POWER_GRAIN < d->target;

	if (d->way && d->enforced != POWER_UNKNOWN && (lowers ? above : below))
		power_show_step(l, "%s %s from %s to %s", lowers ? "lower" : "raise", power_label(d, label),
			power_show_watts(d->enforced, from), power_show_watts(d->target, to));
}

/* The order of change.c. */
static void power_show_steps(const struct hold *h, struct step_list *l)
{
	int64_t window = 0;
	size_t lowered;

	for (size_t i = 0; i < h->count; i++) {
		power_show_change(&h->list[i], true, l);
		if (h->list[i].way && h->list[i].window_ms > window)
			window = h->list[i].window_ms;
	}
	lowered = l->count;
	for (size_t i = 0; i < h->count; i++)
		power_show_change(&h->list[i], false, l);
	if (l->count > lowered && l->count < STEPS) {
		memmove(l->text[lowered + 1], l->text[lowered], (l->count - lowered) * STEP_TEXT);
		snprintf(l->text[lowered], STEP_TEXT, "read back, and wait %lld s until all draw less",
			(long long)((window + 999) / 1000));
		l->count++;
	}
}

/* What the limits cost in speed. */
static void power_show_speeds(const struct power_view *v, FILE *out)
{
	bool any = false, missing = false;

	for (size_t i = 0; i < v->h->count; i++) {
		const struct power_device *d = &v->h->list[i];
		char label[32], day[16];
		int speed = power_show_speed(v, d, day);

		missing = missing || (speed < 0 && d->kind == POWER_GPU);
		if (speed >= 0)
			fprintf(out, "%-8s  %s has %d.%d %% of its best speed, as measured on %s\n", any ? "" : "speed",
				power_label(d, label), speed / 10, speed % 10, day);
		any = any || speed >= 0;
	}
	if (missing)
		fprintf(out, "%-8s  %s\n", any ? "" : "speed",
			any ? "of the others unknown" : "unknown: 'nanopod host power sweep' measures it");
}

int power_show_plan(const struct power_view *v, bool json, FILE *out)
{
	struct sums s = power_show_sums(v);
	int64_t wall = power_show_wall(v, s.targets), cost = power_show_cost(v, wall);
	static struct step_list l;
	char may[24];

	l.count = 0;
	power_show_steps(v->h, &l);
	if (json) {
		json_t *o = power_show_object(v, &s), *list = json_array();
		char dollars[48];

		for (size_t i = 0; i < l.count; i++)
			json_array_append_new(list, json_string(l.text[i]));
		json_object_set_new(o, "steps", list);
		snprintf(dollars, sizeof dollars, "%lld.%06lld", (long long)(cost / MEGA), (long long)(cost % MEGA));
		if (v->price)
			json_object_set_new(o, "dollars_per_hour", json_string(dollars));
		return power_show_dump(o, out);
	}
	fprintf(out, "envelope  %lld W at the wall, %lld W behind a supply '%s'\n", (long long)(v->h->e.wall / 1000),
		(long long)(v->h->b.behind / 1000), v->h->e.supply.text);
	for (size_t i = 0; i < v->h->count; i++) {
		const struct power_device *d = &v->h->list[i];
		char label[32], target[24];

		fprintf(out, "%-8s  %s%s  %.40s\n", power_label(d, label), power_show_watts(d->target, target),
			d->way ? "" : " counted, it has no limit", d->name);
	}
	power_show_speeds(v, out);
	fprintf(out, "reserve   %lld W\n", (long long)(v->h->e.reserve / 1000));
	fprintf(out, "at most   %s at the wall\n", power_show_watts(wall, may));
	if (v->price)
		fprintf(out, "price     $%lld.%03lld per hour of electricity at full draw\n", (long long)(cost / MEGA),
			(long long)(cost % MEGA / 1000));
	for (size_t i = 0; i < l.count; i++)
		fprintf(out, "%-8s  %s\n", i ? "" : "steps", l.text[i]);
	if (!l.count)
		fprintf(out, "steps     none: all limits are as they should be\n");
	return fflush(out) != 0;
}
