/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin host and offer: what is for sale; for operators and owners of hosts. */
#include <inttypes.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/trade/rows_list.h"
#include "market/money.h"
#include "market/when.h"

enum { BODY_MAX = 256 * 1024 };

/* ---- Hosts ----------------------------------------------------------------------------- */

static const struct column host_columns[] = {
	{ "host", COLUMN_ID, "its name" },
	{ "id", 0, "its id" },
	{ "type", 0, "type of its nodes" },
	{ "state", COLUMN_STATE, "up, down or retired" },
	{ "starts", COLUMN_WIDE, "start of the time that can be sold" },
	{ "ends", 0, "end of that time; none: no end" },
	{ "pool", COLUMN_WIDE, "pool that its time is sold from" },
	{ 0 },
};

static int add_host_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_host h;
	char start[CELL_TEXT], end[CELL_TEXT];
	int rc = wire_host(d, at, &h, f);

	if (!rc)
		rows_add(l->rows, (const char *[]){ h.name, h.id, h.sku.name ? h.sku.name : h.sku.id, h.state,
			cell_time(l->np, h.start, start), cell_time(l->np, h.end, end), h.pool });
	return rc;
}

int admin_host_list(struct nanopod *np, const struct options *o, char **words)
{
	const struct rows_list hosts = { .command = "admin",
		.what = "the hosts",
		.columns = host_columns,
		.add = add_host_row,
		.none = "no hosts; 'nanopod admin host add NAME -t TYPE' adds one" };

	(void)words;
	return admin_list(np, o, "/np/v1/hosts", hosts);
}

int admin_host_add(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf body, path;
	struct json j;
	int64_t from, until;
	int rc = admin_time(np, o, "from", &from);

	rc = rc ? rc : admin_time(np, o, "until", &until);
	if (rc)
		return rc;
	if (!option_given(o, "type"))
		return print_fail_field(np, STATUS_USAGE, "--type", "'nanopod admin sku list' shows the types",
			"cannot register the host '%s': --type is required", words[0]);
	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts", NULL, "");
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "name", words[0]);
	json_text(&j, "instance_sku", option_text(o, "type"));
	if (from)
		json_int(&j, "start_at", from);
	if (until)
		json_int(&j, "end_at", until);
	json_end(&j);
	if (j.error)
		command_nomem();
	rc = admin_begin(np, o, &m);
	if (!rc)
		rc = market_make(m, buf_text(&path), &body, words[0])
			? market_fail(m, "cannot register the host '%s'", words[0])
			: rows_one(m, o, host_columns, add_host_row, "the host");
	buf_release(&body);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

static int set_down(struct market_link *m, const struct options *o, const char *host, bool down)
{
	const char *reason = down ? option_text(o, "reason") : NULL;
	struct buf body, path;
	struct json j;
	int rc;

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts/", host, "");
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_bool(&j, "down", down);
	if (reason)
		json_text(&j, "reason", reason);
	json_end(&j);
	if (j.error)
		command_nomem();
	rc = market_send(m, "PATCH", buf_text(&path), &body, NULL)
		? market_fail(m, "cannot mark '%s' as %s", host, down ? "down" : "up")
		: rows_one(m, o, host_columns, add_host_row, "the host");
	buf_release(&body);
	buf_release(&path);
	return rc;
}

/* What is sold on the host, who hears of it, and what it costs. 0 or an exit status. */
static int plan_down(struct market_link *m, const struct options *o, const char *host)
{
	char until[CELL_TEXT], money[MONEY_TEXT];
	struct model_drain d = { 0 };
	bool explain = m->explain, old;
	struct plan p;
	int rc;

	m->explain = false; /* --explain shows only what changes something */
	rc = host_drain_ask(m, o, host, &(struct host_drain_ask){ 0 }, &d);
	old = rc && host_drain_unknown(m, o, host);
	m->explain = explain;
	if (rc && !old)
		return market_fail(m, "cannot mark '%s' as down", host);
	plan_init(&p, "Mark '%s' as down", host);
	if (old)
		plan_add(&p, "sold",
			"unknown: this market is too old to say it; buyers get time back while it is down");
	else if (d.leases)
		plan_add(&p, "sold", "%" PRId64 " lease%s, until %s", d.leases, d.leases == 1 ? "" : "s",
			cell_time(m->np, d.sold_until, until));
	else
		plan_add(&p, "sold", "nothing");
	if (d.hourly)
		plan_add(&p, "refund",
			"%s an hour of its owner's sales, until it is up; whoever has it now is told at once",
			money_text(d.hourly, money));
	plan_add(&p, "new sales", "none, until it is up; what is on sale stays in the book");
	if (!old)
		plan_add(&p, "instead", "'nanopod host drain %s' sells no more and lets what is sold run out", host);
	plan_add(&p, "then", "'nanopod admin host up %s'", host);
	plan_show(m->np, &p);
	plan_release(&p);
	return plan_agree(m->np, o, "Mark it as down?");
}

int admin_host_down(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int rc = plan_can_ask(np, o);

	rc = rc ? rc : admin_begin(np, o, &m);
	if (rc)
		return rc;
	rc = plan_down(m, o, words[0]);
	if (!rc)
		rc = set_down(m, o, words[0], true);
	market_sign_out(m);
	return rc;
}

int admin_host_up(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int rc = admin_begin(np, o, &m);

	if (!rc)
		rc = set_down(m, o, words[0], false);
	market_sign_out(m);
	return rc;
}

