/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded: a machine that sleeps. The clock that counts sleep is ahead of the other one by as many seconds as
 * the file $SLEPT says, which a test may write at any time.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t which, struct timespec *ts)
{
	const char *path = getenv("SLEPT");
	char text[16] = "";
	int rc = (int)syscall(SYS_clock_gettime, which, ts), fd;

	if (rc != 0 || which != CLOCK_BOOTTIME || !path)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return rc;
	if (read(fd, text, sizeof text - 1) > 0)
		ts->tv_sec += strtol(text, NULL, 10);
	close(fd);
	return rc;
}
