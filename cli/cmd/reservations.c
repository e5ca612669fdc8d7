/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod reservations: lists what the account has, until when, and what it costs an hour. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/alerts/announcements.h"
#include "cli/trade/market_link.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/trade/reservation.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/market_clock.h"
#include "market/when.h"

enum { MANY = 100000, WATCH_MS = 2000 };

struct item {
	struct reservation r;
	size_t instances;
	int64_t burn;   /* micro-dollars an hour now */
	int64_t nodes;
};

struct listing {
	struct item *items;
	size_t count;
	int64_t now;
	bool ours;
};

static const struct column columns[] = {
	{ "reservation", COLUMN_ID, "its name" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "state", COLUMN_STATE, "pending, running or ended" },
	{ "type", COLUMN_MINOR, "type of node" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "nodes bought: now, else the most to come" },
	{ "start", COLUMN_WIDE, "start" },
	{ "end", 0, "end" },
	{ "burn", COLUMN_RIGHT, "dollars an hour now" },
	{ "started", COLUMN_RAW | COLUMN_RIGHT | COLUMN_WIDE, "nodes that run or are starting" },
	{ "created", COLUMN_WIDE, "when it was made" },
	{ "burn_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in millionths of a dollar" },
	{ "schedule", COLUMN_RAW | COLUMN_HIDDEN, "nodes over time" },
	{ 0 },
};

static int take_pool(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_pool p;
	int rc = wire_pool(d, at, &p, f);

	if (rc || (p.kind && strcmp(p.kind, "market") != 0) || l->count == MANY)
		return rc;
	if ((l->count & (l->count - 1)) == 0) {
		struct item *grown = realloc(l->items, (l->count ? l->count * 2 : 1) * sizeof *grown);

		if (!grown)
			command_nomem();
		l->items = grown;
	}
	l->items[l->count] = (struct item){ .instances = 0 };
	reservation_copy(&l->items[l->count++].r, &p);
	return 0;
}

static struct item *item_of(struct listing *l, const char *id)
{
	for (size_t i = 0; id && i < l->count; i++)
		if (strcmp(l->items[i].r.id, id) == 0)
			return &l->items[i];
	return NULL;
}

static int reservations_take_instance(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_instance i;
	struct item *item;
	int rc = wire_instance(d, at, &i, f);
	/* Our market tells the end of a node's time as soon as it has a host: without one it does not start yet. */
	bool starts = !rc && i.status == MODEL_INSTANCE_AWAITING && (i.shutdown_at || !l->ours);

	if (rc || (!starts && i.status != MODEL_INSTANCE_RUNNING))
		return rc;
	item = item_of(l, i.pool.id);
	if (item)
		item->instances++;
	return 0;
}

static int take_lease(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_lease lease;
	struct item *item;
	int rc = wire_lease(d, at, &lease, f);

	if (rc || lease.start > l->now || lease.end <= l->now)
		return rc;
	item = item_of(l, lease.pool.id);
	if (item)
		item->burn += plan_burn(lease.price, lease.nodes > 0 ? lease.nodes : 1);
	return 0;
}

static void schedule_json(const struct reservation *r, struct buf *out)
{
	const char *before = "";
	char start[WHEN_TEXT], end[WHEN_TEXT];

	buf_adds(out, "[");
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; k < r->parts[i].count; k++, before = ",")
			if (buf_addf(out,
				    "%s{\"type\":\"%s\",\"start_at\":\"%s\",\"end_at\":\"%s\",\"nodes\":%" PRId64 "}",
				    before, r->parts[i].sku, when_iso(r->parts[i].spans[k].start, start),
				    when_iso(r->parts[i].spans[k].end, end), r->parts[i].spans[k].nodes))
				command_nomem();
	buf_adds(out, "]");
}

/* nodes: what it has now, or the most that it ever has where that is none. */
static void reservations_measure(const struct reservation *r, int64_t now, int64_t *nodes, int64_t *start, int64_t *end)
{
	int64_t most = 0;

	*nodes = *start = *end = 0;
	for (size_t i = 0; i < r->count; i++) {
		*nodes += part_nodes_at(&r->parts[i], now);
		most += part_most(&r->parts[i]);
		*start = !*start || part_start(&r->parts[i]) < *start ? part_start(&r->parts[i]) : *start;
		*end = part_end(&r->parts[i]) > *end ? part_end(&r->parts[i]) : *end;
	}
	*nodes = *nodes ? *nodes : most;
}

/* For people: "… (in 2h)". */
static const char *reservations_until(const struct nanopod *np, int64_t at, int64_t now, char room[2 * CELL_TEXT])
{
	char text[CELL_TEXT], relative[WHEN_TEXT];

	if (!cell_time(np, at, text))
		return NULL;
	if (cell_for_people(np))
		snprintf(room, 2 * CELL_TEXT, "%.60s (%.50s)", text, when_relative(at, now, relative));
	else
		snprintf(room, 2 * CELL_TEXT, "%s", text);
	return room;
}

