/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every handler needs: to refuse in SF Compute's words, to answer with JSON, to read the query,
 * and to apply an event to the market.
 */
#include "marketd/api/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "market/reason.h"
#include "marketd/api/auditlog.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/may/quota.h"
#include "marketd/api/tally.h"
#include "marketd/store/watch.h"

enum { REAL_DIGITS = 5 }; /* of what was measured; money is never a real */
enum { RETRY_S = 60 }; /* what a day has too much of comes back slowly */

/* SF Compute's word for a status; other statuses keep the word of the reason. */
static const char *api_type_of(int status, const struct reason_row *row)
{
	switch (status) {
	case 400: return "invalid_request_error";
	case 403: return "forbidden";
	case 404: return "not_found";
	case 409: return row->http == 409 ? row->type : "conflict";
	case 422: return "unprocessable_entity";
	default: return row->type;
	}
}

static int dump_to(const char *text, size_t len, void *arg)
{
	return buf_add(arg, text, len);
}

int api_json(const struct request *q, struct reply *r, int status, json_t *body)
{
	int failed = -1;

	buf_clear(&r->body);
	if (body) {
		failed = json_dump_callback(body, dump_to, &r->body, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
		json_decref(body);
	}
	if (failed) {
		buf_clear(&r->body);
		buf_adds(&r->body,
			"{\"error\":{\"type\":\"api_error\",\"message\":\"the answer is too large, or the market is "
			"out of memory\","
			"\"code\":\"internal\",\"details\":[]},\"request_id\":\"");
		buf_adds(&r->body, q->id ? q->id : "");
		buf_adds(&r->body, "\"}");
		status = 500;
	}
	return r->status = status;
}

int api_nothing(struct reply *r)
{
	buf_clear(&r->body);
	return r->status = 204;
}

int api_header(struct reply *r, const char *name, const char *value)
{
	size_t at = strlen(r->headers), len = strlen(name) + strlen(value) + 3;

	for (const char *c = value; *c; c++)
		if (*c < ' ' || *c > '~')
			return -EINVAL;
	if (at + len >= sizeof r->headers)
		return -E2BIG;
	snprintf(r->headers + at, sizeof r->headers - at, "%s: %s\n", name, value);
	return 0;
}

static int say_no(const struct request *q, struct reply *r, int status, int reason, const char *field, const char *text)
{
	const struct reason_row *row = reason_row(reason);
	json_t *details = json_array();

	if (reason == REASON_RATE && !r->retry_after)
		r->retry_after = RETRY_S;
	if (field)
		json_array_append_new(details,
			json_pack("{s:s, s:s, s:s}", "field", field, "code", row->code, "message", text));
	return api_json(q, r, status,
		json_pack("{s:{s:s, s:s, s:s, s:o}, s:s}", "error", "type", api_type_of(status, row), "message", text,
			"code", row->code, "details", details, "request_id", q->id ? q->id : ""));
}

/* Replaces what JSON cannot hold, such as a client's broken UTF-8 in a sentence. */
static void api_printable(char *text)
{
	json_t *probe = json_string(text);

	if (!probe)
		for (char *p = text; *p; p++)
			if ((unsigned char)*p < 32 || (unsigned char)*p > 126)
				*p = '?';
	json_decref(probe);
}

static int api_vrefuse(const struct request *q, struct reply *r, int status, int reason, const char *field,
	const char *fmt, va_list ap)
{
	char text[1024], name[128];

	vsnprintf(text, sizeof text, fmt, ap);
	api_printable(text);
	if (field) {
		snprintf(name, sizeof name, "%s", field);
		api_printable(name);
	}
	return say_no(q, r, status, reason, field ? name : NULL, text);
}

int api_refuse(const struct request *q, struct reply *r, int reason, const char *field, const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = api_vrefuse(q, r, reason_row(reason)->http, reason, field, fmt, ap);
	va_end(ap);
	return status;
}

int api_refuse_as(const struct request *q, struct reply *r, int status, int reason, const char *field, const char *fmt,
	...)
{
	va_list ap;

	va_start(ap, fmt);
	status = api_vrefuse(q, r, status, reason, field, fmt, ap);
	va_end(ap);
	return status;
}

int api_failed(const struct request *q, struct reply *r, int reason, const char *field, const struct fail *why)
{
	return api_refuse(q, r, reason, field, "%s", why && why->text[0] ? why->text : reason_row(reason)->text);
}

const char *api_query(const struct request *q, const char *name)
{
	for (size_t i = 0; i < q->query_count; i++)
		if (strcmp(q->query[i].name, name) == 0)
			return q->query[i].value;
	return NULL;
}

const char *api_query_at(const struct request *q, const char *name, size_t i)
{
	for (size_t n = 0; n < q->query_count; n++)
		if (strcmp(q->query[n].name, name) == 0 && i-- == 0)
			return q->query[n].value;
	return NULL;
}

bool api_query_int(const struct request *q, struct reply *r, const char *name, int64_t min, int64_t max,
	int64_t fallback, int64_t *out)
{
	const char *text = api_query(q, name);
	long n;

	if (!text) {
		*out = fallback;
		return true;
	}
	if (str_to_long(text, (long)min, (long)max, &n) != 0) {
		api_refuse(q, r, REASON_INVALID, name, "'%s' must be a whole number from %" PRId64 " to %" PRId64, name,
			min, max);
		return false;
	}
	*out = n;
	return true;
}

bool api_query_bool(const struct request *q, struct reply *r, const char *name, bool fallback, bool *out)
{
	const char *text = api_query(q, name);

	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
		api_refuse(q, r, REASON_INVALID, name, "'%s' must be true or false", name);
		return false;
	}
	*out = text ? strcmp(text, "true") == 0 : fallback;
	return true;
}

