/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin sku, host and offer: what is for sale; for operators and owners of hosts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/trade/rows_list.h"
#include "cli/frame/value.h"
#include "market/money.h"
#include "market/when.h"

enum { BODY_MAX = 256 * 1024, PROPERTY_KEY = 64 };

/* ---- SKUs ------------------------------------------------------------------------------ */

static const struct column sku_columns[] = {
	{ "type", COLUMN_ID, "its alias" },
	{ "id", 0, "its id" },
	{ "gpus", COLUMN_RIGHT | COLUMN_RAW, "accelerators of a node" },
	{ "gpu", 0, "their model" },
	{ "region", 0, "where they are" },
	{ "zone", COLUMN_WIDE, "which part of the region" },
	{ "network", COLUMN_WIDE, "RDMA between nodes" },
	{ "vcpus", COLUMN_RIGHT | COLUMN_RAW, "virtual CPUs of a node" },
	{ "overcommit", COLUMN_RIGHT | COLUMN_RAW | COLUMN_WIDE, "how many virtual CPUs share a core" },
	{ "memory", COLUMN_RIGHT, "of a node; bytes where a program reads it" },
	{ "storage", COLUMN_RIGHT, "local storage of a node" },
	{ "share", COLUMN_RIGHT | COLUMN_WIDE, "part of the GPU that a node gets; empty: all of it" },
	{ "gpu_memory", COLUMN_RIGHT | COLUMN_WIDE, "memory that each GPU has at least" },
	{ 0 },
};

static int show_sku(const struct nanopod *np, struct rows *r, const struct model_sku *s)
{
	char gpus[CELL_TEXT], vcpus[CELL_TEXT], shared[CELL_TEXT], memory[CELL_TEXT], disk[CELL_TEXT], gpu[CELL_TEXT];

	rows_add(r,
		(const char *[]){ s->alias ? s->alias : s->id, s->id, cell_int(s->gpus, gpus), s->accelerator,
			s->region, s->zone, s->rdma, cell_int(s->vcpus, vcpus), cell_int(s->overcommit, shared),
			cell_bytes(np, s->memory, memory), cell_bytes(np, s->storage, disk), s->share,
			cell_bytes(np, s->gpu_memory, gpu) });
	return 0;
}

static int add_sku_row(void *arg, struct doc *d, long at, struct fail *f)
{
	const struct listing *l = arg;
	struct model_sku s;
	int rc = wire_sku(d, at, &s, f);

	return rc ? rc : show_sku(l->np, l->rows, &s);
}

int admin_sku_list(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list types = { "admin", "/v2/instance_skus?limit=200", "the types", sku_columns,
		add_sku_row, "no types; 'nanopod admin sku add NAME --gpus N' adds one" };

	(void)words;
	return rows_list(np, o, &types);
}

/* The type that the market has just answered with. */
static int show_made(struct market_link *m, const struct options *o)
{
	struct model_sku s;
	struct rows *r;
	int rc;

	if (wire_sku(m->doc, WIRE_WHOLE, &s, &m->fail))
		return market_fail(m, "cannot show the type");
	r = rows_new(m->np, o, sku_columns, &rc);
	if (!r)
		return rc;
	show_sku(m->np, r, &s);
	return rows_end(r);
}

/* What the market keeps as members of `requires`; of a list each value is given by an option of its own. */
enum property_kind { PROPERTY_TEXT, PROPERTY_NUMBER, PROPERTY_FLAG, PROPERTY_LIST, PROPERTY_FLOORS };

static const struct property {
	const char *key;
	enum property_kind kind;
	bool required; /* a member of `requires` */
} properties[] = {
	{ "num_vcpus", PROPERTY_NUMBER, false },
	{ "memory", PROPERTY_NUMBER, false },
	{ "local_storage", PROPERTY_NUMBER, false },
	{ "supports_public_ipv4", PROPERTY_FLAG, false },
	{ "gpu_vendor", PROPERTY_TEXT, true },
	{ "gpu_memory", PROPERTY_NUMBER, true },
	{ "share", PROPERTY_TEXT, true },
	{ "inodes", PROPERTY_NUMBER, true },
	{ "network_mbps", PROPERTY_NUMBER, true },
	{ "overcommit", PROPERTY_NUMBER, true },
	{ "features", PROPERTY_LIST, true },
	{ "verified", PROPERTY_FLAG, true },
	{ "verify_hours", PROPERTY_NUMBER, true },
	{ "recheck_percent", PROPERTY_NUMBER, true },
};

/* floor.disk_write=500: one member of `floors` for each. */
static const struct property property_floors = { "floor.", PROPERTY_FLOORS, true };

/* KEY=VALUE: the row of the key (of any other: a plain text), and where the value is. NULL: refused. */
static const struct property *property_of(struct nanopod *np, const char *typed, const char **value)
{
	static const struct property other = { "", PROPERTY_TEXT, false };
	size_t len = strcspn(typed, "=");

	if (!typed[len] || !len || len >= PROPERTY_KEY) {
		print_fail_field(np, STATUS_USAGE, "--property", "write e.g. region=eu-north1",
			"cannot understand the property '%.60s'", typed);
		return NULL;
	}
	*value = typed + len + 1;
	if (strncmp(typed, property_floors.key, strlen(property_floors.key)) == 0)
		return &property_floors;
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
		if (strlen(properties[i].key) == len && memcmp(properties[i].key, typed, len) == 0)
			return &properties[i];
	return &other;
}

