/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed tokens of an issuer of identities (JWT, RFC 7519), checked without any I/O: what the issuer signed, with which
 * of its keys, for whom, and whether that counts now. Everything in a token is untrusted until jwt_check() returns 0.
 */
#ifndef MARKETD_OIDC_JWT_H
#define MARKETD_OIDC_JWT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum {
	JWT_BYTES = 16 * 1024, /* of a token */
	JWT_SKEW = 60,         /* seconds that two clocks may differ */
	JWT_SUBJECT = 128,
};

/* What it must say. */
struct jwt_expected {
	const char *issuer;   /* iss, exactly */
	const char *audience; /* in aud; azp, where there is one */
	const char *nonce;    /* NULL: it may have any */
	int64_t now;          /* Unix seconds */
	int64_t age;          /* iat is no older, in seconds; 0: it may be */
};

/*
 * keys: {"keys": […]} of the issuer (RFC 7517). 0, and *claims is the caller's; -ENOKEY: a key that is not among these
 * signed it; -EBADMSG: anything else. why: a sentence.
 */
int jwt_check(const char *token, const json_t *keys, const struct jwt_expected *x, json_t **claims, struct fail *why);

#endif
