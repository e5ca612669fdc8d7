/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, one a row, and what each looks at. np_alerts.c says for which things they are asked. */
#include "marketd/api/alert/alerts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "market/ident.h"
#include "market/metric.h"
#include "market/money.h"
#include "market/when.h"
#include "marketd/api/np/np.h"
#include "marketd/api/render.h"
#include "marketd/store/watch.h"

enum { SENTENCE_BYTES = 1024, WHY_MOST = 300, NEXT_BYTES = 200, PIECE = 400 };

/* ---- States ------------------------------------------------------------------------------ */

int alert_silent(const struct api *api, const struct agent *a, int64_t *since)
{
	const struct engine *e = market_engine(api->market);
	const struct watched *w = watch_agent(api->watch, a->id);
	const struct host *h = engine_host_of_agent(e, a->id, 0);

	if (strcmp(api_agent_state(api, a), "silent") != 0)
		return 0;
	*since = w ? w->heard_at : 0;
	/* It was silent before this market started: then its hosts are down since. */
	for (; h && !(w && w->heard_at); h = engine_host_of_agent(e, a->id, h->id))
		if (h->watched && h->down && h->down_at && (!*since || h->down_at < *since))
			*since = h->down_at;
	return *since ? 1 : -1;
}

static bool alert_machine_silent(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	return s->agent && alert_silent(s->api, s->agent, &out->since) > 0;
}

static bool alert_node_away(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	if (!s->host)
		return false;
	out->why = s->host->down ? s->host->why : NULL;
	if (s->agent && alert_machine_silent(r, s, out)) {
		out->state = "silent";
		return true;
	}
	out->state = "down";
	out->since = s->host->down_at;
	return s->host->down;
}

/* One of a silent machine is no matter of its own. */
static bool alert_host_down(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	int64_t since;

	(void)r;
	out->since = s->host->down_at;
	out->why = s->host->why;
	return s->host->down && !(s->agent && alert_silent(s->api, s->agent, &since));
}

static bool alert_host_drains(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	out->since = s->host->drain * 60 <= market_now(s->api->market) ? s->host->drain * 60 : 0;
	out->state = out->since ? "out of service" : "going out of service";
	out->why = s->host->drain_why;
	return s->host->drain != 0;
}

static bool alert_host_unproven(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	out->since = s->host->proof_at;
	out->why = s->host->proof_why;
	return s->host->proof == PROOF_FAILED;
}

/* As grave as the operator says it is. */
static bool alert_announced(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	static const enum alert_severity grave[] = { ALERT_INFO, ALERT_WARNING, ALERT_CRITICAL };

	(void)r;
	out->since = s->said->from * 60;
	out->severity = grave[s->said->severity];
	return true;
}

/* ---- Money and time ---------------------------------------------------------------------- */

static bool alert_lease_ends(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	int64_t left = s->ends * 60 - market_now(s->api->market), due = s->ends * 60 - (int64_t)r->threshold;

	out->value = (double)left;
	out->since = due > s->begun * 60 ? due : s->begun * 60;
	return s->nodes > 0 && left > 0 && left < (int64_t)r->threshold;
}

static bool alert_balance_low(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	const struct account *a = engine_account(market_engine(s->api->market), s->account);
	int64_t spendable;

	(void)r;
	if (!a || money_add(a->available, -a->floor, &spendable))
		return false;
	out->value = (double)spendable / 1e6;
	out->money = s->keeping;
	return s->keeping > 0 && spendable < s->keeping;
}

/* It owes: on credit, or as a payment went back. Where nothing is left of the credit it is the other rule's. */
static bool alert_owes(const struct alert_subject *s, struct alert *out, bool blocked)
{
	const struct account *a = engine_account(market_engine(s->api->market), s->account);

	if (!a || !account_owed(a) || (a->available <= a->floor) != blocked)
		return false;
	out->money = account_owed(a);
	out->value = (double)(a->available - a->floor) / 1e6;
	return true;
}

static bool alert_balance_owed(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	return alert_owes(s, out, false);
}

static bool alert_balance_blocked(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	return alert_owes(s, out, true);
}

