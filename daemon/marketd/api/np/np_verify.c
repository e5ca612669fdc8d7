/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims are measured: an agent gets a nonce, measures its machine for it and sends what it found, signed. The market
 * compares that with the types of the agent's hosts and keeps it.
 */
#include "marketd/api/np/np.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/claims.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/judge.h"
#include "marketd/api/nonces.h"
#include "marketd/api/may/quota.h"
#include "marketd/api/render.h"

enum { CLOCK_SECONDS = 300, AS_BEFORE_PERCENT = 75, AGAIN_MINUTES = 4 };

/* What an agent sent. */
struct sent {
	const struct agent *agent;
	const char *text;
	int64_t given; /* its nonce */
	struct claims claims;
	bool again; /* a host of it measures again, so that no floor counts yet */
};

/* ---- From the agent -------------------------------------------------------------------------- */

static const struct agent *np_verify_agent(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = q->agent ? engine_agent(market_engine(api->market), q->agent) : NULL;

	if (!a)
		api_refuse(q, r, REASON_FORBIDDEN, NULL, "only an agent may do this, with the token of its session");
	return a;
}

static int post_nonce(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = np_verify_agent(api, q, r);
	int64_t now = market_now(api->market);
	char nonce[NONCE_TEXT];

	if (!a)
		return r->status;
	if (nonces_give(&api->nonces, a->id, q->generation, now, nonce))
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market has no nonce now; try again");
	return api_json(q, r, 200,
		json_pack("{s:s, s:s, s:I}", "object", "nonce", "nonce", nonce, "expires_at",
			(json_int_t)now + NONCE_SECONDS));
}

/* Signed by this agent, for the nonce, since that was given. 0 or a reason. */
static int np_verify_believe(const struct api *api, const char *nonce, struct sent *sent, struct fail *why)
{
	const struct agent *a = sent->agent;
	struct claims *c = &sent->claims;
	size_t len = strlen(sent->text);
	int64_t now = market_now(api->market);
	char id[IDENT_TEXT];
	struct fail f = { 0 };

	ident_text(IDENT_AGENT, a->id, id);
	if (claims_check(sent->text, len, a->public_key, nonce, &f) || claims_read(sent->text, len, c, &f))
		return fail_set(why, REASON_INVALID, "the verification is not believed: %s", f.text);
	if (strcmp(c->agent, id) != 0)
		fail_set(&f, -EBADMSG, "it is of '%s'", c->agent);
	else if (!api->test_clock && (c->at < sent->given - CLOCK_SECONDS || c->at > now + CLOCK_SECONDS))
		fail_set(&f, -EBADMSG, "by its clock it was made before its nonce, or later than now");
	else if (judge_answers(a, c, &f) == 0)
		return 0;
	claims_release(c);
	return fail_set(why, REASON_INVALID, "the verification is not believed: %s", f.text);
}

/* Does a node run on the machine? */
static bool np_verify_busy(const struct engine *e, uint64_t agent)
{
	for (const struct host *h = engine_host_of_agent(e, agent, 0); h; h = engine_host_of_agent(e, agent, h->id)) {
		const struct instance *i = engine_host_instance(e, h->id);

		if (i && i->status == INSTANCE_RUNNING)
			return true;
	}
	return false;
}

/*
 * Its type has come to ask for more than was measured of it: what it sold before was less. Who failed by silence keeps
 * what was measured before, and can come back to it.
 */
static bool np_verify_outgrown(const struct host *h, const struct sku *s)
{
	bool silent = h->proof == PROOF_FAILED && h->claims && h->proof_why &&
		strcmp(h->proof_why, np_recheck_silent) == 0;
	json_t *floors = judge_floors(s);
	char why[WHY_BYTES + 1];
	bool outgrown = (h->proof == PROOF_OUTGROWN || silent) && judge_short(floors, h->claims, why, sizeof why);

	json_decref(floors);
	return outgrown;
}

