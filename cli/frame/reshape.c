/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/reshape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "cli/frame/json.h"
#include "cli/frame/jsonwalk.h"
#include "cli/frame/print.h"

enum { RESHAPE_MAX = 256 << 20, FIELDS_MAX = 64 };

struct reshape {
	struct nanopod *np;
	const char *template; /* NULL: YAML */
	bool lines;           /* JSON Lines */
	FILE *out;            /* the command's own output */
	bool tty;
	struct buf text; /* not printed yet */
	size_t records;
	bool found[FIELDS_MAX]; /* which fields of the template something had */
	struct buf names;       /* the fields of the first record, for the error */
};

/* ---- YAML ------------------------------------------------------------------------------- */

/* Would YAML read these bytes, without quotes, as this text? */
static bool yaml_plain(const char *s, size_t len)
{
	static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off", "y", "n" };
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/0123456789.@+-";

	if (!len || !memchr(chars, s[0], 54) || strspn(s, chars) < len)
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == len && strncasecmp(words[i], s, len) == 0)
			return false;
	return true;
}

/* In our own escapes: YAML has no pairs of them for one character. */
static void yaml_escaped(FILE *out, const char *s, size_t len)
{
	struct buf text, quoted;
	struct json j;

	buf_init(&text, RESHAPE_MAX);
	buf_init(&quoted, RESHAPE_MAX);
	if (jsonwalk_text(s, len, &text))
		command_nomem();
	j = json_to(&quoted);
	json_bytes(&j, NULL, text.data, text.len);
	if (j.error)
		command_nomem();
	fwrite(quoted.data, 1, quoted.len, out);
	buf_release(&text);
	buf_release(&quoted);
}

static void yaml_scalar(FILE *out, const char *s, size_t len)
{
	if (*s == '"' && yaml_plain(s + 1, len - 2))
		fprintf(out, "%.*s", (int)len - 2, s + 1);
	else if (*s == '"' && memchr(s, '\\', len))
		yaml_escaped(out, s, len);
	else
		fwrite(s, 1, len, out); /* what JSON quotes, YAML reads */
}

/* The members of an object or array; the first one stands at the indent already where `begun`. */
static void yaml_members(FILE *out, const char *value, int indent, bool begun)
{
	struct jsonwalk w, inner;

	for (bool more = jsonwalk_first(value, &w); more; more = jsonwalk_next(&w), begun = false) {
		bool nested = (*w.value == '{' || *w.value == '[') && jsonwalk_first(w.value, &inner);

		fprintf(out, "%*s", begun ? 0 : indent, "");
		if (w.key) {
			yaml_scalar(out, w.key - 1, w.key_len + 2);
			fputs(nested ? ":\n" : ": ", out);
		} else {
			fputs("- ", out);
		}
		if (nested)
			yaml_members(out, w.value, indent + 2, !w.key);
		else if (*w.value == '{' || *w.value == '[')
			fputs(*w.value == '{' ? "{}\n" : "[]\n", out);
		else {
			yaml_scalar(out, w.value, w.len);
			putc('\n', out);
		}
	}
}

static void yaml_put(struct reshape *r, const char *value)
{
	struct jsonwalk w;

	if (r->lines) {
		fputs("- ", r->out);
		yaml_members(r->out, value, 2, true);
	} else if (jsonwalk_first(value, &w)) {
		yaml_members(r->out, value, 0, true);
	} else if (*value) {
		fprintf(r->out, "%.*s\n", (int)strcspn(value, "\n"), value);
	}
}

/* ---- Templates -------------------------------------------------------------------------- */

const char *reshape_field(const char **at, size_t *part)
{
	const char *p = *at;

	while (*p) {
		if (p[0] == p[1] && (*p == '{' || *p == '}')) {
			p += 2;
		} else if (*p == '{') {
			*part = strcspn(p + 1, ".}");
			*at = p + 1 + strcspn(p + 1, "}");
			return p + 1;
		} else {
			p++;
		}
	}
	*at = p;
	return NULL;
}

static int template_check(struct nanopod *np, const char *template)
{
	const char *at = template, *field;
	size_t part, count = 0;

	while ((field = reshape_field(&at, &part))) {
		if (*at != '}')
			return print_fail_field(np, STATUS_USAGE, "--template", "write {field}, and {{ for a brace",
				"cannot use '--template': '{%.40s' has no end", field);
		if (!part || ++count > FIELDS_MAX)
			return print_fail_field(np, STATUS_USAGE, "--template", "write {field}, and {{ for a brace",
				"cannot use '--template': %s", part ? "too many fields" : "{} names no field");
		at++;
	}
	return count ? 0
		     : print_fail_field(np, STATUS_USAGE, "--template", "write e.g. --template '{name} {state}'",
			       "cannot use '--template': it names no field");
}

static void template_names(struct reshape *r, const char *record)
{
	struct jsonwalk w;

	for (bool more = jsonwalk_first(record, &w); more; more = jsonwalk_next(&w))
		if (w.key && buf_addf(&r->names, "%s%.*s", r->names.len ? ", " : "", (int)w.key_len, w.key))
			command_nomem();
}

/* Which of the template's fields the record has. */
static void template_look(struct reshape *r, const char *record)
{
	const char *at = r->template, *field;
	size_t part, len, i = 0;

	if (!r->records++)
		template_names(r, record);
	while ((field = reshape_field(&at, &part)))
		r->found[i++] |= jsonwalk_find(record, field, (size_t)(at - field), &len) != NULL;
}

