/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a client of SOCKS says: a printable host and a port or none, however the bytes are cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/session/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 65536, MOST = 4096 };

/* Gives so many bytes at once. *used: how many of all were taken when it was decided. */
static int socks_say(const uint8_t *data, size_t size, size_t piece, struct socks *s, struct buf *out, size_t *used)
{
	struct buf in;
	int rc = SOCKS_MORE;
	size_t at = 0;

	buf_init(&in, ROOM);
	while (at < size && rc == SOCKS_MORE) {
		size_t n = size - at < piece ? size - at : piece;

		if (buf_add(&in, data + at, n) != 0)
			abort();
		at += n;
		rc = socks_step(s, &in, out);
	}
	*used = at - in.len;
	buf_release(&in);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct socks s[2] = { { .port = 0 }, { .port = 0 } };
	struct buf out[2];
	size_t used[2];
	int rc[2];

	size = size < MOST ? size : MOST;
	for (int i = 0; i < 2; i++) {
		buf_init(&out[i], ROOM);
		rc[i] = socks_say(data, size, i ? 1 : MOST, &s[i], &out[i], &used[i]);
	}
	if (rc[0] != rc[1] || out[0].len != out[1].len ||
		(out[0].len && memcmp(out[0].data, out[1].data, out[0].len) != 0))
		abort();
	if (rc[0] == SOCKS_CONNECT) {
		if (used[0] != used[1] || strcmp(s[0].host, s[1].host) != 0 || s[0].port != s[1].port)
			abort();
		if (!s[0].host[0] || !s[0].port || s[0].port > 65535)
			abort();
		for (const char *c = s[0].host; *c; c++)
			if (*c <= ' ' || *c > '~')
				abort();
		if (socks_answer(&s[0], size % 2, size % 3 == 0, &out[0]) != 0)
			abort();
	}
	buf_release(&out[0]);
	buf_release(&out[1]);
	return 0;
}
