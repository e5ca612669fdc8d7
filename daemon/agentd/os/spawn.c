/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { SAID_MAX = 64 * 1024, OUT_MAX = 16 << 20, PATH_ROOM = 512, KEPT_FD = 3 };

static const char *const folders[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	"/usr/lib/systemd", "/lib/systemd", "/usr/lib/openssh" };

bool spawn_find(const char *name, char *room, size_t size)
{
	if (strchr(name, '/')) {
		snprintf(room, size, "%s", name);
		return access(name, X_OK) == 0;
	}
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(room, size, "%s/%s", folders[i], name);
		if (access(room, X_OK) == 0)
			return true;
	}
	return false;
}

/* ---- In the child ------------------------------------------------------------------------ */

/* The child reports errors through this; it closes by itself when the program starts. */
struct child {
	const struct spawn *s;
	const char *path;
	int out, err, keep, told;
	pid_t parent;
	bool leave;
};

_Noreturn static void spawn_give_up(const struct child *c, int error)
{
	ssize_t n = write(c->told, &error, sizeof error);

	_exit(n == sizeof error ? 126 : 127);
}

static void spawn_set_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
}

/* Keeps 0, 1, 2 and, for a program left behind, 3; closes all others. Moves `told` out of the way first. */
static void set_descriptors(struct child *c)
{
	int in = c->s->in > 0 ? c->s->in : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int limit = 64;

	if (in < 0)
		spawn_give_up(c, errno);
	in = fcntl(in, F_DUPFD_CLOEXEC, limit);
	c->out = fcntl(c->out, F_DUPFD_CLOEXEC, limit);
	c->err = fcntl(c->err, F_DUPFD_CLOEXEC, limit);
	c->told = fcntl(c->told, F_DUPFD_CLOEXEC, limit);
	if (c->keep >= 0)
		c->keep = fcntl(c->keep, F_DUPFD_CLOEXEC, limit);
	if (dup2(in, 0) < 0 || dup2(c->out, 1) < 0 || dup2(c->err, 2) < 0 ||
		(c->keep >= 0 && dup2(c->keep, KEPT_FD) < 0))
		spawn_give_up(c, errno);
	for (int fd = c->keep >= 0 ? KEPT_FD + 1 : KEPT_FD; fd < limit; fd++)
		close(fd);
	close_range((unsigned)limit, ~0U, 1 << 2 /* CLOSE_RANGE_CLOEXEC */);
}

_Noreturn static void spawn_child(struct child *c)
{
	static const char *const fixed[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL };
	const struct spawn *s = c->s;

	spawn_set_signals();
	if (c->leave)
		setsid();
	else if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		spawn_give_up(c, errno);
	else if (getppid() != c->parent)  /* the parent died before its death signal was set */
		_exit(127);
	if (s->net > 0 && setns(s->net, CLONE_NEWNET) != 0)
		spawn_give_up(c, errno);
	set_descriptors(c);
	if (chdir(s->dir ? s->dir : "/") != 0)
		spawn_give_up(c, errno);
	const char *home = getenv("HOME");
	char *home_copy = home ? strdup(home) : NULL;

	clearenv();
	for (size_t i = 0; fixed[i]; i++)
		putenv((char *)(uintptr_t)fixed[i]);
	setenv("HOME", home_copy ? home_copy : "/root", 1);
	for (size_t i = 0; s->env && s->env[i]; i++)
		putenv((char *)(uintptr_t)s->env[i]);
	if (s->prepare) {
		int rc = s->prepare(s->arg);

		if (rc)
			spawn_give_up(c, rc < 0 ? -rc : ECANCELED);
	}
	execv(c->path, (char *const *)(uintptr_t)s->argv);
	spawn_give_up(c, errno);
}

/* ---- Its end ------------------------------------------------------------------------------ */

/* 0 when the program started, or its errno. */
static int spawn_began(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof error);
	while (n < 0 && errno == EINTR);
	return n == sizeof error ? error : 0;
}

static int spawn_wait_end(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* The last lines of its standard error, joined into one line. */
static void spawn_last_words(const struct buf *said, char *room, size_t size)
{
	const char *from = buf_text(said);
	size_t len = said->len, n = 0;

	while (len && (from[len - 1] == '\n' || from[len - 1] == ' '))
		len--;
	if (len > 240) {
		from += len - 240;
		len = 240;
	}
	for (size_t i = 0; i < len && n + 1 < size; i++)
		room[n++] = (unsigned char)from[i] < ' ' ? ' ' : from[i];
	room[n] = '\0';
}

/* Reads what is there. true: no more will come. */
static bool spawn_take(int fd, struct buf *b, bool last_words_only, bool *lost)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof piece)) > 0) {
		if (b && last_words_only && b->len + (size_t)n > SAID_MAX / 2)
			buf_drop(b, b->len / 2);
		if (b && buf_add(b, piece, (size_t)n) && !last_words_only)
			*lost = true;
	}
	return n == 0 || (errno != EAGAIN && errno != EINTR);
}

/*
 * Reads both pipes until the program has ended: not longer, though others may still hold the pipes, and not less,
 * for a program may close them and go on. over: its pidfd, or -1 where there is none; then the end of both pipes is
 * taken for the program's end. 0, -ETIMEDOUT, -EFBIG.
 */
