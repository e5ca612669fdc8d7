/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/rounds.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "cli/frame/terminal.h"
#include "cli/remote/fanout.h"
#include "cli/remote/group.h"
#include "cli/remote/select.h"

/* Leave and enter the second screen, with the cursor hidden; top left; to the end of the line and of the screen. */
#define WATCH_ENTER "\033[?1049h\033[?25l"
#define WATCH_LEAVE "\033[?25h\033[?1049l"

enum { WATCH_TEXT_MAX = 64 << 20, WATCH_TAB = 8 };

static void watch_need(int rc)
{
	if (rc)
		command_nomem();
}

void watch_init(struct watch *w, struct nanopod *np, const char *command, int64_t every_ms)
{
	*w = (struct watch){ .np = np, .command = command, .every_ms = every_ms, .tty = -1 };
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
	if (w->tty >= 0)
		close(w->tty);
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

static void watch_show(struct watch *w, enum watch_view view, size_t columns, size_t height)
{
	struct watch_page page = {
		.command = w->command,
		.every = w->every,
		.last = &w->last,
		.before = &w->before,
		.view = view,
		.at = w->at < w->last.host_count ? w->at : 0,
	};
	struct nanopod *np = w->np;
	struct watch_lines lines;

	watchpage_make(&page, columns, height, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		const struct watch_piece *piece = &lines.pieces[i];

		fprintf(np->out, "%s%s%s", piece->color ? print_color(np, np->out, piece->color) : "", piece->text,
			piece->color ? print_color(np, np->out, COLOR_NONE) : "");
		if (piece->ends)
			fputs(height ? "\033[K\r\n" : "\n", np->out);
	}
	watchpage_release(&lines);
}

static size_t watch_columns(unsigned columns)
{
	return columns > 1 ? columns - 1 : 1;
}

void watch_draw(struct watch *w)
{
	unsigned columns = 80, rows = 24;

	if (!w->last.count)
		return;
	terminal_size(STDOUT_FILENO, &columns, &rows);
	if (!w->open) {
		w->tty = w->np->tty_in ? dup(STDIN_FILENO) : open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (w->tty >= 0)
			terminal_keys(w->tty);
		fputs(WATCH_ENTER, w->np->out);
		w->open = true;
	}
	/* The bottom line is for progress, where a round takes long. */
	fputs("\033[H", w->np->out);
	watch_show(w, w->view, watch_columns(columns), rows > 6 ? rows - 1 : 5);
	fprintf(w->np->out, "\033[J\033[%u;1H", rows);
	fflush(w->np->out);
}

void watch_end(struct watch *w)
{
	if (!w->open)
		return;
	fputs(WATCH_LEAVE, w->np->out);
	w->open = false;
	terminal_restore();
	watch_show(w, WATCH_GROUPS, SIZE_MAX, 0);
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
	unsigned columns = 80, rows = 24;
	size_t step = 1, hosts = w->last.host_count;

	if (w->view != WATCH_HOST && w->view != WATCH_SPLIT)
		return;
	terminal_size(STDOUT_FILENO, &columns, &rows);
	if (w->view == WATCH_SPLIT)
		step = watchpage_panes(watch_columns(columns), hosts);
	if (on && w->at + step < hosts)
		w->at += step;
	else if (!on)
		w->at -= w->at < step ? w->at : step;
}

/*
 * The arrows send ESC [ A to D, or ESC O A to D; other keys that begin so mean nothing here. False: c is a key of its
 * own after Escape.
 */
static bool watch_escaped(struct watch *w, char c)
{
	if (w->escape == 1) {
		w->escape = c == '[' || c == 'O' ? 2 : 0;
		return w->escape != 0;
	}
	if (c >= '0' && c <= '?')
		return true;
	w->escape = 0;
	if (c >= 'A' && c <= 'D')
		watch_move(w, c == 'B' || c == 'C');
	return true;
}

static void watch_pressed(struct watch *w, char c)
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

	if (c == '\033') {
		w->escape = 1;
		return;
	}
	if (w->escape && watch_escaped(w, c))
		return;
	w->quit |= c == 'q' || c == 'Q' || c == 4;
	if (c == 'n' || c == 'p')
		watch_move(w, c == 'n');
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		w->view = views[i].key == c ? views[i].view : w->view;
}

void watch_key(struct watch *w)
{
	enum watch_view view = w->view;
	size_t at = w->at;
	char keys[64];
	ssize_t n = read(w->tty, keys, sizeof keys);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		w->quit = true; /* the terminal is gone */
	for (ssize_t i = 0; i < n; i++)
		watch_pressed(w, keys[i]);
	if (!w->quit && (view != w->view || at != w->at))
		watch_draw(w);
}

bool watch_rest(struct watch *w, struct pssh *fleet)
{
	const struct pssh_event *ev;
	int64_t left;

	while (!w->quit && !w->signal && (left = w->began + w->every_ms - clock_ms()) > 0) {
		struct pollfd fds[] = {
			{ .fd = pssh_fd(fleet), .events = POLLIN },
			{ .fd = signals_fd(), .events = POLLIN },
			{ .fd = w->tty, .events = POLLIN },
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
