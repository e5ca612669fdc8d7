/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an inventory: refused with a sentence, or with names, addresses and users that are no options. */
#include "cli/inventory/hostread.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const char *text)
{
	if (text && (!*text || *text == '-' || strpbrk(text, " \t\r\n\"'`%;|&<>")))
		abort();
}

static void check_book(const struct hostbook *b)
{
	const struct hostbook_host *h;
	const char *key;
	void *value;

	for (size_t at = 0; table_next(&b->hosts, &at, &key, &value);) {
		h = value;
		check_word(h->address);
		check_word(h->user);
		if (h->port > 65535)
			abort();
	}
	for (size_t at = 0; table_next(&b->groups, &at, &key, &value);) {
		check_word(key);
		if (*hostbook_group(b, key))
			check_word(hostbook_group(b, key));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { "hosts", "hosts.yaml" };
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (int i = 0; i < 2; i++) {
		struct hostbook *b = hostbook_new();
		struct fail f = { 0 };

		if (hostread_text(b, paths[i], text, size, &f) < 0 && !*f.text)
			abort();
		check_book(b);
		hostbook_free(b);
	}
	free(text);
	return 0;
}
