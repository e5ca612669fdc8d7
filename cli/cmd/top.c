/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod top: what nodes, their GPUs or hosts do now, on a screen that goes on, or as a list. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/screen/screen.h"
#include "cli/frame/signals.h"
#include "cli/top/topfeed.h"
#include "cli/top/toppage.h"
#include "cli/top/toptable.h"
#include "cli/trade/market_link.h"
#include "market/when.h"

enum {
	EVERY_LEAST_MS = 1000,
	EVERY_USUAL_MS = 5000,
	TICK_MS = 1000,
	PATIENCE_MS = 4000,
	FILTER_BYTES = 64,
	AWAY_BYTES = 600
};

struct top {
	struct nanopod *np;
	const struct options *o;
	int64_t every_ms;
	struct topwish wish;
	struct toplook *look;
	/* The screen: */
	struct screen screen;
	struct topfeed feed;
	int64_t taken_ms, asked_ms; /* clock_ms() of the look, and of the last question */
	char every[WHEN_TEXT], taken[32], filter[FILTER_BYTES], away[AWAY_BYTES];
	bool paused, help, typing, quit, draw, again;
	size_t at, room, count; /* the first row shown; how many have room; how many there are */
	int signal;
};

/* ---- A look ---------------------------------------------------------------------------- */

static void top_keep(struct top *t, struct toplook *look)
{
	struct tm tm;
	time_t now;

	toplook_free(t->look);
	t->look = look;
	t->taken_ms = clock_ms();
	if (!look->now)
		look->now = (int64_t)time(NULL);
	now = (time_t)look->now;
	localtime_r(&now, &tm);
	strftime(t->taken, sizeof t->taken, "%H:%M:%S %Z", &tm);
	t->wish.now = look->now;
}

/* 0, or a negative code in m->fail. */
static int top_ask(struct top *t, struct market_link *m)
{
	struct toplook *look = toplook_new();
	int rc = toplook_ask(m, t->wish.machines, toplook_take, look);

	if (rc)
		toplook_free(look);
	else
		top_keep(t, look);
	return rc;
}

static bool top_has(const struct top *t, const char *name)
{
	char *names[] = { (char *)(uintptr_t)name, NULL };
	struct topwish w = t->wish;
	struct toprows rows;
	bool any;

	w.names = names;
	w.filter = NULL;
	w.of = w.machines ? TOP_OF_MACHINES : TOP_OF_NODES;
	toprows_make(t->look, &w, &rows);
	any = rows.count > 0;
	toprows_release(&rows);
	return any;
}

/* A name that fits nothing is a mistake; a pattern may fit nothing. */
static int top_check_names(struct top *t)
{
	for (char **n = option_argv(t->o); *n; n++)
		if (!strpbrk(*n, "*?") && !top_has(t, *n))
			return print_fail_field(t->np, STATUS_NOTFOUND, "NAME",
				t->wish.machines ? "'nanopod top --hosts' shows all of them"
						 : "'nanopod nodes' lists your nodes",
				t->wish.machines ? "you have no host '%.100s'"
						 : "you have no running or pending node or reservation '%.100s'",
				*n);
	return 0;
}

/* ---- A list ---------------------------------------------------------------------------- */

static int top_list(struct top *t)
{
	struct column columns[TOPTABLE_COLUMNS];
	struct toprows rows;
	struct rows *r;
	bool none;
	int rc;

	toptable_columns(&t->wish, columns);
	r = rows_new(t->np, t->o, columns, &rc);
	if (!r)
		return rc;
	toprows_make(t->look, &t->wish, &rows);
	toptable_add(t->np, r, &t->wish, &rows);
	toprows_release(&rows);
	none = rows_none(r) && !option_given(t->o, "quiet");
	rc = rows_end(r);
	if (none)
		print_note(t->np, t->wish.machines ? "no hosts" : "no running or pending nodes");
	return rc;
}

