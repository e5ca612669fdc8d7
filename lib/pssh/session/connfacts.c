/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/connfacts.h"

#include "base/clock.h"
#include "pssh/session/algorithm.h"

static unsigned *connfacts_clock(struct connfacts *f)
{
	switch (f->phase) {
	case PSSH_PHASE_RESOLVE:
		return &f->now.resolve_ms;
	case PSSH_PHASE_CONNECT:
		return &f->now.connect_ms;
	case PSSH_PHASE_HANDSHAKE:
		return &f->now.handshake_ms;
	default:
		return &f->now.auth_ms;
	}
}

void connfacts_phase(struct connfacts *f, enum pssh_phase phase)
{
	int64_t now = clock_ms();

	if (f->since)
		*connfacts_clock(f) += (unsigned)(now - f->since);
	f->phase = phase;
	f->since = phase == PSSH_PHASES ? 0 : now;
}

void connfacts_agreed(struct connfacts *f, LIBSSH2_SESSION *session)
{
	f->now.kex = algorithms_agreed(session, PSSH_ALG_KEX);
	f->now.hostkey = algorithms_agreed(session, PSSH_ALG_HOSTKEY);
	f->now.cipher = algorithms_agreed(session, PSSH_ALG_CIPHER);
	f->now.mac = algorithms_agreed(session, PSSH_ALG_MAC);
}
