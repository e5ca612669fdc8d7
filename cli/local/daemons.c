/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/local/daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

enum { WORDS_MAX = 64, ENV_MAX = 16, PIECE = 16384, COULD_NOT = 127 };

/* ---- Where they are ---------------------------------------------------------------------- */

static char *in_folder(const char *folder, size_t len, const char *below, const char *name)
{
	char *path;

	if (asprintf(&path, "%.*s%s/%s", (int)len, folder, below, name) < 0)
		return NULL;
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* In a build folder the program is in .libs below the folder of the daemons. */
static char *daemons_beside(const char *name)
{
	char own[PATH_MAX], *found = NULL, *slash;
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
	size_t len;

	if (n <= 0)
		return NULL;
	own[n] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	len = strlen(own);
	if (len > 6 && strcmp(own + len - 6, "/.libs") == 0)
		found = in_folder(own, len - 6, "", name);
	found = found ? found : in_folder(own, len, "", name);
	return found ? found : in_folder(own, len, "/../sbin", name);
}

char *agentd_find(const char *name, struct fail *f)
{
	const char *path = getenv("PATH");
	char *found = daemons_beside(name);

	for (const char *at = path ? path : ""; !found && *at; at += *at == ':') {
		size_t len = strcspn(at, ":");

		if (len)
			found = in_folder(at, len, "", name);
		at += len;
	}
	if (!found)
		fail_set(f, -ENOENT, "'%s' is not installed: not found beside nanopod, in ../sbin, or on PATH", name);
	return found;
}

/* ---- Starting ---------------------------------------------------------------------------- */

struct pipes {
	int in[2], out[2], err[2], told[2]; /* told: a pipe that closes when the program runs, or carries errno */
};

static void daemons_shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void shut_all(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		daemons_shut(&p->in[i]);
		daemons_shut(&p->out[i]);
		daemons_shut(&p->err[i]);
		daemons_shut(&p->told[i]);
	}
}

static int open_pipes(const struct agentd_call *c, struct pipes *p, struct fail *f)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (pipe2(p->told, O_CLOEXEC) || (c->in && pipe2(p->in, O_CLOEXEC)) || (c->out && pipe2(p->out, O_CLOEXEC)) ||
	    (c->err && pipe2(p->err, O_CLOEXEC))) {
		int rc = errno;

		shut_all(p);
		return fail_errno(f, -rc, rc, "cannot run '%s'", c->program);
	}
	return 0;
}

static void put_at(int fd, int place)
{
	if (fd >= 0)
		dup2(fd, place);
}

