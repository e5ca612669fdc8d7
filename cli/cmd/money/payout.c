/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod payout: what the account earned by selling, paid out: list, create, setup. */
#include <inttypes.h>
#include <string.h>

#include "cli/cmd/money/payout.h"
#include "cli/frame/action.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"

enum { PAYOUT_BODY = 4096 };

extern const struct command cmd_payout;

#define PAYOUT_COLUMNS(whose) \
	{ "payout", COLUMN_ID, "its id" }, { "account", whose, "who is paid" }, \
		{ "balance", COLUMN_RIGHT | (whose), "what that account has available" }, \
		{ "state", COLUMN_STATE, "asked, sent, failed or cancelled" }, \
		{ "amount", COLUMN_RIGHT, "what is paid out" }, \
		{ "amount_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" }, \
		{ "back", COLUMN_RIGHT | COLUMN_WIDE, "what of it came back" }, \
		{ "back_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" }, \
		{ "asked", 0, "when it was asked for" }, \
		{ "note", 0, "as the bank calls it, why it failed, or why it waits" }, \
	{ \
		0 \
	}

const struct column payout_columns[] = { PAYOUT_COLUMNS(COLUMN_WIDE) };
const struct column payout_columns_admin[] = { PAYOUT_COLUMNS(0) };

int payout_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_payout p;
	char rooms[6][CELL_TEXT];
	int rc = wire_payout(d, at, &p, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ p.id, p.account, cell_money(l->np, p.balance, rooms[5]), p.state,
				cell_money(l->np, p.amount, rooms[0]), cell_micros(p.amount, rooms[1]),
				cell_money(l->np, p.back, rooms[2]), cell_micros(p.back, rooms[3]),
				cell_time(l->np, p.created_at, rooms[4]),
				p.waits         ? p.waits
					: p.why ? p.why
						: p.reference });
	return rc;
}

static int payout_list(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list payouts = { "payout", "/np/v1/payouts", "the payouts", payout_columns, payout_row,
		"no payouts; 'nanopod payout create AMOUNT' asks for one" };

	(void)words;
	return rows_list(np, o, &payouts);
}

/* What it takes, and what is left; then the question. */
static int payout_plan(struct market_link *m, const struct options *o, int64_t micros, const struct model_income *in)
{
	char amount[MONEY_TEXT], room[MONEY_TEXT];
	struct plan p;

	plan_init(&p, "Pay out %s", money_text(micros, amount));
	plan_add(&p, "payable", "%s: earned by selling more than %" PRId64 " hours ago, and still there",
		money_text(in->payable, room), in->hold);
	plan_add(&p, "left", "%s payable", money_text(in->payable - micros, room));
	plan_add(&p, "until sent", "the market holds it; if it fails, you have it back");
	plan_show(m->np, &p);
	plan_release(&p);
	return option_given(o, "dry-run") ? 0 : plan_agree(m->np, o, "Pay it out?");
}

static int payout_request(struct market_link *m, const struct options *o, const char *text, int64_t micros)
{
	struct model_income in = { 0 };
	char room[MONEY_TEXT];
	struct buf body;
	struct json j;
	int rc;

	if (market_get(m, "/np/v1/income") || wire_income(m->doc, &in, &m->fail))
		return market_fail(m, "cannot pay out %s", text);
	if (!m->explain && micros > in.payable)
		return print_fail(m->np, STATUS_FUNDS, "'nanopod payout list' shows what was asked for",
			"cannot pay out %s: %s can be paid out now, which was earned by selling more than %" PRId64
			" hours ago and is still there",
			text, money_text(in.payable, room), in.hold);
	rc = m->explain ? 0 : payout_plan(m, o, micros, &in);
	if (rc || option_given(o, "dry-run"))
		return rc;
	buf_init(&body, PAYOUT_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "amount_dollars", money_wire(micros, room));
	json_end(&j);
	if (j.error)
		command_nomem();
	rc = market_make(m, "/np/v1/payouts", &body, text) ? market_fail(m, "cannot pay out %s", text)
							   : rows_one(m, o, payout_columns, payout_row, "the payout");
	buf_release(&body);
	return rc;
}

static int payout_create(struct nanopod *np, const struct options *o, char **words)
{
	struct fail why = { 0 };
	struct market_link *m;
	int64_t micros;
	int rc;

	if (money_parse(words[0], &micros, &why) || !micros)
		return print_fail(np, STATUS_USAGE, "e.g. nanopod payout create 120", "cannot pay out '%.60s': %s",
			words[0], *why.text ? why.text : "the amount is zero");
	rc = plan_can_ask(np, o);
	if (rc)
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	rc = market_need_ours(m, "payout create");
	rc = rc ? rc : payout_request(m, o, words[0], micros);
	market_sign_out(m);
	return rc;
}

