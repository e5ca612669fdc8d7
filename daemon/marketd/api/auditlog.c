/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/auditlog.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "market/ident.h"
#include "market/money.h"

enum { AUDIT_NAME = 300 };

/* "'acme'", or its id where it has no name. */
static const char *audit_account(const struct engine *e, uint64_t id, char room[AUDIT_NAME])
{
	const struct account *a = engine_account(e, id);
	char text[IDENT_TEXT];

	snprintf(room, AUDIT_NAME, "'%.255s'", a && a->name ? a->name : ident_text(IDENT_ACCOUNT, id, text));
	return room;
}

static void audit_who(const struct engine *e, const struct request *q, char *room, size_t size)
{
	const struct person *x = engine_person(e, q->person);
	char name[AUDIT_NAME], id[IDENT_TEXT];

	if (x)
		snprintf(room, size, "'%.100s' (%s) of account %s", x->name, ident_text(IDENT_PERSON, x->id, id),
			audit_account(e, q->account, name));
	else if (q->agent)
		snprintf(room, size, "agent %s of account %s", ident_text(IDENT_AGENT, q->agent, id),
			audit_account(e, q->account, name));
	else if (q->token)
		snprintf(room, size, "token %s of account %s", ident_text(IDENT_TOKEN, q->token, id),
			audit_account(e, engine_token(e, q->token) ? engine_token(e, q->token)->account : q->account,
				name));
	else
		snprintf(room, size, "%s", q->local ? "the operator" : "the market");
}

static void audit_account_state(const struct event *ev, const char *whose, char *room, size_t size)
{
	static const char *const words[] = { "is open, its", "is suspended, its", "has another" };
	int32_t state = ev->u.account_state.state;
	char floor[MONEY_TEXT];

	snprintf(room, size, "account %s %s floor %s", whose, words[state < 0 || state > ACCOUNT_AS_IT_IS ? 0 : state],
		money_text(ev->u.account_state.floor, floor));
}

static void audit_policy(const struct policy *p, char *room, size_t size)
{
	snprintf(room, size,
		"policy is fee_bps=%" PRId32 " release_bps=%" PRId32 " settle_minutes=%" PRId32
		" notice_minutes=%" PRId32 " drain_notice_minutes=%" PRId32 " volume_grace_minutes=%" PRId32,
		p->fee_bps, p->release_bps, p->settle_minutes, p->notice_minutes, p->drain_notice_minutes,
		p->volume_grace_minutes);
}

static void audit_host(const struct engine *e, const struct event *ev, const char *what, char *room, size_t size)
{
	const struct host *h = engine_host(e, ev->subject);
	const char *why = ev->kind == EVENT_HOST_STATE ? ev->text : NULL;

	snprintf(room, size, "host '%.255s' %s%s%.255s", h && h->name ? h->name : "?", what, why && *why ? ": " : "",
		why ? why : "");
}

static bool audit_grant(const struct engine *e, const struct event *ev, char *room, size_t size)
{
	char whose[AUDIT_NAME], id[IDENT_TEXT], money[MONEY_TEXT];

	audit_account(e, ev->account, whose);
	if (ev->kind == EVENT_GRANT)
		snprintf(room, size, "grant '%.255s' of %s for account %s", ev->name,
			money_text(ev->u.grant.max, money), whose);
	else if (ev->kind == EVENT_GRANT_END)
		snprintf(room, size, "grant %s of account %s ended", ident_text(IDENT_GRANT, ev->subject, id), whose);
	else if (ev->kind == EVENT_ACCOUNT_FACTS)
		snprintf(room, size, "facts of account %s: %.300s", whose, ev->text && *ev->text ? ev->text : "none");
	else
		return false;
	return true;
}

static bool audit_plan(const struct engine *e, const struct event *ev, char *room, size_t size)
{
	const struct tariff *t = engine_tariff(e, ev->subject);
	const char *name = t ? t->name : ev->name ? ev->name : "?";
	char whose[AUDIT_NAME], fee[MONEY_TEXT], included[MONEY_TEXT];

	audit_account(e, ev->account, whose);
	if (ev->kind == EVENT_PLAN)
		snprintf(room, size, "plan '%.255s' of account %s: %s a month, %s included, %s", name, whose,
			money_text(ev->u.plan.fee, fee), money_text(ev->u.plan.included, included),
			ev->u.plan.state == TARIFF_OPEN ? "open" : "closed");
	else if (ev->kind == EVENT_SUBSCRIPTION && ev->subject)
		snprintf(room, size, "account %s subscribes to plan '%.255s'", whose, name);
	else if (ev->kind == EVENT_SUBSCRIPTION)
		snprintf(room, size, "account %s cancels its plan", whose);
	else
		return false;
	return true;
}

