/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: what is read as an event is what writing that event gives, to the byte. */
#include "marketd/store/journal.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event ev;
	struct buf b;

	if (journal_get(data, size, &ev))
		return 0;
	buf_init(&b, 1 << 20);
	if (journal_put(&b, &ev) || b.len != size || memcmp(b.data, data, size) != 0)
		__builtin_trap();
	buf_release(&b);
	return 0;
}
