/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/toppage.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/frame/cell.h"
#include "cli/frame/fit.h"
#include "cli/frame/rows.h"
#include "cli/screen/spark.h"
#include "cli/frame/wrap.h"
#include "market/money.h"

enum { CELL_BYTES = 512, SOON_SECONDS = 900 };

/* ---- Columns --------------------------------------------------------------------------- */

/* In the order of the screen. Where there is no room, minor ones go first, then those on the right. */
enum top_column {
	TOP_NAME,
	TOP_GPU,
	TOP_USED,
	TOP_STATE,
	TOP_NODES_ON,
	TOP_CURVE,
	TOP_USE,
	TOP_AGE,
	TOP_LEFT,
	TOP_COST,
	TOP_GPU_MEMORY,
	TOP_WATTS,
	TOP_TEMPERATURE,
	TOP_CPU,
	TOP_MEMORY,
	TOP_DISK,
	TOP_IN,
	TOP_OUT,
	TOP_TYPE,
	TOP_CLOCK,
	TOP_ERRORS,
	TOP_XID,
	TOP_COLUMNS
};

#define OF(what) (1u << TOP_OF_##what)

static const struct {
	const char *heading;
	unsigned flags; /* enum column_flags */
	unsigned of;    /* on which screens */
} top_columns[TOP_COLUMNS] = {
	[TOP_NAME] = { "NODE", COLUMN_ID, OF(NODES) | OF(GPUS) | OF(MACHINES) },
	[TOP_GPU] = { "GPU", COLUMN_RIGHT | COLUMN_STATE, OF(GPUS) },
	[TOP_USED] = { "USED BY", COLUMN_MINOR, OF(GPUS) },
	[TOP_STATE] = { "STATE", COLUMN_STATE, OF(NODES) | OF(MACHINES) },
	[TOP_NODES_ON] = { "NODES", COLUMN_RIGHT, OF(MACHINES) },
	[TOP_CURVE] = { "15 MIN", 0, OF(NODES) | OF(GPUS) | OF(MACHINES) },
	[TOP_USE] = { "USE", COLUMN_RIGHT, OF(NODES) | OF(GPUS) | OF(MACHINES) },
	[TOP_AGE] = { "AGE", COLUMN_RIGHT, OF(NODES) | OF(GPUS) | OF(MACHINES) },
	[TOP_LEFT] = { "LEFT", COLUMN_RIGHT, OF(NODES) },
	[TOP_COST] = { "$/HOUR", COLUMN_RIGHT, OF(NODES) },
	[TOP_GPU_MEMORY] = { "GPU MEM", COLUMN_RIGHT, OF(NODES) | OF(GPUS) | OF(MACHINES) },
	[TOP_WATTS] = { "WATTS", COLUMN_RIGHT, OF(NODES) | OF(GPUS) | OF(MACHINES) },
	[TOP_TEMPERATURE] = { "TEMP", COLUMN_RIGHT, OF(NODES) | OF(GPUS) | OF(MACHINES) },
	[TOP_CPU] = { "CPU", COLUMN_RIGHT | COLUMN_MINOR, OF(NODES) | OF(MACHINES) },
	[TOP_MEMORY] = { "MEMORY", COLUMN_RIGHT | COLUMN_MINOR, OF(NODES) | OF(MACHINES) },
	[TOP_DISK] = { "DISK", COLUMN_RIGHT | COLUMN_MINOR, OF(MACHINES) },
	[TOP_IN] = { "IN/S", COLUMN_RIGHT | COLUMN_MINOR, OF(NODES) | OF(MACHINES) },
	[TOP_OUT] = { "OUT/S", COLUMN_RIGHT | COLUMN_MINOR, OF(NODES) | OF(MACHINES) },
	[TOP_TYPE] = { "TYPE", COLUMN_MINOR, OF(NODES) },
	[TOP_CLOCK] = { "MHZ", COLUMN_RIGHT | COLUMN_MINOR, OF(GPUS) },
	[TOP_XID] = { "XID", COLUMN_RIGHT | COLUMN_MINOR, OF(GPUS) },
	[TOP_ERRORS] = { "ERRORS", COLUMN_RIGHT | COLUMN_MINOR, OF(GPUS) | OF(NODES) },
};