/* Money that is nobody's; or what this market cannot count. */
static bool alert_payment(const struct alert_subject *s, struct alert *out, bool uncounted)
{
	out->state = np_payment_uncounted(s->payment);
	out->since = s->payment->created_at;
	for (size_t i = 0; i < s->payment->part_count; i++)
		out->money += s->payment->parts[i].micros;
	return np_payment_waits(s->payment) && !out->state != uncounted;
}

static bool alert_payment_unclaimed(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	return alert_payment(s, out, false);
}

static bool alert_payment_uncounted(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	return alert_payment(s, out, true);
}

/* ---- Samples ----------------------------------------------------------------------------- */

/* Each GPU by itself; the worst one is named. */
static bool alert_part_over(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	const struct alert_bound bound = { r->metric, r->whole, r->threshold, false, r->coarse };
	struct alert_curves *c = s->samples;
	enum metric_of of = metric_numbered(r->metric)->of;
	bool gpus = of == METRIC_OF_GPU || of == METRIC_OF_NODE_GPU;
	size_t found = 0;

	for (size_t k = alert_curves_find(c, r->metric, 0); k < c->count; k = alert_curves_find(c, r->metric, k + 1)) {
		double value = NAN;
		int64_t since = alert_curves_since(c, &bound, k, &value);

		if (!since || c->now - since < r->seconds)
			continue;
		found++;
		if (found > 1 && value <= out->value)
			continue;
		out->value = value;
		out->since = since;
		out->gpu = gpus ? (int64_t)c->keys[k].index : -1;
	}
	out->others = found ? found - 1 : 0;
	return found > 0;
}

/* Whatever its number. */
static bool alert_xid_told(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	struct alert_rule any = *r;

	any.threshold = 1;
	return alert_part_over(&any, s, out);
}

static bool alert_errors_grew(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	const struct alert_curves *c = s->samples;
	size_t found = 0;

	for (size_t k = alert_curves_find(c, r->metric, 0); k < c->count; k = alert_curves_find(c, r->metric, k + 1)) {
		int64_t since = 0;
		double grown = alert_curves_grown(c, k, &since);

		if (grown < r->threshold || (found++ && grown <= out->value))
			continue;
		out->value = grown;
		out->since = since;
		out->gpu = c->keys[k].index;
	}
	out->others = found ? found - 1 : 0;
	return found > 0;
}

/* All of its GPUs, on time that it pays for. */
static bool alert_node_idles(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	const struct alert_bound bound = { r->metric, 0, r->threshold, true, r->coarse };
	const struct engine *e = market_engine(s->api->market);
	const struct piece *p = s->host ? engine_piece_at(s->host, engine_minute(e)) : NULL;
	const struct lease *l = p && p->pool == s->node->pool ? engine_lease(e, p->lease) : NULL;

	if (!l || l->price <= 0 || money_mul(l->price, 60, &out->money))
		return false;
	out->since = alert_curves_since(s->samples, &bound, SIZE_MAX, &out->value);
	return out->since != 0;
}

/* ---- The rules --------------------------------------------------------------------------- */

/*
 * Why these numbers. Silence: five minutes, as NanopodMachinesSilent of daemon/monitoring; a host that is down:
 * a quarter of an hour, as NanopodHostsDown. Heat: 87 degrees are what data-centre GPUs may have for long, and those
 * for desks hold 83 by themselves; after five minutes it is no peak of a start. Throttling: half of the time for ten
 * minutes; a moment is normal at a limit. Memory and disk: ten minutes, so that a checkpoint or an image that is
 * unpacked raises none. Idle: an hour, longer than loading data takes. The end of a lease: an hour, enough to save and
 * to extend; the balance: a day, for who looks once a day.
 */
#define GPU_RULES(X) \
	X(MACHINE, "machine", 23, 27, 28, 29, "nanopod top --hosts {name} -g") \
	X(NODE, "node", 63, 67, 68, 69, "nanopod top {name} -g")

