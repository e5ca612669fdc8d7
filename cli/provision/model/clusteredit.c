/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/clusteredit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/confedit.h"

/* ---- Values as YAML ------------------------------------------------------------------------ */

/* Values here stand on one line, so a text of several lines cannot be one. */
static int put_scalar(struct buf *b, const char *text)
{
	return strpbrk(text, "\n\r\t") ? -EINVAL : confedit_add_scalar(b, text);
}

/* In one line: [a, b], {a: b}. */
static int put_flow(struct buf *b, const struct conf *c)
{
	int rc;

	if (c->type == CONF_NULL)
		return buf_adds(b, "''");
	if (c->type == CONF_TEXT)
		return put_scalar(b, c->text);
	rc = buf_addc(b, c->type == CONF_LIST ? '[' : '{');
	for (size_t i = 0; i < c->count && !rc; i++) {
		rc = i ? buf_adds(b, ", ") : 0;
		if (!rc && c->type == CONF_MAP) {
			rc = put_scalar(b, c->items[i].key);
			rc = rc ? rc : buf_adds(b, ": ");
		}
		rc = rc ? rc : put_flow(b, &c->items[i]);
	}
	return rc ? rc : buf_addc(b, c->type == CONF_LIST ? ']' : '}');
}

static int put_key(struct buf *b, const char *key, unsigned indent)
{
	int rc = buf_addf(b, "%*s", (int)indent, "");

	rc = rc ? rc : put_scalar(b, key);
	return rc ? rc : buf_addc(b, ':');
}

/* What a key is set to: one text, or a list. */
struct clusteredit_value {
	const char *const *at;
	size_t count;
	bool list;
};

static int put_words(struct buf *b, const struct clusteredit_value *v)
{
	int rc = buf_adds(b, v->list ? " [" : " ");

	for (size_t i = 0; i < v->count && !rc; i++) {
		rc = i ? buf_adds(b, ", ") : 0;
		rc = rc ? rc : put_scalar(b, v->at[i]);
	}
	return rc ? rc : buf_adds(b, v->list ? "]\n" : "\n");
}

/*
 * Writes the value of a key. keys: the path of the change below it, NULL without one. c: the old value, NULL for a new
 * key.
 */
static int put_value(struct buf *b, const struct conf *c, const char *const *keys,
	const struct clusteredit_value *value, unsigned indent)
{
	bool found = false;
	int rc;

	if (keys && !*keys)
		return put_words(b, value);
	if (!keys && (c->type != CONF_MAP || !c->count)) {
		rc = c->type == CONF_NULL ? 0 : buf_addc(b, ' ');
		rc = rc || c->type == CONF_NULL ? rc : put_flow(b, c);
		return rc ? rc : buf_addc(b, '\n');
	}
	rc = buf_addc(b, '\n');
	for (size_t i = 0; c && c->type == CONF_MAP && i < c->count && !rc; i++) {
		bool on_way = keys && strcmp(c->items[i].key, *keys) == 0;

		found |= on_way;
		rc = put_key(b, c->items[i].key, indent);
		rc = rc ? rc : put_value(b, &c->items[i], on_way ? keys + 1 : NULL, value, indent + 2);
	}
	if (!rc && keys && !found) {
		rc = put_key(b, *keys, indent);
		rc = rc ? rc : put_value(b, NULL, keys + 1, value, indent + 2);
	}
	return rc;
}

/* ---- Settings ------------------------------------------------------------------------------------ */

static void clusteredit_take(struct buf *text, const struct buf *made)
{
	buf_release(text);
	*text = *made;
}

static bool clusteredit_is(const struct conf *at, const struct clusteredit_value *v)
{
	bool same = at && at->type == (v->list ? CONF_LIST : CONF_TEXT) && (!v->list || at->count == v->count);

	for (size_t i = 0; same && i < v->count; i++) {
		const struct conf *item = v->list ? &at->items[i] : at;

		same = item->type == CONF_TEXT && strcmp(item->text, v->at[i]) == 0;
	}
	return same;
}

static bool reads_back(const char *name, const struct buf *text, const char *const *keys,
	const struct clusteredit_value *value)
{
	const struct conf *at;
	struct conf_file *file;
	bool fine;

	if (conf_parse(name, buf_text(text), text->len, &file, NULL))
		return false;
	at = &file->root;
	for (; at && *keys; keys++)
		at = conf_get(at, *keys);
	fine = clusteredit_is(at, value);
	conf_free(file);
	return fine;
}

