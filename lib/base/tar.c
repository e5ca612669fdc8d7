/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TAR_BLOCK = 512 };

int tar_add(struct buf *b, const char *name, unsigned mode, const void *data, size_t len)
{
	struct {
		char name[TAR_NAME], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100], magic[8],
			user[32], group[32], device[16], prefix[155], rest[12];
	} head = { .type = '0' };
	static const char zeros[TAR_BLOCK];
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
	return rc ? rc : buf_add(b, zeros, (TAR_BLOCK - len % TAR_BLOCK) % TAR_BLOCK);
}

int tar_end(struct buf *b)
{
	static const char zeros[2 * TAR_BLOCK];

	return buf_add(b, zeros, sizeof zeros);
}
