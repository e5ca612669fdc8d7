/* SPDX-License-Identifier: Apache-2.0 */
/* What is worth knowing about one connection: how long its phases took, how many bytes went each way. */
#ifndef PSSH_SESSION_CONNFACTS_H
#define PSSH_SESSION_CONNFACTS_H

#include <libssh2.h>
#include <stdint.h>

#include "pssh/pssh_types.h"

struct connfacts {
	struct pssh_facts now;
	int64_t since; /* when the phase began; clock_ms(); 0: none runs */
	enum pssh_phase phase;
};

/* The phase that runs ends, and this one begins; PSSH_PHASES: none. Phases may come back. */
void connfacts_phase(struct connfacts *f, enum pssh_phase phase);
/* What the key exchange agreed on. */
void connfacts_agreed(struct connfacts *f, LIBSSH2_SESSION *session);

#endif
