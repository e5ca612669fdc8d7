/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod show: shows one order, reservation, node or contract. The prefix of an id tells which it is. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nodes/gpus.h"
#include "cli/nodes/node.h"
#include "cli/frame/cell.h"
#include "cli/trade/market_link.h"
#include "cli/trade/order_status.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/remote/select.h"
#include "cli/trade/reservation.h"
#include "cli/frame/signals.h"
#include "cli/screen/spark.h"
#include "cli/top/toppage.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/market_clock.h"
#include "market/ident.h"
#include "market/money.h"
#include "market/when.h"

enum { LINE_BYTES = 1024 };

struct showing {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct skus skus;
	size_t lines; /* printed */
	int64_t now;
	bool ours;
};

/* ---- Sheets ------------------------------------------------------------------------------ */

static void show_line(struct showing *s, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void show_line(struct showing *s, const char *label, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	if (s->np->format != FORMAT_NAME)
		print_labelled(s->np, s->np->out, label, 12, text);
	else if (!s->lines)
		fprintf(s->np->out, "%s\n", text); /* the first line says which it is */
	s->lines++;
	free(text);
}

static bool as_document(const struct showing *s)
{
	return s->np->format == FORMAT_JSON || s->np->format == FORMAT_JSONL;
}

static int put_document(struct showing *s)
{
	struct buf text;

	buf_init(&text, WIRE_BYTES_MAX);
	if (doc_show(s->m->doc, s->np->format == FORMAT_JSON, &text))
		command_nomem();
	fwrite(buf_text(&text), 1, text.len, s->np->out);
	if (!text.len || text.data[text.len - 1] != '\n')
		putc('\n', s->np->out);
	buf_release(&text);
	return STATUS_OK;
}

static const char *show_span_text(const struct showing *s, int64_t start, int64_t end, char *room, size_t size)
{
	char a[WHEN_TEXT], b[WHEN_TEXT], c[WHEN_TEXT];

	if (end == MODEL_NEVER)
		snprintf(room, size, "%.50s, open end", when_local(start, s->now, a));
	else
		snprintf(room, size, "%.50s to %.50s (%s %.40s)", when_local(start, s->now, a),
			when_local(end, s->now, b),
			start > s->now         ? "starts"
				: end > s->now ? "ends"
					       : "ended",
			when_relative(start > s->now ? start : end, s->now, c));
	return room;
}

static const char *show_type_of(const struct showing *s, const char *id, unsigned *gpus)
{
	const struct sku *sku = skus_by_id(&s->skus, id);

	*gpus = sku ? sku->gpus : 0;
	return sku && sku->alias ? sku->alias : id;
}

/* The type, and what it promises of each node. */
static void show_type(struct showing *s, const char *id, unsigned *gpus)
{
	const struct sku *sku = skus_by_id(&s->skus, id);
	char contract[SKU_CONTRACT];

	show_line(s, "type", "%s", show_type_of(s, id, gpus));
	if (sku && *sku_contract(sku, contract))
		show_line(s, "each node", "%s", contract);
}

/* ---- An order ---------------------------------------------------------------------------- */

static void put_fills(struct showing *s, const struct model_order *o, unsigned gpus)
{
	char span[200], rate[PLAN_RATE];

	for (size_t i = 0; i < o->fill_count; i++) {
		const struct model_fill *f = &o->fills[i];
		const struct model_schedule *at = &f->schedule;

		show_line(s, i ? "" : "fills", "%s: %" PRId64 " node%s, %s, %s", f->contract ? f->contract : "-",
			at->count ? at->list[0].nodes : 0, at->count && at->list[0].nodes == 1 ? "" : "s",
			at->count ? show_span_text(s, at->list[0].start, at->list[at->count - 1].end, span, sizeof span)
				  : "-",
			plan_rate(f->price, gpus, rate));
	}
}

static int show_order(struct showing *s, const char *id)
{
	char span[200], rate[PLAN_RATE], room[MONEY_TEXT];
	struct model_order o;
	struct order_status p;
	unsigned gpus;

	if (market_get(s->m, "/v2/orders/%s", id) || wire_order(s->m->doc, WIRE_WHOLE, &o, &s->m->fail))
		return market_fail(s->m, "cannot show '%s'", id);
	order_status_copy(&p, &o);
	remember_one(REMEMBER_ORDERS, s->m->where, p.id, p.status_text);
	if (as_document(s))
		return put_document(s);
	show_line(s, "order", "%s", p.id);
	show_line(s, "side", "%s%s%s", p.sell ? "sell" : "buy", o.standing ? ", standing" : "",
		o.partial ? ", in parts too" : "");
	show_line(s, "status", "%s", order_status_cell(s->m->np, &p));
	if (p.reason)
		show_line(s, "why", "%s", reason_row(p.reason)->text);
	show_line(s, "reservation", "%s (%s)", p.pool_name, p.pool);
	show_type(s, p.sku, &gpus);
	show_line(s, "asked for", "%" PRId64 " node%s, %s", p.nodes, p.nodes == 1 ? "" : "s",
		show_span_text(s, p.start, p.end, span, sizeof span));
	show_line(s, "limit", "%s", plan_rate(p.limit, gpus, rate));
	if (p.filled_minutes) {
		show_line(s, "filled", "%" PRId64 " node%s, %s", p.filled_nodes, p.filled_nodes == 1 ? "" : "s",
			show_span_text(s, p.filled_start, p.filled_end, span, sizeof span));
		show_line(s, p.sell ? "sold at" : "paid", "%s, %s in all", plan_rate(p.average, gpus, rate),
			money_text(p.total, room));
	}
	if (p.hold > 0)
		show_line(s, "held", "%s", money_text(p.hold, room));
	show_line(s, "placed", "%s%s%s", when_local(o.created_at, s->now, span), o.by.name ? " by " : "",
		o.by.name ? o.by.name : "");
	put_fills(s, &o, gpus);
	return STATUS_OK;
}

/* ---- A reservation ----------------------------------------------------------------------- */

static int put_instance_line(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_instance i;
	int rc = wire_instance(d, at, &i, f);

	if (!rc)
		show_line(arg, "node", "%s (%s), %s%s%s", i.name ? i.name : "-", i.id,
			node_word(i.status, i.status_text), i.public_ip ? ", " : "", i.public_ip ? i.public_ip : "");
	return rc;
}

static int put_order_line(void *arg, struct doc *d, long at, struct fail *f)
{
	struct showing *s = arg;
	struct model_order o;
	struct order_status p;
	int rc = wire_order(d, at, &o, f);

	if (rc)
		return rc;
	order_status_copy(&p, &o);
	show_line(s, "order", "%s, %s, %s", p.id, p.sell ? "sell" : "buy", order_status_cell(s->m->np, &p));
	return 0;
}

static int put_reservation(struct showing *s, const struct reservation *r)
{
	char span[200], path[128];
	unsigned gpus;

	show_line(s, "reservation", "%s", r->name);
	show_line(s, "id", "%s", r->id);
	show_line(s, "state", "%s", reservation_state(r, s->now));
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; k < r->parts[i].count; k++)
			show_line(s, "has", "%" PRId64 " node%s of %s, %s", r->parts[i].spans[k].nodes,
				r->parts[i].spans[k].nodes == 1 ? "" : "s", show_type_of(s, r->parts[i].sku, &gpus),
				show_span_text(s, r->parts[i].spans[k].start, r->parts[i].spans[k].end, span,
					sizeof span));
	if (r->created_at)
		show_line(s, "made", "%s", when_local(r->created_at, s->now, span));
	snprintf(path, sizeof path, "/v2/instances?limit=200&pool=%s", r->id);
	if (market_each(s->m, path, put_instance_line, s))
		return market_fail(s->m, "cannot list the nodes of '%s'", r->name);
	snprintf(path, sizeof path, "/v2/orders?limit=200&pool=%s", r->id);
	if (market_each(s->m, path, put_order_line, s))
		return market_fail(s->m, "cannot list the orders of '%s'", r->name);
	return STATUS_OK;
}

