/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/progress.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/frame/wrap.h"

enum { FIRST_MS = 400, EVERY_MS = 200, PROGRESS_TEXT = 512 };

void progress_begin(struct progress *p, struct nanopod *np, size_t total)
{
	*p = (struct progress){ .np = np, .total = total, .began = clock_ms() };
	p->on = np->tty_err && !np->errors_json;
	p->drawn = p->began + FIRST_MS - EVERY_MS;
	p->rate_at = p->began;
}

void progress_hide(struct progress *p)
{
	if (!p->shown)
		return;
	fputs("\r\033[K", p->np->err);
	fflush(p->np->err);
	p->shown = false;
}

int progress_timeout(const struct progress *p)
{
	int64_t left;

	if (!p->on)
		return -1;
	left = p->drawn + EVERY_MS - clock_ms();
	return left > 0 ? (int)left : 0;
}

const char *progress_bytes(uint64_t n, char *room, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	uint64_t whole = n, rest = 0;
	size_t u = 0;

	while (whole >= 1024 && u + 1 < sizeof units / sizeof *units) {
		rest = whole % 1024;
		whole /= 1024;
		u++;
	}
	if (u && whole < 100)
		snprintf(room, size, "%llu.%llu %s", (unsigned long long)whole, (unsigned long long)(rest * 10 / 1024),
			units[u]);
	else
		snprintf(room, size, "%llu %s", (unsigned long long)whole, units[u]);
	return room;
}

const char *progress_time(int64_t ms, char *room, size_t size)
{
	long long s = ms / 1000;

	if (ms < 10000)
		snprintf(room, size, "%lld.%lld s", s, (long long)(ms / 100 % 10));
	else if (s >= 3600)
		snprintf(room, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(room, size, "%lld:%02lld", s / 60, s % 60);
	return room;
}

/* Estimates from what is done so far; -1 where it is too early. */
static int64_t time_left(struct progress *p, int64_t passed)
{
	int64_t left;

	if (p->bytes && p->rate && p->size > p->moved)
		return (int64_t)((p->size - p->moved) / p->rate) * 1000;
	if (p->bytes || !p->done || p->done >= p->total)
		return -1;
	if (p->done != p->done_then) {
		p->done_then = p->done;
		p->done_passed = passed;
	}
	/* Counted down from the last end: a host that hangs must not make it grow. Overdue, nobody knows. */
	left = p->done_passed * (int64_t)(p->total - p->done) / (int64_t)p->done - (passed - p->done_passed);
	return left > 0 ? left : -1;
}

static void progress_add(char *room, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void progress_add(char *room, size_t size, const char *fmt, ...)
{
	size_t used = strlen(room);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(room + used, size - used, fmt, ap);
	va_end(ap);
}

void progress_text(struct progress *p, int64_t now, char *room, size_t size)
{
	char a[32], b[32], c[32];
	int64_t left;

	if (now - p->rate_at >= 2000) {
		p->rate = (p->moved - p->rate_moved) * 1000 / (uint64_t)(now - p->rate_at);
		p->rate_at = now;
		p->rate_moved = p->moved;
	} else if (!p->rate_moved && now > p->began) {
		p->rate = p->moved * 1000 / (uint64_t)(now - p->began);
	}
	left = time_left(p, now - p->began);
	room[0] = '\0';
	if (p->phase)
		progress_add(room, size, "%s: ", p->phase);
	if (p->bytes && p->size) {
		progress_add(room, size, "%u%% ",
			(unsigned)(p->moved >= p->size ? 100 : p->moved / (p->size / 100 + 1)));
		progress_add(room, size, "%s of %s, ", progress_bytes(p->moved, a, sizeof a),
			progress_bytes(p->size, b, sizeof b));
		progress_add(room, size, "%s/s, ", progress_bytes(p->rate, c, sizeof c));
	}
	if (!p->phase && !p->running && !p->done && !p->failed)
		progress_add(room, size, "connecting, ");
	else if (!p->bytes || p->total > 1)
		progress_add(room, size, "%zu running, %zu of %zu done, %zu failed, ", p->running, p->done, p->total,
			p->failed);
	progress_add(room, size, "%s", progress_time(now - p->began, a, sizeof a));
	if (left >= 0)
		progress_add(room, size, ", about %s left", progress_time(left + 999, b, sizeof b));
}

void progress_fit(char *text, size_t columns)
{
	size_t cells = columns > 1 ? columns - 1 : 0, len;

	while (print_width(text) > cells) {
		char *part = NULL;

		for (char *at = text; (at = strstr(at, ", ")); at += 2)
			part = at;
		if (!part)
			break;
		*part = '\0';
	}
	len = wrap_cut(text, &cells);
	text[len] = '\0';
}

void progress_join(const char *text, const char *tail, size_t columns, char *room, size_t size)
{
	size_t cells = columns > 1 ? columns - 1 : 0, taken = print_width(tail), dots = print_width(wrap_dots()), len;

	cells = cells > taken ? cells - taken : 0;
	if (print_width(text) <= cells) {
		snprintf(room, size, "%s%s", text, tail);
		return;
	}
	cells = cells > dots ? cells - dots : 0;
	len = wrap_cut(text, &cells);
	snprintf(room, size, "%.*s%s%s", (int)len, text, cells ? wrap_dots() : "", tail);
	progress_fit(room, columns);
}

void progress_line(const struct nanopod *np, const char *text, const char *tail)
{
	char room[PROGRESS_TEXT];

	progress_join(text, tail, print_columns(np->err), room, sizeof room);
	fprintf(np->err, "\r%s", print_color(np, np->err, COLOR_DIM));
	print_safe_line(np->err, room);
	fprintf(np->err, "%s\033[K", print_color(np, np->err, COLOR_NONE));
	fflush(np->err);
}

void progress_draw(struct progress *p)
{
	char text[PROGRESS_TEXT];

	if (!p->on || progress_timeout(p) > 0)
		return;
	p->drawn = clock_ms();
	progress_text(p, p->drawn, text, sizeof text);
	progress_fit(text, print_columns(p->np->err));
	fprintf(p->np->err, "\r%s%s%s\033[K", print_color(p->np, p->np->err, COLOR_DIM), text,
		print_color(p->np, p->np->err, COLOR_NONE));
	fflush(p->np->err);
	p->shown = true;
}
