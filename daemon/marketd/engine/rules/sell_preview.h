/* SPDX-License-Identifier: Apache-2.0 */
/* What the resting buys would take of a sell if it were placed now. */
#ifndef MARKETD_ENGINE_RULES_SELL_PREVIEW_H
#define MARKETD_ENGINE_RULES_SELL_PREVIEW_H

#include "marketd/engine/rules/sell.h"

struct sell_preview {
	int64_t cost, minutes, lowest; /* lowest: of the prices that they pay */
	int32_t nodes;                 /* hosts of which something is sold */
	bool whole;
};

/* Counts only minutes of these hosts; together with other offers a buy may take more. */
void sell_preview_find(const struct engine *e, const struct order *o, const struct pick *hosts,
	struct sell_preview *out);

#endif
