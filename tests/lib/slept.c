/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded: a machine that sleeps. The clock that counts sleep is ahead of the other one by as many seconds as
 * the file $SLEPT says, which a test may write at any time. Both are ahead by those of the file $LATER: a person who
 * took that long.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long slept_ahead(const char *name)
{
	const char *path = getenv(name);
	char text[16] = "";
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	return n > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t which, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, which, ts);

	if (rc == 0 && which == CLOCK_BOOTTIME)
		ts->tv_sec += slept_ahead("SLEPT");
	if (rc == 0 && (which == CLOCK_BOOTTIME || which == CLOCK_MONOTONIC))
		ts->tv_sec += slept_ahead("LATER");
	return rc;
}
