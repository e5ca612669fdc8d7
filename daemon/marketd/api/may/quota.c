/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/may/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/metrics.h"
#include "marketd/api/may/quota_text.h"

enum {
	EVENT_BYTES = 512,  /* of rows and indexes that an event makes beside its texts */
	EFFECT_BYTES = 384, /* and of each of its effects */
	QUOTA_MAX = 10000000,
	SPEED_AGENTS = 10, /* that may measure all day: the account's bound */
};

static const struct {
	const char *word, *text;
	int64_t fallback;
} quota_kinds[QUOTA_KINDS] = {
#define QUOTA_X(name, word, fallback, text) { word, text, fallback },
	QUOTAS(QUOTA_X)
#undef QUOTA_X
};

/* Bytes that come back evenly over a day. */
struct day {
	int64_t left, at_ms;
};

struct usage {
	int64_t limits[QUOTA_KINDS];
	int64_t text; /* bytes; -1: to be counted */
	struct day journal, agents, speed;
};

struct quotas {
	struct quota_row rows[QUOTA_ROWS];
	size_t count;
	struct table usage; /* struct usage by account */
	struct table speed; /* struct day by agent */
	bool begun;         /* an event of the request has passed */
	bool granted;       /* all of them pass */
	int64_t before;     /* bytes of text that the event being checked replaces or frees */
};

bool quota_read(const char *text, struct quota_row *out)
{
	const char *is = strrchr(text, '='), *word = text;
	struct quota_row row = { .kind = QUOTA_KINDS };
	long n;

	if (!is || str_to_long(is + 1, 0, QUOTA_MAX, &n) != 0)
		return false;
	for (const char *at = text; at < is; at++)
		if (*at == ':')
			word = at + 1;
	if (word > text) {
		row.account = text;
		row.account_len = (size_t)(word - 1 - text);
	}
	for (int k = 0; k < QUOTA_KINDS; k++)
		if (strlen(quota_kinds[k].word) == (size_t)(is - word) &&
			memcmp(quota_kinds[k].word, word, (size_t)(is - word)) == 0)
			row.kind = (enum quota_kind)k;
	if (row.kind == QUOTA_KINDS || (row.account && !row.account_len))
		return false;
	row.limit = n;
	*out = row;
	return true;
}

int quotas_new(struct quotas **out, const struct quota_row *rows, size_t count)
{
	struct quotas *all = calloc(1, sizeof *all);

	if (!all)
		return -ENOMEM;
	table_init(&all->usage);
	table_init(&all->speed);
	for (size_t i = 0; i < count && i < QUOTA_ROWS; i++)
		all->rows[all->count++] = rows[i];
	*out = all;
	return 0;
}

void quotas_free(struct quotas *all)
{
	const char *key;
	void *value;

	if (!all)
		return;
	for (size_t at = 0; table_next(&all->usage, &at, &key, &value);)
		free(value);
	table_release(&all->usage);
	for (size_t at = 0; table_next(&all->speed, &at, &key, &value);)
		free(value);
	table_release(&all->speed);
	free(all);
}

void quotas_begin(struct quotas *all)
{
	if (all)
		all->begun = all->granted = false;
}

void quota_reduces(struct quotas *all)
{
	if (all)
		all->granted = true;
}

void quotas_undone(struct quotas *all)
{
	const char *key;
	void *value;

	for (size_t at = 0; all && table_next(&all->usage, &at, &key, &value);) {
		struct usage *u = value;

		u->text = -1;
	}
}

/* ---- What an account has ------------------------------------------------------------------ */

static bool row_is_for(const struct quota_row *row, const struct account *a, const char *id)
{
	if (!row->account)
		return true;
	return (strlen(a->name) == row->account_len && memcmp(a->name, row->account, row->account_len) == 0) ||
		(strlen(id) == row->account_len && memcmp(id, row->account, row->account_len) == 0);
}

/* The account's own rows count before those for every account. */
static void usage_limits(struct usage *u, const struct quotas *all, const struct account *a)
{
	char id[IDENT_TEXT];

	ident_text(IDENT_ACCOUNT, a->id, id);
	for (int k = 0; k < QUOTA_KINDS; k++)
		u->limits[k] = quota_kinds[k].fallback;
	for (int own = 0; own < 2; own++)
		for (size_t i = 0; i < all->count; i++)
			if (!all->rows[i].account == !own && row_is_for(&all->rows[i], a, id))
				u->limits[all->rows[i].kind] = all->rows[i].limit;
	for (int k = QUOTA_TEXT; k < QUOTA_KINDS; k++)
		u->limits[k] <<= 20;
}

static struct usage *usage_known(struct quotas *all, uint64_t account)
{
	char key[IDENT_TEXT];

