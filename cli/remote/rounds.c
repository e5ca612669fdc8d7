/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/rounds.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "cli/remote/fanout.h"
#include "cli/remote/group.h"
#include "cli/remote/select.h"

enum { WATCH_TEXT_MAX = 64 << 20, WATCH_TAB = 8 };

static void watch_need(int rc)
{
	if (rc)
		command_nomem();
}

void watch_init(struct watch *w, struct nanopod *np, const char *command, int64_t every_ms)
{
	*w = (struct watch){ .np = np, .command = command, .every_ms = every_ms };
	screen_init(&w->screen, np);
	if (every_ms % 1000)
		snprintf(w->every, sizeof w->every, "%lld ms", (long long)every_ms);
	else
		snprintf(w->every, sizeof w->every, "%lld s", (long long)every_ms / 1000);
}

static void watch_round_free(struct watch_round *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->blocks[i].names);
		free(r->blocks[i].end);
		free(r->blocks[i].text);
	}
	for (size_t i = 0; i < r->host_count; i++)
		free(r->hosts[i]);
	free(r->hosts);
	free(r->blocks);
	free(r->of);
	*r = (struct watch_round){ 0 };
}

void watch_release(struct watch *w)
{
	watch_round_free(&w->last);
	watch_round_free(&w->before);
	screen_release(&w->screen);
}

/* ---- A round --------------------------------------------------------------------------- */

/* Text of a host without what moves the cursor or colours: the screen is ours. */
static void watch_add_text(struct buf *out, const char *text, size_t len)
{
	struct buf plain;

	buf_init(&plain, WATCH_TEXT_MAX);
	watch_need(group_harmless(&plain, text, len));
	for (size_t i = 0, at = 0; i < plain.len; i++) {
		char c = plain.data[i];

		if (c == '\033') {
			while (i < plain.len && plain.data[i] != 'm')
				i++;
			continue;
		}
		do
			watch_need(buf_addc(out, c == '\t' ? ' ' : c));
		while (at++, c == '\t' && at % WATCH_TAB);
		at = c == '\n' ? 0 : at;
	}
	buf_release(&plain);
	if (out->len && out->data[out->len - 1] != '\n')
		watch_need(buf_addc(out, '\n'));
}

static void watch_fill(struct watch_block *b, const struct group *g)
{
	const struct outcome *o = g->hosts[0];
	const char **names = calloc(g->count, sizeof *names);
	struct buf text;
	int rc = 0;

	if (!names)
		command_nomem();
	for (size_t i = 0; i < g->count; i++)
		names[i] = g->hosts[i]->name;
	b->names = select_fold_names(names, g->count, 0);
	free(names);
	buf_init(&text, WATCH_TEXT_MAX);
	for (int i = 0; i < 2; i++) {
		size_t len;
		char *part = group_text_of(i ? o->err : o->out, &len);

		watch_add_text(&text, part ? part : "", len);
		free(part);
	}
	b->state = o->state;
	b->first = o->index;
	b->count = g->count;
	if (o->state == OUTCOME_EXIT && o->status)
		rc = asprintf(&b->end, "exit status %d%s%s", o->status, o->text ? ": " : "", o->text ? o->text : "");
	else if (o->state == OUTCOME_SIGNAL)
		rc = asprintf(&b->end, "ended by SIG%s", o->text);
	else if (o->state == OUTCOME_ERROR)
		rc = asprintf(&b->end, "%s", pssh_strerror(o->status));
	b->text = buf_steal(&text);
	if (rc < 0 || !b->text)
		command_nomem();
}

void watch_take(struct watch *w, struct fanout *f)
{
	time_t now = time(NULL);
	struct watch_round *r = &w->last;
	struct groups g;
	struct tm tm;

	watch_round_free(&w->before);
	w->before = w->last;
	*r = (struct watch_round){ 0 };
	groups_make(f, true, &g);
	r->blocks = calloc(g.count + 1, sizeof *r->blocks);
	r->of = calloc(f->count + 1, sizeof *r->of);
	r->hosts = calloc(f->count + 1, sizeof *r->hosts);
	if (!r->blocks || !r->of || !r->hosts)
		command_nomem();
	for (; r->host_count < f->count; r->host_count++)
		if (!(r->hosts[r->host_count] = strdup(f->hosts[r->host_count].name)))
			command_nomem();
	for (r->count = 0; r->count < g.count; r->count++) {
		const struct group *one = &g.items[r->count];

		watch_fill(&r->blocks[r->count], one);
		for (size_t i = 0; i < one->count; i++)
			r->of[one->hosts[i]->index] = r->count;
		*(outcome_ok(one->hosts[0]) ? &r->ok : &r->failed) += one->count;
	}
	groups_release(&g);
	localtime_r(&now, &tm);
	strftime(r->time, sizeof r->time, "%H:%M:%S", &tm);
	fanout_quiet(f);
	watch_draw(w);
}

