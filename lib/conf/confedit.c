/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works on lines: the parser says which lines a value has, those are replaced, and the result is
 * parsed again before anybody writes it. What this cannot do is refused, never guessed.
 */
#include "conf/confedit.h"

#include <errno.h>
#include <string.h>

#include "conf/conf.h"

struct edit {
	const char *const *keys; /* those that are not there yet, or the last one */
	const char *const *values;
	size_t count;
	int list;
};

int confedit_add_scalar(struct buf *b, const char *text)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_";
	static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-+@%";
	int rc;

	if (*text && strchr(first, *text) && !text[strspn(text, rest)] && strcmp(text, "null") != 0)
		return buf_adds(b, text);
	rc = buf_addc(b, '\'');
	for (; !rc && *text; text++)
		rc = *text == '\'' ? buf_adds(b, "''") : buf_addc(b, *text);
	return rc ? rc : buf_addc(b, '\'');
}

static int add_value(struct buf *b, const struct edit *e)
{
	int rc = e->list ? buf_addc(b, '[') : 0;

	for (size_t i = 0; i < e->count && !rc; i++) {
		rc = i ? buf_adds(b, ", ") : 0;
		rc = rc ? rc : confedit_add_scalar(b, e->values[i]);
	}
	if (!rc && e->list)
		rc = buf_addc(b, ']');
	return rc ? rc : buf_addc(b, '\n');
}

/* "groups:\n  web: n1\n" from the given indent on. */
static int confedit_add_lines(struct buf *b, const struct edit *e, unsigned indent)
{
	int rc = 0;

	for (const char *const *key = e->keys; *key && !rc; key++, indent += 2) {
		rc = buf_addf(b, "%*s", (int)indent, "");
		rc = rc ? rc : confedit_add_scalar(b, *key);
		rc = rc ? rc : buf_adds(b, key[1] ? ":\n" : ": ");
	}
	return rc ? rc : add_value(b, e);
}

/* Where line n (from 1) starts; the end of the text where there are fewer. */
static size_t confedit_line_start(const struct buf *text, unsigned n)
{
	const char *s = buf_text(text), *p = s;

	while (--n > 0) {
		const char *end = strchr(p, '\n');

		if (!end)
			return text->len;
		p = end + 1;
	}
	return (size_t)(p - s);
}

void confedit_lines(const struct buf *text, const struct conf *c, size_t *from, size_t *to)
{
	*from = confedit_line_start(text, c->line);
	*to = confedit_line_start(text, (c->end_line > c->line ? c->end_line : c->line) + 1);
}

int confedit_replace(struct buf *text, size_t from, size_t to, const struct buf *lines)
{
	struct buf out;
	int rc;

	buf_init(&out, text->max);
	rc = buf_add(&out, buf_text(text), from);
	if (!rc && from && out.data[from - 1] != '\n')
		rc = buf_addc(&out, '\n');
	rc = rc ? rc : buf_add(&out, buf_text(lines), lines->len);
	rc = rc ? rc : buf_add(&out, buf_text(text) + to, text->len - to);
	if (rc) {
		buf_release(&out);
		return rc;
	}
	if (text->data)
		explicit_bzero(text->data, text->len);
	buf_release(text);
	*text = out;
	return 0;
}

int confedit_set_top(const struct conf_file *file, struct buf *text, const char *key, const struct buf *lines,
	struct fail *f)
{
	const struct conf *top = conf_get(&file->root, key);
	size_t from = text->len, to = text->len;

	if (file->root.flow || (top && top->column != 1))
		return fail_set(f, -EINVAL, "cannot change '%s': it is written in an unusual way; edit it by hand",
			file->name);
	if (top)
		confedit_lines(text, top, &from, &to);
	return confedit_replace(text, from, to, lines)
		? fail_set(f, -EFBIG, "cannot change '%s': it would be too large", file->name) : 0;
}

/* Does the value read back as what was asked for? */
static int is_asked_for(const struct conf *at, const struct edit *e)
{
	if (!at || e->count == 0)
		return !at && e->count == 0;
	if (!e->list)
		return at->type == CONF_TEXT && strcmp(at->text, e->values[0]) == 0;
	if (at->type != CONF_LIST || at->count != e->count)
		return 0;
	for (size_t i = 0; i < e->count; i++)
		if (at->items[i].type != CONF_TEXT || strcmp(at->items[i].text, e->values[i]) != 0)
			return 0;
	return 1;
}