bool api_whose(const struct request *q, struct reply *r, uint64_t *account)
{
	if (!q->account) {
		api_refuse(q, r, REASON_INVALID, "account",
			"the operator has no account; add ?account=ID or ?account=NAME");
		return false;
	}
	*account = q->account;
	return true;
}

static int64_t api_count_agents(const struct api *api, const struct tlskeys *without)
{
	const struct engine *e = market_engine(api->market);
	int64_t n = 0;

	for (const struct agent *a = engine_agent_after(e, 0, 0); a; a = engine_agent_after(e, 0, a->id))
		n += !a->retired && a->generation && !(without && tlskeys_known(without, a->id));
	return n;
}

int64_t api_agents(const struct api *api)
{
	return api_count_agents(api, NULL);
}

int64_t api_agents_unheard(const struct api *api)
{
	return api_count_agents(api, &api->keys);
}

const char *api_agent_state(const struct api *api, const struct agent *a)
{
	const struct watched *w = watch_agent(api->watch, a->id);

	if (a->retired)
		return "left";
	if (!a->generation)
		return "joined";
	return w && w->heard_at && !w->silent ? "up" : "silent";
}

struct request api_own(struct api *api, uint64_t account)
{
	quotas_begin(api->quotas);
	return (struct request){ .account = account };
}

int api_apply_to(struct api *api, const struct request *q, enum event_kind kind, uint64_t account, uint64_t subject,
	struct fail *why)
{
	struct event ev = { .kind = kind, .account = account, .subject = subject };

	return api_apply(api, q, &ev, NULL, why);
}

/* Who waited on this host for a node that the market kept back has not to pay for that, before the event settles. */
static const struct host *api_waited(const struct engine *e, const struct event *ev)
{
	const struct instance *i = ev->kind == EVENT_INSTANCE_STOP ? engine_instance(e, ev->subject) : NULL;

	if (ev->kind == EVENT_HOST_STATE || ev->kind == EVENT_HOST_VERIFIED)
		return engine_host(e, ev->subject);
	return i && i->host ? engine_host(e, i->host) : NULL;
}

int api_apply(struct api *api, const struct request *q, struct event *ev, const struct effects **did, struct fail *why)
{
	int rc = decide_apply(api, q, ev, why);

	return rc ? rc : api_apply_decided(api, q, ev, did, why);
}

int api_apply_decided(struct api *api, const struct request *q, struct event *ev, const struct effects **did,
	struct fail *why)
{
	const struct effects *ignored;
	const struct host *waited;
	int rc = quota_check(api, q, ev, why);

	rc = rc ? rc : tally_check(api, ev, why);
	if (!rc && ev->kind == EVENT_VOLUME_OFFER)
		rc = tally_check_volumes(market_engine(api->market), ev, why);
	waited = rc || !api->watch ? NULL : api_waited(market_engine(api->market), ev);
	rc = waited ? watch_before_settling(api->watch, api->market, waited, why) : rc;
	if (rc)
		return rc;
	did = did ? did : &ignored;
	ev->token = api_spender(market_engine(api->market), q);
	rc = market_apply(api->market, ev, did, why);
	if (rc == 0) {
		quota_charge(api, q, ev, (*did)->count, 0);
		auditlog_note(api, q, ev, effects_made(*did));
	}
	return rc;
}

/* What the engine would say of the new one while the old one lives. */
static int swap_check(const struct engine *e, const struct event *stop, const struct event *make, struct fail *why)
{
	const struct account *a = engine_account(e, make->account);
	const struct instance *named = make->name ? engine_instance_named(e, make->account, make->name) : NULL;

	if (a && account_shut(a))
		return fail_set(why, REASON_SUSPENDED, "%s", reason_row(REASON_SUSPENDED)->text);
	if (!make->name || !*make->name || strlen(make->name) > NAME_BYTES)
		return fail_set(why, REASON_INVALID, "a name has 1 to %d bytes", NAME_BYTES);
	if (named && named->id != stop->subject)
		return fail_set(why, REASON_NAME_TAKEN, "instance '%s' already exists", make->name);
	return 0;
}

int api_swap(struct api *api, const struct request *q, struct event *stop, struct event *make,
	const struct effects **did, struct fail *why)
{
	struct quota_need need = { 0 };
	int rc = swap_check(market_engine(api->market), stop, make, why);

	quota_need_add(api, &need, make);
	rc = rc ? rc : quota_grant(api, q, &need, why);
	rc = rc ? rc : api_apply(api, q, stop, NULL, why);
	return rc ? rc : api_apply(api, q, make, did, why);
}
