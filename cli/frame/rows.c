/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cli/frame/fit.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/frame/reshape.h"
#include "cli/frame/value.h"
#include "cli/frame/wrap.h"

enum { COLUMNS_MAX = 64, HEADING_MAX = 64, ROW_BYTES_MAX = 64 << 20, UNDER_INDENT = 2 };

struct row {
	char **cells;
};

struct rows {
	struct nanopod *np;
	const struct column *columns;
	size_t all;                     /* how many columns there are */
	size_t shown[COLUMNS_MAX], count; /* the columns to show, in this order */
	enum format format;
	bool fits;        /* a table that keeps within the terminal */
	bool whole;       /* each row is one line, however wide */
	bool cut;         /* a cell lost its end */
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

/* A field of --template that the rows do not have is told before anything is done. */
static int check_template(struct rows *r)
{
	const char *at = r->np->template, *field;
	struct buf names;
	size_t part;
	int rc = STATUS_OK;

	buf_init(&names, ROW_BYTES_MAX);
	for (size_t i = 0; i < r->all; i++)
		if (buf_addf(&names, "%s%s", i ? ", " : "fields: ", r->columns[i].name))
			command_nomem();
	while (at && !rc && (field = reshape_field(&at, &part))) {
		bool known = false;

		for (size_t i = 0; i < r->all; i++)
			known |= strlen(r->columns[i].name) == part && memcmp(r->columns[i].name, field, part) == 0;
		if (!known)
			rc = print_fail_field(r->np, STATUS_USAGE, "--template", buf_text(&names),
				"cannot show '%.*s': no such field", (int)part, field);
	}
	buf_release(&names);
	return rc;
}

static bool rows_wanted(const struct column *c, enum format format)
{
	switch (format) {
	case FORMAT_NAME:
		return c->flags & COLUMN_ID;
	case FORMAT_JSON:
	case FORMAT_JSONL:
	case FORMAT_YAML:
		return true;
	case FORMAT_CSV: case FORMAT_WIDE:
		return !(c->flags & COLUMN_HIDDEN);
	case FORMAT_TABLE: case FORMAT_TEXT:
		break;
	}
	return !(c->flags & (COLUMN_HIDDEN | COLUMN_WIDE));
}

static void put_csv(struct rows *r, const char *const *cells)
{
	for (size_t i = 0; i < r->count; i++) {
		const char *cell = cells ? cells[r->shown[i]] : r->columns[r->shown[i]].name;

		if (i)
			putc(',', r->np->out);
		print_csv_cell(r->np->out, cell ? cell : "");
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
	*status = check_template(r);
	if (*status) {
		free(r);
		return NULL;
	}
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
	r->whole = r->format == FORMAT_WIDE || fields;
	r->fits = np->tty_out && !r->whole;
	if (r->format == FORMAT_CSV)
		put_csv(r, NULL);
	return r;
}

bool rows_check(struct nanopod *np, const struct options *o, const struct column *columns, int *status)
{
	const char *fields = option_text(o, "fields");
	struct rows r = { .np = np, .columns = columns };

	if (fields && !fields[strspn(fields, ",")]) {
		*status = list_fields(np, columns);
		return false;
	}
	while (columns[r.all].name && r.all < COLUMNS_MAX)
		r.all++;
	*status = fields ? choose_fields(&r, fields) : STATUS_OK;
	*status = *status ? *status : check_template(&r);
	return *status == STATUS_OK;
}

static void rows_keep(struct rows *r, const char *const *cells)
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

void rows_add(struct rows *r, const char *const *cells)
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
	case FORMAT_TABLE:
	case FORMAT_WIDE:
	case FORMAT_TEXT:
	case FORMAT_YAML:
		rows_keep(r, cells);
		break;
	}
}

static void put_padding(FILE *out, size_t n)
{
	while (n-- > 0)
		putc(' ', out);
}

enum color rows_state_color(const char *state)
{
	static const struct {
		enum color color;
		const char *words; /* each between blanks */
	} known[] = {
		{ COLOR_GREEN, " running ok ready up filled verified " },
		{ COLOR_YELLOW, " pending starting stopping warn warning standing resting changed skipped draining " },
		{ COLOR_RED, " critical failed fail failing unreachable rejected down broken suspended expired " },
		{ COLOR_DIM, " ended cancelled empty retired stopped " },
	};
	size_t len = strlen(state);

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		for (const char *at = known[i].words; len && (at = strstr(at, state)); at++)
			if (at[-1] == ' ' && at[len] == ' ')
				return known[i].color;
	return COLOR_NONE;
}

/* Prints the part of the cell that its next line takes; returns the rest. */
static const char *put_cell(struct rows *r, const char *cell, const struct fit *f)
{
	enum color state = f->flags & COLUMN_STATE ? rows_state_color(cell) : COLOR_NONE;
	const char *color = state == COLOR_NONE ? "" : print_color(r->np, r->np->out, state);
	size_t skip = strlen(cell), len = skip, cells = f->width;
	bool whole = !r->fits || print_width(cell) <= cells;
	char *text;

	if (!whole && f->flags & COLUMN_TEXT)
		len = wrap_line(cell, f->width, &skip);
	text = strndup(cell, len);
	if (!text)
		command_nomem();
	whole = !r->fits || print_width(text) <= cells;
	if (!whole) {
		cells -= print_width(wrap_dots()) < cells ? print_width(wrap_dots()) : 0;
		text[wrap_cut(text, &cells)] = '\0';
		r->cut = true;
	}
	fprintf(r->np->out, "%s", color);
	print_safe_line(r->np->out, text);
	fprintf(r->np->out, "%s%s", whole ? "" : wrap_dots(), *color ? print_color(r->np, r->np->out, COLOR_NONE) : "");
	free(text);
	return cell + skip;
}