#define GPU_ROWS(of, word, heat, slow, errors, xid, next) \
	{ word "_gpu_xid", ALERT_OF_##of, ALERT_WARNING, ALERT_NO_UNIT, NAN, ALERT_AT_ONCE, alert_xid_told, xid, 0, \
		false, "{gpus}: its driver told Xid {value} within the last hour", next }, \
		{ word "_gpu_errors", ALERT_OF_##of, ALERT_CRITICAL, ALERT_COUNT, 1, ALERT_AT_ONCE, alert_errors_grew, \
			errors, 0, true, \
			"{gpus}: {value} memory errors that could not be corrected, in the last hour", next }, \
		{ word "_gpu_hot", ALERT_OF_##of, ALERT_WARNING, ALERT_CELSIUS, 87, 300, alert_part_over, heat, 0, \
			false, "{gpus}: {value}, and {threshold} or more for {for}", next }, \
		{ word "_gpu_throttled", ALERT_OF_##of, ALERT_WARNING, ALERT_RATIO, 0.5, 600, alert_part_over, slow, \
			0, true, "{gpus}: slowed down by heat or power, {threshold} of the time or more for {for}", \
			next },

const struct alert_rule alert_rules[] = {
	{ "balance_low", ALERT_OF_ACCOUNT, ALERT_WARNING, ALERT_DOLLARS, 86400, ALERT_AT_ONCE, alert_balance_low, 0, 0,
		false, "keeping what runs now for {ahead} more costs {money}; {value} is available", "nanopod burn" },
	{ "balance_owed", ALERT_OF_ACCOUNT, ALERT_WARNING, ALERT_DOLLARS, NAN, ALERT_AT_ONCE, alert_balance_owed, 0, 0,
		false, "the account owes {money}; when it owes {value} more, it buys nothing new",
		"nanopod topup {debt}" },
	{ "balance_blocked", ALERT_OF_ACCOUNT, ALERT_CRITICAL, ALERT_DOLLARS, NAN, ALERT_AT_ONCE, alert_balance_blocked,
		0, 0, false,
		"the account owes {money}, so it buys nothing new until that is paid; what it paid for goes on",
		"nanopod topup {debt}" },
	{ "debt_reminder", ALERT_OF_ACCOUNT, ALERT_WARNING, ALERT_DOLLARS, NAN, ALERT_AT_ONCE, alert_debt_reminded, 0,
		0, false,
		"reminder: the account owes {money} since {since}; unless that is paid, the market suspends it at "
		"{until}",
		"nanopod topup {debt}" },
	{ "debt_last_reminder", ALERT_OF_ACCOUNT, ALERT_CRITICAL, ALERT_DOLLARS, NAN, ALERT_AT_ONCE, alert_debt_warned,
		0, 0, false,
		"last reminder: the account owes {money} since {since}; unless that is paid, the market suspends it at "
		"{until}, and it buys nothing more",
		"nanopod topup {debt}" },
	{ "debt_suspended", ALERT_OF_ACCOUNT, ALERT_CRITICAL, ALERT_DOLLARS, NAN, ALERT_AT_ONCE, alert_debt_suspended,
		0, 0, false,
		"the market suspended the account, which owes {money} since {since}; it buys nothing more until that "
		"is paid, and is open again then; what it paid for goes on",
		"nanopod topup {debt}" },
	{ "plan_lapses", ALERT_OF_ACCOUNT, ALERT_WARNING, ALERT_SECONDS, 5 * 86400, ALERT_AT_ONCE, alert_plan_lapses, 0,
		0, false, "plan {plan} ends in {value}: {money} is missing for its next fee", "nanopod topup {debt}" },
	{ "plan_lapsed", ALERT_OF_ACCOUNT, ALERT_WARNING, ALERT_NO_UNIT, NAN, ALERT_AT_ONCE, alert_plan_lapsed, 0, 0,
		false, "plan {plan} ended with its month, as its next fee could not be paid",
		"nanopod plan subscribe {plan}" },
	{ "volume_unpaid", ALERT_OF_VOLUME, ALERT_CRITICAL, ALERT_SECONDS, NAN, ALERT_AT_ONCE, alert_volume_unpaid, 0,
		0, false, "{money} is missing to pay it; it is kept until {until} (for {value}), then deleted",
		"nanopod topup {debt}" },
	{ "lease_ends", ALERT_OF_RESERVATION, ALERT_WARNING, ALERT_SECONDS, 3600, ALERT_AT_ONCE, alert_lease_ends, 0, 0,
		false, "{nodes} in {value}, and no time after that is bought", "nanopod extend {name} -d 1h" },
	{ "machine_silent", ALERT_OF_MACHINE, ALERT_CRITICAL, ALERT_NO_UNIT, NAN, 300, alert_machine_silent, 0, 0,
		false, "its agent has not called the market for {for}", "nanopod host status" },
	{ "machine_memory", ALERT_OF_MACHINE, ALERT_WARNING, ALERT_RATIO, 0.95, 600, alert_part_over, 2, 3, false,
		"{value} of its memory is in use; {threshold} or more for {for}", "nanopod top --hosts {name}" },
	{ "machine_disk", ALERT_OF_MACHINE, ALERT_WARNING, ALERT_RATIO, 0.90, 600, alert_part_over, 4, 5, false,
		"{value} of the disk that nodes are on is in use; {threshold} or more for {for}",
		"nanopod top --hosts {name}" },
	{ "host_down", ALERT_OF_HOST, ALERT_CRITICAL, ALERT_NO_UNIT, NAN, 900, alert_host_down, 0, 0, false,
		"the market sells nothing of it and refunds its buyers{why}", "nanopod host status" },
	{ "host_unproven", ALERT_OF_HOST, ALERT_WARNING, ALERT_NO_UNIT, NAN, 0, alert_host_unproven, 0, 0, false,
		"what it measured does not reach what its type asks for{why}", "nanopod host verify" },
	{ "host_draining", ALERT_OF_HOST, ALERT_INFO, ALERT_NO_UNIT, NAN, 0, alert_host_drains, 0, 0, false,
		"it is {state}{why}", "nanopod host status" },
	{ "node_away", ALERT_OF_NODE, ALERT_CRITICAL, ALERT_NO_UNIT, NAN, 300, alert_node_away, 0, 0, false,
		"its host is {state}{why}; you get the minutes until it is back refunded", "nanopod replace {name}" },
	{ "node_disk", ALERT_OF_NODE, ALERT_WARNING, ALERT_RATIO, 0.90, 600, alert_part_over, 45, 46, false,
		"{value} of its disk is in use; {threshold} or more for {for}", "nanopod run -w {name} -- df -h" },
	{ "node_gpu_memory", ALERT_OF_NODE, ALERT_WARNING, ALERT_RATIO, 0.95, 600, alert_part_over, 61, 62, false,
		"{gpus}: {value} of its memory is in use; {threshold} or more for {for}", "nanopod top {name} -g" },
	{ "node_idle", ALERT_OF_NODE, ALERT_WARNING, ALERT_RATIO, 0.03, 3600, alert_node_idles, 60, 0, true,
		"its GPUs have done less than {threshold} for {for}, at {money} an hour", "nanopod top {name} -g" },
	{ "payment_unclaimed", ALERT_OF_PAYMENT, ALERT_WARNING, ALERT_NO_UNIT, NAN, ALERT_AT_ONCE,
		alert_payment_unclaimed, 0, 0, false,
		"Stripe moved {money} of a payment of which nobody knows whose it is; 'payment claim' or 'payment "
		"dismiss' says it",
		"nanopod admin payment list" },
	{ "payment_uncounted", ALERT_OF_PAYMENT, ALERT_WARNING, ALERT_NO_UNIT, NAN, ALERT_AT_ONCE,
		alert_payment_uncounted, 0, 0, false,
		"Stripe moved {state} (in the smallest unit), which this market does not count; look at Stripe",
		"nanopod admin payment list" },
	{ "announcement", ALERT_OF_ANNOUNCEMENT, ALERT_INFO, ALERT_NO_UNIT, NAN, 0, alert_announced, 0, 0, false,
		"{said}", "nanopod alerts" },
	GPU_RULES(GPU_ROWS){ 0 },
};

