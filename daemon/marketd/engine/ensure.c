/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/ensure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ensure_failed(const char *sentence, const char *file, int line)
{
	fprintf(stderr, "nanopod-marketd: the market's state is wrong: %s (%s:%d)\n", sentence, file, line);
	abort();
}

void *must_zalloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	ensure(p, "out of memory");
	return p;
}

void *must_realloc(void *old, size_t count, size_t size)
{
	size_t bytes;

	ensure(!__builtin_mul_overflow(count, size, &bytes), "an array is larger than any memory");
	old = realloc(old, bytes ? bytes : 1);
	ensure(old, "out of memory");
	return old;
}

char *must_copy(const char *text)
{
	size_t size;
	char *p;

	if (!text)
		return NULL;
	size = strlen(text) + 1;
	p = must_realloc(NULL, size, 1);
	memcpy(p, text, size);
	return p;
}
