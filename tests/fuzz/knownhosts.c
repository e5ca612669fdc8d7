/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of known hosts, as a host's name, as a key, and as a pin. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/known/knownhosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct knownhosts *k, const char *host, const uint8_t *blob, size_t len)
{
	struct knownhosts_found found;
	const char *types[4];

	for (unsigned port = 22; port <= 2222; port += 2200) {
		if (knownhosts_check(k, host, port, blob, len, &found) == 0 && (!found.file || !found.type))
			abort();
		knownhosts_types(k, host, port, types, 4);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct knownhosts *k = NULL;
	struct knownhosts_pin pin = { 0 };
	struct knownhosts_found found;
	const char *first;

	if (!text || knownhosts_new(&k) != 0)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	knownhosts_parse(k, text, size, "name");
	if (knownhosts_broken(k, &first) && !*first)
		abort();
	look_up(k, "host", data, size);
	if (knownhosts_pin_parse(text, &pin, NULL) == 0) {
		if (pin.blob && !knownhosts_pin_match(&pin, pin.blob, pin.len))
			abort();
		if (pin.blob && knownhosts_remember(k, "new", 22, pin.blob, pin.len, false, NULL) == 0 &&
			(knownhosts_check(k, "new", 22, pin.blob, pin.len, &found) != 0 ||
				found.answer == KNOWNHOSTS_UNKNOWN))
			abort();
		knownhosts_pin_release(&pin);
	}
	text[strcspn(text, " ,\n")] = '\0';
	look_up(k, text, data, size);
	knownhosts_remember(k, text, 22, data, size, true, NULL);
	knownhosts_free(k);
	free(text);
	return 0;
}
