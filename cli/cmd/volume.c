/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod volume: data on a machine that outlives nodes, for as long as the account pays. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/action.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/value.h"
#include "cli/trade/market_link.h"
#include "cli/trade/rows_list.h"
#include "market/money.h"

enum {
	VOLUME_BODY = 4096,
	VOLUME_TYPES = 512,
	VOLUME_HOURS = 730,
	VOLUME_DAY = 24,
	VOLUME_DAYS_TOLD = 3652,
	VOLUME_AGENT = 64
};

static const struct column volume_columns[] = {
	{ "name", COLUMN_ID, "its name: nodes see it as /volumes/NAME" },
	{ "state", COLUMN_STATE, "paid, unpaid, deleting, or unreachable" },
	{ "gib", COLUMN_RAW | COLUMN_RIGHT, "its size in GiB" },
	{ "month", COLUMN_RIGHT, "what it costs in a month of 730 hours" },
	{ "paid_until", 0, "until when it is paid" },
	{ "delete_at", 0, "when it is deleted, where it is unpaid" },
	{ "types", 0, "types of nodes that its machine sells" },
	{ "machine", COLUMN_WIDE, "the machine that it is on" },
	{ "created", COLUMN_WIDE | COLUMN_MINOR, "when it was made" },
	{ "id", COLUMN_WIDE, "its id" },
	{ 0 },
};

/* Where the market has it, whatever was typed; release it. */
static void volume_path(struct buf *path, const char *base, const char *name)
{
	buf_init(path, VOLUME_BODY);
	if (buf_adds(path, base) || (name && client_quote(path, name)))
		command_nomem();
}

static const char *volume_types(const struct model_volume *v, char room[VOLUME_TYPES])
{
	size_t len = 0;

	room[0] = '\0';
	for (size_t i = 0; i < v->type_count && len < VOLUME_TYPES - 1; i++)
		len += (size_t)snprintf(room + len, VOLUME_TYPES - len, "%s%s", i ? "," : "", v->types[i]);
	return *room ? room : NULL;
}

static int volume_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	char gib[CELL_TEXT], month[CELL_TEXT], paid[CELL_TEXT], ends[CELL_TEXT], made[CELL_TEXT], types[VOLUME_TYPES];
	struct model_volume v;
	int rc = wire_volume(d, at, &v, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ v.name, v.state, cell_int(v.gib, gib),
				cell_money(l->np, v.gib * v.month, month), cell_time(l->np, v.paid_until, paid),
				cell_time(l->np, v.delete_at, ends), volume_types(&v, types), v.agent,
				cell_time(l->np, v.created_at, made), v.id });
	return rc;
}

static int volume_list(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list volumes = { "volume list", "/np/v1/volumes", "the volumes", volume_columns,
		volume_row, "you have no volumes; 'nanopod volume create NAME -s 10G -r RESERVATION' makes one" };

	(void)words;
	return rows_list(np, o, &volumes);
}

