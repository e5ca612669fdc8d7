/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/gpu_turn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "agentd/os/statefile.h"
#include "base/clock.h"

enum { PAUSE_MS = 10 };

int gpu_turn(const char *data, int how, int64_t wait_ms, struct fail *f)
{
	int64_t until = clock_ms() + wait_ms;
	char path[STATEFILE_PATH];
	int fd, rc = statefile_path(path, data, "gpus.turn", NULL);

	if (rc)
		return fail_set(f, rc, "the path of '%s' is too long", data);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	while (flock(fd, how | LOCK_NB) != 0) {
		int error = errno;

		if (error == EINTR)
			continue;
		if (error == EWOULDBLOCK && clock_ms() < until) {
			poll(NULL, 0, PAUSE_MS);
			continue;
		}
		close(fd);
		if (error != EWOULDBLOCK)
			return fail_errno(f, -error, error, "cannot lock '%s'", path);
		return how == LOCK_SH ? fail_set(f, -EBUSY, "a GPU is being reset; try again in a minute")
				      : fail_set(f, -EBUSY, "others look at the GPUs, or reset one, and do not end");
	}
	return fd;
}

int gpu_turn_look(const char *data, int64_t wait_ms, int *turn, struct fail *f)
{
	struct fail why = { 0 };
	int fd = data ? gpu_turn(data, LOCK_SH, wait_ms, &why) : -ENOENT;

	*turn = fd < 0 ? -1 : fd;
	if (fd >= 0 || fd == -ENOENT || fd == -EACCES || fd == -EPERM || fd == -EROFS)
		return 0;
	return fail_set(f, fd, "%s", why.text);
}