void alert_metrics(enum alert_of of, uint32_t list[ALERT_METRICS])
{
	size_t n = 0;

	for (const struct alert_rule *r = alert_rules; r->name; r++) {
		if (r->of != of || !r->metric || n + 3 > ALERT_METRICS)
			continue;
		list[n++] = r->metric;
		if (r->whole)
			list[n++] = r->whole;
	}
	list[n] = 0;
}

/* ---- Words ------------------------------------------------------------------------------- */

const char *alert_severity_word(enum alert_severity s)
{
	static const char *const words[] = { "critical", "warning", "info" };

	return words[s];
}

const char *alert_of_word(enum alert_of of)
{
	static const char *const words[] = { "account", "reservation", "machine", "host", "node", "announcement",
		"payment", "volume" };

	return words[of];
}

static const char *alert_number(enum alert_unit unit, double v, char room[PIECE])
{
	char text[MONEY_TEXT];

	switch (unit) {
	case ALERT_CELSIUS:
		snprintf(room, PIECE, "%.0f degrees Celsius", v);
		break;
	case ALERT_RATIO: /* rounded down: 100 % is all of it */
		snprintf(room, PIECE, "%d %%", (int)(v * 100 + 0.01));
		break;
	case ALERT_SECONDS:
		when_span((int64_t)v, room);
		break;
	case ALERT_DOLLARS:
		money_text((int64_t)(v * 1e6 + (v < 0 ? -0.5 : 0.5)), text);
		snprintf(room, PIECE, "%s", text);
		break;
	default:
		snprintf(room, PIECE, "%.0f", v);
	}
	return room;
}

