/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --scope and --expires of a new token, how it is shown, once, and what a token, or a person, may spend in a month. For
 * the commands token, people and admin.
 */
#ifndef CLI_TRADE_SCOPES_H
#define CLI_TRADE_SCOPES_H

#include "cli/frame/command.h"
#include "cli/trade/market_link.h"

/* Reads --scope and --expires. 0, or an exit status after saying why. */
int scopes_read(struct nanopod *np, const struct options *o, struct model_token_new *out);
void scopes_free(struct model_token_new *t);
void scopes_join(const char *const *scopes, size_t count, struct buf *out);

/* Prints the token in m->doc, with -q the token alone. Returns an exit status. */
int token_show_new(struct market_link *m, const struct options *o);

/* Revokes these tokens, of that account (NULL: one's own) until one fails. Returns an exit status. */
int token_revoke(struct market_link *m, const char *account, char **ids);

/* "20/month", "$20", or "none", which is -1. 0, or an exit status after saying why. */
int monthcap_read(struct nanopod *np, const char *text, int64_t *micros);

/* `people cap` and `token cap`: sets it by a PUT to FOLDER/WHO/cap, and signs in for that. m->doc has the answer. */
int monthcap_set(struct nanopod *np, const struct options *o, const char *folder, char **words,
	struct market_link **out);

/* --reason of both. */
#define MONTHCAP_REASON \
	{ \
		"reason", 0, OPTION_STRING, "TEXT", .help = "cap: why; it is in the audit log" \
	}

#endif
