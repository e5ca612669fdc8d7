/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lago. It takes no event for what it does not know, and says nothing then: metrics, plans, customers and subscriptions
 * are there before the first event of each. A tier is a plan of its own. What is sold on the market has charges that
 * are dynamic: each event says what it costs. Tokens have a price in Lago. What the operator changed of these there
 * stays.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/frame/json.h"
#include "cli/frame/signals.h"
#include "cli/meter/meterway.h"
#include "market/client.h"
#include "market/when.h"

enum { LAGO_CONNECT_MS = 5000, LAGO_WHOLE_MS = 30000, LAGO_BODY = 4 << 20, LAGO_MOST = 100, LAGO_PATH = 512 };

static const struct lago_metric {
	const char *code, *name, *field;
} lago_metrics[] = {
	{ "gpu_active_time", "GPU time", "gpu_seconds" },
	{ "node_time", "Node time", "node_minutes" },
	{ "batch_tokens", "Tokens", "total_tokens" },
	{ "storage_fee", "Volumes", "amount_micros" },
	{ "plan_fee", "Plans", "amount_micros" },
};
/* What stands for a tier: its metrics are those from `first` on. */
static const struct lago_tier {
	const char *tier, *name;
	size_t first, metrics;
	const char *model, *groups[2]; /* of its charges */
} lago_tiers[] = {
	{ "reserved", "Reserved nodes", 0, 2, "dynamic", { "type", "kind" } },
	{ "spot", "Spot nodes", 0, 2, "dynamic", { "type", "kind" } },
	{ "tokens", "Tokens", 2, 1, "standard", { "model", "estimated" } },
	{ "storage", "Volumes", 3, 1, "dynamic", { "tier", "kind" } },
	{ "plan", "Plans", 4, 1, "dynamic", { "tier", "kind" } },
};
enum { LAGO_METRICS = sizeof lago_metrics / sizeof *lago_metrics, LAGO_TIERS = sizeof lago_tiers / sizeof *lago_tiers };

struct lago {
	struct client *client;
	struct client_answer answer; /* its last */
	struct doc *doc;             /* the same, read */
	bool ready[LAGO_TIERS];      /* its metrics and its plan are there */
	char metric_id[LAGO_METRICS][64];
	char **known; /* ids of subscriptions that are there */
	size_t known_count, known_room;
	char batch[LAGO_PATH]; /* id of the first event of the batch that is being sent, and what is known of each */
	enum lago_state { LAGO_NEW, LAGO_CLAIMED, LAGO_THERE } state[LAGO_MOST];
};

/* ---- Opening ------------------------------------------------------------------------------ */

static int lago_open(struct meter_way *w, const char *where, const char *key, struct fail *f)
{
	struct client_setup setup = { .token = key,
		.connect_ms = LAGO_CONNECT_MS,
		.whole_ms = LAGO_WHOLE_MS,
		.tries = 1,
		.stop_fd = signals_fd() };
	struct lago *l = calloc(1, sizeof *l);
	size_t len = strlen(where);
	char *url;
	int rc;

	while (len && where[len - 1] == '/')
		len--;
	if (len > 7 && strncmp(where + len - 7, "/api/v1", 7) == 0)
		len -= 7;
	url = strndup(where, len);
	if (!l || !url)
		command_nomem();
	w->own = l;
	client_answer_init(&l->answer);
	setup.url = url;
	rc = str_starts(url, "http")
		? client_new(&setup, &l->client, f)
		: fail_set(f, -EINVAL, "'%.100s' is no URL of Lago, e.g. lago:https://api.getlago.com", where);
	free(url);
	return rc;
}

static void lago_close(struct meter_way *w)
{
	struct lago *l = w->own;

	client_free(l->client);
	client_answer_release(&l->answer);
	doc_free(l->doc);
	for (size_t i = 0; i < l->known_count; i++)
		free(l->known[i]);
	free(l->known);
	free(l);
}

/* ---- One request --------------------------------------------------------------------------- */

/* 0: it answered with JSON and 2xx, 404 or 422, which is *status. */
static int lago_ask(struct lago *l, const char *method, const char *path, const struct buf *body, int *status,
	struct fail *f)
{
	const struct client_call q = { .method = method,
		.path = path,
		.body = body ? body->data : NULL,
		.body_len = body ? body->len : 0,
		.once = true };
	struct fail why = { 0 };
	int rc = client_send(l->client, &q, &l->answer, &why);

