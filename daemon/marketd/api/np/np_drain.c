/* SPDX-License-Identifier: Apache-2.0 */
/* An owner takes a host out of service, or asks first what that ends and costs. */
#include "marketd/api/np/np.h"

#include "market/ident.h"
#include "market/reason.h"
#include "market/when.h"
#include "marketd/api/render.h"

/* What is sold of a host from a minute on. */
struct sold {
	int64_t until; /* the end of the last lease; 0: nothing is sold */
	int64_t leases, minutes;
	int64_t refund; /* of what its owner sold, where that ends */
	int64_t burn;   /* what its owner earns in an hour now, before fees */
};

/* What its owner sold: at what price buyers sell it on is not theirs to know. */
static const struct lease *drain_first(const struct engine *e, const struct lease *l)
{
	while (l && l->parent)
		l = engine_lease(e, l->parent);
	return l;
}

static struct sold drain_sold(const struct engine *e, const struct host *h, int64_t from)
{
	struct sold s = { 0 };
	uint64_t last = 0;

	for (size_t i = 0; i < h->piece_count; i++) {
		const struct piece *p = &h->pieces[i];
		const struct lease *l = drain_first(e, engine_lease(e, p->lease));
		int64_t start = p->start > from ? p->start : from, minute = engine_minute(e);
		int64_t paid = l && l->paid_end < p->end ? l->paid_end : p->end;

		if (l && p->start <= minute && minute < p->end)
			s.burn = l->price * 60;
		if (!l || p->end <= from)
			continue;
		s.until = p->end;
		s.leases += l->id != last;
		s.minutes += p->end - start;
		s.refund += paid > start ? l->price * (paid - start) : 0;
		last = l->id;
	}
	return s;
}

/* From when on: `at`, where the current minute means the next one. false: refused. */
static bool drain_read(const struct engine *e, const struct request *q, struct reply *r, int64_t earliest,
	struct event *ev)
{
	int64_t minute = engine_minute(e), from = 0;
	char text[WHEN_TEXT];

	if (!body_minute(q, r, q->body, "at", &from))
		return false;
	ev->u.host_drain.ends = json_is_integer(json_object_get(q->body, "at"));
	ev->u.host_drain.from = !ev->u.host_drain.ends || from == minute ? minute + 1 : from;
	if (!ev->u.host_drain.ends || ev->u.host_drain.from >= earliest)
		return true;
	if (from < minute)
		api_refuse(q, r, REASON_PAST, "at", "that time is over; without 'at' no more is sold from now on");
	else
		api_refuse(q, r, REASON_PAST, "at",
			"buyers need notice: the earliest time is %s; without 'at' what is sold runs out",
			when_iso(earliest * 60, text));
	return false;
}

static int post_drain(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct host *h = np_find_host(api, q, r, false);
	struct event ev = { .kind = EVENT_HOST_DRAIN, .text = body_text(q->body, "reason") };
	bool dry = body_bool(q->body, "dry_run", false);
	struct fail why = { 0 };
	struct sold s;
	int64_t earliest;
	json_t *o;
	int rc;

	if (!h)
		return r->status;
	ev.account = h->account;
	ev.subject = h->id;
	ev.u.host_drain.by_operator = (np_allowed(q) & SCOPE_ADMIN) != 0;
	earliest = engine_drain_earliest(e, h->id, ev.u.host_drain.by_operator);
	if (!drain_read(e, q, r, earliest, &ev))
		return r->status;
	s = drain_sold(e, h, ev.u.host_drain.from);
	rc = dry ? 0 : api_apply(api, q, &ev, NULL, &why);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	o = json_pack("{s:s, s:b, s:I, s:b, s:I, s:o, s:I, s:I, s:o}", "object", "drain", "dry_run", (int)dry, "from",
		(json_int_t)ev.u.host_drain.from * 60, "ends_leases", (int)ev.u.host_drain.ends, "earliest_at",
		(json_int_t)earliest * 60, "sold_until", s.until ? render_minute(s.until) : json_null(), "leases",
		(json_int_t)s.leases, "node_minutes", (json_int_t)s.minutes, "host",
		np_host(e, engine_host(e, ev.subject)));
	render_money(o, "refund", s.refund);
	render_money(o, "hourly", s.burn);
	return api_json(q, r, 200, o);
}

static int post_undrain(struct api *api, const struct request *q, struct reply *r)
{
	const struct host *h = np_find_host(api, q, r, false);
	struct event ev = { .kind = EVENT_HOST_DRAIN };
	struct fail why = { 0 };
	int rc;

	if (!h)
		return r->status;
	ev.account = h->account;
	ev.subject = h->id;
	rc = api_apply(api, q, &ev, NULL, &why);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	return api_json(q, r, 200,
		np_host(market_engine(api->market), engine_host(market_engine(api->market), ev.subject)));
}

const struct route api_np_drain_routes[] = {
	{ METHOD_POST, "/np/v1/hosts/{id}/drain", post_drain, SCOPE_HOST, ROUTE_CREATES,
		"Take a host out of service: sell no more of it from a time on", NULL, "np.DrainRequest", "np.Drain",
		200 },
	{ METHOD_POST, "/np/v1/hosts/{id}/undrain", post_undrain, SCOPE_HOST, 0, "Put a host back into service", NULL,
		NULL, "np.Host", 200 },
	{ 0 },
};
