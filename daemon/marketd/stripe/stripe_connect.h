/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stripe Connect: a seller's own account at Stripe, the page where its owner makes it ready, and the transfers that pay
 * it out. Stripe keeps an Idempotency-Key for a day only, so whoever sends looks first whether the transfer is there.
 */
#ifndef MARKETD_STRIPE_STRIPE_CONNECT_H
#define MARKETD_STRIPE_STRIPE_CONNECT_H

#include "marketd/stripe/checkout.h"

enum { CONNECT_ID = 128, CONNECT_SAYS = 256, CONNECT_KEY = 100 };

#define CONNECT_PAYOUT "nanopod_payout" /* in the metadata of transfers, beside the market's */

struct errand;

/* Makes the account, once for each market and account of it. id: CONNECT_ID. Codes as stripe_checkout(). */
int connect_account(struct stripe *s, const char *market, const char *account, char *id, struct fail *why);

/* Its page; key: of this request. It serves once, and for some minutes. */
int connect_page(struct stripe *s, const char *key, const char *account, const char *id, const char *back,
	struct checkout_page *out, struct fail *why);

struct connect_transfer {
	const char *market, *payout, *to; /* to: the account at Stripe */
	int64_t cents;
};

/* Starts: to look for it, or to send it. The caller has the errand. 0, or why not. */
int connect_look(struct stripe *s, const struct connect_transfer *t, struct errand **out, struct fail *why);
int connect_send(struct stripe *s, const struct connect_transfer *t, struct errand **out, struct fail *why);

/* What came of either. UNKNOWN: it may have been sent or not. */
enum connect_word { CONNECT_SENT, CONNECT_NONE, CONNECT_REFUSED, CONNECT_UNKNOWN };
struct connect_news {
	enum connect_word word;
	char id[CONNECT_ID];     /* SENT: of the transfer */
	char says[CONNECT_SAYS]; /* REFUSED, UNKNOWN: why */
};
bool connect_runs(const struct errand *e);
void connect_end(struct errand *e);
void connect_take(const struct errand *e, bool looked, const struct connect_transfer *t, struct connect_news *out);

#endif
