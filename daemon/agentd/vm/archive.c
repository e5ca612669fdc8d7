/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/archive.h"

#include <string.h>

enum { CPIO_STEP = 4 };

static int archive_pad(struct buf *b)
{
	static const char zeros[CPIO_STEP];
	size_t over = b->len % CPIO_STEP;

	return over ? buf_add(b, zeros, CPIO_STEP - over) : 0;
}

int vmarchive_cpio(struct buf *b, const char *name, unsigned mode, const void *data, size_t len)
{
	int rc = buf_addf(b, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X", 0U, mode, 0U, 0U, 1U, 0U,
		len, 0U, 0U, 0U, 0U, strlen(name) + 1, 0U);

	if (!rc)
		rc = buf_add(b, name, strlen(name) + 1);
	if (!rc)
		rc = archive_pad(b);
	if (!rc && len)
		rc = buf_add(b, data, len);
	return rc ? rc : archive_pad(b);
}

int vmarchive_cpio_end(struct buf *b)
{
	return vmarchive_cpio(b, "TRAILER!!!", 0, NULL, 0);
}
