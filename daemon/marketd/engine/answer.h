/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine answers to questions, which change nothing: schedules, the book, quotes, reasons. */
#ifndef MARKETD_ENGINE_ANSWER_H
#define MARKETD_ENGINE_ANSWER_H

#include "marketd/engine/state.h"

struct spans { struct span *list; size_t count, cap; };

/* One price of the public book. */
struct level { int64_t price; struct spans spans; };

struct quote {
	int64_t cost;              /* micro-dollars in all */
	int64_t granted;           /* of these, what a grant pays */
	int64_t price;             /* of the dearest piece: posting this limit fills at no more */
	int32_t nodes;             /* as asked, or fewer with ORDER_PARTIAL */
};

/* What a release gives back. */
struct release_quote {
	int64_t paid;    /* micro-dollars that this time cost */
	int64_t refund;  /* of them, to the buyer */
	uint64_t *hosts; /* in the order in which they go; free() */
	size_t count;
};

/* Why an order does not fill, and which orders would: each alternative fills if it is posted now. */
struct diagnosis {
	int32_t reason;
	bool has_price, has_nodes, has_start, has_end;
	int64_t price;             /* same window and nodes at this limit */
	int32_t nodes;             /* same window and price, this many */
	int64_t start;             /* same length, nodes and price, from here; the first within 14 days */
	int64_t end;               /* same start, nodes and price (extend: same hosts), until here */
};

#endif