int admin_host_retire(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m;
	struct buf path;
	int rc = admin_begin(np, o, &m);

	buf_init(&path, BODY_MAX);
	for (; !rc && *words; words++) {
		buf_clear(&path);
		admin_path(&path, o, "/np/v1/hosts/", *words, "");
		if (market_send(m, "DELETE", buf_text(&path), NULL, NULL))
			rc = market_fail(m, "cannot retire the host '%s'", *words);
		else
			print_note(np, "retired the host '%s'", *words);
	}
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

/* ---- Offers ---------------------------------------------------------------------------- */

static const struct column offer_columns[] = {
	{ "order", COLUMN_ID, "id of the sell order: 'nanopod cancel' withdraws it" },
	{ "host", 0, "host on offer" },
	{ "price", COLUMN_RIGHT, "in dollars per GPU-hour (per node-hour with --per node)" },
	{ "status", COLUMN_STATE, "standing until sold or ended" },
	{ "starts", 0, "start" },
	{ "ends", 0, "end" },
	{ 0 },
};

int admin_gpus(struct market_link *m, const struct options *o, const char *what, const char *host, unsigned *gpus)
{
	struct model_host h;
	struct model_sku s;
	struct buf path;
	int rc;

	*gpus = 0;
	if (strcmp(option_text(o, "per"), "node") == 0)
		return 0;
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts/", host, "");
	rc = market_get(m, "%s", buf_text(&path));
	rc = rc ? rc : wire_host(m->doc, WIRE_WHOLE, &h, &m->fail);
	if (!rc) {
		buf_clear(&path);
		if (buf_adds(&path, "/v2/instance_skus/") || client_quote(&path, h.sku.id ? h.sku.id : ""))
			command_nomem();
		rc = market_get(m, "%s", buf_text(&path));
		rc = rc ? rc : wire_sku(m->doc, WIRE_WHOLE, &s, &m->fail);
	}
	buf_release(&path);
	if (rc)
		return market_fail(m, "cannot %s '%s'", what, host);
	if ((s.gpus < 1 || s.share) && !option_given(o, "per"))
		return 0;
	if (s.share)
		return print_fail_field(m->np, STATUS_USAGE, "--per", "add '--per node'",
			"cannot %s '%s' per GPU-hour: its nodes have %s of a GPU", what, host, s.share);
	if (s.gpus < 1 || s.gpus > 1024)
		return print_fail_field(m->np, STATUS_USAGE, "--per", "add '--per node'",
			"cannot %s '%s' per GPU-hour: its nodes have no GPUs", what, host);
	*gpus = (unsigned)s.gpus;
	return 0;
}

struct rows *admin_offers_new(struct nanopod *np, const struct options *o, int *rc)
{
	return rows_new(np, o, offer_columns, rc);
}

int admin_offers_add(struct market_link *m, struct rows *r, const char *host, unsigned gpus)
{
	struct model_order order;
	char price[CELL_TEXT], start[CELL_TEXT], end[CELL_TEXT];

	if (wire_order(m->doc, WIRE_WHOLE, &order, &m->fail))
		return market_fail(m, "cannot show the offer");
	rows_add(r, (const char *[]){ order.id, host, cell_price(order.limit, gpus, price), order.status_text,
		order.window.count ? cell_time(m->np, order.window.list[0].start, start) : NULL,
		order.window.count ? cell_time(m->np, order.window.list[order.window.count - 1].end, end) : NULL });
	return 0;
}

int admin_offer_send(struct market_link *m, const struct options *o, const char *host, int64_t price, int64_t from,
	int64_t until)
{
	struct buf body, path;
	struct json j;
	char room[MONEY_TEXT];
	int rc;

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts/", host, "/offers");
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "price_dollars_per_node_hour", price_wire(price, room));
	if (from)
		json_int(&j, "start_at", from);
	if (until)
		json_int(&j, "end_at", until);
	json_end(&j);
	if (j.error)
		command_nomem();
	rc = market_make(m, buf_text(&path), &body, buf_text(&body));
	buf_release(&body);
	buf_release(&path);
	return rc;
}

int admin_place(struct market_link *m, const struct options *o, char **words, unsigned gpus, int64_t from,
	int64_t until)
{
	struct fail why = { 0 };
	struct rows *r;
	int64_t price;
	int rc;

	if (price_parse(words[1], gpus, &price, &why))
		return print_fail(m->np, STATUS_USAGE, NULL, "cannot offer '%s': %s", words[0], why.text);
	if (admin_offer_send(m, o, words[0], price, from, until))
		return market_fail(m, "cannot offer '%s'", words[0]);
	r = admin_offers_new(m->np, o, &rc);
	if (!r)
		return rc;
	rc = admin_offers_add(m, r, words[0], gpus);
	return rc ? rc : rows_end(r);
}

int admin_offer(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct fail why = { 0 };
	int64_t from, until, price;
	unsigned gpus = 0;
	int rc = admin_time(np, o, "from", &from);

	rc = rc ? rc : admin_time(np, o, "until", &until);
	if (!rc && price_parse(words[1], 1, &price, &why)) /* before asking the market */
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot offer '%s': %s", words[0], why.text);
	rc = rc ? rc : admin_begin(np, o, &m);
	rc = rc ? rc : admin_gpus(m, o, "offer", words[0], &gpus);
	if (!rc && m->explain && !gpus && strcmp(option_text(o, "per"), "node") != 0)
		print_note(np, "then the offer, at %s times the GPUs that a node of that type has", words[1]);
	else
		rc = rc ? rc : admin_place(m, o, words, gpus, from, until);
	market_sign_out(m);
	return rc;
}
