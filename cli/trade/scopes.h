/* SPDX-License-Identifier: Apache-2.0 */
/* What a new token may do and how long it lives, as typed; and the new one as shown, once. For token and admin. */
#ifndef CLI_TRADE_SCOPES_H
#define CLI_TRADE_SCOPES_H

#include "cli/frame/command.h"
#include "cli/trade/market_link.h"

/* Of --scope and --expires. 0 or an exit status. */
int scopes_read(struct nanopod *np, const struct options *o, struct model_token_new *out);
void scopes_free(struct model_token_new *t);
void scopes_join(const char *const *scopes, size_t count, struct buf *out);

/* What m->doc says: all of it, or with -q the token alone. An exit status. */
int token_show_new(struct market_link *m, const struct options *o);

#endif
