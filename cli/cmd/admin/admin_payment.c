/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin payment: what a payment service took, and whose it is where nobody knows. */
#include "cli/cmd/admin/admin.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"

enum { PAYMENT_BODY = 4096 };

static const struct column payment_columns[] = {
	{ "payment", COLUMN_ID, "as the payment service calls it" },
	{ "account", 0, "whose it is; nothing: nobody knows" },
	{ "amount", COLUMN_RIGHT, "what was paid, less what went back" },
	{ "amount_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "created", 0, "when the market first heard of it" },
	{ "id", COLUMN_WIDE, "its id here" },
	{ 0 },
};

static int payment_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_payment p;
	char rooms[3][CELL_TEXT];
	int rc = wire_payment(d, at, &p, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ p.reference, p.account, cell_money(l->np, p.amount, rooms[0]),
				cell_micros(p.amount, rooms[1]), cell_time(l->np, p.created_at, rooms[2]), p.id });
	return rc;
}

int admin_payment_list(struct nanopod *np, const struct options *o, char **words)
{
	const struct rows_list payments = { "admin", NULL, "the payments", payment_columns, payment_row,
		"no payments" };

	(void)words;
	return admin_list(np, o, "/np/v1/payments", payments);
}

/* Sends the body to what the market does with the payment, and shows what came of it. */
static int admin_payment_post(struct nanopod *np, const struct options *o, char **words, const char *verb,
	struct buf *body)
{
	struct market_link *m = NULL;
	struct buf path;
	int rc;

	buf_init(&path, PAYMENT_BODY);
	if (buf_adds(&path, "/np/v1/payments/") || client_quote(&path, words[0]) || buf_addf(&path, "/%s", verb))
		command_nomem();
	rc = admin_begin(np, o, &m);
	if (!rc)
		rc = market_send(m, "POST", buf_text(&path), body, NULL)
			? market_fail(m, "cannot %s the payment '%s'", verb, words[0])
			: rows_one(m, o, payment_columns, payment_row, "the payment");
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

int admin_payment_claim(struct nanopod *np, const struct options *o, char **words)
{
	struct buf body;
	struct json j;
	int rc;

	buf_init(&body, PAYMENT_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "account", words[1]);
	json_end(&j);
	rc = j.error ? print_fail(np, STATUS_USAGE, NULL, "cannot do that: the account's name is no valid text")
		     : admin_payment_post(np, o, words, "claim", &body);
	buf_release(&body);
	return rc;
}

int admin_payment_dismiss(struct nanopod *np, const struct options *o, char **words)
{
	return admin_payment_post(np, o, words, "dismiss", NULL);
}
