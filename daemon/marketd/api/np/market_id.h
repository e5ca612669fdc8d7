/* SPDX-License-Identifier: Apache-2.0 */
/* What tells this market from all others, also after a backup was restored. */
#ifndef MARKETD_API_NP_MARKET_ID_H
#define MARKETD_API_NP_MARKET_ID_H

#include "marketd/api/api.h"

enum { MARKET_TEXT = 33 };

/* Tells this market's payments from those of others that have the same account at Stripe. */
const char *market_id(const struct engine *e, char room[MARKET_TEXT]);

#endif