/* ---- The screen ------------------------------------------------------------------------ */

static void watch_make(const struct watch *w, enum watch_view view, size_t columns, size_t height, struct page *out)
{
	struct watch_page page = {
		.command = w->command,
		.every = w->every,
		.last = &w->last,
		.before = &w->before,
		.view = view,
		.at = w->at < w->last.host_count ? w->at : 0,
	};

	watchpage_make(&page, columns, height, out);
}

/* again: the screen was somebody else's, as after Ctrl-Z. */
static void watch_show(struct watch *w, bool again)
{
	size_t columns, rows;
	struct page page;

	if (!w->last.count)
		return;
	screen_size(&columns, &rows);
	/* The bottom line is for progress, where a round takes long. */
	watch_make(w, w->view, columns, rows > 6 ? rows - 1 : 5, &page);
	screen_draw(&w->screen, &page, again);
	page_release(&page);
}

void watch_draw(struct watch *w)
{
	watch_show(w, true);
}

void watch_end(struct watch *w)
{
	struct page page;

	if (!w->screen.open)
		return;
	screen_close(&w->screen);
	watch_make(w, WATCH_GROUPS, SIZE_MAX, 0, &page);
	screen_print(w->np, &page);
	page_release(&page);
	fflush(w->np->out);
}

/* ---- Keys and time --------------------------------------------------------------------- */

void watch_begin(struct watch *w)
{
	w->began = clock_ms();
}

/* To the next host, or the next ones that fit beside each other; or back. */
static void watch_move(struct watch *w, bool on)
{
	size_t columns, rows, step = 1, hosts = w->last.host_count;

	if (w->view != WATCH_HOST && w->view != WATCH_SPLIT)
		return;
	screen_size(&columns, &rows);
	if (w->view == WATCH_SPLIT)
		step = watchpage_panes(columns, hosts);
	if (on && w->at + step < hosts)
		w->at += step;
	else if (!on)
		w->at -= w->at < step ? w->at : step;
}

static void watch_pressed(struct watch *w, int key)
{
	static const struct {
		char key;
		enum watch_view view;
	} views[] = {
		{ 's', WATCH_SUMMARY },
		{ 'g', WATCH_GROUPS },
		{ '1', WATCH_HOST },
		{ '|', WATCH_SPLIT },
		{ 'v', WATCH_SPLIT },
		{ 'd', WATCH_DIFF },
	};

	w->quit |= key == 'q' || key == 'Q' || key == 4;
	if (key == 'n' || key == SCREEN_DOWN || key == SCREEN_RIGHT)
		watch_move(w, true);
	else if (key == 'p' || key == SCREEN_UP || key == SCREEN_LEFT)
		watch_move(w, false);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		w->view = views[i].key == key ? views[i].view : w->view;
}

void watch_key(struct watch *w)
{
	enum watch_view view = w->view;
	size_t at = w->at;
	int keys[SCREEN_KEYS], count = screen_keys(&w->screen, keys);

	if (count < 0)
		w->quit = true; /* the terminal is gone */
	for (int i = 0; i < count; i++)
		watch_pressed(w, keys[i]);
	if (!w->quit && (view != w->view || at != w->at))
		watch_show(w, false);
}

bool watch_rest(struct watch *w, struct pssh *fleet)
{
	const struct pssh_event *ev;
	int64_t left;

	while (!w->quit && !w->signal && (left = w->began + w->every_ms - clock_ms()) > 0) {
		struct pollfd fds[] = {
			{ .fd = pssh_fd(fleet), .events = POLLIN },
			{ .fd = signals_fd(), .events = POLLIN },
			{ .fd = w->screen.tty, .events = POLLIN },
		};
		int ms = pssh_timeout(fleet), signal;

		if (pssh_next(fleet, &ev) > 0)
			continue;
		ms = ms < 0 || ms > left ? (int)left : ms;
		if (poll(fds, sizeof fds / sizeof *fds, ms) <= 0)
			continue;
		while (fds[1].revents && (signal = signals_next()) != 0) {
			if (signal == SIGWINCH)
				watch_draw(w);
			else
				w->signal = signal;
		}
		if (fds[2].revents)
			watch_key(w);
	}
	return !w->quit && !w->signal;
}
