/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/clusteredit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/confedit.h"

/* ---- Values as YAML ------------------------------------------------------------------------ */

/* Plain where no reader takes it for anything else; else in single quotes, which know no escapes but ''. */
static int put_scalar(struct buf *b, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.+-";
	int rc;

	if (*text && !strchr("-+.", *text) && !text[strspn(text, plain)] && strcmp(text, "null") != 0)
		return buf_adds(b, text);
	if (strpbrk(text, "\n\r\t"))
		return -EINVAL;
	rc = buf_addc(b, '\'');
	for (; !rc && *text; text++)
		rc = *text == '\'' ? buf_adds(b, "''") : buf_addc(b, *text);
	return rc ? rc : buf_addc(b, '\'');
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

/* What stands behind a key; keys: the way to what is changed below it, NULL: nothing is. c NULL: it is not there yet. */
static int put_value(struct buf *b, const struct conf *c, const char *const *keys, const char *value, unsigned indent)
{
	bool found = false;
	int rc;

	if (keys && !*keys) {
		rc = buf_addc(b, ' ');
		rc = rc ? rc : put_scalar(b, value);
		return rc ? rc : buf_addc(b, '\n');
	}
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

/* ---- Lines of one outermost key ---------------------------------------------------------------- */

static size_t clusteredit_line_start(const struct buf *text, unsigned n)
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

/* The key's lines are these; where it is not there they come last. */
static int replace_top(const struct conf_file *file, struct buf *text, const struct conf *top, const char *lines,
	struct fail *f)
{
	size_t from = text->len, to = text->len;
	struct buf out;
	int rc;

	if (file->root.flow || (top && top->column != 1))
		return fail_set(f, -EINVAL, "cannot change '%s': it is written in an unusual way; edit it by hand",
			file->name);
	if (top) {
		from = clusteredit_line_start(text, top->line);
		to = clusteredit_line_start(text, (top->end_line > top->line ? top->end_line : top->line) + 1);
	}
	buf_init(&out, text->max);
	rc = buf_add(&out, buf_text(text), from);
	if (!rc && from && out.data[from - 1] != '\n')
		rc = buf_addc(&out, '\n');
	rc = rc ? rc : buf_adds(&out, lines);
	rc = rc ? rc : buf_add(&out, buf_text(text) + to, text->len - to);
	if (rc) {
		buf_release(&out);
		return fail_set(f, rc, "cannot change '%s': it would be too large", file->name);
	}
	buf_release(text);
	*text = out;
	return 0;
}

static bool reads_back(const char *name, const struct buf *text, const char *const *keys, const char *value)
{
	const struct conf *at;
	struct conf_file *file;
	bool fine;

	if (conf_parse(name, buf_text(text), text->len, &file, NULL))
		return false;
	at = &file->root;
	for (; at && *keys; keys++)
		at = conf_get(at, *keys);
	fine = at && at->type == CONF_TEXT && strcmp(at->text, value) == 0;
	conf_free(file);
	return fine;
}

static int write_anew(const char *name, struct buf *text, const char *const *keys, const char *value, struct fail *f)
{
	struct conf_file *file;
	struct buf lines;
	const struct conf *top;
	int rc = conf_parse(name, buf_text(text), text->len, &file, f);

	if (rc)
		return rc;
	top = conf_get(&file->root, keys[0]);
	buf_init(&lines, text->max);
	rc = put_key(&lines, keys[0], 0);
	rc = rc ? rc : put_value(&lines, top, keys + 1, value, 2);
	rc = rc ? fail_set(f, rc, "cannot change '%s': '%s' cannot be written there", name, value)
		: replace_top(file, text, top, buf_text(&lines), f);
	buf_release(&lines);
	conf_free(file);
	return rc;
}

int clusteredit_set(const char *file, struct buf *text, const char *const *keys, const char *value, struct fail *f)
{
	struct buf made;
	int rc;

	buf_init(&made, text->max);
	rc = confedit_set(file, text, keys, &value, 1, 0, &made, NULL);
	if (rc == 0) {
		buf_release(text);
		*text = made;
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
	buf_release(text);
	*text = made;
	return 0;
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
		: replace_top(conf, text, conf_get(&conf->root, "nodes"), buf_text(&lines), f);
	buf_release(&lines);
	conf_free(conf);
	return rc;
}

/* In lines of their own: one more behind the last, and all that is said by comments stays. */
static int clusteredit_add_line(const struct conf *stacks, struct buf *text, const char *stack, struct buf *out)
{
	size_t at = clusteredit_line_start(text,
		(stacks->end_line > stacks->line ? stacks->end_line : stacks->line) + 1);
	int rc = buf_add(out, buf_text(text), at);

	if (!rc && at && out->data[at - 1] != '\n')
		rc = buf_addc(out, '\n');
	rc = rc ? rc : put_key(out, stack, stacks->items[0].column - 1);
	rc = rc ? rc : buf_adds(out, " {}\n");
	return rc ? rc : buf_add(out, buf_text(text) + at, text->len - at);
}

static int clusteredit_add_stack(const struct conf_file *conf, struct buf *text, const char *stack, struct fail *f)
{
	const struct conf *stacks = conf_get(&conf->root, "stacks");
	struct buf out;
	int rc;

	if (stacks && stacks->type == CONF_MAP && conf_get(stacks, stack))
		return 0;
	buf_init(&out, text->max);
	if (stacks && stacks->type == CONF_MAP && stacks->count && !stacks->flow && stacks->items[0].column > 1) {
		rc = clusteredit_add_line(stacks, text, stack, &out);
		if (!rc) {
			buf_release(text);
			*text = out;
			return 0;
		}
		buf_release(&out);
		return fail_set(f, rc, "cannot change '%s': it would be too large", conf->name);
	}
	rc = buf_adds(&out, "stacks:");
	if (!rc && stacks && stacks->type == CONF_MAP && stacks->count)
		rc = put_value(&out, stacks, NULL, NULL, 2);
	else
		rc = rc ? rc : buf_addc(&out, '\n');
	rc = rc ? rc : put_key(&out, stack, 2);
	rc = rc ? rc : buf_adds(&out, " {}\n");
	rc = rc ? fail_set(f, rc, "cannot change '%s': it would be too large", conf->name)
		: replace_top(conf, text, stacks, buf_text(&out), f);
	buf_release(&out);
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
	buf_release(text);
	*text = made;
	return 0;
}
