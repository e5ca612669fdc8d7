/* SPDX-License-Identifier: Apache-2.0 */
/* Documents, and the tables' reader. Memory is asked for by what was parsed, never by what a number says. */
#include "market/wire.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "market/money.h"
#include "market/reason.h"
#include "market/wire_part.h"

struct block {
	struct block *next;
	max_align_t room[];
};

struct doc {
	json_t *root;          /* NULL: an empty document */
	struct block *blocks;
};

/* ---- Documents ------------------------------------------------------------------------- */

int doc_parse(const char *text, size_t len, struct doc **out, struct fail *f)
{
	struct doc *d;
	json_error_t why;

	if (len > WIRE_BYTES_MAX)
		return fail_set(f, -EPROTO, "it is larger than %d MiB", WIRE_BYTES_MAX >> 20);
	d = calloc(1, sizeof *d);
	if (!d)
		return fail_set(f, -ENOMEM, "out of memory");
	if (len) {
		d->root = json_loadb(text, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
		if (!d->root) {
			free(d);
			return fail_set(f, -EPROTO, "it is not JSON: line %d: %s", why.line, why.text);
		}
	}
	*out = d;
	return 0;
}

void doc_free(struct doc *d)
{
	struct block *next;

	if (!d)
		return;
	for (struct block *b = d->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	json_decref(d->root);
	free(d);
}

static json_t *list_of(const struct doc *d)
{
	json_t *data = json_is_object(d->root) ? json_object_get(d->root, "data") : d->root;

	return json_is_array(data) ? data : NULL;
}

size_t doc_count(const struct doc *d)
{
	return json_array_size(list_of(d));
}

int doc_next(const struct doc *d, const char **cursor, struct fail *f)
{
	json_t *more = json_object_get(d->root, "has_more"), *next = json_object_get(d->root, "cursor");

	if (!json_is_true(more)) {
		*cursor = NULL;
		return 0;
	}
	if (!json_is_string(next) || !*json_string_value(next))
		return fail_set(f, -EPROTO, "it announces more pages without a cursor");
	*cursor = json_string_value(next);
	return 0;
}

static int to_buf(const char *text, size_t len, void *arg)
{
	return buf_add(arg, text, len) ? -1 : 0;
}

static int wire_show(const json_t *j, size_t flags, struct buf *out)
{
	size_t len = out->len;

	if (!j || json_dump_callback(j, to_buf, out, flags | JSON_ENCODE_ANY) == 0)
		return 0;
	buf_cut(out, len);
	return -EFBIG;
}

int doc_show(const struct doc *d, bool indent, struct buf *out)
{
	return wire_show(d->root, indent ? JSON_INDENT(2) : JSON_COMPACT, out);
}

int doc_show_at(const struct doc *d, long at, struct buf *out)
{
	return wire_show(at == WIRE_WHOLE ? d->root : json_array_get(list_of(d), (size_t)at), JSON_COMPACT, out);
}

const char *doc_text(const struct doc *d, const char *name)
{
	return json_string_value(json_object_get(d->root, name));
}

bool doc_number(const struct doc *d, const char *name, int64_t *out)
{
	const json_t *v = json_object_get(d->root, name);

	if (!json_is_integer(v))
		return false;
	*out = json_integer_value(v);
	return true;
}

/* ---- For the readers ------------------------------------------------------------------- */

void *wire_room(struct doc *d, size_t count, size_t size)
{
	struct block *b = count <= WIRE_BYTES_MAX ? calloc(1, sizeof *b + (count ? count : 1) * size) : NULL;

	if (!b)
		return NULL;
	b->next = d->blocks;
	d->blocks = b;
	return b->room;
}

int wire_bad(struct fail *f, const char *what, const char *name, const char *why)
{
	return fail_set(f, -EPROTO, "the market sent %s that is not valid: '%.60s' %s", what, name, why);
}

json_t *wire_object(struct doc *d, long at, const char *what, struct fail *f)
{
	json_t *o = at == WIRE_WHOLE ? d->root : at >= 0 ? json_array_get(list_of(d), (size_t)at) : NULL;

	if (json_is_object(o))
		return o;
	fail_set(f, -EPROTO, "the market sent something other than %s", what);
	return NULL;
}

json_t *wire_member(json_t *o, const char *name)
{
	json_t *m = json_object_get(o, name);

	return json_is_object(m) ? m : NULL;
}

size_t wire_length(json_t *o, const char *name)
{
	return json_array_size(json_object_get(o, name));
}

json_t *wire_item(json_t *o, const char *name, size_t i)
{
	json_t *m = json_array_get(json_object_get(o, name), i);

	return json_is_object(m) ? m : NULL;
}

size_t wire_names(json_t *o, const char **names)
{
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach(o, key, value) {
		if (names)
			names[n] = key;
		n++;
	}
	return n;
}

static void wire_list_shown(const json_t *list, char *room)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));

		room = stpcpy(stpcpy(room, i ? "," : ""), word ? word : "");
	}
}