static void reservations_add_row(struct nanopod *np, struct rows *rows, const struct item *item,
	const struct skus *skus, int64_t now, bool ours)
{
	const struct reservation *r = &item->r;
	const char *state = reservation_state(r, now);
	int64_t nodes, start, end;
	struct buf types, schedule;
	char c[6][CELL_TEXT], created[CELL_TEXT], wide[2 * CELL_TEXT];

	reservations_measure(r, now, &nodes, &start, &end);
	buf_init(&types, 65536);
	buf_init(&schedule, 1 << 20);
	for (size_t i = 0; i < r->count; i++) {
		const struct sku *sku = skus_by_id(skus, r->parts[i].sku);

		buf_addf(&types, "%s%s", i ? "," : "", sku && sku->alias ? sku->alias : r->parts[i].sku);
	}
	schedule_json(r, &schedule);
	rows_add(rows,
		(const char *[]){ r->name, r->id, state, types.len ? buf_text(&types) : NULL, cell_int(nodes, c[0]),
			cell_time(np, start, c[1]), reservations_until(np, end, now, wide),
			ours ? cell_money(np, item->burn, c[3]) : NULL, cell_int((int64_t)item->instances, c[4]),
			cell_time(np, r->created_at, created), ours ? cell_int(item->burn, c[5]) : NULL,
			buf_text(&schedule) });
	buf_release(&types);
	buf_release(&schedule);
}

/* Completion offers those that a command can still do something with. */
static void reservations_remember(const struct market_link *m, const struct listing *l)
{
	const char **names = calloc(l->count + 1, sizeof *names);
	size_t count = 0;

	if (!names)
		command_nomem();
	for (size_t i = 0; i < l->count; i++) {
		const char *state = reservation_state(&l->items[i].r, l->now);

		if (strcmp(state, "running") == 0 || strcmp(state, "pending") == 0)
			names[count++] = l->items[i].r.name;
	}
	remember_all(REMEMBER_RESERVATIONS, m->where, names, NULL, count);
	free(names);
}

static void listing_release(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++)
		reservation_release(&l->items[i].r);
	free(l->items);
	*l = (struct listing){ .now = 0 };
}

/* 0, or a negative code in m->fail. */
static int listing_load(struct market_link *m, struct listing *l)
{
	struct market_clock clock = { 0 };
	int ours = market_clock_read(m, &clock), rc = ours < 0 ? ours : 0;

	l->ours = ours > 0;
	l->now = market_clock_now(&clock);
	rc = rc ? rc : market_each(m, "/v2/pools?limit=200&schedule_history_minutes=1440", take_pool, l);
	rc = rc ? rc : market_each(m, "/v2/instances?limit=200", reservations_take_instance, l);
	return rc || !l->ours ? rc : market_each(m, "/np/v1/leases?active=true", take_lease, l);
}

/* Without --all only those that run or will. */
static bool listing_shows(const struct listing *l, size_t i, bool all)
{
	const char *state = reservation_state(&l->items[i].r, l->now);

	return all || strcmp(state, "running") == 0 || strcmp(state, "pending") == 0;
}

static int listing_print(struct market_link *m, const struct options *o, const struct skus *skus,
	const struct listing *l)
{
	bool all = option_given(o, "all"), people = cell_for_people(m->np) && !option_given(o, "quiet");
	struct rows *rows;
	size_t shown = 0;
	int rc;

	rows = rows_new(m->np, o, columns, &rc);
	if (!rows)
		return rc;
	for (size_t i = 0; i < l->count; i++) {
		if (!listing_shows(l, i, all))
			continue;
		reservations_add_row(m->np, rows, &l->items[i], skus, l->now, l->ours);
		shown++;
	}
	if (m->explain) {
		rows_drop(rows);
		return 0;
	}
	reservations_remember(m, l);
	rc = rows_end(rows);
	if (!rc && people && !shown)
		print_note(m->np, "%s",
			all ? "no reservations; 'nanopod buy' makes one"
			    : "no running or pending reservations; '--all' lists ended ones, 'nanopod buy' makes one");
	for (size_t i = 0; !rc && people && i < l->count; i++)
		reservation_tell_end(m->np, &l->items[i].r, l->now);
	return rc;
}

/* ---- Watched ----------------------------------------------------------------------------- */

/* "train: running, 2 nodes of h100, 1 started, until …": a line for each change, where there is no terminal. */
static char *watch_line(const struct skus *skus, const struct listing *l, size_t i)
{
	const struct item *item = &l->items[i];
	const struct sku *sku = item->r.count ? skus_by_id(skus, item->r.parts[0].sku) : NULL;
	char until[WHEN_TEXT], *line;
	int64_t nodes, start, end;

	reservations_measure(&item->r, l->now, &nodes, &start, &end);
	if (asprintf(&line, "%s: %s, %" PRId64 " node%s of %s%s, %zu started, until %s", item->r.name,
		    reservation_state(&item->r, l->now), nodes, nodes == 1 ? "" : "s",
		    sku && sku->alias       ? sku->alias
			    : item->r.count ? item->r.parts[0].sku
					    : "no type",
		    item->r.count > 1 ? " and others" : "", item->instances, when_local(end, l->now, until)) < 0)
		command_nomem();
	return line;
}

