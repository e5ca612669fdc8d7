/* SPDX-License-Identifier: Apache-2.0 */
/* GET /np/v1/alerts: for which things the rules of alerts.c are asked, page by page, and what could not be judged. */
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/metric.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/alert/alert_rules.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

/* A page reads the samples of so many machines and nodes at most: 0.3 ms each where they have 8 GPUs. */
enum { THINGS_MOST = 250, METRIC_MACHINE_HEAT = 23, METRIC_NODE_USE = 60 };

/* One answer under way. */
struct np_alerts {
	struct api *api;
	const struct engine *e;
	struct alert_rule rules[ALERT_RULES];
	uint64_t account;  /* 0: all */
	int64_t now, left; /* left: room on the page */
	enum ident kind;   /* of the last thing that was looked at */
	uint64_t last;     /* 0: none yet */
	bool more;
	json_t *data, *unjudged;
	uint32_t of_machine[ALERT_METRICS], of_node[ALERT_METRICS];
	struct {
		int64_t accounts, machines, hosts, nodes;
	} looked;
	struct {
		int64_t unheard, machines, machine_gpus, hosts, nodes, node_gpus;
	} unknown;
	struct fail why;
};

/* ---- Money and time of an account --------------------------------------------------------- */

/* Of a reservation, which of its leases end first. */
struct np_alerts_end {
	const struct pool *pool;
	int64_t ends, begun, nodes;
};

struct np_alerts_ends {
	struct np_alerts_end *list;
	size_t count, room;
};

static int np_alerts_order(const void *a, const void *b)
{
	const struct np_alerts_end *x = a, *y = b;

	if (x->pool->id != y->pool->id)
		return x->pool->id < y->pool->id ? -1 : 1;
	return x->ends != y->ends ? (x->ends < y->ends ? -1 : 1) : 0;
}

static int np_alerts_add_end(struct np_alerts_ends *ends, const struct engine *e, const struct lease *l, int64_t end)
{
	if (ends->count == ends->room) {
		size_t room = ends->room ? 2 * ends->room : 64;
		struct np_alerts_end *grown = reallocarray(ends->list, room, sizeof *grown);

		if (!grown)
			return -1;
		ends->list = grown;
		ends->room = room;
	}
	ends->list[ends->count++] =
		(struct np_alerts_end){ .pool = engine_pool(e, l->pool), .ends = end, .begun = l->start, .nodes = 1 };
	return 0;
}

/* Does the market itself buy more time for the pool? */
static bool np_alerts_kept(const struct engine *e, const struct lease *l)
{
	const struct procurement *p = NULL;

	while ((p = engine_procurement_after(e, l->buyer, p ? p->id : 0)))
		if (p->pool == l->pool && p->sku == l->sku && p->enabled && !p->reason)
			return true;
	return false;
}

/* Leases of one reservation that end in the same minute are one matter; later ones follow when their time comes. */
static void np_alerts_tell_ends(struct np_alerts *l, uint64_t account, struct np_alerts_ends *ends)
{
	for (size_t i = 0; i < ends->count;) {
		struct np_alerts_end *first = &ends->list[i];
		struct alert_subject s = { .api = l->api, .of = ALERT_OF_RESERVATION, .account = account };

		for (i++; i < ends->count && ends->list[i].pool == first->pool; i++)
			if (ends->list[i].ends == first->ends) {
				first->nodes++;
				first->begun = ends->list[i].begun > first->begun ? ends->list[i].begun : first->begun;
			}
		s.pool = first->pool;
		s.nodes = first->nodes;
		s.ends = first->ends;
		s.begun = first->begun;
		if (s.pool)
			alert_look(l->rules, &s, l->data);
	}
}

static void np_alerts_volumes(struct np_alerts *l, uint64_t account)
{
	const struct volume *v = engine_volume_after(l->e, account, 0);

	for (; v; v = engine_volume_after(l->e, account, v->id)) {
		struct alert_subject s = { .api = l->api, .of = ALERT_OF_VOLUME, .account = account, .volume = v };

		alert_look(l->rules, &s, l->data);
	}
}

