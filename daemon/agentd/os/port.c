/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64 };

union port_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t port_parse(const char *address, unsigned port, union port_address *out)
{
	*out = (union port_address){ 0 };
	if (inet_pton(AF_INET, address, &out->v4.sin_addr) == 1) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons((uint16_t)port);
		return sizeof out->v4;
	}
	if (inet_pton(AF_INET6, address, &out->v6.sin6_addr) != 1)
		return 0;
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = htons((uint16_t)port);
	return sizeof out->v6;
}

int port_listen(const char *address, unsigned port, int *out, struct fail *f)
{
	union port_address a;
	socklen_t len = port < 65536 ? port_parse(address, port, &a) : 0;
	int fd, error;

	if (!len)
		return fail_set(f, -EINVAL, "cannot listen on '%s' port %u: not an IP address", address, port);
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot make a socket");
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) == 0 && bind(fd, &a.any, len) == 0 &&
		listen(fd, BACKLOG) == 0) {
		*out = fd;
		return 0;
	}
	error = errno;
	close(fd);
	return fail_errno(f, -error, error, "cannot listen on '%s' port %u, the node's SSH", address, port);
}

int port_free(const char *address, unsigned port, struct fail *f)
{
	int fd, rc = port_listen(address, port, &fd, f);

	if (!rc)
		close(fd);
	return rc;
}
