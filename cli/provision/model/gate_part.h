/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate files share: which gates look at which member, and how they record a finding. */
#ifndef CLI_PROVISION_MODEL_GATE_PART_H
#define CLI_PROVISION_MODEL_GATE_PART_H

#include <stdint.h>

#include "cli/provision/model/gate.h"

struct gate_look {
	const struct cluster *c;
	const struct facts *all;
	const char *const *skipped;
	struct findings *out;
	uint32_t *wants;      /* of each member: bit i is gate i */
	char arch[64], release[64]; /* what the airgap folder was made for; "": any */
};

/* Whether this gate looks at this member. Without facts only GATE_REACH does. */
bool gate_wants(const struct gate_look *l, enum gate g, size_t member);

/* Records a finding. hint: copied; "" for none. */
void gate_say(struct gate_look *l, enum gate g, bool stops, size_t member, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

void gate_alone(struct gate_look *l);   /* each node by itself */
void gate_same(struct gate_look *l);    /* nodes compared */

#endif
