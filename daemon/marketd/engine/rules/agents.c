/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/agents.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/account.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/money/volume.h"

static void emit_news(struct engine *e, const struct agent *a, enum agent_news news)
{
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_AGENT,
			.account = a->account,
			.subject = a->id,
			.minute = e->minute,
			.code = (int32_t)news });
}

bool agent_key_fits(const char *public_key)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *last;

	if (!public_key || strspn(public_key, digits) != PUBLIC_KEY_TEXT - 1 ||
		strcmp(public_key + PUBLIC_KEY_TEXT - 1, "=") != 0)
		return false;
	last = strchr(digits, public_key[PUBLIC_KEY_TEXT - 2]);
	return (last - digits) % 4 == 0; /* its last two bits lie past the 32 bytes */
}

/* The join token that the machine came with; NULL for any other token. */
static struct token *join_token(const struct engine *e, const struct event *ev)
{
	struct token *t = world_token(e, ev->token);

	return t && t->scopes & SCOPE_JOIN ? t : NULL;
}

int agent_join(struct engine *e, const struct event *ev, struct fail *why)
{
	struct agent a = { .account = ev->account, .name = (char *)ev->name, .public_key = (char *)ev->text,
		.machine = (char *)ev->u.agent.machine, .created_at = ev->at };
	struct token *t = join_token(e, ev);
	int rc = check_open_account(e, ev, why);

	if (rc)
		return rc;
	if (t && t->revoked)
		return fail_set(why, REASON_WRONG_STATE, "the token was used or revoked");
	rc = check_name(ev->name, true, why);
	if (rc)
		return rc;
	if (!agent_key_fits(ev->text))
		return fail_set(why, REASON_INVALID, "a public key is 32 bytes in base64");
	if (a.machine && strlen(a.machine) > NAME_BYTES)
		return fail_set(why, REASON_INVALID, "the name of a machine has at most %d bytes", NAME_BYTES);
	if (world_named(e, AGENTS, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "agent '%s' already exists", ev->name);
	if (world_named(e, AGENTS, 0, ev->text))
		return fail_set(why, REASON_NAME_TAKEN, "an agent with that key already exists");
	a.id = world_id(e);
	world_make_agent(e, &a)->version = e->count + 1;
	if (t)
		token_end(e, t);
	emit_made(e, a.id);
	emit_news(e, &a, AGENT_JOINED);
	return 0;
}

static int agents_find(const struct engine *e, const struct event *ev, struct live_agent **out, struct fail *why)
{
	struct live_agent *a = world_agent(e, ev->subject);
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!a || a->pub.account != ev->account || a->pub.retired)
		return fail_set(why, REASON_NOT_FOUND, "no such agent");
	*out = a;
	return 0;
}

int agent_session(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_agent *a;
	int rc = agents_find(e, ev, &a, why);

	if (rc)
		return rc;
	if (ev->u.agent_session.generation <= a->pub.generation)
		return fail_set(why, REASON_FENCED, "agent '%s' already had session %llu", a->pub.name,
			(unsigned long long)a->pub.generation);
	a->pub.generation = ev->u.agent_session.generation;
	memcpy(a->pub.session, ev->u.agent_session.hash, TOKEN_HASH);
	emit_news(e, &a->pub, AGENT_CAME);
	return 0;
}

int agent_inventory(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_agent *a;
	int rc = check_text(ev->text, why);

	rc = rc ? rc : agents_find(e, ev, &a, why);
	if (rc)
		return rc;
	if (!ev->text)
		return fail_set(why, REASON_INVALID, "an inventory needs a text");
	free(a->pub.inventory);
	a->pub.inventory = must_copy(ev->text);
	return 0;
}

int agent_retire(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_agent *a;
	int rc = agents_find(e, ev, &a, why);

	if (rc)
		return rc;
	if (rank_live(&a->hosts))
		return fail_set(why, REASON_HAS_DEPENDENTS, "agent '%s' has hosts; retire them first", a->pub.name);
	world_unname(e, AGENTS, a->pub.account, a->pub.name);
	world_unname(e, AGENTS, 0, a->pub.public_key);
	volume_lose_all(e, a);
	memset(a->pub.session, 0, TOKEN_HASH);
	a->pub.retired = true;
	a->version = e->count + 1;
	emit_news(e, &a->pub, AGENT_LEFT);
	return 0;
}

/* ---- What they measured ------------------------------------------------------------------- */

static int verified_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	int32_t result = ev->u.host_verified.result;
	int64_t until = ev->u.host_verified.until, least = result == PROOF_PASSED ? e->minute : 0;

	if (result != PROOF_PASSED && result != PROOF_FAILED && result != PROOF_OUTGROWN)
		return fail_set(why, REASON_INVALID, "a host passes, fails, or is outgrown by its SKU");
	if (result == PROOF_FAILED ? until != 0 : until <= least || until > MINUTE_MAX)
		return fail_set(why, REASON_INVALID, "a proof is valid until a later minute");
	if (ev->u.host_verified.since < 0 || (result != PROOF_FAILED && ev->u.host_verified.since))
		return fail_set(why, REASON_INVALID, "a host fails since an earlier minute, but passes now");
	if (ev->u.host_verified.why && strlen(ev->u.host_verified.why) > WHY_BYTES)
		return fail_set(why, REASON_INVALID, "a reason has at most %d bytes", WHY_BYTES);
	return check_text(ev->text, why);
}

static void verified_text(char **text, const char *now)
{
	free(*text);
	*text = must_copy(now);
}

/* New measurements, or none; without them the host keeps those of which the event says something else. */
static void verified_claims(struct host *h, const struct event *ev)
{
	if (!ev->text && ev->u.host_verified.result != PROOF_FAILED)
		return;
	h->proof_at = ev->at;
	verified_text(&h->claims, ev->text);
}

/* Tells its owner; and whoever has it now, where it is no longer proven. */
static void verified_notify(struct engine *e, const struct live_host *h)
{
	const struct piece *p = calendar_at(h, e->minute);
	const struct live_lease *l = p ? world_lease(e, p->lease) : NULL;
	struct notice told = { .kind = NOTICE_HOST_VERIFIED,
		.account = h->pub.account,
		.subject = h->pub.id,
		.minute = h->pub.proof_until,
		.code = (int32_t)h->pub.proof };

	emit_notice(e, &told);
	if (!l || !l->pub.proof || h->pub.proof != PROOF_FAILED || l->pub.buyer == h->pub.account)
		return;
	told.account = l->pub.buyer;
	told.other = l->pub.id;
	emit_notice(e, &told);
}

int host_verified(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t since = ev->u.host_verified.since;
	struct live_host *h;
	int rc = pool_find_host(e, ev, &h, why);

	rc = rc ? rc : verified_check(e, ev, why);
	if (rc)
		return rc;
	live_host_changed(h);
	pool_settle_running(e, h, since && since < e->minute ? since : e->minute);
	h->pub.proof = (enum host_proof)ev->u.host_verified.result;
	h->pub.proof_until = ev->u.host_verified.until;
	verified_text(&h->pub.proof_why, ev->u.host_verified.why);
	verified_claims(&h->pub, ev);
	if (h->pub.proof == PROOF_PASSED)
		h->sku->marked = h->sku->crossed = true;
	verified_notify(e, h);
	return 0;
}
