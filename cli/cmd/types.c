/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod types: lists the types of nodes, with the price now and how many are on sale. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/trade/market_link.h"
#include "cli/frame/rows.h"

enum { LEVELS = 100, HOUR = 3600, MINUTE = 60 };

static const struct column columns[] = {
	{ "type", COLUMN_ID, "what -t takes" },
	{ "gpu", 0, "the accelerator's model" },
	{ "gpus", COLUMN_RIGHT | COLUMN_RAW, "accelerators of a node" },
	{ "price", COLUMN_RIGHT,
		"dollars per GPU-hour of the cheapest node for the next hour; empty: none is on sale" },
	{ "node_price", COLUMN_RIGHT | COLUMN_WIDE, "the same per node-hour" },
	{ "node_price_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "nodes", COLUMN_RIGHT | COLUMN_RAW, "nodes on sale for the whole of the next hour" },
	{ "region", COLUMN_MINOR, "where they are" },
	{ "vcpus", COLUMN_RIGHT | COLUMN_RAW, "virtual CPUs of a node" },
	{ "memory", COLUMN_RIGHT, "of a node; bytes where a program reads it" },
	{ "storage", COLUMN_RIGHT | COLUMN_MINOR, "local storage of a node" },
	{ "shared_storage", COLUMN_RIGHT | COLUMN_WIDE,
		"what each node adds to /shared, which the nodes of a reservation on a machine have in common" },
	{ "overcommit", COLUMN_RIGHT | COLUMN_RAW | COLUMN_WIDE, "how many virtual CPUs share a core" },
	{ "share", COLUMN_RIGHT | COLUMN_MINOR,
		"part of the GPU that a node gets: 1/4 beside others, mig:… as a slice; empty: all of it" },
	{ "gpu_memory", COLUMN_RIGHT | COLUMN_WIDE, "memory that each GPU has at least" },
	{ "zone", COLUMN_WIDE, "which part of the region" },
	{ "network", COLUMN_WIDE, "RDMA between nodes" },
	{ "form", COLUMN_WIDE, "the accelerators' form factor" },
	{ "audience", COLUMN_HIDDEN, "who may buy them, if not everybody" },
	{ "id", COLUMN_WIDE, "id of the SKU" },
	{ 0 },
};

struct type {
	char *id;
	int64_t price, nodes; /* -1: none */
};

struct types {
	struct nanopod *np;
	struct rows *rows;
	struct type *list;
	size_t count;
	int64_t start, end;
};

static struct type *types_type_of(struct types *t, const char *id)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->list[i].id, id) == 0)
			return &t->list[i];
	t->list = reallocarray(t->list, t->count + 1, sizeof *t->list);
	if (!t->list || !(t->list[t->count] = (struct type){ strdup(id), -1, 0 }).id)
		command_nomem();
	return &t->list[t->count++];
}

/* Nodes on sale for the whole window. */
static int64_t types_least(const struct model_schedule *s, int64_t start, int64_t end)
{
	int64_t covered = start, nodes = INT64_MAX;

	for (size_t i = 0; i < s->count && covered < end; i++) {
		const struct model_span *span = &s->list[i];

		if (span->end <= covered)
			continue;
		if (span->start > covered)
			return 0;
		nodes = span->nodes < nodes ? span->nodes : nodes;
		covered = span->end;
	}
	return covered < end || nodes == INT64_MAX ? 0 : nodes;
}

static int add_availability(void *arg, struct doc *d, long at, struct fail *f)
{
	struct types *t = arg;
	struct model_availability a;
	int rc = wire_availability(d, at, &a, f);

	if (!rc)
		types_type_of(t, a.sku.id)->nodes = types_least(&a.schedule, t->start, t->end);
	return rc;
}

/* Levels come cheapest first: the first one of a SKU is its price. */
static int add_prices(struct market_link *m, struct types *t)
{
	struct model_depth depth;
	int rc = market_get(m, "/v2/orderbook/depth?start_at=%lld&end_at=%lld&depth=%d", (long long)t->start,
		(long long)t->end, LEVELS);

	rc = rc ? rc : wire_depth(m->doc, WIRE_WHOLE, &depth, &m->fail);
	for (size_t i = 0; !rc && i < depth.ask_count; i++) {
		struct type *one = types_type_of(t, depth.asks[i].sku);

		if (one->price < 0 || depth.asks[i].price < one->price)
			one->price = depth.asks[i].price;
	}
	return rc;
}

