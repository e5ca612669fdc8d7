/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/table.h"

struct reader {
	yaml_parser_t parser;
	const char *name;
	size_t values;
	struct fail *f;
};

static int read_value(struct reader *r, yaml_event_t *first, unsigned depth, struct conf *out);

static int fail_at(struct reader *r, yaml_mark_t at, const char *fmt, ...)
{
	char why[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return fail_set(r->f, -EINVAL, "cannot read '%s': line %zu, column %zu: %s", r->name,
		at.line + 1, at.column + 1, why);
}

int conf_fail(const struct conf_file *file, const struct conf *at, struct fail *f, const char *fmt, ...)
{
	char why[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return fail_set(f, -EINVAL, "cannot read '%s': line %u, column %u: %s", file->name, at->line, at->column, why);
}

static int conf_no_memory(struct reader *r)
{
	return fail_set(r->f, -ENOMEM, "cannot read '%s': out of memory", r->name);
}

/* What the parser did not understand, in its words. */
static int fail_syntax(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	yaml_mark_t at = p->problem_mark;
	const char *what = p->problem ? p->problem : "not YAML";

	if (p->error == YAML_MEMORY_ERROR)
		return conf_no_memory(r);
	if (p->error == YAML_READER_ERROR)
		return fail_set(r->f, -EINVAL, "cannot read '%s': byte %zu: %s", r->name, p->problem_offset, what);
	if (strcmp(what, "found character that cannot start any token") == 0)
		what = "a tab, or a character that needs quotes";
	return fail_at(r, at, "%s", what);
}

static int next_event(struct reader *r, yaml_event_t *event)
{
	return yaml_parser_parse(&r->parser, event) ? 0 : fail_syntax(r);
}

static void conf_release(struct conf *value)
{
	for (size_t i = 0; i < value->count; i++)
		conf_release(&value->items[i]);
	free(value->items);
	free(value->text);
	free(value->key);
	*value = (struct conf){ 0 };
}

static int conf_add_item(struct reader *r, struct conf *to, struct conf **item)
{
	/* The array doubles, so it is full whenever the count is a power of two. */
	if ((to->count & (to->count - 1)) == 0) {
		struct conf *items = realloc(to->items, (to->count ? to->count * 2 : 1) * sizeof *items);

		if (!items)
			return conf_no_memory(r);
		to->items = items;
	}
	*item = &to->items[to->count++];
	**item = (struct conf){ 0 };
	return 0;
}

static int check_plainness(struct reader *r, const yaml_event_t *event, const void *anchor, const void *tag)
{
	if (anchor)
		return fail_at(r, event->start_mark, "anchors are not supported");
	if (tag)
		return fail_at(r, event->start_mark, "tags are not supported");
	return 0;
}

static int read_scalar(struct reader *r, const yaml_event_t *event, struct conf *out)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	int rc = check_plainness(r, event, event->data.scalar.anchor, event->data.scalar.tag);

	if (rc)
		return rc;
	if (memchr(text, '\0', len))
		return fail_at(r, event->start_mark, "a zero byte in the text");
	if (plain && (len == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)) {
		out->type = CONF_NULL;
		return 0;
	}
	out->type = CONF_TEXT;
	out->plain = plain;
	out->text = strdup(text);
	return out->text ? 0 : conf_no_memory(r);
}

static int read_list(struct reader *r, unsigned depth, struct conf *out)
{
	yaml_event_t event;
	struct conf *item;
	bool end = false;
	int rc = 0;

	while (!rc && !end) {
		rc = next_event(r, &event);
		if (rc)
			return rc;
		end = event.type == YAML_SEQUENCE_END_EVENT;
		if (end)
			out->end_line = (unsigned)(event.end_mark.line + (event.end_mark.column > 0));
		else
			rc = conf_add_item(r, out, &item);
		if (!end && !rc)
			rc = read_value(r, &event, depth + 1, item);
		yaml_event_delete(&event);
	}
	return rc;
}

static int conf_read_key(struct reader *r, yaml_event_t *event, struct table *seen, char **key)
{
	struct conf value = { 0 };
	int rc;

	if (event->type != YAML_SCALAR_EVENT)
		return fail_at(r, event->start_mark, "expected a name, not a list or a map");
	rc = read_scalar(r, event, &value);
	if (rc)
		return rc;
	if (value.type != CONF_TEXT)
		return fail_at(r, event->start_mark, "expected a name before the colon");
	if (table_get(seen, value.text)) {
		rc = fail_at(r, event->start_mark, "'%s' appears twice", value.text);
		free(value.text);
		return rc;
	}
	if (table_set(seen, value.text, r)) {
		free(value.text);
		return conf_no_memory(r);
	}
	*key = value.text;
	return 0;
}

static int read_member(struct reader *r, yaml_event_t *event, struct table *seen, unsigned depth, struct conf *map)
{
	yaml_event_t value;
	struct conf *item;
	char *key = NULL;
	int rc = conf_read_key(r, event, seen, &key);

	if (!rc)
		rc = conf_add_item(r, map, &item);
	if (!rc)
		item->key = key;
	else
		free(key);
	if (!rc)
		rc = next_event(r, &value);
	if (rc)
		return rc;
	rc = read_value(r, &value, depth + 1, item);
	yaml_event_delete(&value);
	item->line = (unsigned)event->start_mark.line + 1;
	item->column = (unsigned)event->start_mark.column + 1;
	return rc;
}

static int read_map(struct reader *r, unsigned depth, struct conf *out)
{
	yaml_event_t event;
	struct table seen;
	bool end = false;
	int rc = 0;

	table_init(&seen);
	while (!rc && !end) {
		rc = next_event(r, &event);
		if (rc)
			break;
		end = event.type == YAML_MAPPING_END_EVENT;
		if (!end)
			rc = read_member(r, &event, &seen, depth, out);
		else
			out->end_line = (unsigned)(event.end_mark.line + (event.end_mark.column > 0));
		yaml_event_delete(&event);
	}
	table_release(&seen);
	return rc;
}

/* libyaml ends a block list or map where the next thing starts; take the last line of its last item. */
static void fix_end(struct conf *value)
{
	const struct conf *last;

	if (value->flow || value->count == 0)
		return;
	last = &value->items[value->count - 1];
	value->end_line = last->end_line;
}

static int read_value(struct reader *r, yaml_event_t *first, unsigned depth, struct conf *out)
{
	int rc;

	if (++r->values > CONF_VALUES_MAX)
		return fail_at(r, first->start_mark, "more than %d values", CONF_VALUES_MAX);
	if (depth > CONF_DEPTH_MAX)
		return fail_at(r, first->start_mark, "more than %d levels deep", CONF_DEPTH_MAX);
	out->line = out->value_line = (unsigned)first->start_mark.line + 1;
	out->column = (unsigned)first->start_mark.column + 1;
	out->end_line = (unsigned)first->end_mark.line + 1;
	switch (first->type) {
	case YAML_SCALAR_EVENT:
		/* A block scalar ends at the start of the line after it. */
		if (first->end_mark.column == 0 && out->end_line > out->line)
			out->end_line--;
		return read_scalar(r, first, out);
	case YAML_SEQUENCE_START_EVENT:
		out->type = CONF_LIST;
		out->flow = first->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
		rc = check_plainness(r, first, first->data.sequence_start.anchor, first->data.sequence_start.tag);
		rc = rc ? rc : read_list(r, depth, out);
		break;
	case YAML_MAPPING_START_EVENT:
		out->type = CONF_MAP;
		out->flow = first->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
		rc = check_plainness(r, first, first->data.mapping_start.anchor, first->data.mapping_start.tag);
		rc = rc ? rc : read_map(r, depth, out);
		break;
	case YAML_ALIAS_EVENT:
		return fail_at(r, first->start_mark, "aliases are not supported; quote a text that begins with '*'");
	default:
		return fail_at(r, first->start_mark, "expected a value");
	}
	fix_end(out);
	return rc;
}

/* Reads one event, which must be of this type; else fails with `what`. */
static int skip_event(struct reader *r, yaml_event_type_t type, const char *what)
{
	yaml_event_t event;
	yaml_mark_t at;
	int rc = next_event(r, &event);

	if (rc)
		return rc;
	at = event.start_mark;
	rc = event.type == type ? 0 : fail_at(r, at, "%s", what);
	yaml_event_delete(&event);
	return rc;
}

static int read_document(struct reader *r, struct conf *root)
{
	yaml_event_t event;
	int rc = skip_event(r, YAML_STREAM_START_EVENT, "not YAML");

	rc = rc ? rc : next_event(r, &event);
	if (rc)
		return rc;
	if (event.type == YAML_STREAM_END_EVENT) {
		yaml_event_delete(&event);
		return 0;
	}
	yaml_event_delete(&event);
	rc = next_event(r, &event);
	if (rc)
		return rc;
	rc = read_value(r, &event, 0, root);
	if (!rc && root->type != CONF_MAP && root->type != CONF_NULL)
		rc = fail_at(r, event.start_mark, "expected 'name: value' lines");
	yaml_event_delete(&event);
	rc = rc ? rc : skip_event(r, YAML_DOCUMENT_END_EVENT, "expected the end of the document");
	return rc ? rc : skip_event(r, YAML_STREAM_END_EVENT, "more than one document");
}

int conf_parse(const char *name, const char *text, size_t len, struct conf_file **out, struct fail *f)
{
	struct reader r = { .name = name, .f = f };
	struct conf_file *file;
	int rc;

	if (len > CONF_BYTES_MAX)
		return fail_set(f, -EFBIG, "cannot read '%s': larger than %d bytes", name, CONF_BYTES_MAX);
	file = calloc(1, sizeof *file);
	if (file)
		file->name = strdup(name);
	if (!file || !file->name || !yaml_parser_initialize(&r.parser)) {
		conf_free(file);
		return conf_no_memory(&r);
	}
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	rc = read_document(&r, &file->root);
	file->root.type = CONF_MAP;
	yaml_parser_delete(&r.parser);
	if (rc) {
		conf_free(file);
		return rc;
	}
	*out = file;
	return 0;
}

int conf_read(const char *path, struct conf_file **out, struct fail *f)
{
	struct buf text;
	int rc;

	buf_init(&text, CONF_BYTES_MAX);
	rc = buf_read_file(&text, path);
	if (rc == -EFBIG)
		fail_set(f, rc, "cannot read '%s': larger than %d bytes", path, CONF_BYTES_MAX);
	else if (rc)
		fail_errno(f, rc, -rc, "cannot read '%s'", path);
	else
		rc = conf_parse(path, buf_text(&text), text.len, out, f);
	buf_release(&text);
	return rc;
}

void conf_free(struct conf_file *file)
{
	if (!file)
		return;
	conf_release(&file->root);
	free(file->name);
	free(file);
}

const struct conf *conf_get(const struct conf *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++)
		if (map->items[i].key && strcmp(map->items[i].key, key) == 0)
			return &map->items[i];
	return NULL;
}