/*
 * A host that its type has outgrown need not reach what it asks for now, but be as good as it was: that goes on for as
 * long as a proof. It stays known by the best that was measured, or many small steps would lead down.
 */
static bool np_verify_as_before(const struct api *api, const struct sent *sent, const struct verdict *v,
	struct event *ev)
{
	const struct engine *e = market_engine(api->market);
	const struct host *h = engine_host(e, v->host);
	const struct sku *s = engine_sku(e, h->sku);

	if (!v->below || !np_verify_outgrown(h, s) || !judge_holds(s, &sent->claims, h->claims, AS_BEFORE_PERCENT))
		return false;
	ev->u.host_verified.result = PROOF_OUTGROWN;
	ev->u.host_verified.until = engine_minute(e) + 1 + v->minutes;
	if (!judge_holds(s, &sent->claims, h->claims, 100))
		ev->text = NULL;
	return true;
}

/* Since the lease began that was drawn, where it fails for that. */
static struct event np_verify_event(const struct api *api, const struct sent *sent, const struct verdict *v)
{
	const struct recheck *again = nonces_answered(api->nonces, v->host, sent->given);
	struct event ev = { .kind = EVENT_HOST_VERIFIED,
		.account = sent->agent->account,
		.subject = v->host,
		.text = sent->text };

	ev.u.host_verified.why = v->passed ? NULL : v->why;
	if (v->passed) {
		ev.u.host_verified.result = PROOF_PASSED;
		ev.u.host_verified.until = engine_minute(market_engine(api->market)) + 1 + v->minutes;
	} else if (!np_verify_as_before(api, sent, v, &ev)) {
		ev.u.host_verified.result = PROOF_FAILED;
		ev.u.host_verified.since = again ? again->since : 0;
	}
	return ev;
}

/* What fails beside a node says nothing, but for a lease that was drawn: the node may take what was measured. */
static bool np_verify_counts(const struct api *api, const struct sent *sent, const struct event *ev)
{
	return ev->u.host_verified.result != PROOF_FAILED || nonces_answered(api->nonces, ev->subject, sent->given) ||
		!np_verify_busy(market_engine(api->market), sent->agent->id);
}

static bool np_verify_slow(const struct verdict *v, const struct event *ev)
{
	return v->below && ev->u.host_verified.result == PROOF_FAILED;
}

/*
 * Where a lease began, one slow answer may be a bad minute of the disk or the network, or what a tenant left behind:
 * while there is time for another, the machine measures again, all of its hosts, and the last answer counts.
 */
static bool np_verify_again(const struct api *api, const struct sent *sent, const struct verdict *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct recheck *r = nonces_answered(api->nonces, list[i].host, sent->given);
		struct event ev = np_verify_event(api, sent, &list[i]);

		if (r && r->left > AGAIN_MINUTES && np_verify_slow(&list[i], &ev))
			return true;
	}
	return false;
}

static int np_verify_apply(struct api *api, const struct request *q, const struct sent *sent, const struct verdict *v,
	struct fail *why)
{
	struct event ev = np_verify_event(api, sent, v);
	int rc = 0;

	if (sent->again && np_verify_slow(v, &ev)) {
		nonces_missed(api->nonces, v->host, v->why);
		return 0;
	}
	if (np_verify_counts(api, sent, &ev))
		rc = api_apply(api, q, &ev, NULL, why);
	if (!rc && nonces_answered(api->nonces, v->host, sent->given))
		np_recheck_close(api, engine_host(market_engine(api->market), v->host));
	return rc;
}

/* Each host keeps a copy: there is room for all of them, or none gets one. */
static int np_verify_room(struct api *api, const struct request *q, const struct sent *sent, const struct verdict *list,
	size_t count, struct fail *why)
{
	struct quota_need need = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct event ev = np_verify_event(api, sent, &list[i]);

		if (!(sent->again && np_verify_slow(&list[i], &ev)) && np_verify_counts(api, sent, &ev))
			quota_need_add(api, &need, &ev);
	}
	return count ? quota_grant(api, q, &need, why) : 0;
}