/* Looks again and again; a market that is away is said once. */
static int top_stream(struct top *t, struct market_link *m)
{
	int rc = top_list(t), number = 0;
	bool away = false;

	while (!rc && !ferror(t->np->out)) {
		fflush(t->np->out);
		if (signals_rest(t->every_ms, &number))
			return number == SIGTERM ? STATUS_TERM : STATUS_INT;
		if (top_ask(t, m) == 0) {
			if (away)
				print_note(t->np, "the market answers again");
			away = false;
			rc = top_list(t);
		} else if (!client_retryable(m->fail.code) || m->fail.code == CLIENT_STOPPED) {
			return market_fail(m, "cannot show what nodes do");
		} else {
			if (!away)
				print_note(t->np, "%s; trying again", m->fail.text);
			away = true;
		}
	}
	return rc;
}

/* ---- The screen ------------------------------------------------------------------------ */

/* Why there are no new values; NULL: there are, or will be soon. */
static const char *top_away(const struct top *t)
{
	if (!*t->away && t->feed.asked && clock_ms() - t->asked_ms > PATIENCE_MS)
		return "the market does not answer";
	return *t->away ? t->away : NULL;
}

static void top_draw(struct top *t)
{
	const char *away = top_away(t);
	bool passed = away || t->paused;
	int64_t since = (clock_ms() - t->taken_ms) / 1000;
	struct toppage p = { .look = t->look,
		.wish = t->wish,
		.every = t->every,
		.taken = t->taken,
		.away = away,
		.away_seconds = since,
		.paused = t->paused,
		.help = t->help,
		.typing = t->typing,
		.top = t->at };
	size_t columns, lines;
	struct page page;

	p.wish.now = t->look->now + (passed ? since : 0);
	p.wish.filter = t->filter;
	screen_size(&columns, &lines);
	/* The newline after the last line must not scroll. */
	t->room = toppage_make(&p, columns, lines > 4 ? lines - 1 : 4, &page, &t->count);
	screen_draw(&t->screen, &page, t->again);
	page_release(&page);
	t->draw = t->again = false;
}

static void top_scroll(struct top *t, int key)
{
	size_t most = t->count > t->room ? t->count - t->room : 0, step = 1;

	if (key == SCREEN_PAGE_UP || key == SCREEN_PAGE_DOWN || key == ' ')
		step = t->room;
	if (key == SCREEN_HOME || key == SCREEN_END)
		t->at = key == SCREEN_HOME ? 0 : most;
	else if (key == SCREEN_UP || key == SCREEN_PAGE_UP)
		t->at -= t->at < step ? t->at : step;
	else
		t->at = t->at + step < most ? t->at + step : most;
}

/* The filter's last character, all bytes of it. */
static void top_erase(struct top *t)
{
	size_t len = strlen(t->filter);

	while (len && (t->filter[len - 1] & 0xc0) == 0x80)
		len--;
	t->filter[len ? len - 1 : 0] = '\0';
}

static void top_type(struct top *t, int key)
{
	size_t len = strlen(t->filter);

	if (key == '\r' || key == '\n' || key == SCREEN_ESCAPE)
		t->typing = false;
	if (key == SCREEN_ESCAPE)
		*t->filter = '\0';
	else if (key == 127 || key == 8)
		top_erase(t);
	else if (key == 21) /* Ctrl-U */
		*t->filter = '\0';
	else if (key >= ' ' && key < 256 && len + 1 < sizeof t->filter) {
		t->filter[len] = (char)key;
		t->filter[len + 1] = '\0';
	}
	t->at = 0;
}

static void top_sort(struct top *t, int key)
{
	static const struct {
		char key;
		enum top_sort sort;
	} sorts[] = {
		{ 'n', TOP_BY_NAME },
		{ 'u', TOP_BY_USE },
		{ 'm', TOP_BY_MEMORY },
		{ 'w', TOP_BY_WATTS },
		{ 'c', TOP_BY_COST },
		{ 'e', TOP_BY_END },
	};

	for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
		t->wish.sort = sorts[i].key == key ? sorts[i].sort : t->wish.sort;
}