static int np_alerts_of_account(struct np_alerts *l, uint64_t account)
{
	struct alert_subject s = { .api = l->api, .of = ALERT_OF_ACCOUNT, .account = account };
	struct np_alerts_ends ends = { 0 };
	int64_t minute = engine_minute(l->e), cost;
	int64_t keep = minute + alert_rules_ahead(l->rules, ALERT_OF_ACCOUNT, ALERT_DOLLARS) / 60;
	int64_t soon = minute + alert_rules_ahead(l->rules, ALERT_OF_RESERVATION, ALERT_SECONDS) / 60;
	int rc = 0;

	for (const struct lease *x = engine_lease_after(l->e, account, 0); x && !rc;
		x = engine_lease_after(l->e, account, x->id)) {
		int64_t end;

		if (x->start > minute || x->end <= minute || x->sold_on)
			continue;
		end = engine_owned_until(l->e, x->host, x->pool, minute);
		if (end < keep && !money_cost(x->price, 1, keep - end, &cost) && money_add(s.keeping, cost, &s.keeping))
			s.keeping = INT64_MAX;
		if (end <= soon && !np_alerts_kept(l->e, x))
			rc = np_alerts_add_end(&ends, l->e, x, end);
	}
	if (!rc) {
		alert_look(l->rules, &s, l->data);
		if (ends.count)
			qsort(ends.list, ends.count, sizeof *ends.list, np_alerts_order);
		np_alerts_tell_ends(l, account, &ends);
		np_alerts_volumes(l, account);
		l->looked.accounts++;
	}
	free(ends.list);
	return rc ? fail_set(&l->why, REASON_UNAVAILABLE, "the market is out of memory") : 0;
}

static int np_alerts_accounts(struct np_alerts *l)
{
	int rc = 0;

	if (l->account)
		return np_alerts_of_account(l, l->account);
	for (const struct account *a = engine_account_after(l->e, 0); a && !rc; a = engine_account_after(l->e, a->id))
		rc = np_alerts_of_account(l, a->id);
	return rc;
}

/* ---- Machines, hosts, nodes ---------------------------------------------------------------- */

/* Room for one thing more? Else the next page goes on behind the last one. */
static bool np_alerts_next(struct np_alerts *l, enum ident kind, uint64_t id)
{
	if (!l->left) {
		l->more = true;
		return false;
	}
	l->left--;
	l->kind = kind;
	l->last = id;
	return true;
}

static bool np_alerts_has_gpus(const struct engine *e, const struct agent *a)
{
	const struct host *h = engine_host_of_agent(e, a->id, 0);

	for (; h; h = engine_host_of_agent(e, a->id, h->id)) {
		const struct sku *k = engine_sku(e, h->sku);

		if (k && k->gpus > 0)
			return true;
	}
	return false;
}

/* So that who saw an alert of it before does not take its absence for an end. */
static void np_alerts_not_judged(struct np_alerts *l, enum ident kind, uint64_t id)
{
	json_array_append_new(l->unjudged, render_id(kind, id));
}

static int np_alerts_machine(struct np_alerts *l, const struct agent *a)
{
	struct alert_subject s = { .api = l->api, .of = ALERT_OF_MACHINE, .account = a->account, .agent = a };
	struct alert_curves c;
	int64_t since, before = l->unknown.machines + l->unknown.machine_gpus + l->unknown.unheard;
	int rc = alert_curves_read(&c, l->api->series, a->id, 0, l->of_machine, 0, l->now, &l->why);

	if (!rc) {
		s.samples = &c;
		l->looked.machines++;
		l->unknown.unheard += !a->generation || alert_silent(l->api, a, &since) < 0;
		if (!alert_curves_known(&c, 0))
			l->unknown.machines++;
		else if (!alert_curves_known(&c, METRIC_MACHINE_HEAT) && np_alerts_has_gpus(l->e, a))
			l->unknown.machine_gpus++;
		if (before < l->unknown.machines + l->unknown.machine_gpus + l->unknown.unheard)
			np_alerts_not_judged(l, IDENT_AGENT, a->id);
		alert_look(l->rules, &s, l->data);
	}
	alert_curves_release(&c);
	return rc;
}

