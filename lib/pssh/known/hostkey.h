/* SPDX-License-Identifier: Apache-2.0 */
/* Is this the host we mean? Pins first, then known_hosts, then what the policy says. */
#ifndef PSSH_KNOWN_HOSTKEY_H
#define PSSH_KNOWN_HOSTKEY_H

#include <libssh2.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"
#include "pssh/known/knownhosts.h"
#include "pssh/pssh_types.h"

struct hostkey_rule {
	const char *host;                 /* the name to look up: HostKeyAlias, or what a person typed */
	unsigned port;
	struct knownhosts *known;         /* may be NULL */
	const struct knownhosts_pin *pins;
	size_t pin_count;
	enum pssh_hostkeys policy;
	bool hashed;                      /* write new names down hashed */
};

/*
 * The session's key against the rule. 0, PSSH_EHOSTKEY, PSSH_EHOSTNEW or PSSH_EREVOKED. Whatever
 * the verdict, fingerprint (64 bytes) is the key's. *learnt: it was new and is remembered; a
 * failure to write it down is in f then, with 0 returned.
 */
int hostkey_check(LIBSSH2_SESSION *session, const struct hostkey_rule *rule, char *fingerprint, bool *learnt,
	struct fail *f);

/* The preferred types with those that are known for the host first: asking for another would look like a change. */
int hostkey_order(const struct hostkey_rule *rule, const char *preferred, struct buf *out);

#endif
