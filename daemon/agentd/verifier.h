/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves to the market what this machine is: gets a nonce, measures for it in a child, and sends what was found,
 * signed. Only while no node is here: before the last proof ends, and at once where the market asks in the first
 * minutes of a lease. Nodes that are ordered meanwhile wait until it is done.
 */
#ifndef AGENTD_VERIFIER_H
#define AGENTD_VERIFIER_H

#include "agentd/market/identity.h"
#include "agentd/market/link.h"
#include "agentd/os/job.h"
#include "agentd/workers.h"
#include "market/claims.h"

enum { VERIFIER_TAG_NONCE = 32, VERIFIER_TAG_RESULT }; /* of its requests to the market */
enum verifier_step { VERIFIER_RESTS, VERIFIER_ASKS, VERIFIER_MEASURES, VERIFIER_TELLS };
/* What of nodes is here: nothing; orders with which nothing has begun; or more. */
enum verifier_machine { MACHINE_EMPTY, MACHINE_ORDERED, MACHINE_TAKEN };

struct verifier {
	struct loop *loop;
	int watch_kind;
	const struct log *log;
	const char *data, *sysfs_root;
	const struct identity *id;
	struct link *link;
	const struct workers *workers;
	enum verifier_step step;
	bool sent; /* a request of this is under way */
	char nonce[CLAIMS_NONCE];
	struct job job;
	char *text;       /* what was measured and is not told yet */
	int64_t asks_ms;  /* when it began to ask (clock_ms) */
	int64_t again_ms; /* not before (clock_ms) */
	int64_t soon_ms;  /* nor before this where the market asks in a lease */
	int64_t rest_ms;  /* after the next failure */
	char told[WORK_VERSION]; /* what the market wanted when all was proven, which is done; "" */
};

/* Returns when to call again at the latest (clock_ms). */
int64_t verifier_turn(struct verifier *v);
/* False: it was no answer for this. */
bool verifier_sent(struct verifier *v, const struct link_event *e);
/* A new session: a nonce of the old one is void. */
void verifier_opened(struct verifier *v);
void verifier_release(struct verifier *v);

/* It measures, or is about to: no node may be made or started. */
bool verifier_holds(const struct verifier *v);

/* Is it time to measure? now: the market's. */
bool verifier_due(const struct work *w, int64_t now, enum verifier_machine is);
/* looked: what runs here is known. */
enum verifier_machine verifier_machine(const struct roster *r, bool looked);

#endif
