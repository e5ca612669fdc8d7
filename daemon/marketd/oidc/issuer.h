/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The issuer of identities that this market trusts: what it publishes of itself (OpenID Connect Discovery) and its
 * keys, fetched when somebody signs in, and kept on disk. While it is down its last keys still count, and nobody waits
 * long.
 */
#ifndef MARKETD_OIDC_ISSUER_H
#define MARKETD_OIDC_ISSUER_H

#include <jansson.h>

#include "base/fail.h"
#include "marketd/outward/outward.h"

struct issuer_settings {
	const char *url;    /* exactly as the issuer calls itself */
	const char *client; /* client_id of this market */
	const char *page;   /* client_id of its page; NULL: the same */
	const char *secret; /* file with the page's secret there; NULL: it is a public client */
	const char *ca;     /* file of authorities in PEM; NULL */
	const char *kept;   /* file for what it published */
};

struct issuer;

enum { ISSUER_WAIT_MS = 8000 /* how long a request waits for it at most */ };

/* Is that a URL of an issuer: https://, or http:// on this machine? */
bool issuer_url_valid(const char *url);

/*
 * The caller keeps settings and o, which must outlive it. 0, -ENOMEM, or the secret cannot be read; the file that it
 * keeps may be missing.
 */
int issuer_new(struct issuer **out, const struct issuer_settings *set, struct outward *o, struct fail *f);
void issuer_free(struct issuer *i);
const struct issuer_settings *issuer_settings(const struct issuer *i);
const char *issuer_page_client(const struct issuer *i);
const char *issuer_secret(const struct issuer *i); /* NULL: none */

/* Of what it published; NULL: nothing, or nothing is known yet. An endpoint ("token_endpoint" …) is safe to ask. */
const json_t *issuer_says(const struct issuer *i, const char *name);
const char *issuer_endpoint(const struct issuer *i, const char *name);

/* After errands have ended: takes what was fetched. */
void issuer_turn(struct issuer *i, int64_t now_ms);

/*
 * 0: its keys are known. -EAGAIN: they are being fetched, also where those that are known are an hour old; ask again
 * when an errand has ended. Else it is down and no keys are known, with a sentence; it is tried again after some
 * seconds, when somebody asks.
 */
int issuer_ready(struct issuer *i, int64_t now_ms, struct fail *why);

/*
 * jwt_check() with its keys, which are fetched again for a key that is unknown, at most once a minute (-EAGAIN). nonce:
 * that of a sign-in on the page, by the page's client; NULL: at a terminal.
 */
int issuer_check(struct issuer *i, const char *token, const char *nonce, int64_t now, int64_t now_ms, json_t **claims,
	struct fail *why);
/* The same of what the page's client got when it asked again who somebody is: that is of no sign-in. */
int issuer_check_again(struct issuer *i, const char *token, int64_t now, int64_t now_ms, json_t **claims,
	struct fail *why);

#endif