static void np_alerts_host(struct np_alerts *l, const struct host *h)
{
	struct alert_subject s = { .api = l->api, .of = ALERT_OF_HOST, .account = h->account, .host = h };

	s.agent = h->agent ? engine_agent(l->e, h->agent) : NULL;
	l->looked.hosts++;
	l->unknown.hosts += !h->agent;
	alert_look(l->rules, &s, l->data);
}

static int np_alerts_node(struct np_alerts *l, const struct instance *i)
{
	const struct host *h = engine_host(l->e, i->host);
	const struct sku *k = engine_sku(l->e, i->sku);
	struct alert_subject s = { .api = l->api, .of = ALERT_OF_NODE, .account = i->account, .node = i, .host = h };
	struct alert_curves c = { 0 };
	int64_t before = l->unknown.nodes + l->unknown.node_gpus;
	int rc = 0;

	if (h && h->agent) {
		s.agent = engine_agent(l->e, h->agent);
		rc = alert_curves_read(&c, l->api->series, h->agent, h->id, l->of_node,
			i->placed_at ? i->placed_at : i->created_at, l->now, &l->why);
	}
	if (!rc) {
		s.samples = &c;
		l->looked.nodes++;
		if (!alert_curves_known(&c, 0))
			l->unknown.nodes++;
		else if (!alert_curves_known(&c, METRIC_NODE_USE))
			l->unknown.node_gpus += k && k->gpus > 0;
		if (before < l->unknown.nodes + l->unknown.node_gpus)
			np_alerts_not_judged(l, IDENT_INSTANCE, i->id);
		alert_look(l->rules, &s, l->data);
	}
	alert_curves_release(&c);
	return rc;
}

/* The three kinds in their order, from behind the thing of the query on. */
static int np_alerts_things(struct np_alerts *l, bool owner, bool buyer)
{
	uint64_t after = l->kind == IDENT_AGENT ? l->last : 0;
	int rc = 0;

	if (owner && (!l->last || l->kind == IDENT_AGENT))
		for (const struct agent *a = engine_agent_after(l->e, l->account, after); a && !rc && !l->more;
			a = engine_agent_after(l->e, l->account, a->id))
			if (!a->retired && np_alerts_next(l, IDENT_AGENT, a->id))
				rc = np_alerts_machine(l, a);
	after = l->kind == IDENT_HOST ? l->last : 0;
	if (owner && (!l->last || l->kind != IDENT_INSTANCE))
		for (const struct host *h = engine_host_after(l->e, l->account, after); h && !rc && !l->more;
			h = engine_host_after(l->e, l->account, h->id))
			if (!h->retired && np_alerts_next(l, IDENT_HOST, h->id))
				np_alerts_host(l, h);
	after = l->kind == IDENT_INSTANCE ? l->last : 0;
	if (buyer)
		for (const struct instance *i = engine_instance_after(l->e, l->account, after); i && !rc && !l->more;
			i = engine_instance_after(l->e, l->account, i->id))
			if (i->host && np_alerts_next(l, IDENT_INSTANCE, i->id))
				rc = np_alerts_node(l, i);
	return rc;
}

/* ---- The answer ---------------------------------------------------------------------------- */

static json_t *np_alerts_count(bool may, int64_t n)
{
	return may ? json_integer(n) : json_null();
}

static json_t *np_alerts_answer(struct np_alerts *l, bool owner, bool buyer)
{
	json_t *list = render_list(l->data, l->last ? render_id(l->kind, l->last) : NULL, l->more);

	json_object_set_new(list, "now", json_integer(l->now));
	json_object_set_new(list, "looked",
		json_pack("{s:o, s:o, s:o, s:o}", "accounts", np_alerts_count(buyer, l->looked.accounts), "machines",
			np_alerts_count(owner, l->looked.machines), "hosts", np_alerts_count(owner, l->looked.hosts),
			"nodes", np_alerts_count(buyer, l->looked.nodes)));
	json_object_set_new(list, "unknown",
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "machines_never_heard", (json_int_t)l->unknown.unheard,
			"machines_without_samples", (json_int_t)l->unknown.machines, "machines_without_gpu_samples",
			(json_int_t)l->unknown.machine_gpus, "hosts_without_machine", (json_int_t)l->unknown.hosts,
			"nodes_without_samples", (json_int_t)l->unknown.nodes, "nodes_without_gpu_samples",
			(json_int_t)l->unknown.node_gpus));
	json_object_set_new(list, "unjudged", l->unjudged);
	return list;
}

