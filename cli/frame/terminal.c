/* SPDX-License-Identifier: Apache-2.0 */
/* The saved modes are static, because handlers of fatal signals and atexit() must reach them. */
#include "cli/frame/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios saved;
static volatile sig_atomic_t saved_fd = -1;
static bool guarded;

static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT, SIGSYS,
	SIGXCPU };

void terminal_restore(void)
{
	int kept = errno;

	if (saved_fd >= 0)
		tcsetattr(saved_fd, TCSADRAIN, &saved);
	saved_fd = -1;
	errno = kept;
}

static void terminal_crash(int number)
{
	signal(SIGTTOU, SIG_IGN); /* in the background the terminal would stop the process instead of ending it */
	if (saved_fd >= 0)
		tcsetattr(saved_fd, TCSANOW, &saved);
	raise(number); /* SA_RESETHAND: now the default action ends the process */
}

static void terminal_guard(void)
{
	struct sigaction sa = { .sa_handler = terminal_crash, .sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	if (!guarded)
		atexit(terminal_restore);
	guarded = true;
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
		struct sigaction old;

		/* Keeps handlers of others: a sanitizer's says more than ours. */
		if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(fatal[i], &sa, NULL);
	}
}

/* In the background tcsetattr stops this process (TTOU) until it is in the foreground, as it should. */
static int terminal_change(int fd, void (*edit)(struct termios *))
{
	struct termios now;

	if (tcgetattr(fd, &now) < 0)
		return -errno;
	terminal_guard();
	if (saved_fd < 0) {
		saved = now;
		saved_fd = fd;
	}
	edit(&now);
	while (tcsetattr(fd, TCSADRAIN, &now) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static void edit_raw(struct termios *t)
{
	t->c_iflag |= IGNPAR;
	t->c_iflag &= ~(tcflag_t)(ISTRIP | INLCR | IGNCR | ICRNL | IXON | IXANY | IXOFF | IUCLC);
	t->c_lflag &= ~(tcflag_t)(ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHONL | IEXTEN);
	t->c_oflag &= ~(tcflag_t)OPOST;
	t->c_cc[VMIN] = 1;
	t->c_cc[VTIME] = 0;
}

static void edit_no_echo(struct termios *t)
{
	t->c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
}

static void edit_keys(struct termios *t)
{
	t->c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHOE | ECHOK | ECHONL);
	t->c_cc[VMIN] = 1;
	t->c_cc[VTIME] = 0;
}

int terminal_keys(int fd)
{
	return terminal_change(fd, edit_keys);
}

int terminal_raw(int fd)
{
	return terminal_change(fd, edit_raw);
}

int terminal_no_echo(int fd)
{
	return terminal_change(fd, edit_no_echo);
}

void terminal_suspend(void)
{
	terminal_restore();
	kill(0, SIGTSTP);
}

int terminal_size(int fd, unsigned *columns, unsigned *rows)
{
	struct winsize ws;

	if (ioctl(fd, TIOCGWINSZ, &ws) < 0)
		return -errno;
	if (!ws.ws_col || !ws.ws_row)
		return -ENOTTY;
	*columns = ws.ws_col;
	*rows = ws.ws_row;
	return 0;
}
