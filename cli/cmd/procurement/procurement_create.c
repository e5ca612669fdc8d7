/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod procurement create: a reservation, the procurement of it, and its nodes, which wait at the market for hosts.
 * Each request is on disk with its key before it leaves, as in `nanopod buy`, so the same command continues.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/buy/buy_name.h"
#include "cli/cmd/procurement/procurement.h"
#include "cli/frame/plan.h"
#include "cli/frame/retype.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "cli/trade/cloudinit.h"
#include "cli/trade/deal.h"
#include "market/when.h"

enum { CREATE_TEXT = 65536, CREATE_WINDOW_MAX = 129600 };

struct creating {
	struct procuring_view v;
	const char *name;
	struct order_args args;
	const struct sku *sku;
	int64_t window; /* minutes */
	struct quote quote;
	struct purchase purchase;
	struct buf match, line;
	char *userdata;
	size_t keys;
	struct buf key_files;
};

/* ---- What was typed -------------------------------------------------------------------- */

static int create_read_keys(struct creating *c)
{
	const struct options *o = c->v.o;
	const char *files[64];
	struct fail f = { 0 };
	size_t count = 0;

	if (option_given(o, "no-ssh-key") && option_given(o, "ssh-key"))
		return print_fail_field(c->v.np, STATUS_USAGE, "--no-ssh-key", NULL,
			"cannot use '--no-ssh-key' and '--ssh-key' together");
	if (option_given(o, "no-ssh-key"))
		return 0;
	while (count < sizeof files / sizeof *files && option_at(o, "ssh-key", count)) {
		files[count] = option_at(o, "ssh-key", count);
		count++;
	}
	if (userdata_make(c->v.np->settings, files, count, &c->userdata, &c->keys, &c->key_files, &f))
		return print_fail_field(c->v.np, STATUS_USAGE, "--ssh-key", NULL, "%s", f.text);
	if (!c->keys)
		return print_fail_field(c->v.np, STATUS_USAGE, "--ssh-key",
			"'ssh-keygen -t ed25519' makes one; '--ssh-key FILE' names another; '--no-ssh-key' does "
			"without",
			"cannot keep nodes that you could not log in to: there is no SSH key");
	return 0;
}

/* A limit of what one command may spend, where this one has no end. */
static int create_check_cap(struct creating *c)
{
	char text[MONEY_TEXT];
	int64_t cap = 0;
	int rc = market_spend_max(c->v.np, &cap);

	if (rc || cap <= 0)
		return rc;
	return print_fail_field(c->v.np, STATUS_FUNDS, "spend-max",
		"'nanopod buy' has an end; a profile without 'spend-max' may keep nodes",
		"cannot keep nodes: that has no end, and 'spend-max' is %s", money_text(cap, text));
}

int procurement_read_window(struct nanopod *np, const struct options *o, int64_t *minutes)
{
	int64_t seconds = 0;
	struct fail f = { 0 };

	if (when_duration(option_text(o, "horizon"), &seconds, &f))
		return print_fail_field(np, STATUS_USAGE, "--horizon", NULL, "cannot use '--horizon': %s", f.text);
	if (seconds % 60 || seconds < 60 || seconds / 60 > CREATE_WINDOW_MAX)
		return print_fail_field(np, STATUS_USAGE, "--horizon", NULL,
			"cannot use '--horizon': it is whole minutes, from 1m to 90d");
	*minutes = seconds / 60;
	return 0;
}

static int create_read(struct creating *c, char **words)
{
	const struct options *o = c->v.o;
	struct nanopod *np = c->v.np;
	struct fail f = { 0 };
	int rc = STATUS_OK;

	c->name = words[0];
	if (buy_name_check(c->name, &f))
		return print_fail(np, STATUS_USAGE, NULL, "cannot use the name '%.60s': %s", c->name, f.text);
	if (!rows_check(np, o, procurement_columns, &rc))
		return rc ? rc : -1;
	if (!option_given(o, "type"))
		return print_fail_field(np, STATUS_USAGE, "--type", "'nanopod types' lists them",
			"--type is required, e.g. -t h100");
	if (!option_given(o, "nodes"))
		return print_fail_field(np, STATUS_USAGE, "--nodes", NULL, "--nodes is required, e.g. -n 4");
	rc = order_args_read(np, o, ORDER_ARGS_PRICE | ORDER_ARGS_NEEDS_PRICE | ORDER_ARGS_NODES, &c->args);
	rc = rc ? rc : procurement_read_window(np, o, &c->window);
	rc = rc ? rc : create_check_cap(c);
	rc = rc ? rc : plan_can_ask(np, o);
	return rc ? rc : create_read_keys(c);
}

/* ---- The plan -------------------------------------------------------------------------- */

static int create_ask_quote(struct creating *c)
{
	int64_t start = window_first(market_clock_now(&c->v.clock));
	struct model_order_new order = { .sku = c->sku->id,
		.nodes = c->args.nodes,
		.start = start,
		.end = start + c->window * 60,
		.price = c->args.limit };

	return quote_ask(c->v.m, &order, c->sku, &c->quote) ? market_fail(c->v.m, "cannot keep nodes as '%s'", c->name)
							    : 0;
}

