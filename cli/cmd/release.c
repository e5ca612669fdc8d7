/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod release: gives nodes back to their seller, after showing the refund and its rule. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/provision/report/runlog.h"
#include "cli/trade/giveback.h"
#include "cli/trade/purchase.h"
#include "cli/frame/retype.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/market_clock.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/window.h"
#include "market/when.h"

enum { BODY_MAX = 65536, OFFERS_NAMED = 5, WEEK = 7 * 86400, YEAR = 366 * 86400 };

extern const struct command cmd_release;

struct releasing {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct market_clock clock;
	struct reservation reservation;
	struct purchase purchase;
	struct giveback going;
	struct giveback_offers offers;
	struct giveback_node *one; /* of going: it was typed instead of a reservation; NULL */
	char chosen[64];           /* its id, once it is agreed on */
	struct giveback_words words;
	bool ended;          /* what was typed is a node that has ended: only an unfinished release is about it */
	char *sku;           /* NULL: any */
	int64_t from, nodes; /* as the market said */
	int64_t refund, paid;
	char rule[300];
	bool explain;
};

static const struct column columns[] = {
	{ "reservation", COLUMN_ID, "its name" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "number of nodes given back" },
	{ "from", COLUMN_MINOR, "from when" },
	{ "refund", COLUMN_RIGHT, "refund, in dollars" },
	{ "rule", COLUMN_WIDE, "the rule of the refund" },
	{ "refund_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in millionths of a dollar" },
	{ "replayed", COLUMN_RAW | COLUMN_HIDDEN, "an earlier command did it" },
	{ 0 },
};

static int release_put(const struct releasing *r, int64_t nodes, bool dry, struct buf *body)
{
	struct model_release_new ask = { .sku = r->sku, .from = r->from, .nodes = nodes, .dry_run = dry };

	return wire_put_release(body, &ask);
}

/* 0: all */
static int64_t release_asked(const struct releasing *r)
{
	if (r->one)
		return 1;
	return option_given(r->o, "nodes") ? option_int(r->o, "nodes") : 0;
}

static int release_take(struct releasing *r)
{
	struct model_release got;
	int rc = wire_release(r->m->doc, WIRE_WHOLE, &got, &r->m->fail);

	if (rc)
		return rc;
	r->from = got.from;
	r->nodes = got.nodes;
	r->refund = got.refund;
	r->paid = got.paid;
	snprintf(r->rule, sizeof r->rule, "%s", got.rule ? got.rule : "");
	giveback_take(&r->going, &got);
	return 0;
}

/* nodes 0: all */
static int release_send(struct releasing *r, int64_t nodes, bool dry)
{
	char path[128];
	struct buf body;
	int rc;

	snprintf(path, sizeof path, "/np/v1/pools/%s/release", r->reservation.id);
	buf_init(&body, BODY_MAX);
	if (release_put(r, nodes, dry, &body))
		command_nomem();
	rc = dry ? market_send(r->m, "POST", path, &body, NULL) : purchase_post(&r->purchase, "release", path, &body);
	buf_release(&body);
	return rc ? rc : release_take(r);
}

static void release_plan_nodes(const struct releasing *r, struct plan *p)
{
	const struct giveback *g = &r->going;
	size_t gone = g->stopping + g->waiting, bare = (size_t)r->nodes > gone ? (size_t)r->nodes - gone : 0;
	char names[1024], when[WHEN_TEXT];

	if (g->stopping)
		plan_add(p, "nodes", "%s stop%s at %s, and everything on %s lost",
			giveback_names(g, false, names, sizeof names), g->stopping == 1 ? "s" : "",
			when_local(r->from, market_clock_now(&r->clock), when),
			g->stopping == 1 ? "its disk is" : "their disks is");
	if (g->waiting)
		plan_add(p, g->stopping ? "" : "nodes", "%s end%s without having started",
			giveback_names(g, true, names, sizeof names), g->waiting == 1 ? "s" : "");
	if (bare)
		plan_add(p, gone ? "" : "nodes", "%zu host%s without a node go%s%s", bare, bare == 1 ? "" : "s",
			bare == 1 ? "es" : "", gone ? " too" : ": none stops");
}

