/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod token: creates, lists and revokes tokens. A new one is shown once and kept nowhere. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/action.h"
#include "cli/frame/cell.h"
#include "cli/trade/market_link.h"
#include "cli/frame/print.h"
#include "cli/trade/rows_list.h"
#include "cli/trade/scopes.h"

static const struct column columns[] = {
	{ "id", COLUMN_ID, "its id, for 'token revoke'" },
	{ "name", 0, "its name" },
	{ "scopes", 0, "its scopes: what it may do" },
	{ "created", COLUMN_MINOR, "when it was created" },
	{ "expires", 0, "when it expires; none: never" },
	{ "spent", 0, "what it spent in this month (UTC)" },
	{ "cap", 0, "what it may spend in a month; none: no cap" },
	{ 0 },
};

static int token_add_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_token t;
	char created[CELL_TEXT], expires[CELL_TEXT], spent[CELL_TEXT], cap[CELL_TEXT];
	struct buf scopes;
	int rc = wire_token(d, at, &t, f);

	if (rc)
		return rc;
	buf_init(&scopes, 4096);
	scopes_join(t.scopes, t.scope_count, &scopes);
	rows_add(l->rows,
		(const char *[]){ t.id, t.name, buf_text(&scopes), cell_time(l->np, t.created_at, created),
			cell_time(l->np, t.expires_at, expires), cell_money(l->np, t.spent, spent),
			cell_money(l->np, t.cap, cap) });
	buf_release(&scopes);
	return 0;
}

static int cmd_token_list(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list tokens = { "token list", "/np/v1/tokens", "the tokens", columns, token_add_row,
		"you have no tokens; 'nanopod token create NAME' makes one" };

	(void)words;
	return rows_list(np, o, &tokens);
}

static int token_create(struct nanopod *np, const struct options *o, char **words)
{
	struct model_token_new want = { .name = words[0] };
	struct market_link *m = NULL;
	struct buf body;
	int rc = scopes_read(np, o, &want);

	if (!rc && option_given(o, "cap"))
		rc = monthcap_read(np, option_text(o, "cap"), &want.cap);
	want.capped = option_given(o, "cap");
	buf_init(&body, 64 * 1024);
	if (!rc && wire_put_token(&body, &want))
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot create the token '%s': its name is not valid text",
			words[0]);
	rc = rc ? rc : market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "token create");
	if (!rc)
		rc = market_make(m, "/np/v1/tokens", &body, buf_text(&body))
			? market_fail(m, "cannot create the token '%s'", words[0])
			: token_show_new(m, o);
	buf_release(&body);
	scopes_free(&want);
	market_sign_out(m);
	return rc;
}

static int token_cap(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int rc = monthcap_set(np, o, "/np/v1/tokens/", words, &m);

	rc = rc ? rc : rows_one(m, o, columns, token_add_row, "the token");
	market_sign_out(m);
	return rc;
}

static int cmd_token_revoke(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m;
	int rc = market_sign_in(np, o, 0, &m);

	rc = rc ? rc : market_need_ours(m, "token revoke");
	rc = rc ? rc : token_revoke(m, NULL, words);
	market_sign_out(m);
	return rc;
}

static const struct action actions[] = {
	{ "list", "", 0, 0, cmd_token_list },
	{ "create", "NAME [--scope LIST] [--expires DURATION] [--cap AMOUNT/month]", 1, 1, token_create },
	{ "cap", "TOKEN AMOUNT/month|none [--reason TEXT]", 2, 2, token_cap },
	{ "revoke", "ID...", 1, 100, cmd_token_revoke },
	{ 0 },
};

static int token_command(struct nanopod *np, const struct options *o)
{
	return action_run(np, o, "token", actions, "list");
}

static const struct option options[] = {
	{ "scope", 0, OPTION_LIST, "LIST",
		.help = "create: scopes, comma-separated: read, trade, nodes, tokens, host, admin" },
	{ "expires", 0, OPTION_STRING, "DURATION", .help = "create: lifetime, or never (default 90d)" },
	{ "cap", 0, OPTION_STRING, "AMOUNT", .help = "create: what it may spend in a month, e.g. 20/month" },
	MONTHCAP_REASON,
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod token create ci --scope read,trade --expires 30d", "a token that may read and trade; shown once" },
	{ "nanopod token create laptop -q >~/token && chmod 600 ~/token", "print only the token" },
	{ "nanopod token create ci --cap 20/month", "it spends up to $20 in a calendar month" },
	{ "nanopod token list", "tokens that are not revoked" },
	{ "nanopod token revoke tok_01h…", "the market refuses it from now on" },
	{ 0 },
};

const struct command cmd_token = {
	.name = "token",
	.args = "[list | create NAME | cap TOKEN AMOUNT | revoke ID...]",
	.summary = "create, list and revoke tokens",
	.examples = examples,
	.positional = "list         list tokens that are not revoked (the default)\n"
		      "create NAME  create a token and print it; it is shown only this once\n"
		      "cap TOKEN    what a token, by name or id, may spend in a month, e.g. 20/month; or none\n"
		      "revoke ID    revoke one token, or several",
	.description =
		"A token has at most the rights of the one that created it. Without --scope it may read, "
		"trade and use nodes. With -q only the token is printed, with -o json everything about "
		"it.\n\nA cap is for a calendar month (UTC): what the token orders counts, what it costs and what "
		"a standing buy holds, also where a procurement goes on buying for it; what comes back in that "
		"month comes off again. Who may make tokens sets caps, by a token that has none.\n\n"
		"Where the connection is lost before the "
		"answer, nobody knows the new token: 'token "
		"list' shows whether it was created, and 'token revoke' revokes it.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "list|create|cap|revoke",
	.run = token_command,
};
