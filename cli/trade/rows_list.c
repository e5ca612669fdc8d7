/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/rows_list.h"

#include <stdlib.h>
#include <string.h>

#include "cli/frame/print.h"
#include "cli/frame/remember.h"

void listing_name(struct listing *l, const char *kind, const char *name)
{
	l->remember = kind;
	l->names = reallocarray(l->names, l->name_count + 1, sizeof *l->names);
	if (!l->names || !(l->names[l->name_count] = strdup(name)))
		command_nomem();
	l->name_count++;
}

/* where: all names of this market were listed; NULL: they were not. */
static void listing_remember(struct listing *l, const char *where)
{
	if (l->remember && where)
		remember_all(l->remember, where, (const char *const *)l->names, NULL, l->name_count);
	for (size_t i = 0; i < l->name_count; i++)
		free(l->names[i]);
	free(l->names);
}

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
		listing_remember(&rows, failed ? NULL : m->where);
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
	rc = add(&l, m->doc, WIRE_WHOLE, &m->fail);
	listing_remember(&l, NULL);
	if (rc) {
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