static void template_put(struct reshape *r, const char *record)
{
	struct buf line;
	int rc = 0;

	buf_init(&line, RESHAPE_MAX);
	for (const char *p = r->template; *p && !rc;) {
		size_t len, path;

		if (p[0] == p[1] && (*p == '{' || *p == '}')) {
			rc = buf_addc(&line, *p);
			p += 2;
		} else if (*p == '{') {
			const char *value;

			path = strcspn(p + 1, "}");
			value = jsonwalk_find(record, p + 1, path, &len);
			rc = value ? jsonwalk_text(value, len, &line) : 0;
			p += path + 2;
		} else if (*p == '\\' && (p[1] == 't' || p[1] == 'n' || p[1] == '\\')) {
			rc = buf_addc(&line, p[1] == 't' ? '\t' : p[1] == 'n' ? '\n' : '\\');
			p += 2;
		} else {
			rc = buf_addc(&line, *p++);
		}
	}
	if (rc)
		command_nomem();
	if (r->tty)
		print_safe(r->out, buf_text(&line), line.len);
	else
		fwrite(buf_text(&line), 1, line.len, r->out);
	putc('\n', r->out);
	buf_release(&line);
}

/* The first field that nothing has, to the end at *at; NULL: all are there. */
static const char *template_missing(const struct reshape *r, const char **at)
{
	const char *field;
	size_t part, i = 0;

	*at = r->template;
	while (r->records && (field = reshape_field(at, &part)))
		if (!r->found[i++])
			return field;
	return NULL;
}

static int template_fail(struct reshape *r, int status)
{
	const char *end, *missing = template_missing(r, &end);
	char *hint;

	if (!missing)
		return status;
	if (asprintf(&hint, "fields: %s", buf_text(&r->names)) < 0)
		command_nomem();
	status = print_fail_field(r->np, STATUS_USAGE, "--template", hint, "cannot show '%.*s': no such field",
		(int)(end - missing), missing);
	free(hint);
	return status;
}

static void template_each(struct reshape *r, const char *document, void (*call)(struct reshape *r, const char *record))
{
	struct jsonwalk w;

	document = jsonwalk_blank(document);
	if (*document == '[') {
		for (bool more = jsonwalk_first(document, &w); more; more = jsonwalk_next(&w))
			call(r, w.value);
	} else if (*document) {
		call(r, document);
	}
}

/* ---- The stream -------------------------------------------------------------------------- */

static void reshape_line(struct reshape *r, const char *line)
{
	if (!*jsonwalk_blank(line))
		return;
	if (r->template) {
		template_look(r, line);
		template_put(r, line);
	} else {
		yaml_put(r, line);
	}
	fflush(r->out);
}

static ssize_t reshape_write(void *cookie, const char *data, size_t len)
{
	struct reshape *r = cookie;
	const char *line, *end;
	size_t done;

	if (buf_add(&r->text, data, len))
		command_nomem();
	if (!r->lines)
		return (ssize_t)len;
	line = buf_text(&r->text);
	while ((end = strchr(line, '\n'))) {
		char *one = strndup(line, (size_t)(end - line));

		if (!one)
			command_nomem();
		reshape_line(r, one);
		free(one);
		line = end + 1;
	}
	done = (size_t)(line - buf_text(&r->text));
	buf_drop(&r->text, done);
	return ferror(r->out) ? -1 : (ssize_t)len;
}

struct reshape *reshape_begin(struct nanopod *np, const char *template, bool lines)
{
	const cookie_io_functions_t calls = { .write = reshape_write };
	struct reshape *r;

	if (template && template_check(np, template))
		return NULL;
	r = calloc(1, sizeof *r);
	if (!r)
		command_nomem();
	*r = (struct reshape){ .np = np, .template = template, .lines = lines, .out = np->out, .tty = np->tty_out };
	buf_init(&r->text, RESHAPE_MAX);
	buf_init(&r->names, RESHAPE_MAX);
	np->out = fopencookie(r, "w", calls);
	if (!np->out)
		command_nomem();
	np->tty_out = false;
	np->shape = r;
	return r;
}

/* What came so far, in its form. */
static void reshape_print(struct reshape *r)
{
	const char *document, *end;

	fflush(r->np->out);
	document = jsonwalk_blank(buf_text(&r->text));
	if (r->lines) {
		reshape_line(r, document);
	} else if (r->template) {
		template_each(r, document, template_look);
		if (!template_missing(r, &end))
			template_each(r, document, template_put);
	} else {
		yaml_put(r, document);
	}
	buf_clear(&r->text);
}

int reshape_finish(struct nanopod *np, int status)
{
	struct reshape *r = np->shape;
	FILE *shaped = np->out;

	if (!r)
		return print_finish(np, status);
	reshape_print(r);
	np->out = r->out;
	status = print_finish(np, status);
	np->out = shaped;
	return status;
}

int reshape_end(struct reshape *r, int status)
{
	reshape_print(r);
	fclose(r->np->out);
	r->np->out = r->out;
	r->np->tty_out = r->tty;
	r->np->shape = NULL;
	if (r->template && status == STATUS_OK)
		status = template_fail(r, status);
	buf_release(&r->text);
	buf_release(&r->names);
	free(r);
	return status;
}
