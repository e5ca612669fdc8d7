/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod login: takes a token from standard input, a file or a hidden line on the terminal (never from a flag,
 * where others could see it), asks the market whether it knows the token, and writes it down.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/trade/market_link.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "cli/trade/tokenfile.h"
#include "cli/cmd/people/login_person.h"

enum { LOGIN_BY_TOKEN = -1 }; /* the market signs nobody in, or a token is what was asked for */

/* Asks for the token on the terminal without showing it. 0, or an exit status. */
static int login_ask(struct nanopod *np, char **token)
{
	const char *url = settings_text(np->settings, SETTING_ID_URL);
	struct fail f = { 0 };
	char *text = NULL, *question;
	bool interrupted;
	int rc;

	if (asprintf(&question, "Token for %s (not shown): ", url ? url : "the market") < 0)
		command_nomem();
	if (signals_begin())
		command_nomem();
	rc = prompt_hidden(question, TOKEN_BYTES, &text);
	interrupted = signals_asked() > 0;
	signals_end();
	free(question);
	if (rc && interrupted)
		return print_fail(np, STATUS_INT, NULL, "interrupted; nothing was changed");
	if (rc == -ENOTTY)
		return print_fail(np, STATUS_USAGE, "give it on standard input: 'nanopod login <FILE'",
			"cannot ask for the token: no terminal");
	if (!rc && *text && client_check_token_text(text, &f) == 0) {
		*token = text;
		return 0;
	}
	prompt_hidden_free(text);
	return print_fail(np, STATUS_USAGE, NULL, "cannot sign in: %s", *f.text ? f.text : "no token was typed");
}

static int login_take(struct nanopod *np, const struct options *o, char **token)
{
	const char *file = option_text(o, "token-file");
	struct fail f = { 0 };
	int rc;

	if (!file && np->tty_in)
		return login_ask(np, token);
	rc = file && strcmp(file, "-") != 0 ? token_read_file(file, token, &f)
					    : token_read_fd(STDIN_FILENO, "standard input", token, &f);
	if (!rc && client_check_token_text(*token, &f)) {
		token_free(*token);
		rc = -1;
	}
	return rc ? print_fail(np, STATUS_USAGE, "the token is one line, as 'nanopod token create' printed it",
		"cannot sign in: %s", f.text) : 0;
}

static int login_keep(struct market_link *m, const char *token)
{
	struct nanopod *np = m->np;
	const char *key = settings_market_key(np->settings);
	char *path = token_path(np->settings);
	struct fail f = { 0 };
	int rc = STATUS_OK;

	if (!path)
		return print_fail(np, STATUS_FAILURE, "set HOME", "cannot find the token's file");
	if (token_write(path, token, &f))
		rc = print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	else
		print_note(np, "signed in to '%s' as '%s'; wrote the token to '%s'", m->url,
			m->who.account ? m->who.account : "?", path);
	free(path);
	if (!rc && getenv("NANOPOD_TOKEN") && *getenv("NANOPOD_TOKEN"))
		print_warn(np, "NANOPOD_TOKEN is set and wins over the token just written");
	if (!rc && settings_layer(np->settings, SETTING_ID_URL) >= LAYER_ENVIRONMENT)
		print_note(np,
			key ? "\"nanopod config set url '%s#%s'\" sets the URL for good"
			    : "'nanopod config set url %s' sets the URL for good",
			m->url, key);
	return rc;
}

/* The invitation's code, from where other users cannot see it, if asked; NULL: there is none. 0, or an exit status. */
static int login_invitation(struct nanopod *np, const struct options *o, char **code)
{
	const char *given = option_text(o, "invite");
	struct fail f = { 0 };

	*code = NULL;
	if (given && strcmp(given, "-") == 0)
		return token_read_fd(STDIN_FILENO, "standard input", code, &f)
			? print_fail(np, STATUS_USAGE, "give the invitation's code as one line", "cannot sign in: %s",
				  f.text)
			: 0;
	if (given && !(*code = strdup(given)))
		command_nomem();
	return 0;
}