static int volume_show(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf path;
	int rc = market_sign_in(np, o, 0, &m);

	rc = rc ? rc : market_need_ours(m, "volume show");
	volume_path(&path, "/np/v1/volumes/", words[0]);
	if (!rc)
		rc = market_get(m, "%s", buf_text(&path)) ? market_fail(m, "cannot show volume '%s'", words[0])
							  : rows_one(m, o, volume_columns, volume_row, "the volume");
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

/* ---- What it would cost ------------------------------------------------------------------- */

/* --size in whole GiB. An exit status. */
static int volume_size(struct nanopod *np, const struct options *o, int64_t *gib)
{
	const char *typed = option_text(o, "size");
	struct fail why = { 0 };
	uint64_t bytes;

	if (!typed)
		return print_fail_field(np, STATUS_USAGE, "--size", NULL, "--size is required, e.g. -s 10G");
	if (value_size(typed, &bytes, &why))
		return print_fail_field(np, STATUS_USAGE, "--size", NULL, "cannot make it so large: %s", why.text);
	*gib = (int64_t)((bytes + (UINT64_C(1) << 30) - 1) >> 30);
	return 0;
}

/* How long the balance pays that alone. */
static void volume_plan_balance(struct plan *p, int64_t available, int64_t hour)
{
	int64_t days = available / hour / VOLUME_DAY;
	char has[MONEY_TEXT], lasts[64];

	snprintf(lasts, sizeof lasts, "%" PRId64 " day%s", days, days == 1 ? "" : "s");
	if (available < hour)
		plan_add(p, "balance", "%s does not pay an hour of it", money_text(available, has));
	else
		plan_add(p, "balance", "%s lasts for %s of it, if nothing else is bought", money_text(available, has),
			days > VOLUME_DAYS_TOLD ? "more than ten years"
				: days          ? lasts
						: "less than a day");
}

/* "$5.00 a month ($0.01 an hour)", and how long the balance pays that alone. */
static void volume_plan_money(struct market_link *m, struct plan *p, int64_t gib, int64_t price)
{
	int64_t hour = (gib * price + VOLUME_HOURS - 1) / VOLUME_HOURS;
	char month[MONEY_TEXT], each[MONEY_TEXT];
	struct model_balance b;

	plan_add(p, "price", "%s a month, %s an hour; each hour is paid when it begins", money_text(gib * price, month),
		money_text(hour, each));
	if (hour && market_get(m, "/np/v1/balance") == 0 && wire_balance(m->doc, WIRE_WHOLE, &b, &m->fail) == 0)
		volume_plan_balance(p, b.available, hour);
}

struct volume_choice {
	const char *agent; /* --machine; NULL: that of the reservation's nodes */
	struct model_volume offer;
	char id[VOLUME_AGENT];
	size_t here, found; /* machines with nodes of the reservation; those that would do */
};

static int volume_consider(void *arg, struct doc *d, long at, struct fail *f)
{
	struct volume_choice *c = arg;
	struct model_volume v;
	int rc = wire_volume(d, at, &v, f);

	if (rc)
		return rc;
	c->here += v.here;
	if (c->agent ? strcmp(v.agent, c->agent) != 0 : !v.here || !v.gib)
		return 0;
	c->found++;
	snprintf(c->id, sizeof c->id, "%s", v.agent);
	c->offer = v;
	c->offer.agent = c->id;
	c->offer.types = NULL; /* they go with the document */
	c->offer.type_count = 0;
	return 0;
}

/* Whether the options say on which machine. An exit status. */
static int volume_where(struct nanopod *np, const struct options *o)
{
	bool pool = option_text(o, "reservation"), machine = option_text(o, "machine");

	if (pool && machine)
		return print_fail_field(np, STATUS_USAGE, "--machine", NULL,
			"--reservation and --machine exclude each other");
	return pool || machine
		? 0
		: print_fail_field(np, STATUS_USAGE, "--reservation", "or --machine, of 'nanopod volume machines'",
			  "--reservation is required, e.g. -r train: the volume is on the machine of its nodes");
}

/* Which machine. An exit status. */
static int volume_choose(struct market_link *m, const struct options *o, struct volume_choice *c)
{
	const char *pool = option_text(o, "reservation");
	struct buf path;
	int rc;

	c->agent = option_text(o, "machine");
	volume_path(&path, pool ? "/np/v1/volume_offers?pool=" : "/np/v1/volume_offers", pool);
	rc = market_each(m, buf_text(&path), volume_consider, c);
	buf_release(&path);
	if (rc)
		return market_fail(m, "cannot ask which machines let room");
	if (c->found == 1)
		return 0;
	if (c->found > 1)
		return print_fail_field(m->np, STATUS_USAGE, "--machine",
			"'nanopod volume machines' lists them; add --machine",
			"nodes of '%s' are on %zu machines that let room, and a volume is on one", pool, c->found);
	if (pool && !c->here)
		return print_fail(m->np, STATUS_CONFLICT, "'nanopod nodes' shows when they start",
			"'%s' has no node now, so it is on no machine", pool);
	return print_fail(m->np, STATUS_CAPACITY, "'nanopod volume machines' lists those that let room",
		pool ? "the owner of the machine that '%s' is on lets no room for volumes"
		     : "no machine '%s' lets room",
		pool ? pool : c->agent);
}

/* ---- What changes something --------------------------------------------------------------- */

static void volume_body(struct buf *body, const char *name, const char *agent, int64_t gib, int64_t price)
{
	char amount[MONEY_TEXT];
	struct json j;

	buf_init(body, VOLUME_BODY);
	j = json_to(body);
	json_begin_object(&j, NULL);
	if (name)
		json_text(&j, "name", name);
	if (agent)
		json_text(&j, "agent", agent);
	json_int(&j, "gib", gib);
	json_text(&j, "max_gib_month_dollars", money_wire(price, amount));
	json_end(&j);
	if (j.error)
		command_nomem();
}

static int volume_create_now(struct market_link *m, const struct options *o, const char *name,
	const struct volume_choice *c, int64_t gib)
{
	struct buf body;
	int rc;

	volume_body(&body, name, c->id, gib, c->offer.month);
	rc = market_make(m, "/np/v1/volumes", &body, buf_text(&body))
		? market_fail(m, "cannot create volume '%s'", name)
		: rows_one(m, o, volume_columns, volume_row, "the volume");
	buf_release(&body);
	return rc;
}

static int volume_create(struct nanopod *np, const struct options *o, char **words)
{
	struct volume_choice c = { 0 };
	struct market_link *m = NULL;
	struct plan p;
	int64_t gib;
	int rc = volume_size(np, o, &gib);

	rc = rc ? rc : volume_where(np, o);
	rc = rc ? rc : plan_can_ask(np, o);
	rc = rc ? rc : market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "volume create");
	rc = rc ? rc : volume_choose(m, o, &c);
	if (!rc) {
		plan_init(&p, "Create volume %s: %" PRId64 " GiB", words[0], gib);
		plan_add(&p, "machine", "%s", c.id);
		volume_plan_money(m, &p, gib, c.offer.month);
		plan_add(&p, "nodes", "your nodes on that machine see it as /volumes/%s, those that run within seconds",
			words[0]);
		plan_add(&p, "kept", "on that machine alone: it is lost with it; keep a copy of what you need");
		plan_show(np, &p);
		plan_release(&p);
		rc = plan_agree(np, o, "Create it?");
	}
	rc = rc ? rc : volume_create_now(m, o, words[0], &c, gib);
	market_sign_out(m);
	return rc;
}

