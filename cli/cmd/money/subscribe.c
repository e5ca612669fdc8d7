/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod plan: what the account pays a month, and what that pays for; subscribing, changing, cancelling. */
#include "cli/cmd/money/subscribe.h"

#include <string.h>

#include "cli/frame/action.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "market/money.h"
#include "market/reason.h"
#include "market/when.h"

enum { SUBSCRIBE_BODY = 4096 };

const struct column subscribe_columns[] = {
	{ "plan", COLUMN_ID, "its name" },
	{ "fee", COLUMN_RIGHT, "what it costs a month" },
	{ "included", COLUMN_RIGHT, "node time that it pays a month" },
	{ "type", 0, "type of node that it pays; none: all" },
	{ "state", COLUMN_STATE, "open, or closed: it takes no new subscriptions" },
	{ "now", COLUMN_RIGHT, "what the account would pay for the rest of this month" },
	{ "begins", 0, "when it would begin" },
	{ "rates", COLUMN_WIDE | COLUMN_RIGHT, "what it pays a month of prices that the policy lowers" },
	{ "seller", COLUMN_WIDE, "account that gets the fee and pays what is included" },
	{ "fee_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ "included_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ "now_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ 0 },
};

int subscribe_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_plan p;
	char rooms[8][CELL_TEXT];
	int rc = wire_plan(d, at, &p, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ p.name, cell_money(l->np, p.fee, rooms[0]),
				cell_money(l->np, p.included, rooms[1]), p.type, p.state,
				cell_money(l->np, p.now, rooms[2]), cell_time(l->np, p.begin, rooms[3]),
				cell_money(l->np, p.rates, rooms[4]), p.seller, cell_micros(p.fee, rooms[5]),
				cell_micros(p.included, rooms[6]), cell_micros(p.now, rooms[7]) });
	return rc;
}

static const struct column columns[] = {
	{ "plan", COLUMN_ID, "what the account has in this month" },
	{ "fee", COLUMN_RIGHT, "what it costs a month" },
	{ "included", COLUMN_RIGHT, "node time that it pays in this month" },
	{ "used", COLUMN_RIGHT, "what it paid of that" },
	{ "left", COLUMN_RIGHT, "what is left, and ends with the month" },
	{ "ends", 0, "when this month of it ends" },
	{ "next", 0, "plan of the next month; none: it ends" },
	{ "next_fee", COLUMN_RIGHT, "what the next month costs" },
	{ "type", COLUMN_WIDE, "type of node that it pays; none: all" },
	{ "rates_left", COLUMN_WIDE | COLUMN_RIGHT, "what is left for prices that the policy lowers" },
	{ "lapses", COLUMN_WIDE, "why the plan ends with this month although it is not cancelled" },
	{ "left_micros", COLUMN_RAW | COLUMN_HIDDEN, "what is left in micro-dollars" },
	{ "next_fee_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ 0 },
};

static int subscription_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_subscription s;
	char rooms[9][CELL_TEXT];
	int rc = wire_subscription(d, at, &s, f);

	if (!rc && s.name)
		rows_add(l->rows,
			(const char *[]){ s.name, cell_money(l->np, s.fee, rooms[0]),
				cell_money(l->np, s.included, rooms[1]), cell_money(l->np, s.used, rooms[2]),
				cell_money(l->np, s.left, rooms[3]), cell_time(l->np, s.end, rooms[4]), s.next,
				cell_money(l->np, s.next_fee, rooms[5]), s.type,
				cell_money(l->np, s.rates_left, rooms[6]), s.lapses, cell_micros(s.left, rooms[7]),
				cell_micros(s.next_fee, rooms[8]) });
	return rc;
}

