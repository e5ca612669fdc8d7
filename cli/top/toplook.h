/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market says of all nodes (or machines) at one moment: which there are, what they measured, what they cost.
 * Asking and taking are apart, because `nanopod top` asks in a process of its own.
 */
#ifndef CLI_TOP_TOPLOOK_H
#define CLI_TOP_TOPLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trade/market_link.h"

enum { TOP_MINUTES = 15 }; /* that curves have */

/* Answers of the market, as they come. */
enum top_part {
	TOP_NODES,
	TOP_AGENTS,
	TOP_SAMPLES,
	TOP_UNSAMPLED, /* no answer: a market of an older version */
	TOP_BALANCE,
};

struct toplook {
	struct doc **docs; /* all that follows is theirs */
	size_t doc_count;
	struct model_node *nodes;
	size_t node_count;
	struct model_agent *agents;
	size_t agent_count;
	struct model_sample *samples;
	size_t sample_count;
	struct model_balance balance; /* available MODEL_NONE: not known */
	int64_t now;                  /* the market's time; 0: not known */
	bool unsampled;
};

struct toplook *toplook_new(void);
void toplook_free(struct toplook *l); /* NULL too */

/*
 * One request for nodes (or machines) and one for samples for each thousand of them, and one for the balance. take gets
 * each answer. 0, or a negative code in m->fail.
 */
typedef int (*top_take_fn)(void *arg, enum top_part part, const char *text, size_t len, struct fail *f);
int toplook_ask(struct market_link *m, bool machines, top_take_fn take, void *arg);

/* A top_take_fn whose arg is a struct toplook. */
int toplook_take(void *look, enum top_part part, const char *text, size_t len, struct fail *f);

/* By the id of a node or an agent, which is the i-th of its list; NULL: none. */
const struct model_sample *toplook_sample(const struct toplook *l, const char *id, size_t i);

#endif