/* Clusters that 'nanopod provision' made from here lose these nodes, and no plan of theirs says so. */
static void release_plan_clusters(const struct releasing *r, struct plan *p)
{
	char **clusters = runlog_clusters();

	for (char **c = clusters; *c; free(*c++)) {
		size_t gone = 0, of = 0;
		struct buf members;

		buf_init(&members, 8 << 20);
		if (runlog_members(*c, &members, NULL) == 0 && members.len)
			for (char *line = members.data, *name; (name = strsep(&line, "\n"));) {
				const struct giveback_node *n = *name ? giveback_find(&r->going, name) : NULL;

				of += *name != '\0';
				gone += n && n->goes;
			}
		if (gone && gone == of)
			plan_add(p, "cluster",
				"'%s' ends with its nodes; 'nanopod provision remove %s' forgets it then", *c, *c);
		else if (gone)
			plan_add(p, "cluster",
				"'%s' loses %zu of its %zu nodes; 'nanopod provision drop %s -w NODES' first "
				"lets their work finish",
				*c, gone, of, *c);
		buf_release(&members);
	}
	free(clusters);
}

/* All of its hosts go: it has as many as nodes in all of its spans from then on, or fewer. */
static bool release_is_whole(const struct releasing *r)
{
	int64_t hosts = 0;

	for (size_t i = 0; i < r->reservation.count; i++) {
		const struct reservation_part *part = &r->reservation.parts[i];

		for (size_t k = 0; (!r->sku || strcmp(part->sku, r->sku) == 0) && k < part->count; k++)
			hosts += part->spans[k].end > r->from ? part->spans[k].nodes : 0;
	}
	return !release_asked(r) || r->nodes >= hosts;
}

/* What is given back cannot be sold any more: whoever waits for money from it must know. */
static void release_plan_offers(const struct releasing *r, struct plan *p)
{
	/* Nobody can buy time before the first minute: an order that began earlier has nothing left, either. */
	bool now = r->from <= window_first(market_clock_now(&r->clock)), all = release_is_whole(r);
	char span[WINDOW_TEXT];

	for (size_t i = 0; i < r->offers.count && i < OFFERS_NAMED; i++) {
		const struct giveback_offer *one = &r->offers.list[i];
		struct window w = { .start = one->start, .end = one->end };

		plan_add(p, i ? "" : "sell order", "%s, %" PRId64 " node%s, %s: %s", one->id, one->nodes,
			one->nodes == 1 ? "" : "s", window_show(&w, market_clock_now(&r->clock), span),
			all && (now || one->start >= r->from) ? "cancelled" : "loses the time that you give back");
	}
	if (r->offers.count > OFFERS_NAMED)
		plan_add(p, "", "and %zu more sell orders of this time, likewise", r->offers.count - OFFERS_NAMED);
}

static void release_show_plan(const struct releasing *r)
{
	char when[WHEN_TEXT], relative[WHEN_TEXT], a[MONEY_TEXT], left[MONEY_TEXT];
	const char *about = r->going.marked ? "about " : "";
	struct plan p;

	/* Whoever agrees must know which node it is. */
	plan_init(&p, "Give back %" PRId64 " node%s of '%s'", r->nodes, r->nodes == 1 ? "" : "s", r->reservation.name);
	plan_add(&p, "from", "%s (%s) to its end", when_local(r->from, market_clock_now(&r->clock), when),
		when_relative(r->from, market_clock_now(&r->clock), relative));
	/* The market computed both for the host that it would take; this node's may have had another price. */
	plan_add(&p, "refund", r->refund ? "%s%s" : "%s%s: no refund", about, money_text(r->refund, a));
	plan_add(&p, "rule", "%s", r->rule);
	if (r->paid > r->refund)
		plan_add(&p, "forfeited", "%s%s that you paid for this time", about,
			money_text(r->paid - r->refund, left));
	release_plan_nodes(r, &p);
	release_plan_clusters(r, &p);
	release_plan_offers(r, &p);
	if (!r->refund)
		plan_add(&p, "instead", "'nanopod sell %s -p PRICE' brings money if somebody buys",
			r->reservation.name);
	plan_show(r->np, &p);
	plan_release(&p);
}