/* Why there is no next month although the account has a plan for it. */
static void subscription_lapses(struct nanopod *np, const struct model_subscription *s)
{
	char fee[MONEY_TEXT];
	int why = reason_find(s->lapses);

	money_text(s->next_fee, fee);
	if (why == REASON_FUNDS)
		print_note(np,
			"plan '%s' ends with this month: the balance does not cover its fee of %s; "
			"'nanopod topup' adds money",
			s->next, fee);
	else if (why == REASON_PRICE_TOO_LOW)
		print_note(np,
			"plan '%s' ends with this month: its fee was raised to %s after you chose it; "
			"'nanopod plan subscribe' with its name agrees to that",
			s->next, fee);
	else
		print_note(np, "plan '%s' ends with this month: this account, or the plan's seller, is suspended",
			s->next);
}

/* What the market has just answered with. */
static int subscription_show(struct market_link *m, const struct options *o)
{
	struct model_subscription s;

	if (wire_subscription(m->doc, WIRE_WHOLE, &s, &m->fail))
		return market_fail(m, "cannot show the plan");
	if (!s.name)
		print_note(m->np, "no plan; 'nanopod plan list' shows what there is");
	else if (s.lapses)
		subscription_lapses(m->np, &s);
	return rows_one(m, o, columns, subscription_row, "the plan");
}

static int subscribe_begin(struct nanopod *np, const struct options *o, struct market_link **m)
{
	int rc = market_sign_in(np, o, 0, m);

	return rc ? rc : market_need_ours(*m, "plan");
}

static int plan_command_show(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int rc = subscribe_begin(np, o, &m);

	(void)words;
	if (!rc)
		rc = market_get(m, "/np/v1/plan") ? market_fail(m, "cannot show the plan") : subscription_show(m, o);
	market_sign_out(m);
	return rc;
}

static int plan_command_list(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list plans = { "plan list", "/np/v1/plans", "the plans", subscribe_columns,
		subscribe_row, "no plans; the market's operator makes them" };

	(void)words;
	return rows_list(np, o, &plans);
}

/* ---- Subscribing ------------------------------------------------------------------------------ */

/* The plan of that name among those that the market lists. */
struct subscribe_find {
	const char *name;
	struct model_plan plan;
};

static int subscribe_find(void *arg, struct doc *d, long at, struct fail *f)
{
	struct subscribe_find *s = arg;
	struct model_plan p;
	int rc = wire_plan(d, at, &p, f);

	if (!rc && strcmp(p.name, s->name) == 0) {
		s->plan = p;
		s->plan.name = s->name; /* of the rest only the numbers are needed once the document is gone */
		s->plan.seller = s->plan.type = s->plan.state = NULL;
	}
	return rc;
}

/* plan NULL: none any more; the market refuses what costs more than `most`. */
static int subscribe_send(struct market_link *m, const struct options *o, const char *plan, int64_t most)
{
	char room[MONEY_TEXT];
	struct buf body;
	struct json j;
	int rc;

	buf_init(&body, SUBSCRIBE_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "plan", plan);
	if (plan)
		json_text(&j, "max_dollars", money_wire(most, room));
	json_end(&j);
	rc = j.error ? print_fail(m->np, STATUS_USAGE, NULL, "the plan's name is no valid text") : 0;
	if (!rc)
		rc = market_send(m, "PUT", "/np/v1/plan", &body, NULL)
			? market_fail(m, plan ? "cannot subscribe to '%s'" : "cannot cancel the plan", plan)
			: subscription_show(m, o);
	buf_release(&body);
	return rc;
}

static void subscribe_plan_show(struct nanopod *np, const struct model_plan *t)
{
	char fee[MONEY_TEXT], now[MONEY_TEXT], included[MONEY_TEXT], when[WHEN_TEXT];
	struct plan p;

	plan_init(&p, "Subscribe to plan '%s'", t->name);
	plan_add(&p, "fee", "%s a month, on the first day of each (UTC)", money_text(t->fee, fee));
	plan_add(&p, "now", "%s%s", money_text(t->now, now), t->now ? ", for the rest of this month" : "");
	plan_add(&p, "begins", "%s", when_local(t->begin, t->begin, when));
	if (t->included)
		plan_add(&p, "included", "%s of node time a month; what is left at its end is gone",
			money_text(t->included, included));
	plan_add(&p, "ends", "'nanopod plan cancel': with the month");
	plan_show(np, &p);
	plan_release(&p);
}

