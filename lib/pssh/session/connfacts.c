/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/connfacts.h"

#include "base/clock.h"

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

/* libssh2's names of algorithms are constants. */
static const char *agreed_name(LIBSSH2_SESSION *session, int method)
{
	const char *name = libssh2_session_methods(session, method);

	return name ? name : "";
}

void connfacts_agreed(struct connfacts *f, LIBSSH2_SESSION *session)
{
	f->now.kex = agreed_name(session, LIBSSH2_METHOD_KEX);
	f->now.hostkey = agreed_name(session, LIBSSH2_METHOD_HOSTKEY);
	f->now.cipher = agreed_name(session, LIBSSH2_METHOD_CRYPT_CS);
	f->now.mac = agreed_name(session, LIBSSH2_METHOD_MAC_CS);
}
