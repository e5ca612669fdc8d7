/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/local/localports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOWEST = 20000, HIGHEST = 32000, TRIES = 200 };

int localports_free(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, rc;

	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one,
		sizeof one); /* what a daemon of before left behind is no hindrance */
	rc = bind(fd, (const struct sockaddr *)&sa, sizeof sa);
	close(fd);
	return rc == 0;
}

int localports_find(int count, struct fail *f)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t n;
		int first, k = 0;

		if (getrandom(&n, sizeof n, 0) != sizeof n)
			return fail_errno(f, -errno, errno, "cannot choose a port");
		first = LOWEST + (int)(n % (uint32_t)(HIGHEST - LOWEST - count));
		while (k < count && localports_free(first + k))
			k++;
		if (k == count)
			return first;
	}
	return fail_set(f, -EADDRINUSE, "there are no %d free ports in a row on 127.0.0.1", count);
}
