/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ownloop: a fleet inside a loop that waits for other things too: standard input, whose lines are
 * commands to run, and a timer.
 *
 *     cc ownloop.c $(pkg-config --cflags --libs libpssh) -o ownloop
 *     printf 'sleep 2\nhostname\n' | ./ownloop n1 n2
 *
 * The connections stay open: the second line needs no second key exchange.
 */
#include <errno.h>
#include <poll.h>
#include <pssh.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

static unsigned running;

static int run(struct pssh *p, char **names, const char *command)
{
	struct pssh_task *task;
	struct pssh_host *host;
	int rc = pssh_exec(p, command, &task);

	/* The same name gives the same host, with its open connection. */
	for (; rc == 0 && *names; names++)
		if ((rc = pssh_host(p, *names, &host)) == 0)
			rc = pssh_task_add(task, host);
	if (rc == 0 && (rc = pssh_task_start(task)) == 0)
		running++;
	return rc;
}

static void show(const struct pssh_event *ev)
{
	const char *name = ev->host ? pssh_host_name(ev->host) : "";

	if (ev->type == PSSH_EV_STDOUT || ev->type == PSSH_EV_STDERR)
		printf("%s: %.*s", name, (int)ev->len, ev->data);
	else if (ev->type == PSSH_EV_EXIT)
		printf("%s: exit status %d\n", name, ev->status);
	else if (ev->type == PSSH_EV_SIGNAL || ev->type == PSSH_EV_ERROR)
		printf("%s: %s\n", name, ev->text);
	else if (ev->type == PSSH_EV_DONE) {
		running--;
		pssh_task_free(ev->task); /* use ev before: this call makes it invalid */
	}
	fflush(stdout);
}

/* Reads standard input and runs each complete line. 1: go on, 0: end of input, or a code. */
static int read_commands(struct pssh *p, char **names)
{
	static char line[4096];
	static size_t have;
	ssize_t n = read(STDIN_FILENO, line + have, sizeof line - 1 - have);
	char *end;
	int rc = 0;

	if (n <= 0)
		return n < 0 && errno == EINTR ? 1 : 0;
	have += (size_t)n;
	while (rc == 0 && (end = memchr(line, '\n', have))) {
		*end = '\0';
		if (end > line)
			rc = run(p, names, line);
		have -= (size_t)(end + 1 - line);
		memmove(line, end + 1, have);
	}
	if (have == sizeof line - 1)
		return fprintf(stderr, "ownloop: that line is too long\n"), 0;
	return rc ? rc : 1;
}

static int loop(struct pssh *p, int tick, char **names)
{
	struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 }, { tick, POLLIN, 0 }, { pssh_fd(p), POLLIN, 0 } };
	const struct pssh_event *ev;
	uint64_t ticks;
	int rc;

	for (;;) {
		/*
		 * Pull events before sleeping: other calls may have caused some. After 20 ms pssh_next() returns 0
		 * even if there are more, so that the rest of the program has its turn; then pssh_timeout() is 0.
		 */
		while ((rc = pssh_next(p, &ev)) > 0)
			show(ev);
		if (rc < 0 || (fds[0].fd < 0 && running == 0))
			return rc;
		if (poll(fds, 3, pssh_timeout(p)) < 0 && errno != EINTR)
			return PSSH_ELOCAL;
		if (fds[1].revents && read(tick, &ticks, sizeof ticks) > 0)
			fprintf(stderr, "(%u running)\n", running);
		if (fds[0].revents && (rc = read_commands(p, names)) <= 0) {
			if (rc < 0)
				return rc;
			fds[0].fd = -1; /* poll() ignores it from now on */
		}
	}
}

int main(int argc, char **argv)
{
	struct itimerspec each = { { 1, 0 }, { 1, 0 } };
	int tick = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), rc;
	char path[4096];
	struct pssh *p;

	if (argc < 2 || tick < 0 || timerfd_settime(tick, 0, &each, NULL) != 0 || pssh_new(&p) != 0)
		return fprintf(stderr, "usage: ownloop HOST... <COMMANDS\n"), 2;
	snprintf(path, sizeof path, "%s/.ssh/config", getenv("HOME") ? getenv("HOME") : "");
	rc = pssh_read_config(p, path);
	if (rc == 0 || rc == PSSH_ENOENT)
		rc = loop(p, tick, argv + 1);
	if (rc < 0)
		fprintf(stderr, "ownloop: %s\n", pssh_error(p));
	pssh_free(p);
	close(tick);
	return rc < 0;
}
