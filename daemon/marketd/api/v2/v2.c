/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of v2 share: pages, tags, names, workspaces and requirements. */
#include "marketd/api/v2/v2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/reason.h"
#include "marketd/api/render.h"

/* ---- Pages ------------------------------------------------------------------------------- */

bool paging_read(const struct request *q, struct reply *r, enum cursor_kind kind, int64_t most, struct paging *p)
{
	const char *after = api_query(q, "starting_after"), *before = api_query(q, "ending_before");
	uint64_t words[CURSOR_WORDS];
	int64_t limit;

	*p = (struct paging){ .kind = kind };
	if (!api_query_int(q, r, "limit", 1, most, LIMIT_DEFAULT, &limit))
		return false;
	p->limit = (size_t)limit;
	if (after && before) {
		api_refuse(q, r, REASON_INVALID, "ending_before", "give 'starting_after' or 'ending_before', not both");
		return false;
	}
	if (!after && !before)
		return true;
	if (cursor_parse(kind, after ? after : before, words) != 0) {
		api_refuse(q, r, REASON_INVALID, after ? "starting_after" : "ending_before",
			"not a cursor of this list; use the 'cursor' of one of its answers (%s_…)",
			cursor_prefix(kind));
		return false;
	}
	p->started = true;
	p->back = before != NULL;
	memcpy(p->from, words, sizeof words);
	if (!p->back) /* continue after its last or before its first */
		p->from[0] = words[1];
	return true;
}

void page_init(struct page *p, const struct paging *paging)
{
	*p = (struct page){ .paging = paging, .data = json_array() };
}

bool page_wants(struct page *p)
{
	if (p->count < p->paging->limit)
		return true;
	p->more = true;
	return false;
}

void page_add(struct page *p, uint64_t id, json_t *row)
{
	int failed = p->paging->back ? json_array_insert_new(p->data, 0, row) : json_array_append_new(p->data, row);

	if (failed && p->data) { /* api_json answers 500 */
		json_decref(p->data);
		p->data = NULL;
	}
	if (!p->count++)
		p->first = id;
	p->last = id;
}

json_t *page_cursor(const struct page *p)
{
	char room[CURSOR_TEXT];
	uint64_t words[CURSOR_WORDS] = { 0 };

	if (!p->count)
		return json_null();
	words[0] = p->paging->back ? p->last : p->first;
	words[1] = p->paging->back ? p->first : p->last;
	return json_string(cursor_text(p->paging->kind, words, room));
}

int page_answer(const struct request *q, struct reply *r, struct page *p)
{
	return api_json(q, r, 200, render_list(p->data, page_cursor(p), p->more));
}

/* ---- Tags -------------------------------------------------------------------------------- */

static bool has_pair(const json_t *tags, const char *pair)
{
	const char *equals = strchr(pair, '=');
	const json_t *value;

	if (!equals)
		return false;
	value = json_object_getn(tags, pair, (size_t)(equals - pair));
	return value && strcmp(json_string_value(value) ? json_string_value(value) : "", equals + 1) == 0;
}

bool tags_match(const struct request *q, const char *tags)
{
	json_t *kept = NULL;
	bool match = true;

	if (!api_query(q, "tag") && !api_query(q, "tag_key"))
		return true;
	if (tags)
		kept = json_loads(tags, 0, NULL);
	for (size_t i = 0; match && api_query_at(q, "tag", i); i++)
		match = has_pair(kept, api_query_at(q, "tag", i));
	for (size_t i = 0; match && api_query_at(q, "tag_key", i); i++)
		match = json_object_get(kept, api_query_at(q, "tag_key", i)) != NULL;
	json_decref(kept);
	return match;
}

static bool tag_is_own(const char *key)
{
	return strncmp(key, "sfc_", 4) == 0;
}

/* Adds the market's own tags to those of a body. false: refused, as the body has another. */
static bool tags_keep_own(const struct request *q, struct reply *r, const char *now, json_t *tags)
{
	json_t *kept = now ? json_loads(now, 0, NULL) : NULL, *value;
	const char *key, *other = NULL;

	json_object_foreach(tags, key, value)
		if (tag_is_own(key) && !json_equal(value, json_object_get(kept, key)))
			other = key;
	json_object_foreach(kept, key, value)
		if (!other && tag_is_own(key))
			json_object_set(tags, key, value);
	if (other)
		api_refuse(q, r, REASON_INVALID, "tags",
			"'%.100s': the market itself sets the tags that begin with 'sfc_'; choose another key", other);
	json_decref(kept);
	return !other;
}

