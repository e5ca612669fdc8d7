/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/watchpage.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/wrap.h"
#include "cli/remote/diff.h"
#include "cli/remote/select.h"

/* What a pane should have, and what stands between two. */
enum { PANE_CELLS = 24, PANE_GAP = 3 };

/* The line of the text, without its newline; moves *text past it. */
static char *page_cut_line(const char **text)
{
	size_t n = strcspn(*text, "\n");
	char *line = strndup(*text, n);

	if (!line)
		command_nomem();
	*text += n + ((*text)[n] == '\n');
	return line;
}

/* ---- What changed ---------------------------------------------------------------------- */

static const struct watch_block *page_now(const struct watch_page *p, size_t host)
{
	return &p->last->blocks[p->last->of[host]];
}

/* What the host answered in the round before; NULL: there was none. */
static const struct watch_block *page_then(const struct watch_page *p, size_t host)
{
	return p->before->of ? &p->before->blocks[p->before->of[host]] : NULL;
}

/* It ends in another way than the last time. */
static bool page_turned(const struct watch_block *b, const struct watch_block *then)
{
	return then && (!then->end != !b->end || (b->end && strcmp(b->end, then->end) != 0));
}

static bool page_changed(const struct watch_block *b, const struct watch_block *then)
{
	return page_turned(b, then) || (then && strcmp(b->text, then->text) != 0);
}

/* The next line of both; a line that is new or different is changed. NULL: the text has ended. */
static char *page_next(const char **text, const char **old, bool *changed)
{
	char *line, *was;

	if (!**text)
		return NULL;
	line = page_cut_line(text);
	was = *old && **old ? page_cut_line(old) : NULL;
	*changed = *old && (!was || strcmp(line, was) != 0);
	free(was);
	return line;
}

static void page_text(struct page *l, const struct watch_block *b, const struct watch_block *then)
{
	const char *text = b->text, *old = then ? then->text : NULL;
	bool changed;
	char *line;

	while ((line = page_next(&text, &old, &changed))) {
		page_put(l, changed ? COLOR_YELLOW : COLOR_NONE, "%s  %s", changed ? "* " : "  ", line);
		free(line);
	}
}

/* ---- The views ------------------------------------------------------------------------- */

/* Each line of the block; what the first of its hosts did not say in the same place last time has a star. */
static void page_block(struct page *l, const struct watch_page *p, const struct watch_block *b)
{
	const struct watch_block *then = page_then(p, b->first);
	size_t n = strcspn(b->text, "\n");
	bool one_line = !b->text[n] || !b->text[n + 1], changed = page_changed(b, then);
	const char *end = b->end ? b->end : "", *between = !n ? "" : b->end ? ": " : " ";
	char *line;

	if (asprintf(&line, "%s%s:%s%s%s%.*s", changed ? "* " : "  ", b->names, b->end ? " " : "", end, between, (int)n,
		    b->text) < 0)
		command_nomem();
	if (one_line && (!*b->text || print_width(line) <= l->columns)) {
		page_put(l, b->end ? COLOR_RED : changed ? COLOR_YELLOW : COLOR_NONE, "%s", line);
	} else {
		page_put(l, b->end ? COLOR_RED : COLOR_BOLD, "%s%s:%s%s", page_turned(b, then) ? "* " : "  ", b->names,
			b->end ? " " : "", end);
		page_text(l, b, then);
	}
	free(line);
}

static size_t page_groups(struct page *l, const struct watch_page *p)
{
	for (size_t i = 0; i < p->last->count; i++)
		page_block(l, p, &p->last->blocks[i]);
	return 0;
}

static bool page_in_state(const struct watch_block *b, enum outcome_state state, bool failed)
{
	return b->state == state && !b->end == !failed;
}

/* "LABEL  count  names" of the hosts whose block is in that state, if there are any. */
static void page_state(struct page *l, const struct watch_page *p, const char *label, enum outcome_state state,
	bool failed)
{
	const struct watch_round *r = p->last;
	const char **names = calloc(r->host_count + 1, sizeof *names);
	size_t count = 0;
	char *folded;

	if (!names)
		command_nomem();
	for (size_t i = 0; i < r->host_count; i++)
		if (page_in_state(page_now(p, i), state, failed))
			names[count++] = r->hosts[i];
	folded = select_fold_names(names, count, 0);
	if (count)
		page_put(l, failed ? COLOR_RED : COLOR_NONE, "  %-12s %5zu  %s", label, count, folded);
	free(folded);
	free(names);
}

