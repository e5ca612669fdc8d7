/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin token: the tokens of all accounts, and their end; for operators. */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/trade/scopes.h"

enum { PATH_BYTES = 64 * 1024 };

static const struct column admin_token_columns[] = {
	{ "id", COLUMN_ID, "its id, for 'admin token revoke'" },
	{ "account", 0, "name of its account" },
	{ "name", 0, "its name" },
	{ "scopes", 0, "its scopes: what it may do" },
	{ "created", COLUMN_MINOR, "when it was created" },
	{ "expires", 0, "when it expires; none: never" },
	{ "account_id", COLUMN_WIDE, "id of its account" },
	{ 0 },
};

struct admin_tokens {
	struct nanopod *np;
	struct rows *rows;
	struct table names; /* of accounts, by id; malloc'd */
};

static int admin_tokens_account(void *arg, struct doc *d, long at, struct fail *f)
{
	struct admin_tokens *t = arg;
	struct model_account a;
	int rc = wire_account(d, at, &a, f);
	char *name;

	if (rc)
		return rc;
	name = strdup(a.name);
	if (!name || table_set(&t->names, a.id, name))
		command_nomem();
	return 0;
}

static int admin_tokens_add(void *arg, struct doc *d, long at, struct fail *f)
{
	struct admin_tokens *t = arg;
	struct model_token k;
	char created[CELL_TEXT], expires[CELL_TEXT];
	struct buf scopes;
	const char *name;
	int rc = wire_token(d, at, &k, f);

	if (rc)
		return rc;
	name = k.account ? table_get(&t->names, k.account) : NULL;
	buf_init(&scopes, 4096);
	scopes_join(k.scopes, k.scope_count, &scopes);
	rows_add(t->rows,
		(const char *[]){ k.id, name ? name : k.account, k.name, buf_text(&scopes),
			cell_time(t->np, k.created_at, created), cell_time(t->np, k.expires_at, expires), k.account });
	buf_release(&scopes);
	return 0;
}

static int admin_tokens_list(struct market_link *m, const struct options *o, struct admin_tokens *t)
{
	struct buf path;
	bool none;
	int rc, failed = market_each(m, "/np/v1/accounts", admin_tokens_account, t);

	t->rows = failed ? NULL : rows_new(m->np, o, admin_token_columns, &rc);
	if (failed)
		return market_fail(m, "cannot list the tokens");
	if (!t->rows)
		return rc;
	buf_init(&path, PATH_BYTES);
	admin_path(&path, o, "/np/v1/tokens", NULL, "");
	failed = market_each(m, buf_text(&path), admin_tokens_add, t);
	buf_release(&path);
	none = rows_none(t->rows);
	rc = rows_end(t->rows);
	if (failed)
		return market_fail(m, "cannot list the tokens");
	if (none)
		print_note(m->np, "no tokens; 'nanopod admin token ACCOUNT NAME' makes one");
	return rc;
}

int admin_token_list(struct nanopod *np, const struct options *o, char **words)
{
	struct admin_tokens t = { .np = np };
	struct market_link *m;
	void *name;
	int rc;

	(void)words;
	if (!rows_check(np, o, admin_token_columns, &rc))
		return rc;
	rc = admin_begin(np, o, &m);
	if (rc)
		return rc;
	table_init(&t.names);
	rc = admin_tokens_list(m, o, &t);
	for (size_t at = 0; table_next(&t.names, &at, NULL, &name);)
		free(name);
	table_release(&t.names);
	market_sign_out(m);
	return rc;
}

int admin_token_revoke(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m;
	int rc = admin_begin(np, o, &m);

	rc = rc ? rc : token_revoke(m, option_text(o, "account"), words);
	market_sign_out(m);
	return rc;
}