/* A text of the market for one cell: without what would move the cursor or stand upon other lines. */
static const char *top_plain(const char *text, char room[CELL_BYTES])
{
	size_t len = 0, marks = 0;

	for (size_t left = text ? strlen(text) : 0, n; left && len + 8 < CELL_BYTES; text += n, left -= n) {
		n = utf8_printable(text, left);
		marks = n && !utf8_width(text, n) ? marks + 1 : 0;
		if (!n)
			room[len++] = '?';
		for (size_t i = 0; i < n && marks < 3; i++)
			room[len++] = text[i];
		n = n ? n : 1;
	}
	room[len] = '\0';
	return len ? room : "-";
}

static const char *top_watts(const struct toprow *r, enum top_of of, char room[TOP_TEXT])
{
	char a[TOP_TEXT], b[TOP_TEXT];
	const struct model_measures *m = &r->of_gpus;

	if (of != TOP_OF_GPUS || isnan(m->power) || isnan(m->power_limit))
		return top_number(m->power, room);
	snprintf(room, TOP_TEXT, "%.20s/%.20s", top_number(m->power, a), top_number(m->power_limit, b));
	return room;
}

/* With '!' where heat or power slows the GPU down. */
static const char *top_temperature(const struct toprow *r, char room[TOP_TEXT])
{
	if (isnan(r->of_gpus.temperature))
		return "-";
	snprintf(room, TOP_TEXT, "%.0fC%s", r->of_gpus.temperature, r->of_gpus.throttled > 0 ? "!" : "");
	return room;
}

static const char *top_cell(const struct toppage *p, const struct toprow *r, enum top_column c, char room[CELL_BYTES])
{
	const struct model_measures *m = &r->of, *g = &r->of_gpus;
	bool machine = p->wish.machines;

	switch (c) {
	case TOP_NAME:
		return top_plain(r->name, room);
	case TOP_GPU:
		return cell_int(r->gpu, room);
	case TOP_USED:
		return *r->used_by ? top_plain(r->used_by, room) : NULL;
	case TOP_XID:
		return g->xid > 0 ? top_number(g->xid, room) : NULL;
	case TOP_STATE:
		return top_plain(r->state, room);
	case TOP_NODES_ON:
		return cell_int(r->nodes, room);
	case TOP_USE:
		return top_ratio(g->use, room);
	case TOP_AGE:
		return top_age(r->age, room);
	case TOP_LEFT:
		return top_left(r, p->wish.now, room);
	case TOP_COST:
		return r->cost < 0 ? NULL : money_cents(r->cost, room) + 1;
	case TOP_GPU_MEMORY:
		return top_part(g->memory, g->memory_total, room);
	case TOP_WATTS:
		return top_watts(r, p->wish.of, room);
	case TOP_TEMPERATURE:
		return top_temperature(r, room);
	case TOP_CPU:
		return machine ? top_ratio(m->cpu, room) : top_cores(m->cpu, room);
	case TOP_MEMORY:
		return top_part(m->memory, m->memory_total, room);
	case TOP_DISK:
		return top_part(m->disk, m->disk_total, room);
	case TOP_IN:
		return top_bytes(m->network_in, room);
	case TOP_OUT:
		return top_bytes(m->network_out, room);
	case TOP_TYPE:
		return top_plain(r->type, room);
	case TOP_CLOCK:
		return top_number(g->clock / 1e6, room);
	case TOP_ERRORS:
		return g->memory_errors > 0 ? top_number(g->memory_errors, room) : NULL;
	case TOP_CURVE:
	case TOP_COLUMNS:
		break;
	}
	return NULL;
}

/* ---- The table ------------------------------------------------------------------------- */

struct toptable {
	const struct toppage *page;
	const struct toprows *rows;
	enum top_column shown[TOP_COLUMNS];
	struct fit fit[TOP_COLUMNS];
	size_t count, curve; /* curve: cells of it */
};

static const char *top_shown(const struct toptable *t, const struct toprow *r, enum top_column c, char room[CELL_BYTES])
{
	const char *cell = c == TOP_CURVE ? spark_text(r->curve, r->points, r->most, t->curve, room)
					  : top_cell(t->page, r, c, room);

	return cell && *cell ? cell : "-";
}

static const char *top_heading(const struct toptable *t, enum top_column c)
{
	return c == TOP_NAME && t->page->wish.machines ? "HOST" : top_columns[c].heading;
}