bool tags_read(const struct request *q, struct reply *r, const char *now, char **text)
{
	json_t *tags = json_object_get(q->body, "tags"), *value;
	const char *key;

	*text = NULL;
	if (!json_is_object(tags))
		return true;
	if (!tags_keep_own(q, r, now, tags))
		return false;
	json_object_foreach(tags, key, value)
		if (!*key || strlen(key) > 256 || strpbrk(key, ",=")) {
		api_refuse(q, r, REASON_INVALID, "tags", "a tag's key has 1 to 256 bytes, none of them ',' or '='");
		return false;
		}
	*text = json_dumps(tags, JSON_COMPACT | JSON_SORT_KEYS);
	if (*text && strlen(*text) <= TEXT_BYTES / 6)
		return true;
	free(*text);
	*text = NULL;
	api_refuse(q, r, REASON_INVALID, "tags", "tags may have up to %d bytes in all", TEXT_BYTES / 6);
	return false;
}

/* ---- Names and workspaces ---------------------------------------------------------------- */

const char *name_read(struct api *api, const struct request *q, struct reply *r, enum ident kind, char room[IDENT_TEXT])
{
	const char *name = body_text(q->body, "name");

	if (!name) {
		ident_text(kind, engine_next_id(market_engine(api->market)), room);
		*strchr(room, '_') = '-';
		return room;
	}
	if (!ident_looks(kind, name))
		return name;
	api_refuse(q, r, REASON_INVALID, "name", "'%s' looks like an id; choose another name", name);
	return NULL;
}

bool workspace_check(struct api *api, const struct request *q, struct reply *r, const char *text, const char *field)
{
	if (!text || find_workspace(market_engine(api->market), q->account, text))
		return true;
	api_refuse(q, r, REASON_NOT_FOUND, field, "no workspace '%s'; an account has one, 'default'", text);
	return false;
}

/* ---- Requirements ------------------------------------------------------------------------ */

static const struct sku_property *property_named(const char *name, size_t len)
{
	for (const struct sku_property *p = sku_properties; p->name; p++)
		if (strlen(p->name) == len && strncmp(p->name, name, len) == 0)
			return p;
	return NULL;
}

static bool no_such_property(const struct request *q, struct reply *r, const char *name, size_t len)
{
	api_refuse(q, r, REASON_INVALID, "requirements", "no property '%.*s'; see /v2/instance_sku_property_catalog",
		len > 200 ? 200 : (int)len, name);
	return false;
}

bool requirements_check(const struct request *q, struct reply *r, const json_t *requirements)
{
	const char *key;
	json_t *values;

	json_object_foreach((json_t *)requirements, key, values)
		if (!property_named(key, strlen(key)))
			return no_such_property(q, r, key, strlen(key));
	return true;
}

bool requirements_match(const json_t *requirements, const struct sku *s)
{
	json_t *facts = sku_facts(s), *values, *value;
	bool match = true;
	const char *key;
	size_t i;

	json_object_foreach((json_t *)requirements, key, values) {
		const json_t *fact = json_object_get(facts, key);
		json_t *text = fact ? sku_value_text(fact) : NULL;
		bool any = json_array_size(values) == 0;

		json_array_foreach(values, i, value)
			any = any || (text && json_equal(value, text));
		json_decref(text);
		match = match && any;
	}
	json_decref(facts);
	return match;
}

/* One "field[:op]:value", op eq (one value) or in (several, with commas), into map. */
static bool read_triple(const struct request *q, struct reply *r, const char *at, size_t len, json_t *map)
{
	const char *colon = memchr(at, ':', len), *value = colon ? colon + 1 : NULL, *second;
	const char *end = at + len;
	bool several = false;
	json_t *values;

	if (!colon || !property_named(at, (size_t)(colon - at)))
		return no_such_property(q, r, at, colon ? (size_t)(colon - at) : len);
	second = memchr(value, ':', (size_t)(end - value));
	if (second) {
		several = second - value == 2 && strncmp(value, "in", 2) == 0;
		if (!several && !(second - value == 2 && strncmp(value, "eq", 2) == 0)) {
			api_refuse(q, r, REASON_INVALID, "requirements", "unknown operator '%.*s'; use eq or in",
				second - value > 200 ? 200 : (int)(second - value), value);
			return false;
		}
		value = second + 1;
	}
	values = json_object_getn(map, at, (size_t)(colon - at));
	if (!values) {
		values = json_array();
		json_object_setn_new(map, at, (size_t)(colon - at), values);
	}
	while (value <= end) {
		const char *comma = several ? memchr(value, ',', (size_t)(end - value)) : NULL;
		const char *stop = comma ? comma : end;

		if (stop == value || json_array_append_new(values, json_stringn(value, (size_t)(stop - value)))) {
			api_refuse(q, r, REASON_INVALID, "requirements",
				"a value is missing; use field:value;field:in:value,value");
			return false;
		}
		value = stop + 1;
	}
	return true;
}

json_t *requirements_of_query(const struct request *q, struct reply *r)
{
	const char *text = api_query(q, "requirements");
	json_t *map = json_object();

	for (const char *at = text ? text : ""; *at;) {
		size_t len = strcspn(at, ";");

		if (len && !read_triple(q, r, at, len, map)) {
			json_decref(map);
			return NULL;
		}
		at += len + (at[len] == ';');
	}
	return map;
}
