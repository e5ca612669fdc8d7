/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod logout: ends the saved token at the market where it can, and deletes its file where it cannot, too. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/trade/market_link.h"
#include "cli/trade/tokenfile.h"

/* Tokens of people alone: one of the account may serve others, too. */
static int logout_end(struct market_link *m)
{
	int rc = market_whoami(m);

	if (rc == REASON_UNAUTHENTICATED || rc == REASON_TOKEN_EXPIRED)
		return 0; /* it has ended already */
	if (rc)
		return rc;
	if (!m->who.has_person) {
		print_note(m->np, "the token of account '%s' stays valid elsewhere; 'nanopod token revoke %s' ends it",
			m->who.account ? m->who.account : "?", m->who.token.id ? m->who.token.id : "ID");
		return 0;
	}
	return market_send(m, "DELETE", "/np/v1/signin", NULL, NULL);
}

static int logout_command(struct nanopod *np, const struct options *o)
{
	char *path = token_path(np->settings), *token = NULL;
	struct market_link *m = NULL;
	struct fail f = { 0 };
	int rc;

	if (!path)
		return print_fail(np, STATUS_FAILURE, "set HOME", "cannot find the token's file");
	if (access(path, F_OK) != 0) {
		print_note(np, "you are not signed in: there is no file '%s'", path);
		free(path);
		return STATUS_OK;
	}
	rc = token_read_file(path, &token, &f) ? print_fail(np, STATUS_FAILURE, NULL, "cannot sign out: %s", f.text)
					       : 0;
	rc = rc ? rc : market_sign_in_by(np, o, token, path, MARKET_BRIEFLY, &m);
	if (!rc && logout_end(m) != 0)
		print_warn(np, "the market did not end the token: %s; it stays valid until it expires", m->fail.text);
	market_sign_out(m);
	token_free(token);
	if (!rc && unlink(path) != 0)
		rc = print_fail(np, STATUS_FAILURE, NULL, "cannot delete '%s': %s", path, strerror(errno));
	if (!rc)
		print_note(np, "signed out; deleted '%s'", path);
	if (!rc && getenv("NANOPOD_TOKEN") && *getenv("NANOPOD_TOKEN"))
		print_warn(np, "NANOPOD_TOKEN is set and still signs you in");
	free(path);
	return rc;
}

static const struct example examples[] = {
	{ "nanopod logout", "end the sign-in of this profile" },
	{ "nanopod logout --profile prod", "that of another profile" },
	{ 0 },
};

const struct command cmd_logout = {
	.name = "logout",
	.args = "",
	.summary = "sign out: end a person's token, delete its file",
	.examples = examples,
	.description =
		"Ends at the market the token that 'nanopod login' got for a person, and deletes its file. Where the "
		"market does not answer, the file is deleted all the same. A token of the account stays valid: "
		"'nanopod token revoke' ends it.",
	.flags = COMMAND_MORE | COMMAND_MARKET,
	.run = logout_command,
};
