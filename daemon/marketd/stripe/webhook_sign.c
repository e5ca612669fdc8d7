/* SPDX-License-Identifier: Apache-2.0 */
/* The signature of a webhook: HMAC-SHA256 of "TIME.BODY" in hex, as often as the header likes. */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "marketd/stripe/webhook.h"

enum { SIGNATURE_HEX = 64, SIGNATURES_MAX = 16, STAMP_DIGITS = 12 };

struct webhook_header {
	char stamp[STAMP_DIGITS + 1]; /* as it stands there: it is signed, too */
	int64_t at;
	const char *signatures[SIGNATURES_MAX];
	size_t count;
};

static bool webhook_stamp(struct webhook_header *h, const char *text, size_t len)
{
	if (h->stamp[0] || !len || len > STAMP_DIGITS || strspn(text, "0123456789") < len)
		return false;
	memcpy(h->stamp, text, len);
	h->at = strtoll(h->stamp, NULL, 10);
	return true;
}

/* Other schemes than v1 are others' business. */
static bool webhook_header(const char *text, struct webhook_header *h)
{
	*h = (struct webhook_header){ 0 };
	while (text && *text) {
		size_t len = strcspn(text, ",");

		if (str_starts(text, "t=") && !webhook_stamp(h, text + 2, len - 2))
			return false;
		if (str_starts(text, "v1=") && len == 3 + SIGNATURE_HEX && h->count < SIGNATURES_MAX)
			h->signatures[h->count++] = text + 3;
		text += len + (text[len] == ',');
	}
	return h->stamp[0] && h->count;
}

static bool webhook_hmac(const char *secret, const void *signed_text, size_t len, char hex[SIGNATURE_HEX + 1])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned size = 0;

	if (!HMAC(EVP_sha256(), secret, (int)strlen(secret), signed_text, len, sum, &size) || size != SIGNATURE_HEX / 2)
		return false;
	for (unsigned i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	return true;
}

int webhook_signed(const char *header, const void *body, size_t len, const char *const *secrets, size_t count,
	int64_t now, struct fail *why)
{
	char hex[SIGNATURE_HEX + 1], *text;
	struct webhook_header h;
	bool good = false;
	size_t at;

	if (!webhook_header(header, &h))
		return fail_set(why, -EPERM, "the header Stripe-Signature has no time, or no signature");
	if (h.at < now - WEBHOOK_TOLERANCE || h.at > now + WEBHOOK_TOLERANCE)
		return fail_set(why, -EPERM,
			"it was signed more than %d seconds from now; look at the clock of this machine",
			WEBHOOK_TOLERANCE);
	text = malloc(sizeof h.stamp + 1 + len);
	if (!text)
		return fail_set(why, -EPERM, "out of memory");
	at = (size_t)snprintf(text, sizeof h.stamp + 1, "%s.", h.stamp);
	memcpy(text + at, body, len);
	for (size_t i = 0; i < count; i++) {
		if (!webhook_hmac(secrets[i], text, at + len, hex))
			continue;
		for (size_t k = 0; k < h.count; k++)
			good |= CRYPTO_memcmp(hex, h.signatures[k], SIGNATURE_HEX) == 0;
	}
	free(text);
	return good ? 0 : fail_set(why, -EPERM, "none of the secrets in --stripe-webhook-secret-file signed it");
}
