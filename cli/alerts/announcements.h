/* SPDX-License-Identifier: Apache-2.0 */
/* What the market's operator says: each announcement is shown once, to people alone. */
#ifndef CLI_ALERTS_ANNOUNCEMENTS_H
#define CLI_ALERTS_ANNOUNCEMENTS_H

#include "cli/trade/market_link.h"

/* On a terminal, with output for people: prints on standard error those that this person has not seen yet. */
void announcements_tell(struct market_link *m);

#endif
