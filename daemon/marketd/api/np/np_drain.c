/* SPDX-License-Identifier: Apache-2.0 */
/* An owner takes a host out of service, or asks first what that ends and costs. */
#include "marketd/api/np/np.h"

#include <inttypes.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/render.h"

/* What is sold of a host from a minute on. */
struct sold {
	int64_t until; /* the end of the last lease; 0: nothing is sold */
	int64_t leases, minutes;
	int64_t refund; /* what all buyers get back where that ends */
	int64_t burn;   /* what whoever has the host now pays for an hour */
};

/* Of time that was sold on, each buyer gets back what they paid. */
static int64_t drain_refund(const struct engine *e, const struct lease *l, int64_t start, int64_t end)
{
	int64_t sum = 0;

	for (; l; l = engine_lease(e, l->parent))
		if (l->paid_end > start)
			sum += l->price * ((l->paid_end < end ? l->paid_end : end) - start);
	return sum;
}

static struct sold drain_sold(const struct engine *e, const struct host *h, int64_t from)
{
	struct sold s = { 0 };
	uint64_t last = 0;

	for (size_t i = 0; i < h->piece_count; i++) {
		const struct piece *p = &h->pieces[i];
		const struct lease *l = engine_lease(e, p->lease);
		int64_t start = p->start > from ? p->start : from, minute = engine_minute(e);

		if (l && p->start <= minute && minute < p->end)
			s.burn = l->price * 60;
		if (!l || p->end <= from)
			continue;
		s.until = p->end;
		s.leases += l->id != last;
		s.minutes += p->end - start;
		s.refund += drain_refund(e, l, start, p->end);
		last = l->id;
	}
	return s;
}

static int post_drain(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct host *h = np_find_host(api, q, r, false);
	struct event ev = { .kind = EVENT_HOST_DRAIN, .text = body_text(q->body, "reason") };
	int32_t notice = engine_policy(e)->notice_minutes;
	int64_t earliest = engine_minute(e) + 1 + (notice > 2 ? notice : 2);
	bool dry = body_bool(q->body, "dry_run", false);
	struct fail why = { 0 };
	struct sold s;
	json_t *o;
	int rc;

	if (!h || !body_minute(q, r, q->body, "at", &ev.u.host_drain.from))
		return r->status;
	ev.account = h->account;
	ev.subject = h->id;
	ev.u.host_drain.ends = ev.u.host_drain.from != 0;
	if (!ev.u.host_drain.ends)
		ev.u.host_drain.from = engine_minute(e) + 1;
	else if (ev.u.host_drain.from < earliest)
		return api_refuse(q, r, REASON_PAST, "at",
			"buyers need notice: the earliest time is %" PRId64 "; without 'at' what is sold runs out",
			earliest * 60);
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