const char *wire_shown(struct doc *d, json_t *o, const char *name)
{
	const json_t *value = json_object_get(o, name);
	char *dumped, *room;

	if (!value || json_is_string(value))
		return value ? json_string_value(value) : "";
	dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	room = dumped ? wire_room(d, strlen(dumped) + 1, 1) : NULL;
	if (room && json_is_array(value))
		wire_list_shown(value, room); /* never longer than its JSON */
	else if (room)
		memcpy(room, dumped, strlen(dumped));
	free(dumped);
	return room;
}

bool wire_has(json_t *o, const char *name)
{
	return json_object_get(o, name) != NULL;
}

bool wire_says(json_t *o, const char *name, const char *text)
{
	const char *is = json_string_value(json_object_get(o, name));

	return is && strcmp(is, text) == 0;
}

/* ---- One kind of value each ------------------------------------------------------------ */

static const char *wire_take_text(json_t *v, void *out)
{
	if (!json_is_string(v))
		return "is not text";
	*(const char **)out = json_string_value(v);
	return NULL;
}

/* Digits, at most 20 of them; a sign where it may be. */
static bool number_text(json_t *v, bool sign)
{
	const char *s = json_string_value(v);

	if (s && sign && *s == '-')
		s++;
	return s && *s && strlen(s) <= 20 && !s[strspn(s, "0123456789")];
}

static const char *take_int(json_t *v, void *out)
{
	long long n;

	if (json_is_integer(v)) {
		n = json_integer_value(v);
	} else {
		if (!number_text(v, true))
			return "is not a whole number";
		errno = 0;
		n = strtoll(json_string_value(v), NULL, 10);
		if (errno)
			return "is too large";
	}
	*(int64_t *)out = n;
	return NULL;
}

static const char *take_uint(json_t *v, void *out)
{
	unsigned long long n;

	if (json_is_integer(v)) {
		if (json_integer_value(v) < 0)
			return "is negative";
		n = (unsigned long long)json_integer_value(v);
	} else {
		if (!number_text(v, false))
			return "is not a whole number";
		errno = 0;
		n = strtoull(json_string_value(v), NULL, 10);
		if (errno)
			return "is too large";
	}
	*(uint64_t *)out = n;
	return NULL;
}

static const char *take_bool(json_t *v, void *out)
{
	if (!json_is_boolean(v))
		return "is neither true nor false";
	*(bool *)out = json_is_true(v);
	return NULL;
}

static const char *take_money(json_t *v, void *out)
{
	if (!json_is_string(v) || money_parse_wire(json_string_value(v), true, out))
		return "is not an amount of dollars";
	return NULL;
}

static const char *take_price(json_t *v, void *out)
{
	if (!json_is_string(v) || price_parse_wire(json_string_value(v), out, NULL))
		return "is not a price";
	return NULL;
}

static const char *take_ref(json_t *v, void *out)
{
	struct model_ref *ref = out;
	const char *name = json_string_value(json_object_get(v, "name"));

	if (json_is_string(v)) {
		ref->id = json_string_value(v);
		return NULL;
	}
	if (!json_is_string(json_object_get(v, "id")))
		return "has no id";
	ref->id = json_string_value(json_object_get(v, "id"));
	ref->name = name ? name : json_string_value(json_object_get(v, "alias"));
	return NULL;
}