	snprintf(key, sizeof key, "%" PRIu64, account);
	return table_get(&all->usage, key);
}

static struct usage *usage_of(struct api *api, uint64_t account)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = engine_account(e, account);
	char key[IDENT_TEXT];
	struct usage *u;

	if (!a)
		return NULL;
	u = usage_known(api->quotas, account);
	if (u && u->text < 0)
		u->text = quota_text_of(e, account);
	if (u)
		return u;
	u = calloc(1, sizeof *u);
	snprintf(key, sizeof key, "%" PRIu64, account);
	if (!u || table_set(&api->quotas->usage, key, u) != 0) {
		free(u);
		return NULL;
	}
	usage_limits(u, api->quotas, a);
	u->text = quota_text_of(e, account);
	u->journal = (struct day){ .left = u->limits[QUOTA_JOURNAL], .at_ms = api->now_ms };
	u->agents = (struct day){ .left = u->limits[QUOTA_AGENT_JOURNAL], .at_ms = api->now_ms };
	u->speed = (struct day){ .left = SPEED_AGENTS * u->limits[QUOTA_SPEED], .at_ms = api->now_ms };
	return u;
}

/* ---- Refusing ------------------------------------------------------------------------------ */

/* What makes the count smaller, as far as anything does. */
static const char *quota_way_out(enum quota_kind kind)
{
	switch (kind) {
	case QUOTA_TOKENS:
		return "revoke some, or ";
	case QUOTA_ORDERS:
		return "cancel some, or ";
	case QUOTA_INSTANCES:
		return "delete some that have ended, or ";
	case QUOTA_POOLS:
	case QUOTA_PROCUREMENTS:
	case QUOTA_VOLUMES:
	case QUOTA_TEXT:
		return "delete what you do not need, or ";
	case QUOTA_LEASES:
	case QUOTA_JOURNAL:
	case QUOTA_AGENT_JOURNAL:
	case QUOTA_SPEED:
		return "wait, or ";
	default:
		return "";
	}
}

static bool quota_deleted_count(enum quota_kind kind)
{
	return kind == QUOTA_HOSTS || kind == QUOTA_AGENTS;
}

/* more: what the request needs. */
static int quota_refuse(struct api *api, uint64_t account, int64_t used, int64_t limit, int64_t more,
	enum quota_kind kind, struct fail *why)
{
	const struct account *a = engine_account(market_engine(api->market), account);
	char needs[64] = "";

	if (api->metrics)
		api->metrics->quota_refused++;
	if (kind >= QUOTA_TEXT) {
		used = (used + (1 << 19)) >> 20;
		limit >>= 20;
	} else if (more > 1) {
		snprintf(needs, sizeof needs, "; this request needs %" PRId64 " more", more);
	}
	return fail_set(why, kind < QUOTA_JOURNAL ? REASON_QUOTA : REASON_RATE,
		"account '%s' has %" PRId64 " of %" PRId64 " %s%s (quota '%s')%s; %sask the operator for more", a->name,
		used, limit, quota_kinds[kind].text, quota_deleted_count(kind) ? ", deleted ones too" : "",
		quota_kinds[kind].word, needs, quota_way_out(kind));
}

/* What the event makes; QUOTA_KINDS: nothing that is counted. */
static enum quota_kind quota_made(enum event_kind kind)
{
	switch (kind) {
	case EVENT_TOKEN:
		return QUOTA_TOKENS;
	case EVENT_POOL:
		return QUOTA_POOLS;
	case EVENT_HOST:
		return QUOTA_HOSTS;
	case EVENT_AGENT:
		return QUOTA_AGENTS;
	case EVENT_ORDER:
		return QUOTA_ORDERS;
	case EVENT_INSTANCE:
		return QUOTA_INSTANCES;
	case EVENT_PROCUREMENT:
		return QUOTA_PROCUREMENTS;
	case EVENT_VOLUME:
		return QUOTA_VOLUMES;
	default:
		return QUOTA_KINDS;
	}
}

static int64_t quota_count(const struct kept *k, enum quota_kind kind)
{
	switch (kind) {
	case QUOTA_TOKENS:
		return (int64_t)k->tokens;
	case QUOTA_POOLS:
		return (int64_t)k->pools;
	case QUOTA_HOSTS:
		return (int64_t)k->hosts;
	case QUOTA_AGENTS:
		return (int64_t)k->agents;
	case QUOTA_ORDERS:
		return (int64_t)k->orders;
	case QUOTA_LEASES:
		return (int64_t)k->leases;
	case QUOTA_INSTANCES:
		return (int64_t)k->instances;
	case QUOTA_PROCUREMENTS:
		return (int64_t)k->procurements;
	case QUOTA_VOLUMES:
		return (int64_t)k->volumes;
	default:
		return 0;
	}
}