/*
 * All rows count, so that the columns stay in their places while one scrolls. What no row knows is left out, and so are
 * ages where all values are new.
 */
static void toptable_fit(struct toptable *t, size_t columns)
{
	char room[CELL_BYTES];

	t->curve = columns < 60 ? 8 : columns < 100 ? 10 : columns < 150 ? 15 : 30;
	for (enum top_column c = 0; c < TOP_COLUMNS; c++) {
		struct fit *f = &t->fit[t->count];
		bool any = top_columns[c].flags & (COLUMN_ID | COLUMN_STATE) || c == TOP_CURVE;

		if (!(top_columns[c].of & 1u << t->page->wish.of))
			continue;
		*f = (struct fit){ .flags = top_columns[c].flags, .heading = strlen(top_heading(t, c)) };
		f->want = c == TOP_CURVE && t->curve > f->heading ? t->curve : f->heading;
		for (size_t i = 0; i < t->rows->count && c != TOP_CURVE; i++) {
			const char *cell = top_shown(t, &t->rows->list[i], c, room);
			size_t width = print_width(cell);

			any |= c == TOP_AGE ? t->rows->list[i].age >= TOP_STALE_SECONDS : strcmp(cell, "-") != 0;
			f->want = width > f->want ? width : f->want;
		}
		if (any)
			t->shown[t->count++] = c;
	}
	fit_columns(t->fit, t->count, columns);
}

static enum color top_color(const struct toptable *t, const struct toprow *r, enum top_column c)
{
	if (t->page->away || r->age >= TOP_STALE_SECONDS)
		return c == TOP_AGE ? COLOR_YELLOW : COLOR_DIM;
	if (c == TOP_STATE)
		return rows_state_color(r->state ? r->state : "");
	if (c == TOP_LEFT && r->end && r->end - t->page->wish.now < SOON_SECONDS)
		return COLOR_YELLOW;
	if (c == TOP_TEMPERATURE && r->of_gpus.throttled > 0)
		return COLOR_YELLOW;
	if (c == TOP_CURVE)
		return COLOR_CYAN;
	return c == TOP_ERRORS && r->of_gpus.memory_errors > 0 ? COLOR_RED : COLOR_NONE;
}

/* One cell; too long a text ends in dots. */
static void toptable_put(struct page *out, const struct fit *f, enum color color, bool last, const char *cell)
{
	size_t width = print_width(cell), dots = print_width(wrap_dots()), room = f->width, len;
	char *text = NULL;

	if (width > f->width) {
		room -= dots < room ? dots : 0;
		len = wrap_cut(cell, &room);
		if (asprintf(&text, "%.*s%s", (int)len, cell, wrap_dots()) < 0)
			command_nomem();
		cell = text;
		width = f->width;
	}
	if (f->flags & COLUMN_RIGHT && width < f->width)
		page_piece(out, COLOR_NONE, f->width - width, true, "");
	page_piece(out, color, f->flags & COLUMN_RIGHT ? width : f->width, !(f->flags & COLUMN_RIGHT) && !last, cell);
	free(text);
}

/* row NULL: the headings. */
static void toptable_line(const struct toptable *t, const struct toprow *row, struct page *out)
{
	bool begun = false;
	size_t last = t->count;
	char room[CELL_BYTES];

	while (last > 0 && t->fit[last - 1].dropped)
		last--;
	for (size_t i = 0; i < last; i++) {
		enum top_column c = t->shown[i];

		if (t->fit[i].dropped)
			continue;
		if (begun)
			page_piece(out, COLOR_NONE, FIT_GAP, true, "");
		begun = true;
		toptable_put(out, &t->fit[i], row ? top_color(t, row, c) : COLOR_BOLD, i + 1 == last,
			row ? top_shown(t, row, c, room) : top_heading(t, c));
	}
	page_end(out);
}

/* ---- Above the table ------------------------------------------------------------------- */

/* Texts that follow each other, on as many lines as they take. */
struct topline {
	struct page *out;
	size_t at;
};

