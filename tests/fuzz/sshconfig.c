/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of ssh_config(5): an answer or a sentence, never a crash. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fail.h"
#include "pssh/config/sshconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const hosts[] = { "a", "b.example.org", "127.0.0.1" };
	struct sshconfig *c;
	struct fail f;
	char path[64];
	int fd = memfd_create("config", MFD_CLOEXEC);

	if (fd < 0 || sshconfig_new(&c) != 0)
		abort();
	if (write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (sshconfig_read(c, path, true, &f) == 0) {
		for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
			struct sshconfig_answer a;

			if (sshconfig_find(c, hosts[i], i ? "user" : NULL, i ? 2222 : 0, &a, &f) == 0)
				sshconfig_answer_release(&a);
		}
	}
	sshconfig_free(c);
	close(fd);
	return 0;
}
