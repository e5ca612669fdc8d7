/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy server comes for: the operator's rules as a bundle, and to say what it decided. */
#ifndef MARKETD_POLICY_OPADOOR_H
#define MARKETD_POLICY_OPADOOR_H

#include "marketd/policy/bundle.h"
#include "marketd/policy/decisionlog.h"
#include "marketd/policy/opa.h"

struct opadoor;

/* set must outlive it. 0 or a negative code. */
int opadoor_new(struct opadoor **out, const struct opa_settings *set, struct fail *f);
void opadoor_free(struct opadoor *d);
int opadoor_reload(struct opadoor *d, struct fail *f); /* rules and token; all old ones stay where that fails */

bool opadoor_knows(const struct opadoor *d, const char *authorization); /* the header; NULL: none */
const struct bundle *opadoor_bundle(const struct opadoor *d);           /* NULL: there is none */
struct decisionlog *opadoor_log(struct opadoor *d);

#endif
