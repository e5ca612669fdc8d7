/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the beginning of what a server sends: its lists, all of them printable, or none. */
#include <stdint.h>
#include <stdlib.h>

#include "pssh/session/kexinit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kexinit k = { 0 };
	int rc = kexinit_parse(data, size, &k);

	for (int i = 0; i < PSSH_ALGS; i++)
		for (int n = 0; n < 2; n++) {
			if ((rc == 0) != (k.lists[i][n] != NULL))
				abort();
			for (const char *s = k.lists[i][n]; s && *s; s++)
				if (*s <= ' ' || *s > '~')
					abort();
		}
	kexinit_release(&k);
	return 0;
}
