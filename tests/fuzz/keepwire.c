/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a keeper or a command says: a frame that is taken is written as the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/keep/keepwire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int from = KEEP_COMMAND; from <= KEEP_KEEPER; from++) {
		struct keepwire_frame f;
		size_t used;
		char room[64];
		struct buf b;

		for (size_t at = 0; keepwire_take(data + at, size - at, from, &f, &used) > 0; at += used) {
			buf_init(&b, 2 * KEEPWIRE_FRAME);
			if (used > size - at || keepwire_add(&b, &f) != 0 || b.len != used ||
				memcmp(b.data, data + at, used) != 0)
				abort();
			if (strlen(keepwire_copy(f.t[0], room, sizeof room)) >= sizeof room)
				abort();
			buf_release(&b);
		}
	}
	return 0;
}
