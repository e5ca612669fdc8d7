/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod grants: whose money pays a part of what the account buys, and how much of it is left. */
#include "cli/cmd/money/grant_rows.h"

static int grants_command(struct nanopod *np, const struct options *o)
{
	static const struct rows_list grants = { "grants", "/np/v1/grants", "the grants", grant_columns, grant_row,
		"no grants; the market's operator makes them" };

	return rows_list(np, o, &grants);
}

static const struct example examples[] = {
	{ "nanopod grants", "list what pays for you, and what is left" },
	{ "nanopod grants -q", "names only, as 'buy --grant' takes them" },
	{ 0 },
};

const struct command cmd_grants = {
	.name = "grants",
	.args = "",
	.summary = "list the grants that pay for the account",
	.examples = examples,
	.description =
		"A grant is money of another account, its sponsor, that pays a part of what you buy where the "
		"market's policy says so; 'nanopod price -d 1h' and the plan of 'nanopod buy' show how much. What "
		"comes back of a price comes back to who paid it, and nodes that a grant paid for cannot be "
		"sold.",
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.run = grants_command,
};