static void top_pressed(struct top *t, int key)
{
	enum top_of whole = t->wish.machines ? TOP_OF_MACHINES : TOP_OF_NODES;

	t->draw = true;
	if (key == 4 || (!t->typing && (key == 'q' || key == 'Q'))) {
		t->quit = true;
	} else if (t->typing) {
		top_type(t, key);
	} else if (key == 'h' || key == '?') {
		t->help = !t->help;
	} else if (key == SCREEN_ESCAPE) {
		t->help = false;
		*t->filter = '\0';
	} else if (key == '/') {
		t->typing = true;
		t->help = false;
	} else if (key == 'g') {
		t->wish.of = t->wish.of == TOP_OF_GPUS ? whole : TOP_OF_GPUS;
		t->at = 0;
	} else if (key == 'r') {
		t->wish.reverse = !t->wish.reverse;
	} else if (key == 'p') {
		t->paused = !t->paused;
	} else if (key >= SCREEN_UP || key == ' ') {
		top_scroll(t, key);
	} else {
		top_sort(t, key);
	}
}

/* The answer of the child, or why there is none. */
static void top_hear(struct top *t)
{
	struct toplook *look;
	struct fail why;
	int rc = topfeed_read(&t->feed, &look, &why);

	if (rc == 0)
		return;
	t->draw = true;
	if (rc > 0 && look) {
		*t->away = '\0';
		top_keep(t, look);
		return;
	}
	snprintf(t->away, sizeof t->away, "%s", rc > 0 ? why.text : "the process that asks it has ended");
	if (rc < 0) {
		topfeed_stop(&t->feed);
		if (topfeed_start(&t->feed, t->np, t->wish.machines) != 0)
			t->quit = true;
	}
}

/* Asks when it is time. How long to wait for what happens next. */
static int top_timeout(struct top *t)
{
	int64_t now = clock_ms(), left = t->asked_ms + t->every_ms - now;

	if (!t->feed.asked && !t->paused && left <= 0) {
		topfeed_ask(&t->feed);
		t->asked_ms = now;
		left = t->every_ms;
	}
	return left > TICK_MS || left <= 0 ? TICK_MS : (int)left;
}

static void top_turn(struct top *t)
{
	struct pollfd fds[] = {
		{ .fd = t->feed.from, .events = POLLIN },
		{ .fd = signals_fd(), .events = POLLIN },
		{ .fd = t->screen.tty, .events = POLLIN },
	};
	int keys[SCREEN_KEYS], count, number;

	if (poll(fds, sizeof fds / sizeof *fds, top_timeout(t)) <= 0) {
		t->draw = top_away(t) || t->paused; /* ages grow */
		return;
	}
	if (fds[0].revents)
		top_hear(t);
	while (fds[1].revents && (number = signals_next()) != 0) {
		t->draw = t->again = true;
		if (number != SIGWINCH)
			t->signal = number;
	}
	if (fds[2].revents) {
		count = screen_keys(&t->screen, keys);
		t->quit |= count < 0; /* the terminal is gone */
		for (int i = 0; i < count; i++)
			top_pressed(t, keys[i]);
	}
}

static int top_screen(struct top *t)
{
	int rc = topfeed_start(&t->feed, t->np, t->wish.machines);

	if (rc)
		return print_fail(t->np, STATUS_FAILURE, NULL, "cannot start a process that asks the market: %s",
			strerror(-rc));
	when_span(t->every_ms / 1000, t->every);
	screen_init(&t->screen, t->np);
	if (signals_begin() != 0)
		command_nomem();
	t->asked_ms = t->taken_ms;
	t->draw = true;
	while (!t->quit && !t->signal) {
		if (t->draw)
			top_draw(t);
		top_turn(t);
	}
	screen_release(&t->screen);
	signals_end();
	topfeed_stop(&t->feed);
	return t->signal ? 128 + t->signal : STATUS_OK;
}

/* ---- The command ----------------------------------------------------------------------- */

static bool top_on_screen(const struct nanopod *np, const struct options *o)
{
	const char *term = getenv("TERM");

	return np->tty_out && np->format == FORMAT_TABLE && !np->template && !option_given(o, "once") &&
		!option_given(o, "output") && !option_given(o, "quiet") && !option_given(o, "fields") && term &&
		strcmp(term, "dumb") != 0;
}