static const char *take_worth(json_t *v, void *out, bool text)
{
	json_t *value = json_is_object(v) ? json_object_get(v, "value") : v;

	if (!value || json_is_null(value))
		return NULL;
	if (text)
		return wire_take_text(value, out);
	if (json_is_boolean(value)) {
		*(int64_t *)out = json_is_true(value);
		return NULL;
	}
	return take_int(value, out);
}

/* Where an end is left out, the next entry's start is it; the last one then is open. */
static const char *wire_take_span(json_t *list, size_t i, struct model_span *out)
{
	json_t *o = json_array_get(list, i), *next = json_object_get(json_array_get(list, i + 1), "start_at");
	json_t *end = json_object_get(o, "end_at");
	struct model_span s = { .end = MODEL_NEVER };

	if (!json_is_object(o) || take_int(json_object_get(o, "start_at"), &s.start) ||
	    take_int(json_object_get(o, "node_count"), &s.nodes))
		return "is not a schedule";
	if (!end || json_is_null(end))
		end = next;
	if (end && take_int(end, &s.end))
		return "is not a schedule";
	if (s.start < 0 || s.end < s.start || s.nodes < 0)
		return "is an impossible schedule";
	*out = s;
	return NULL;
}

static const char *take_schedule(struct doc *d, json_t *v, struct model_schedule *out)
{
	size_t count = json_array_size(v);
	struct model_span *list = json_is_array(v) ? wire_room(d, count, sizeof *list) : NULL;
	const char *why;

	if (!json_is_array(v))
		return "is not a schedule";
	if (!list)
		return "is too large for the memory";
	for (size_t i = 0; i < count; i++) {
		why = wire_take_span(v, i, &list[i]);
		if (why)
			return why;
	}
	*out = (struct model_schedule){ list, count };
	return NULL;
}

struct texts {
	const char *const *list;
	size_t count;
};

static const char *take_texts(struct doc *d, json_t *v, struct texts *out)
{
	size_t count = json_array_size(v);
	const char **list = json_is_array(v) ? wire_room(d, count, sizeof *list) : NULL;

	if (!list)
		return "is not a list of texts";
	for (size_t i = 0; i < count; i++)
		if (wire_take_text(json_array_get(v, i), &list[i]))
			return "is not a list of texts";
	*out = (struct texts){ list, count };
	return NULL;
}

/* Nothing is measured that is negative, or larger than any counter. */
static double wire_measured(const json_t *v)
{
	double value = json_is_number(v) ? json_number_value(v) : NAN;

	return value >= 0 && value < 1e18 ? value : NAN;
}

static const char *take_real(json_t *v, double *out)
{
	if (!json_is_number(v))
		return "is not a number";
	*out = wire_measured(v);
	return NULL;
}

static const char *take_curve(struct doc *d, json_t *v, struct model_curve *out)
{
	size_t count = json_array_size(v);
	double *list = json_is_array(v) ? wire_room(d, count, sizeof *list) : NULL;

	if (!list)
		return "is not a list of numbers";
	for (size_t i = 0; i < count; i++)
		list[i] = wire_measured(json_array_get(v, i));
	*out = (struct model_curve){ list, count };
	return NULL;
}

struct curves {
	const struct model_curve *list;
	size_t count;
};

static const char *take_curves(struct doc *d, json_t *v, struct curves *out)
{
	size_t count = json_array_size(v);
	struct model_curve *list = json_is_array(v) ? wire_room(d, count, sizeof *list) : NULL;
	const char *why = list ? NULL : "is not a list of curves";

	for (size_t i = 0; i < count && !why; i++)
		why = take_curve(d, json_array_get(v, i), &list[i]);
	if (!why)
		*out = (struct curves){ list, count };
	return why;
}

