/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a server's host key: first against pins, then known_hosts, then by the policy. */
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
	const char *host;                 /* the name to look up: HostKeyAlias, or the name that the person gave */
	unsigned port;
	struct knownhosts *known;         /* may be NULL */
	const struct knownhosts_pin *pins;
	size_t pin_count;
	enum pssh_hostkeys policy;
	bool hashed;                      /* hash new names before writing them down */
};

/*
 * Checks the server's key by the rule; blob NULL: it showed none. 0, PSSH_EHOSTKEY, PSSH_EHOSTNEW,
 * PSSH_EREVOKED or another code. fingerprint (64 bytes) is always the key's. *learnt: the key was new
 * and is now known; if writing it down failed, f says why, with 0 returned.
 */
int hostkey_check(const uint8_t *blob, size_t len, const struct hostkey_rule *rule, char *fingerprint, bool *learnt,
	struct fail *f);

/* A key that is unknown or changed, where the policy asks the program; zero at first. */
struct hostkey_doubt {
	enum { HOSTKEY_UNASKED, HOSTKEY_ASKED, HOSTKEY_ACCEPTED, HOSTKEY_REFUSED } verdict;
	bool remember;
	struct fail why;
};

/* As hostkey_check(); PSSH_EAGAIN: it waits for hostkey_judge(). */
int hostkey_decide(struct hostkey_doubt *d, const uint8_t *blob, size_t len, const struct hostkey_rule *rule,
	char *fingerprint, bool *learnt, struct fail *f);
bool hostkey_doubtful(const struct hostkey_doubt *d);
/* 0, or PSSH_EINVAL: a changed key is not to be remembered. */
int hostkey_judge(struct hostkey_doubt *d, enum pssh_hostkey_answer answer, struct fail *f);

/* The preferred types, those of them that the host has known keys of first: another would look like a changed key. */
int hostkey_order(const struct hostkey_rule *rule, const char *preferred, struct buf *out);

#endif