/* Which thing the page goes on behind. false: refused. */
static bool np_alerts_after(struct api *api, const struct request *q, struct reply *r, struct np_alerts *l)
{
	static const enum ident kinds[] = { IDENT_AGENT, IDENT_HOST, IDENT_INSTANCE };
	const char *after = api_query(q, "starting_after");

	(void)api;
	for (size_t i = 0; after && i < sizeof kinds / sizeof *kinds; i++)
		if (ident_parse(kinds[i], after, &l->last)) {
			l->kind = kinds[i];
			return true;
		}
	if (after)
		api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the cursor of the page before");
	return !after;
}

/* What the operator says now: it stands before all else. */
static void np_alerts_said(struct np_alerts *l, const struct request *q)
{
	const struct announcement *x = engine_announcement_after(l->e, 0);

	for (; x; x = engine_announcement_after(l->e, x->id)) {
		struct alert_subject s = { .api = l->api,
			.of = ALERT_OF_ANNOUNCEMENT,
			.account = x->account,
			.said = x };

		if (x->from <= engine_minute(l->e) && np_announced(q, l->e, x))
			alert_look(l->rules, &s, l->data);
	}
}

/* What a payment service took or gave back, and no account has: the operator's, who looks at all accounts. */
static void np_alerts_payments(struct np_alerts *l)
{
	const struct payment *p = engine_payment_after(l->e, 0, 0);

	for (; p; p = engine_payment_after(l->e, 0, p->id)) {
		struct alert_subject s = { .api = l->api, .of = ALERT_OF_PAYMENT, .payment = p };

		if (np_payment_waits(p))
			alert_look(l->rules, &s, l->data);
	}
}

static int get_alerts(struct api *api, const struct request *q, struct reply *r)
{
	bool owner = np_allowed(q) & SCOPE_HOST, buyer = np_allowed(q) & SCOPE_READ;
	struct np_alerts l = { .api = api,
		.e = market_engine(api->market),
		.account = q->account,
		.now = market_now(api->market) };
	int rc = 0;

	if (!api_query_int(q, r, "limit", 1, THINGS_MOST, THINGS_MOST, &l.left) || !np_alerts_after(api, q, r, &l) ||
		!alert_rules_ask(q, r, l.rules))
		return r->status;
	alert_metrics(ALERT_OF_MACHINE, l.of_machine);
	alert_metrics(ALERT_OF_NODE, l.of_node);
	l.data = json_array();
	l.unjudged = json_array();
	if (!l.last)
		np_alerts_said(&l, q);
	if ((np_allowed(q) & SCOPE_ADMIN) && !l.account && !l.last)
		np_alerts_payments(&l);
	if (buyer && !l.last)
		rc = np_alerts_accounts(&l);
	rc = rc ? rc : np_alerts_things(&l, owner, buyer);
	if (!rc)
		return api_json(q, r, 200, np_alerts_answer(&l, owner, buyer));
	json_decref(l.data);
	json_decref(l.unjudged);
	return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "%s", l.why.text);
}

/* ---- Tables ------------------------------------------------------------------------------- */

#define ALERTS_COUNT(name, flags, about) \
	{ \
		name, SCHEMA_INTEGER, FIELD_REQUIRED | (flags), NULL, 0, 0, about \
	}
#define ALERTS_TEXT(name, flags, about) \
	{ \
		name, SCHEMA_STRING, FIELD_REQUIRED | (flags), NULL, 0, 0, about \
	}

static const struct schema_field np_alerts_subject[] = {
	{ "kind", SCHEMA_ENUM, FIELD_REQUIRED, "account|reservation|machine|host|node|announcement|payment|volume", 0,
		0, NULL },
	ALERTS_TEXT("id", 0, "of the account, reservation, agent, host, node, payment or volume"),
	ALERTS_TEXT("name", FIELD_NULL, NULL),
	ALERTS_TEXT("account", FIELD_NULL, "name of the account that it belongs to"),
	{ 0 },
};

