/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses accounts have proven, and when their scores are asked for. What is known is facts of the account:
 * this has in memory only the texts that wait for a signature, and what went wrong.
 */
#ifndef MARKETD_API_WHO_PERSONHOOD_H
#define MARKETD_API_WHO_PERSONHOOD_H

#include "marketd/api/api.h"
#include "marketd/passport/siwe.h"

#define PERSONHOOD_ADDRESS "personhood_address"
#define PERSONHOOD_PERSON "personhood_person"
#define PERSONHOOD_SCORE "personhood_score"
#define PERSONHOOD_PASSING "personhood_passing"
#define PERSONHOOD_CHECKED "personhood_checked_at"
#define PERSONHOOD_HELD "personhood_held"

enum {
	PERSONHOOD_TEXT_LIFE = 600,   /* seconds in which a text has to come back signed */
	PERSONHOOD_LIFE = 86400,      /* a score counts so long, less a jitter */
	PERSONHOOD_HOLD = 30 * 86400, /* an address that was let go serves no other account for so long */
	PERSONHOOD_HELD_MOST = 8,
	PERSONHOOD_WHY = 200,
};

/* What the market asks about an account's address. */
struct personhood_state {
	bool asking;                 /* an answer is awaited */
	bool soon;                   /* and was asked for, or is about to be */
	char failed[PERSONHOOD_WHY]; /* why the last try failed; "" */
};

/*
 * A text for the account to sign, with a new nonce; its earlier one is void. api->public_url is not NULL. 0 or -ENOMEM,
 * -EIO.
 */
int personhood_text(struct api *api, const struct request *q, uint64_t account, const char *address, struct siwe *out);
/* The text that this account was given with the nonce; NULL: none, or it is over. */
const struct siwe *personhood_given(struct api *api, uint64_t account, uint64_t person, const char *nonce);
void personhood_used(struct api *api, uint64_t account); /* its text is void */

/* The account, but for this one, that the address serves, or served until lately; 0: none. Case does not matter. */
uint64_t personhood_whose(struct api *api, const char *address, uint64_t but);

void personhood_look(struct api *api, uint64_t account, struct personhood_state *out);
void personhood_proven(struct api *api, uint64_t account); /* its score is asked for in its turn */

#endif
