/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod invite: makes an invitation to the account, and prints the one line to send. */
#include <string.h>

#include "base/str.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/trade/market_link.h"
#include "cli/trade/scopes.h"

static const struct column columns[] = {
	{ "command", COLUMN_ID, "what the invited person types" },
	{ "roles", 0, "what the person will be" },
	{ "expires", 0, "until when" },
	{ "code", COLUMN_HIDDEN, "the code alone; shown only this once" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "link", COLUMN_HIDDEN, "the same for a browser, by the market's page" },
	{ 0 },
};

static void invite_note(struct nanopod *np, const char *link)
{
	print_note(np, "send the line to the person; it works once, and is shown only this once");
	if (link)
		print_note(np, "or, for a browser, send %s", link);
}

static int invite_show(struct market_link *m, const struct options *o)
{
	struct nanopod *np = m->np;
	struct model_invitation i;
	char expires[CELL_TEXT];
	struct buf roles, line, link;
	const char *page = NULL; /* the operator's socket has none */
	bool web = str_starts(m->url, "http");
	struct rows *r;
	int rc;

	if (wire_invitation(m->doc, WIRE_WHOLE, &i, &m->fail))
		return market_fail(m, "cannot show the invitation");
	buf_init(&roles, 4096);
	buf_init(&line, 8192);
	buf_init(&link, 8192);
	scopes_join(i.roles, i.role_count, &roles);
	if (buf_addf(&line, "nanopod login %s%s%s--invite %s", web ? "--url " : "", web ? m->url : "", web ? " " : "",
		    i.code))
		command_nomem();
	if (web) {
		if (buf_addf(&link, "%s/#invite=%s", m->url, i.code))
			command_nomem();
		page = buf_text(&link);
	}
	r = rows_new(np, o, columns, &rc);
	if (r) {
		rows_add(r,
			(const char *[]){ buf_text(&line), buf_text(&roles), cell_time(np, i.expires_at, expires),
				i.code, i.id, page });
		rc = rows_end(r);
		if (cell_for_people(np) && !option_given(o, "quiet"))
			invite_note(np, page);
		if (!web)
			print_warn(np,
				"the person cannot reach '%s': add to the line how people reach the market, e.g. --url "
				"https://market.example.org",
				m->url);
	}
	buf_release(&roles);
	buf_release(&line);
	buf_release(&link);
	return rc;
}

static int invite_command(struct nanopod *np, const struct options *o)
{
	int64_t seconds = option_given(o, "for") ? option_ms(o, "for") / 1000 : 0;
	const char *roles = option_given(o, "role") ? option_text(o, "role") : "buyer";
	struct market_link *m = NULL;
	struct buf body;
	int rc;

	buf_init(&body, 4096);
	if (wire_put_invitation(&body, option_argc(o) ? option_argv(o)[0] : NULL, roles, seconds))
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot invite: the name is not valid text");
	else
		rc = market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "invite");
	if (!rc)
		rc = market_send(m, "POST", "/np/v1/invitations", &body, NULL) ? market_fail(m, "cannot invite")
									       : invite_show(m, o);
	market_sign_out(m);
	buf_release(&body);
	return rc;
}

static const struct option options[] = {
	{ "role", 0, OPTION_STRING, "ROLES",
		.help = "roles, comma-separated: owner, buyer, provider, viewer, billing (default buyer)" },
	{ "for", 0, OPTION_DURATION, "DURATION", .help = "how long it may be used (default 7d)" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod invite", "a line that makes its reader a buyer of the account" },
	{ "nanopod invite ann --role owner --for 1d", "an owner, by tomorrow" },
	{ "nanopod invite -q | mail -s invitation ann@example.org", "only the line" },
	{ 0 },
};

const struct command cmd_invite = {
	.name = "invite",
	.args = "[NAME]",
	.summary = "invite a person to the account: print the line to send",
	.examples = examples,
	.positional = "NAME  for whom it is; only a note for yourself",
	.description =
		"Whoever types the line signs in with the market's issuer of identities and becomes a person of the "
		"account with these roles. The line works once. Nobody gives roles that may do more than the own "
		"token.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = 1,
	.run = invite_command,
};