	doc_free(l->doc);
	l->doc = NULL;
	*status = l->answer.status;
	if (rc == CLIENT_STOPPED || (rc && l->answer.sent != CLIENT_ANSWERED))
		return fail_set(f, rc, "%s", why.text);
	if (*status == 401 || *status == 403)
		return fail_set(f, REASON_FORBIDDEN, "it does not accept the key (%d)", *status);
	if (*status >= 300 && *status != 404 && *status != 422)
		return fail_set(f, rc ? rc : -EPROTO, "it answered %d", *status);
	if (doc_parse(buf_text(&l->answer.body), l->answer.body.len, &l->doc, &why) || !l->answer.body.len)
		return fail_set(f, -EPROTO, "it answered %d with something that is not JSON", *status);
	return 0;
}

/* A thing of Lago's, as it answers for it: {"plan": {"code": "spot", …}}. */
struct lago_thing {
	const char *what, *key, *id;
};

/* Is it there? 1, 0, or a negative code. */
static int lago_find(struct lago *l, const char *path, const struct lago_thing *t, struct fail *f)
{
	int status, rc = lago_ask(l, "GET", path, NULL, &status, f);
	const char *code;
	size_t len = strlen(t->what);

	if (rc)
		return rc;
	code = doc_text(l->doc, "code");
	if (status == 404 && code && strncmp(code, t->what, len) == 0 && strcmp(code + len, "_not_found") == 0)
		return 0;
	if (status < 300 && wire_lago_is(l->doc, t->what, t->key, t->id))
		return 1;
	return fail_set(f, -EPROTO, "it answered %d with something that is no %s '%s'", status, t->what, t->id);
}

/* Makes it, and checks that the answer is about it. */
static int lago_make(struct lago *l, const char *path, const struct buf *body, const struct lago_thing *t,
	struct fail *f)
{
	int status, rc = lago_ask(l, "POST", path, body, &status, f);

	if (rc)
		return rc;
	if (status >= 300)
		return fail_set(f, -EPROTO, "it refused the %s '%s': %.200s", t->what, t->id,
			buf_text(&l->answer.body));
	return wire_lago_id(l->doc, t->what, t->key, t->id)
		? 0
		: fail_set(f, -EPROTO, "it answered with something that is no %s '%s'", t->what, t->id);
}

/* ---- What must be there before events --------------------------------------------------------- */

static int lago_metric(struct lago *l, size_t at, struct fail *f)
{
	const struct lago_metric *m = &lago_metrics[at];
	const struct lago_thing t = { "billable_metric", "code", m->code };
	char path[LAGO_PATH];
	const char *id;
	struct buf body;
	struct json j;
	int rc;

	snprintf(path, sizeof path, "/api/v1/billable_metrics/%s", m->code);
	rc = lago_find(l, path, &t, f);
	if (rc < 0)
		return rc;
	buf_init(&body, LAGO_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "billable_metric");
	json_text(&j, "name", m->name);
	json_text(&j, "code", m->code);
	json_text(&j, "aggregation_type", "sum_agg");
	json_text(&j, "field_name", m->field);
	json_bool(&j, "recurring", false);
	json_end(&j);
	json_end(&j);
	rc = rc == 1 ? 0 : lago_make(l, "/api/v1/billable_metrics", &body, &t, f);
	buf_release(&body);
	if (rc)
		return rc;
	id = wire_lago_id(l->doc, t.what, t.key, t.id);
	if (!id || strlen(id) >= sizeof l->metric_id[at])
		return fail_set(f, -EPROTO, "it answered with something that is no billable_metric");
	memcpy(l->metric_id[at], id, strlen(id) + 1);
	return 0;
}

static bool lago_dynamic(const struct lago_tier *t)
{
	return strcmp(t->model, "dynamic") == 0;
}