/* As the market expects it: sizes and counts as numbers, yes and no as booleans, all else as text; empty removes it. */
static int put_property(struct nanopod *np, struct json *j, const struct property *p, const char *typed,
	const char *value)
{
	struct fail why = { 0 };
	uint64_t size = 0;
	char key[PROPERTY_KEY];
	bool yes;

	snprintf(key, sizeof key, "%.*s", (int)strcspn(typed, "="), typed);
	if (!*value)
		json_nothing(j, key);
	else if (p->kind == PROPERTY_NUMBER && (value_size(value, &size, &why) || size > INT64_MAX))
		return print_fail_field(np, STATUS_USAGE, "--property", NULL, "cannot set '%s': %s", key, why.text);
	else if (p->kind == PROPERTY_NUMBER)
		json_int(j, key, (int64_t)size);
	else if (p->kind == PROPERTY_FLAG && value_bool(value, &yes, &why))
		return print_fail_field(np, STATUS_USAGE, "--property", NULL, "cannot set '%s': %s", key, why.text);
	else if (p->kind == PROPERTY_FLAG)
		json_bool(j, key, yes);
	else
		json_text(j, key, value);
	return 0;
}

/* All values of a list, from the n-th option on. */
static void put_property_list(struct json *j, const struct options *o, const struct property *p, size_t n)
{
	size_t len = strlen(p->key);
	const char *typed;

	json_begin_array(j, p->key);
	for (; (typed = option_at(o, "property", n)); n++)
		if (strncmp(typed, p->key, len) == 0 && typed[len] == '=' && typed[len + 1])
			json_text(j, NULL, typed + len + 1);
	json_end(j);
}

/* All of them together: the market replaces those that were there. */
static int put_property_floors(struct nanopod *np, struct json *j, const struct options *o)
{
	static const struct property number = { "", PROPERTY_NUMBER, true };
	size_t len = strlen(property_floors.key);
	const char *typed;
	int rc = 0;

	json_begin_object(j, "floors");
	for (size_t n = 0; !rc && (typed = option_at(o, "property", n)); n++)
		if (strncmp(typed, property_floors.key, len) == 0 && typed[strcspn(typed, "=")])
			rc = put_property(np, j, &number, typed + len, typed + strcspn(typed, "=") + 1);
	json_end(j);
	return rc;
}

/* The properties of the SKU itself, or those in `requires`. */
static int put_properties(struct nanopod *np, const struct options *o, struct json *j, bool required)
{
	const char *typed, *value;
	bool begun = false, listed = false, floors = false;
	int rc = 0;

	for (size_t i = 0; !rc && (typed = option_at(o, "property", i)); i++) {
		const struct property *p = property_of(np, typed, &value);

		if (!p)
			return STATUS_USAGE;
		if (p->required != required)
			continue;
		if (required && !begun)
			json_begin_object(j, "requires");
		begun = true;
		if (p->kind == PROPERTY_FLOORS)
			rc = floors ? 0 : put_property_floors(np, j, o);
		else if (p->kind != PROPERTY_LIST)
			rc = put_property(np, j, p, typed, value);
		else if (!listed)
			put_property_list(j, o, p, i);
		listed = listed || p->kind == PROPERTY_LIST;
		floors = floors || p->kind == PROPERTY_FLOORS;
	}
	if (required && begun)
		json_end(j);
	return rc;
}

/* {"alias":…,"gpus":…,"properties":{…}}; alias NULL: unchanged. */
static int put_sku(struct nanopod *np, const struct options *o, const char *alias, bool gpus, struct buf *body)
{
	struct json j = json_to(body);
	int rc;

	json_begin_object(&j, NULL);
	if (alias)
		json_text(&j, "alias", alias);
	if (gpus)
		json_int(&j, "gpus", option_int(o, "gpus"));
	json_begin_object(&j, "properties");
	rc = put_properties(np, o, &j, false);
	rc = rc ? rc : put_properties(np, o, &j, true);
	json_end(&j);
	json_end(&j);
	if (j.error)
		command_nomem();
	return rc;
}

int admin_sku_add(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf body;
	int rc;

	if (!option_given(o, "gpus"))
		return print_fail_field(np, STATUS_USAGE, "--gpus", "--gpus 0 means none",
			"cannot create the type '%s': --gpus is required", words[0]);
	buf_init(&body, BODY_MAX);
	rc = put_sku(np, o, words[0], true, &body);
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_make(m, "/np/v1/skus", &body, buf_text(&body))
			? market_fail(m, "cannot create the type '%s'", words[0])
			: show_made(m, o);
	buf_release(&body);
	market_sign_out(m);
	return rc;
}

