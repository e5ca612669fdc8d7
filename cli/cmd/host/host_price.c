/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host price and floor: what hosts cost, and at least; of all that are named, or of none. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "market/money.h"

enum { BODY_MAX = 256 * 1024, LINES_MAX = 16, NAMES_TEXT = 320 };

static const struct column host_price_columns[] = {
	{ "order", COLUMN_ID, "id of the offer, which it keeps" },
	{ "host", 0, "host on offer, and how many more" },
	{ "was", COLUMN_RIGHT, "price before, in dollars per GPU-hour (per node-hour with --per node)" },
	{ "price", COLUMN_RIGHT, "price now" },
	{ "changed", COLUMN_RAW | COLUMN_WIDE, "false: it had that price already" },
	{ 0 },
};

static const struct column host_floor_columns[] = {
	{ "host", COLUMN_ID, "its name" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "floor", COLUMN_RIGHT,
		"what it is never on sale below, in dollars per GPU-hour (per node-hour with --per node)" },
	{ "price", COLUMN_RIGHT, "what it is on sale at" },
	{ 0 },
};

/* What is asked for, as the market takes it. */
struct host_price_ask {
	bool floor; /* not a price, but the least that it may be */
	char **hosts;
	const char *type, *sku; /* as typed, and its id; NULL: hosts are named */
	int64_t price;
	unsigned gpus; /* of a node; 0: the price is per node */
};

/* 0 or a negative code in m->fail; the answer is m->doc. */
static int host_price_send(struct market_link *m, const struct options *o, const struct host_price_ask *ask,
	bool really)
{
	char room[MONEY_TEXT];
	struct buf body, path;
	struct json j;
	int rc;

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, ask->floor ? "/np/v1/floors" : "/np/v1/prices", NULL, "");
	j = json_to(&body);
	json_begin_object(&j, NULL);
	if (ask->type)
		json_text(&j, "instance_sku", ask->sku);
	else
		json_begin_array(&j, "hosts");
	for (char **w = ask->hosts; !ask->type && *w; w++)
		json_text(&j, NULL, *w);
	if (!ask->type)
		json_end(&j);
	json_text(&j, "price_dollars_per_node_hour", price_wire(ask->price, room));
	if (!really)
		json_bool(&j, "dry_run", true);
	json_end(&j);
	if (j.error)
		command_nomem();
	if (ask->floor)
		rc = market_send(m, "PUT", buf_text(&path), &body, NULL);
	else
		rc = really ? market_make(m, buf_text(&path), &body, buf_text(&body))
			    : market_send(m, "POST", buf_text(&path), &body, NULL);
	buf_release(&body);
	buf_release(&path);
	return rc;
}

static const char *host_price_names(const struct model_repriced *r, char room[NAMES_TEXT])
{
	if (r->hosts > 1)
		snprintf(room, NAMES_TEXT, "%.255s and %" PRId64 " more", r->host, r->hosts - 1);
	else
		snprintf(room, NAMES_TEXT, "%.255s", r->host ? r->host : "");
	return room;
}

static int host_price_fail(struct market_link *m, const struct host_price_ask *ask)
{
	const char *what = ask->floor ? "floor" : "price";

	if (ask->type)
		return market_fail(m, "cannot change the %s of type '%s'", what, ask->type);
	return ask->hosts[1] ? market_fail(m, "cannot change the %s of these hosts", what)
			     : market_fail(m, "cannot change the %s of '%s'", what, ask->hosts[0]);
}

/* A price per GPU-hour means the same for all only where their nodes have as many GPUs. */
static int host_price_mixed(struct market_link *m, const struct host_price_ask *ask, const struct skus *skus,
	const char *sku, const char *host)
{
	const struct sku *s = sku ? skus_by_id(skus, sku) : NULL;

	if (!ask->gpus || !s || s->gpus == ask->gpus)
		return 0;
	return print_fail_field(m->np, STATUS_USAGE, "--per", "name hosts of one type, or add '--per node'",
		"cannot give these hosts one price per GPU-hour: '%s' has %u GPUs a node, '%s' has %u", ask->hosts[0],
		ask->gpus, host ? host : "", s->gpus);
}