static int plan_command_subscribe(struct nanopod *np, const struct options *o, char **words)
{
	struct subscribe_find s = { .name = words[0] };
	struct market_link *m = NULL;
	int rc = plan_can_ask(np, o);

	rc = rc ? rc : subscribe_begin(np, o, &m);
	if (!rc && market_each(m, "/np/v1/plans", subscribe_find, &s))
		rc = market_fail(m, "cannot look at the plans");
	else if (!rc && !s.plan.name)
		rc = print_fail(np, STATUS_NOTFOUND, "'nanopod plan list' shows them", "no plan '%s'", s.name);
	if (!rc) {
		subscribe_plan_show(np, &s.plan);
		rc = plan_agree(np, o, "Subscribe?");
	}
	if (!rc)
		rc = subscribe_send(m, o, s.name, s.plan.now);
	market_sign_out(m);
	return rc;
}

static int plan_command_cancel(struct nanopod *np, const struct options *o, char **words)
{
	struct model_subscription s = { 0 };
	struct market_link *m = NULL;
	char left[MONEY_TEXT], when[WHEN_TEXT];
	struct plan p;
	int rc = plan_can_ask(np, o);

	(void)words;
	rc = rc ? rc : subscribe_begin(np, o, &m);
	if (!rc && (market_get(m, "/np/v1/plan") || wire_subscription(m->doc, WIRE_WHOLE, &s, &m->fail)))
		rc = market_fail(m, "cannot look at the plan");
	else if (!rc && !s.name)
		rc = print_fail(np, STATUS_NOTFOUND, NULL, "the account has no plan");
	if (!rc) {
		plan_init(&p, "Cancel plan '%s'", s.name);
		plan_add(&p, "ends", "%s; until then it stays, and nothing is paid back",
			when_local(s.end, s.end, when));
		plan_add(&p, "left", "%s of node time until then", money_text(s.left, left));
		plan_show(np, &p);
		plan_release(&p);
		rc = plan_agree(np, o, "Cancel it?");
	}
	if (!rc)
		rc = subscribe_send(m, o, NULL, 0);
	market_sign_out(m);
	return rc;
}

static const struct action actions[] = {
	{ "show", "", 0, 0, plan_command_show },
	{ "list", "", 0, 0, plan_command_list },
	{ "subscribe", "PLAN", 1, 1, plan_command_subscribe },
	{ "cancel", "", 0, 0, plan_command_cancel },
	{ 0 },
};

static int plan_command(struct nanopod *np, const struct options *o)
{
	return action_run(np, o, "plan", actions, "show");
}

static const struct option options[] = {
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; what it costs is still shown" },
	{ "dry-run", 0, OPTION_FLAG, .help = "subscribe, cancel: show what it costs, and do nothing" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod plan", "what the account has, and what is left of it" },
	{ "nanopod plan list", "what there is, and what each costs now" },
	{ "nanopod plan subscribe pro", "shows the price, and asks" },
	{ "nanopod plan cancel", "none from the next month on" },
	{ 0 },
};

const struct command cmd_plan = {
	.name = "plan",
	.args = "[ACTION] [PLAN]",
	.summary = "show, choose or cancel the account's plan",
	.examples = examples,
	.positional = "show       what the account has (default)\n"
		      "list       what there is\n"
		      "subscribe  PLAN: pay its fee now, and each month\n"
		      "cancel     none from the next month on",
	.description =
		"A plan costs a fee each calendar month (UTC) and pays node time up to what it includes, before the "
		"account's own money. In the first month both are in proportion to what is left of it. A dearer plan "
		"of the same seller and type begins at once, for the difference; any other with the next month. Where "
		"the balance does not cover the fee of a month, the plan ends; what is bought goes on.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = 2,
	.complete_first = COMPLETE_VALUES,
	.first_values = "show|list|subscribe|cancel",
	.run = plan_command,
};
