/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod audit: who did what with the account, its money, tokens and machines, and why. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/frame/cell.h"
#include "cli/trade/rows_list.h"

static const struct column columns[] = {
	{ "seq", COLUMN_ID | COLUMN_RAW | COLUMN_RIGHT | COLUMN_WIDE, "number of the market's event" },
	{ "at", 0, "when" },
	{ "what", COLUMN_TEXT, "what was done" },
	{ "by", 0, "name or id of the token that did it; operator: who runs the market, or the market itself" },
	{ "reason", COLUMN_TEXT, "why, in the words of who did it" },
	{ "kind", COLUMN_WIDE, "kind of event" },
	{ "account", COLUMN_WIDE, "whose it is" },
	{ 0 },
};

static int audit_add_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	char when[CELL_TEXT], seq[CELL_TEXT];
	struct model_audit a;
	int rc = wire_audit(d, at, &a, f);

	if (rc)
		return rc;
	rows_add(l->rows,
		(const char *[]){ cell_int(a.seq, seq), cell_time(l->np, a.at, when), a.text,
			!a.by.id            ? "operator"
				: a.by.name ? a.by.name
					    : a.by.id,
			a.reason, a.kind, a.account });
	return 0;
}

static int audit_command(struct nanopod *np, const struct options *o)
{
	static const struct rows_list audits = { "audit", "/np/v1/audit", "what was done", columns, audit_add_row,
		"nothing was done yet" };
	int rc = rows_all_accounts(np, o);

	return rc ? rc : rows_list(np, o, &audits);
}

static const struct option options[] = {
	{ "all-accounts", 0, OPTION_FLAG, .help = "of all accounts, for the operator with a token of scope admin" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod audit", "who did what with the account" },
	{ "nanopod audit -o jsonl | jq -c 'select(.kind == \"token\")'", "the tokens that were made, for a script" },
	{ 0 },
};

const struct command cmd_audit = {
	.name = "audit",
	.args = "",
	.summary = "list who did what with the account",
	.examples = examples,
	.description = "Prints a line for each change of the account, its money, tokens and machines, oldest first: "
		       "when, what, by whose token or by the operator, and why where somebody said it. Orders and "
		       "nodes are in 'nanopod events'.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.run = audit_command,
};
