/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Stripe tells by its webhook. A signature says that it is Stripe's; then each event becomes how far one thing of
 * a payment has come and what it is worth, so that events may come twice and in any order.
 */
#ifndef MARKETD_STRIPE_WEBHOOK_H
#define MARKETD_STRIPE_WEBHOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum { WEBHOOK_SECRETS = 4, WEBHOOK_TOLERANCE = 300 /* seconds */ };

/* The members of Stripe's metadata that have the market's id and the account's, which is alike in every market. */
#define WEBHOOK_MARKET "nanopod_market"
#define WEBHOOK_ACCOUNT "nanopod_account"

/* Whether one of the secrets signed this body at about `now`, by the header "t=…,v1=…". 0, or -EPERM with why. */
int webhook_signed(const char *header, const void *body, size_t len, const char *const *secrets, size_t count,
	int64_t now, struct fail *why);

/* The texts live as long as the event. */
struct webhook_news {
	const char *id;      /* of the event */
	const char *payment; /* of the payment that it is of */
	const char *part;    /* a checkout, a charge, a dispute … of it */
	const char *market, *account; /* as we gave them to Stripe; NULL: the event does not say */
	bool bare;                    /* Stripe copies no metadata into such a thing */
	bool live;                    /* of Stripe's live mode */
	int64_t step, micros;
	int64_t cents;        /* of any currency, in its smallest unit; 0 where that cannot be read */
	const char *currency; /* as Stripe says; NULL: it does not */
};

/* 0; 1: it moves no money; -EINVAL with a sentence: it cannot be counted, and what else can be read is set. */
int webhook_read(const json_t *event, struct webhook_news *out, struct fail *why);

#endif
