/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a piece of a policy server's decision log, packed or not: what is read has ids that fit a line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "marketd/policy/decisionpiece.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const char *piece, size_t len)
{
	struct fail why = { 0 };
	struct decisionpiece p;
	json_t *one, *input;

	if (decisionpiece_open(&p, piece, len, &why) != 0) {
		if (!why.text[0])
			abort();
		return;
	}
	while ((one = decisionpiece_next(&p, &input))) {
		const char *id = json_string_value(json_object_get(one, "decision_id"));

		if (!id || !*id || strlen(id) > DECISION_ID || strpbrk(id, " \n\033"))
			abort();
		if (input && !json_equal(input, json_object_get(one, "input")))
			abort();
		json_decref(one);
		json_decref(input);
	}
	decisionpiece_release(&p);
}

/* The same bytes as they would come packed. */
static void take_packed(const uint8_t *data, size_t size)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size };
	Bytef *out;
	uLong room;

	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	room = deflateBound(&z, size);
	out = malloc(room);
	if (!out)
		abort();
	z.next_out = out;
	z.avail_out = (uInt)room;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	take((char *)out, z.total_out);
	deflateEnd(&z);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	copy[size] = '\0';
	take(copy, size);
	free(copy);
	take_packed(data, size);
	return 0;
}