static int show_reservation(struct showing *s, const struct reservation *r)
{
	remember_one(REMEMBER_RESERVATIONS, s->m->where, r->name, NULL);
	if (!as_document(s))
		return put_reservation(s, r);
	if (market_get(s->m, "/v2/pools/%s", r->id))
		return market_fail(s->m, "cannot show '%s'", r->name);
	return put_document(s);
}

/* ---- A node ------------------------------------------------------------------------------ */

/* Only a market of ours says when a node starts that has no host yet. Its other lines stand without it. */
static void show_starts(struct showing *s, const char *id)
{
	char when[WHEN_TEXT], relative[WHEN_TEXT];
	struct model_node n;

	if (market_get(s->m, "/np/v1/nodes/%s", id) == 0 && wire_node(s->m->doc, WIRE_WHOLE, &n, &s->m->fail) == 0 &&
		n.start_at)
		show_line(s, n.start_at > s->now ? "starts" : "waits since", "%s (%s)",
			when_local(n.start_at, s->now, when), when_relative(n.start_at, s->now, relative));
}

/* -o wide: which GPUs of its machine a node has; no line where its machine does not say. */
static void show_machine_gpus(struct showing *s, const struct model_sample *sample)
{
	struct buf text;

	buf_init(&text, LINE_BYTES);
	for (size_t i = 0; i < sample->gpu_count; i++)
		if (!isnan(sample->gpus[i].machine_gpu))
			buf_addf(&text, "%s%.0f", text.len ? ", " : "", sample->gpus[i].machine_gpu);
	if (text.len && s->np->format == FORMAT_WIDE)
		show_line(s, "which gpus", "%s of its machine", buf_text(&text));
	buf_release(&text);
}

