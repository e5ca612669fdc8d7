/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/jsonparts.h"

#include <string.h>

#include "marketd/http/jsonbounds.h"

enum { PART_DEPTH = 64, PART_VALUES = 50000 /* which cost memory */ };

static size_t part_blank(const char *text, const char *end)
{
	size_t n = 0;

	while (text + n < end && text[n] && strchr(" \t\r\n", text[n]))
		n++;
	return n;
}

/* Behind the quote that ends a text; at: behind the one that begins it. */
static const char *part_unquote(const char *at, const char *end)
{
	for (; at < end; at++) {
		if (*at == '\\')
			at++;
		else if (*at == '"')
			return at + 1;
	}
	return end;
}

bool jsonparts_begin(struct jsonparts *p, char bracket, const char *text, size_t len)
{
	*p = (struct jsonparts){ .end = text + len };
	p->at = text + part_blank(text, p->end);
	return p->at < p->end && *p->at++ == bracket;
}

bool jsonparts_next(struct jsonparts *p, const char **part, size_t *len)
{
	const char *at = p->at;
	size_t depth = 0;

	if (p->closed)
		return false;
	for (; at < p->end; at++) {
		if (*at == '"')
			at = part_unquote(at + 1, p->end) - 1;
		else if (*at == '[' || *at == '{')
			depth++;
		else if (!depth && (*at == ',' || *at == ']' || *at == '}'))
			break;
		else if (*at == ']' || *at == '}')
			depth--;
	}
	if (at >= p->end)
		return false;
	*part = p->at;
	*len = (size_t)(at - p->at);
	p->at = at + 1;
	p->closed = *at != ',';
	if (p->closed && !p->any && part_blank(*part, at) == *len)
		return false;
	return p->any = true;
}

bool jsonparts_ended(const struct jsonparts *p)
{
	return p->closed && p->at + part_blank(p->at, p->end) == p->end;
}

static json_t *part_load(const char *text, size_t len)
{
	return json_bounded(text, len, PART_DEPTH, PART_VALUES)
		? json_loadb(text, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)
		: NULL;
}

/* The name of NAME: VALUE, a new reference, and where its value stands; NULL: it is none. */
static json_t *part_name(const char *part, const char *end, const char **value)
{
	const char *quoted = part + part_blank(part, end), *at;
	json_t *name = NULL;

	if (quoted < end && *quoted == '"') {
		at = part_unquote(quoted + 1, end);
		name = part_load(quoted, (size_t)(at - quoted));
		at += part_blank(at, end);
		*value = at + 1;
		if (at < end && *at == ':' && name && strlen(json_string_value(name)) == json_string_length(name))
			return name;
	}
	json_decref(name);
	return NULL;
}

json_t *jsonparts_read(const char *text, size_t len, int levels)
{
	json_t *o = part_load(text, len), *name;
	const char *part, *value;
	struct jsonparts parts;
	size_t n;

	if (o || !levels || !jsonparts_begin(&parts, '{', text, len))
		return o;
	o = json_object();
	while (o && jsonparts_next(&parts, &part, &n)) {
		name = part_name(part, part + n, &value);
		if (name)
			json_object_set_new(o, json_string_value(name),
				jsonparts_read(value, (size_t)(part + n - value), levels - 1));
		json_decref(name);
	}
	return o;
}

json_t *jsonparts_member(const char *text, size_t len, const char *member)
{
	json_t *name, *found = NULL;
	const char *part, *value;
	struct jsonparts parts;
	size_t n;

	if (!jsonparts_begin(&parts, '{', text, len))
		return NULL;
	while (jsonparts_next(&parts, &part, &n)) { /* of several the last counts, as above */
		name = part_name(part, part + n, &value);
		if (name && strcmp(json_string_value(name), member) == 0) {
			json_decref(found);
			found = part_load(value, (size_t)(part + n - value));
		}
		json_decref(name);
	}
	return found;
}