static int release_print(struct releasing *r)
{
	char c[4][CELL_TEXT];
	struct rows *rows;
	int rc;

	rows = rows_new(r->np, r->o, columns, &rc);
	if (!rows)
		return rc;
	rows_add(rows,
		(const char *[]){ r->reservation.name, cell_int(r->nodes, c[0]), cell_time(r->np, r->from, c[1]),
			cell_money(r->np, r->refund, c[2]), r->rule, cell_int(r->refund, c[3]),
			r->purchase.replayed ? "true" : "false" });
	return rows_end(rows);
}

static int release_begin(struct releasing *r, const char *match)
{
	struct buf command;
	int rc;

	if (r->explain)
		return 0;
	buf_init(&command, BODY_MAX);
	retype(&cmd_release, r->o, NULL, &command);
	rc = purchase_begin(&r->purchase, match, buf_text(&command), market_clock_now(&r->clock));
	buf_release(&command);
	if (rc)
		return print_fail(r->np, STATUS_FAILURE, NULL, "%s", r->m->fail.text);
	return 0;
}

/* The node that was typed is among those that ended. */
static bool release_took(const struct releasing *r)
{
	const struct giveback_node *n = giveback_find(&r->going, r->chosen);

	return n && n->goes;
}

static int release_carry_out(struct releasing *r)
{
	int rc;

	r->m->explain = r->explain;
	rc = purchase_kept(&r->purchase, "release.body") ? 0 : giveback_mark(r->m, &r->going);
	if (rc && !r->purchase.resumed) {
		purchase_end(&r->purchase);
		return market_fail(r->m, "cannot choose the nodes of '%s' that stop", r->reservation.name);
	}
	rc = rc ? rc : release_send(r, release_asked(r), false);
	if (rc == MARKET_EXPLAINED)
		return STATUS_OK;
	if (rc && purchase_nothing_done(&r->purchase, rc)) {
		purchase_end(&r->purchase);
		return market_fail(r->m, "cannot release '%s'", r->reservation.name);
	}
	if (rc)
		return print_fail(r->np, purchase_status(rc),
			"run the same command again: it finds out and gives nothing back twice",
			"cannot tell whether '%s' was released: %s", r->reservation.name, r->m->fail.text);
	reservation_note_released(r->m, r->reservation.name, r->from);
	if (*r->chosen && !release_took(r))
		print_warn(r->np,
			"the market gave back other time than that of '%s': its nodes changed meanwhile; "
			"'nanopod nodes -r %s' shows what runs",
			option_argv(r->o)[0], r->reservation.name);
	if (r->purchase.resumed)
		print_note(r->np, "replayed: '%s' was released before", r->reservation.name);
	return purchase_told(&r->purchase, release_print(r));
}

/* What the market would do, and which nodes end by it. */
static int release_ask(struct releasing *r)
{
	int rc;

	if (r->one)
		memcpy(r->chosen, r->one->id, sizeof r->chosen);
	rc = r->one ? release_send(r, 0, true) : 0;
	if (r->one) {
		r->one = giveback_find(&r->going, r->chosen); /* the list may have moved */
		rc = rc ? rc : giveback_may(r->m, &r->going, r->one, &r->words);
	}
	rc = rc ? rc : release_send(r, release_asked(r), true);
	if (!rc && r->one) {
		r->one = giveback_find(&r->going, r->chosen);
		rc = giveback_choose(r->m, &r->going, r->one, &r->words);
	}
	rc = rc ? rc : giveback_offers(r->m, r->reservation.id, r->sku, r->from, &r->offers);
	return rc ? market_fail(r->m, "cannot release '%.60s'", option_argv(r->o)[0]) : 0;
}

static int release_has_ended(const struct releasing *r)
{
	return print_fail(r->np, STATUS_CONFLICT, "'nanopod nodes --all' shows how",
		"cannot release '%.60s': it has ended", option_argv(r->o)[0]);
}

