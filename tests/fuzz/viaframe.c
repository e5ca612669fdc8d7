/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway writes: whole or in two pieces, it is the same frames, and no result points outside of its frame. */
#include "cli/via/viaframe.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t viaframe_mix(uint64_t sum, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ (unsigned char)data[i]) * 1099511628211u;
	return sum;
}

static void viaframe_inside(const struct via_frame *f, const char *p, size_t len)
{
	if (*p && (p < f->data || p + len > f->data + f->len))
		__builtin_trap();
}

/* A sum over all that is in the frames; *at: how far they go; *bad: what follows is none. */
static uint64_t viaframe_drink(const char *data, size_t size, size_t *at, int *bad, uint64_t sum)
{
	const char *words[VIA_WORDS];
	struct via_result r;
	struct via_frame f;
	size_t used;
	int rc = 0, count;

	while (!*bad && (rc = viaframe_next(data + *at, size - *at, &used, &f)) == 1) {
		if (f.len > VIA_FRAME_MAX || used > size - *at || f.data + f.len != data + *at + used)
			__builtin_trap();
		sum = viaframe_mix(sum + f.type, f.data, f.len) + f.id;
		if (viaframe_result(&f, &r) == 0) {
			if (r.len)
				viaframe_inside(&f, r.data, r.len);
			viaframe_inside(&f, r.text, strlen(r.text) + 1);
			viaframe_inside(&f, r.address, strlen(r.address) + 1);
			viaframe_inside(&f, r.fingerprint, strlen(r.fingerprint) + 1);
			sum += (uint64_t)r.status + r.dropped;
		}
		count = viaframe_words(&f, words, 0, VIA_WORDS);
		for (int i = 0; i < count; i++)
			viaframe_inside(&f, words[i], strlen(words[i]) + 1);
		*at += used;
	}
	*bad |= rc < 0;
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t cut = size ? data[size - 1] * size / 256 : 0, at = 0, other = 0;
	int bad = 0, worse = 0;
	uint64_t a = viaframe_drink((const char *)data, size, &at, &bad, 7), b;

	b = viaframe_drink((const char *)data, cut, &other, &worse, 7);
	b = viaframe_drink((const char *)data, size, &other, &worse, b);
	if (a != b || at != other || bad != worse)
		__builtin_trap();
	return 0;
}