static void watch_say(struct nanopod *np, int64_t now, const char *line)
{
	char when[WHEN_TEXT];

	fprintf(np->out, "%s ", when_iso(now, when));
	print_safe_line(np->out, line);
	putc('\n', np->out);
}

struct watched {
	char **lines; /* of the last look */
	size_t count;
};

static bool watch_has(char *const *lines, size_t count, const char *line, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(lines[i], line, len) == 0)
			return true;
	return false;
}

static void watch_changes(struct nanopod *np, const struct skus *skus, const struct listing *l, bool all,
	struct watched *w)
{
	char **lines = calloc(l->count + 1, sizeof *lines), gone[300];
	size_t count = 0;

	if (!lines)
		command_nomem();
	for (size_t i = 0; i < l->count; i++)
		if (listing_shows(l, i, all))
			lines[count++] = watch_line(skus, l, i);
	for (size_t i = 0; i < count; i++)
		if (!watch_has(w->lines, w->count, lines[i], strlen(lines[i]) + 1))
			watch_say(np, l->now, lines[i]);
	for (size_t i = 0; i < w->count; i++) {
		size_t name = strcspn(w->lines[i], ":") + 1;

		if (!watch_has(lines, count, w->lines[i], name)) {
			snprintf(gone, sizeof gone, "%.*s gone", (int)name, w->lines[i]);
			watch_say(np, l->now, gone);
		}
		free(w->lines[i]);
	}
	free(w->lines);
	*w = (struct watched){ lines, count };
	fflush(np->out);
}

/* Until Ctrl-C. On a terminal the list is drawn again, elsewhere each change is a line. */
static int reservations_watch(struct market_link *m, const struct options *o, const struct skus *skus)
{
	struct watched w = { NULL, 0 };
	struct listing l = { .now = 0 };
	int number = 0, rc = 0, status = 0;

	while (!status && !ferror(m->np->out)) {
		rc = listing_load(m, &l);
		if (rc && !client_retryable(rc) && rc != CLIENT_STOPPED)
			status = market_fail(m, "cannot list the reservations");
		else if (!rc && m->np->tty_out) {
			fputs("\033[H\033[J", m->np->out);
			status = listing_print(m, o, skus, &l);
			fflush(m->np->out);
		} else if (!rc)
			watch_changes(m->np, skus, &l, option_given(o, "all"), &w);
		listing_release(&l);
		if (!status && signals_rest(WATCH_MS, &number))
			status = number == SIGTERM ? STATUS_TERM : STATUS_INT;
	}
	for (size_t i = 0; i < w.count; i++)
		free(w.lines[i]);
	free(w.lines);
	return status;
}

static int reservations_list(struct market_link *m, const struct options *o)
{
	struct listing l = { .now = 0 };
	struct skus skus = { 0 };
	bool watched = option_given(o, "watch");
	int rc = 0;

	/* First, so that a failure is about what was asked for. */
	if (!watched && listing_load(m, &l))
		rc = market_fail(m, "cannot list the reservations");
	rc = rc ? rc : skus_load(m, &skus);
	if (!rc)
		rc = watched ? reservations_watch(m, o, &skus) : listing_print(m, o, &skus, &l);
	listing_release(&l);
	skus_release(&skus);
	return rc;
}

static int reservations_command(struct nanopod *np, const struct options *o)
{
	struct market_link *m = NULL;
	int rc;

	if (option_given(o, "watch") && (!cell_for_people(np) || option_given(o, "quiet")))
		return print_fail_field(np, STATUS_USAGE, "--watch", "'nanopod events -f -o jsonl' follows for scripts",
			"cannot use '--watch' with a format for scripts");
	if (signals_begin())
		command_nomem();
	if (rows_check(np, o, columns, &rc))
		rc = market_sign_in(np, o, 0, &m);
	if (m)
		rc = reservations_list(m, o);
	if (m && !rc)
		announcements_tell(m);
	market_sign_out(m);
	signals_end();
	return rc;
}

static const char *const aliases[] = { "ls", NULL };

static const struct option options[] = {
	{ "all", 'a', OPTION_FLAG, .help = "list ended ones too" },
	{ "watch", 0, OPTION_FLAG, .help = "follow until Ctrl-C; without a terminal, a line for each change" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod reservations", "list what you have, until when, and what it costs an hour" },
	{ "nanopod ls --watch", "follow what changes" },
	{ "nanopod ls -q", "their names, for scripts" },
	{ "nanopod ls -a -o json", "all of them with their schedules" },
	{ 0 },
};

const struct command cmd_reservations = {
	.name = "reservations",
	.aliases = aliases,
	.args = "",
	.summary = "list reservations",
	.examples = examples,
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.run = reservations_command,
};