/* Asks the market what would change, and says so. *changes: how many offers would. */
static int host_price_plan(struct market_link *m, const struct options *o, const struct host_price_ask *ask,
	const struct skus *skus, size_t *changes)
{
	char was[PLAN_RATE], now[PLAN_RATE], names[LINES_MAX][NAMES_TEXT];
	struct model_repriced r;
	struct plan p;
	size_t lines = 0;
	int rc = 0;

	if (host_price_send(m, o, ask, false))
		return host_price_fail(m, ask);
	plan_init(&p, "Change the price of %s%s", ask->type ? "all hosts of type " : "",
		ask->type               ? ask->type
			: ask->hosts[1] ? "these hosts"
					: ask->hosts[0]);
	for (size_t i = 0; !rc && i < doc_count(m->doc); i++) {
		rc = wire_repriced(m->doc, (long)i, &r, &m->fail);
		if (rc)
			rc = host_price_fail(m, ask);
		else
			rc = host_price_mixed(m, ask, skus, r.sku.id, r.host);
		if (rc || (r.changed && ++*changes && lines == LINES_MAX) || !r.changed)
			continue;
		plan_add(&p, host_price_names(&r, names[lines++]), "%s, was %s", plan_rate(ask->price, ask->gpus, now),
			plan_rate(r.was, ask->gpus, was));
	}
	if (*changes > lines)
		plan_add(&p, "", "and %zu offers more", *changes - lines);
	plan_add(&p, "sold", "what is sold stays sold, at its price");
	plan_add(&p, "offers", "keep their ids and windows; among those of that price they come last");
	if (!rc && *changes)
		plan_show(m->np, &p);
	plan_release(&p);
	return rc;
}

static int host_price_row(struct market_link *m, long at, const struct host_price_ask *ask, struct rows *rows)
{
	char names[NAMES_TEXT], was[CELL_TEXT], now[CELL_TEXT];
	struct model_repriced r;

	if (wire_repriced(m->doc, at, &r, &m->fail))
		return host_price_fail(m, ask);
	rows_add(rows,
		(const char *[]){ r.order, host_price_names(&r, names), cell_price(r.was, ask->gpus, was),
			cell_price(ask->price, ask->gpus, now), cell_bool(r.changed) });
	return 0;
}

static int host_floor_row(struct market_link *m, long at, const struct host_price_ask *ask, struct rows *rows)
{
	char floor[CELL_TEXT], price[CELL_TEXT];
	struct model_host h;

	if (wire_host(m->doc, at, &h, &m->fail))
		return host_price_fail(m, ask);
	rows_add(rows,
		(const char *[]){ h.name, h.id, cell_price(h.floor, ask->gpus, floor),
			cell_price(h.on_sale, ask->gpus, price) });
	return 0;
}

static int host_price_show(struct market_link *m, const struct options *o, const struct host_price_ask *ask)
{
	int rc;
	struct rows *rows = rows_new(m->np, o, ask->floor ? host_floor_columns : host_price_columns, &rc);

	if (!rows)
		return rc;
	for (size_t i = 0; !rc && i < doc_count(m->doc); i++)
		rc = ask->floor ? host_floor_row(m, (long)i, ask, rows) : host_price_row(m, (long)i, ask, rows);
	if (!rc)
		return rows_end(rows);
	rows_drop(rows);
	return rc;
}

/* The GPUs that the price is for: those of the type, or of the first host. */
static int host_price_gpus(struct market_link *m, const struct options *o, struct host_price_ask *ask,
	const struct skus *skus)
{
	const struct sku *s;
	int rc;

	if (!ask->type)
		return admin_gpus(m, o, "price", ask->hosts[0], &ask->gpus);
	rc = skus_find(m->np, skus, ask->type, &s);
	ask->sku = rc ? NULL : s->id;
	if (rc || strcmp(option_text(o, "per"), "node") == 0)
		return rc;
	if (s->bare && option_given(o, "per"))
		return print_fail_field(m->np, STATUS_USAGE, "--per", "add '--per node'",
			"cannot price '%s' per GPU-hour: its nodes have no whole GPU", ask->type);
	ask->gpus = s->gpus;
	return 0;
}