/* Its machine's price of now is the volume's from then on. */
static int volume_resize_do(struct market_link *m, const struct options *o, const char *name, const char *path,
	int64_t gib)
{
	struct volume_choice c = { 0 };
	struct model_volume v;
	char agent[VOLUME_AGENT];
	struct buf body;
	struct plan p;
	int rc;

	if (market_get(m, "%s", path) || wire_volume(m->doc, WIRE_WHOLE, &v, &m->fail))
		return market_fail(m, "cannot resize volume '%s'", name);
	snprintf(agent, sizeof agent, "%s", v.agent);
	c.agent = agent;
	plan_init(&p, "Resize volume %s: %" PRId64 " GiB, was %" PRId64, name, gib, v.gib);
	if (market_each(m, "/np/v1/volume_offers", volume_consider, &c)) {
		plan_release(&p);
		return market_fail(m, "cannot ask what that costs");
	}
	volume_plan_money(m, &p, gib, c.offer.month);
	plan_add(&p, "nodes",
		"see it so large within seconds, or when they start again, where their machine cannot do that");
	plan_show(m->np, &p);
	plan_release(&p);
	rc = plan_agree(m->np, o, "Resize it?");
	if (rc)
		return rc;
	volume_body(&body, NULL, NULL, gib, c.offer.month);
	rc = market_send(m, "PATCH", path, &body, NULL) ? market_fail(m, "cannot resize volume '%s'", name)
							: rows_one(m, o, volume_columns, volume_row, "the volume");
	buf_release(&body);
	return rc;
}

static int volume_resize(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf path;
	int64_t gib;
	int rc = volume_size(np, o, &gib);

	rc = rc ? rc : plan_can_ask(np, o);
	rc = rc ? rc : market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "volume resize");
	volume_path(&path, "/np/v1/volumes/", words[0]);
	rc = rc ? rc : volume_resize_do(m, o, words[0], buf_text(&path), gib);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

