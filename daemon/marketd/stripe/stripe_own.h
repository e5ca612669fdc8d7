/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of stripe/: one call of Stripe's API. */
#ifndef MARKETD_STRIPE_STRIPE_OWN_H
#define MARKETD_STRIPE_STRIPE_OWN_H

#include <jansson.h>

#include "base/buf.h"
#include "marketd/stripe/checkout.h"

enum { STRIPE_KEY = 128, STRIPE_PATH = 512, STRIPE_SAYS = 200, STRIPE_FORM_MAX = 16 * 1024 };

struct errand;

struct stripe_call {
	const char *path;
	const char *key;        /* its Idempotency-Key */
	const struct buf *form; /* NULL: it is a GET */
};

int stripe_fields(struct buf *b, const char *const fields[][2], size_t count); /* of a form: name and value */
int stripe_send(struct stripe *s, const struct stripe_call *c, struct errand **out, struct fail *why);
const char *stripe_says(const json_t *answer, char room[STRIPE_SAYS]); /* of a refusal; "": nothing */
bool stripe_page(const struct stripe *s, const char *url);             /* an address of a page that may be shown */

/* For who waits: codes as stripe_checkout(), with the answer where that is 0. */
int stripe_ask(struct stripe *s, const struct stripe_call *c, const char *account, json_t **out, struct fail *why);

#endif