/* Where the market knows people, a person at a terminal signs in as one. 0, an exit status, or LOGIN_BY_TOKEN. */
static int login_as_person(struct nanopod *np, const struct options *o, char **token)
{
	struct market_link *m = NULL;
	char *invite = NULL;
	bool asked = option_given(o, "invite") || option_given(o, "account-name");
	int rc;

	if (!asked && (!np->tty_in || option_given(o, "token-file") || option_given(o, "token")))
		return LOGIN_BY_TOKEN;
	rc = login_invitation(np, o, &invite);
	rc = rc ? rc : market_sign_in(np, o, MARKET_NO_TOKEN, &m);
	if (rc) {
		token_free(invite);
		return rc;
	}
	rc = asked ? 1 : login_issuer(m);
	if (rc > 0)
		rc = login_person(m, invite, option_text(o, "account-name"), token);
	else
		rc = rc ? -rc : LOGIN_BY_TOKEN;
	market_sign_out(m);
	token_free(invite);
	return rc;
}

static int login_command(struct nanopod *np, const struct options *o)
{
	struct market_link *m;
	char *token = NULL;
	int rc;

	if (!settings_text(np->settings, SETTING_ID_URL)) /* before a secret is typed */
		return market_no_url(np, "sign in");
	if (strncmp(settings_text(np->settings, SETTING_ID_URL), "unix:", 5) == 0)
		return print_fail(np, STATUS_USAGE, "whoever may open the socket is the operator",
			"cannot sign in: a unix socket takes no token");
	rc = login_as_person(np, o, &token);
	if (rc == LOGIN_BY_TOKEN)
		rc = login_take(np, o, &token);
	if (rc)
		return rc;
	rc = market_sign_in_by(np, o, token,
		option_given(o, "token-file") ? option_text(o, "token-file")
			: np->tty_in          ? "the terminal"
					      : "standard input",
		0, &m);
	if (!rc) {
		rc = market_whoami(m) ? market_fail(m, "cannot sign in") : login_keep(m, token);
		market_sign_out(m);
	}
	token_free(token);
	return rc;
}

static const struct option options[] = {
	{ "token-file", 0, OPTION_STRING, "FILE",
		.help = "read the token from FILE, which only you may read; - is standard input",
		.complete = COMPLETE_FILE },
	{ "invite", 0, OPTION_STRING, "CODE",
		.help = "join an account by an invitation, as 'nanopod invite' made it; - reads its code from standard "
			"input" },
	{ "account-name", 0, OPTION_STRING, "NAME",
		.help = "the name of the account that a first sign-in makes, where the market lets it" },
	{ "token", 0, OPTION_FLAG, NULL, .help = "type a token, although the market signs people in" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod login", "sign in at the market's issuer, or type a token where it has none" },
	{ "nanopod login --invite npi_…", "join the account of whoever invited you" },
	{ "nanopod login <token.txt", "read it from standard input" },
	{ "nanopod login --profile prod --url https://market.example.org",
		"another market's token, for its own profile" },
	{ 0 },
};

const struct command cmd_login = {
	.name = "login",
	.args = "",
	.summary = "sign in: as a person, or with a token",
	.examples = examples,
	.description = "Where the market names an issuer of identities, shows a page and a code: sign in there on any "
		       "device, and the market gives a token of yours. Else, and with --token or input that is no "
		       "terminal, it takes a token.\n\nAsks the market whose token it is before saving it; a token "
		       "that the market refuses is not "
		       "saved, and the old one stays. The file is ~/.config/nanopod/token (token-PROFILE in a "
		       "profile), readable only by you. A token is never an option, where other users could see it. "
		       "NANOPOD_TOKEN wins over the file.",
	.options = options,
	.flags = COMMAND_MARKET,
	.run = login_command,
};
