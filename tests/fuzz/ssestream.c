/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a backend's stream: however they are cut, its events are the same, and no count is out of its range. */
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "marketd/proxy/sse.h"
#include "marketd/proxy/tokens.h"

enum { MOST = 2000000000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the events say, of bytes that come `piece` at a time. */
static uint64_t stream_read(const char *data, size_t size, size_t piece, struct tokens *t)
{
	uint64_t hash = HASH_BEGIN;
	struct sse s;

	sse_init(&s);
	for (size_t at = 0; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;

		if (sse_add(&s, data + at, len) != 0)
			abort();
		while (sse_next(&s) == 1) {
			json_t *chunk = json_loadb(buf_text(&s.data), s.data.len, 0, NULL);

			hash = hash_more(hash, s.data.data, s.data.len + 1);
			if (json_is_object(chunk))
				tokens_chunk(t, chunk);
			json_decref(chunk);
		}
	}
	sse_release(&s);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tokens whole = { 0 }, cut = { 0 };
	const char *text = (const char *)data;

	if (size > SSE_EVENT_MAX / 2)
		return 0;
	if (stream_read(text, size, size ? size : 1, &whole) != stream_read(text, size, 1, &cut))
		abort();
	tokens_settle(&whole, true);
	tokens_settle(&cut, true);
	if (whole.total != cut.total || whole.total < 0 || whole.total > MOST || whole.prompt < 0 ||
		whole.completion < 0)
		abort();
	return 0;
}
