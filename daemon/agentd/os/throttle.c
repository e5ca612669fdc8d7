/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { PIECE = 64 * 1024, BLOCK = 512, PAGE = 4096 };

/* ---- In the child ------------------------------------------------------------------------ */

/* Waits until the bytes that passed are within what the time since its start allows. */
static void throttle_wait(const struct throttle *t, int64_t *ahead, int64_t *at_us)
{
	int64_t now = clock_us(), paid = (now - *at_us) * t->rate / 1000000;

	*at_us = now;
	*ahead = paid >= *ahead ? 0 : *ahead - paid;
	if (*ahead > t->burst) {
		int64_t us = (*ahead - t->burst) * 1000000 / t->rate;

		nanosleep(&(struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 }, NULL);
	}
}

/* What a full disk does not take is lost. */
static void throttle_write(int fd, const char *data, ssize_t len)
{
	ssize_t n;

	for (; len > 0; data += n, len -= n)
		if ((n = write(fd, data, (size_t)len)) <= 0)
			return;
}

static void throttle_free_space(int fd, const struct throttle *t)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (int64_t)st.st_blocks * BLOCK > t->most &&
		st.st_size - t->kept >= PAGE)
		(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			(st.st_size - t->kept) / PAGE * PAGE);
}

_Noreturn static void throttle_pass(int from, int to, const struct throttle *t)
{
	int64_t ahead = 0, at_us = clock_us();
	char piece[PIECE];
	ssize_t n;

	prctl(PR_SET_NAME, "throttle");
	if (dup2(from, 0) != 0 || dup2(to, 1) != 1 || dup2(1, 2) != 2)
		_exit(1);
	close_range(3, ~0U, 0);
	while ((n = read(0, piece, sizeof piece)) > 0) {
		throttle_write(1, piece, n);
		throttle_free_space(1, t);
		ahead += n;
		throttle_wait(t, &ahead, &at_us);
	}
	_exit(0);
}

/* ---- In the program's own process --------------------------------------------------------- */

/* An end that also reads, so that nobody is killed for writing when the child is gone. */
static int throttle_end(int fd)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

int throttle_output(int fd, const struct throttle *t)
{
	int pipes[2], end, rc = 0;
	pid_t pid;

	if (fcntl(fd, F_GETFD) < 0 || pipe2(pipes, O_CLOEXEC) != 0)
		return -errno;
	end = throttle_end(pipes[1]);
	close(pipes[1]);
	pid = end < 0 ? -1 : fork();
	if (pid == 0) {
		close(end);
		if (fork() == 0) /* of a parent that ends, so that the program meets no child it does not know */
			throttle_pass(pipes[0], fd, t);
		_exit(0);
	}
	if (pid < 0)
		rc = -errno;
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!rc && dup2(end, fd) < 0)
		rc = -errno;
	if (end >= 0)
		close(end);
	close(pipes[0]);
	return rc;
}
