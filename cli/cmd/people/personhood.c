/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod personhood: proves an address of the account by its wallet's signature, shows the score that it brings. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/frame/action.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/trade/market_link.h"
#include "cli/trade/rows_list.h"

enum { TEXT_MAX = 4096, SIGNATURE_MAX = 160 };

static const struct column columns[] = {
	{ "account", COLUMN_ID, "whose it is" },
	{ "state", COLUMN_STATE, "scored, asking, failed, unscored, attested or none" },
	{ "score", COLUMN_RIGHT, "what the policy compares, as account.personhood_score" },
	{ "passing", COLUMN_WIDE, "what Human Passport itself makes of it" },
	{ "address", 0, "which the account has proven" },
	{ "checked", COLUMN_WIDE, "when Human Passport answered" },
	{ "until", 0, "how long the score counts" },
	{ "person", COLUMN_WIDE, "who proved the address" },
	{ "problem", COLUMN_WIDE, "why the last try to ask failed" },
	{ 0 },
};

static int personhood_add_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_personhood x;
	char until[CELL_TEXT];
	int rc = wire_personhood(d, at, &x, f);

	if (rc)
		return rc;
	rows_add(l->rows,
		(const char *[]){ x.account, x.state, x.score, x.passing, x.address, x.checked_at,
			cell_time(l->np, x.end_at, until), x.person, x.problem });
	return 0;
}

static int personhood_see(struct market_link *m, const struct options *o)
{
	return market_get(m, "/np/v1/personhood?wait=true")
		? market_fail(m, "cannot show the account's address")
		: rows_one(m, o, columns, personhood_add_row, "the account's address");
}

static int personhood_show(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int rc = market_sign_in(np, o, 0, &m);

	(void)words;
	rc = rc ? rc : market_need_ours(m, "personhood");
	rc = rc ? rc : personhood_see(m, o);
	market_sign_out(m);
	return rc;
}

#define WANTS " wants you to sign in with your Ethereum account:"

/* Texts of two other lines may make a wallet sign for somebody else; other bytes may hide that. */
static int personhood_check(struct market_link *m, const char *address, const char *text)
{
	const char *line = strchr(text, '\n'), *host = strstr(m->url, "://");
	size_t first = line ? (size_t)(line - text) : 0, tail = strlen(WANTS),
	       second = line ? strcspn(++line, "\n") : 0;
	const char *bad = NULL;

	for (const char *p = text; *p && !bad; p++)
		if (*p != '\n' && (*p < ' ' || *p > '~'))
			bad = "it has bytes that a terminal may not show";
	if (!bad &&
		(first <= tail || strncmp(text + first - tail, WANTS, tail) != 0 || memchr(text, ' ', first - tail)))
		bad = "its first line is not 'HOST" WANTS "'";
	if (!bad && (second != strlen(address) || strncasecmp(line, address, second) != 0))
		bad = "it is about another address";
	if (bad)
		return print_fail(m->np, STATUS_FAILURE, "sign nothing of this market, and ask its operator",
			"the market's text is none that proves '%.60s': %s", address, bad);
	host = host ? host + 3 : NULL;
	if (host && (strcspn(host, "/") != first - tail || strncasecmp(host, text, first - tail) != 0))
		print_warn(m->np, "the text is for '%.*s', and your market is '%.*s': sign it only if both are one",
			(int)(first - tail), text, (int)strcspn(host, "/"), host);
	return 0;
}

/* The text for an address to sign, as the market made it. */
static int personhood_text(struct market_link *m, const char *address, struct buf *text)
{
	struct buf body;
	struct json j;
	int rc;

	buf_init(&body, TEXT_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "address", address);
	json_end(&j);
	if (j.error)
		rc = print_fail(m->np, STATUS_USAGE, NULL, "'%.60s' is no address: 0x and 40 digits", address);
	else
		rc = market_send(m, "POST", "/np/v1/personhood/challenge", &body, NULL)
			? market_fail(m, "cannot get a text to sign")
			: 0;
	if (!rc && m->doc && (!doc_text(m->doc, "message") || buf_adds(text, doc_text(m->doc, "message"))))
		rc = print_fail(m->np, STATUS_FAILURE, NULL, "the market's answer has no text to sign");
	if (!rc && text->len)
		rc = personhood_check(m, address, buf_text(text));
	buf_release(&body);
	return rc;
}

static int personhood_message(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf text;
	int rc = market_sign_in(np, o, 0, &m);

	buf_init(&text, TEXT_MAX);
	rc = rc ? rc : market_need_ours(m, "personhood message");
	rc = rc ? rc : personhood_text(m, words[0], &text);
	if (!rc && text.len)
		printf("%s\n", buf_text(&text));
	buf_release(&text);
	market_sign_out(m);
	return rc;
}

/* Of the option, or one line of standard input. */
static int personhood_signature(struct nanopod *np, const struct options *o, char room[SIGNATURE_MAX])
{
	const char *given = option_given(o, "signature") ? option_text(o, "signature") : NULL;

	if (given)
		snprintf(room, SIGNATURE_MAX, "%s", given);
	else if (!fgets(room, SIGNATURE_MAX, stdin))
		room[0] = '\0';
	room[strcspn(room, " \t\r\n")] = '\0';
	return *room ? 0
		     : print_fail(np, STATUS_USAGE, "give --signature, or the signature on standard input",
			       "there is no signature");
}