/* What put_cell() prints of it. */
static size_t cell_width(struct rows *r, const char *cell, const struct fit *f)
{
	size_t width = print_width(cell), skip;
	char *text;

	if (!r->fits || width <= f->width || !(f->flags & COLUMN_TEXT))
		return r->fits && width > f->width ? f->width : width;
	text = strndup(cell, wrap_line(cell, f->width, &skip));
	if (!text)
		command_nomem();
	width = print_width(text);
	free(text);
	return width > f->width ? f->width : width;
}

/* One row, in as many lines as its sentences take. */
static void rows_put_line(struct rows *r, char *const *cells, const struct fit *fit, const char *color)
{
	const char *rest[COLUMNS_MAX];
	bool more = true;

	memcpy(rest, cells, r->count * sizeof *rest);
	while (more) {
		size_t gap = 0; /* blanks are printed before a cell only, so that no line ends in one */

		more = false;
		fputs(color, r->np->out);
		for (size_t i = 0; i < r->count; i++) {
			size_t padding;

			if (fit[i].dropped)
				continue;
			padding = fit[i].width - cell_width(r, rest[i], &fit[i]);
			if (*rest[i]) {
				put_padding(r->np->out, gap + (fit[i].flags & COLUMN_RIGHT ? padding : 0));
				gap = fit[i].flags & COLUMN_RIGHT ? 0 : padding;
				rest[i] = put_cell(r, rest[i], &fit[i]);
			} else {
				gap += padding;
			}
			gap += FIT_GAP;
			more |= *rest[i] != '\0';
		}
		fprintf(r->np->out, "%s\n", *color ? print_color(r->np, r->np->out, COLOR_NONE) : "");
	}
}

/* The cells that have no room beside the others, each with its heading. Commands: their words stay whole. */
static void rows_put_under(struct rows *r, char *const *cells, const struct fit *fit)
{
	size_t columns = print_columns(r->np->out), skip;

	for (size_t i = 0; i < r->count; i++) {
		const char *name = r->columns[r->shown[i]].name, *rest = cells[i];
		size_t indent = UNDER_INDENT + strlen(name) + 2, room = columns > indent + 1 ? columns - indent : 1;

		if (!fit[i].dropped || !(fit[i].flags & COLUMN_UNDER) || strcmp(rest, "-") == 0)
			continue;
		for (bool first = true; *rest; rest += skip, first = false) {
			size_t len = wrap_line(rest, room, &skip);
			char *text = strndup(rest, len);

			if (!text)
				command_nomem();
			put_padding(r->np->out, first ? UNDER_INDENT : indent);
			fprintf(r->np->out, first ? "%s: " : "", name);
			print_safe_line(r->np->out, text);
			putc('\n', r->np->out);
			free(text);
		}
	}
}

bool rows_none(const struct rows *r)
{
	return !r->row_count && (r->format == FORMAT_TABLE || r->format == FORMAT_WIDE || r->format == FORMAT_TEXT);
}

static void put_dropped(struct rows *r, const struct fit *fit, char headings[][HEADING_MAX])
{
	struct buf names;

	buf_init(&names, ROW_BYTES_MAX);
	for (size_t i = 0; i < r->count; i++)
		if (fit[i].dropped && !(fit[i].flags & COLUMN_UNDER) &&
			buf_addf(&names, "%s%s", names.len ? ", " : "", headings[i]))
			command_nomem();
	if (names.len || r->cut) {
		fflush(r->np->out);
		print_note(r->np, "no room for %s%s%s; '-o wide' shows all", buf_text(&names),
			names.len && r->cut ? ", and " : "", r->cut ? "the ends of long cells" : "");
	}
	buf_release(&names);
}

static void measure_cell(const char *cell, struct fit *f)
{
	size_t width = print_width(cell);

	f->want = width > f->want ? width : f->want;
	for (size_t len; f->flags & COLUMN_TEXT && *cell; cell += len + strspn(cell + len, " ")) {
		len = strcspn(cell, " ");
		f->word = utf8_width(cell, len) > f->word ? utf8_width(cell, len) : f->word;
	}
}

static void put_table(struct rows *r)
{
	struct fit fit[COLUMNS_MAX];
	char headings[COLUMNS_MAX][HEADING_MAX], *heading_cells[COLUMNS_MAX];

	if (r->row_count == 0)
		return;
	for (size_t i = 0; i < r->count; i++) {
		snprintf(headings[i], sizeof headings[i], "%s", r->columns[r->shown[i]].name);
		for (char *p = headings[i]; *p; p++)
			*p = *p == '_' ? ' ' : (char)toupper((unsigned char)*p);
		heading_cells[i] = headings[i];
		fit[i] = (struct fit){ .flags = r->columns[r->shown[i]].flags, .heading = strlen(headings[i]) };
		fit[i].want = fit[i].heading;
		for (size_t k = 0; k < r->row_count; k++)
			measure_cell(r->rows[k].cells[i], &fit[i]);
	}
	if (r->fits)
		fit_columns(fit, r->count, print_columns(r->np->out));
	else /* a file has any width, but who reads sentences there is a person, too */
		fit_under(fit, r->count, r->whole ? SIZE_MAX : print_columns(r->np->out));
	rows_put_line(r, heading_cells, fit, print_color(r->np, r->np->out, COLOR_BOLD));
	for (size_t k = 0; k < r->row_count; k++) {
		rows_put_line(r, r->rows[k].cells, fit, "");
		rows_put_under(r, r->rows[k].cells, fit);
	}
	put_dropped(r, fit, headings);
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
