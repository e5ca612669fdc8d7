/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin plan: what accounts can pay a month, and what that pays for. */
#include "cli/cmd/admin/admin.h"
#include "cli/cmd/money/subscribe.h"
#include "cli/frame/print.h"
#include "market/money.h"

enum { PLAN_BODY = 16 * 1024 };

int admin_plan_list(struct nanopod *np, const struct options *o, char **words)
{
	struct rows_list plans = { "admin", "/np/v1/plans", "the plans", subscribe_columns, subscribe_row, "no plans" };

	(void)words;
	return rows_list(np, o, &plans);
}

/* 0 or an exit status. */
static int admin_plan_money(struct nanopod *np, const struct options *o, struct json *j, const char *option,
	const char *field)
{
	struct fail why = { 0 };
	char room[MONEY_TEXT];
	int64_t micros;

	if (!option_given(o, option))
		return 0;
	if (money_parse(option_text(o, option), &micros, &why))
		return print_fail(np, STATUS_USAGE, NULL, "--%s '%s': %s", option, option_text(o, option), why.text);
	json_text(j, field, money_wire(micros, room));
	return 0;
}

static int admin_plan_put(struct nanopod *np, const struct options *o, const char *name, bool is_new)
{
	struct market_link *m = NULL;
	struct buf body, path;
	struct json j;
	int rc;

	buf_init(&body, PLAN_BODY);
	buf_init(&path, PLAN_BODY);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	if (is_new) {
		json_text(&j, "name", name);
		json_text(&j, "seller", option_text(o, "seller"));
		if (option_given(o, "type"))
			json_text(&j, "type", option_text(o, "type"));
	}
	rc = admin_plan_money(np, o, &j, "fee", "fee_dollars");
	rc = rc ? rc : admin_plan_money(np, o, &j, "included", "included_dollars");
	rc = rc ? rc : admin_plan_money(np, o, &j, "rates", "rates_dollars");
	if (option_given(o, "plan-state"))
		json_text(&j, "state", option_text(o, "plan-state"));
	json_end(&j);
	if (!rc && j.error)
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot make that plan: a name is no valid text");
	if (buf_adds(&path, "/np/v1/plans/") || client_quote(&path, name))
		command_nomem();
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = (is_new ? market_make(m, "/np/v1/plans", &body, buf_text(&body))
			     : market_send(m, "PATCH", buf_text(&path), &body, NULL))
			? market_fail(m, "cannot %s the plan '%s'", is_new ? "make" : "change", name)
			: rows_one(m, o, subscribe_columns, subscribe_row, "the plan");
	buf_release(&body);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

int admin_plan_create(struct nanopod *np, const struct options *o, char **words)
{
	if (!option_given(o, "fee"))
		return print_fail(np, STATUS_USAGE, NULL, "--fee is required, e.g. --fee 49 (dollars a month)");
	if (!option_given(o, "seller"))
		return print_fail_field(np, STATUS_USAGE, "--seller",
			"'nanopod admin account add NAME' makes an account that sells plans",
			"--seller is required: the account that gets the fee and pays what is included");
	return admin_plan_put(np, o, words[0], true);
}

int admin_plan_set(struct nanopod *np, const struct options *o, char **words)
{
	return admin_plan_put(np, o, words[0], false);
}