static int personhood_send(struct market_link *m, const struct options *o, const struct buf *text)
{
	char signature[SIGNATURE_MAX];
	struct buf body;
	struct json j;
	int rc = personhood_signature(m->np, o, signature);

	if (rc)
		return rc;
	buf_init(&body, (size_t)8 * TEXT_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "message", buf_text(text));
	json_text(&j, "signature", signature);
	json_end(&j);
	if (j.error)
		rc = print_fail(m->np, STATUS_USAGE, NULL, "the text or the signature is not valid text");
	else
		rc = market_send(m, "POST", "/np/v1/personhood", &body, NULL)
			? market_fail(m, "cannot prove the address")
			: personhood_see(m, o);
	buf_release(&body);
	return rc;
}

/* At a terminal both steps are one: the text is shown, the signature is asked for. */
static int personhood_guided(struct market_link *m, const struct options *o, const char *address)
{
	struct buf text;
	int rc;

	buf_init(&text, TEXT_MAX);
	rc = personhood_text(m, address, &text);
	if (!rc && text.len) {
		if (!option_given(o, "signature")) {
			print_note(m->np, "sign this text with the wallet, by personal_sign:");
			fprintf(stderr, "\n%s\n\n", buf_text(&text));
			print_note(m->np, "then paste the signature:");
		}
		rc = personhood_send(m, o, &text);
	}
	buf_release(&text);
	return rc;
}

static int personhood_prove(struct nanopod *np, const struct options *o, char **words)
{
	const char *path = option_given(o, "message") ? option_text(o, "message") : NULL;
	struct market_link *m = NULL;
	struct buf text;
	int rc = 0;

	if (!path == !words[0])
		return print_fail(np, STATUS_USAGE, NULL,
			"give the address, or --message with the text that was signed");
	if (!path && !np->tty_in)
		return print_fail(np, STATUS_USAGE, NULL,
			"without a terminal this takes two steps: 'nanopod personhood message %s > text', then "
			"'nanopod personhood prove --message text' with the signature on standard input",
			words[0]);
	buf_init(&text, TEXT_MAX);
	if (path && (rc = buf_read_file(&text, path)) != 0)
		rc = print_fail_field(np, STATUS_USAGE, "--message", NULL, "cannot read '%s': %s", path,
			rc == -EFBIG ? "it is too large" : strerror(-rc));
	rc = rc ? rc : market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "personhood prove");
	if (!rc)
		rc = path ? personhood_send(m, o, &text) : personhood_guided(m, o, words[0]);
	buf_release(&text);
	market_sign_out(m);
	return rc;
}

static int personhood_release(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int rc = market_sign_in(np, o, 0, &m);

	(void)words;
	rc = rc ? rc : market_need_ours(m, "personhood release");
	if (!rc && market_send(m, "DELETE", "/np/v1/personhood", NULL, NULL))
		rc = market_fail(m, "cannot let the address go");
	else if (!rc)
		print_note(np, "let the address go, and its score with it; it serves no other account for 30 days");
	market_sign_out(m);
	return rc;
}

static const struct action actions[] = {
	{ "show", "", 0, 0, personhood_show },
	{ "message", "ADDRESS", 1, 1, personhood_message },
	{ "prove", "[ADDRESS] [--message FILE]", 0, 1, personhood_prove },
	{ "release", "", 0, 0, personhood_release },
	{ 0 },
};

static int personhood_command(struct nanopod *np, const struct options *o)
{
	return action_run(np, o, "personhood", actions, "show");
}

static const struct option options[] = {
	{ "message", 0, OPTION_STRING, "FILE", .complete = COMPLETE_FILE,
		.help = "prove: the text that was signed, as 'message' printed it" },
	{ "signature", 0, OPTION_STRING, "HEX",
		.help = "prove: the wallet's signature (default: a line of standard input)" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod personhood prove 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "at a terminal, guided" },
	{ "nanopod personhood", "the address, its score, and until when that counts" },
	{ "nanopod personhood release", "so that the account may prove another address" },
	{ 0 },
};

const struct command cmd_personhood = {
	.name = "personhood",
	.args = "[show | message ADDRESS | prove [ADDRESS] | release]",
	.summary = "prove an address of Ethereum, show its score",
	.examples = examples,
	.positional = "show             show the account's address and score (the default)\n"
		      "message ADDRESS  print a text that the wallet of this address signs within 10 minutes\n"
		      "prove [ADDRESS]  prove the address: at a terminal, or with --message\n"
		      "release          let the address go, and its score",
	.description = "The market may ask in its policy how unique the person of an account is: a score that Human "
		       "Passport gives addresses. The wallet signs a text of the market (EIP-4361) by personal_sign, "
		       "which costs nothing. An address serves one account; one that was let go serves no other for "
		       "30 days.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "show|message|prove|release",
	.run = personhood_command,
};