static bool procurement_disabled(const struct engine *e, const struct event *ev)
{
	const struct procurement *p = engine_procurement(e, ev->subject);

	return p && p->enabled && ev->u.procurement_change.enabled == 0;
}

/*
 * Ends, gives back or stops something: an account that is at its limits must still be able to. Each of them can
 * happen once to what was made, started or enabled before, and that was counted.
 */
static bool event_reduces(const struct engine *e, const struct event *ev)
{
	const struct host *h;

	switch (ev->kind) {
	case EVENT_TOKEN_REVOKE:
	case EVENT_HOST_RETIRE:
	case EVENT_POOL_DELETE:
	case EVENT_CANCEL:
	case EVENT_RELEASE:
	case EVENT_INSTANCE_STOP:
	case EVENT_INSTANCE_DELETE:
	case EVENT_PROCUREMENT_DELETE:
	case EVENT_AGENT_RETIRE:
	case EVENT_PERSON_REMOVE:
	case EVENT_INVITATION_END:
		return true;
	case EVENT_SUBSCRIPTION:
		return !ev->subject;
	case EVENT_PAYOUT:
		return ev->u.payout.state == PAYOUT_CANCELLED;
	case EVENT_VOLUME_CHANGE:
		return !ev->u.volume.gib;
	case EVENT_HOST_STATE:
		return ev->u.host_state.down;
	case EVENT_HOST_DRAIN:
		h = engine_host(e, ev->subject);
		return ev->u.host_drain.from != 0 && h && !h->drain;
	case EVENT_PROCUREMENT_CHANGE:
		return procurement_disabled(e, ev);
	default:
		return false;
	}
}

/* What agents say by themselves never waits for what their account did. */
static bool event_of_agent(const struct request *q, const struct event *ev)
{
	return q->agent || ev->kind == EVENT_AGENT_SESSION;
}

static bool quota_free(const struct api *api, const struct request *q)
{
	return !api->quotas || q->local || (q->scopes & SCOPE_ADMIN);
}

/* A session is opened without a token. */
static uint64_t quota_owner(const struct request *q, uint64_t account)
{
	return q->account ? q->account : account;
}

static int64_t day_left(struct day *d, int64_t limit, int64_t now_ms)
{
	int64_t seconds = (now_ms - d->at_ms) / 1000;

	if (seconds > 0) {
		d->at_ms += seconds * 1000;
		d->left += (seconds < 86400 ? seconds : 86400) * limit / 86400;
		d->left = d->left < limit ? d->left : limit;
	}
	return d->left;
}

static int check_quota_day(struct api *api, struct usage *u, uint64_t account, bool agent, struct fail *why)
{
	enum quota_kind kind = agent ? QUOTA_AGENT_JOURNAL : QUOTA_JOURNAL;
	int64_t limit = u->limits[kind], left;

	if (!limit || api->quotas->begun)
		return 0;
	left = day_left(agent ? &u->agents : &u->journal, limit, api->now_ms);
	return left > 0 ? 0 : quota_refuse(api, account, limit - left, limit, 0, kind, why);
}

static void quota_speed_forget(struct quotas *all, uint64_t agent)
{
	char key[24];

	snprintf(key, sizeof key, "%" PRIu64, agent);
	free(table_remove(&all->speed, key));
}

/* Of the agent alone: its neighbours measure, too. NULL: out of memory. */
static struct day *quota_speed_of(struct api *api, uint64_t agent, int64_t limit)
{
	struct day *d;
	char key[24];

	snprintf(key, sizeof key, "%" PRIu64, agent);
	d = table_get(&api->quotas->speed, key);
	if (d)
		return d;
	d = malloc(sizeof *d);
	if (!d || table_set(&api->quotas->speed, key, d) != 0) {
		free(d);
		return NULL;
	}
	*d = (struct day){ .left = limit, .at_ms = api->now_ms };
	return d;
}

