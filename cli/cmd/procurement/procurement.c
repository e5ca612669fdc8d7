/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/procurement/procurement.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/action.h"
#include "cli/frame/plan.h"
#include "cli/nodes/node.h"
#include "cli/trade/deal.h"
#include "cli/trade/order_args.h"
#include "market/when.h"

enum { CHANGE_TEXT = 65536 };

/* ---- Changing one ---------------------------------------------------------------------- */

static int procurement_patch(struct procuring_view *v, const struct procured *p,
	const struct model_procurement_new *now)
{
	char path[128];
	struct buf body;
	int rc;

	snprintf(path, sizeof path, "/v2/procurements/%s", p->id);
	buf_init(&body, CHANGE_TEXT);
	if (wire_put_procurement_change(&body, now))
		command_nomem();
	rc = market_send(v->m, "PATCH", path, &body, NULL);
	buf_release(&body);
	return rc;
}

static const char *procurement_type(const struct procuring_view *v, const struct procured *p)
{
	const struct sku *sku = skus_by_id(&v->skus, p->sku);

	return sku && sku->alias ? sku->alias : p->sku;
}

/* What it will be, where it may spend more than now. */
static void procurement_show_change(struct procuring_view *v, const struct procured *p, const char *verb)
{
	const struct sku *sku = skus_by_id(&v->skus, p->sku);
	char rate[PLAN_RATE], span[WINDOW_TEXT], nodes[DEAL_NODES], text[MONEY_TEXT];
	struct plan plan;

	plan_init(&plan, "%s '%s': keep %s of %s", verb, p->name,
		p->target < 0 ? "the nodes" : deal_nodes(p->target, nodes), procurement_type(v, p));
	plan_add(&plan, "price", "up to %s", plan_rate(p->limit, sku ? sku->gpus : 0, rate));
	if (p->target >= 0)
		plan_add(&plan, "burn", "up to %s an hour%s", deal_about(plan_burn(p->limit, p->target), text),
			p->enabled ? ", until you disable it" : " when you enable it");
	plan_add(&plan, "ahead", "at least %s, up to the next full hour", window_span(p->window * 60, span));
	plan_show(v->np, &plan);
	plan_release(&plan);
}

/* Shows it as it will be, asks, and changes it. */
static int procurement_change(struct procuring_view *v, struct procured *p, const struct model_procurement_new *now,
	const char *verb)
{
	bool quiet = now->change_enabled && !now->enabled;
	int rc = 0;

	if (!quiet) {
		procurement_show_change(v, p, verb);
		rc = plan_agree(v->np, v->o, "Do it?");
	}
	rc = rc ? rc : option_given(v->o, "dry-run") ? PLAN_SHOWN : 0;
	if (rc)
		return rc;
	rc = procurement_patch(v, p, now);
	rc = rc ? rc : procured_look(v->m, p->id, p);
	if (rc)
		return market_fail(v->m, "cannot change '%s'", p->name);
	return procured_print(v, p, STATUS_OK);
}

static int procurement_open(struct procuring_view *v, struct nanopod *np, const struct options *o, const char *name,
	struct procured *p)
{
	bool explain;
	int rc = STATUS_OK;

	*v = (struct procuring_view){ .np = np, .o = o };
	if (!rows_check(np, o, procurement_columns, &rc))
		return rc ? rc : -1;
	rc = procuring_view_open(v, np, o, "cannot change that");
	if (rc)
		return rc;
	explain = v->m->explain;
	v->m->explain = false;
	rc = procured_find(v->m, name, p);
	v->m->explain = explain;
	return rc;
}

static int procurement_close(struct procuring_view *v, int rc)
{
	procuring_view_close(v);
	return rc == -1 ? STATUS_OK : rc;
}

static int procurement_set(struct nanopod *np, const struct options *o, char **words)
{
	struct model_procurement_new now = { .target = -1 };
	struct procuring_view v = { .m = NULL };
	struct order_args args = { .nodes = 0 };
	struct procured p;
	int rc;

	if (!option_given(o, "price") && !option_given(o, "horizon"))
		return print_fail(np, STATUS_USAGE,
			"'-p PRICE' changes the limit, '--horizon 2h' how long ahead it buys", "nothing to set");
	rc = option_given(o, "price") ? order_args_read(np, o, ORDER_ARGS_PRICE, &args) : 0;
	if (!rc && option_given(o, "horizon"))
		rc = procurement_read_window(np, o, &now.window);
	rc = rc ? rc : plan_can_ask(np, o);
	rc = rc ? rc : procurement_open(&v, np, o, words[0], &p);
	if (!rc && option_given(o, "price")) {
		const struct sku *sku = skus_by_id(&v.skus, p.sku);

		rc = sku ? order_args_price(np, o, sku, &args)
			 : print_fail(np, STATUS_FAILURE, NULL, "the market no longer lists its type '%s'", p.sku);
		now.max_buy = now.min_sell = p.limit = args.limit;
		now.change_prices = true;
	}
	if (!rc && now.window)
		p.window = now.window;
	rc = rc ? rc : procurement_change(&v, &p, &now, "Change");
	return procurement_close(&v, rc);
}