static const char *alert_gpus(const struct alert *a, char room[PIECE])
{
	if (a->others)
		snprintf(room, PIECE, "GPU %" PRId64 " and %zu other%s", a->gpu, a->others, a->others > 1 ? "s" : "");
	else
		snprintf(room, PIECE, "GPU %" PRId64, a->gpu);
	return room;
}

static int64_t alert_cents(int64_t micros)
{
	int64_t cents = micros / 10000 + (micros % 10000 != 0);

	return cents > 50 ? cents : 50;
}

/* May it stand in a line that people paste into a shell? */
static bool alert_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return name && *name && *name != '-' && !name[strspn(name, plain)];
}

/* What a word in braces stands for. */
static const char *alert_piece(const struct alert *a, const struct alert_subject *s, const char *word, char room[PIECE])
{
	int64_t now = market_now(s->api->market);

	*room = '\0';
	if (strcmp(word, "value") == 0)
		return alert_number(a->rule->unit, a->value, room);
	if (strcmp(word, "threshold") == 0)
		return alert_number(a->rule->unit, a->rule->threshold, room);
	if (strcmp(word, "ahead") == 0)
		return when_span((int64_t)a->rule->threshold, room);
	if (strcmp(word, "for") == 0)
		return when_span(now - a->since, room);
	if (strcmp(word, "gpus") == 0)
		return alert_gpus(a, room);
	if (strcmp(word, "money") == 0)
		return money_text(a->money, room);
	if (strcmp(word, "debt") == 0) /* as it is typed: whole cents, at least what payment services take */
		snprintf(room, PIECE, "%" PRId64 ".%02d", alert_cents(a->money) / 100,
			(int)(alert_cents(a->money) % 100));
	if (strcmp(word, "until") == 0)
		return when_iso(a->until, room);
	if (strcmp(word, "since") == 0)
		return when_iso(a->since, room);
	if (strcmp(word, "plan") == 0)
		return alert_plain(a->plan->name) ? a->plan->name : ident_text(IDENT_PLAN, a->plan->id, room);
	if (strcmp(word, "said") == 0)
		return s->said->text;
	if (strcmp(word, "state") == 0)
		return a->state ? a->state : "";
	if (strcmp(word, "nodes") == 0)
		snprintf(room, PIECE, "%" PRId64 " node%s", s->nodes, s->nodes > 1 ? "s end" : " ends");
	if (strcmp(word, "why") == 0 && a->why && *a->why)
		snprintf(room, PIECE, " (%.*s)", WHY_MOST, a->why);
	return room;
}

