/* SPDX-License-Identifier: Apache-2.0 */
/* An issuer's public keys as JSON (JWK, RFC 7517): the one that a signature names, and whether it made that. */
#ifndef MARKETD_OIDC_JWK_H
#define MARKETD_OIDC_JWK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum jwk_alg { JWK_NONE, JWK_RS256, JWK_ES256, JWK_EDDSA };

enum jwk_alg jwk_alg_read(const char *name); /* JWK_NONE: any other, none and HS256 too */

/* The key of this id that may make such signatures; without an id, the only such key. NULL: there is none. */
const json_t *jwk_find(const json_t *keys, const char *kid, enum jwk_alg alg);

bool jwk_verify(const json_t *key, enum jwk_alg alg, const void *text, size_t len, const unsigned char *signature,
	size_t signature_len);

/* Base64url without padding, as RFC 7515 has it: exactly one text for any bytes. Malloc'd; NULL: it is not that. */
unsigned char *jwk_base64url(const char *text, size_t len, size_t *out_len);

#endif