/* People see at once where cores are shared: "2 (4:1)". */
static const char *types_vcpus(const struct nanopod *np, const struct model_sku *s, char room[CELL_TEXT])
{
	if (!cell_for_people(np) || s->vcpus < 1 || s->overcommit < 2)
		return cell_int(s->vcpus, room);
	snprintf(room, CELL_TEXT, "%" PRId64 " (%" PRId64 ":1)", s->vcpus, s->overcommit);
	return room;
}

static int types_add_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct types *t = arg;
	struct model_sku s;
	char gpus[CELL_TEXT], price[CELL_TEXT], node[CELL_TEXT], nodes[CELL_TEXT], cpus[CELL_TEXT], memory[CELL_TEXT],
		disk[CELL_TEXT], folder[CELL_TEXT];
	char micros[CELL_TEXT], shared[CELL_TEXT], gpu_memory[CELL_TEXT];
	const struct type *one;
	int rc = wire_sku(d, at, &s, f);

	if (rc)
		return rc;
	one = types_type_of(t, s.id);
	rows_add(t->rows,
		(const char *[]){ s.alias ? s.alias : s.id, s.accelerator, cell_int(s.gpus, gpus),
			cell_price(one->price, s.gpus > 0 && s.gpus <= 1024 && !s.share ? (unsigned)s.gpus : 0, price),
			cell_price(one->price, 0, node), cell_int(one->price < 0 ? -1 : one->price * MINUTE, micros),
			cell_int(one->nodes, nodes), s.region, types_vcpus(t->np, &s, cpus),
			cell_bytes(t->np, s.memory, memory), cell_bytes(t->np, s.storage, disk),
			cell_bytes(t->np, s.shared, folder),
			cell_int(s.vcpus > 0 && s.overcommit < 1 ? 1 : s.overcommit, shared), s.share,
			cell_bytes(t->np, s.gpu_memory, gpu_memory), s.zone, s.rdma, s.form_factor, s.audience, s.id });
	return 0;
}

static int types_command(struct nanopod *np, const struct options *o)
{
	struct types t = { .np = np };
	struct market_link *m;
	int64_t now;
	int rc, ours;

	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	ours = market_ours(m);
	now = ours > 0 && m->about_doc && m->about.now > 0 ? m->about.now
							   : (int64_t)time(NULL); /* orders follow the market's clock */
	t.start = (now / MINUTE + 2) * MINUTE;
	t.end = t.start + HOUR;
	if (ours < 0 || market_each(m, "/v2/instance_skus/availability?limit=200", add_availability, &t) ||
		add_prices(m, &t)) {
		rc = market_fail(m, "cannot list the types");
	} else {
		t.rows = rows_new(np, o, columns, &rc);
		if (t.rows) {
			int failed = market_each(m, "/v2/instance_skus?limit=200", types_add_row, &t);

			rc = rows_end(t.rows);
			if (failed)
				rc = market_fail(m, "cannot list the types");
		}
	}
	for (size_t i = 0; i < t.count; i++)
		free(t.list[i].id);
	free(t.list);
	market_sign_out(m);
	return rc;
}

static const struct example examples[] = {
	{ "nanopod types", "list what you can buy, what it costs now, and how many are on sale" },
	{ "nanopod types -o wide", "also GPU memory, network and the price per node-hour" },
	{ "nanopod types -q", "names only, as -t takes them" },
	{ 0 },
};

static const char *const aliases[] = { "skus", NULL };

const struct command cmd_types = {
	.name = "types",
	.aliases = aliases,
	.args = "",
	.summary = "list the types of nodes with their prices",
	.examples = examples,
	.description = "Prices are dollars per GPU-hour of the cheapest node on sale for the whole next hour; the "
		       "number of nodes counts all on sale for that hour, at any price. vCPUs, memory and "
		       "storage are what the type promises of each node; 2 (4:1) means that 4 vCPUs share a core. "
		       "'nanopod price' shows the "
		       "price of any other window. A type with a share such as 1/4 gives a node the time of a GPU and "
		       "that part of its memory beside other nodes, for people who trust each other; one such as "
		       "mig:1g.10gb gives it a slice with processors and memory of its own. Their prices are per "
		       "node-hour.",
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.run = types_command,
};