static int procurement_turn(struct nanopod *np, const struct options *o, const char *name, bool on)
{
	struct model_procurement_new now = { .target = -1, .change_enabled = true, .enabled = on };
	struct procuring_view v = { .m = NULL };
	struct procured p;
	int rc = on ? plan_can_ask(np, o) : 0;

	rc = rc ? rc : procurement_open(&v, np, o, name, &p);
	p.enabled = on;
	rc = rc ? rc : procurement_change(&v, &p, &now, "Enable");
	if (!rc && !on && !v.m->explain && !option_given(o, "dry-run"))
		print_note(np, "'%s' buys no more; what is bought stays: 'nanopod show %s', 'nanopod release %s'",
			p.name, p.pool_name, p.pool_name);
	return procurement_close(&v, rc);
}

static int procurement_enable(struct nanopod *np, const struct options *o, char **words)
{
	return procurement_turn(np, o, words[0], true);
}

static int procurement_disable(struct nanopod *np, const struct options *o, char **words)
{
	return procurement_turn(np, o, words[0], false);
}

/* ---- Deleting one ---------------------------------------------------------------------- */

/* The nodes that no bought time is left for: without a procurement they would wait for ever. 0, or a negative code. */
static int procurement_surplus(struct procuring_view *v, const struct procured *p, struct nodes **out, int64_t *surplus)
{
	const struct reservation_part *part;
	struct reservation r = { 0 };
	int64_t now = market_clock_now(&v->clock), most = 0, alive = 0, waiting = 0;
	int rc = reservation_look(v->m, p->pool, &r);

	if (rc)
		return rc < 0 ? rc : fail_set(&v->m->fail, REASON_NOT_FOUND, "its reservation no longer exists");
	part = reservation_part(&r, p->sku);
	for (size_t i = 0; part && i < part->count; i++)
		if (part->spans[i].end > now && part->spans[i].nodes > most)
			most = part->spans[i].nodes;
	reservation_release(&r);
	rc = nodes_load(v->m, p->pool, false, out);
	for (size_t i = 0; !rc && i < (*out)->count; i++) {
		alive += node_lives(&(*out)->list[i]);
		waiting += (*out)->list[i].status == MODEL_INSTANCE_AWAITING && !(*out)->list[i].end;
	}
	*surplus = alive - most < waiting ? alive - most : waiting;
	return rc;
}

static int procurement_stop_surplus(struct procuring_view *v, const struct nodes *n, int64_t surplus)
{
	char path[128];
	int rc = 0;

	for (size_t i = n->count; !rc && surplus > 0 && i-- > 0;) {
		const struct node *one = &n->list[i];

		if (one->status != MODEL_INSTANCE_AWAITING || one->end)
			continue;
		snprintf(path, sizeof path, "/v2/instances/%s/terminate", one->id);
		rc = market_send(v->m, "POST", path, NULL, NULL);
		rc = rc == REASON_WRONG_STATE || rc == REASON_NOT_FOUND ? 0 : rc;
		surplus--;
	}
	return rc;
}

static void procurement_show_delete(struct procuring_view *v, const struct procured *p, int64_t surplus)
{
	struct plan plan;

	plan_init(&plan, "Delete the procurement '%s'", p->name);
	plan_add(&plan, "buys", "nothing more for '%s'", p->pool_name);
	plan_add(&plan, "nodes", "those with bought time run to its end; 'nanopod release %s' gives it back",
		p->pool_name);
	if (surplus > 0)
		plan_add(&plan, "", "%" PRId64 " that wait%s for a host end%s", surplus, surplus == 1 ? "s" : "",
			surplus == 1 ? "s" : "");
	plan_show(v->np, &plan);
	plan_release(&plan);
}

/* Disabled first, so that nothing is bought for what ends here; deleted last, so that the same command continues. */
static int procurement_undo(struct procuring_view *v, const struct procured *p)
{
	struct model_procurement_new off = { .target = -1, .change_enabled = true };
	struct nodes *n = NULL;
	int64_t surplus = 0;
	char path[128];
	int rc = p->enabled ? procurement_patch(v, p, &off) : 0;

	if (rc == MARKET_EXPLAINED)
		rc = 0;
	else
		rc = rc ? rc : procurement_surplus(v, p, &n, &surplus);
	rc = rc || !n ? rc : procurement_stop_surplus(v, n, surplus);
	nodes_free(n);
	snprintf(path, sizeof path, "/v2/procurements/%s", p->id);
	return rc ? rc : market_send(v->m, "DELETE", path, NULL, NULL);
}