static void create_show_plan(struct creating *c)
{
	unsigned gpus = order_args_gpus(&c->args, c->sku);
	char rate[PLAN_RATE], now[PLAN_RATE], span[WINDOW_TEXT], nodes[DEAL_NODES], text[MONEY_TEXT];
	const struct quote *q = &c->quote;
	struct plan p;

	plan_init(&p, "Keep %s of %s as '%s'", deal_nodes(c->args.nodes, nodes),
		c->sku->alias ? c->sku->alias : c->sku->id, c->name);
	if (q->fills && q->known)
		plan_add(&p, "price", "up to %s, now %s", plan_rate(c->args.limit, gpus, rate),
			plan_rate(quote_average(q), gpus, now));
	else
		plan_add(&p, "price", "up to %s; not all can be bought now: %s", plan_rate(c->args.limit, gpus, rate),
			q->message);
	plan_add(&p, "burn", "up to %s an hour, until you disable it",
		deal_about(plan_burn(c->args.limit, c->args.nodes), text));
	plan_add(&p, "ahead", "at least %s, up to the next full hour, which stays paid when you disable it",
		window_span(c->window * 60, span));
	plan_add(&p, "buyer", "the market, whether this machine runs or not");
	deal_plan_refund(&(struct deal){ .m = c->v.m, .ours = c->v.ours }, &p, false, false);
	plan_add(&p, "SSH keys", "%s", c->keys ? buf_text(&c->key_files) : "none, by '--no-ssh-key'");
	plan_show(c->v.np, &p);
	plan_release(&p);
}

/* ---- What is there --------------------------------------------------------------------- */

/* 0: there is none; 1: the same, and it was printed; or an exit status. */
static int create_check_have(struct creating *c)
{
	struct nanopod *np = c->v.np;
	struct reservation r;
	struct procured have;
	int rc = procured_look(c->v.m, c->name, &have);

	if (rc < 0)
		return market_fail(c->v.m, "cannot look for '%s'", c->name);
	if (rc == 0 && option_given(c->v.o, "ensure") && have.target == c->args.nodes && have.limit == c->args.limit &&
		have.window == c->window && strcmp(have.sku, c->sku->id) == 0) {
		print_note(np, "you have the procurement '%s' already, %s; nothing was changed", c->name,
			procured_state(&have));
		rc = procured_print(&c->v, &have, STATUS_OK);
		return rc ? rc : 1;
	}
	if (rc == 0)
		return print_fail(np, STATUS_CONFLICT,
			"'nanopod procurement show' shows it, 'nanopod procurement set' changes its limit",
			"cannot make '%s': such a procurement exists%s", c->name,
			option_given(c->v.o, "ensure") ? ", and it differs" : "");
	rc = reservation_look(c->v.m, c->name, &r);
	if (rc < 0)
		return market_fail(c->v.m, "cannot look for '%s'", c->name);
	if (rc == 0) {
		reservation_release(&r);
		return print_fail(np, STATUS_CONFLICT,
			"another name makes a new one; 'nanopod extend --auto-extend' keeps a reservation that there "
			"is",
			"cannot make '%s': a reservation has that name", c->name);
	}
	rc = buy_name_free(c->v.m, c->name);
	if (!rc && purchase_check_image(&c->purchase, option_text(c->v.o, "image")))
		rc = market_fail(c->v.m, "cannot start nodes, so nothing was changed");
	return rc;
}

/* ---- Carrying it out ------------------------------------------------------------------- */

static int create_cut_off(struct creating *c, int rc)
{
	int number = rc == CLIENT_STOPPED ? signals_next() : 0;
	enum status status = rc != CLIENT_STOPPED ? purchase_status(rc) : number == SIGTERM ? STATUS_TERM : STATUS_INT;
	struct buf hint;

	buf_init(&hint, CREATE_TEXT);
	if (buf_addf(&hint, "run the same command again; it continues from here and makes nothing twice: '%s'",
		    buf_text(&c->line)))
		command_nomem();
	print_fail(c->v.np, status, buf_text(&hint), "cannot tell whether '%s' was made: %s", c->name,
		c->v.m->fail.text);
	buf_release(&hint);
	return status;
}

static int create_post(struct creating *c)
{
	struct purchase *p = &c->purchase;
	struct model_procurement_new want = { .name = c->name,
		.pool = p->pool,
		.sku = c->sku->id,
		.target = c->args.nodes,
		.min_sell = c->args.limit,
		.max_buy = c->args.limit,
		.window = c->window };
	struct buf body;
	int rc;

	if (purchase_kept(p, "procurement"))
		return 0;
	buf_init(&body, CREATE_TEXT);
	if (wire_put_procurement(&body, &want))
		command_nomem();
	rc = purchase_post(p, "procurement", "/v2/procurements", &body);
	buf_release(&body);
	return rc && rc != MARKET_EXPLAINED ? rc : purchase_keep(p, "procurement", c->name);
}

