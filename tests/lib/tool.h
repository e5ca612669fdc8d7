/* SPDX-License-Identifier: Apache-2.0 */
/* For C tests that need ssh-keygen and its like: run a program, write a file, have a folder. */
#ifndef TESTS_TOOL_H
#define TESTS_TOOL_H

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOOL_UNUSED __attribute__((unused))

/* A new folder that is the current one from here on, and HOME: what the test writes lies there. */
static TOOL_UNUSED char tool_dir[256];

static TOOL_UNUSED bool tool_begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(tool_dir, sizeof tool_dir, "%.200s/nanopod-test.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	return mkdtemp(tool_dir) && chdir(tool_dir) == 0 && setenv("HOME", tool_dir, 1) == 0;
}

static int tool_vrun(char *out, size_t size, const char *const *argv)
{
	int fds[2], status = -1;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (pipe(fds) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 2);
		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(fds[1]);
	for (char spare[4096]; (n = read(fds[0], spare, sizeof spare)) > 0;)
		for (ssize_t i = 0; i < n && len + 1 < size; i++)
			out[len++] = spare[i];
	if (size)
		out[len] = '\0';
	close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Exit status of a program; a macro so that the list needs no NULL at its end. */
#define tool_run(...) tool_vrun(NULL, 0, (const char *const[]){ __VA_ARGS__, NULL })
#define tool_output(room, ...) tool_vrun((room), sizeof (room), (const char *const[]){ __VA_ARGS__, NULL })

/* Starts one in the background; tool_stop() ends it. */
static TOOL_UNUSED pid_t tool_spawn(const char *const *argv)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

static TOOL_UNUSED void tool_stop(pid_t pid)
{
	if (pid > 0 && kill(pid, SIGTERM) == 0)
		waitpid(pid, NULL, 0);
}

static TOOL_UNUSED bool tool_write(const char *path, const void *data, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	bool good = fd >= 0 && write(fd, data, len) == (ssize_t)len && fchmod(fd, mode) == 0;

	return fd >= 0 && close(fd) == 0 && good;
}

static TOOL_UNUSED void tool_end(void)
{
	if (chdir("/") == 0)
		tool_run("rm", "-rf", tool_dir);
}

#endif