int quota_speed(struct api *api, const struct request *q, int64_t bytes, struct fail *why)
{
	struct usage *u = api->quotas ? usage_of(api, q->account) : NULL;
	int64_t limit = u ? u->limits[QUOTA_SPEED] : 0, all = SPEED_AGENTS * limit, left;
	struct day *d = limit ? quota_speed_of(api, q->agent, limit) : NULL;

	if (!limit)
		return 0;
	if (!d)
		return fail_set(why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	left = day_left(d, limit, api->now_ms);
	if (left < bytes)
		return quota_refuse(api, q->account, limit - left, limit, 0, QUOTA_SPEED, why);
	left = day_left(&u->speed, all, api->now_ms);
	if (left < bytes)
		return quota_refuse(api, q->account, all - left, all, 0, QUOTA_SPEED, why);
	d->left -= bytes;
	u->speed.left -= bytes;
	return 0;
}

/* They open nothing any more. Asked where the quota is met, as it looks at each token. */
static int64_t quota_expired(const struct api *api, uint64_t account)
{
	const struct engine *e = market_engine(api->market);
	int64_t now = market_now(api->market), count = 0;

	for (const struct token *t = engine_token_after(e, account, 0); t; t = engine_token_after(e, account, t->id))
		count += !t->revoked && t->expires && t->expires <= now;
	return count;
}

static int check_quota_counts(struct api *api, const struct usage *u, uint64_t account, const struct quota_need *need,
	struct fail *why)
{
	struct kept k = engine_kept(market_engine(api->market), account);

	for (int i = 0; i < QUOTA_COUNTS; i++) {
		enum quota_kind kind = (enum quota_kind)i;
		int64_t count = quota_count(&k, kind);

		if (kind == QUOTA_TOKENS && need->made[i] && u->limits[i] && count + need->made[i] > u->limits[i])
			count -= quota_expired(api, account);
		if (need->made[i] && u->limits[i] && count + need->made[i] > u->limits[i])
			return quota_refuse(api, account, count, u->limits[i], need->made[i], kind, why);
	}
	return 0;
}

static int check_quota_text(struct api *api, const struct usage *u, uint64_t account, int64_t more, struct fail *why)
{
	if (!u->limits[QUOTA_TEXT] || more <= 0 || u->text + more <= u->limits[QUOTA_TEXT])
		return 0;
	return quota_refuse(api, account, u->text, u->limits[QUOTA_TEXT], more, QUOTA_TEXT, why);
}

/* Reports of agents come through; so that none is lost, only what makes something new is refused. */
static int check_quotas(struct api *api, const struct request *q, const struct quota_need *need, bool agent,
	struct fail *why)
{
	uint64_t account = quota_owner(q, need->account);
	struct usage *u = usage_of(api, account);
	int rc;

	if (!u)
		return 0;
	rc = check_quota_day(api, u, account, agent, why);
	if (rc == 0)
		rc = check_quota_counts(api, u, account, need, why);
	if (rc == 0 && (!agent || need->makes))
		rc = check_quota_text(api, u, account, need->text, why);
	if (rc == 0)
		api->quotas->begun = true;
	return rc;
}

void quota_need_add(const struct api *api, struct quota_need *need, const struct event *ev)
{
	int64_t more = quota_text(ev) - quota_text_before(market_engine(api->market), ev);
	enum quota_kind kind = quota_made(ev->kind);

	need->account = ev->account;
	need->text += more > 0 ? more : 0;
	need->makes = need->makes || ev->kind == EVENT_HOST_VERIFIED; /* nothing is lost: it can be measured again */
	if (kind == QUOTA_KINDS)
		return;
	need->makes = true;
	need->made[kind]++;
	if (kind == QUOTA_ORDERS)
		need->made[QUOTA_LEASES]++;
}

int quota_grant(struct api *api, const struct request *q, const struct quota_need *need, struct fail *why)
{
	int rc = quota_free(api, q) ? 0 : check_quotas(api, q, need, q->agent != 0, why);

	if (rc == 0 && api->quotas)
		api->quotas->granted = true;
	return rc;
}

int quota_check(struct api *api, const struct request *q, const struct event *ev, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	struct quota_need need = { 0 };

	if (api->quotas)
		api->quotas->before = quota_text_before(e, ev);
	if (quota_free(api, q) || api->quotas->granted || event_reduces(e, ev))
		return 0;
	quota_need_add(api, &need, ev);
	return check_quotas(api, q, &need, event_of_agent(q, ev), why);
}

void quota_charge(struct api *api, const struct request *q, const struct event *ev, size_t effects, size_t bytes)
{
	bool counted = api->quotas && ev && ev->account;
	struct usage *u = counted ? usage_known(api->quotas, ev->account) : NULL;
	int64_t cost = (int64_t)bytes;

	/* Also what the operator made for the account is in memory. */
	if (u && u->text >= 0)
		u->text += quota_text(ev) - api->quotas->before;
	if (counted && ev->kind == EVENT_AGENT_RETIRE)
		quota_speed_forget(api->quotas, ev->subject);
	u = quota_free(api, q) ? NULL : usage_of(api, quota_owner(q, ev ? ev->account : 0));
	if (!u)
		return;
	if (ev)
		cost += EVENT_BYTES + quota_text(ev) + (int64_t)effects * EFFECT_BYTES;
	if (ev && event_of_agent(q, ev))
		u->agents.left -= cost;
	else
		u->journal.left -= cost;
}
