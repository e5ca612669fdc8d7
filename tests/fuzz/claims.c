/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a machine measured: what is read is written and read again, and is the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "market/claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fail f = { 0 };
	struct buf once, twice;
	struct claims c, d;

	if (claims_check((const char *)data, size, NULL, NULL, &f) == 0 && size == 0)
		abort();
	if (claims_read((const char *)data, size, &c, &f)) {
		if (!*f.text)
			abort();
		return 0;
	}
	buf_init(&once, 4 * CLAIMS_BYTES);
	buf_init(&twice, 4 * CLAIMS_BYTES);
	if (claims_write(&c, &once) == 0) {
		if (claims_read(once.data, once.len, &d, &f) || claims_write(&d, &twice) ||
			strcmp(buf_text(&once), buf_text(&twice)) != 0)
			abort();
		claims_release(&d);
	}
	for (size_t i = 0; i < c.count; i++)
		if (claim_text(&c.list[i], &twice))
			abort();
	buf_release(&twice);
	buf_release(&once);
	claims_release(&c);
	return 0;
}
