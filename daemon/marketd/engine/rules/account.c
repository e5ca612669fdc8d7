/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/money/dunning.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/rules/emit.h"

/* Down to where its money may go, or has gone already. */
static int64_t account_lowest(const struct account *a, int64_t floor)
{
	return a->available < floor ? a->available : floor;
}

/* Would `more` take the money credited, with all that floors allow and debts have, past what can be counted? */
bool account_too_much(const struct engine *e, int64_t more)
{
	int64_t sum = -e->issued;
	struct live_account *a;

	if (__builtin_add_overflow(sum, more, &sum))
		return true;
	for (size_t at = 0; (a = rank_next(&e->all[ACCOUNTS], &at));)
		if (__builtin_sub_overflow(sum, account_lowest(&a->pub, a->pub.floor), &sum))
			return true;
	return sum > MONEY_MAX;
}

int account_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct account a = { .beneficiary = ev->u.account.beneficiary,
		.floor = ev->u.account.floor,
		.created_at = ev->at };
	int rc;

	if (a.beneficiary && !world_account(e, a.beneficiary))
		return fail_set(why, REASON_NOT_FOUND, "no such beneficiary");
	rc = check_name(ev->name, true, why);
	if (rc)
		return rc;
	if (a.floor > 0)
		return fail_set(why, REASON_INVALID, "a floor must be 0 or below");
	if (world_named(e, ACCOUNTS, 0, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "account '%s' already exists", ev->name);
	if (a.floor < -MONEY_MAX || account_too_much(e, -a.floor))
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	a.id = world_id(e);
	a.name = (char *)ev->name;
	a.beneficiary = a.beneficiary ? a.beneficiary : a.id;
	world_make_account(e, &a);
	emit_made(e, a.id);
	return 0;
}

int account_set_state(struct engine *e, const struct event *ev, struct fail *why)
{
	int32_t state = ev->u.account_state.state;
	int64_t floor = ev->u.account_state.floor;
	struct live_account *a;
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	a = world_account(e, ev->account);
	if (state < ACCOUNT_OPEN || state > ACCOUNT_AS_IT_IS || floor > 0)
		return fail_set(why, REASON_INVALID, "an account is open or suspended, and its floor 0 or below");
	if (a->pub.available < floor && floor > a->pub.floor)
		return fail_set(why, REASON_FUNDS, "account '%s' is below that floor", a->pub.name);
	if (floor < -MONEY_MAX ||
		(floor < a->pub.floor &&
			account_too_much(e, account_lowest(&a->pub, a->pub.floor) - account_lowest(&a->pub, floor))))
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	if (state != ACCOUNT_AS_IT_IS)
		dunning_by_hand(e, a, (enum account_state)state);
	a->pub.floor = floor;
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_ACCOUNT_STATE,
			.account = a->pub.id,
			.subject = a->pub.id,
			.amount = floor,
			.code = (int32_t)a->pub.state });
	return 0;
}

int account_credit(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t micros = ev->u.credit.micros, after;
	struct live_account *a;
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	a = world_account(e, ev->account);
	if (!micros)
		return fail_set(why, REASON_INVALID, "a credit must not be 0");
	if (__builtin_add_overflow(a->pub.available, micros, &after) && micros > 0)
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	if (micros < 0 && (micros == INT64_MIN || micros < -ledger_spendable(&a->pub)))
		return fail_set(why, REASON_FUNDS, "the balance of account '%s' would fall below its floor",
			a->pub.name);
	if (micros > 0 && account_too_much(e, micros))
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	ledger_move(e, 0, (struct entry[]){
		{ .book = BOOK_ISSUED, .amount = -micros },
		{ .book = BOOK_AVAILABLE, .account = a, .amount = micros },
	}, 2);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_CREDITED,
			.account = a->pub.id,
			.subject = a->pub.id,
			.amount = micros });
	return 0;
}

const char *token_key(const uint8_t hash[TOKEN_HASH], char room[TOKEN_KEY])
{
	for (int i = 0; i < TOKEN_HASH; i++)
		snprintf(room + 2 * i, 3, "%02x", hash[i]);
	return room;
}

int token_make(struct engine *e, const struct event *ev, struct fail *why)
{
	int32_t all = SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST | SCOPE_ADMIN | SCOPE_JOIN;
	const struct person *x = world_person(e, ev->u.token.person);
	int32_t scopes = ev->u.token.scopes;
	char key[TOKEN_KEY];
	struct token *t;
	int rc = check_account(e, ev, why);

	if (!rc && ev->u.token.person && (!x || x->account != ev->account))
		return fail_set(why, REASON_NOT_FOUND, "no such person");
	rc = rc ? rc : check_name(ev->name && *ev->name ? ev->name : NULL, false, why);
	if (rc)
		return rc;
	if (!scopes || (scopes & ~all))
		return fail_set(why, REASON_INVALID, "a token needs at least one known scope");
	if (ev->u.token.expires && ev->u.token.expires <= ev->at)
		return fail_set(why, REASON_INVALID, "the token would have expired already");
	if (world_named(e, TOKENS, 0, token_key(ev->u.token.hash, key)))
		return fail_set(why, REASON_NAME_TAKEN, "that token already exists");
	t = must_zalloc(sizeof *t);
	*t = (struct token){ .id = world_id(e),
		.account = ev->account,
		.name = must_copy(ev->name ? ev->name : ""),
		.scopes = scopes,
		.created_at = ev->at,
		.expires = ev->u.token.expires,
		.person = ev->u.token.person };
	for (int i = 0; i < TOKEN_HASH; i++)
		t->hash[i] = ev->u.token.hash[i];
	world_add(e, TOKENS, t->id, t->account, t);
	world_name(e, TOKENS, 0, key, t);
	emit_made(e, t->id);
	return 0;
}

