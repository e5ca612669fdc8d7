/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/scopes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/value.h"
#include "market/money.h"
#include "market/when.h"

#define WORDS "read|trade|nodes|tokens|host|admin"

static const char *const usual[] = { "read", "trade", "nodes" };

enum { USUAL = sizeof usual / sizeof *usual, SCOPES_MAX = 16, TOKEN_PATH = 64 * 1024 };

static int add_words(struct nanopod *np, const char *text, struct model_token_new *out)
{
	char *copy = strdup(text), *rest = copy, *word;
	const char **list = (const char **)(uintptr_t)out->scopes;
	struct fail why = { 0 };
	size_t at;
	int rc = 0;

	if (!copy)
		command_nomem();
	while (!rc && (word = strsep(&rest, ","))) {
		if (value_enum(word, WORDS, &at, &why))
			rc = print_fail_field(np, STATUS_USAGE, "--scope", NULL, "cannot make that token: %s",
				why.text);
		else if (out->scope_count < SCOPES_MAX && !(list[out->scope_count++] = strdup(word)))
			command_nomem();
	}
	free(copy);
	return rc;
}

static int scopes_read_life(struct nanopod *np, const struct options *o, int64_t *seconds)
{
	const char *text = option_text(o, "expires");
	struct fail why = { 0 };

	*seconds = 90 * 86400;
	if (text && strcmp(text, "never") == 0)
		*seconds = -1;
	else if (text && when_duration(text, seconds, &why))
		return print_fail_field(np, STATUS_USAGE, "--expires", "e.g. 90d, or never",
			"cannot make that token: %s", why.text);
	return 0;
}

int scopes_read(struct nanopod *np, const struct options *o, struct model_token_new *out)
{
	size_t typed = option_count(o, "scope");
	const char **list = calloc(SCOPES_MAX, sizeof *list);
	int rc = scopes_read_life(np, o, &out->seconds);

	if (!list)
		command_nomem();
	out->scopes = list;
	for (size_t i = 0; !typed && i < USUAL; i++)
		if (!(list[out->scope_count++] = strdup(usual[i])))
			command_nomem();
	for (size_t i = 0; !rc && i < typed; i++)
		rc = add_words(np, option_at(o, "scope", i), out);
	return rc;
}

void scopes_free(struct model_token_new *t)
{
	for (size_t i = 0; i < t->scope_count; i++)
		free((char *)(uintptr_t)t->scopes[i]);
	free((void *)(uintptr_t)t->scopes);
	t->scopes = NULL;
	t->scope_count = 0;
}

void scopes_join(const char *const *scopes, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++)
		if ((i && buf_addc(out, ',')) || buf_adds(out, scopes[i]))
			command_nomem();
}

static const struct column columns[] = {
	{ "token", COLUMN_ID, "the token itself, shown only once" },
	{ "id", 0, "its id, for 'token revoke'" },
	{ "name", 0, "its name" },
	{ "scopes", 0, "what it may do" },
	{ "expires", 0, "when it expires; empty: never" },
	{ 0 },
};

int token_show_new(struct market_link *m, const struct options *o)
{
	struct nanopod *np = m->np;
	struct model_token t;
	char expires[CELL_TEXT];
	struct buf scopes;
	struct rows *r;
	int rc;

	if (wire_token(m->doc, WIRE_WHOLE, &t, &m->fail))
		return market_fail(m, "cannot show the new token");
	if (!t.token)
		return print_fail(np, STATUS_FAILURE, "revoke it with 'nanopod token revoke' and make another one",
			"cannot show the new token '%s': the market shows a token only once, and did so before", t.id);
	buf_init(&scopes, 4096);
	scopes_join(t.scopes, t.scope_count, &scopes);
	r = rows_new(np, o, columns, &rc);
	if (r) {
		rows_add(r,
			(const char *[]){ t.token, t.id, t.name, buf_text(&scopes),
				cell_time(np, t.expires_at, expires) });
		rc = rows_end(r);
		if (cell_for_people(np) && !option_given(o, "quiet"))
			print_note(np, "this token is shown only once; 'nanopod login' stores it");
	}
	buf_release(&scopes);
	return rc;
}

int token_revoke(struct market_link *m, const char *account, char **ids)
{
	struct buf path;
	int rc = 0;

	for (; !rc && *ids; ids++) {
		buf_init(&path, TOKEN_PATH);
		if (buf_adds(&path, "/np/v1/tokens/") || client_quote(&path, *ids) ||
			(account && (buf_adds(&path, "?account=") || client_quote(&path, account))))
			rc = print_fail(m->np, STATUS_USAGE, NULL, "cannot revoke '%.60s': that is not a token's id",
				*ids);
		else if (market_send(m, "DELETE", buf_text(&path), NULL, NULL))
			rc = market_fail(m, "cannot revoke '%.60s'", *ids);
		else
			print_note(m->np, "revoked '%s'", *ids);
		buf_release(&path);
	}
	return rc;
}

/* ---- What may be spent in a month --------------------------------------------------------- */

#define MONTH "/month"

int monthcap_read(struct nanopod *np, const char *text, int64_t *micros)
{
	size_t len = strlen(text), unit = strlen(MONTH);
	struct fail f = { 0 };
	char amount[64];

	if (strcmp(text, "none") == 0) {
		*micros = -1;
		return 0;
	}
	if (len > unit && strcmp(text + len - unit, MONTH) == 0)
		len -= unit;
	snprintf(amount, sizeof amount, "%.*s", (int)(len < sizeof amount ? len : sizeof amount - 1), text);
	if (strchr(amount, '/') || money_parse(amount, micros, &f))
		return print_fail(np, STATUS_USAGE, "type it as 20/month or none",
			"'%.40s' is not an amount for a calendar month", text);
	return 0;
}

int monthcap_set(struct nanopod *np, const struct options *o, const char *folder, char **words,
	struct market_link **out)
{
	struct buf path, body;
	int64_t micros = 0;
	char command[32];
	int rc = monthcap_read(np, words[1], &micros);

	buf_init(&path, 4096);
	buf_init(&body, 4096);
	snprintf(command, sizeof command, "%s cap", np->running->name);
	if (buf_adds(&path, folder) || client_quote(&path, words[0]) || buf_adds(&path, "/cap"))
		command_nomem();
	if (!rc && wire_put_cap(&body, micros, option_given(o, "reason") ? option_text(o, "reason") : NULL))
		rc = print_fail(np, STATUS_USAGE, NULL, "--reason is not valid text");
	rc = rc ? rc : market_sign_in(np, o, 0, out);
	rc = rc ? rc : market_need_ours(*out, command);
	if (!rc && market_send(*out, "PUT", buf_text(&path), &body, NULL))
		rc = market_fail(*out, "cannot set the cap of '%s'", words[0]);
	buf_release(&path);
	buf_release(&body);
	return rc;
}
