/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/frame/value.h"

enum { COLUMNS_MAX = 64, ROW_BYTES_MAX = 64 << 20 };

struct row {
	char **cells;
	int color;
};

struct rows {
	struct nanopod *np;
	const struct column *columns;
	size_t all;                     /* how many columns there are */
	size_t shown[COLUMNS_MAX], count; /* the columns to show, in this order */
	enum format format;
	struct row *rows; /* kept only where widths must be known first */
	size_t row_count, seen;
};

static int list_fields(struct nanopod *np, const struct column *columns)
{
	size_t width = 0;

	for (const struct column *c = columns; c->name; c++)
		if (strlen(c->name) > width)
			width = strlen(c->name);
	for (const struct column *c = columns; c->name; c++)
		fprintf(np->out, "%-*s%s%s\n", c->help ? (int)width : 0, c->name, c->help ? "  " : "",
			c->help ? c->help : "");
	return STATUS_OK;
}

static int choose_field(struct rows *r, const char *name)
{
	const char *near = NULL;
	size_t far, best = SIZE_MAX;

	for (size_t i = 0; i < r->all; i++) {
		if (strcmp(r->columns[i].name, name) == 0) {
			if (r->count < COLUMNS_MAX)
				r->shown[r->count++] = i;
			return 0;
		}
		if (value_near(name, r->columns[i].name, &far) && far < best) {
			best = far;
			near = r->columns[i].name;
		}
	}
	if (near)
		return print_fail_field(r->np, STATUS_USAGE, "--fields", "'--fields=' lists the fields",
			"cannot show '%s': no such field (did you mean '%s'?)", name, near);
	return print_fail_field(r->np, STATUS_USAGE, "--fields", "'--fields=' lists the fields",
		"cannot show '%s': no such field", name);
}

static int choose_fields(struct rows *r, const char *list)
{
	char *copy = strdup(list), *rest = copy, *name;
	int rc = 0;

	if (!copy)
		command_nomem();
	while (!rc && (name = strsep(&rest, ",")))
		if (*name)
			rc = choose_field(r, name);
	free(copy);
	return rc;
}

static bool rows_wanted(const struct column *c, enum format format)
{
	switch (format) {
	case FORMAT_NAME:
		return c->flags & COLUMN_ID;
	case FORMAT_JSON: case FORMAT_JSONL:
		return true;
	case FORMAT_CSV: case FORMAT_WIDE:
		return !(c->flags & COLUMN_HIDDEN);
	case FORMAT_TABLE: case FORMAT_TEXT:
		break;
	}
	return !(c->flags & (COLUMN_HIDDEN | COLUMN_WIDE));
}