static int write_anew(const char *name, struct buf *text, const char *const *keys,
	const struct clusteredit_value *value, struct fail *f)
{
	struct conf_file *file;
	struct buf lines;
	int rc = conf_parse(name, buf_text(text), text->len, &file, f);

	if (rc)
		return rc;
	buf_init(&lines, text->max);
	rc = put_key(&lines, keys[0], 0);
	rc = rc ? rc : put_value(&lines, conf_get(&file->root, keys[0]), keys + 1, value, 2);
	rc = rc ? fail_set(f, rc, "cannot change '%s': it cannot hold '%s'", name, *value->at)
		: confedit_set_top(file, text, keys[0], &lines, f);
	buf_release(&lines);
	conf_free(file);
	return rc;
}

static int clusteredit_put(const char *file, struct buf *text, const char *const *keys,
	const struct clusteredit_value *value, struct fail *f)
{
	struct buf made;
	int rc;

	buf_init(&made, text->max);
	rc = confedit_set(file, text, keys, value->at, value->count, value->list, &made, NULL);
	if (rc == 0) {
		clusteredit_take(text, &made);
		return 0;
	}
	buf_release(&made);
	if (buf_add(&made, buf_text(text), text->len))
		return fail_set(f, -ENOMEM, "out of memory");
	rc = write_anew(file, &made, keys, value, f);
	if (!rc && !reads_back(file, &made, keys, value))
		rc = fail_set(f, -EINVAL, "cannot change '%s' without harm; edit it by hand", file);
	if (rc) {
		buf_release(&made);
		return rc;
	}
	clusteredit_take(text, &made);
	return 0;
}

int clusteredit_set(const char *file, struct buf *text, const char *const *keys, const char *value, struct fail *f)
{
	return clusteredit_put(file, text, keys, &(struct clusteredit_value){ .at = &value, .count = 1 }, f);
}

int clusteredit_set_list(const char *file, struct buf *text, const char *const *keys, const char *const *words,
	size_t count, struct fail *f)
{
	return clusteredit_put(file, text, keys,
		&(struct clusteredit_value){ .at = words, .count = count, .list = true }, f);
}

int clusteredit_set_dotted(const char *file, struct buf *text, const char *above, const char *dotted, const char *value,
	struct fail *f)
{
	const char *keys[CLUSTEREDIT_KEYS + 2] = { above };
	char *words = strdup(dotted), *at = words;
	size_t n = 1;
	int rc = words ? 0 : fail_set(f, -ENOMEM, "out of memory");

	while (!rc && at && n <= CLUSTEREDIT_KEYS) {
		keys[n++] = strsep(&at, ".");
		if (!*keys[n - 1])
			rc = fail_set(f, -EINVAL, "'%s' is not STACK.SETTING", dotted);
	}
	if (!rc && (at || n < 3))
		rc = fail_set(f, -EINVAL, "'%s' is not STACK.SETTING", dotted);
	rc = rc ? rc : clusteredit_set(file, text, keys, value, f);
	free(words);
	return rc;
}

int clusteredit_nodes(const char *file, struct buf *text, const char *hosts, struct fail *f)
{
	struct conf_file *conf;
	struct buf lines;
	int rc = conf_parse(file, buf_text(text), text->len, &conf, f);

	if (rc)
		return rc;
	buf_init(&lines, text->max);
	rc = buf_adds(&lines, "nodes: {hosts: ");
	rc = rc ? rc : put_scalar(&lines, hosts);
	rc = rc ? rc : buf_adds(&lines, "}\n");
	rc = rc ? fail_set(f, rc, "cannot write the nodes '%.80s'", hosts)
		: confedit_set_top(conf, text, "nodes", &lines, f);
	buf_release(&lines);
	conf_free(conf);
	return rc;
}

/* Adds a line below the last of the stacks, so that all comments stay. */
static int clusteredit_add_line(const struct conf *stacks, struct buf *text, const char *stack)
{
	size_t from, to;
	struct buf line;
	int rc;

	confedit_lines(text, stacks, &from, &to);
	buf_init(&line, text->max);
	rc = put_key(&line, stack, stacks->items[0].column - 1);
	rc = rc ? rc : buf_adds(&line, " {}\n");
	rc = rc ? rc : confedit_replace(text, to, to, &line);
	buf_release(&line);
	return rc;
}

static int clusteredit_add_stack(const struct conf_file *conf, struct buf *text, const char *stack, struct fail *f)
{
	const struct conf *stacks = conf_get(&conf->root, "stacks");
	bool some = stacks && stacks->type == CONF_MAP && stacks->count;
	struct buf lines;
	int rc;

	if (some && conf_get(stacks, stack))
		return 0;
	if (some && !stacks->flow && stacks->items[0].column > 1)
		return clusteredit_add_line(stacks, text, stack)
			? fail_set(f, -EFBIG, "cannot change '%s': it would be too large", conf->name) : 0;
	buf_init(&lines, text->max);
	rc = buf_adds(&lines, "stacks:");
	if (!rc)
		rc = some ? put_value(&lines, stacks, NULL, NULL, 2) : buf_addc(&lines, '\n');
	rc = rc ? rc : put_key(&lines, stack, 2);
	rc = rc ? rc : buf_adds(&lines, " {}\n");
	rc = rc ? fail_set(f, rc, "cannot change '%s': it would be too large", conf->name)
		: confedit_set_top(conf, text, "stacks", &lines, f);
	buf_release(&lines);
	return rc;
}