static json_t *np_verify_result(const struct api *api, const struct verdict *v)
{
	const struct engine *e = market_engine(api->market);
	const struct host *h = engine_host(e, v->host);
	const struct recheck *open = nonces_rechecked(api->nonces, v->host);
	const char *why = open && *open->why ? open->why : h->proof_why;

	return json_pack("{s:o, s:o, s:s, s:o, s:o}", "host", render_id(IDENT_HOST, v->host), "name",
		render_text(h->name), "state", np_proof_state(e, h), "until",
		h->proof_until ? json_integer(h->proof_until * 60) : json_null(), "reason", render_text(why));
}

static int np_verify_judge(struct api *api, const struct request *q, struct reply *r, struct sent *sent)
{
	struct verdict *list = calloc(JUDGE_HOSTS, sizeof *list);
	json_t *data = json_array();
	struct fail why = { 0 };
	size_t count = 0;
	int rc = 0;

	if (list)
		count = judge_hosts(market_engine(api->market), sent->agent, &sent->claims, list, JUDGE_HOSTS);
	else
		rc = fail_set(&why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	sent->again = np_verify_again(api, sent, list, count);
	rc = rc ? rc : np_verify_room(api, q, sent, list, count, &why);
	for (size_t i = 0; !rc && i < count; i++) {
		rc = np_verify_apply(api, q, sent, &list[i], &why);
		if (!rc)
			json_array_append_new(data, np_verify_result(api, &list[i]));
	}
	free(list);
	if (!rc)
		return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "verification", "hosts", data));
	json_decref(data);
	return api_failed(q, r, rc, NULL, &why);
}

static int post_verification(struct api *api, const struct request *q, struct reply *r)
{
	struct sent sent = { .agent = np_verify_agent(api, q, r), .text = body_text(q->body, "verification") };
	struct fail why = { 0 };
	char nonce[NONCE_TEXT];
	int rc;

	if (!sent.agent)
		return r->status;
	if (!nonces_take(api->nonces, q->agent, q->generation, market_now(api->market), nonce, &sent.given))
		return api_refuse(q, r, REASON_WRONG_STATE, "verification",
			"the market waits for no verification of this agent, or no longer: ask for a nonce first");
	rc = np_verify_believe(api, nonce, &sent, &why);
	if (rc)
		return api_failed(q, r, rc, "verification", &why);
	rc = np_verify_judge(api, q, r, &sent);
	claims_release(&sent.claims);
	return rc;
}

/* ---- For people -------------------------------------------------------------------------------- */

/* All that was measured, as it was signed. */
static int get_verification(struct api *api, const struct request *q, struct reply *r)
{
	const struct host *h = np_find_host(api, q, r, false);
	json_t *o, *claims;

	if (!h)
		return r->status;
	o = np_verification(market_engine(api->market), h);
	claims = h->claims ? json_loads(h->claims, 0, NULL) : NULL;
	json_object_set_new(o, "object", json_string("host_verification"));
	json_object_set_new(o, "claims", claims ? claims : json_null());
	return api_json(q, r, 200, o);
}

const struct route api_np_verify_routes[] = {
	{ METHOD_POST, "/np/v1/agent/nonce", post_nonce, SCOPE_AGENT, 0,
		"Get a nonce to measure an agent's machine for; the one before is void", NULL, NULL, "np.Nonce", 200 },
	{ METHOD_POST, "/np/v1/agent/verification", post_verification, SCOPE_AGENT, 0,
		"Send what an agent measured for its nonce, signed", NULL, "np.VerificationRequest",
		"np.VerificationAnswer", 200 },
	{ METHOD_GET, "/np/v1/hosts/{id}/verification", get_verification, SCOPE_HOST, 0,
		"Get what was measured of a host, as its agent signed it", NULL, NULL, "np.HostVerification", 200 },
	{ 0 },
};