/* Each way to fail, with all hosts that failed so. */
static void page_causes(struct page *l, const struct watch_page *p)
{
	const struct watch_round *r = p->last;
	const char **names = calloc(r->host_count + 1, sizeof *names);

	if (!names)
		command_nomem();
	for (size_t b = 0; b < r->count; b++) {
		const char *end = r->blocks[b].end;
		size_t count = 0, before = 0;
		char *folded;

		while (end && before < b && (!r->blocks[before].end || strcmp(r->blocks[before].end, end) != 0))
			before++;
		if (!end || before < b)
			continue;
		for (size_t i = 0; i < r->host_count; i++)
			if (page_now(p, i)->end && strcmp(page_now(p, i)->end, end) == 0)
				names[count++] = r->hosts[i];
		folded = select_fold_names(names, count, 0);
		page_put(l, COLOR_RED, "  %s (%zu): %s", end, count, folded);
		free(folded);
	}
	free(names);
}

static size_t page_summary(struct page *l, const struct watch_page *p)
{
	const struct watch_block *now = NULL, *then = NULL;
	size_t changed = 0;
	bool one = false;

	page_state(l, p, "ok", OUTCOME_EXIT, false);
	page_state(l, p, "failed", OUTCOME_EXIT, true);
	page_state(l, p, "by a signal", OUTCOME_SIGNAL, true);
	page_state(l, p, "no answer", OUTCOME_ERROR, true);
	/* Most hosts stand beside others that answer the same: compare long texts once. */
	for (size_t i = 0; p->before->of && i < p->last->host_count; i++) {
		if (now != page_now(p, i) || then != page_then(p, i)) {
			now = page_now(p, i);
			then = page_then(p, i);
			one = page_changed(now, then);
		}
		changed += one;
	}
	page_put(l, COLOR_NONE, "  %-12s %5zu", "answers", p->last->count);
	if (p->before->of)
		page_put(l, changed ? COLOR_YELLOW : COLOR_NONE, "%s%-12s %5zu", changed ? "* " : "  ", "changed",
			changed);
	if (p->last->failed)
		page_put(l, COLOR_NONE, "%s", "");
	page_causes(l, p);
	return 0;
}

static size_t page_host(struct page *l, const struct watch_page *p)
{
	const struct watch_block *b = page_now(p, p->at), *then = page_then(p, p->at);

	page_put(l, b->end ? COLOR_RED : COLOR_BOLD, "%s%s:%s%s%s", page_turned(b, then) ? "* " : "  ",
		p->last->hosts[p->at], b->end ? " " : "", b->end ? b->end : "",
		!*b->text && !b->end ? " no output" : "");
	page_text(l, b, then);
	return 0;
}

struct pane {
	const struct watch_block *now, *then;
	const char *text, *old;
};

/* The next line of each pane; false: none has one, and nothing was put. */
static bool page_pane_line(struct page *l, struct pane *panes, size_t count, size_t cells)
{
	bool any = false, changed;

	for (size_t k = 0; k < count; k++)
		any |= *panes[k].text != 0;
	for (size_t k = 0; any && k < count; k++) {
		char *line = page_next(&panes[k].text, &panes[k].old, &changed), *text;

		if (asprintf(&text, "%s%s", !line ? "" : changed ? "* " : "  ", line ? line : "") < 0)
			command_nomem();
		page_piece(l, line && changed ? COLOR_YELLOW : COLOR_NONE, cells, k + 1 < count, text);
		if (k + 1 < count)
			page_piece(l, COLOR_DIM, PANE_GAP, true, " |");
		free(text);
		free(line);
	}
	if (any)
		page_end(l);
	return any;
}

/* A line of the heads: the hosts' names, or how their commands failed. */
static void page_heads(struct page *l, char *const *names, const struct pane *panes, size_t count, size_t cells)
{
	for (size_t k = 0; k < count; k++) {
		const char *end = panes[k].now->end, *text = names ? names[k] : end, *star = names ? "" : "  ";
		char *head;

		star = page_turned(panes[k].now, panes[k].then) ? "* " : star;
		if (asprintf(&head, "%s%s", text ? star : "", text ? text : "") < 0)
			command_nomem();
		page_piece(l, end ? COLOR_RED : COLOR_BOLD, cells, k + 1 < count, head);
		if (k + 1 < count)
			page_piece(l, COLOR_DIM, PANE_GAP, true, " |");
		free(head);
	}
	page_end(l);
}

/* Hosts side by side: their names, how they failed, then what they say. */
static void page_row(struct page *l, const struct watch_page *p, size_t from, size_t count, size_t cells)
{
	struct pane *panes = calloc(count + 1, sizeof *panes);
	bool failed = false;

	if (!panes)
		command_nomem();
	for (size_t k = 0; k < count; k++) {
		struct pane *one = &panes[k];

		one->now = page_now(p, from + k);
		one->then = page_then(p, from + k);
		one->text = one->now->text;
		one->old = one->then ? one->then->text : NULL;
		failed |= one->now->end != NULL;
	}
	page_heads(l, p->last->hosts + from, panes, count, cells);
	if (failed)
		page_heads(l, NULL, panes, count, cells);
	while (page_pane_line(l, panes, count, cells))
		;
	free(panes);
}