static bool audit_dunning(const struct engine *e, const struct event *ev, char *room, size_t size)
{
	static const char *const words[] = { "reminded", "reminded for the last time", "suspended by the rule" };
	int step = ev->u.dunning.step - 1;
	char whose[AUDIT_NAME];

	if (ev->kind != EVENT_DUNNING)
		return false;
	if (!ev->u.dunning.step)
		snprintf(room, size, "account %s was opened by the rule, as it owed nothing any more",
			audit_account(e, ev->account, whose));
	else
		snprintf(room, size, "account %s owes for %" PRId64 " days or more: %s",
			audit_account(e, ev->account, whose), ev->u.dunning.minutes / 1440,
			step >= 0 && step < 3 ? words[step] : "?");
	return true;
}

static bool audit_payment(const struct engine *e, const struct event *ev, char *room, size_t size)
{
	char whose[AUDIT_NAME], money[MONEY_TEXT];

	if (ev->kind != EVENT_PAYMENT)
		return false;
	if (ev->text)
		snprintf(room, size, "payment %.100s of %s%s: %.100s comes to %s", ev->name,
			ev->account ? "account " : "nobody known",
			ev->account ? audit_account(e, ev->account, whose) : "", ev->text,
			money_text(ev->u.payment.micros, money));
	else
		snprintf(room, size, "payment %.100s is of account %s", ev->name, audit_account(e, ev->account, whose));
	return true;
}

static bool audit_payout(const struct engine *e, const struct event *ev, uint64_t made, char *room, size_t size)
{
	uint64_t which = ev->subject ? ev->subject : made;
	const struct payout *p = engine_payout(e, which);
	char whose[AUDIT_NAME], money[MONEY_TEXT], id[IDENT_TEXT];

	if (ev->kind != EVENT_PAYOUT)
		return false;
	snprintf(room, size, "payout %s of %s to account %s: %s%s%.255s", ident_text(IDENT_PAYOUT, which, id),
		money_text(p ? p->micros : ev->u.payout.micros, money), audit_account(e, ev->account, whose),
		!ev->subject                                     ? "asked"
			: ev->u.payout.state == PAYOUT_SENT      ? "sent"
			: ev->u.payout.state == PAYOUT_CANCELLED ? "cancelled"
								 : "came back",
		ev->name || ev->text ? ", " : "",
		ev->name           ? ev->name
			: ev->text ? ev->text
				   : "");
	return true;
}

static void audit_person(const struct engine *e, const struct event *ev, uint64_t id, const char *what, char *room,
	size_t size)
{
	const struct person *x = engine_person(e, id);
	char whose[AUDIT_NAME], text[IDENT_TEXT];

	snprintf(room, size, "person %s%s%.100s%s of account %s %s", ident_text(IDENT_PERSON, id, text), x ? " '" : "",
		x ? x->name : "", x ? "'" : "", audit_account(e, ev->account, whose), what);
}

static void audit_cap(const struct engine *e, const struct event *ev, char *room, size_t size)
{
	const struct person *x = engine_person(e, ev->subject);
	char whose[AUDIT_NAME], id[IDENT_TEXT], money[MONEY_TEXT];
	bool none = ev->u.cap.micros < 0;

	snprintf(room, size, "%s %s of account %s may spend %s%s%s%.255s", x ? "person" : "token",
		ident_text(x ? IDENT_PERSON : IDENT_TOKEN, ev->subject, id), audit_account(e, ev->account, whose),
		none ? "without a cap" : money_text(ev->u.cap.micros, money), none ? "" : " a month",
		ev->text ? ": " : "", ev->text ? ev->text : "");
}

static bool audit_people(const struct engine *e, const struct event *ev, uint64_t made, char *room, size_t size)
{
	char whose[AUDIT_NAME], id[IDENT_TEXT];

	switch (ev->kind) {
	case EVENT_PERSON:
		audit_person(e, ev, made, "joined", room, size);
		return true;
	case EVENT_PERSON_CHANGE:
		audit_person(e, ev, ev->subject, ev->u.person.roles ? "has other roles" : "has another name", room,
			size);
		return true;
	case EVENT_PERSON_REMOVE:
		audit_person(e, ev, ev->subject, "removed", room, size);
		return true;
	case EVENT_CAP:
		audit_cap(e, ev, room, size);
		return true;
	case EVENT_INVITATION:
		snprintf(room, size, "invitation %s made for account %s", ident_text(IDENT_INVITATION, made, id),
			audit_account(e, ev->account, whose));
		return true;
	case EVENT_INVITATION_END:
		snprintf(room, size, "invitation %s of account %s ended", ident_text(IDENT_INVITATION, ev->subject, id),
			audit_account(e, ev->account, whose));
		return true;
	default:
		return false;
	}
}

