/* SPDX-License-Identifier: Apache-2.0 */
/* When a machine measures itself for the market. */
#include "agentd/verifier.h"

#include "../../lib/tap.h"

enum { NOW = 1800000000, HOUR = 3600 };

static bool due(struct work_host h, bool idle)
{
	struct work w = { .hosts = (struct work_host[]){ { .asks_proof = false }, h }, .host_count = 2 };

	return verifier_due(&w, NOW, idle);
}

int main(void)
{
	struct work_host h = { .asks_proof = true, .verified = true, .verified_at = NOW - 3 * HOUR };

	plan_none;
	ok(!verifier_due(NULL, NOW, true), "not before the market has said anything");
	ok(!due((struct work_host){ .asks_proof = false }, true), "not for a type that asks for nothing");
	ok(due((struct work_host){ .asks_proof = true }, true), "where nothing is proven");
	ok(!due((struct work_host){ .asks_proof = true }, false), "but not while a node runs");
	ok(due((struct work_host){ .asks_proof = true, .verify_now = true }, false), "except where the market asks");
	h.verified_until = NOW + 6 * HOUR;
	ok(!due(h, true), "not while a proof holds for long");
	h.verified_until = NOW + HOUR;
	ok(due(h, true), "but before it ends");
	ok(!due(h, false), "and again not while a node runs");
	h.verified = false;
	ok(due(h, true), "where it has failed");
	return done();
}