static int volume_delete(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf path;
	struct plan p;
	int rc = plan_can_ask(np, o);

	volume_path(&path, "/np/v1/volumes/", words[0]);
	rc = rc ? rc : market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "volume delete");
	if (!rc && market_get(m, "%s", buf_text(&path)))
		rc = market_fail(m, "cannot delete volume '%s'", words[0]);
	if (!rc) {
		plan_init(&p, "Delete volume %s", words[0]);
		plan_add(&p, "data", "all that is in it is lost, at once, also in nodes that run");
		plan_add(&p, "money", "the hour that is paid is not refunded");
		plan_show(np, &p);
		plan_release(&p);
		rc = plan_agree(np, o, "Delete it?");
	}
	if (!rc && market_send(m, "DELETE", buf_text(&path), NULL, NULL))
		rc = market_fail(m, "cannot delete volume '%s'", words[0]);
	else if (!rc)
		print_note(np, "volume '%s' is being deleted", words[0]);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

/* ---- Machines ------------------------------------------------------------------------------ */

static const struct column volume_machine_columns[] = {
	{ "machine", COLUMN_ID, "its id, for --machine" },
	{ "price", COLUMN_RIGHT, "per GiB and month" },
	{ "free_gib", COLUMN_RAW | COLUMN_RIGHT, "GiB that nobody has" },
	{ "types", 0, "types of nodes that it sells" },
	{ "state", COLUMN_STATE, "up, or unreachable" },
	{ 0 },
};

static int volume_machine_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	char price[CELL_TEXT], left[CELL_TEXT], types[VOLUME_TYPES];
	struct model_volume v;
	int rc = wire_volume(d, at, &v, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ v.agent, cell_money(l->np, v.month, price), cell_int(v.free, left),
				volume_types(&v, types), v.up ? "up" : "unreachable" });
	return rc;
}

static int volume_machines(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list machines = { "volume machines", "/np/v1/volume_offers", "the machines",
		volume_machine_columns, volume_machine_row, "no machine lets room for volumes" };

	(void)words;
	return rows_list(np, o, &machines);
}

/* ---- The command --------------------------------------------------------------------------- */

static const struct action actions[] = {
	{ "list", "", 0, 0, volume_list },
	{ "show", "NAME", 1, 1, volume_show },
	{ "create", "NAME -s SIZE -r RESERVATION", 1, 1, volume_create },
	{ "resize", "NAME -s SIZE", 1, 1, volume_resize },
	{ "delete", "NAME", 1, 1, volume_delete },
	{ "machines", "", 0, 0, volume_machines },
	{ 0 },
};

static int volume_command(struct nanopod *np, const struct options *o)
{
	return action_run(np, o, "volume", actions, "list");
}

static const struct option options[] = {
	{ "size", 's', OPTION_STRING, "SIZE", .help = "create, resize: its size, e.g. 10G; in whole GiB" },
	{ "reservation", 'r', OPTION_STRING, "RESERVATION",
		.help = "create: on the machine where this reservation has nodes now",
		.complete = COMPLETE_RESERVATION },
	{ "machine", 0, OPTION_STRING, "ID", .help = "create: on this machine, of 'volume machines'" },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is still printed" },
	{ "dry-run", 0, OPTION_FLAG, .help = "print only the plan" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod volume create data -s 10G -r train", "10 GiB on the machine of train's nodes, after a plan" },
	{ "nanopod volume list", "what you have, what it costs, and until when it is paid" },
	{ "nanopod volume resize data -s 20G -y", "make it larger" },
	{ "nanopod volume delete data", "delete it, with all that is in it" },
	{ 0 },
};

const struct command cmd_volume = {
	.name = "volume",
	.args = "[ACTION [NAME]]",
	.summary = "keep data on a machine for longer than nodes",
	.examples = examples,
	.positional = "list         list your volumes (the default)\n"
		      "show NAME    show one, by name or id\n"
		      "create NAME  make one, after a plan\n"
		      "resize NAME  make one larger, after a plan\n"
		      "delete NAME  delete one with all data in it, after a plan\n"
		      "machines     list machines that let room, and their prices",
	.description =
		"A volume is on one machine. Your nodes there see it as /volumes/NAME, also those that run, and it "
		"stays when nodes end. Each hour is paid when it begins, at the price of when it was made. Without "
		"money the volume is unpaid: new nodes do not see it, and after some days it is deleted, unless you "
		"pay before. While its machine is away, it costs nothing; if the machine does not come back, the "
		"volume is lost.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "list|show|create|resize|delete|machines",
	.run = volume_command,
};