static bool clusteredit_has_stack(const char *name, const struct buf *text, const char *stack)
{
	const struct conf *stacks;
	struct conf_file *conf;
	bool has;

	if (conf_parse(name, buf_text(text), text->len, &conf, NULL))
		return false;
	stacks = conf_get(&conf->root, "stacks");
	has = stacks && stacks->type == CONF_MAP && conf_get(stacks, stack);
	conf_free(conf);
	return has;
}

int clusteredit_stack(const char *file, struct buf *text, const char *stack, struct fail *f)
{
	struct conf_file *conf;
	struct buf made;
	int rc = conf_parse(file, buf_text(text), text->len, &conf, f);

	if (rc)
		return rc;
	buf_init(&made, text->max);
	rc = buf_add(&made, buf_text(text), text->len) ? fail_set(f, -ENOMEM, "out of memory")
						       : clusteredit_add_stack(conf, &made, stack, f);
	conf_free(conf);
	if (!rc && !clusteredit_has_stack(file, &made, stack))
		rc = fail_set(f, -EINVAL, "cannot add '%s' to '%s' without harm; edit it by hand", stack, file);
	if (rc) {
		buf_release(&made);
		return rc;
	}
	clusteredit_take(text, &made);
	return 0;
}

/* ---- Taking out ----------------------------------------------------------------------------------- */

static bool is_it(const struct conf *above, size_t i, const char *key)
{
	const char *name = above->type == CONF_LIST ? above->items[i].text : above->items[i].key;

	return name && strcmp(name, key) == 0;
}

/* The end of the comments below a key that stand further right, like those of its settings. */
static size_t past_comments(const struct buf *text, size_t to, unsigned column)
{
	while (to < text->len) {
		const char *line = buf_text(text) + to, *end = memchr(line, '\n', text->len - to);
		size_t indent = strspn(line, " ");

		if (line[indent] != '#' || indent < column)
			break;
		to = end ? (size_t)(end + 1 - buf_text(text)) : text->len;
	}
	return to;
}

/* One that has lines of its own: all other lines stay. */
static int drop_lines(const struct conf *above, size_t which, struct buf *text)
{
	struct buf none;
	size_t from, to;

	confedit_lines(text, &above->items[which], &from, &to);
	buf_init(&none, 1);
	return confedit_replace(text, from, past_comments(text, to, above->items[which].column), &none);
}

/* Else the outermost key is written again without it. */
static int drop_anew(const struct conf_file *conf, struct buf *text, const char *top, size_t which, struct fail *f)
{
	const struct conf *above = conf_get(&conf->root, top);
	bool list = above->type == CONF_LIST;
	struct buf lines;
	int rc;

	buf_init(&lines, text->max);
	rc = buf_addf(&lines, list ? "%s: [" : "%s:\n", top);
	for (size_t i = 0, n = 0; i < above->count && !rc; i++) {
		if (i == which)
			continue;
		if (list) {
			rc = n++ ? buf_adds(&lines, ", ") : 0;
			rc = rc ? rc : put_flow(&lines, &above->items[i]);
			continue;
		}
		rc = put_key(&lines, above->items[i].key, 2);
		rc = rc ? rc : put_value(&lines, &above->items[i], NULL, NULL, 4);
	}
	if (!rc && list)
		rc = buf_adds(&lines, "]\n");
	rc = rc ? fail_set(f, rc, "cannot change '%s'", conf->name) : confedit_set_top(conf, text, top, &lines, f);
	buf_release(&lines);
	return rc;
}

int clusteredit_drop(const char *file, struct buf *text, const char *above, const char *key, struct fail *f)
{
	struct conf_file *conf;
	const struct conf *at;
	size_t which = 0;
	int rc = conf_parse(file, buf_text(text), text->len, &conf, f);

	if (rc)
		return rc;
	at = conf_get(&conf->root, above);
	while (at && at->type != CONF_TEXT && which < at->count && !is_it(at, which, key))
		which++;
	if (!at || at->type == CONF_TEXT || which == at->count)
		rc = 1;
	else if (at->type == CONF_MAP && !at->flow && at->items[which].line > at->line)
		rc = drop_lines(at, which, text) ? fail_set(f, -ENOMEM, "out of memory") : 0;
	else
		rc = drop_anew(conf, text, above, which, f);
	conf_free(conf);
	return rc;
}
