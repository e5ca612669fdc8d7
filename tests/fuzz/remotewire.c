/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says: whole or in two pieces, as lines or with records, it is the same, and nothing is too long. */
#include "cli/provision/rollout/remote_wire.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A sum over all that came out. */
static uint64_t drink(struct remote_wire *w, const char *data, size_t len, uint64_t sum)
{
	enum remote_wire_kind kind;

	while ((kind = remote_wire_next(w, &data, &len)) != REMOTE_WIRE_MORE) {
		size_t all = 0;

		for (size_t i = 0; kind != REMOTE_WIRE_BAD && i < w->count; i++) {
			for (const char *s = w->words[i]; *s; s++, all++)
				sum = (sum ^ (unsigned char)*s) * 1099511628211u;
			sum = (sum ^ 256) * 1099511628211u;
		}
		if (kind == REMOTE_WIRE_LINE && (w->count != 1 || all > WIRE_LINE_BYTES))
			__builtin_trap();
		if (kind == REMOTE_WIRE_RECORD && (w->lines || !w->count || !*w->words[0]))
			__builtin_trap();
		sum += (uint64_t)kind;
	}
	if (len)
		__builtin_trap();
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int lines = 0; lines < 2; lines++) {
		struct remote_wire one, two;
		size_t cut = size ? data[0] * size / 256 : 0;
		uint64_t a, b;

		remote_wire_init(&one, lines);
		remote_wire_init(&two, lines);
		a = drink(&one, (const char *)data, size, 7);
		b = drink(&two, (const char *)data, cut, 7);
		b = drink(&two, (const char *)data + cut, size - cut, b);
		if (a != b || remote_wire_end(&one) != remote_wire_end(&two))
			__builtin_trap();
		remote_wire_release(&one);
		remote_wire_release(&two);
	}
	return 0;
}
