/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a token and, after a line's end, as an issuer's keys: nothing that nobody signed counts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/oidc/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jwt_expected x = { .issuer = "https://id.example.org", .audience = "nanopod", .now = 1800000000 };
	char *text = malloc(size + 1), *end;
	struct fail why = { 0 };
	json_t *keys = NULL, *claims = NULL;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	end = strchr(text, '\n');
	if (end) {
		*end++ = '\0';
		keys = json_loadb(end, size - (size_t)(end - text), 0, NULL);
	}
	/* A seed has a key and what that signed, for another audience: this one nobody can make. */
	if (jwt_check(text, keys, &x, &claims, &why) == 0 || !why.text[0])
		abort();
	json_decref(keys);
	free(text);
	return 0;
}