static const char *conf_nearest(const char *const *keys, const char *typed)
{
	const char *near = NULL;
	size_t best = 4;

	for (; *keys; keys++) {
		size_t far = str_distance(typed, *keys);

		if (far < best && far < strlen(*keys)) {
			best = far;
			near = *keys;
		}
	}
	return near;
}

int conf_known(const struct conf_file *file, const struct conf *map, const char *const *keys, struct fail *f)
{
	for (size_t i = 0; i < map->count; i++) {
		const struct conf *item = &map->items[i];
		const char *const *key = keys, *near;

		while (*key && strcmp(*key, item->key) != 0)
			key++;
		if (*key)
			continue;
		near = conf_nearest(keys, item->key);
		if (near)
			return conf_fail(file, item, f, "unknown setting '%s'; did you mean '%s'?", item->key, near);
		return conf_fail(file, item, f, "unknown setting '%s'", item->key);
	}
	return 0;
}

int conf_expect(const struct conf_file *file, const struct conf *value, enum conf_type type, struct fail *f)
{
	static const char *const names[] = {
		[CONF_NULL] = "nothing",
		[CONF_TEXT] = "a text",
		[CONF_LIST] = "a list",
		[CONF_MAP] = "'name: value' lines",
	};

	if (value->type == type)
		return 0;
	return conf_fail(file, value, f, "expected %s, not %s", names[type], names[value->type]);
}