/* False: the command ends here, with *status. */
static bool top_begin(struct top *t, int *status)
{
	static const char *const sorts[] = { "name", "use", "memory", "watts", "cost", "end" };
	const struct options *o = t->o;
	struct column columns[TOPTABLE_COLUMNS];

	t->every_ms = option_given(o, "every") ? option_ms(o, "every") : EVERY_USUAL_MS;
	if (t->every_ms < EVERY_LEAST_MS) {
		*status = print_fail_field(t->np, STATUS_USAGE, "--every", NULL,
			"cannot ask the market more often than once a second");
		return false;
	}
	if (option_given(o, "every") && t->np->format != FORMAT_JSONL && !top_on_screen(t->np, o)) {
		*status = print_fail_field(t->np, STATUS_USAGE, "--every", "'-o jsonl' prints an object per line",
			"cannot look again and again without a terminal: a list that never ends");
		return false;
	}
	t->wish.machines = option_given(o, "hosts");
	t->wish.of = option_given(o, "gpus") ? TOP_OF_GPUS : t->wish.machines ? TOP_OF_MACHINES : TOP_OF_NODES;
	t->wish.reverse = option_given(o, "reverse");
	t->wish.names = option_argv(o);
	for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
		if (strcmp(option_text(o, "sort"), sorts[i]) == 0)
			t->wish.sort = (enum top_sort)i;
	toptable_columns(&t->wish, columns);
	return rows_check(t->np, o, columns, status);
}

static int top_command(struct nanopod *np, const struct options *o)
{
	struct top t = { .np = np, .o = o };
	struct market_link *m;
	bool screen = top_on_screen(np, o);
	int rc;

	if (!top_begin(&t, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	rc = market_need_ours(m, "top");
	if (!rc && top_ask(&t, m) != 0)
		rc = market_fail(m, "cannot show what %s do", t.wish.machines ? "hosts" : "nodes");
	else if (!rc)
		rc = top_check_names(&t);
	if (!rc && t.look && !screen)
		rc = option_given(o, "every") ? top_stream(&t, m) : top_list(&t);
	market_sign_out(m);
	if (!rc && t.look && screen)
		rc = top_screen(&t);
	toplook_free(t.look);
	return rc;
}

static const struct option options[] = {
	{ "gpus", 'g', OPTION_FLAG, .help = "a row for each GPU" },
	{ "hosts", 0, OPTION_FLAG, .help = "show your hosts, which you rent out, instead of nodes" },
	{ "sort", 's', OPTION_ENUM, .fallback = "name", .values = "name|use|memory|watts|cost|end",
		.help = "what to sort by", .complete = COMPLETE_VALUES },
	{ "reverse", 0, OPTION_FLAG, .help = "reverse the order" },
	{ "every", 0, OPTION_DURATION, "DURATION", .help = "ask the market so often; default 5s" },
	{ "once", 0, OPTION_FLAG, .help = "show a list once, also on a terminal" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod top", "all nodes, live; h shows the keys" },
	{ "nanopod top train -g --sort use", "the GPUs of one reservation, the busiest first" },
	{ "nanopod top --once", "a list, once" },
	{ "nanopod top -o jsonl --every 10s", "a line for each node every ten seconds, for a program" },
	{ "nanopod top --hosts", "for who rents out: what hosts do" },
	{ 0 },
};

const struct command cmd_top = {
	.name = "top",
	.args = "[NAME...]",
	.summary = "watch what nodes and GPUs do, and cost",
	.examples = examples,
	.description = "On a terminal this is a screen that goes on: use, memory, power and heat of GPUs, processors, "
		       "network, cost an hour and time left of each node, and above them sums and what the balance is "
		       "enough for. Elsewhere, with -o and with --once it is a list.\n\n"
		       "What is not known is '-'. Values that are older than a minute say their age. If the market "
		       "does not answer, the last values stay, and the screen says since when.",
	.positional = "NAME  nodes, reservations, patterns like 'train-*', ids; with --hosts hosts",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.max_args = -1,
	.complete_first = COMPLETE_HOLDING,
	.complete_rest = COMPLETE_HOLDING,
	.run = top_command,
};
