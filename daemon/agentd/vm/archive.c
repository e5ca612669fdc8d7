/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/archive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TAR_BLOCK = 512, TAR_NAME = 100, CPIO_STEP = 4 };

static int archive_pad(struct buf *b, size_t step)
{
	static const char zeros[TAR_BLOCK];
	size_t over = b->len % step;

	return over ? buf_add(b, zeros, step - over) : 0;
}

int vmarchive_cpio(struct buf *b, const char *name, unsigned mode, const void *data, size_t len)
{
	int rc = buf_addf(b, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X", 0U, mode, 0U, 0U, 1U, 0U,
		len, 0U, 0U, 0U, 0U, strlen(name) + 1, 0U);

	if (!rc)
		rc = buf_add(b, name, strlen(name) + 1);
	if (!rc)
		rc = archive_pad(b, CPIO_STEP);
	if (!rc && len)
		rc = buf_add(b, data, len);
	return rc ? rc : archive_pad(b, CPIO_STEP);
}

int vmarchive_cpio_end(struct buf *b)
{
	return vmarchive_cpio(b, "TRAILER!!!", 0, NULL, 0);
}

int vmarchive_tar(struct buf *b, const char *name, unsigned mode, const void *data, size_t len)
{
	struct {
		char name[TAR_NAME], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100], magic[8],
			user[32], group[32], device[16], prefix[155], rest[12];
	} head = { .type = '0' };
	unsigned sum = 0;
	int rc;

	_Static_assert(sizeof head == TAR_BLOCK, "a header is a block");
	if (strlen(name) >= TAR_NAME)
		return -ENAMETOOLONG;
	memcpy(head.name, name, strlen(name));
	snprintf(head.mode, sizeof head.mode, "%07o", mode & 07777U);
	snprintf(head.uid, sizeof head.uid, "%07o", 0U);
	snprintf(head.gid, sizeof head.gid, "%07o", 0U);
	snprintf(head.size, sizeof head.size, "%011llo", (unsigned long long)len);
	snprintf(head.time, sizeof head.time, "%011o", 0U);
	memcpy(head.magic, "ustar\00000", 8);
	memset(head.sum, ' ', sizeof head.sum);
	for (size_t i = 0; i < sizeof head; i++)
		sum += ((const unsigned char *)&head)[i];
	snprintf(head.sum, sizeof head.sum, "%06o", sum & 0777777U);
	rc = buf_add(b, &head, sizeof head);
	if (!rc && len)
		rc = buf_add(b, data, len);
	return rc ? rc : archive_pad(b, TAR_BLOCK);
}

int vmarchive_tar_end(struct buf *b)
{
	static const char zeros[2 * TAR_BLOCK];

	return buf_add(b, zeros, sizeof zeros);
}
