/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine answers when it is asked and nothing is changed: schedules, the book, quotes, reasons. */
#ifndef MARKETD_ENGINE_ANSWER_H
#define MARKETD_ENGINE_ANSWER_H

#include "marketd/engine/state.h"

struct spans { struct span *list; size_t count, cap; };

/* One price of the public book. */
struct level { int64_t price; struct spans spans; };

struct quote {
	int64_t cost;              /* micro-dollars in all */
	int64_t price;             /* what POSTing this limit would fill at, at most: the dearest piece */
	int32_t nodes;             /* as asked, or less with ORDER_PARTIAL */
};

/* Why an order does not fill, and what would: each offered alternative is true now (posting it fills). */
struct diagnosis {
	int32_t reason;
	bool has_price, has_nodes, has_start, has_end;
	int64_t price;             /* same window and nodes at this limit */
	int32_t nodes;             /* same window and price, this many */
	int64_t start;             /* same length, nodes and price, from here; the first within 14 days */
	int64_t end;               /* same start, nodes and price (extend: same hosts), until here */
};

#endif
