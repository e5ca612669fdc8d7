/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a list of hosts: what it expands to folds to a text that expands to the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/pssh.h"

enum { NAMES_MAX = 5000 };

static void check_fold(const struct pssh_list *l)
{
	struct pssh_list *again;
	char *folded;

	if (pssh_list_fold(l, &folded) != 0 || pssh_list_new(&again) != 0)
		abort();
	if (pssh_list_add(again, folded) != 0 || pssh_list_count(again) != pssh_list_count(l))
		abort();
	for (size_t i = 0; i < pssh_list_count(l); i++)
		if (pssh_list_add(again, pssh_list_get(l, i)) != 0)
			abort();
	if (pssh_list_count(again) != pssh_list_count(l))
		abort();
	pssh_list_free(again);
	free(folded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pssh_list *l;
	char *text = malloc(size + 1);

	if (!text || pssh_list_new(&l) != 0)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (pssh_list_add(l, text) == 0) {
		if (pssh_list_count(l) <= NAMES_MAX)
			check_fold(l);
	} else if (pssh_list_count(l) || !*pssh_list_error(l)) {
		abort();
	}
	pssh_list_drop(l, text);
	pssh_list_free(l);
	free(text);
	return 0;
}
