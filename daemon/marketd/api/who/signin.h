/* SPDX-License-Identifier: Apache-2.0 */
/* What signing in at a terminal and on the page have in common: from the issuer's word to a person of an account. */
#ifndef MARKETD_API_WHO_SIGNIN_H
#define MARKETD_API_WHO_SIGNIN_H

#include "marketd/api/api.h"

#define SIGNIN_SCOPE "openid profile email"

/* false: refused. */
bool signin_has_issuer(const struct api *api, const struct request *q, struct reply *r);

/* The request waits for the issuer, or has waited long enough and is refused. */
int signin_wait(const struct request *q, struct reply *r);

/* 0: the issuer's keys are known. Else the answer waits, or is a refusal. */
int signin_ready(struct api *api, const struct request *q, struct reply *r);

/* What the issuer, which is ready, says of a person; NULL: the answer waits, or is a refusal. nonce: of the page. */
json_t *signin_claims(struct api *api, const struct request *q, struct reply *r, const char *token, const char *nonce);

/*
 * The person of these claims, made or brought up to date; `as` becomes a request of that person. ev: what a token of
 * theirs may, and until when, if it lives `life` seconds. NULL: refused.
 */
const struct person *signin_person(struct api *api, struct request *as, struct reply *r, const json_t *claims,
	int64_t life, struct event *ev);

/* What the issuer says of a person now: name, roles by groups, and whether an operator stays one. 0 or a reason. */
int signin_again(struct api *api, uint64_t person, const json_t *claims, struct fail *why);

/* Asks the issuer again, by what came with the code, whose refresh token it takes, who this token's person is. */
struct code_renewed;
void regroup_keep(struct api *api, uint64_t token, uint64_t person, struct code_renewed *got);

#endif
