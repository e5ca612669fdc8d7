/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator says to one account or to all: said, ended by the operator; read by those whom it is for. */
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

static const char *const announce_words[] = { "info", "warning", "critical" };

const char *np_severity(enum severity s)
{
	return (unsigned)s <= SEVERITY_CRITICAL ? announce_words[s] : "info";
}

bool np_announced(const struct request *q, const struct engine *e, const struct announcement *x)
{
	if (q->account && x->account && x->account != q->account)
		return false;
	return (np_allowed(q) & SCOPE_ADMIN) || x->from <= engine_minute(e);
}

static json_t *announcement_json(const struct announcement *x)
{
	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:I, s:o, s:I}", "object", "announcement", "id",
		render_id(IDENT_ANNOUNCEMENT, x->id), "account",
		x->account ? render_id(IDENT_ACCOUNT, x->account) : json_null(), "severity", np_severity(x->severity),
		"text", render_text(x->text), "start_at", (json_int_t)x->from * 60, "end_at", render_minute(x->until),
		"created_at", (json_int_t)x->created_at);
}

static int post_announcement(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *to = body_text(q->body, "account"), *severity = body_text(q->body, "severity");
	const struct account *a = to ? np_find_account(e, to) : NULL;
	struct event ev = { .kind = EVENT_ANNOUNCE, .text = body_text(q->body, "text") };
	const struct effects *did;
	struct fail why = { 0 };
	int rc;

	if (to && !a)
		return api_refuse(q, r, REASON_NOT_FOUND, "account", "no account '%.255s'", to);
	if (!body_minute(q, r, q->body, "start_at", &ev.u.announce.from) ||
		!body_minute(q, r, q->body, "end_at", &ev.u.announce.until))
		return r->status;
	ev.account = a ? a->id : 0;
	while (severity && strcmp(severity, announce_words[ev.u.announce.severity]) != 0)
		ev.u.announce.severity++; /* the schema knows the same words */
	rc = api_apply(api, q, &ev, &did, &why);
	if (rc)
		return api_failed(q, r, rc, rc == REASON_INVALID ? "end_at" : NULL, &why);
	return api_json(q, r, 201, announcement_json(engine_announcement(e, effects_made(did))));
}

static int list_announcements(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *data = json_array();

	for (const struct announcement *x = engine_announcement_after(e, 0); x; x = engine_announcement_after(e, x->id))
		if (np_announced(q, e, x))
			json_array_append_new(data, announcement_json(x));
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static int delete_announcement(struct api *api, const struct request *q, struct reply *r)
{
	const struct announcement *x;
	struct fail why = { 0 };
	uint64_t id = 0;
	int rc;

	x = ident_parse(IDENT_ANNOUNCEMENT, q->parts[0], &id) ? engine_announcement(market_engine(api->market), id)
							      : NULL;
	if (!x)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no announcement '%s', or it is over", q->parts[0]);
	rc = api_apply_to(api, q, EVENT_ANNOUNCE_END, x->account, x->id, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

static const struct schema_field announce_request[] = {
	{ "text", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, ANNOUNCEMENT_BYTES, "what people read" },
	{ "severity", SCHEMA_ENUM, FIELD_NULL, "info|warning|critical", 0, 0, "absent: info" },
	{ "account", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "id or name; absent: to all" },
	TIME("start_at", FIELD_NULL),
	TIME("end_at", FIELD_NULL),
	{ 0 },
};

static const struct schema_field announcement[] = {
	OBJECT_IS("announcement"),
	ID_OF("ann"),
	{ "account", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "whom it is for; null: all" },
	{ "severity", SCHEMA_ENUM, FIELD_REQUIRED, "info|warning|critical", 0, 0, NULL },
	{ "text", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0,
		"the operator's words: show them as text, never as markup" },
	TIME("start_at", FIELD_REQUIRED),
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	TIME("created_at", FIELD_REQUIRED),
	{ 0 },
};

static const struct schema_field announcement_list[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Announcement", 0, 0,
		"not over; the operator sees later ones, too" },
	{ 0 },
};

const struct schema schema_np_announce[] = {
	OBJECT("np.AnnounceRequest", announce_request),
	OBJECT("np.Announcement", announcement),
	OBJECT("np.AnnouncementList", announcement_list),
	{ 0 },
};

const struct route api_np_announce_routes[] = {
	{ METHOD_POST, "/np/v1/announcements", post_announcement, SCOPE_ADMIN, ROUTE_CREATES,
		"Say something to all accounts, or to one", NULL, "np.AnnounceRequest", "np.Announcement", 201 },
	{ METHOD_GET, "/np/v1/announcements", list_announcements, NP_ANY, 0, "Get what the operator says", NULL, NULL,
		"np.AnnouncementList", 200 },
	{ METHOD_DELETE, "/np/v1/announcements/{id}", delete_announcement, SCOPE_ADMIN, 0, "End an announcement", NULL,
		NULL, NULL, 204 },
	{ 0 },
};
