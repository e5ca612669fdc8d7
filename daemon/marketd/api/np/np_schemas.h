/* SPDX-License-Identifier: Apache-2.0 */
/* Macros for the tables of shapes in np/ and old/. */
#ifndef MARKETD_API_NP_NP_SCHEMAS_H
#define MARKETD_API_NP_NP_SCHEMAS_H

#include "marketd/api/np/np.h"

#define SECONDS_MAX ((int64_t)MINUTE_MAX * 60)
#define LIFE_MAX ((int64_t)100 * 366 * 86400) /* of a token, in seconds */

#define OBJECT(name, fields) \
	{ \
		name, SCHEMA_OBJECT, NULL, 0, 0, NULL, fields, NULL \
	}
#define OBJECT_IS(word) { "object", SCHEMA_ENUM, FIELD_REQUIRED, word, 0, 0, NULL }
#define ID_OF(prefix) { "id", SCHEMA_STRING, FIELD_REQUIRED, "^" prefix "_[0-9a-zA-Z_-]+$", 0, 64, NULL }
#define TIME(name, flags) { name, SCHEMA_REF, flags, "np.Time", 0, 0, NULL }
/* What may be spent in a calendar month, and was. */
#define SPENDING \
	{ "cap_dollars", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Dollars", 0, 0, \
		"what may be spent in a calendar month (UTC); null: no cap" }, \
		{ "cap_micros", SCHEMA_INTEGER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL }, \
		{ "spent_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, \
			"in this month: paid, and held for standing buys, without what came back" }, \
		{ "spent_micros", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL }, \
		TIME("month_ends_at", FIELD_REQUIRED)

int np_topup(struct api *api, const struct request *q, struct reply *r); /* np_topups.c: the page where one pays */
bool np_return_url(const struct api *api, const struct request *q, struct reply *r, const char **back); /* the same */
/* A call of Stripe's goes on, or was refused for what the caller can mend. false: neither; rc says what it is. */
bool np_stripe_answered(const struct request *q, struct reply *r, int rc, const struct fail *why);

/* np_transfers.c: payouts that the market sends itself. */
const char *np_payout_waits(const struct engine *e, const struct payout *p); /* why it is not sent for now; NULL */
enum transfer {
	TRANSFER_NONE,
	TRANSFER_HELD,    /* Stripe has none of it, and gets none for now */
	TRANSFER_BUSY,    /* it is being sent, or will be */
	TRANSFER_DOUBTED, /* a market that sends by Stripe may have sent it before */
};
enum transfer np_transfer(const struct api *api, const struct payout *p);
bool np_could_send(const struct api *api, const struct payout *p);
bool np_sends(const struct api *api, const struct payout *p); /* this one, which is asked for */
int np_payout_setup(struct api *api, const struct request *q, struct reply *r);
int np_transfer_told(struct api *api, const struct request *q, struct reply *r, const json_t *event);

#endif
