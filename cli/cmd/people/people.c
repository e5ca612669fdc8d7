/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod people: lists the people of the account, gives them other roles, removes them. */
#include <stdlib.h>
#include <string.h>

#include "cli/frame/action.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/trade/market_link.h"
#include "cli/trade/rows_list.h"
#include "cli/trade/scopes.h"

static const struct column columns[] = {
	{ "name", COLUMN_ID, "as the issuer says" },
	{ "email", 0, "the same" },
	{ "roles", 0, "what the person may do" },
	{ "spent", 0, "what the person spent in this month (UTC)" },
	{ "cap", 0, "what the person may spend in a month; none: no cap" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "issuer", COLUMN_WIDE, "who knows the person" },
	{ "subject", COLUMN_HIDDEN, "as whom" },
	{ "created", COLUMN_MINOR, "since when" },
	{ 0 },
};

static int people_add_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_person x;
	char created[CELL_TEXT], spent[CELL_TEXT], cap[CELL_TEXT];
	struct buf roles;
	int rc = wire_person(d, at, &x, f);

	if (rc)
		return rc;
	buf_init(&roles, 4096);
	scopes_join(x.roles, x.role_count, &roles);
	rows_add(l->rows,
		(const char *[]){ x.name, x.email, buf_text(&roles), cell_money(l->np, x.spent, spent),
			cell_money(l->np, x.cap, cap), x.id, x.issuer, x.subject,
			cell_time(l->np, x.created_at, created) });
	buf_release(&roles);
	return 0;
}

static int people_list(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list people = { "people list", "/np/v1/people", "the people", columns, people_add_row,
		"the account has no people; 'nanopod invite' invites one" };

	(void)words;
	return rows_list(np, o, &people);
}

static char *people_path(const char *who)
{
	struct buf path;

	buf_init(&path, 4096);
	if (buf_adds(&path, "/np/v1/people/") || client_quote(&path, who))
		command_nomem();
	return buf_steal(&path);
}

static int people_set(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	char *path = people_path(words[0]);
	struct buf body;
	int rc;

	if (!option_given(o, "role")) {
		free(path);
		return print_fail(np, STATUS_USAGE, NULL, "--role is required, e.g. --role buyer,viewer");
	}
	buf_init(&body, 4096);
	if (wire_put_invitation(&body, NULL, option_text(o, "role"), 0))
		command_nomem();
	rc = market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "people set");
	if (!rc)
		rc = market_send(m, "PATCH", path, &body, NULL) ? market_fail(m, "cannot change '%s'", words[0])
								: rows_one(m, o, columns, people_add_row, "the person");
	market_sign_out(m);
	buf_release(&body);
	free(path);
	return rc;
}

static int people_cap(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int rc = monthcap_set(np, o, "/np/v1/people/", words, &m);

	rc = rc ? rc : rows_one(m, o, columns, people_add_row, "the person");
	market_sign_out(m);
	return rc;
}

static int people_remove(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	char *path = people_path(words[0]);
	int rc = market_sign_in(np, o, 0, &m);

	rc = rc ? rc : market_need_ours(m, "people remove");
	if (!rc && market_send(m, "DELETE", path, NULL, NULL))
		rc = market_fail(m, "cannot remove '%s'", words[0]);
	else if (!rc)
		print_note(np, "removed '%s', and ended all tokens of that person", words[0]);
	market_sign_out(m);
	free(path);
	return rc;
}

static const struct action actions[] = {
	{ "list", "", 0, 0, people_list },
	{ "set", "PERSON --role ROLES", 1, 1, people_set },
	{ "cap", "PERSON AMOUNT/month|none [--reason TEXT]", 2, 2, people_cap },
	{ "remove", "PERSON", 1, 1, people_remove },
	{ 0 },
};

static int people_command(struct nanopod *np, const struct options *o)
{
	return action_run(np, o, "people", actions, "list");
}

static const struct option options[] = {
	{ "role", 0, OPTION_STRING, "ROLES",
		.help = "set: roles, comma-separated: owner, buyer, provider, viewer, billing" },
	MONTHCAP_REASON,
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod people", "who may act for the account, and as what" },
	{ "nanopod people set ann@example.org --role buyer,provider", "all roles of a person; others end" },
	{ "nanopod people cap ann@example.org 500/month", "up to $500 in each calendar month, whatever is bought" },
	{ "nanopod people remove ann@example.org", "with everything that signs in as this person" },
	{ 0 },
};

const struct command cmd_people = {
	.name = "people",
	.args = "[list | set PERSON | cap PERSON AMOUNT | remove PERSON]",
	.summary = "list the people of the account, change their roles",
	.examples = examples,
	.positional = "list           list the people of the account (the default)\n"
		      "set PERSON     give a person, by e-mail, name or id, these roles\n"
		      "cap PERSON     what the person may spend in a month, e.g. 500/month; or none\n"
		      "remove PERSON  remove a person and end all tokens of that person",
	.description = "People sign in with the market's issuer of identities ('nanopod login'), and 'nanopod invite' "
		       "invites them. An owner may do everything for the account, a buyer trades and uses nodes, a "
		       "provider offers machines, a viewer and a billing person read. Other roles count at once, for "
		       "tokens that exist, too. The last owner stays.\n\nA cap is for a calendar month (UTC). What a "
		       "person buys counts in the month in which it is ordered, by whatever token: what it costs, and "
		       "what a standing buy holds; what comes back in that month comes off again. Where a cap falls "
		       "below what is spent, the standing buys of that person end. Only owners, and the operator, set "
		       "caps.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "list|set|cap|remove",
	.run = people_command,
};