static int create_carry_out(struct creating *c)
{
	struct purchase *p = &c->purchase;
	const char *image = option_text(c->v.o, "image");
	struct procured have;
	int rc = purchase_pool(p);

	rc = rc ? rc : create_post(c);
	if (rc && purchase_nothing_done(p, rc)) {
		purchase_undo_pool(p);
		purchase_end(p);
		return market_fail(c->v.m, "cannot make '%s'", c->name);
	}
	if (rc)
		return create_cut_off(c, rc);
	/* As many as it keeps: they wait at the market until it has hosts for them. */
	snprintf(p->order.sku, sizeof p->order.sku, "%s", c->sku->id);
	p->order.filled_nodes = c->args.nodes;
	rc = purchase_nodes(p, image, market_clock_now(&c->v.clock));
	if (c->v.m->explain)
		return STATUS_OK;
	if (rc && (rc == CLIENT_STOPPED || !purchase_nothing_done(p, rc)))
		return create_cut_off(c, rc);
	if (rc)
		return print_fail(c->v.np, STATUS_PARTLY,
			"run the same command again to start the rest; 'nanopod procurement delete' with its name ends "
			"it",
			"'%s' is made, but only %zu of its %" PRId64 " nodes: %s", c->name, p->node_count,
			c->args.nodes, c->v.m->fail.text);
	rc = procured_look(c->v.m, c->name, &have);
	if (rc)
		return create_cut_off(c, rc < 0 ? rc : REASON_NOT_FOUND);
	if (p->resumed)
		print_note(c->v.np, "replayed: an earlier command began '%s'", c->name);
	rc = procured_print(&c->v, &have, STATUS_OK);
	if (!rc)
		print_note(c->v.np,
			"next: 'nanopod wait %s', 'nanopod procurement show %s', 'nanopod procurement disable %s'",
			c->name, c->name, c->name);
	/* Not printed: the same command prints it. */
	return rc ? rc : purchase_told(p, rc);
}

static int create_begin(struct creating *c)
{
	struct purchase *p = &c->purchase;
	int rc = purchase_begin(p, buf_text(&c->match), buf_text(&c->line), market_clock_now(&c->v.clock));

	p->own_pool = true;
	rc = rc || !c->userdata ? rc : purchase_keep(p, "userdata", c->userdata);
	rc = rc ? rc : purchase_keep(p, "name", c->name);
	/* Kept last: without it nothing was sent. */
	return rc ? rc : purchase_keep(p, "end", "0");
}

static int create_fresh(struct creating *c, bool explain)
{
	const struct options *o = c->v.o;
	int rc = create_check_have(c);

	rc = rc ? rc : create_ask_quote(c);
	if (rc)
		return rc == 1 ? STATUS_OK : rc;
	create_show_plan(c);
	rc = plan_agree(c->v.np, o, "Keep them?");
	if (rc)
		return rc;
	c->v.m->explain = explain;
	if (create_begin(c)) {
		purchase_end(&c->purchase);
		return print_fail(c->v.np, STATUS_FAILURE, NULL, "%s", c->v.m->fail.text);
	}
	return create_carry_out(c);
}

static int create_go(struct creating *c)
{
	const struct options *o = c->v.o;
	bool explain;
	int rc;

	rc = procuring_view_open(&c->v, c->v.np, o, "cannot keep nodes");
	if (rc)
		return rc;
	explain = c->v.m->explain;
	c->v.m->explain = false;
	purchase_init(&c->purchase, c->v.m);
	retype(c->v.np->running, o, NULL, &c->line);
	rc = skus_find(c->v.np, &c->v.skus, option_text(o, "type"), &c->sku);
	rc = rc ? rc : order_args_price(c->v.np, o, c->sku, &c->args);
	if (rc)
		return rc;
	if (purchase_match(c->v.m, o, "procurement", "", &c->match) ||
		(!option_given(o, "dry-run") && !explain && purchase_find(&c->purchase, buf_text(&c->match), "end")))
		return market_fail(c->v.m, "cannot keep nodes");
	if (!c->purchase.resumed)
		return create_fresh(c, explain);
	print_note(c->v.np, "continues what this command began: '%s'", c->name);
	return create_carry_out(c);
}

int procurement_create(struct nanopod *np, const struct options *o, char **words)
{
	struct creating c = { .v = { .np = np, .o = o } };
	int rc;

	buf_init(&c.match, CREATE_TEXT);
	buf_init(&c.line, CREATE_TEXT);
	buf_init(&c.key_files, CREATE_TEXT);
	if (signals_begin())
		command_nomem();
	rc = create_read(&c, words);
	rc = rc ? rc : create_go(&c);
	purchase_release(&c.purchase);
	procuring_view_close(&c.v);
	signals_end();
	buf_release(&c.match);
	buf_release(&c.line);
	buf_release(&c.key_files);
	free(c.userdata);
	return rc == -1 ? STATUS_OK : rc;
}