int admin_sku_set(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf body, path;
	int rc;

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/skus/", words[0], "");
	rc = put_sku(np, o, option_text(o, "alias"), false, &body);
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_send(m, "PATCH", buf_text(&path), &body, NULL)
			? market_fail(m, "cannot change the type '%s'", words[0])
			: show_made(m, o);
	buf_release(&body);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

/* ---- Hosts ----------------------------------------------------------------------------- */

static const struct column host_columns[] = {
	{ "host", COLUMN_ID, "its name" },
	{ "id", 0, "its id" },
	{ "type", 0, "type of its nodes" },
	{ "state", 0, "up, down or retired" },
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
	struct rows_list hosts = { .command = "admin",
		.what = "the hosts",
		.columns = host_columns,
		.add = add_host_row,
		.none = "no hosts; 'nanopod admin host add NAME -t TYPE' adds one" };
	struct buf path;
	int rc;

	(void)words;
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts", NULL, "");
	hosts.path = buf_text(&path);
	rc = rows_list(np, o, &hosts);
	buf_release(&path);
	return rc;
}

static int show_host(struct market_link *m, const struct options *o)
{
	struct listing l = { .np = m->np };
	int rc;

	l.rows = rows_new(m->np, o, host_columns, &rc);
	if (!l.rows)
		return rc;
	if (add_host_row(&l, m->doc, WIRE_WHOLE, &m->fail)) {
		rows_end(l.rows);
		return market_fail(m, "cannot show the host");
	}
	return rows_end(l.rows);
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
			: show_host(m, o);
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
		: show_host(m, o);
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
		plan_add(&p, "refund", "%s an hour of its owner's sales, until it is up; whoever has it now is told at once",
			money_text(d.hourly, money));
	plan_add(&p, "new sales", "none, until it is up; what is on sale stays in the book");
	if (!old)
		plan_add(&p, "instead", "'nanopod host drain %s' sells no more and lets what is sold run out", host);
	plan_add(&p, "then", "'nanopod admin host up %s'", host);
	plan_show(m->np, &p);
	plan_release(&p);
	return option_given(o, "dry-run") || explain ? 0 : plan_agree(m->np, o, "Mark it as down?");
}

int admin_host_down(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int rc = option_given(o, "dry-run") ? 0 : plan_can_ask(np, o);

	rc = rc ? rc : admin_begin(np, o, &m);
	if (rc)
		return rc;
	rc = plan_down(m, o, words[0]);
	if (!rc && !option_given(o, "dry-run"))
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
	{ "status", 0, "standing until sold or ended" },
	{ "starts", 0, "start" },
	{ "ends", 0, "end" },
	{ 0 },
};

int admin_gpus(struct market_link *m, const struct options *o, const char *host, unsigned *gpus)
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
		return market_fail(m, "cannot offer '%s'", host);
	if (s.gpus < 1 && !option_given(o, "per"))
		return 0;
	if (s.gpus < 1 || s.gpus > 1024)
		return print_fail_field(m->np, STATUS_USAGE, "--per", "add '--per node'",
			"cannot offer '%s' per GPU-hour: its nodes have no GPUs", host);
	*gpus = (unsigned)s.gpus;
	return 0;
}

static int show_offer(struct market_link *m, const struct options *o, const char *host, unsigned gpus)
{
	struct model_order order;
	char price[CELL_TEXT], start[CELL_TEXT], end[CELL_TEXT];
	struct rows *r;
	int rc;

	if (wire_order(m->doc, WIRE_WHOLE, &order, &m->fail))
		return market_fail(m, "cannot show the offer");
	r = rows_new(m->np, o, offer_columns, &rc);
	if (!r)
		return rc;
	rows_add(r, (const char *[]){ order.id, host, cell_price(order.limit, gpus, price), order.status_text,
		order.window.count ? cell_time(m->np, order.window.list[0].start, start) : NULL,
		order.window.count ? cell_time(m->np, order.window.list[order.window.count - 1].end, end) : NULL });
	return rows_end(r);
}

int admin_place(struct market_link *m, const struct options *o, char **words, unsigned gpus, int64_t from,
	int64_t until)
{
	struct fail why = { 0 };
	struct buf body, path;
	struct json j;
	char room[MONEY_TEXT];
	int64_t price;
	int rc;

	if (price_parse(words[1], gpus, &price, &why))
		return print_fail(m->np, STATUS_USAGE, NULL, "cannot offer '%s': %s", words[0], why.text);
	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts/", words[0], "/offers");
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
	rc = market_make(m, buf_text(&path), &body, buf_text(&body)) ? market_fail(m, "cannot offer '%s'", words[0])
		: show_offer(m, o, words[0], gpus);
	buf_release(&body);
	buf_release(&path);
	return rc;
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
	rc = rc ? rc : admin_gpus(m, o, words[0], &gpus);
	if (!rc && m->explain && !gpus && strcmp(option_text(o, "per"), "node") != 0)
		print_note(np, "then the offer, at %s times the GPUs that a node of that type has", words[1]);
	else
		rc = rc ? rc : admin_place(m, o, words, gpus, from, until);
	market_sign_out(m);
	return rc;
}
