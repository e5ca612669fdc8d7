/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/rows_list.h"

#include "cli/frame/print.h"

int rows_list(struct nanopod *np, const struct options *o, const struct rows_list *l)
{
	struct listing rows = { .np = np };
	struct market_link *m;
	bool none;
	int rc, failed;

	if (!rows_check(np, o, l->columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, l->command);
	if (!rc)
		rows.rows = rows_new(np, o, l->columns, &rc);
	if (rows.rows) {
		failed = market_each(m, l->path, l->add, &rows);
		none = rows_none(rows.rows);
		rc = rows_end(rows.rows);
		if (failed)
			rc = market_fail(m, "cannot list %s", l->what);
		else if (none && l->none)
			print_note(np, "%s", l->none);
	}
	market_sign_out(m);
	return rc;
}

int rows_one(struct market_link *m, const struct options *o, const struct column *columns, market_each_fn add,
	const char *what)
{
	struct listing l = { .np = m->np };
	int rc;

	l.rows = rows_new(m->np, o, columns, &rc);
	if (!l.rows)
		return rc;
	if (add(&l, m->doc, WIRE_WHOLE, &m->fail)) {
		rows_drop(l.rows);
		return market_fail(m, "cannot show %s", what);
	}
	return rows_end(l.rows);
}

int rows_all_accounts(struct nanopod *np, const struct options *o)
{
	if (!option_given(o, "all-accounts"))
		return 0;
	if (np->account)
		return print_fail_field(np, STATUS_USAGE, "--all-accounts", NULL,
			"cannot take --account and --all-accounts: one account, or all of them");
	np->account = "*";
	return 0;
}
