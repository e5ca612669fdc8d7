/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the gates share: who is looked at for what, and how a finding is written down. */
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
	char arch[64], release[64];   /* what the airgap folder is for; "": any */
};

/* Is this gate looked at on this member? Nothing is, but whether it was reached, where no facts are. */
bool gate_wants(const struct gate_look *l, enum gate g, size_t member);

/* hint: copied, "" none. */
void gate_say(struct gate_look *l, enum gate g, bool stops, size_t member, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

void gate_alone(struct gate_look *l);   /* each node by itself */
void gate_same(struct gate_look *l);    /* nodes side by side */

#endif
