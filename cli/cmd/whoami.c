/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod whoami: shows whose token is in use, where it comes from, and what it may do. */
#include <string.h>

#include "cli/cmd/money/debt.h"
#include "cli/frame/cell.h"
#include "cli/trade/market_link.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/trade/scopes.h"

static const struct column columns[] = {
	{ "account", COLUMN_ID, "name of the account" },
	{ "account_id", COLUMN_WIDE, "its id" },
	{ "state", COLUMN_STATE, "open or suspended" },
	{ "scopes", 0, "what the token may do" },
	{ "token_name", 0, "name of the token" },
	{ "token_id", COLUMN_WIDE, "its id" },
	{ "expires", 0, "when it expires; none: never" },
	{ "source", COLUMN_WIDE, "where the token comes from" },
	{ "url", COLUMN_WIDE, "the market" },
	{ "person", 0, "who signs in with the token; none: whoever has it" },
	{ "spent", 0, "what counts for the cap in this month (UTC)" },
	{ "cap", 0, "what may be spent in a month, by the person or the token; none: no cap" },
	{ "roles", COLUMN_WIDE, "what that person may do" },
	{ "issuer", COLUMN_WIDE, "who knows that person" },
	{ "user", COLUMN_HIDDEN, "the person, on markets of others" },
	DEBT_COLUMNS(COLUMN_HIDDEN),
	{ 0 },
};

/* The cap of the token or of its person that allows less now. */
static void whoami_cap(const struct model_whoami *w, int64_t *cap, int64_t *spent)
{
	bool token = w->token.cap != MODEL_NONE, person = w->has_person && w->person.cap != MODEL_NONE;
	bool persons = person && (!token || w->person.cap - w->person.spent < w->token.cap - w->token.spent);

	*cap = persons ? w->person.cap : w->token.cap;
	*spent = persons || (w->has_person && !token) ? w->person.spent : w->token.spent;
}

static int whoami_command(struct nanopod *np, const struct options *o)
{
	const struct model_whoami *w;
	struct model_debt debt;
	struct debt_cells owed;
	struct market_link *m;
	struct buf scopes, source, roles;
	struct rows *r;
	char expires[CELL_TEXT], spent[CELL_TEXT], cap[CELL_TEXT];
	int64_t cap_now, spent_now;
	int rc;

	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	if (market_whoami(m) || wire_debt(m->who_doc, WIRE_WHOLE, &debt, &m->fail)) {
		rc = market_fail(m, "cannot find out who you are");
		market_sign_out(m);
		return rc;
	}
	w = &m->who;
	debt_fill(np, &debt, &owed);
	whoami_cap(w, &cap_now, &spent_now);
	buf_init(&scopes, 4096);
	if (w->local)
		buf_adds(&scopes, "operator");
	scopes_join(w->token.scopes, w->token.scope_count, &scopes);
	buf_init(&source, 8192);
	buf_init(&roles, 4096);
	scopes_join(w->person.roles, w->person.role_count, &roles);
	for (const char *p = m->token_where ? m->token_where : ""; *p; p++)
		if (*p != '\'') /* quoted, for sentences */
			buf_addc(&source, *p);
	r = rows_new(np, o, columns, &rc);
	if (r) {
		rows_add(r,
			(const char *[]){ w->account ? w->account
					: w->local   ? "(operator)"
						     : NULL,
				w->account_id, w->state, scopes.len ? buf_text(&scopes) : NULL, w->token.name,
				w->token.id, cell_time(np, w->token.expires_at, expires),
				m->token_where      ? buf_text(&source)
					: m->socket ? "unix socket"
						    : NULL,
				m->url, w->has_person ? w->person.name : NULL,
				w->has_token ? cell_money(np, spent_now, spent) : NULL, cell_money(np, cap_now, cap),
				roles.len ? buf_text(&roles) : NULL, w->person.issuer, w->user, owed.at[0], owed.at[1],
				owed.at[2], owed.at[3] });
		rc = rows_end(r);
		debt_say(np, &debt);
	}
	buf_release(&scopes);
	buf_release(&source);
	buf_release(&roles);
	market_sign_out(m);
	return rc;
}

static const struct example examples[] = {
	{ "nanopod whoami", "account, scopes and expiry of the token in use" },
	{ "nanopod whoami -o wide", "also where the token comes from" },
	{ "nanopod whoami --fields scopes -o csv", "what this script may do" },
	{ 0 },
};

const struct command cmd_whoami = {
	.name = "whoami",
	.args = "",
	.summary = "show whose token is in use and what it may do",
	.examples = examples,
	.description = "The token is NANOPOD_TOKEN where that is set, else the one that 'nanopod login' wrote. Asks "
		       "the market whether it knows the token. A refused token is not deleted.",
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.run = whoami_command,
};
