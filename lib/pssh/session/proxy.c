/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pssh/pssh_types.h"

extern char **environ;

enum { PATIENCE = 10 }; /* how often proxy_end() checks for its end before it kills it */

struct proxy {
	pid_t pid;
	int err;         /* our end of its stderr; neither side blocks */
	int asked;
	size_t len;
	char said[512];
};

static int spawn_sh(const char *command, int in_out, int err, pid_t *pid)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)command, NULL };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	int rc;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in_out, 0);
	posix_spawn_file_actions_adddup2(&fa, in_out, 1);
	posix_spawn_file_actions_adddup2(&fa, err, 2);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setpgroup(&attr, 0); /* a Ctrl-C of the terminal must not reach it: the program handles that */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	rc = posix_spawn(pid, "/bin/sh", &fa, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return rc;
}

int proxy_start(const char *command, struct proxy **out, int *fd, struct fail *f)
{
	struct proxy *px = calloc(1, sizeof *px);
	int pair[2] = { -1, -1 }, err[2] = { -1, -1 }, rc;

	if (!px)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	/* Its writes to stderr must not block: nobody may read them, and the connection would hang. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || pipe2(err, O_CLOEXEC | O_NONBLOCK) != 0 ||
	    fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0)
		rc = errno;
	else
		rc = spawn_sh(command, pair[1], err[1], &px->pid);
	if (pair[1] >= 0)
		close(pair[1]);
	if (err[1] >= 0)
		close(err[1]);
	if (rc != 0) {
		if (pair[0] >= 0)
			close(pair[0]);
		if (err[0] >= 0)
			close(err[0]);
		free(px);
		return fail_errno(f, PSSH_EPROXY, rc, "cannot run the proxy command '%s'", command);
	}
	px->err = err[0];
	*fd = pair[0];
	*out = px;
	return 0;
}

static void proxy_drain(struct proxy *px)
{
	char chunk[512];
	ssize_t n;

	while ((n = read(px->err, chunk, sizeof chunk)) > 0) {
		size_t keep = sizeof px->said - 1, take = (size_t)n;

		if (px->len + take > keep) {
			size_t drop = px->len + take - keep;

			drop = drop > px->len ? px->len : drop;
			memmove(px->said, px->said + drop, px->len - drop);
			px->len -= drop;
		}
		if (take > keep)
			take = keep;
		memcpy(px->said + px->len, chunk + (size_t)n - take, take);
		px->len += take;
	}
}

const char *proxy_said(struct proxy *px)
{
	char *line;

	proxy_drain(px);
	while (px->len && (px->said[px->len - 1] == '\n' || px->said[px->len - 1] == '\r'))
		px->len--;
	px->said[px->len] = '\0';
	line = strrchr(px->said, '\n');
	line = line ? line + 1 : px->said;
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	return line;
}

void proxy_leave(struct proxy *px)
{
	if (!px)
		return;
	close(px->err);
	free(px);
}

int proxy_end(struct proxy *px, int force)
{
	force = force || px->asked > PATIENCE;
	if (!px->asked || force)
		kill(-px->pid, force ? SIGKILL : SIGHUP);
	px->asked++;
	if (waitpid(px->pid, NULL, force ? 0 : WNOHANG) == 0)
		return 0;
	proxy_leave(px);
	return 1;
}