static void topline_add(struct topline *l, enum color color, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void topline_add(struct topline *l, enum color color, const char *fmt, ...)
{
	char *text;
	size_t width;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	width = print_width(text);
	if (l->at && l->at + 2 + width > l->out->columns) {
		page_end(l->out);
		l->at = 0;
	}
	if (l->at)
		l->at += page_piece(l->out, COLOR_NONE, 2, true, "");
	l->at += page_piece(l->out, color, l->out->columns - l->at, false, text);
	free(text);
}

static void topline_end(struct topline *l)
{
	page_end(l->out);
	l->at = 0;
}

static void toppage_count(struct topline *l, size_t count, const char *word, enum color color)
{
	if (count)
		topline_add(l, color, "%zu %s", count, word);
}

/* How long the money that is left pays for what runs now. */
static const char *toppage_lasts(const struct model_balance *b, char room[TOP_TEXT])
{
	int64_t hours = b->available / b->burn;

	if (hours < 48)
		snprintf(room, TOP_TEXT, "%s%" PRId64 "h", hours ? "" : "less than ", hours ? hours : 1);
	else
		snprintf(room, TOP_TEXT, "%" PRId64 "d", hours / 24);
	return room;
}

static void toppage_totals(const struct toppage *p, const struct toptotals *t, struct page *out)
{
	const struct model_balance *b = &p->look->balance;
	struct topline l = { .out = out };
	char room[MONEY_TEXT], span[TOP_TEXT];

	if (p->wish.machines) {
		topline_add(&l, COLOR_BOLD, "%zu host%s", t->machines, t->machines == 1 ? "" : "s");
		toppage_count(&l, t->down, "silent", COLOR_RED);
		topline_add(&l, COLOR_BOLD, "%zu node%s", t->running, t->running == 1 ? "" : "s");
	} else {
		topline_add(&l, COLOR_BOLD, "%zu running", t->running);
		toppage_count(&l, t->pending, "pending", COLOR_YELLOW);
		toppage_count(&l, t->down, "down", COLOR_RED);
		toppage_count(&l, t->failed, "failed", COLOR_RED);
	}
	if (t->gpus && t->unknown)
		topline_add(&l, COLOR_BOLD, "%zu/%zu GPUs busy, %zu unknown", t->busy, t->gpus, t->unknown);
	else if (t->gpus)
		topline_add(&l, COLOR_BOLD, "%zu/%zu GPUs busy", t->busy, t->gpus);
	if (!p->wish.machines && !t->overflow)
		topline_add(&l, COLOR_BOLD, "%s/h", money_cents(t->cost, room));
	if (b->available != MODEL_NONE && b->burn > 0 && b->available > 0)
		topline_add(&l, COLOR_NONE, "balance %s, lasts %s", money_cents(b->available, room),
			toppage_lasts(b, span));
	else if (b->available != MODEL_NONE)
		topline_add(&l, COLOR_NONE, "balance %s", money_cents(b->available, room));
	topline_end(&l);
}

static const char *toppage_order(const struct topwish *w)
{
	static const char *const words[] = { "name", "use", "memory", "watts", "cost", "end" };

	return words[w->sort];
}

static void toppage_state(const struct toppage *p, struct page *out)
{
	struct topline l = { .out = out };
	char age[TOP_TEXT], plain[CELL_BYTES];

	if (p->away)
		topline_add(&l, COLOR_RED, "no answer for %s: %s", top_age(p->away_seconds, age),
			top_plain(p->away, plain));
	if (p->away)
		topline_add(&l, COLOR_NONE, "values of %s", p->taken);
	else
		topline_add(&l, COLOR_DIM, "%s", p->taken);
	if (p->paused)
		topline_add(&l, COLOR_YELLOW, "paused");
	else if (!p->away)
		topline_add(&l, COLOR_DIM, "every %s", p->every);
	topline_add(&l, COLOR_DIM, "by %s%s", toppage_order(&p->wish), p->wish.reverse ? ", reversed" : "");
	if (p->typing || (p->wish.filter && *p->wish.filter))
		topline_add(&l, COLOR_YELLOW, "filter: %s%s",
			p->wish.filter && *p->wish.filter ? top_plain(p->wish.filter, plain) : "",
			p->typing ? "_" : "");
	if (p->look->unsampled)
		topline_add(&l, COLOR_YELLOW, "this market does not tell what nodes measure");
	topline_end(&l);
}

/* ---- Help and keys --------------------------------------------------------------------- */

static void toppage_help(const struct toppage *p, struct page *out)
{
	static const char *const lines[] = {
		"q         quit",
		"h ?       this help, and back",
		"g         a row for each GPU, or each node",
		"/         show rows with a text in name, reservation, type or state;",
		"          Enter keeps it, Escape removes it",
		"n u m w   sort by name, use, GPU memory, watts",
		"c e       sort by cost, by the end of the time",
		"r         reverse the order",
		"p         pause, and go on",
		"arrows    scroll, also Page Up and Down, Home, End",
		"",
		"15 MIN    use of the GPUs; without GPUs, of processors",
		"GPU MEM   used of what there is",
		"TEMP      the hottest GPU; '!': heat or power slows it down",
		"LEFT      time left; '!': it ends early",
		"AGE       age of the values, once it is a minute; such rows are dim",
		"-         not known",
	};

	(void)p;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		page_put(out, COLOR_NONE, "%s", lines[i]);
}

static void toppage_keys(const struct toppage *p, struct page *out)
{
	static const struct page_key all[] = {
		{ -1, "q quit", "" },
		{ -1, "h help", "" },
		{ -1, "/ filter", "" },
		{ -2, "g GPUs", "" },
		{ -1, "p pause", "" },
		{ -1, "r reverse", "" },
		{ TOP_BY_NAME, "n name", "" },
		{ TOP_BY_USE, "u use", "" },
		{ TOP_BY_MEMORY, "m memory", "" },
		{ TOP_BY_WATTS, "w watts", "" },
		{ TOP_BY_COST, "c cost", "" },
		{ TOP_BY_END, "e end", "" },
	};
	static const struct page_key few[] = {
		{ -1, "q quit", "q quit" },
		{ -1, "h help", "h help" },
		{ -1, "/ filter", "/" },
		{ -2, "g GPUs", "g" },
		{ -1, "p pause", "p" },
		{ -1, "r reverse", "r" },
		{ -1, "sort: n u m w c e", "n u m w c e" },
	};
	static const struct page_key typing[] = {
		{ -1, "Enter keep", "Enter keep" },
		{ -1, "Escape remove", "Escape remove" },
	};

	if (p->typing)
		page_keys(out, typing, sizeof typing / sizeof *typing, -1);
	else if (out->columns >= 104)
		page_keys(out, all, sizeof all / sizeof *all, p->wish.sort);
	else
		page_keys(out, few, sizeof few / sizeof *few, -1);
}

/* ---- The page -------------------------------------------------------------------------- */

static size_t toppage_rows(const struct toppage *p, const struct toprows *rows, struct page *out)
{
	struct toptable t = { .page = p, .rows = rows };
	size_t room, end, top;

	if (!rows->count) {
		page_put(out, COLOR_DIM, "%s",
			p->wish.filter && *p->wish.filter         ? "no row has that text"
				: p->wish.of == TOP_OF_MACHINES   ? "no hosts"
				: p->wish.names && *p->wish.names ? "no such running or pending node"
				: p->wish.of == TOP_OF_GPUS       ? "no GPUs"
								  : "no running or pending nodes");
		return 1;
	}
	toptable_fit(&t, out->columns);
	toptable_line(&t, NULL, out);
	room = out->room > out->all ? out->room - out->all : 1;
	/* A line says that there are more. */
	if (rows->count > room && room > 1)
		room--;
	top = p->top + room <= rows->count ? p->top : rows->count > room ? rows->count - room : 0;
	end = top + room < rows->count ? top + room : rows->count;
	for (size_t i = top; i < end; i++)
		toptable_line(&t, &rows->list[i], out);
	if (rows->count > room)
		page_put(out, COLOR_DIM, "rows %zu-%zu of %zu", top + 1, end, rows->count);
	return room;
}

size_t toppage_make(const struct toppage *p, size_t columns, size_t height, struct page *out, size_t *count)
{
	struct toprows rows;
	size_t room = 1;

	toprows_make(p->look, &p->wish, &rows);
	*count = rows.count;
	page_begin(out, columns, height > 1 ? height - 1 : 1);
	toppage_totals(p, &rows.totals, out);
	toppage_state(p, out);
	if (p->help)
		toppage_help(p, out);
	else
		room = toppage_rows(p, &rows, out);
	while (out->all < out->room)
		page_end(out);
	out->all = out->room;
	out->room = height;
	toppage_keys(p, out);
	toprows_release(&rows);
	return room;
}