/* In the child: exec drops our signal handlers but keeps ignored signals, so reset those. */
static _Noreturn void daemons_become(const struct agentd_call *c, const struct pipes *p)
{
	const char *argv[WORDS_MAX];
	size_t n = 0;
	int error;

	if (c->mortal)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	argv[n++] = c->program;
	for (size_t i = 0; c->words[i] && n + 1 < WORDS_MAX; i++)
		argv[n++] = c->words[i];
	argv[n] = NULL;
	for (size_t i = 0; c->env && c->env[i] && i < ENV_MAX; i++)
		putenv((char *)(uintptr_t)c->env[i]);
	signal(SIGPIPE, SIG_DFL);
	put_at(p->in[0] >= 0 ? p->in[0] : open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
	put_at(p->out[1], 1);
	put_at(p->err[1], 2);
	execv(c->program, (char *const *)(uintptr_t)argv);
	error = errno;
	if (write(p->told[1], &error, sizeof error) < 0)
		_exit(COULD_NOT);
	_exit(COULD_NOT);
}

/* Did it become the program? */
static int wait_told(const struct agentd_call *c, struct pipes *p, struct fail *f)
{
	int error = 0;
	ssize_t n;

	daemons_shut(&p->told[1]);
	do
		n = read(p->told[0], &error, sizeof error);
	while (n < 0 && errno == EINTR);
	daemons_shut(&p->told[0]);
	return n == sizeof error ? fail_errno(f, -error, error, "cannot run '%s'", c->program) : 0;
}

static int daemons_exit(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int daemons_reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return daemons_exit(status);
}

/* ---- To its end -------------------------------------------------------------------------- */

/* Reads and drops what does not fit, so that the program never waits for a reader. */
static void daemons_take(int *fd, struct buf *into)
{
	char piece[PIECE];
	ssize_t n = read(*fd, piece, sizeof piece);

	if (n > 0)
		(void)buf_add(into, piece, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		daemons_shut(fd);
}

static void daemons_give(int *fd, const char **in)
{
	ssize_t n = write(*fd, *in, strlen(*in));

	if (n > 0)
		*in += n;
	if ((n < 0 && errno != EINTR && errno != EAGAIN) || !**in)
		daemons_shut(fd);
}

/* False: the deadline passed. */
static bool daemons_talk(const struct agentd_call *c, struct pipes *p, int64_t until)
{
	const char *in = c->in;

	while (p->in[1] >= 0 || p->out[0] >= 0 || p->err[0] >= 0) {
		struct pollfd fds[] = {
			{ .fd = p->in[1], .events = POLLOUT },
			{ .fd = p->out[0], .events = POLLIN },
			{ .fd = p->err[0], .events = POLLIN },
		};
		int64_t left = until ? until - clock_ms() : -1;

		if (until && left <= 0)
			return false;
		if (poll(fds, 3, (int)left) <= 0)
			continue;
		if (fds[0].revents)
			daemons_give(&p->in[1], &in);
		if (fds[1].revents)
			daemons_take(&p->out[0], c->out);
		if (fds[2].revents)
			daemons_take(&p->err[0], c->err);
	}
	return true;
}

int agentd_run(const struct agentd_call *c, int *status, struct fail *f)
{
	int64_t until = c->deadline_ms ? clock_ms() + c->deadline_ms : 0;
	struct pipes p;
	bool ended;
	pid_t pid;
	int rc = open_pipes(c, &p, f);

	if (rc)
		return rc;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		daemons_become(c, &p);
	rc = pid < 0 ? fail_errno(f, -errno, errno, "cannot run '%s'", c->program) : 0;
	daemons_shut(&p.in[0]);
	daemons_shut(&p.out[1]);
	daemons_shut(&p.err[1]);
	if (!rc)
		rc = wait_told(c, &p, f);
	ended = rc || daemons_talk(c, &p, until);
	shut_all(&p);
	if (pid < 0)
		return rc;
	if (!ended)
		kill(pid, SIGTERM);
	*status = daemons_reap(pid);
	return ended ? rc : fail_set(f, -ETIMEDOUT, "'%s' timed out", c->program);
}

/* ---- Beside this program ------------------------------------------------------------------- */

int agentd_begin(const struct agentd_call *c, struct agentd_going *g, struct fail *f)
{
	struct agentd_call quiet = { .program = c->program, .words = c->words, .env = c->env, .mortal = c->mortal };
	struct pipes p;
	int rc = open_pipes(&quiet, &p, f);

	*g = (struct agentd_going){ .said = -1 };
	if (rc)
		return rc;
	p.out[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	p.err[1] = memfd_create("said", MFD_CLOEXEC);
	fflush(NULL);
	g->pid = p.out[1] < 0 || p.err[1] < 0 ? -1 : fork();
	if (g->pid == 0)
		daemons_become(&quiet, &p);
	rc = g->pid < 0 ? fail_errno(f, -errno, errno, "cannot run '%s'", c->program) : wait_told(&quiet, &p, f);
	if (rc && g->pid > 0)
		(void)daemons_reap(g->pid);
	if (rc) {
		g->pid = 0;
	} else {
		g->said = p.err[1];
		p.err[1] = -1;
	}
	shut_all(&p);
	return rc;
}

bool agentd_over(struct agentd_going *g, bool wait, int *status, struct buf *err)
{
	pid_t pid;
	int raw;

	do
		pid = waitpid(g->pid, &raw, wait ? 0 : WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	*status = pid < 0 ? COULD_NOT : daemons_exit(raw);
	if (lseek(g->said, 0, SEEK_SET) == 0)
		(void)buf_read_fd(err, g->said);
	daemons_shut(&g->said);
	g->pid = 0;
	return true;
}

/* ---- Left behind ------------------------------------------------------------------------- */

static void daemons_detach(const struct agentd_call *c, struct pipes *p, const char *log)
{
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	pid_t pid;

	setsid();
	if (fd < 0 || chdir("/") < 0) {
		int error = errno;

		(void)!write(p->told[1], &error, sizeof error);
		_exit(COULD_NOT);
	}
	pid = fork(); /* never a controlling terminal, and a child of init */
	if (pid < 0)
		_exit(COULD_NOT);
	if (pid > 0)
		_exit(write(p->out[1], &pid, sizeof pid) == sizeof pid ? 0 : COULD_NOT);
	dup2(fd, 1);
	dup2(fd, 2);
	for (int i = 3; i < 1024; i++)
		if (i != p->told[1] && i != fd)
			close(i);
	for (int i = 0; i < 2; i++)
		p->out[i] = p->err[i] = p->in[i] = -1;
	daemons_become(c, p);
}

int agentd_leave(const struct agentd_call *c, const char *log, pid_t *pid, struct fail *f)
{
	struct pipes p;
	struct buf none;
	struct agentd_call quiet = *c;
	pid_t middle, made = 0;
	ssize_t n;
	int rc;

	buf_init(&none, 1);
	quiet.in = NULL;
	quiet.out = &none;
	quiet.err = NULL;
	rc = open_pipes(&quiet, &p, f);
	if (rc)
		return rc;
	fflush(NULL);
	middle = fork();
	if (middle == 0)
		daemons_detach(&quiet, &p, log);
	daemons_shut(&p.out[1]);
	rc = middle < 0 ? fail_errno(f, -errno, errno, "cannot run '%s'", c->program) : wait_told(c, &p, f);
	do
		n = read(p.out[0], &made, sizeof made);
	while (n < 0 && errno == EINTR);
	if (middle > 0)
		daemons_reap(middle);
	shut_all(&p);
	if (!rc && n != sizeof made)
		rc = fail_set(f, -EIO, "cannot run '%s': it could not go to the background", c->program);
	if (!rc)
		*pid = made;
	return rc;
}

const char *agentd_last_line(struct buf *said)
{
	char *line, *text = said->data;
	size_t len = said->len;

	while (len && strchr("\r\n", text[len - 1]))
		text[--len] = '\0';
	if (!len)
		return "";
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (str_starts(line, AGENTD ": ") || str_starts(line, MARKETD ": "))
		line = strchr(line, ' ') + 1;
	return line;
}
