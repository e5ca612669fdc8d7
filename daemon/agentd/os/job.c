/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/job.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

/* The last bytes that the child writes: its result. */
struct record {
	uint32_t magic;
	int32_t rc;
	char text[sizeof ((struct fail *)0)->text];
};

enum { MAGIC = 0x6a6f6221 };

_Noreturn static void job_child(int fd, pid_t parent, int (*work)(void *, struct buf *, struct fail *), void *arg)
{
	struct record end = { .magic = MAGIC };
	struct fail f = { 0 };
	struct buf out;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	buf_init(&out, JOB_SAID_MAX);
	end.rc = work(arg, &out, &f);
	memcpy(end.text, f.text, sizeof end.text);
	if (file_write(fd, buf_text(&out), out.len) == 0)
		file_write(fd, &end, sizeof end);
	_exit(0);
}

int job_begin(struct job *j, struct loop *loop, int watch_kind, int64_t deadline_ms,
	int (*work)(void *arg, struct buf *out, struct fail *f), void *arg, struct fail *f)
{
	pid_t parent = getpid(), pid;
	int pipes[2], rc;

	assert(work && deadline_ms > 0);
	if (pipe2(pipes, O_CLOEXEC) != 0)
		return fail_errno(f, -errno, errno, "cannot make a pipe");
	pid = fork();
	if (pid == 0)
		job_child(pipes[1], parent, work, arg);
	close(pipes[1]);
	rc = pid < 0 ? -errno : 0;
	if (!rc && fcntl(pipes[0], F_SETFL, O_NONBLOCK) != 0)
		rc = -errno;
	*j = (struct job){ .pid = pid, .fd = pipes[0], .began_ms = clock_ms(), .due_ms = clock_ms() + deadline_ms };
	j->watch.kind = watch_kind;
	buf_init(&j->heard, JOB_SAID_MAX + sizeof(struct record));
	buf_init(&j->said, JOB_SAID_MAX);
	if (!rc)
		rc = loop_watch(loop, &j->watch, j->fd, LOOP_READ);
	if (!rc)
		return 0;
	j->pid = pid > 0 ? pid : 0;
	job_release(j, loop);
	return fail_errno(f, rc, -rc, "cannot start a child");
}

/* Reads what the pipe holds; true at its end. */
static bool job_read_pipe(struct job *j)
{
	char piece[8192];

	for (;;) {
		ssize_t n = read(j->fd, piece, sizeof piece);

		if (n > 0 && buf_add(&j->heard, piece, (size_t)n) != 0)
			return true;
		if (n == 0)
			return true;
		if (n < 0 && errno != EINTR)
			return errno != EAGAIN;
	}
}

static void job_read_end(struct job *j, int status, bool late)
{
	struct record end = { 0 };
	size_t at = j->heard.len >= sizeof end ? j->heard.len - sizeof end : 0;

	if (j->heard.len >= sizeof end)
		memcpy(&end, j->heard.data + at, sizeof end);
	j->complete = end.magic == MAGIC;
	if (j->complete) {
		end.text[sizeof end.text - 1] = '\0';
		j->rc = end.rc;
		if (end.rc)
			fail_set(&j->fail, end.rc, "%s", end.text);
		buf_add(&j->said, buf_text(&j->heard), at);
	} else if (late) {
		j->rc = fail_set(&j->fail, -ETIMEDOUT, "it took longer than %lld s",
			(long long)(j->due_ms - j->began_ms) / 1000);
	} else if (WIFSIGNALED(status)) {
		j->rc = fail_set(&j->fail, -EIO, "the child process was ended by signal %d", WTERMSIG(status));
	} else {
		j->rc = fail_set(&j->fail, -EIO, "the child process ended without reporting its result");
	}
}

bool job_ended(struct job *j, struct loop *loop)
{
	bool late = clock_ms() >= j->due_ms, closed = job_read_pipe(j);
	int status = 0;
	pid_t got;

	assert(j->pid > 0 && j->fd >= 0);
	if (late && !closed)
		kill(j->pid, SIGKILL);
	do
		got = waitpid(j->pid, &status, late || closed ? 0 : WNOHANG);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return false;
	job_read_pipe(j);
	j->pid = 0;
	loop_forget(loop, &j->watch);
	close(j->fd);
	j->fd = -1;
	job_read_end(j, status, late);
	return true;
}

void job_release(struct job *j, struct loop *loop)
{
	if (j->pid > 0) {
		kill(j->pid, SIGKILL);
		while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (j->fd > 0) {
		loop_forget(loop, &j->watch);
		close(j->fd);
	}
	buf_release(&j->heard);
	buf_release(&j->said);
	memset(j, 0, sizeof *j);
}