size_t watchpage_panes(size_t columns, size_t hosts)
{
	size_t most = (columns + PANE_GAP) / (PANE_CELLS + PANE_GAP);

	most = most < 2 && columns > PANE_CELLS ? 2 : most ? most : 1;
	return most < hosts || !hosts ? most : hosts;
}

static size_t page_split(struct page *l, const struct watch_page *p)
{
	size_t hosts = p->last->host_count, most = watchpage_panes(l->columns, hosts), cells;

	cells = (l->columns - (most - 1) * PANE_GAP) / most;
	for (size_t i = p->at; i < hosts; i += most) {
		if (i > p->at)
			page_put(l, COLOR_NONE, "%s", "");
		page_row(l, p, i, hosts - i < most ? hosts - i : most, cells);
	}
	return 0;
}

static int page_diff_line(void *arg, enum diff_side side, size_t number, const char *line, size_t len)
{
	struct page *l = arg;

	(void)number;
	if (side != DIFF_SAME)
		page_put(l, side == DIFF_OLD ? COLOR_RED : COLOR_GREEN, "  %c %.*s", (char)side, (int)len, line);
	return 0;
}

static size_t page_diff(struct page *l, const struct watch_page *p)
{
	const struct watch_round *r = p->last;
	const struct watch_block *base = &r->blocks[0];
	const char *end = base->end ? base->end : "";
	bool same;

	page_put(l, base->end ? COLOR_RED : COLOR_BOLD, "  %s: %s%s%s", base->names, end, *end ? ", " : "",
		r->count == 1 ? "all answer the same" : "the largest group");
	for (size_t i = 1; i < r->count; i++) {
		const struct watch_block *b = &r->blocks[i];

		/* A comparison takes long where much differs. */
		if (l->all >= l->room)
			return r->count - i;
		end = b->end ? b->end : "";
		same = strcmp(b->text, base->text) == 0;
		page_put(l, *end ? COLOR_RED : COLOR_BOLD, "  %s:%s%s%s%s", b->names, *end ? " " : "", end,
			*end && same ? "," : "", same ? " the same output" : "");
		if (diff_lines(base->text, strlen(base->text), b->text, strlen(b->text), page_diff_line, l) != 0)
			command_nomem();
	}
	return 0;
}

/* ---- The page -------------------------------------------------------------------------- */

static void page_head(struct page *l, const struct watch_page *p)
{
	const struct watch_round *r = p->last;
	size_t last = p->at + watchpage_panes(l->columns, r->host_count);

	page_put(l, COLOR_BOLD, "%s", p->command);
	page_put(l, r->failed ? COLOR_RED : COLOR_NONE, "%s  %zu ok, %zu failed, every %s", r->time, r->ok, r->failed,
		p->every);
	if (p->view == WATCH_HOST)
		page_put(l, COLOR_DIM, "host %zu of %zu  n next  p previous", p->at + 1, r->host_count);
	else if (p->view == WATCH_SPLIT)
		page_put(l, COLOR_DIM, "hosts %zu-%zu of %zu  n next  p previous", p->at + 1,
			last < r->host_count ? last : r->host_count, r->host_count);
	else
		page_put(l, COLOR_NONE, "%s", "");
}

/* The view's own key stands out. */
static const struct page_key watch_keys[] = {
	{ WATCH_SUMMARY, "s summary", "s sum" },
	{ WATCH_GROUPS, "g groups", "g groups" },
	{ WATCH_HOST, "1 one host", "1 host" },
	{ WATCH_SPLIT, "| split", "| split" },
	{ WATCH_DIFF, "d diff", "d diff" },
	{ -1, "q quit", "q" },
};

/* The last line that there is room for says how much there is not. */
static void page_say_more(struct page *l, size_t groups)
{
	size_t more = l->all - l->room + 1;

	page_drop_last(l);
	if (groups)
		page_put(l, COLOR_DIM, "  %s and %zu more group%s", wrap_dots(), groups, groups == 1 ? "" : "s");
	else
		page_put(l, COLOR_DIM, "  %s and %zu more line%s", wrap_dots(), more, more == 1 ? "" : "s");
}

void watchpage_make(const struct watch_page *p, size_t columns, size_t height, struct page *out)
{
	static size_t (*const views[])(struct page *, const struct watch_page *) = {
		[WATCH_GROUPS] = page_groups,
		[WATCH_SUMMARY] = page_summary,
		[WATCH_HOST] = page_host,
		[WATCH_SPLIT] = page_split,
		[WATCH_DIFF] = page_diff,
	};
	size_t groups = 0;

	page_begin(out, columns, height > 1 ? height - 1 : SIZE_MAX);
	page_head(out, p);
	if (p->last->count && p->at < p->last->host_count)
		groups = views[p->view](out, p);
	if (height <= 1)
		return;
	if (out->all > out->room || groups)
		page_say_more(out, groups);
	while (out->all < out->room)
		page_end(out);
	out->room = height;
	page_keys(out, watch_keys, sizeof watch_keys / sizeof *watch_keys, p->view);
}