static int host_price_do(struct market_link *m, const struct options *o, struct host_price_ask *ask)
{
	const char *typed = option_text(o, "price");
	struct skus skus = { 0 };
	struct fail why = { 0 };
	size_t changes = 0;
	bool explain = m->explain;
	int rc;

	m->explain = false; /* --explain shows only what changes something */
	rc = skus_load(m, &skus);
	rc = rc ? rc : host_price_gpus(m, o, ask, &skus);
	if (!rc && price_parse(typed, ask->gpus, &ask->price, &why))
		rc = print_fail_field(m->np, STATUS_USAGE, "--price", NULL, "cannot ask for '%s': %s", typed, why.text);
	rc = rc ? rc : host_price_plan(m, o, ask, &skus, &changes);
	m->explain = explain;
	if (!rc && !changes)
		print_note(m->np, "the price is that already: nothing was changed");
	if (!rc && changes) {
		rc = plan_agree(m->np, o, "Change it?");
		if (!rc && host_price_send(m, o, ask, true))
			rc = host_price_fail(m, ask);
	}
	if (!rc && !explain && !option_given(o, "dry-run"))
		rc = host_price_show(m, o, ask);
	skus_release(&skus);
	return rc;
}

/* ---- Floors -------------------------------------------------------------------------------------- */

/* Before anything is changed: are they of one size? */
static int host_floor_check(struct market_link *m, const struct options *o, const struct host_price_ask *ask,
	const struct skus *skus)
{
	struct model_host h;
	int rc = 0;

	if (host_price_send(m, o, ask, false))
		return host_price_fail(m, ask);
	for (size_t i = 0; !rc && i < doc_count(m->doc); i++)
		rc = wire_host(m->doc, (long)i, &h, &m->fail) ? host_price_fail(m, ask)
							      : host_price_mixed(m, ask, skus, h.sku.id, h.name);
	return rc;
}

static int host_floor_do(struct market_link *m, const struct options *o, struct host_price_ask *ask)
{
	const char *typed = option_text(o, "price");
	struct skus skus = { 0 };
	struct fail why = { 0 };
	bool explain = m->explain, none = strcmp(typed, "none") == 0;
	int rc;

	m->explain = false;
	rc = skus_load(m, &skus);
	rc = rc ? rc : host_price_gpus(m, o, ask, &skus);
	if (!rc && !none && price_parse(typed, ask->gpus, &ask->price, &why))
		rc = print_fail_field(m->np, STATUS_USAGE, "--price", NULL, "cannot set a floor of '%s': %s", typed,
			why.text);
	rc = rc ? rc : host_floor_check(m, o, ask, &skus);
	m->explain = explain;
	if (!rc && !option_given(o, "dry-run") && host_price_send(m, o, ask, true))
		rc = host_price_fail(m, ask);
	else if (!rc)
		rc = host_price_show(m, o, ask);
	skus_release(&skus);
	return rc;
}

/* ---- Both ---------------------------------------------------------------------------------------- */

static int host_price_run(struct nanopod *np, const struct options *o, struct host_price_ask *ask)
{
	const char *price = option_text(o, "price");
	struct market_link *m = NULL;
	struct fail why = { 0 };
	int64_t ignored;
	int rc;

	if (!rows_check(np, o, ask->floor ? host_floor_columns : host_price_columns, &rc))
		return rc;
	if (!price)
		return print_fail_field(np, STATUS_USAGE, "--price", "'nanopod price' shows what such time costs now",
			ask->floor ? "--price is required, e.g. -p 1.20, or -p none"
				   : "--price is required, e.g. -p 1.90");
	if ((ask->type != NULL) == (ask->hosts[0] != NULL))
		return print_fail_field(np, STATUS_USAGE, "--type", "e.g. 'nanopod host price rack1-7 -p 1.90'",
			ask->type ? "cannot take hosts and --type: --type means all your hosts of it"
				  : "whose price? name hosts, or add --type for all your hosts of a type");
	if (!(ask->floor && strcmp(price, "none") == 0) && price_parse(price, 1, &ignored, &why))
		return print_fail_field(np, STATUS_USAGE, "--price", NULL, "cannot ask for '%s': %s", price, why.text);
	rc = ask->floor ? 0 : plan_can_ask(np, o);
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = ask->floor ? host_floor_do(m, o, ask) : host_price_do(m, o, ask);
	market_sign_out(m);
	return rc;
}

int host_price(struct nanopod *np, const struct options *o, char **words)
{
	return host_price_run(np, o, &(struct host_price_ask){ .hosts = words, .type = option_text(o, "type") });
}

int host_floor(struct nanopod *np, const struct options *o, char **words)
{
	return host_price_run(np, o,
		&(struct host_price_ask){ .floor = true, .hosts = words, .type = option_text(o, "type") });
}