static int spawn_listen_to(int out, int err, int over, int64_t deadline, struct buf *to, struct buf *said)
{
	struct pollfd p[3] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN },
		{ .fd = over, .events = POLLIN } };
	bool ended = false, lost = false;

	while (!ended && (p[0].fd >= 0 || p[1].fd >= 0 || p[2].fd >= 0)) {
		int64_t left = deadline - clock_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(p, 3, (int)(left > 1000 ? 1000 : left)) < 0) {
			if (errno != EINTR)
				return -errno;
			continue;
		}
		ended = p[2].fd >= 0 && p[2].revents;
		for (int i = 0; i < 2; i++)
			if (p[i].fd >= 0 && (p[i].revents || ended) &&
				spawn_take(p[i].fd, i == 0 ? to : said, i == 1, &lost))
				p[i].fd = -1;
	}
	return lost ? -EFBIG : 0;
}

static int spawn_ended(const struct spawn *s, int status, const struct buf *said, struct fail *f)
{
	char words[256];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	spawn_last_words(said, words, sizeof words);
	if (WIFSIGNALED(status))
		return fail_set(f, -EIO, "'%s' was ended by signal %d%s%s", s->argv[0], WTERMSIG(status),
			*words ? ": " : "", words);
	return fail_set(f, -EIO, "'%s' failed with status %d%s%s", s->argv[0], WEXITSTATUS(status), *words ? ": " : "",
		words);
}

static int spawn_make_pipes(int pipes[3][2], struct fail *f)
{
	for (int i = 0; i < 3; i++)
		if (pipe2(pipes[i], O_CLOEXEC) != 0)
			return fail_errno(f, -errno, errno, "cannot make a pipe");
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Runs in the parent. Kills the process group where it takes too long. */
static int spawn_attend(const struct spawn *s, pid_t pid, int pipes[3][2], int64_t deadline_ms, struct buf *out,
	struct fail *f)
{
	int error, rc, status, over = (int)syscall(SYS_pidfd_open, pid, 0);
	struct buf said;

	for (int i = 0; i < 3; i++)
		close_fd(&pipes[i][1]);
	fcntl(pipes[0][0], F_SETFL, O_NONBLOCK);
	fcntl(pipes[1][0], F_SETFL, O_NONBLOCK);
	error = spawn_began(pipes[2][0]);
	if (error) {
		spawn_wait_end(pid);
		close_fd(&over);
		return fail_errno(f, -error, error, "cannot start '%s'", s->argv[0]);
	}
	buf_init(&said, SAID_MAX);
	rc = spawn_listen_to(pipes[0][0], pipes[1][0], over, clock_ms() + deadline_ms, out, &said);
	if (rc)
		kill(-pid, SIGKILL);
	status = spawn_wait_end(pid);
	if (rc == -ETIMEDOUT)
		fail_set(f, rc, "'%s' took longer than %lld s", s->argv[0], (long long)(deadline_ms / 1000));
	else if (rc)
		fail_errno(f, rc, -rc, "cannot read the output of '%s'", s->argv[0]);
	else
		rc = spawn_ended(s, status, &said, f);
	buf_release(&said);
	close_fd(&over);
	return rc;
}

int spawn_run(const struct spawn *s, int64_t deadline_ms, struct buf *out, struct fail *f)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }, rc;
	char path[PATH_ROOM];
	pid_t pid, parent = getpid();

	if (!spawn_find(s->argv[0], path, sizeof path))
		return fail_set(f, -ENOENT, "'%s' is not installed", s->argv[0]);
	rc = spawn_make_pipes(pipes, f);
	pid = rc ? -1 : fork();
	if (!rc && pid < 0)
		rc = fail_errno(f, -errno, errno, "cannot start '%s'", s->argv[0]);
	if (!rc && pid == 0)
		spawn_child(&(struct child){ .s = s,
			.path = path,
			.out = pipes[0][1],
			.err = pipes[1][1],
			.told = pipes[2][1],
			.keep = -1,
			.parent = parent });
	if (!rc)
		rc = spawn_attend(s, pid, pipes, deadline_ms, out, f);
	for (int i = 0; i < 3; i++) {
		close_fd(&pipes[i][0]);
		close_fd(&pipes[i][1]);
	}
	return rc;
}

int spawn_words(int64_t deadline_ms, struct fail *f, const char *word, ...)
{
	const char *argv[SPAWN_ARGS] = { word };
	va_list ap;

	va_start(ap, word);
	for (size_t i = 1; i < SPAWN_ARGS - 1 && (argv[i] = va_arg(ap, const char *)); i++)
		;
	va_end(ap);
	return spawn_run(&(struct spawn){ .argv = argv }, deadline_ms, NULL, f);
}

int spawn_leave(const struct spawn *s, const char *log_path, int keep, pid_t *pid, struct fail *f)
{
	int told[2], log, error;
	char path[PATH_ROOM];
	pid_t made;

	if (!spawn_find(s->argv[0], path, sizeof path))
		return fail_set(f, -ENOENT, "'%s' is not installed", s->argv[0]);
	log = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (log < 0)
		return fail_errno(f, -errno, errno, "cannot write '%s'", log_path);
	if (pipe2(told, O_CLOEXEC) != 0) {
		error = errno;
		close(log);
		return fail_errno(f, -error, error, "cannot make a pipe");
	}
	made = fork();
	if (made == 0)
		spawn_child(&(struct child){ .s = s,
			.path = path,
			.out = log,
			.err = log,
			.told = told[1],
			.keep = keep,
			.leave = true });
	error = made < 0 ? errno : 0;
	close(told[1]);
	close(log);
	if (made > 0) {
		error = spawn_began(told[0]);
		if (error)
			spawn_wait_end(made);
	}
	close(told[0]);
	if (error)
		return fail_errno(f, -error, error, "cannot start '%s'", s->argv[0]);
	*pid = made;
	return 0;
}