static void lago_put_charges(const struct lago *l, const struct lago_tier *t, struct json *j)
{
	json_begin_array(j, "charges");
	for (size_t i = t->first; i < t->first + t->metrics; i++) {
		json_begin_object(j, NULL);
		json_text(j, "billable_metric_id", l->metric_id[i]);
		json_text(j, "charge_model", t->model);
		json_bool(j, "pay_in_advance", false);
		json_begin_object(j, "properties");
		if (!lago_dynamic(t))
			json_text(j, "amount", "0");
		json_begin_array(j, "pricing_group_keys");
		json_text(j, NULL, t->groups[0]);
		json_text(j, NULL, t->groups[1]);
		json_end(j);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static int lago_plan(struct lago *l, const struct lago_tier *tier, struct fail *f)
{
	char path[LAGO_PATH], code[64];
	const struct lago_thing t = { "plan", "code", code };
	struct buf body;
	struct json j;
	int rc;

	snprintf(code, sizeof code, "nanopod_%s", tier->tier);
	snprintf(path, sizeof path, "/api/v1/plans/%s", code);
	rc = lago_find(l, path, &t, f);
	if (rc < 0)
		return rc;
	for (size_t i = tier->first; rc == 1 && i < tier->first + tier->metrics; i++)
		if (!wire_lago_charges(l->doc, lago_metrics[i].code, lago_dynamic(tier) ? tier->model : NULL))
			return fail_set(f, -EPROTO,
				"its plan '%s' has no %s for '%s', so nothing of that would be billed: add it there, "
				"or delete the plan and it is made anew",
				code, lago_dynamic(tier) ? "dynamic charge" : "charge", lago_metrics[i].code);
	if (rc == 1)
		return 0;
	buf_init(&body, LAGO_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "plan");
	json_text(&j, "name", tier->name);
	json_text(&j, "code", code);
	json_text(&j, "interval", "monthly");
	json_int(&j, "amount_cents", 0);
	json_text(&j, "amount_currency", "USD");
	json_bool(&j, "pay_in_advance", false);
	lago_put_charges(l, tier, &j);
	json_end(&j);
	json_end(&j);
	rc = lago_make(l, "/api/v1/plans", &body, &t, f);
	buf_release(&body);
	return rc;
}

static int lago_customer(struct lago *l, const struct model_usage *u, struct fail *f)
{
	const struct lago_thing t = { "customer", "external_id", u->account };
	char path[LAGO_PATH];
	struct buf body;
	struct json j;
	int rc;

	snprintf(path, sizeof path, "/api/v1/customers/%s", u->account);
	rc = lago_find(l, path, &t, f);
	if (rc)
		return rc < 0 ? rc : 0;
	buf_init(&body, LAGO_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "customer");
	json_text(&j, "external_id", u->account);
	json_text(&j, "name", u->account_name ? u->account_name : u->account);
	json_text(&j, "currency", "USD");
	json_end(&j);
	json_end(&j);
	rc = lago_make(l, "/api/v1/customers", &body, &t, f);
	buf_release(&body);
	return rc;
}

/* An account has one for each tier. */
static const char *lago_subscription_id(const char *account, const char *tier, char room[LAGO_PATH])
{
	snprintf(room, LAGO_PATH, "%s:%s", account, tier);
	return room;
}

/* It begins with the day of its first event: Lago bills nothing that was before. */
static int lago_subscription(struct lago *l, const struct model_usage *u, const char *id, struct fail *f)
{
	const struct lago_thing t = { "subscription", "external_id", id };
	char code[64], day[WHEN_TEXT];
	struct buf body, path;
	struct json j;
	int rc;

	buf_init(&path, LAGO_BODY);
	if (buf_adds(&path, "/api/v1/subscriptions/") || client_quote(&path, id))
		command_nomem();
	rc = lago_find(l, buf_text(&path), &t, f);
	buf_release(&path);
	if (rc)
		return rc < 0 ? rc : 0;
	snprintf(code, sizeof code, "nanopod_%s", u->tier);
	buf_init(&body, LAGO_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "subscription");
	json_text(&j, "external_customer_id", u->account);
	json_text(&j, "plan_code", code);
	json_text(&j, "external_id", id);
	json_text(&j, "billing_time", "calendar");
	json_text(&j, "subscription_at", when_iso(u->at - u->at % 86400, day));
	json_end(&j);
	json_end(&j);
	rc = lago_make(l, "/api/v1/subscriptions", &body, &t, f);
	buf_release(&body);
	return rc;
}

static int lago_ready_tier(struct lago *l, const char *name, struct fail *f)
{
	size_t at = 0;
	int rc = 0;

	while (at < LAGO_TIERS && strcmp(lago_tiers[at].tier, name) != 0)
		at++;
	if (at == LAGO_TIERS)
		return fail_set(f, -EINVAL, "nanopod has no plan for usage of tier '%.100s'", name);
	for (size_t i = 0; !rc && !l->ready[at] && i < lago_tiers[at].metrics; i++)
		rc = lago_metric(l, lago_tiers[at].first + i, f);
	rc = rc || l->ready[at] ? rc : lago_plan(l, &lago_tiers[at], f);
	l->ready[at] = !rc;
	return rc;
}

static int lago_ready(struct lago *l, const struct model_usage *u, struct fail *f)
{
	char id[LAGO_PATH];
	int rc = lago_ready_tier(l, u->tier, f);

	if (rc)
		return rc;
	lago_subscription_id(u->account, u->tier, id);
	for (size_t i = 0; i < l->known_count; i++)
		if (strcmp(l->known[i], id) == 0)
			return 0;
	rc = lago_customer(l, u, f);
	rc = rc ? rc : lago_subscription(l, u, id, f);
	if (rc)
		return rc;
	if (l->known_count == l->known_room) {
		l->known_room = l->known_room ? 2 * l->known_room : 64;
		l->known = reallocarray(l->known, l->known_room, sizeof *l->known);
	}
	if (!l->known || !(l->known[l->known_count++] = strdup(id)))
		command_nomem();
	return 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void lago_number(struct json *j, const char *key, int64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRId64, n);
	json_text(j, key, text);
}

static void lago_put_lease(struct json *j, const struct model_usage *u)
{
	lago_number(j, "node_minutes", u->node_minutes);
	lago_number(j, "gpu_seconds", u->gpu_seconds);
	json_text(j, "type", u->type ? u->type : u->sku);
	json_text(j, "tier", u->tier);
	json_text(j, "kind", u->kind);
	json_text(j, "subsidy", u->granted ? "1" : "0");
	lago_number(j, "granted_micros", u->granted);
	lago_number(j, "refunded_micros", u->refunded);
	json_text(j, "reservation", u->reservation ? u->reservation : "");
	json_text(j, "lease", u->lease ? u->lease : "");
}

/* Of a volume or a plan, whose unit is money. */
static void lago_put_fee(struct json *j, const struct model_usage *u)
{
	lago_number(j, "amount_micros", u->amount);
	json_text(j, "tier", u->tier);
	json_text(j, "kind", u->kind);
	json_text(j, "volume", u->volume ? u->volume : "");
	json_text(j, "grant", u->grant ? u->grant : "");
}

static void lago_put_tokens(struct json *j, const struct model_usage *u)
{
	lago_number(j, "prompt_tokens", u->prompt_tokens);
	lago_number(j, "completion_tokens", u->completion_tokens);
	lago_number(j, "total_tokens", u->total_tokens);
	json_text(j, "model", u->model);
	json_text(j, "account", u->account);
	json_text(j, "estimated", strcmp(u->counted, "backend") == 0 ? "0" : "1");
}

/* The same bytes whenever it is sent. */
static void lago_put_event(struct json *j, const struct model_usage *u)
{
	char id[LAGO_PATH], cents[40];

	snprintf(cents, sizeof cents, "%" PRId64 ".%04d", u->amount / 10000, (int)(u->amount % 10000));
	json_begin_object(j, NULL);
	json_text(j, "transaction_id", u->id);
	json_text(j, "external_subscription_id", lago_subscription_id(u->account, u->tier, id));
	json_text(j, "code", u->metric);
	json_int(j, "timestamp", u->at);
	if (!u->model)
		json_text(j, "precise_total_amount_cents", cents);
	json_begin_object(j, "properties");
	if (u->model)
		lago_put_tokens(j, u);
	else if (!u->sku)
		lago_put_fee(j, u);
	else
		lago_put_lease(j, u);
	json_end(j);
	json_end(j);
}

/* Posts the events that it does not have. 0: it accepted them; 1: it claims to have some; or a negative code. */
static int lago_post(struct lago *l, const struct meter_batch *b, struct fail *f)
{
	const char *ids[LAGO_MOST];
	bool known[LAGO_MOST];
	size_t at[LAGO_MOST], count = 0;
	struct buf body;
	struct json j;
	int rc, status;

	buf_init(&body, LAGO_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_begin_array(&j, "events");
	for (size_t i = 0; i < b->count; i++) {
		if (l->state[i] != LAGO_NEW)
			continue;
		at[count] = i;
		ids[count++] = b->list[i].id;
		lago_put_event(&j, &b->list[i]);
	}
	json_end(&j);
	json_end(&j);
	rc = j.error ? fail_set(f, -ENOMEM, "out of memory for its events") : 0;
	if (!rc && count)
		rc = lago_ask(l, "POST", "/api/v1/events/batch", &body, &status, f);
	buf_release(&body);
	if (rc || !count)
		return rc;
	if (status < 300)
		return wire_lago_accepted(l->doc, ids, count, f);
	if (status == 404)
		return fail_set(f, -EPROTO, "it answered %d: is this Lago's address?", status);
	rc = wire_lago_known(l->doc, known, count, f);
	for (size_t i = 0; !rc && i < count; i++)
		if (known[i])
			l->state[at[i]] = LAGO_CLAIMED;
	return rc ? rc : 1;
}

/* Looks up what it claims to have: an answer that is late, or another's, must not lose an event. */
static int lago_verify(struct lago *l, const struct meter_batch *b, struct fail *f)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct lago_thing t = { "event", "transaction_id", b->list[i].id };
		char path[LAGO_PATH];
		int rc;

		if (l->state[i] != LAGO_CLAIMED)
			continue;
		snprintf(path, sizeof path, "/api/v1/events/%s", t.id);
		rc = lago_find(l, path, &t, f);
		if (rc < 0)
			return rc;
		l->state[i] = rc ? LAGO_THERE : LAGO_NEW;
		if (!rc)
			return fail_set(f, -EPROTO, "it claimed to have event '%s', and does not", t.id);
	}
	return 0;
}

static int lago_send(struct meter_way *w, const struct meter_batch *b, struct fail *f)
{
	struct lago *l = w->own;
	int rc = b->count > LAGO_MOST ? fail_set(f, -EINVAL, "it takes up to %d events at once", LAGO_MOST) : 0;

	if (!rc && strcmp(l->batch, b->list[0].id) != 0) {
		snprintf(l->batch, sizeof l->batch, "%s", b->list[0].id);
		memset(l->state, 0, sizeof l->state);
	}
	for (size_t i = 0; !rc && i < b->count; i++)
		rc = lago_ready(l, &b->list[i], f);
	rc = rc ? rc : lago_verify(l, b, f);
	while (!rc && (rc = lago_post(l, b, f)) == 1)
		rc = lago_verify(l, b, f);
	return rc;
}

/* ---- What it counted ---------------------------------------------------------------------------- */

static int lago_counted(struct meter_way *w, const char *account, const char *tier, struct meter_counted *out,
	struct fail *f)
{
	struct lago *l = w->own;
	char id[LAGO_PATH];
	struct buf path;
	int rc, status;

	*out = (struct meter_counted){ .from = NULL };
	buf_init(&path, LAGO_BODY);
	if (buf_addf(&path, "/api/v1/customers/%s/current_usage?external_subscription_id=", account) ||
		client_quote(&path, lago_subscription_id(account, tier, id)))
		command_nomem();
	rc = lago_ask(l, "GET", buf_text(&path), NULL, &status, f);
	buf_release(&path);
	if (rc || status == 404) /* it knows no such customer or subscription, or is no Lago, and has nothing */
		return rc;
	if (wire_lago_usage(l->doc, &out->from, (struct model_metered **)&out->list, &out->count, f))
		return fail_set(f, -EPROTO, "it answered with something that is no usage");
	return 0;
}

const struct meter_calls meter_lago = {
	.scheme = "lago:",
	.keyed = true,
	.open = lago_open,
	.close = lago_close,
	.send = lago_send,
	.counted = lago_counted,
};
