/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines that --failed-from reads. */
#include "cli/frame/flat.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flat f;

	if (flat_parse(&f, (const char *)data, size) == 0) {
		const char *host = flat_text(&f, "host");

		if (host && strlen(host) > 6 * size)
			__builtin_trap();
		flat_release(&f);
	}
	return 0;
}
