/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `nanopod top`: a node, a GPU of a node, or a machine; chosen, summed up and sorted. */
#ifndef CLI_TOP_TOPROW_H
#define CLI_TOP_TOPROW_H

#include "cli/top/toplook.h"

enum top_of { TOP_OF_NODES, TOP_OF_GPUS, TOP_OF_MACHINES };

enum top_sort { TOP_BY_NAME, TOP_BY_USE, TOP_BY_MEMORY, TOP_BY_WATTS, TOP_BY_COST, TOP_BY_END };

enum { TOP_POINTS = 64, TOP_STALE_SECONDS = 60, TOP_USED_BY = 128 };

/* Numbers are NAN where they are not known. */
struct toprow {
	const char *name, *id, *state, *type, *reservation; /* the market's words */
	long gpu;                                           /* which of its node; -1: all */
	char used_by[TOP_USED_BY];                          /* of a machine's GPU: the hosts whose nodes have it */
	size_t gpus;
	int64_t nodes;                 /* of a machine; -1: not known */
	int64_t cost, end, at, age;    /* micro-dollars an hour, -1; 0; 0; -1: nothing was measured */
	bool early;                    /* its time ends early */
	struct model_measures of;      /* of the node or machine itself */
	struct model_measures of_gpus; /* use: the mean; temperature: the hottest; others: the sum */
	double curve[TOP_POINTS];      /* of the GPUs' use; without GPUs of the processors' */
	size_t points;
	double most; /* the top of the curve */
};

struct toptotals {
	size_t running, pending, down, failed, machines;
	size_t gpus, busy, unknown; /* unknown: GPUs whose use is not known */
	int64_t cost;               /* micro-dollars an hour */
	bool overflow;
};

struct toprows {
	struct toprow *list;
	size_t count;
	struct toptotals totals; /* of all that were asked for, whatever the filter */
};

struct topwish {
	enum top_of of;
	bool machines; /* the look is of machines; of: they or their GPUs */
	enum top_sort sort;
	bool reverse;
	const char *filter; /* a part of a name, reservation, type or state, or a pattern of a name; "": none */
	char *const *names; /* names, patterns and ids, to NULL; none: all */
	int64_t now;        /* the market's time */
};

/* What a sample says of a row; s NULL: nothing is known. machine: its processors are a part of all. */
void toprow_sample(struct toprow *r, const struct model_sample *s, bool machine, int64_t now);

void toprows_make(const struct toplook *l, const struct topwish *w, struct toprows *out);
void toprows_release(struct toprows *r);

/* A GPU that is at least so busy counts as busy. */
#define TOP_BUSY 0.05

#endif