/* Is everything off the way (keys NULL: all of it) in b as it was in a? */
static int confedit_is_kept(const struct conf *a, const struct conf *b, const char *const *keys)
{
	if (keys && !*keys)
		return 1;
	if (a->type != b->type)
		return keys && a->type == CONF_NULL && b->type == CONF_MAP;
	if (a->type == CONF_TEXT)
		return strcmp(a->text, b->text) == 0;
	if (!keys && a->count != b->count)
		return 0;
	for (size_t i = 0; i < a->count; i++) {
		const struct conf *item = &a->items[i], *after = item->key ? conf_get(b, item->key) : &b->items[i];
		int on_way = keys && item->key && strcmp(item->key, *keys) == 0;

		if (!after && !(on_way && !keys[1]))
			return 0;
		if (after && !confedit_is_kept(item, after, on_way ? keys + 1 : NULL))
			return 0;
	}
	for (size_t i = 0; keys && i < b->count; i++)
		if (!conf_get(a, b->items[i].key) && strcmp(b->items[i].key, *keys) != 0)
			return 0;
	return 1;
}

bool confedit_same(const struct conf *a, const struct conf *b)
{
	return confedit_is_kept(a, b, NULL);
}

/* The new text is a settings file with the value asked for, and all else as it was. */
static int confedit_check(const struct conf_file *before, const struct buf *out, const char *const *keys,
	const struct edit *e, struct fail *f)
{
	struct conf_file *file = NULL;
	const struct conf *at;
	int fine = conf_parse(before->name, buf_text(out), out->len, &file, NULL) == 0;

	if (fine) {
		at = &file->root;
		for (const char *const *key = keys; at && *key; key++)
			at = conf_get(at, *key);
		fine = is_asked_for(at, e) && confedit_is_kept(&before->root, &file->root, keys);
	}
	conf_free(file);
	return fine ? 0
		    : fail_set(f, -EINVAL,
			      "cannot change '%s' without harm: it is written in an unusual way; edit it by hand",
			      before->name);
}

/* out: the text; its lines [from, to) become the value's. */
static int confedit_put(struct buf *out, size_t from, size_t to, const struct edit *e, unsigned indent)
{
	struct buf lines;
	int rc;

	buf_init(&lines, CONF_BYTES_MAX);
	rc = e->count ? confedit_add_lines(&lines, e, indent) : 0;
	rc = rc ? rc : confedit_replace(out, from, to, &lines);
	buf_release(&lines);
	return rc;
}

static int edit_text(const struct conf_file *file, struct edit *e, struct buf *out, struct fail *f)
{
	const struct conf *parent = &file->root, *child = NULL;
	unsigned indent;
	size_t from, to = out->len;

	for (; *e->keys; e->keys++) {
		if (parent->type != CONF_MAP && parent->type != CONF_NULL)
			return conf_fail(file, parent, f, "expected 'name: value' lines");
		child = conf_get(parent, *e->keys);
		if (!child || !e->keys[1])
			break;
		parent = child;
	}
	if (parent->flow)
		return conf_fail(file, parent, f, "a map in {} can only be edited by hand");
	if (child) {
		confedit_lines(out, child, &from, &to);
		return confedit_put(out, from, to, e, child->column - 1);
	}
	if (e->count == 0)
		return 1;
	indent = parent->count ? parent->items[0].column - 1 : parent == &file->root ? 0 : parent->column + 1;
	if (parent != &file->root)
		to = confedit_line_start(out, (parent->count ? parent->end_line : parent->line) + 1);
	return confedit_put(out, to, to, e, indent);
}

int confedit_set(const char *name, const struct buf *text, const char *const *keys,
	const char *const *values, size_t count, int list, struct buf *out, struct fail *f)
{
	struct edit e = { keys, values, count, list };
	struct conf_file *file;
	struct buf made;
	int rc = conf_parse(name, buf_text(text), text->len, &file, f);

	if (rc)
		return rc;
	buf_init(&made, CONF_BYTES_MAX);
	rc = buf_add(&made, buf_text(text), text->len);
	rc = rc ? rc : edit_text(file, &e, &made, f);
	if (rc == -ENOMEM || rc == -EFBIG)
		rc = fail_set(f, rc, "cannot change '%s': it would be too large", name);
	rc = rc ? rc : confedit_check(file, &made, keys, &e, f);
	conf_free(file);
	if (rc) {
		buf_release(&made);
		return rc;
	}
	buf_release(out);
	made.max = out->max;
	*out = made;
	return 0;
}
