/* SPDX-License-Identifier: Apache-2.0 */
/* What a person, or a token, may spend in a month: for the commands people and token. */
#ifndef CLI_TRADE_MONTHCAP_H
#define CLI_TRADE_MONTHCAP_H

#include "cli/frame/command.h"
#include "cli/trade/market_link.h"

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
