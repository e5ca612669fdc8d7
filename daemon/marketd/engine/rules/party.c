/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/party.h"

#include <stdio.h>

#include "market/reason.h"
#include "marketd/engine/rules/door.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/rules/ledger.h"
#include "marketd/engine/rules/tell.h"

/* What all balances together may come to: so none ever passes 64 bits. */
#define MONEY_MAX INT64_C(4000000000000000000)

/* Would what was credited and what floors allow pass it, with that much more? */
static bool too_much(const struct engine *e, int64_t more)
{
	int64_t sum = -e->issued;
	struct party *p;

	if (__builtin_add_overflow(sum, more, &sum))
		return true;
	for (size_t at = 0; (p = rank_next(&e->all[ACCOUNTS], &at));)
		if (__builtin_sub_overflow(sum, p->pub.floor, &sum))
			return true;
	return sum > MONEY_MAX;
}

int party_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct account a = { .beneficiary = ev->u.account.beneficiary, .floor = ev->u.account.floor, .created_at = ev->at };
	int rc;

	if (a.beneficiary && !world_party(e, a.beneficiary))
		return fail_set(why, REASON_NOT_FOUND, "there is no such beneficiary");
	rc = door_name(ev->name, true, why);
	if (rc)
		return rc;
	if (a.floor > 0)
		return fail_set(why, REASON_INVALID, "a floor is not above 0");
	if (world_named(e, ACCOUNTS, 0, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "there is an account '%s' already", ev->name);
	if (a.floor < -MONEY_MAX || too_much(e, -a.floor))
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	a.id = world_id(e);
	a.name = (char *)ev->name;
	a.beneficiary = a.beneficiary ? a.beneficiary : a.id;
	world_make_party(e, &a);
	tell_made(e, a.id);
	return 0;
}

int party_state(struct engine *e, const struct event *ev, struct fail *why)
{
	int32_t state = ev->u.account_state.state;
	int64_t floor = ev->u.account_state.floor;
	struct party *p;
	int rc = door_account(e, ev, why);

	if (rc)
		return rc;
	p = world_party(e, ev->account);
	if ((state != ACCOUNT_OPEN && state != ACCOUNT_SUSPENDED) || floor > 0)
		return fail_set(why, REASON_INVALID, "an account is open or suspended, and its floor is not above 0");
	if (p->pub.available < floor)
		return fail_set(why, REASON_FUNDS, "account '%s' is below that floor", p->pub.name);
	if (floor < -MONEY_MAX || (floor < p->pub.floor && too_much(e, p->pub.floor - floor)))
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	p->pub.state = (enum account_state)state;
	p->pub.floor = floor;
	tell_notice(e, &(struct notice){ .kind = NOTICE_ACCOUNT_STATE, .account = p->pub.id, .subject = p->pub.id,
		.amount = floor, .code = state });
	return 0;
}

int party_credit(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t micros = ev->u.credit.micros, after;
	struct party *p;
	int rc = door_account(e, ev, why);

	if (rc)
		return rc;
	p = world_party(e, ev->account);
	if (!micros)
		return fail_set(why, REASON_INVALID, "a credit of nothing");
	if (__builtin_add_overflow(p->pub.available, micros, &after) && micros > 0)
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	if (micros < 0 && (micros == INT64_MIN || micros < -ledger_spendable(&p->pub)))
		return fail_set(why, REASON_FUNDS, "the balance of account '%s' would fall below its floor", p->pub.name);
	if (micros > 0 && too_much(e, micros))
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	ledger_move(e, 0, (struct entry[]){
		{ .book = BOOK_ISSUED, .amount = -micros },
		{ .book = BOOK_AVAILABLE, .party = p, .amount = micros },
	}, 2);
	tell_notice(e, &(struct notice){ .kind = NOTICE_CREDITED, .account = p->pub.id, .subject = p->pub.id, .amount = micros });
	return 0;
}

const char *party_token_key(const uint8_t hash[TOKEN_HASH], char room[TOKEN_KEY])
{
	for (int i = 0; i < TOKEN_HASH; i++)
		snprintf(room + 2 * i, 3, "%02x", hash[i]);
	return room;
}

int party_token(struct engine *e, const struct event *ev, struct fail *why)
{
	int32_t all = SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST | SCOPE_ADMIN | SCOPE_JOIN;
	int32_t scopes = ev->u.token.scopes;
	char key[TOKEN_KEY];
	struct token *t;
	int rc = door_account(e, ev, why);

	rc = rc ? rc : door_name(ev->name && *ev->name ? ev->name : NULL, false, why);
	if (rc)
		return rc;
	if (!scopes || (scopes & ~all))
		return fail_set(why, REASON_INVALID, "a token has scopes, of the known ones");
	if (ev->u.token.expires && ev->u.token.expires <= ev->at)
		return fail_set(why, REASON_INVALID, "the token would have expired already");
	if (world_named(e, TOKENS, 0, party_token_key(ev->u.token.hash, key)))
		return fail_set(why, REASON_NAME_TAKEN, "there is that token already");
	t = must_zalloc(sizeof *t);
	*t = (struct token){ .id = world_id(e), .account = ev->account, .name = must_copy(ev->name ? ev->name : ""),
		.scopes = scopes, .created_at = ev->at, .expires = ev->u.token.expires };
	for (int i = 0; i < TOKEN_HASH; i++)
		t->hash[i] = ev->u.token.hash[i];
	world_add(e, TOKENS, t->id, t->account, t);
	world_name(e, TOKENS, 0, key, t);
	tell_made(e, t->id);
	return 0;
}

int party_token_revoke(struct engine *e, const struct event *ev, struct fail *why)
{
	struct token *t = idmap_get(&e->ids[TOKENS], ev->subject);
	int rc = door_account(e, ev, why);

	if (rc)
		return rc;
	if (!t || t->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "there is no such token");
	if (t->revoked)
		return fail_set(why, REASON_WRONG_STATE, "the token is revoked already");
	t->revoked = true;
	return 0;
}

int party_policy(struct engine *e, const struct event *ev, struct fail *why)
{
	const struct policy *p = &ev->u.policy;
	struct tenure *t;
	struct ware *w;

	if (p->fee_bps < 0 || p->fee_bps > 10000 || p->release_bps < 0 || p->release_bps > 10000)
		return fail_set(why, REASON_INVALID, "shares are 0 to 10000 parts of 10000");
	if (p->settle_minutes < 1 || p->settle_minutes > 525600 || p->notice_minutes < 0 || p->notice_minutes > 1440)
		return fail_set(why, REASON_INVALID, "leases settle every 1 to 525600 minutes, notice is 0 to 1440 minutes");
	e->policy = *p;
	for (size_t at = 0; (t = rank_next(&e->all[LEASES], &at));)
		lease_schedule(e, t);
	for (size_t at = 0; (w = rank_next(&e->all[SKUS], &at));)
		w->crossed = true; /* with less notice more can be had */
	return 0;
}
