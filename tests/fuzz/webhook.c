/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the header and, after a line's end, the body of a webhook: a secret signs, and what counts fits. */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/stripe/webhook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* References and amounts as the engine takes them. */
static void counts(const struct webhook_news *n)
{
	const char *const texts[] = { n->id, n->payment, n->part };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!texts[i] || !*texts[i] || strlen(texts[i]) > 255 || strpbrk(texts[i], " \n\033"))
			abort();
	if (n->step < 1 || n->step > INT64_C(10000000000) || n->micros > INT64_C(100000000000000) ||
		n->micros < -INT64_C(100000000000000))
		abort();
}

static const char *const secrets[] = { "whsec_one", "whsec_two" };

/* What the second secret signs is Stripe's at that time: with any body, behind whatever else the header has. */
static void good(const char *header, const char *body, size_t len, int64_t at)
{
	char *text = malloc(len + 64), *all = malloc(strlen(header) + 200), hex[65] = "";
	unsigned char sum[EVP_MAX_MD_SIZE];
	struct fail why = { 0 };
	unsigned size = 0;
	size_t stamp;

	if (!text || !all)
		abort();
	stamp = (size_t)snprintf(text, 64, "%lld.", (long long)at);
	memcpy(text + stamp, body, len);
	if (!HMAC(EVP_sha256(), secrets[1], (int)strlen(secrets[1]), (uint8_t *)text, stamp + len, sum, &size))
		abort();
	for (unsigned i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	snprintf(all, strlen(header) + 200, "t=%lld,v1=%s,%s", (long long)at, hex, strstr(header, "t=") ? "" : header);
	if (webhook_signed(all, body, len, secrets, 2, at + WEBHOOK_TOLERANCE, &why))
		abort();
	hex[len % 64] ^= 1; /* alone: the corpus is signed, too */
	snprintf(all, strlen(header) + 200, "t=%lld,v1=%s", (long long)at, hex);
	if (webhook_signed(all, body, len, secrets, 2, at, &why) == 0)
		abort();
	free(text);
	free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *body;
	struct webhook_news n;
	struct fail why = { 0 };
	json_t *event;
	size_t len;
	int rc;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	body = memchr(text, '\n', size);
	if (body)
		*body++ = '\0';
	len = body ? size - (size_t)(body - text) : 0;
	/* The corpus is signed for an earlier time: at that of now nobody can sign. */
	if (webhook_signed(text, body ? body : "", len, secrets, 2, 1900000000, &why) == 0 || !why.text[0])
		abort();
	why.text[0] = '\0';
	rc = webhook_signed(text, body ? body : "", len, secrets, 2, 1800000000, &why);
	if (rc == 0 ? !strstr(text, "t=") : !why.text[0])
		abort();
	good(text, body ? body : "", len, 1800000000);
	event = json_loadb(body ? body : "", len, 0, NULL);
	why.text[0] = '\0';
	rc = webhook_read(event, &n, &why);
	if (rc == 0)
		counts(&n);
	else if (rc < 0 && !why.text[0])
		abort();
	json_decref(event);
	free(text);
	return 0;
}