/* The text with its words; name for {name}. */
static void alert_fill(const struct alert *a, const struct alert_subject *s, const char *text, const char *name,
	struct buf *out)
{
	while (*text) {
		size_t plain = strcspn(text, "{"), len;
		char word[16], room[PIECE];

		buf_add(out, text, plain);
		text += plain;
		len = *text ? strcspn(text, "}") : 0;
		if (!len || len > sizeof word)
			return;
		snprintf(word, sizeof word, "%.*s", (int)len - 1, text + 1);
		buf_adds(out, strcmp(word, "name") == 0 ? name : alert_piece(a, s, word, room));
		text += len + 1;
	}
}

static json_t *alert_id(const struct alert_subject *s, const char **name)
{
	switch (s->of) {
	case ALERT_OF_ACCOUNT:
		*name = engine_account(market_engine(s->api->market), s->account)->name;
		return render_id(IDENT_ACCOUNT, s->account);
	case ALERT_OF_RESERVATION:
		*name = s->pool->name;
		return render_id(IDENT_POOL, s->pool->id);
	case ALERT_OF_MACHINE:
		*name = s->agent->name;
		return render_id(IDENT_AGENT, s->agent->id);
	case ALERT_OF_HOST:
		*name = s->host->name;
		return render_id(IDENT_HOST, s->host->id);
	case ALERT_OF_ANNOUNCEMENT:
		*name = "operator";
		return render_id(IDENT_ANNOUNCEMENT, s->said->id);
	case ALERT_OF_PAYMENT:
		*name = s->payment->reference;
		return render_id(IDENT_PAYMENT, s->payment->id);
	case ALERT_OF_VOLUME:
		*name = s->volume->name;
		return render_id(IDENT_VOLUME, s->volume->id);
	case ALERT_OF_NODE:
		break;
	}
	*name = s->node->name;
	return render_id(IDENT_INSTANCE, s->node->id);
}

static json_t *alert_real(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *alert_json(const struct alert *a, const struct alert_subject *s)
{
	const struct account *of = engine_account(market_engine(s->api->market), s->account);
	const char *name = NULL;
	json_t *id = alert_id(s, &name), *made;
	struct buf text, next;

	buf_init(&text, SENTENCE_BYTES);
	buf_init(&next, NEXT_BYTES);
	alert_fill(a, s, a->text ? a->text : a->rule->text, "", &text);
	alert_fill(a, s, a->next ? a->next : a->rule->next, alert_plain(name) ? name : json_string_value(id), &next);
	made = json_pack("{s:s, s:s, s:s, s:{s:s, s:o, s:o, s:o}, s:o, s:o, s:o, s:s, s:I, s:o, s:o}", "object",
		"alert", "rule", a->rule->name, "severity", alert_severity_word(a->severity), "subject", "kind",
		alert_of_word(s->of), "id", id, "name", render_text(name), "account", render_text(of ? of->name : NULL),
		"since", a->since ? json_integer(a->since) : json_null(), "value", alert_real(a->value), "threshold",
		alert_real(a->rule->unit == ALERT_DOLLARS ? (double)a->money / 1e6 : a->rule->threshold), "unit",
		(const char *[]){ "none", "celsius", "ratio", "count", "seconds", "dollars" }[a->rule->unit],
		"for_seconds", (json_int_t)(a->rule->seconds > 0 ? a->rule->seconds : 0), "text",
		render_text(buf_text(&text)), "next", render_text(buf_text(&next)));
	buf_release(&text);
	buf_release(&next);
	return made;
}

void alert_look(const struct alert_rule *rules, const struct alert_subject *s, json_t *data)
{
	int64_t now = market_now(s->api->market);

	for (const struct alert_rule *r = rules; r->name; r++) {
		struct alert a = { .rule = r, .severity = r->severity, .value = NAN, .gpu = -1 };

		if (r->of != s->of || (r->metric && !s->samples) || !r->holds(r, s, &a))
			continue;
		if (a.since && now - a.since < r->seconds)
			continue;
		json_array_append_new(data, alert_json(&a, s));
	}
}
