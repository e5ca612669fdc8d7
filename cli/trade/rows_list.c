/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/rows_list.h"

int rows_list(struct nanopod *np, const struct options *o, const struct rows_list *l)
{
	struct listing rows = { .np = np };
	struct market_link *m;
	int rc, failed;

	if (!rows_check(np, o, l->columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, l->command);
	if (!rc)
		rows.rows = rows_new(np, o, l->columns, &rc);
	if (rows.rows) {
		failed = market_each(m, l->path, l->add, &rows);
		rc = rows_end(rows.rows);
		if (failed)
			rc = market_fail(m, "cannot list %s", l->what);
	}
	market_sign_out(m);
	return rc;
}
