/* SPDX-License-Identifier: Apache-2.0 */
/* Who did what with an account, its money, tokens and machines, from the journal, which holds all of it for ever. */
#include <inttypes.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/auditlog.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

enum { AUDIT_SCAN = 10000 }; /* events that one request reads: orders come by the thousand */

struct audit {
	const struct engine *e;
	uint64_t account; /* 0: all */
	uint64_t last;    /* seq of the last event that was read */
	int64_t left;     /* rows */
	size_t scanned;
	json_t *data;
};

static json_t *audit_by(const struct engine *e, uint64_t id)
{
	const struct token *t = id ? engine_token(e, id) : NULL;
	const struct account *a = t ? engine_account(e, t->account) : NULL;

	if (!id)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "id", render_id(IDENT_TOKEN, id), "name", render_text(t ? t->name : NULL),
		"account", render_text(a ? a->name : NULL));
}

static json_t *audit_json(const struct engine *e, uint64_t seq, const struct event *ev, const char *what)
{
	const struct account *a = engine_account(e, ev->account);
	bool told = ev->kind == EVENT_CREDIT || ev->kind == EVENT_ACCOUNT_STATE || ev->kind == EVENT_HOST_STATE;

	return json_pack("{s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:o}", "object", "audit", "seq", (json_int_t)seq, "at",
		(json_int_t)ev->at, "kind", event_name(ev->kind), "account", render_text(a ? a->name : NULL), "text",
		render_text(what), "reason", render_text(told ? ev->text : NULL), "by", audit_by(e, ev->token));
}

static int audit_take(void *arg, uint64_t seq, const struct event *ev)
{
	struct audit *a = arg;
	char what[AUDITLOG_TEXT];

	if (a->scanned++ == AUDIT_SCAN || !a->left)
		return 1;
	a->last = seq;
	if ((a->account && ev->account != a->account) || !auditlog_what(a->e, ev, 0, what, sizeof what))
		return 0;
	json_array_append_new(a->data, audit_json(a->e, seq, ev, what));
	a->left--;
	return 0;
}

static int get_audit(struct api *api, const struct request *q, struct reply *r)
{
	struct audit a = { .e = market_engine(api->market), .account = q->account };
	struct store *store = market_store(api->market);
	struct fail why = { 0 };
	int64_t after;
	int rc;

	if (!api_query_int(q, r, "limit", 1, 1000, 1000, &a.left) ||
		!api_query_int(q, r, "starting_after", 0, INT64_MAX, 0, &after))
		return r->status;
	a.last = (uint64_t)after;
	a.data = json_array();
	rc = store->calls->events(store, a.last, audit_take, &a, &why);
	if (rc < 0) {
		json_decref(a.data);
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	}
	return api_json(q, r, 200, render_list(a.data, rc == 1 ? json_sprintf("%" PRIu64, a.last) : NULL, rc == 1));
}

static const struct schema_field audit_by_fields[] = {
	{ "id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "of the token" },
	{ "name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "the token's" },
	{ 0 },
};

static const struct schema_field audit_fields[] = {
	OBJECT_IS("audit"),
	{ "seq", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "of the event" },
	TIME("at", FIELD_REQUIRED),
	{ "kind", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "whose it is; null: the market's" },
	{ "text", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "what was done" },
	{ "reason", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "why, in the words of who did it" },
	{ "by", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.AuditBy", 0, 0,
		"by which token; null: the operator, or the market itself" },
	{ 0 },
};

static const struct schema_field audit_list[] = {
	OBJECT_IS("list"),
	{ "cursor", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "a page may be empty though there is more" },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Audit", 0, 0, "the oldest first" },
	{ 0 },
};

const struct schema schema_np_audit[] = {
	{ "np.AuditBy", SCHEMA_OBJECT, NULL, 0, 0, NULL, audit_by_fields, NULL },
	{ "np.Audit", SCHEMA_OBJECT, NULL, 0, 0, NULL, audit_fields, NULL },
	{ "np.AuditList", SCHEMA_OBJECT, NULL, 0, 0, NULL, audit_list, NULL },
	{ 0 },
};

const struct route api_np_audit_routes[] = {
	{ METHOD_GET, "/np/v1/audit", get_audit, SCOPE_READ, 0,
		"List who did what with the account, its money, tokens and machines",
		"limit:integer,starting_after:integer", NULL, "np.AuditList", 200 },
	{ 0 },
};