/* Use in the last hour, for people; no line where the market does not know. */
static void show_use(struct showing *s, const char *name)
{
	struct model_sample sample;
	struct toprow r = { 0 };
	char curve[SPARK_TEXT], now[TOP_TEXT];

	if (!s->ours || !cell_for_people(s->np) || market_get(s->m, "/np/v1/samples?node=%s&minutes=60", name) ||
		wire_sample(s->m->doc, 0, &sample, &s->m->fail) || !sample.at)
		return;
	toprow_sample(&r, &sample, false, s->now);
	show_machine_gpus(s, &sample);
	spark_text(r.curve, r.points, r.most, r.points, curve);
	if (r.gpus)
		show_line(s, "use", "%s  last hour; %s of %zu GPU%s %s ago", curve, top_ratio(r.of_gpus.use, now),
			r.gpus, r.gpus == 1 ? "" : "s", top_age(r.age, (char[TOP_TEXT]){ 0 }));
	else
		show_line(s, "use", "%s  last hour; %s processors %s ago", curve, top_cores(r.of.cpu, now),
			top_age(r.age, (char[TOP_TEXT]){ 0 }));
}

static int show_instance(struct showing *s, const char *id)
{
	struct model_instance i;
	struct model_ssh ssh;
	char span[WHEN_TEXT], name[300], has[GPUS_TEXT];
	unsigned gpus;
	int rc;

	if (market_get(s->m, "/v2/instances/%s", id) || wire_instance(s->m->doc, WIRE_WHOLE, &i, &s->m->fail))
		return market_fail(s->m, "cannot show '%s'", id);
	if (as_document(s))
		return put_document(s);
	snprintf(name, sizeof name, "%s", i.id);
	show_line(s, "node", "%s", i.name ? i.name : "-");
	show_line(s, "id", "%s", i.id);
	show_line(s, "status", "%s", node_word(i.status, i.status_text));
	show_line(s, "reservation", "%s", i.pool.name ? i.pool.name : i.pool.id);
	show_type(s, i.sku.id, &gpus);
	if (gpus_text(i.gpus, i.gpu_count, has))
		show_line(s, "gpus", "%s", has);
	show_line(s, "image", "%s", i.image.name ? i.image.name : i.image.id);
	if (i.priority)
		show_line(s, "priority", "%s", i.priority);
	if (i.public_ip)
		show_line(s, "address", "%s", i.public_ip);
	show_line(s, "made", "%s", when_local(i.created_at, s->now, span));
	if (i.ended_at)
		show_line(s, "ended", "%s", when_local(i.ended_at, s->now, span));
	else if (i.shutdown_at)
		show_line(s, "ends", "%s", when_local(i.shutdown_at, s->now, span));
	if (s->ours && i.status == MODEL_INSTANCE_AWAITING)
		show_starts(s, name);
	show_use(s, name);
	rc = market_get(s->m, "/v2/instances/%s/ssh", name);
	if (rc == CLIENT_LOST || rc == CLIENT_UNREACHABLE)
		return market_fail(s->m, "cannot ask how '%s' is reached", name);
	if (!rc && wire_ssh(s->m->doc, WIRE_WHOLE, &ssh, &s->m->fail) == 0 && ssh.hostname) {
		show_line(s, "ssh", "%s port %" PRId64, ssh.hostname, ssh.port);
		for (size_t k = 0; k < ssh.key_count; k++)
			show_line(s, "host key", "%s %s", ssh.keys[k].type, ssh.keys[k].key);
	}
	return STATUS_OK;
}

/* ---- A contract -------------------------------------------------------------------------- */

struct hunt {
	struct showing *s;
	const char *id;
	bool found;
};

static int look_at_lease(void *arg, struct doc *d, long at, struct fail *f)
{
	struct hunt *h = arg;
	struct showing *s = h->s;
	char span[200], rate[PLAN_RATE], room[MONEY_TEXT];
	struct model_lease l;
	struct buf text;
	unsigned gpus;
	int rc = wire_lease(d, at, &l, f);

	if (rc || strcmp(l.id ? l.id : "", h->id) != 0)
		return rc;
	h->found = true;
	if (as_document(s)) {
		buf_init(&text, WIRE_BYTES_MAX);
		if (doc_show_at(d, at, &text))
			command_nomem();
		fprintf(s->np->out, "%s\n", buf_text(&text));
		buf_release(&text);
		return 1;
	}
	show_line(s, "contract", "%s", l.id);
	show_line(s, "reservation", "%s", l.pool.name ? l.pool.name : l.pool.id);
	show_type(s, l.sku.id, &gpus);
	show_line(s, "window", "%s", show_span_text(s, l.start, l.end, span, sizeof span));
	show_line(s, "price", "%s, %s in all", plan_rate(l.price, gpus, rate), money_text(l.cost, room));
	if (l.interruptible)
		show_line(s, "kind", "interruptible: the market may end it after a notice");
	return 1;
}

