/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes that the issuer gave a browser (OAuth 2.0 with PKCE, RFC 7636), redeemed by the market for what the issuer
 * signed: so no token of the issuer ever passes through a browser. Each request redeems one.
 */
#ifndef MARKETD_OIDC_CODES_H
#define MARKETD_OIDC_CODES_H

#include "marketd/oidc/issuer.h"

struct codes;

/* All as the browser said it, and untrusted. */
struct code_given {
	const char *request; /* whose it is: its id */
	uint64_t address;    /* where it comes from: a few at once from each */
	const char *code, *verifier, *redirect;
	const char *issuer; /* who the answer says that it comes from (RFC 9207); NULL: nobody */
};

/* Where the browser begins: what comes back with the code, and what only this browser knows. */
struct code_asked {
	const char *redirect, *state, *nonce, *challenge, *scope;
};

/* 0 or -ENOMEM. Issuer and o outlive it. */
int codes_new(struct codes **out, struct issuer *i, struct outward *o);
void codes_free(struct codes *c);

/* The page of the issuer, which must be ready, where a person signs in. 0; -ENOTSUP: it has none. */
int codes_page(const struct codes *c, const struct code_asked *a, struct buf *url, struct fail *why);

/*
 * 0: *id_token is what the issuer signed, until codes_forget(). -EAGAIN: ask again when an errand has ended. -EACCES:
 * the code is not good; else the issuer fails, or does not take this market. With a sentence. The issuer must be ready.
 */
int codes_redeem(struct codes *c, const struct code_given *g, int64_t now_ms, const char **id_token, struct fail *why);
/* What an issuer gives for a code, or when it is asked again (RFC 6749, 6). */
struct code_renewed {
	char *id_token;
	char *refresh;        /* the refresh token to use from now on; NULL: none */
	int64_t refresh_life; /* seconds, as the issuer says; 0: it does not */
};

/* All that came with that, which is the caller's from here on. */
void codes_got(struct codes *c, const char *request, struct code_renewed *out);
void codes_forget(struct codes *c, const char *request);

/* 0, or negative where it cannot be asked now, with a sentence. The issuer must be ready. */
int codes_renew(struct codes *c, const char *refresh, struct errand **out, struct fail *why);
/*
 * -EAGAIN: it is on its way. Else *e is freed. -EACCES: the issuer ended this; else as codes_redeem(). A refresh token
 * may come with any of them, and is the one to use then.
 */
int codes_renewed(const struct codes *c, struct errand **e, struct code_renewed *out, struct fail *why);
void codes_renewed_release(struct code_renewed *r);

#endif