static int release_trade(struct releasing *r, const char *match)
{
	int rc;

	purchase_init(&r->purchase, r->m);
	if (!r->explain && !option_given(r->o, "dry-run") && purchase_find(&r->purchase, match, "release.body"))
		return print_fail(r->np, STATUS_FAILURE, NULL, "%s", r->m->fail.text);
	if (r->purchase.file) {
		print_note(r->np, "continues the unfinished release of '%s' by this command", r->reservation.name);
		return release_carry_out(r);
	}
	if (r->ended)
		return release_has_ended(r);
	rc = release_ask(r);
	if (rc)
		return rc;
	release_show_plan(r);
	rc = plan_agree(r->np, r->o, "Give it back?");
	if (rc == PLAN_SHOWN)
		return release_print(r);
	rc = rc ? rc : release_begin(r, match);
	return rc ? rc : release_carry_out(r);
}

/* The reservation, or the node that was typed in its place. 0, 1: there is neither; or a negative code. */
static int release_look(struct releasing *r, const char *typed)
{
	int rc = reservation_look(r->m, typed, &r->reservation);

	if (rc != 1)
		return rc;
	rc = giveback_load(r->m, NULL, NULL, &r->going);
	r->one = rc ? NULL : giveback_find(&r->going, typed);
	return rc ? rc : r->one ? reservation_look(r->m, r->one->pool, &r->reservation) : 1;
}

static void release_word(struct releasing *r, const char *type)
{
	const char *from = option_text(r->o, "from");

	snprintf(r->words.subject, sizeof r->words.subject, "%.120s%s%s", r->reservation.name,
		r->reservation.count > 1 ? " -t " : "", r->reservation.count > 1 ? type : "");
	if (from)
		snprintf(r->words.from, sizeof r->words.from, " --from %.50s", from);
}

/* All nodes of its reservation and type, of which one was typed. */
static int release_find_one(struct releasing *r)
{
	char id[sizeof r->one->id];
	int rc;

	memcpy(id, r->one->id, sizeof id);
	release_word(r, r->one->type);
	free(r->sku);
	if (!(r->sku = strdup(r->one->sku)))
		command_nomem();
	r->ended = r->one->ended;
	giveback_release(&r->going);
	if (r->ended) {
		r->one = NULL;
		return 0;
	}
	rc = giveback_load(r->m, r->reservation.id, r->sku, &r->going);
	if (rc)
		return market_fail(r->m, "cannot list the nodes of '%s'", r->reservation.name);
	r->one = giveback_find(&r->going, id);
	/* Without it this would be about all nodes. */
	return r->one ? 0 : release_has_ended(r);
}

static int release_find(struct releasing *r)
{
	const char *typed = option_argv(r->o)[0];
	struct skus skus = { 0 };
	const struct sku *sku = NULL;
	int rc = release_look(r, typed);

	if (rc == 1 || !r->one)
		rc = rc < 0  ? market_fail(r->m, "cannot look for '%.60s'", typed)
			: rc ? reservation_find(r->m, typed, &r->reservation)
			     : 0;
	if (!rc && r->one && (option_given(r->o, "nodes") || option_given(r->o, "type")))
		return print_fail_field(r->np, STATUS_USAGE, option_given(r->o, "nodes") ? "--nodes" : "--type", NULL,
			"cannot release a number of nodes of '%.60s': it is one node", typed);
	if (!rc && option_given(r->o, "type")) {
		rc = skus_load(r->m, &skus);
		rc = rc ? rc : skus_find(r->np, &skus, option_text(r->o, "type"), &sku);
		if (!rc && !(r->sku = strdup(sku->id)))
			command_nomem();
		skus_release(&skus);
	}
	return rc || !r->one ? rc : release_find_one(r);
}

static int release_from(const char *typed, int64_t now, int64_t *from, struct fail *f)
{
	int rc = when_start(typed, strchr("+i", *typed) ? window_first(now) : now, from, f);

	return rc ? rc : when_grid(*from, WINDOW_STEP, strcmp(typed, "now") == 0 ? WHEN_UP : WHEN_NO, from, f);
}

static int release_read_from(struct releasing *r, int64_t now)
{
	struct fail f = { 0 };

	if (option_given(r->o, "from") && release_from(option_text(r->o, "from"), now, &r->from, &f))
		return print_fail_field(r->np, STATUS_USAGE, "--from", NULL, "cannot use '--from': %s", f.text);
	return 0;
}

