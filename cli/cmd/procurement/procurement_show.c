/* SPDX-License-Identifier: Apache-2.0 */
/* Procurements as the market tells them, and as rows, with what they cost so far. */
#include "cli/cmd/procurement/procurement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/remember.h"
#include "cli/trade/window.h"
#include "market/money.h"

const struct column procurement_columns[] = {
	{ "procurement", COLUMN_ID, "its name" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "reservation", COLUMN_WIDE, "the reservation that it keeps" },
	{ "state", COLUMN_STATE,
		"running (it has its nodes as long ahead as asked for), pending (it lacks some), disabled" },
	{ "type", 0, "type of node" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "how many hosts it has now" },
	{ "target", COLUMN_RAW | COLUMN_RIGHT, "how many nodes it keeps" },
	{ "limit", COLUMN_RIGHT, "the most that it pays, in dollars per GPU-hour (per node-hour without GPUs)" },
	{ "ahead", COLUMN_RIGHT | COLUMN_MINOR, "how long ahead it buys" },
	{ "until", 0, "the end of what is bought" },
	{ "spent", COLUMN_RIGHT, "what its orders cost so far, in dollars" },
	{ "why", COLUMN_TEXT | COLUMN_UNDER, "why it lacks nodes" },
	{ "spent_micros", COLUMN_RAW | COLUMN_HIDDEN, "spent, in millionths of a dollar" },
	{ "limit_micros_per_node_hour", COLUMN_RAW | COLUMN_HIDDEN, "limit in millionths of a dollar per node-hour" },
	{ "ahead_minutes", COLUMN_RAW | COLUMN_HIDDEN, "ahead, in minutes" },
	{ 0 },
};

int procuring_view_open(struct procuring_view *v, struct nanopod *np, const struct options *o, const char *cannot)
{
	bool explain;
	int rc;

	*v = (struct procuring_view){ .np = np, .o = o };
	rc = market_sign_in(np, o, 0, &v->m);
	if (rc)
		return rc;
	explain = v->m->explain;
	v->m->explain = false; /* what is only read is not what --explain is about */
	rc = market_clock_read(v->m, &v->clock);
	v->ours = rc == 1;
	rc = rc < 0 ? market_fail(v->m, "%s", cannot) : 0;
	rc = rc ? rc : skus_load(v->m, &v->skus);
	v->m->explain = explain;
	return rc;
}

void procuring_view_close(struct procuring_view *v)
{
	skus_release(&v->skus);
	market_sign_out(v->m);
}

static void procured_copy(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%s", text ? text : "");
}

int procured_take(struct procured *p, struct doc *d, long at, struct fail *f)
{
	struct model_procurement one;
	int rc = wire_procurement(d, at, &one, f);

	if (rc)
		return rc;
	*p = (struct procured){ .target = one.target,
		.limit = one.max_buy,
		.window = one.window,
		.enabled = one.enabled,
		.whole = !one.state || strcmp(one.state, "info") == 0 };
	procured_copy(p->id, sizeof p->id, one.id);
	procured_copy(p->name, sizeof p->name, one.name ? one.name : one.id);
	procured_copy(p->pool, sizeof p->pool, one.pool.id);
	procured_copy(p->pool_name, sizeof p->pool_name, one.pool.name ? one.pool.name : one.pool.id);
	procured_copy(p->sku, sizeof p->sku, one.sku.id);
	procured_copy(p->why, sizeof p->why, one.message);
	return 0;
}

int procured_look(struct market_link *m, const char *name, struct procured *out)
{
	int rc = market_get(m, "/v2/procurements/%s", name);

	if (rc == REASON_NOT_FOUND)
		return 1;
	return rc ? rc : procured_take(out, m->doc, WIRE_WHOLE, &m->fail);
}

int procured_find(struct market_link *m, const char *name, struct procured *out)
{
	struct fail f = { 0 };
	int rc;

	if (reservation_check_name(name, &f))
		return print_fail(m->np, STATUS_USAGE, NULL, "'%.60s' cannot be the name of a procurement: %s", name,
			f.text);
	rc = procured_look(m, name, out);
	if (rc == 1)
		return print_fail(m->np, STATUS_NOTFOUND, "'nanopod procurement list' shows yours",
			"no procurement '%s'", name);
	return rc ? market_fail(m, "cannot look for '%s'", name) : 0;
}

const char *procured_state(const struct procured *p)
{
	return !p->enabled ? "disabled" : p->whole ? "running" : "pending";
}

