/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/gpuchild.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { TOLD_FD = 3, REAP_MS = 1000 };

int gpuchild_write(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The child keeps nothing of the agent's but the pipe for its answer. */
_Noreturn static void gpuchild_child(int (*work)(void *arg, int fd), void *arg, int fd)
{
	sigset_t none;
	int null;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	fd = fd < 0 ? null : fd;
	if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) || null < 0 || (fd != TOLD_FD && dup2(fd, TOLD_FD) < 0))
		_exit(127);
	for (int i = 0; i < TOLD_FD; i++)
		if (dup2(null, i) < 0)
			_exit(127);
	close_range(TOLD_FD + 1, ~0U, 0);
	_exit(work(arg, TOLD_FD) ? 1 : 0);
}

/* Reads its answer, until it ends or the deadline. 0 or a negative errno. */
static int gpuchild_listen_to(int fd, int64_t deadline, struct buf *out)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char piece[4096];

	for (;;) {
		int64_t left = deadline - clock_ms();
		ssize_t n;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(left > 1000 ? 1000 : left)) < 0 && errno != EINTR)
			return -errno;
		if (!p.revents)
			continue;
		n = read(fd, piece, sizeof piece);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0 && buf_add(out, piece, (size_t)n))
			return -EFBIG;
	}
}

/* Its exit status; false if even a killed child does not end (a call that hangs in the kernel). */
static bool gpuchild_reap(pid_t pid, int64_t deadline, int *status)
{
	for (;;) {
		pid_t got = waitpid(pid, status, WNOHANG);

		if (got == pid)
			return true;
		if ((got < 0 && errno != EINTR) || clock_ms() >= deadline)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 2 * 1000 * 1000 }, NULL);
	}
}

int gpuchild_run(int (*work)(void *arg, int fd), void *arg, int64_t deadline_ms, struct buf *out, struct fail *f)
{
	int64_t deadline = clock_ms() + deadline_ms;
	int told[2], status = 0, rc;
	pid_t pid;

	if (pipe2(told, O_CLOEXEC))
		return fail_errno(f, -EIO, errno, "cannot make a pipe");
	pid = fork();
	if (pid == 0)
		gpuchild_child(work, arg, told[1]);
	close(told[1]);
	rc = pid < 0 ? -errno : gpuchild_listen_to(told[0], deadline, out);
	close(told[0]);
	if (pid < 0)
		return fail_errno(f, -EIO, -rc, "cannot start a child");
	if (rc || !gpuchild_reap(pid, deadline > clock_ms() ? deadline : clock_ms() + REAP_MS, &status)) {
		kill(pid, SIGKILL);
		gpuchild_reap(pid, clock_ms() + REAP_MS, &status);
		if (rc && rc != -ETIMEDOUT)
			return fail_errno(f, -EIO, -rc, "cannot read its answer");
		return fail_set(f, -ETIMEDOUT, "no answer within %lld ms", (long long)deadline_ms);
	}
	if (WIFSIGNALED(status))
		return fail_set(f, -EIO, "it crashed with signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return fail_set(f, -EIO, "it failed with status %d", WEXITSTATUS(status));
	return 0;
}

pid_t gpuchild_begin(int (*work)(void *arg, int fd), void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		gpuchild_child(work, arg, -1);
	return pid;
}

void gpuchild_end(pid_t pid)
{
	int status;

	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	gpuchild_reap(pid, clock_ms() + REAP_MS, &status);
}