/* Before the market has told its time: a date that is past by this machine's clock alone is left to the market's. */
static int release_check_from(struct releasing *r)
{
	int64_t now = (int64_t)time(NULL), then = now - YEAR, from;
	struct fail f = { 0 };

	if (option_given(r->o, "from") && release_from(option_text(r->o, "from"), then, &from, &f) == 0 &&
		from > then + WEEK)
		return 0;
	return release_read_from(r, now);
}

static int release_go(struct releasing *r)
{
	struct buf match;
	int rc = market_sign_in(r->np, r->o, 0, &r->m);

	if (rc)
		return rc;
	r->explain = r->m->explain;
	r->m->explain = false;
	rc = market_clock_read(r->m, &r->clock);
	if (rc < 0)
		return market_fail(r->m, "cannot release '%.60s'", option_argv(r->o)[0]);
	if (rc == 0)
		return print_fail(r->np, STATUS_FAILURE, "'nanopod sell' offers it to others",
			"cannot release '%.60s': this market takes no nodes back", option_argv(r->o)[0]);
	rc = release_find(r);
	rc = rc ? rc : release_read_from(r, market_clock_now(&r->clock));
	if (rc)
		return rc;
	buf_init(&match, BODY_MAX);
	rc = purchase_match(r->m, r->o, "release", r->reservation.id, &match);
	rc = rc ? market_fail(r->m, "cannot release") : release_trade(r, buf_text(&match));
	purchase_release(&r->purchase);
	buf_release(&match);
	return rc;
}

static int release_several(struct nanopod *np, const struct options *o)
{
	const char *first = option_argv(o)[0];
	struct buf hint;
	int rc;

	buf_init(&hint, BODY_MAX);
	if (buf_adds(&hint, "'nanopod release"))
		command_nomem();
	retype_word(&hint, retype_plain(first) ? first : "NODE");
	if (buf_adds(&hint, "' first, then the next; 'nanopod release RESERVATION -n N' lets the market choose nodes"))
		command_nomem();
	rc = print_fail(np, STATUS_USAGE, buf_text(&hint), "release takes one reservation or node at a time");
	buf_release(&hint);
	return rc;
}

static int release_command(struct nanopod *np, const struct options *o)
{
	struct releasing r = { .np = np, .o = o };
	int rc;

	if (option_argc(o) > 1)
		return release_several(np, o);
	if (signals_begin())
		command_nomem();
	rc = release_check_from(&r);
	rc = rc ? rc : plan_can_ask(np, o);
	r.from = 0;
	if (!rc && rows_check(np, o, columns, &rc))
		rc = release_go(&r);
	reservation_release(&r.reservation);
	giveback_release(&r.going);
	free(r.offers.list);
	free(r.sku);
	market_sign_out(r.m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "nodes", 'n', OPTION_INT, "N", .min = 1, .max = 1024, .help = "number of nodes; default: all" },
	{ "from", 0, OPTION_STRING, "TIME", .help = "from when: +3h, 18:00, ISO 8601; default: the next minute" },
	{ "type", 't', OPTION_STRING, "TYPE", .help = "which type, if the reservation has several",
		.complete = COMPLETE_TYPE },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is still shown" },
	{ "dry-run", 0, OPTION_FLAG, .help = "show the refund; give nothing back" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod release r-7f3a2c", "show the refund, ask, and give back all that is left" },
	{ "nanopod release r-7f3a2c -n 1 --from 18:00 -y", "one node, from 18:00" },
	{ "nanopod release r-7f3a2c-0", "this node; the others keep running" },
	{ "nanopod release r-7f3a2c --dry-run", "show the refund only" },
	{ 0 },
};

const struct command cmd_release = {
	.name = "release",
	.args = "RESERVATION|NODE",
	.summary = "give nodes back",
	.examples = examples,
	.description = "The refund follows the market's published rule, and the plan shows it before you agree. "
		       "'nanopod sell' may bring more, or nothing.\n\nWith -n the market chooses: hosts without a "
		       "node first, then nodes with the lowest priority. The plan names those that end.",
	.positional = "RESERVATION  name or id; 'nanopod reservations' lists them\n"
		      "NODE         one of its nodes; 'nanopod nodes' lists them",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.min_args = 1,
	.max_args = -1, /* several are refused with what to type */
	.complete_first = COMPLETE_HOLDING,
	.run = release_command,
};
