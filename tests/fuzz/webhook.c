/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the header and, after a line's end, the body of a webhook: a secret signs, and what counts fits. */
#include <stdint.h>
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const secrets[] = { "whsec_one", "whsec_two" };
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
	/* The corpus has one that is signed, for another time: at that of now nobody can sign. */
	if (webhook_signed(text, body ? body : "", len, secrets, 2, 1900000000, &why) == 0 || !why.text[0])
		abort();
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