static int procurement_delete(struct nanopod *np, const struct options *o, char **words)
{
	struct procuring_view v = { .m = NULL };
	struct nodes *n = NULL;
	int64_t surplus = 0;
	struct procured p;
	bool explain = false;
	int rc = plan_can_ask(np, o);

	rc = rc ? rc : procurement_open(&v, np, o, words[0], &p);
	if (!rc) {
		explain = v.m->explain;
		v.m->explain = false;
		if (procurement_surplus(&v, &p, &n, &surplus))
			rc = market_fail(v.m, "cannot delete '%s'", p.name);
		nodes_free(n);
	}
	if (!rc) {
		procurement_show_delete(&v, &p, surplus);
		rc = plan_agree(np, o, "Delete it?");
	}
	if (!rc) {
		v.m->explain = explain;
		if (procurement_undo(&v, &p))
			rc = market_fail(v.m, "cannot delete '%s'", p.name);
		else
			print_note(np, "deleted '%s'", p.name);
	}
	return procurement_close(&v, rc);
}

/* ---- The command ----------------------------------------------------------------------- */

static const struct action actions[] = {
	{ "list", "", 0, 0, procurement_list },
	{ "create", "NAME -t TYPE -n N -p PRICE [--horizon DURATION]", 1, 1, procurement_create },
	{ "show", "NAME", 1, 1, procurement_show },
	{ "set", "NAME [-p PRICE] [--horizon DURATION]", 1, 1, procurement_set },
	{ "disable", "NAME", 1, 1, procurement_disable },
	{ "enable", "NAME", 1, 1, procurement_enable },
	{ "delete", "NAME", 1, 1, procurement_delete },
	{ 0 },
};

static int procurement_command(struct nanopod *np, const struct options *o)
{
	return action_run(np, o, "procurement", actions, "list");
}

static const struct option options[] = {
	{ "type", 't', OPTION_STRING, "TYPE", .help = "create: type of node; required", .complete = COMPLETE_TYPE },
	{ "nodes", 'n', OPTION_INT, "N", .min = 1, .max = 1024, .help = "create: how many nodes to keep; required" },
	{ "price", 'p', OPTION_STRING, "DOLLARS",
		.help = "create, set: the most to pay, in dollars per GPU-hour (node-hour without GPUs)" },
	{ "per", 0, OPTION_ENUM, .fallback = "gpu", .values = "gpu|node",
		.help = "unit of the price: the hour of a GPU or of a node", .complete = COMPLETE_VALUES },
	{ "horizon", 0, OPTION_STRING, "DURATION", .fallback = "1h",
		.help = "create, set: how long ahead to buy, 1m to 90d; rounded up to full hours" },
	{ "ensure", 0, OPTION_FLAG, .help = "create: succeed if there is such a procurement already" },
	{ "image", 0, OPTION_STRING, "IMAGE", .help = "create: image of the nodes; default: the market's first" },
	{ "ssh-key", 0, OPTION_LIST, "FILE",
		.help = "create: public key that may log in; repeatable; default: those in ~/.ssh",
		.complete = COMPLETE_FILE },
	{ "no-ssh-key", 0, OPTION_FLAG, .help = "create: nodes that nobody can log in to by an SSH key" },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is still shown" },
	{ "dry-run", 0, OPTION_FLAG, .help = "show the plan; change nothing" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod procurement create farm -t h100 -n 4 -p 2.10", "keep four nodes while they cost up to $2.10" },
	{ "nanopod procurement", "list them, with what they lack and why" },
	{ "nanopod procurement set farm -p 1.90", "pay less from now on" },
	{ "nanopod procurement disable farm", "buy no more; what is bought stays" },
	{ "nanopod procurement delete farm", "end it" },
	{ 0 },
};

const struct command cmd_procurement = {
	.name = "procurement",
	.args = "[list | create | show | set | disable | enable | delete] [NAME]",
	.summary = "keep a number of nodes while they cost no more than a limit",
	.examples = examples,
	.positional = "list          list procurements (the default)\n"
		      "create NAME   make a reservation of this name, its nodes, and keep them\n"
		      "show NAME     show one\n"
		      "set NAME      change its limit or how long ahead it buys\n"
		      "disable NAME  buy no more; what is bought stays\n"
		      "enable NAME   buy again\n"
		      "delete NAME   buy no more; nodes that wait for a host end",
	.description =
		"The market buys what the reservation lacks, minute by minute, at offers of up to the limit, and "
		"starts "
		"its nodes on the hosts; this machine may be off. Where offers cost more, or there are none, it waits: "
		"nodes end with the time that was bought, and start again when it can buy. 'show' says why it lacks "
		"nodes. "
		"There is no end and no total: it buys until you disable it or the account has no money left.\n\n"
		"'create' writes each request to disk before it leaves: after a crash, Ctrl-C or a lost connection the "
		"same command continues and makes nothing twice.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "list|create|show|set|disable|enable|delete",
	.run = procurement_command,
};