static int show_contract(struct showing *s, const char *id)
{
	struct hunt h = { .s = s, .id = id };

	if (!s->ours)
		return print_fail(s->np, STATUS_FAILURE, "'nanopod orders --all' lists your orders",
			"cannot show '%s': this market has no list of contracts", id);
	if (market_each(s->m, "/np/v1/leases?active=true", look_at_lease, &h))
		return market_fail(s->m, "cannot show '%s'", id);
	if (h.found)
		return STATUS_OK;
	return print_fail(s->np, STATUS_NOTFOUND, "'nanopod orders --all' lists your orders",
		"no pending or running contract '%s'", id);
}

/* ---- What is it? ------------------------------------------------------------------------- */

struct named {
	const char *name;
	char id[64];
};

static int look_at_instance(void *arg, struct doc *d, long at, struct fail *f)
{
	struct named *n = arg;
	struct model_instance i;
	int rc = wire_instance(d, at, &i, f);

	if (rc || !i.name || strcmp(i.name, n->name) != 0)
		return rc;
	snprintf(n->id, sizeof n->id, "%s", i.id);
	return i.status == MODEL_INSTANCE_RUNNING || i.status == MODEL_INSTANCE_AWAITING;
}

static int show_named(struct showing *s, const char *name)
{
	struct reservation r = { 0 };
	struct named n = { .name = name };
	char hint[SELECT_HINT];
	int rc = reservation_check_name(name, &s->m->fail) ? 1 : reservation_look(s->m, name, &r);

	if (rc < 0)
		return market_fail(s->m, "cannot look for '%.60s'", name);
	if (rc == 0) {
		rc = show_reservation(s, &r);
		reservation_release(&r);
		return rc;
	}
	if (market_each(s->m, "/v2/instances?limit=200", look_at_instance, &n))
		return market_fail(s->m, "cannot look for '%.60s'", name);
	if (*n.id)
		return show_instance(s, n.id);
	if (!select_near(s->np, name, hint))
		snprintf(hint, sizeof hint, "'nanopod reservations' and 'nanopod orders --all' list yours");
	return print_fail(s->np, STATUS_NOTFOUND, hint, "no order, reservation, node or contract '%.60s'", name);
}

static int cmd_show_show_one(struct showing *s, const char *id)
{
	if (id[strcspn(id, "/?&# ")])
		return print_fail(s->np, STATUS_USAGE, NULL, "'%.60s' is neither an id nor a name", id);
	if (ident_looks(IDENT_ORDER, id))
		return show_order(s, id);
	if (ident_looks(IDENT_INSTANCE, id))
		return show_instance(s, id);
	if (ident_looks(IDENT_CONTRACT, id))
		return show_contract(s, id);
	return show_named(s, id);
}

static int show_command(struct nanopod *np, const struct options *o)
{
	struct showing s = { .np = np, .o = o };
	struct market_clock clock = { 0 };
	int rc, ours;

	if (signals_begin())
		command_nomem();
	rc = market_sign_in(np, o, 0, &s.m);
	if (!rc) {
		ours = market_clock_read(s.m, &clock);
		if (ours < 0)
			rc = market_fail(s.m, "cannot show '%.60s'", option_argv(o)[0]);
		s.ours = ours == 1;
		s.now = market_clock_now(&clock);
	}
	if (!rc && !s.m->explain)
		rc = skus_load(s.m, &s.skus);
	rc = rc ? rc : cmd_show_show_one(&s, option_argv(o)[0]);
	skus_release(&s.skus);
	market_sign_out(s.m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod show r-7f3a2c", "a reservation with its nodes and orders" },
	{ "nanopod show ordr_2f8c1e7ab90d4 -o json", "an order as the market answers it" },
	{ 0 },
};

const struct command cmd_show = {
	.name = "show",
	.args = "ID",
	.summary = "show an order, reservation, node or contract",
	.examples = examples,
	.description = "-o json prints the market's own document.",
	.positional = "ID  an id (ordr_ pool_ inst_ cont_), or the name of a reservation or node",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_MARKET | COMMAND_ACCOUNT,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_HOLDING,
	.run = show_command,
};
