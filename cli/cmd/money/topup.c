/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod topup: a page where somebody pays for the account; --wait for the money. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/market_link.h"
#include "market/money.h"
#include "market/reason.h"

enum { TOPUP_BODY = 4096, TOPUP_STEP_MS = 2000 };

static const struct column topup_columns[] = {
	{ "url", COLUMN_ID, "the page where one pays" },
	{ "amount", COLUMN_RIGHT, "what one pays there" },
	{ "amount_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "state", COLUMN_STATE, "open" },
	{ "expires", 0, "until when one can pay there" },
	{ "id", COLUMN_WIDE, "of the checkout, as the payment service calls it" },
	{ 0 },
};

/* The page leads back to the market's own, where that is one. */
static int topup_body(struct market_link *m, int64_t micros, struct buf *body)
{
	char amount[MONEY_TEXT], back[1024];
	struct json j = json_to(body);

	json_begin_object(&j, NULL);
	json_text(&j, "amount_dollars", money_wire(micros, amount));
	if (str_starts(m->url, "http") && strlen(m->url) + 2 < sizeof back) {
		snprintf(back, sizeof back, "%s/", m->url);
		json_text(&j, "return_url", back);
	}
	json_end(&j);
	return j.error;
}

static int topup_show(struct market_link *m, const struct options *o, const struct model_topup *t)
{
	char rooms[3][CELL_TEXT];
	struct rows *r;
	int rc;

	r = rows_new(m->np, o, topup_columns, &rc);
	if (!r)
		return rc;
	rows_add(r,
		(const char *[]){ t->url, cell_money(m->np, t->amount, rooms[0]), cell_micros(t->amount, rooms[1]),
			t->state, cell_time(m->np, t->expires, rooms[2]), t->id });
	return rows_end(r);
}

/* Only what a path may have: it is the payment service's word. */
static bool topup_id_plain(const char *id)
{
	for (; *id; id++)
		if (!isalnum((unsigned char)*id) && *id != '_' && *id != '-')
			return false;
	return true;
}

/* Until it is paid. An exit status. */
static int topup_wait(struct market_link *m, const char *id, int64_t patience)
{
	int64_t until = clock_ms() + patience, left;
	char text[32];
	int rc, number = 0;

	while ((left = until - clock_ms()) > 0) {
		rc = market_get(m, "/np/v1/topups/%s", id);
		if (rc != REASON_NOT_FOUND)
			return rc ? market_fail(m, "cannot look whether it was paid") : STATUS_OK;
		if (m->np->tty_err)
			progress_line(m->np, "waiting for the payment", progress_time(left, text, sizeof text));
		if (signals_rest(left < TOPUP_STEP_MS ? left : TOPUP_STEP_MS, &number))
			return number == SIGTERM ? STATUS_TERM : STATUS_INT;
	}
	return print_fail(m->np, STATUS_WAITING, "'nanopod balance' shows when the money has come",
		"it is not paid yet");
}

static int topup_carry_out(struct market_link *m, const struct options *o, const char *text, int64_t micros)
{
	int64_t patience = option_ms(o, "timeout");
	struct model_topup t;
	char id[256] = "";
	struct buf body;
	int rc;

	buf_init(&body, TOPUP_BODY);
	if (topup_body(m, micros, &body))
		command_nomem();
	if (market_make(m, "/np/v1/topups", &body, text) || wire_topup(m->doc, &t, &m->fail))
		rc = market_fail(m, "cannot pay %s", text);
	else if (!t.url || strlen(t.id) >= sizeof id || !topup_id_plain(t.id))
		rc = print_fail(m->np, STATUS_FAILURE, NULL, "the market's answer has no page to pay");
	else
		rc = topup_show(m, o, &t);
	if (!rc && option_given(o, "wait") && m->doc) {
		snprintf(id, sizeof id, "%s", t.id); /* the next answer takes its place */
		fflush(m->np->out);
		rc = topup_wait(m, id, patience);
	}
	buf_release(&body);
	return rc;
}

static int topup_command(struct nanopod *np, const struct options *o)
{
	const char *text = option_argv(o)[0];
	struct fail why = { 0 };
	struct market_link *m;
	int64_t micros;
	int rc;

	if (money_parse(text, &micros, &why) || !micros)
		return print_fail(np, STATUS_USAGE, "e.g. nanopod topup 50", "cannot pay '%.60s': %s", text,
			*why.text ? why.text : "the amount is zero");
	if (!rows_check(np, o, topup_columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	rc = market_need_ours(m, "topup");
	rc = rc ? rc : topup_carry_out(m, o, text, micros);
	market_sign_out(m);
	return rc;
}

static const struct option options[] = {
	{ "wait", 0, OPTION_FLAG, .help = "wait until it is paid" },
	{ "timeout", 0, OPTION_DURATION, "DURATION", .fallback = "1h", .help = "how long to wait" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod topup 50", "a page where you pay 50 dollars into the account's balance" },
	{ "xdg-open \"$(nanopod topup 50 -q)\"", "open it" },
	{ "nanopod topup 50 --wait && nanopod buy -t h100 -d 24h", "buy once it is paid" },
	{ 0 },
};

const struct command cmd_topup = {
	.name = "topup",
	.args = "AMOUNT",
	.summary = "pay money into the account",
	.examples = examples,
	.description = "Prints the address of a page of the market's payment service; whoever opens it pays there. The "
		       "balance has the money as soon as the service has told the market so. 'nanopod statement' shows "
		       "each payment, and what of it went back.",
	.positional = "AMOUNT  dollars, in whole cents",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.min_args = 1,
	.max_args = 1,
	.run = topup_command,
};
