/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `nanopod buy` without options on a terminal: asks for type, nodes, time and price beside live prices. The answers
 * are a command line, which the person sees and can use again.
 */
#ifndef CLI_TRADE_GUIDE_H
#define CLI_TRADE_GUIDE_H

#include "cli/frame/command.h"

enum { GUIDE_WORDS = 64 };

struct guide {
	char *words[GUIDE_WORDS + 1]; /* "buy", "--type=h100", …; ends with NULL */
	int count;
};

bool guide_wanted(const struct nanopod *np, const struct options *o);

/* 0, or an exit status after saying why. Options that were typed (--name) stay. Call it after signals_begin(). */
int guide_ask(struct nanopod *np, const struct options *o, struct guide *g);
void guide_release(struct guide *g);

#endif
