/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/rounds.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
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
#include "cli/frame/wrap.h"
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
	if (!r->blocks || !r->of)
		command_nomem();
	for (r->count = 0; r->count < g.count; r->count++) {
		const struct group *one = &g.items[r->count];

		watch_fill(&r->blocks[r->count], one);
		for (size_t i = 0; i < one->count; i++)
			r->of[one->hosts[i]->index] = r->count;
		*(outcome_ok(one->hosts[0]) ? &r->ok : &r->failed) += one->count;
		r->blocks[r->count].first = one->hosts[0]->index;
	}
	groups_release(&g);
	localtime_r(&now, &tm);
	strftime(r->time, sizeof r->time, "%H:%M:%S", &tm);
	fanout_quiet(f);
	watch_draw(w);
}

/* ---- The screen ------------------------------------------------------------------------ */

/* A screen that is being made: lines beyond the room are counted only. */
struct watch_page {
	const struct watch *w;
	struct buf out;
	size_t columns, room, lines;
	const char *end; /* of a line */
};

static void watch_put(struct watch_page *p, enum color color, const char *text)
{
	size_t cells = p->columns, len = wrap_cut(text, &cells);
	const struct nanopod *np = p->w->np;

	if (p->lines++ >= p->room)
		return;
	watch_need(buf_adds(&p->out, color ? print_color(np, np->out, color) : ""));
	watch_need(buf_add(&p->out, text, len));
	watch_need(buf_adds(&p->out, color ? print_color(np, np->out, COLOR_NONE) : ""));
	watch_need(buf_adds(&p->out, p->end));
}

static void watch_put_f(struct watch_page *p, enum color color, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void watch_put_f(struct watch_page *p, enum color color, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	watch_put(p, color, text);
	free(text);
}

/* The line of the text, without its newline; moves *text past it. */
static char *watch_cut_line(const char **text)
{
	size_t n = strcspn(*text, "\n");
	char *line = strndup(*text, n);

	if (!line)
		command_nomem();
	*text += n + ((*text)[n] == '\n');
	return line;
}

/* Each line of the block; what the first of its hosts did not say in the same place last time has a star. */
static void watch_put_block(struct watch_page *p, const struct watch_block *b)
{
	const struct watch_round *before = &p->w->before;
	const struct watch_block *then = before->of ? &before->blocks[before->of[b->first]] : NULL;
	const char *text = b->text, *old = then ? then->text : NULL;
	size_t newline = strcspn(text, "\n"), width;
	bool fits, turned = then && (!then->end != !b->end || (b->end && strcmp(b->end, then->end) != 0));
	char *line = watch_cut_line(&text), *was = old ? watch_cut_line(&old) : NULL;

	width = print_width(b->names) + 4 + print_width(line) + (b->end ? strlen(b->end) + 2 : 0);
	fits = !b->text[newline] || (!b->text[newline + 1] && width <= p->columns);
	if (fits) {
		bool changed = turned || (was && (strcmp(line, was) != 0 || *old));

		watch_put_f(p,
			b->end            ? COLOR_RED
				: changed ? COLOR_YELLOW
					  : COLOR_NONE,
			"%s%s:%s%s%s%s", changed ? "* " : "  ", b->names, b->end ? " " : "", b->end ? b->end : "",
			b->end && *line ? ": "
				: *line ? " "
					: "",
			line);
	} else {
		watch_put_f(p, b->end ? COLOR_RED : COLOR_BOLD, "%s%s:%s%s", turned ? "* " : "  ", b->names,
			b->end ? " " : "", b->end ? b->end : "");
	}
	while (!fits) {
		bool changed = then && (!was || strcmp(line, was) != 0);

		watch_put_f(p, changed ? COLOR_YELLOW : COLOR_NONE, "%s  %s", changed ? "* " : "  ", line);
		fits = !*text;
		free(line);
		free(was);
		line = watch_cut_line(&text);
		was = old && *old ? watch_cut_line(&old) : NULL;
	}
	free(line);
	free(was);
}

static void watch_put_all(struct watch_page *p)
{
	const struct watch_round *r = &p->w->last;

	watch_put(p, COLOR_BOLD, p->w->command);
	watch_put_f(p, r->failed ? COLOR_RED : COLOR_NONE, "%s  %zu ok, %zu failed, every %s", r->time, r->ok,
		r->failed, p->w->every);
	watch_put(p, COLOR_NONE, "");
	for (size_t i = 0; i < r->count; i++)
		watch_put_block(p, &r->blocks[i]);
}

/* The page for so many lines; a last one says how many more there are. */
static void watch_show(struct watch *w, size_t columns, size_t room, const char *end)
{
	struct watch_page p = { .w = w, .columns = columns, .room = SIZE_MAX, .end = end };
	size_t all;

	buf_init(&p.out, WATCH_TEXT_MAX);
	watch_put_all(&p);
	all = p.lines;
	if (all > room) {
		buf_clear(&p.out);
		p.lines = 0;
		p.room = room - 1;
		watch_put_all(&p);
		p.lines = 0;
		p.room = 1;
		watch_put_f(&p, COLOR_DIM, "  %s and %zu more line%s", wrap_dots(), all - room + 1,
			all - room + 1 == 1 ? "" : "s");
	}
	fwrite(buf_text(&p.out), 1, p.out.len, w->np->out);
	buf_release(&p.out);
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
	watch_show(w, columns > 1 ? columns - 1 : 1, rows > 6 ? rows - 1 : 5, "\033[K\r\n");
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
	watch_show(w, SIZE_MAX, SIZE_MAX, "\n");
	fflush(w->np->out);
}

/* ---- Keys and time --------------------------------------------------------------------- */

void watch_begin(struct watch *w)
{
	w->began = clock_ms();
}

void watch_key(struct watch *w)
{
	char keys[64];
	ssize_t n = read(w->tty, keys, sizeof keys);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		w->quit = true; /* the terminal is gone */
	for (ssize_t i = 0; i < n; i++)
		w->quit |= keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 4;
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