static void audit_token(const struct engine *e, const struct event *ev, uint64_t made, char *room, size_t size)
{
	char whose[AUDIT_NAME], id[AUDIT_NAME];

	if (made)
		ident_text(IDENT_TOKEN, made, id);
	else /* who reads it later has its name alone */
		snprintf(id, sizeof id, "'%.40s'", ev->name ? ev->name : "");
	snprintf(room, size, "token %s made for account %s%s", id, audit_account(e, ev->account, whose),
		ev->u.token.scopes & SCOPE_ADMIN ? ", with the scope admin" : "");
}

bool auditlog_what(const struct engine *e, const struct event *ev, uint64_t made, char *room, size_t size)
{
	char whose[AUDIT_NAME], id[IDENT_TEXT], money[MONEY_TEXT];

	switch (ev->kind) {
	case EVENT_ACCOUNT:
		snprintf(room, size, "account '%.255s' made", ev->name);
		return true;
	case EVENT_ACCOUNT_STATE:
		audit_account_state(ev, audit_account(e, ev->account, whose), room, size);
		return true;
	case EVENT_CREDIT:
		snprintf(room, size, "%s of %s to account %s%s%.64s", ev->name ? "refund" : "credit",
			money_text(ev->u.credit.micros, money), audit_account(e, ev->account, whose),
			ev->name ? " for " : "", ev->name ? ev->name : "");
		return true;
	case EVENT_TOKEN:
		audit_token(e, ev, made, room, size);
		return true;
	case EVENT_TOKEN_REVOKE:
		snprintf(room, size, "token %s of account %s revoked", ident_text(IDENT_TOKEN, ev->subject, id),
			audit_account(e, ev->account, whose));
		return true;
	case EVENT_POLICY:
		audit_policy(&ev->u.policy, room, size);
		return true;
	case EVENT_SKU:
		snprintf(room, size, "type '%.255s' made or changed", ev->name ? ev->name : "?");
		return true;
	case EVENT_HOST_STATE:
		audit_host(e, ev, ev->u.host_state.down ? "is down" : "is up", room, size);
		return true;
	case EVENT_ANNOUNCE:
		snprintf(room, size, "announced to %s: %.300s",
			ev->account ? audit_account(e, ev->account, whose) : "all", ev->text);
		return true;
	case EVENT_ANNOUNCE_END:
		snprintf(room, size, "announcement %s ended", ident_text(IDENT_ANNOUNCEMENT, ev->subject, id));
		return true;
	case EVENT_HOST_RETIRE:
		audit_host(e, ev, "is retired", room, size);
		return true;
	case EVENT_AGENT:
		snprintf(room, size, "machine '%.255s' joined account %s", ev->name ? ev->name : "?",
			audit_account(e, ev->account, whose));
		return true;
	case EVENT_AGENT_RETIRE:
		snprintf(room, size, "agent %s of account %s is retired", ident_text(IDENT_AGENT, ev->subject, id),
			audit_account(e, ev->account, whose));
		return true;
	default:
		return audit_grant(e, ev, room, size) || audit_plan(e, ev, room, size) ||
			audit_payment(e, ev, room, size) || audit_dunning(e, ev, room, size) ||
			audit_payout(e, ev, made, room, size) || audit_people(e, ev, made, room, size);
	}
}

void auditlog_note(struct api *api, const struct request *q, const struct event *ev, uint64_t made)
{
	const struct engine *e = market_engine(api->market);
	char what[AUDITLOG_TEXT], who[AUDIT_NAME + 64], line[sizeof what + sizeof who + 16];

	if (!api->log || api->log->level < LOG_INFO || !auditlog_what(e, ev, made, what, sizeof what))
		return;
	audit_who(e, q, who, sizeof who);
	snprintf(line, sizeof line, "audit: %s, by %s", what, who);
	for (char *p = line; (p = strchr(p, '\n'));) /* a name may hold a line's end */
		*p = '?';
	api->audit_lost += buf_addf(&api->audited, "%s\n", line) != 0;
}

void auditlog_committed(struct api *api, bool failed)
{
	char *line = api->audited.data, *end;

	for (; !failed && line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		log_at(api->log, LOG_INFO, "%s", line);
	}
	if (!failed && api->audit_lost)
		log_at(api->log, LOG_WARN, "audit: %" PRIu64 " lines did not fit", api->audit_lost);
	api->audit_lost = 0;
	buf_clear(&api->audited);
}