void token_end(struct engine *e, struct token *t)
{
	t->revoked = true;
	world_account(e, t->account)->gone[TOKENS]++;
}

int token_revoke(struct engine *e, const struct event *ev, struct fail *why)
{
	struct token *t = world_token(e, ev->subject);
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!t || t->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such token");
	if (t->revoked)
		return fail_set(why, REASON_WRONG_STATE, "the token is already revoked");
	token_end(e, t);
	return 0;
}

/* Never back: what an edition did is history, and replays by that edition. */
int rules_set(struct engine *e, const struct event *ev, struct fail *why)
{
	if (ev->u.rules.edition <= e->rules || ev->u.rules.edition > RULES_NEWEST)
		return fail_set(why, REASON_INVALID, "the rules go from edition %d up to %d", e->rules, RULES_NEWEST);
	e->rules = ev->u.rules.edition;
	dunning_begin(e);
	return 0;
}

int policy_set(struct engine *e, const struct event *ev, struct fail *why)
{
	const struct policy *p = &ev->u.policy;
	struct live_lease *l;
	struct live_sku *s;

	if (p->fee_bps < 0 || p->fee_bps > 10000 || p->release_bps < 0 || p->release_bps > 10000)
		return fail_set(why, REASON_INVALID, "fee and release are 0 to 10000 basis points");
	if (p->settle_minutes < 1 || p->settle_minutes > 525600 || p->notice_minutes < 0 || p->notice_minutes > 1440)
		return fail_set(why, REASON_INVALID,
			"leases settle every 1 to 525600 minutes, notice is 0 to 1440 minutes");
	if (p->drain_notice_minutes < 0 || p->drain_notice_minutes > DRAIN_NOTICE_MAX)
		return fail_set(why, REASON_INVALID, "the notice of a drain is 0 to %d minutes", DRAIN_NOTICE_MAX);
	if (p->volume_grace_minutes < 0 || p->volume_grace_minutes > VOLUME_GRACE_MAX)
		return fail_set(why, REASON_INVALID, "unpaid volumes are kept for 0 to %d minutes", VOLUME_GRACE_MAX);
	e->policy = *p;
	for (size_t at = 0; (l = rank_next(&e->all[LEASES], &at));)
		lease_schedule(e, l);
	for (size_t at = 0; (s = rank_next(&e->all[SKUS], &at));)
		s->crossed = true; /* less notice makes more capacity usable */
	return 0;
}

/* ---- Announcements ---------------------------------------------------------------------------- */

static int announce_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t from = ev->u.announce.from, until = ev->u.announce.until ? ev->u.announce.until : MINUTE_MAX;
	size_t len = ev->text ? strlen(ev->text) : 0;

	if (ev->account && !world_account(e, ev->account))
		return fail_set(why, REASON_NOT_FOUND, "no such account");
	if (!len || len > ANNOUNCEMENT_BYTES)
		return fail_set(why, REASON_INVALID, "an announcement has 1 to %d bytes", ANNOUNCEMENT_BYTES);
	if (ev->u.announce.severity < SEVERITY_INFO || ev->u.announce.severity > SEVERITY_CRITICAL)
		return fail_set(why, REASON_INVALID, "an announcement is info, warning or critical");
	if (from < 0 || until > MINUTE_MAX || until <= from || until <= e->minute)
		return fail_set(why, REASON_INVALID, "an announcement ends after it begins, and later than now");
	if (rank_live(&e->all[ANNOUNCEMENTS]) >= ANNOUNCEMENTS_MAX)
		return fail_set(why, REASON_LIMIT, "%d announcements are not over yet; end one of them first",
			ANNOUNCEMENTS_MAX);
	return 0;
}

int announce_make(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t from = ev->u.announce.from > e->minute ? ev->u.announce.from : e->minute;
	int rc = announce_check(e, ev, why);
	struct announcement *x;

	if (rc)
		return rc;
	x = must_zalloc(sizeof *x);
	*x = (struct announcement){ .id = world_id(e),
		.account = ev->account,
		.severity = (enum severity)ev->u.announce.severity,
		.from = from,
		.until = ev->u.announce.until ? ev->u.announce.until : MINUTE_MAX,
		.text = must_copy(ev->text),
		.created_at = ev->at };
	world_add(e, ANNOUNCEMENTS, x->id, x->account, x);
	emit_made(e, x->id);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_ANNOUNCED,
			.account = x->account,
			.subject = x->id,
			.minute = x->from,
			.code = (int32_t)x->severity });
	return 0;
}

int announce_end(struct engine *e, const struct event *ev, struct fail *why)
{
	struct announcement *x = world_announcement(e, ev->subject);

	if (!x || x->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such announcement, or it is over");
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_ANNOUNCEMENT_ENDED,
			.account = x->account,
			.subject = x->id,
			.code = (int32_t)x->severity });
	world_forget(e, ANNOUNCEMENTS, x->id, x->account, x);
	return 0;
}

void announce_forget(struct engine *e)
{
	struct announcement *x, *next;

	for (x = rank_after(&e->all[ANNOUNCEMENTS], 0); x; x = next) {
		next = rank_after(&e->all[ANNOUNCEMENTS], x->id);
		if (x->until <= e->minute)
			world_forget(e, ANNOUNCEMENTS, x->id, x->account, x);
	}
}
