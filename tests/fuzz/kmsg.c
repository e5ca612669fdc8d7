/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the kernel's log, of which programs write a part: findings are few, worded and about a PCI address. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agentd/machine/xid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void kmsg_look_at(const struct health_finding *found)
{
	if (found->health == HEALTH_OK || strcmp(found->check, "xid") != 0 || !*found->action)
		abort();
	if (!*found->gpu || found->gpu[strspn(found->gpu, "0123456789abcdefABCDEF:.")])
		abort();
	for (const char *at = found->text; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct health_report r = { 0 };
	int fd = memfd_create("kmsg", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	xid_read(path, INT64_C(200000) * 1000000, &r);
	close(fd);
	if (r.count > HEALTH_FINDINGS || (r.count == 0) != (r.health == HEALTH_OK))
		abort();
	for (size_t i = 0; i < r.count; i++)
		kmsg_look_at(&r.list[i]);
	return 0;
}
