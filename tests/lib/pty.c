/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program on a terminal of its own and talks to it, for tests of what only a terminal shows:
 *
 *     pty SCRIPT COMMAND [ARGUMENT...]
 *
 * SCRIPT has a step a line: `expect TEXT` waits until the output since the last match holds it,
 * `send TEXT` types it, `size COLUMNS ROWS` changes the window (as the first step, before the program
 * begins), `echo on|off` and `raw on|off` check the terminal's modes. \n \r \t \e \\ and \xHH are
 * understood. Then it waits for the end. What the terminal showed goes to standard output; the exit
 * status is the program's (128 + signal), 99 where a step failed or a minute passed.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, SEEN_MAX = 1 << 20 };

static char seen[SEEN_MAX + 1];
static size_t seen_len, seen_at;
static int terminal;
static pid_t child;

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

static _Noreturn void give_up(const char *step, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "\npty: %s: %s\n", step, why);
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	exit(99);
}

/* Takes what comes within ms; 0 at the end of the output. */
static int take(int ms)
{
	struct pollfd p = { .fd = terminal, .events = POLLIN };
	char piece[4096];
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return 1;
	n = read(terminal, piece, sizeof piece);
	if (n <= 0)
		return 0;
	fwrite(piece, 1, (size_t)n, stdout);
	fflush(stdout);
	if (seen_len + (size_t)n > SEEN_MAX)
		seen_len = seen_at = 0;
	memcpy(seen + seen_len, piece, (size_t)n);
	seen_len += (size_t)n;
	return 1;
}

static size_t unescape(char *text)
{
	char *w = text;

	for (char *s = text; *s; s++) {
		if (*s != '\\') {
			*w++ = *s;
			continue;
		}
		s++;
		if (*s == 'n')
			*w++ = '\n';
		else if (*s == 'r')
			*w++ = '\r';
		else if (*s == 't')
			*w++ = '\t';
		else if (*s == 'e')
			*w++ = '\033';
		else if (*s == 'x' && isxdigit((unsigned char)s[1]) && isxdigit((unsigned char)s[2])) {
			char hex[3] = { s[1], s[2], '\0' };

			*w++ = (char)strtoul(hex, NULL, 16);
			s += 2;
		} else if (*s)
			*w++ = *s;
		else
			break;
	}
	*w = '\0';
	return (size_t)(w - text);
}

static void expect(const char *step, const char *text, size_t len)
{
	long end = now_ms() + PATIENCE_MS;

	for (;;) {
		char *at = memmem(seen + seen_at, seen_len - seen_at, text, len);

		if (at) {
			seen_at = (size_t)(at - seen) + len;
			return;
		}
		if (now_ms() > end)
			give_up(step, "it did not come in time");
		if (!take(100))
			give_up(step, "the program ended before it");
	}
}

static void send_text(const char *step, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(terminal, text, len);

		if (n < 0 && errno != EINTR)
			give_up(step, strerror(errno));
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
}

/* The program may be about to change it: waits until it is so. */
static void check_mode(const char *step, tcflag_t flag, int want)
{
	long end = now_ms() + PATIENCE_MS;
	struct termios t;

	for (;;) {
		if (tcgetattr(terminal, &t) == 0 && !!(t.c_lflag & flag) == want)
			return;
		if (now_ms() > end)
			give_up(step, "the terminal is not in that mode");
		if (!take(20))
			poll(NULL, 0, 20);
	}
}

static void do_step(char *line)
{
	char *step = strdup(line), *text = strchr(line, ' ');
	struct winsize ws = { 0 };
	size_t len;

	line[strcspn(line, " ")] = '\0';
	text = text ? text + 1 : line + strlen(line);
	len = unescape(text);
	if (strcmp(line, "expect") == 0)
		expect(step, text, len);
	else if (strcmp(line, "send") == 0)
		send_text(step, text, len);
	else if (strcmp(line, "echo") == 0)
		check_mode(step, ECHO, strcmp(text, "on") == 0);
	else if (strcmp(line, "raw") == 0)
		check_mode(step, ICANON, strcmp(text, "on") != 0);
	else if (strcmp(line, "size") == 0 && sscanf(text, "%hu %hu", &ws.ws_col, &ws.ws_row) == 2)
		ioctl(terminal, TIOCSWINSZ, &ws);
	else
		give_up(step, "no such step");
	free(step);
}

int main(int argc, char **argv)
{
	struct winsize ws = { .ws_col = 80, .ws_row = 24 };
	char line[4096];
	long end;
	int status;
	FILE *script = argc > 2 ? fopen(argv[1], "re") : NULL;

	if (!script) {
		fprintf(stderr, "usage: pty SCRIPT COMMAND [ARGUMENT...]\n");
		return 99;
	}
	/* A pipe's first step may come after something that the program shows. */
	if (fseek(script, 0, SEEK_SET) == 0 && fgets(line, sizeof line, script)) {
		sscanf(line, "size %hu %hu", &ws.ws_col, &ws.ws_row);
		rewind(script);
	}
	child = forkpty(&terminal, NULL, NULL, &ws);
	if (child < 0)
		return 99;
	if (child == 0) {
		signal(SIGINT, SIG_DFL); /* a shell ignores it for what it puts into the background */
		signal(SIGQUIT, SIG_DFL);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	while (fgets(line, sizeof line, script)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line && *line != '#')
			do_step(line);
	}
	for (end = now_ms() + PATIENCE_MS; take(100);)
		if (now_ms() > end)
			give_up("end", "the program does not end");
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
