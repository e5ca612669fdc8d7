/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of algorithms: what this libssh2 has of those that somebody prefers. */
#ifndef PSSH_SESSION_ALGORITHM_H
#define PSSH_SESSION_ALGORITHM_H

#include <libssh2.h>
#include <stdbool.h>

#include "base/buf.h"
#include "pssh/pssh_types.h"
#include "pssh/session/kexinit.h"

/* What libssh2 has, asked once for a fleet. */
struct algorithms {
	char *supported[PSSH_ALGS];
};

void algorithms_release(struct algorithms *a);

/*
 * Tells the session the preferred ones of a kind, without those that it does not have: it would
 * drop them itself, but not without overlapping copies. 0, PSSH_EALGORITHM (none is left) or
 * PSSH_ENOMEM.
 */
int algorithms_prefer(struct algorithms *a, LIBSSH2_SESSION *session, enum pssh_algorithm kind, const char *list);

/*
 * Appends a sentence for each kind in which `who` offers nothing that we offer, or nothing if there is none.
 * ours: the preferred lists. 0 or PSSH_ENOMEM.
 */
int algorithms_missing(struct algorithms *a, LIBSSH2_SESSION *session, const char *const ours[PSSH_ALGS],
	const struct kexinit *theirs, const char *who, struct buf *out);

/* What the session uses, a constant of libssh2, or "". */
const char *algorithms_agreed(LIBSSH2_SESSION *session, enum pssh_algorithm kind);

/* The first key exchange of the list that also withstands quantum computers. False: there is none. */
bool algorithms_quantum_safe(const char *list, char name[128]);

/* "+a,b", "-a*", "^a" of ssh_config change the base list; anything else replaces it. malloc'd or NULL. */
char *algorithms_apply(const char *base, const char *raw);

#endif
