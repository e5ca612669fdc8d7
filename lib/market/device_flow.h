/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signing in at an issuer of identities without a browser here (RFC 8628): the issuer gives a code, a person types it
 * into a page of the issuer's on any device, and then the issuer says who that is. With PKCE (RFC 7636), so that nobody
 * else can take what the code stands for.
 */
#ifndef MARKET_DEVICE_FLOW_H
#define MARKET_DEVICE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

struct device;

struct device_setup {
	const char *issuer, *client, *scope; /* as the market says */
	const char *ca;                      /* file of certificates to trust instead of the system's; NULL */
	int stop_fd;                         /* readable: give up; below 1: none */
};

struct device_code {
	const char *code, *page; /* to type there */
	const char *whole;       /* a page that knows the code already; NULL */
	int64_t seconds;         /* that it lasts */
};

/* Asks the issuer for a code. 0, or a negative code of client.h with a sentence. */
int device_begin(const struct device_setup *set, struct device **out, struct fail *f);
void device_free(struct device *d);
const struct device_code *device_code(const struct device *d);

/*
 * Whether the person has finished: 0, and *id_token (until device_free) is what the issuer signed; -EAGAIN: not yet,
 * ask again in *wait_ms; else it is over.
 */
int device_poll(struct device *d, const char **id_token, int64_t *wait_ms, struct fail *f);

#endif
