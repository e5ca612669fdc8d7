/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void notify_tell(const char *text)
{
	struct sockaddr_un where = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	socklen_t len;
	int fd;

	if (!path || !*path || strlen(path) >= sizeof where.sun_path)
		return;
	memcpy(where.sun_path, path, strlen(path));
	if (path[0] == '@')
		where.sun_path[0] = '\0';
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&where, len) < 0) {
		/* The manager does not listen: nothing to do. */
	}
	close(fd);
}

void notify_ready(void)
{
	notify_tell("READY=1\n");
}

void notify_stopping(void)
{
	notify_tell("STOPPING=1\n");
}
