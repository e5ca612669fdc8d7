/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stripe, as far as this market asks it for something: a page (Checkout) where somebody pays for an account. What comes
 * of that, its webhook tells.
 */
#ifndef MARKETD_STRIPE_CHECKOUT_H
#define MARKETD_STRIPE_CHECKOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/log.h"

enum {
	CHECKOUT_WAIT_MS = 20000, /* for Stripe's answer */
	CHECKOUT_KEY = 64,
	CHECKOUT_ACCOUNT = 32, /* an id with its '\0' */
	CHECKOUT_ID = 255,
	CHECKOUT_URL = 2048,
	CHECKOUT_CENTS_MIN = 50, /* what Stripe takes */
	CHECKOUT_CENTS_MAX = 99999999
};

#define CHECKOUT_STRIPE "https://api.stripe.com"

struct outward;
struct stripe;

/* Paths as options have them; NULL: none. */
struct stripe_settings {
	const char *url, *key_file, *secret_file, *ca;
	bool payouts; /* sellers are paid out by it */
};

struct checkout_wish {
	char key[CHECKOUT_KEY + 1]; /* Stripe makes one page for each, however often it is asked */
	int64_t cents;
	const char *market;         /* market_id.h */
	const char *account, *what; /* the account's id; what is paid for, for people */
	const char *back;           /* the address to which Stripe leads back */
};

struct checkout_page {
	char id[CHECKOUT_ID + 1], url[CHECKOUT_URL + 1];
	int64_t expires; /* Unix seconds; 0: unknown */
};

/* https://, or http:// on this machine, without a query. */
bool stripe_url_valid(const char *url);

int stripe_new(struct stripe **out, const struct stripe_settings *set, struct outward *o, const struct log *log,
	struct fail *f);
void stripe_free(struct stripe *s);

/* Reads the files again. 0, or what was before goes on. */
int stripe_reload(struct stripe *s, struct fail *f);

bool stripe_sells(const struct stripe *s); /* it has a key, so that there are pages to pay */
bool stripe_in_mode(const struct stripe *s, bool live); /* its key may be of that mode, live or test */
const char *const *stripe_secrets(const struct stripe *s, size_t *count);

/*
 * Asks for a page. 0; -EAGAIN: not answered yet, ask again with the same key; -EINVAL: Stripe does not want that;
 * -EBUSY: too many are asked for, by all or for the account; another code: it does not answer, or refuses this market.
 */
int stripe_checkout(struct stripe *s, const struct checkout_wish *w, struct checkout_page *out, struct fail *why);

#endif
