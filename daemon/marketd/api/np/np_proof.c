/* SPDX-License-Identifier: Apache-2.0 */
/* What sellers, buyers and agents see of the measurements that the market has of a host. */
#include <string.h>

#include "market/claims.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/judge.h"
#include "marketd/api/nonces.h"
#include "marketd/api/np/np.h"
#include "marketd/api/render.h"

enum { OFFERS_MOST = 1000, OFFERED_MEASURES = 64 };

const char *np_proof_state(const struct engine *e, const struct host *h)
{
	if (h->proof == PROOF_NONE)
		return "unverified";
	if (h->proof == PROOF_FAILED)
		return "failed";
	return h->proof == PROOF_PASSED && h->proof_until > engine_minute(e) ? "verified" : "expired";
}

/* why: for its owner, with what the machine words itself. */
static json_t *np_proof_json(const struct engine *e, const struct host *h, size_t most, bool why)
{
	const struct sku *s = engine_sku(e, h->sku);
	json_t *o = json_pack("{s:s, s:b, s:o, s:o, s:o, s:n}", "state", np_proof_state(e, h), "asked",
		(int)(s && s->proof), "at", h->proof_at ? json_integer(h->proof_at) : json_null(), "until",
		h->proof_until ? json_integer(h->proof_until * 60) : json_null(), "reason",
		render_text(why ? h->proof_why : NULL), "tier");
	struct claims c;

	if (!h->claims || claims_read(h->claims, strlen(h->claims), &c, NULL)) {
		json_object_set_new(o, "measured", json_array());
		return o;
	}
	if (h->proof == PROOF_PASSED)
		json_object_set_new(o, "tier", judge_tier(s, &c));
	json_object_set_new(o, "measured", judge_measured(&c, most, !why));
	claims_release(&c);
	return o;
}

json_t *np_verification(const struct engine *e, const struct host *h)
{
	return np_proof_json(e, h, CLAIMS_MOST, true);
}

const struct lease *np_proof_lease(const struct engine *e, const struct host *h)
{
	for (size_t i = 0; i < h->piece_count && h->pieces[i].start <= engine_minute(e); i++)
		if (engine_minute(e) < h->pieces[i].end) {
			const struct lease *l = engine_lease(e, h->pieces[i].lease);

			return l && l->proof ? l : NULL;
		}
	return NULL;
}

static bool np_proof_unpaid(const struct host *h, const struct lease *l)
{
	return l && h->proof_until <= l->since;
}

json_t *np_verify_wanted(const struct api *api, const struct host *h)
{
	const struct engine *e = market_engine(api->market);
	const struct sku *s = engine_sku(e, h->sku);
	const struct lease *l = np_proof_lease(e, h);
	bool asked = nonces_rechecked(api->nonces, h->id) != NULL, now = asked || np_proof_unpaid(h, l);

	if (!s || (!s->proof && !l && !asked)) /* what was sold asks for proof even if its type asks no more */
		return NULL;
	return json_pack("{s:s, s:o, s:o, s:b}", "state", np_proof_state(e, h), "at",
		h->proof_at ? json_integer(h->proof_at) : json_null(), "until",
		h->proof_until ? json_integer(h->proof_until * 60) : json_null(), "now", (int)now);
}

/* ---- For buyers ------------------------------------------------------------------------------ */

/* Its measurements are long: they are read once, however many times of it are on sale. */
static void np_proof_offer(const struct engine *e, const struct host *h, json_t *data)
{
	json_t *verification = NULL;

	for (size_t i = 0; i < h->piece_count && json_array_size(data) < OFFERS_MOST; i++) {
		const struct piece *p = &h->pieces[i];
		int64_t from = engine_minute(e) + 1;

		if (!p->order || p->end <= from)
			continue;
		if (!verification)
			verification = np_proof_json(e, h, OFFERED_MEASURES, false);
		json_array_append_new(data,
			json_pack("{s:o, s:I, s:o, s:o, s:O}", "instance_sku", render_sku_summary(e, h->sku),
				"start_at", (json_int_t)(p->start > from ? p->start : from) * 60, "end_at",
				render_minute(p->end), "price_dollars_per_node_hour", render_price(p->price),
				"verification", verification));
	}
	json_decref(verification);
}

/* What is on sale of a type and what is known of its hosts, without whose they are. */
static int list_offers(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *type = api_query(q, "instance_sku");
	const struct sku *s = type ? find_sku(e, type) : NULL;
	bool unverified;
	json_t *data;

	if (!api_query_bool(q, r, "unverified", false, &unverified))
		return r->status;
	if (!s)
		return api_refuse(q, r, type ? REASON_NOT_FOUND : REASON_INVALID, "instance_sku",
			"no instance SKU '%s'", type ? type : "");
	data = json_array();
	for (const struct host *h = engine_host_after(e, 0, 0); h && json_array_size(data) < OFFERS_MOST;
		h = engine_host_after(e, 0, h->id))
		if (h->sku == s->id && !h->retired && !h->down &&
			(!s->proof || unverified || strcmp(np_proof_state(e, h), "verified") == 0))
			np_proof_offer(e, h, data);
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "offers", "data", data));
}

const struct route api_np_proof_routes[] = {
	{ METHOD_GET, "/np/v1/offers", list_offers, SCOPE_READ, 0,
		"List what is on sale of a type, with what was measured of each host",
		"instance_sku:string,unverified:boolean", NULL, "np.OfferList", 200 },
	{ 0 },
};
