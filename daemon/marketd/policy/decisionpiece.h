/* SPDX-License-Identifier: Apache-2.0 */
/* A piece of a policy server's decision log: a JSON array, gzipped or not, whose decisions are read one by one. */
#ifndef MARKETD_POLICY_DECISIONPIECE_H
#define MARKETD_POLICY_DECISIONPIECE_H

#include "base/buf.h"
#include "base/fail.h"
#include "marketd/policy/jsonparts.h"

enum { DECISIONPIECE_BYTES = 8 << 20, DECISION_ID = 128 };

struct decisionpiece {
	struct buf text;
	struct jsonparts parts;
	bool cut;        /* it is larger: decisions behind the limit are not in it */
	size_t nameless; /* that had no id, so far */
};

/* 0, -EINVAL: no such piece; -EFBIG: nothing of it fits; -ENOMEM. There is nothing to release then. */
int decisionpiece_open(struct decisionpiece *p, const char *piece, size_t len, struct fail *f);
void decisionpiece_release(struct decisionpiece *p);

/*
 * The next that has an id of plain bytes, as far as it can be read, and its input if all of that can; new references.
 * NULL: no other.
 */
json_t *decisionpiece_next(struct decisionpiece *p, json_t **input);

#endif