static void put_csv_cell(FILE *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void put_csv(struct rows *r, const char *const *cells)
{
	for (size_t i = 0; i < r->count; i++) {
		const char *cell = cells ? cells[r->shown[i]] : r->columns[r->shown[i]].name;

		if (i)
			putc(',', r->np->out);
		put_csv_cell(r->np->out, cell ? cell : "");
	}
	putc('\n', r->np->out);
}

static void rows_put_json(struct rows *r, const char *const *cells)
{
	struct buf line;
	struct json j;

	buf_init(&line, ROW_BYTES_MAX);
	j = json_to(&line);
	json_begin_object(&j, NULL);
	for (size_t i = 0; i < r->count; i++) {
		const struct column *c = &r->columns[r->shown[i]];
		const char *cell = cells[r->shown[i]];

		if (cell && c->flags & COLUMN_RAW)
			json_raw(&j, c->name, cell);
		else
			json_text(&j, c->name, cell);
	}
	json_end(&j);
	if (j.error)
		command_nomem();
	fwrite(buf_text(&line), 1, line.len, r->np->out);
	buf_release(&line);
}

struct rows *rows_new(struct nanopod *np, const struct options *o, const struct column *columns, int *status)
{
	const char *fields = option_text(o, "fields");
	struct rows *r;

	if (fields && !fields[strspn(fields, ",")]) {
		*status = list_fields(np, columns);
		return NULL;
	}
	r = calloc(1, sizeof *r);
	if (!r)
		command_nomem();
	r->np = np;
	r->columns = columns;
	while (columns[r->all].name && r->all < COLUMNS_MAX)
		r->all++;
	r->format = option_given(o, "quiet") ? FORMAT_NAME : np->format;
	if (fields && r->format != FORMAT_NAME) {
		*status = choose_fields(r, fields);
		if (*status) {
			free(r);
			return NULL;
		}
	}
	for (size_t i = 0; i < r->all && !(fields && r->format != FORMAT_NAME); i++)
		if (rows_wanted(&columns[i], r->format))
			r->shown[r->count++] = i;
	if (r->format == FORMAT_CSV)
		put_csv(r, NULL);
	return r;
}

bool rows_check(struct nanopod *np, const struct options *o, const struct column *columns, int *status)
{
	const char *fields = option_text(o, "fields");
	struct rows r = { .np = np, .columns = columns };

	*status = STATUS_OK;
	if (!fields)
		return true;
	if (!fields[strspn(fields, ",")]) {
		*status = list_fields(np, columns);
		return false;
	}
	while (columns[r.all].name && r.all < COLUMNS_MAX)
		r.all++;
	*status = choose_fields(&r, fields);
	return *status == STATUS_OK;
}

static void rows_keep(struct rows *r, const char *const *cells, int color)
{
	struct row *row;

	/* The room doubles: it is full whenever the count is a power of two. */
	if ((r->row_count & (r->row_count - 1)) == 0) {
		struct row *grown = realloc(r->rows, (r->row_count ? r->row_count * 2 : 1) * sizeof *grown);

		if (!grown)
			command_nomem();
		r->rows = grown;
	}
	row = &r->rows[r->row_count++];
	row->color = color;
	row->cells = calloc(r->count + 1, sizeof *row->cells);
	if (!row->cells)
		command_nomem();
	for (size_t i = 0; i < r->count; i++) {
		const char *cell = cells[r->shown[i]];

		row->cells[i] = strdup(cell && *cell ? cell : "-");
		if (!row->cells[i])
			command_nomem();
	}
}

void rows_add_color(struct rows *r, const char *const *cells, int color)
{
	r->seen++;
	switch (r->format) {
	case FORMAT_JSON:
		fputs(r->seen == 1 ? "[\n" : ",\n", r->np->out);
		rows_put_json(r, cells);
		break;
	case FORMAT_JSONL:
		rows_put_json(r, cells);
		putc('\n', r->np->out);
		break;
	case FORMAT_CSV:
		put_csv(r, cells);
		break;
	case FORMAT_NAME:
		for (size_t i = 0; i < r->count; i++)
			print_safe_line(r->np->out, cells[r->shown[i]] ? cells[r->shown[i]] : "");
		putc('\n', r->np->out);
		break;
	case FORMAT_TABLE: case FORMAT_WIDE: case FORMAT_TEXT:
		rows_keep(r, cells, color);
		break;
	}
}

void rows_add(struct rows *r, const char *const *cells)
{
	rows_add_color(r, cells, COLOR_NONE);
}

static void put_padding(FILE *out, size_t n)
{
	while (n-- > 0)
		putc(' ', out);
}

static void rows_put_line(struct rows *r, char *const *cells, const size_t *widths)
{
	FILE *out = r->np->out;

	for (size_t i = 0; i < r->count; i++) {
		size_t padding = widths[i] - print_width(cells[i]);
		bool right = r->columns[r->shown[i]].flags & COLUMN_RIGHT;

		put_padding(out, right ? padding : 0);
		print_safe_line(out, cells[i]);
		if (i + 1 < r->count)
			put_padding(out, (right ? 0 : padding) + 2);
	}
}

bool rows_none(const struct rows *r)
{
	return !r->row_count && (r->format == FORMAT_TABLE || r->format == FORMAT_WIDE || r->format == FORMAT_TEXT);
}

static void put_table(struct rows *r)
{
	size_t widths[COLUMNS_MAX];
	char headings[COLUMNS_MAX][64], *heading_cells[COLUMNS_MAX];

	for (size_t i = 0; i < r->count; i++) {
		snprintf(headings[i], sizeof headings[i], "%s", r->columns[r->shown[i]].name);
		for (char *p = headings[i]; *p; p++)
			*p = *p == '_' ? ' ' : (char)toupper((unsigned char)*p);
		heading_cells[i] = headings[i];
		widths[i] = strlen(headings[i]);
		for (size_t k = 0; k < r->row_count; k++)
			if (print_width(r->rows[k].cells[i]) > widths[i])
				widths[i] = print_width(r->rows[k].cells[i]);
	}
	if (r->row_count == 0)
		return;
	fputs(print_color(r->np, r->np->out, COLOR_BOLD), r->np->out);
	rows_put_line(r, heading_cells, widths);
	fprintf(r->np->out, "%s\n", print_color(r->np, r->np->out, COLOR_NONE));
	for (size_t k = 0; k < r->row_count; k++) {
		const char *color = r->rows[k].color ? print_color(r->np, r->np->out, (enum color)r->rows[k].color)
						     : "";

		fputs(color, r->np->out);
		rows_put_line(r, r->rows[k].cells, widths);
		fprintf(r->np->out, "%s\n", *color ? print_color(r->np, r->np->out, COLOR_NONE) : "");
	}
}

static void rows_release(struct rows *r)
{
	for (size_t k = 0; k < r->row_count; k++) {
		for (size_t i = 0; i < r->count; i++)
			free(r->rows[k].cells[i]);
		free(r->rows[k].cells);
	}
	free(r->rows);
	free(r);
}

int rows_end(struct rows *r)
{
	if (r->format == FORMAT_JSON)
		fputs(r->seen ? "\n]\n" : "[]\n", r->np->out);
	else if (r->format == FORMAT_TABLE || r->format == FORMAT_WIDE || r->format == FORMAT_TEXT)
		put_table(r);
	rows_release(r);
	return STATUS_OK;
}

void rows_drop(struct rows *r)
{
	if (r && r->format == FORMAT_JSON && r->seen)
		fputs("\n]\n", r->np->out);
	if (r)
		rows_release(r);
}