static const char *wire_take(struct doc *d, json_t *v, enum wire_kind kind, void *out)
{
	switch (kind) {
	case WIRE_TEXT: return wire_take_text(v, out);
	case WIRE_INT: return take_int(v, out);
	case WIRE_UINT: return take_uint(v, out);
	case WIRE_BOOL: return take_bool(v, out);
	case WIRE_MONEY: return take_money(v, out);
	case WIRE_PRICE: return take_price(v, out);
	case WIRE_REF: return take_ref(v, out);
	case WIRE_SCHEDULE: return take_schedule(d, v, out);
	case WIRE_WORTH_TEXT: return take_worth(v, out, true);
	case WIRE_WORTH_INT: return take_worth(v, out, false);
	case WIRE_TEXTS: return take_texts(d, v, out);
	case WIRE_REAL:
		return take_real(v, out);
	case WIRE_CURVE:
		return take_curve(d, v, out);
	case WIRE_CURVES:
		return take_curves(d, v, out);
	}
	return "has no known kind";
}

int wire_fields(struct doc *d, json_t *o, const struct wire_field *fields, const char *what, void *out, struct fail *f)
{
	for (; fields->name; fields++) {
		json_t *v = json_object_get(o, fields->name);
		const char *why = NULL;

		if (v && !json_is_null(v))
			why = wire_take(d, v, fields->kind, (char *)out + fields->at);
		else if (fields->needed)
			why = "is missing";
		if (why)
			return wire_bad(f, what, fields->name, why);
	}
	return 0;
}

int wire_read(struct doc *d, long at, const char *what, const struct wire_field *fields, void *out, struct fail *f)
{
	struct json_t *o = wire_object(d, at, what, f);

	return o ? wire_fields(d, o, fields, what, out, f) : -EPROTO;
}

/* ---- Errors ---------------------------------------------------------------------------- */

static int reason_by_status(int status)
{
	static const struct { int status, reason;
	} known[] = {
		{ 400, REASON_MALFORMED },
		{ 401, REASON_UNAUTHENTICATED },
		{ 402, REASON_FUNDS },
		{ 403, REASON_FORBIDDEN },
		{ 404, REASON_NOT_FOUND },
		{ 405, REASON_METHOD },
		{ 409, REASON_WRONG_STATE },
		{ 410, REASON_NOT_FOUND },
		{ 413, REASON_TOO_LARGE },
		{ 422, REASON_INVALID },
		{ 429, REASON_RATE },
		{ 501, REASON_NOT_IMPLEMENTED },
		{ 502, REASON_UNAVAILABLE },
		{ 503, REASON_UNAVAILABLE },
		{ 504, REASON_UNAVAILABLE },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].status == status)
			return known[i].reason;
	return status >= 400 && status < 500 ? REASON_INVALID : REASON_INTERNAL;
}

static const char *wire_text_of(json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static void read_details(struct doc *d, json_t *e, struct model_error *out)
{
	size_t count = wire_length(e, "details");
	struct model_detail *list = count ? wire_room(d, count, sizeof *list) : NULL;

	for (size_t i = 0; list && i < count; i++) {
		json_t *o = wire_item(e, "details", i);

		list[out->detail_count++] = (struct model_detail){ wire_text_of(o, "field"), wire_text_of(o, "code"),
			wire_text_of(o, "message") };
	}
	out->details = list;
}

/* {"error":{…}}, the inner object alone, {"object":"error",…}, {"error":"text"}: markets use all of them. */
void wire_error(struct doc *d, int status, struct model_error *out)
{
	json_t *root = d ? d->root : NULL, *e = wire_member(root, "error");

	*out = (struct model_error){ .request_id = wire_text_of(root, "request_id") };
	e = e ? e : root;
	out->type = wire_text_of(e, "type");
	out->code = wire_text_of(e, "code");
	out->message = wire_text_of(e, "message");
	if (!out->message)
		out->message = wire_text_of(root, "error");
	out->reason = reason_find(out->code);
	if (out->reason == REASON_NONE)
		out->reason = reason_by_status(status);
	read_details(d, e, out);
}