int payout_say(struct market_link *m, const struct options *o, const struct column *columns, const char *id,
	const struct payout_word *w)
{
	bool cancels = strcmp(w->verb, "cancel") == 0;
	struct buf body, path;
	struct json j;
	int rc;

	buf_init(&body, PAYOUT_BODY);
	buf_init(&path, PAYOUT_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	if (w->text)
		json_text(&j, w->name, w->text);
	if (w->already)
		json_bool(&j, "already", true);
	json_end(&j);
	if (j.error || buf_adds(&path, "/np/v1/payouts/") || client_quote(&path, id) || buf_addf(&path, "/%s", w->verb))
		command_nomem();
	rc = market_send(m, "POST", buf_text(&path), &body, NULL)
		? market_fail(m, "cannot %s the payout '%s'%s%s", cancels ? "cancel" : "say that", id,
			  cancels ? "" : " was ", cancels ? "" : w->verb)
		: rows_one(m, o, columns, payout_row, "the payout");
	buf_release(&body);
	buf_release(&path);
	return rc;
}

static int payout_cancel(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m;
	int rc = market_sign_in(np, o, 0, &m);

	if (rc)
		return rc;
	rc = market_need_ours(m, "payout cancel");
	rc = rc ? rc : payout_say(m, o, payout_columns, words[0], &(struct payout_word){ .verb = "cancel" });
	market_sign_out(m);
	return rc;
}

static const struct column setup_columns[] = {
	{ "url", COLUMN_ID, "the page where you say whom Stripe pays" },
	{ "expires", 0, "until when it opens" },
	{ "id", COLUMN_WIDE, "of the account's own at Stripe" },
	{ 0 },
};

static int payout_page(struct market_link *m, const struct options *o)
{
	char until[CELL_TEXT];
	struct model_topup t;
	struct rows *r;
	struct buf body;
	struct json j;
	int rc;

	buf_init(&body, PAYOUT_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_end(&j);
	if (j.error)
		command_nomem();
	rc = market_make(m, "/np/v1/payouts/setup", &body, NULL);
	buf_release(&body);
	if (rc || wire_payout_setup(m->doc, &t, &m->fail))
		return market_fail(m, "cannot set payouts up");
	r = rows_new(m->np, o, setup_columns, &rc);
	if (!r)
		return rc;
	rows_add(r, (const char *[]){ t.url, cell_time(m->np, t.expires, until), t.id });
	return rows_end(r);
}

static int payout_setup(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m;
	int rc = market_sign_in(np, o, 0, &m);

	(void)words;
	if (rc)
		return rc;
	rc = market_need_ours(m, "payout setup");
	rc = rc ? rc : payout_page(m, o);
	market_sign_out(m);
	return rc;
}

static const struct action actions[] = {
	{ "list", "", 0, 0, payout_list },
	{ "create", "AMOUNT [-y] [--dry-run]", 1, 1, payout_create },
	{ "cancel", "ID", 1, 1, payout_cancel },
	{ "setup", "", 0, 0, payout_setup },
	{ 0 },
};

static int payout_command(struct nanopod *np, const struct options *o)
{
	int rc;

	if (!rows_check(np, o, payout_columns, &rc))
		return rc;
	return action_run(np, o, "payout", actions, "list");
}

static const struct option options[] = {
	{ "yes", 'y', OPTION_FLAG, .help = "create: do not ask; the plan is still printed" },
	{ "dry-run", 0, OPTION_FLAG, .help = "create: print only the plan" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod payout", "what was asked for, and what became of it" },
	{ "nanopod payout create 120", "ask to be paid out $120" },
	{ "nanopod payout cancel po_7k2m9", "take back one that was not sent yet" },
	{ "nanopod payout setup", "a page where you say whom Stripe pays" },
	{ 0 },
};

const struct command cmd_payout = {
	.name = "payout",
	.args = "[list | create AMOUNT | cancel ID | setup]",
	.summary = "be paid out what the account earned by selling",
	.examples = examples,
	.positional = "list           list payouts (the default)\n"
		      "create AMOUNT  ask for dollars; the market holds them until they are sent\n"
		      "cancel ID      take back one that was not sent yet\n"
		      "setup          print a page of Stripe's where you say whom it pays",
	.description =
		"What node time that you sold has earned can be paid out, once the market's hold time has passed: a "
		"week, unless its operator chose another. What was paid in or credited cannot be paid out, nor "
		"what is held for orders. A payout is asked, sent, failed or cancelled; what failed or was "
		"cancelled is in the balance again. It is at least $1, and up to ten wait to be sent; while the "
		"account "
		"owes money or is suspended, they wait. Where the market pays by Stripe, 'setup' comes first, and a "
		"payout is then sent by itself. "
		"People with the role owner or billing ask, and tokens with the scope tokens.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "list|create|cancel|setup",
	.run = payout_command,
};
