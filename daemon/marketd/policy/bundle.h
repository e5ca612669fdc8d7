/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's rules in Rego as Open Policy Agent fetches them: a gzipped tar of a folder's *.rego, its data.json,
 * and a .manifest whose revision is the hash of all that, so that the same files are the same bundle.
 */
#ifndef MARKETD_POLICY_BUNDLE_H
#define MARKETD_POLICY_BUNDLE_H

#include "base/buf.h"
#include "base/fail.h"
#include "marketd/policy/inputkey.h"

struct bundle {
	struct buf packed;
	char revision[INPUTKEY_HEX];
};

/* *_test.rego stay out; the folder's own .manifest gives roots and the like. 0 or a negative code; out is untouched. */
int bundle_read(const char *folder, struct bundle *out, struct fail *f);
void bundle_release(struct bundle *b);

#endif