static int procured_add_order(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_order o;
	int64_t *sum = arg;
	int rc = wire_order(d, at, &o, f);

	if (!rc && o.filled_total != MODEL_NONE && money_add(*sum, o.filled_total, sum))
		rc = fail_set(f, -EPROTO, "the sum of its orders is too large");
	return rc;
}

int procured_row(struct procuring_view *v, struct rows *r, const struct procured *p)
{
	const struct sku *sku = skus_by_id(&v->skus, p->sku);
	const struct reservation_part *part = NULL;
	int64_t now = market_clock_now(&v->clock), spent = 0, until = 0;
	char path[160], span[WINDOW_TEXT], c[8][CELL_TEXT];
	struct reservation held = { 0 };
	bool why = p->enabled && !p->whole;
	int rc;

	snprintf(path, sizeof path, "/v2/orders?limit=200&side=buy&procurement=%s", p->id);
	rc = market_each(v->m, path, procured_add_order, &spent);
	rc = rc ? rc : reservation_look(v->m, p->pool, &held);
	if (rc)
		return rc < 0 ? rc : fail_set(&v->m->fail, REASON_NOT_FOUND, "its reservation no longer exists");
	part = reservation_part(&held, p->sku);
	until = part ? part_end(part) : 0;
	rows_add(r,
		(const char *[]){ p->name, p->id, p->pool_name, procured_state(p),
			sku && sku->alias ? sku->alias : p->sku, cell_int(part ? part_nodes_at(part, now) : 0, c[0]),
			cell_int(p->target, c[1]), cell_price(p->limit, sku ? sku->gpus : 0, c[2]),
			window_span(p->window * 60, span), cell_time(v->np, until > now ? until : 0, c[3]),
			cell_money(v->np, spent, c[4]), why && *p->why ? p->why : NULL, cell_int(spent, c[5]),
			cell_int(p->limit * 60, c[6]), cell_int(p->window, c[7]) });
	reservation_release(&held);
	return 0;
}

int procured_print(struct procuring_view *v, const struct procured *p, int status)
{
	struct rows *r;
	int rc;

	remember_one(REMEMBER_RESERVATIONS, v->m->url, p->pool_name, NULL);
	r = rows_new(v->np, v->o, procurement_columns, &rc);
	if (!r)
		return rc;
	if (procured_row(v, r, p)) {
		rows_drop(r);
		return market_fail(v->m, "cannot show '%s'", p->name);
	}
	rc = rows_end(r);
	return rc ? rc : status;
}

struct procured_list {
	struct procured *at;
	size_t count;
};

static int procured_add(void *arg, struct doc *d, long at, struct fail *f)
{
	struct procured_list *l = arg;

	if (!(l->at = reallocarray(l->at, l->count + 1, sizeof *l->at)))
		command_nomem();
	return procured_take(&l->at[l->count++], d, at, f);
}

int procurement_list(struct nanopod *np, const struct options *o, char **words)
{
	struct procured_list l = { .count = 0 };
	struct procuring_view v;
	struct rows *r = NULL;
	int rc, failed = 0;

	(void)words;
	if (!rows_check(np, o, procurement_columns, &rc))
		return rc;
	rc = procuring_view_open(&v, np, o, "cannot list procurements");
	if (!rc && market_each(v.m, "/v2/procurements?limit=50", procured_add, &l))
		rc = market_fail(v.m, "cannot list procurements");
	else if (!rc)
		r = rows_new(np, o, procurement_columns, &rc);
	for (size_t i = 0; r && !failed && i < l.count; i++)
		failed = procured_row(&v, r, &l.at[i]);
	if (r && failed) {
		rows_drop(r);
		rc = market_fail(v.m, "cannot list procurements");
	} else if (r) {
		rc = rows_end(r);
		if (!l.count && !v.m->explain && cell_for_people(np) && !option_given(o, "quiet"))
			print_note(np,
				"no procurements; 'nanopod procurement create NAME -t TYPE -n N -p PRICE' makes one");
	}
	free(l.at);
	procuring_view_close(&v);
	return rc;
}

int procurement_show(struct nanopod *np, const struct options *o, char **words)
{
	struct procuring_view v;
	struct procured p;
	int rc;

	if (!rows_check(np, o, procurement_columns, &rc))
		return rc;
	rc = procuring_view_open(&v, np, o, "cannot show that");
	rc = rc ? rc : procured_find(v.m, words[0], &p);
	rc = rc ? rc : procured_print(&v, &p, STATUS_OK);
	procuring_view_close(&v);
	return rc;
}
