/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/gpu_turn.h"

#include <errno.h>
#include <sys/file.h>

#include "agentd/os/statefile.h"

int gpu_turn(const char *data, int how, int64_t wait_ms, struct fail *f)
{
	int fd = statefile_lock(data, "gpus.turn", how, wait_ms, f);

	if (fd != -EBUSY)
		return fd;
	return how == LOCK_SH ? fail_set(f, -EBUSY, "a GPU is being reset; try again in a minute")
			      : fail_set(f, -EBUSY, "others look at the GPUs, or reset one, and do not end");
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