static const struct schema_field np_alerts_one[] = {
	OBJECT_IS("alert"),
	ALERTS_TEXT("rule", 0, "such as node_gpu_hot"),
	{ "severity", SCHEMA_ENUM, FIELD_REQUIRED, "critical|warning|info", 0, 0, NULL },
	{ "subject", SCHEMA_REF, FIELD_REQUIRED, "np.AlertSubject", 0, 0, "no rule holds twice for one" },
	{ "since", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Time", 0, 0,
		"from samples: to 10 seconds, to 5 minutes where it is longer ago, and 7 days ago at most; null: not "
		"known" },
	{ "value", SCHEMA_NUMBER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "now, of the worst part; null: a state" },
	{ "threshold", SCHEMA_NUMBER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "unit", SCHEMA_ENUM, FIELD_REQUIRED, "none|celsius|ratio|count|seconds|dollars", 0, 0, "of both" },
	{ "for_seconds", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "for how long it has to hold before it is told" },
	ALERTS_TEXT("text", 0, "a sentence for a person; may hold words of the host's owner"),
	ALERTS_TEXT("next", 0, "what to type next"),
	{ 0 },
};

static const struct schema_field np_alerts_looked[] = {
	ALERTS_COUNT("accounts", FIELD_NULL, "null: not asked, as the token may not read it"),
	ALERTS_COUNT("machines", FIELD_NULL, NULL),
	ALERTS_COUNT("hosts", FIELD_NULL, NULL),
	ALERTS_COUNT("nodes", FIELD_NULL, "that have a host"),
	{ 0 },
};

static const struct schema_field np_alerts_unknown[] = {
	ALERTS_COUNT("machines_never_heard", 0, "since this market started: whether they are silent is not known yet"),
	ALERTS_COUNT("machines_without_samples", 0, "in the last minute: memory, disk and GPUs were not judged"),
	ALERTS_COUNT("machines_without_gpu_samples", 0, "but with others, though their hosts have GPUs"),
	ALERTS_COUNT("hosts_without_machine", 0, "of which no agent tells anything"),
	ALERTS_COUNT("nodes_without_samples", 0, "in the last minute: GPUs and use were not judged"),
	ALERTS_COUNT("nodes_without_gpu_samples", 0, "but with others, though their type has GPUs"),
	{ 0 },
};

static const struct schema_field np_alerts_list[] = {
	OBJECT_IS("list"),
	{ "cursor", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "a page may have no alert and not be the last" },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Alert", 0, 0, "in no order of severity" },
	TIME("now", FIELD_REQUIRED),
	{ "looked", SCHEMA_REF, FIELD_REQUIRED, "np.AlertsLooked", 0, 0, "how many things this page is about" },
	{ "unknown", SCHEMA_REF, FIELD_REQUIRED, "np.AlertsUnknown", 0, 0,
		"how many of them could not be judged in full" },
	{ "unjudged", SCHEMA_ARRAY, FIELD_REQUIRED, "string", 0, 0,
		"ids of these machines and nodes: that one of their alerts is missing does not mean that it ended" },
	{ 0 },
};

const struct schema schema_np_alerts[] = {
	{ "np.AlertSubject", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_alerts_subject, NULL },
	{ "np.Alert", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_alerts_one, NULL },
	{ "np.AlertsLooked", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_alerts_looked, NULL },
	{ "np.AlertsUnknown", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_alerts_unknown, NULL },
	{ "np.AlertList", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_alerts_list, NULL },
	{ 0 },
};

const struct route api_np_alert_routes[] = {
	{ METHOD_GET, "/np/v1/alerts", get_alerts, SCOPE_READ | SCOPE_HOST, 0,
		"Get what is wrong, or soon will be, with your nodes and money or with your machines, by the scopes of "
		"the token",
		"limit:integer,starting_after:string," ALERT_RULES_QUERY, NULL, "np.AlertList", 200 },
	{ 0 },
};
