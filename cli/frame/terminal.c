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

/* The second screen: where it is, and where keys come from. */
static volatile sig_atomic_t screen_out = -1, screen_in = -1;
static struct sigaction screen_before[2]; /* of TSTP and CONT */
#define SCREEN_ENTER "\033[?1049h\033[?25l"
#define SCREEN_LEAVE "\033[?25h\033[?1049l"

static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT, SIGSYS,
	SIGXCPU };

/* Nothing can be done about a terminal that takes no more. */
static void terminal_write(const char *text, size_t len)
{
	if (write(screen_out, text, len) < 0)
		errno = 0;
}

void terminal_restore(void)
{
	int kept = errno;

	if (screen_out >= 0) {
		terminal_write(SCREEN_LEAVE, sizeof SCREEN_LEAVE - 1);
		screen_out = -1;
		sigaction(SIGTSTP, &screen_before[0], NULL);
		sigaction(SIGCONT, &screen_before[1], NULL);
	}
	if (saved_fd >= 0)
		tcsetattr(saved_fd, TCSADRAIN, &saved);
	saved_fd = -1;
	errno = kept;
}

void terminal_forget(void)
{
	if (screen_out >= 0) {
		sigaction(SIGTSTP, &screen_before[0], NULL);
		sigaction(SIGCONT, &screen_before[1], NULL);
	}
	screen_out = saved_fd = -1;
}

static void terminal_crash(int number)
{
	signal(SIGTTOU, SIG_IGN); /* in the background the terminal would stop the process instead of ending it */
	if (screen_out >= 0)
		terminal_write(SCREEN_LEAVE, sizeof SCREEN_LEAVE - 1);
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

static void terminal_enter(void)
{
	if (screen_in >= 0)
		terminal_keys(screen_in);
	terminal_write(SCREEN_ENTER, sizeof SCREEN_ENTER - 1);
}

static void terminal_continued(int number)
{
	int kept = errno;

	(void)number;
	terminal_enter();
	raise(SIGWINCH);
	errno = kept;
}

/* Stops as the default action does, which the kernel leaves out where nobody could continue the program. */
static void terminal_stopped(int number)
{
	struct sigaction ours, usual = { .sa_handler = SIG_DFL };
	int kept = errno, out = screen_out;
	sigset_t stop, before;

	terminal_write(SCREEN_LEAVE, sizeof SCREEN_LEAVE - 1);
	screen_out = -1; /* the screen stays ours: only the modes are restored */
	terminal_restore();
	screen_out = out;
	sigaction(number, &usual, &ours);
	sigemptyset(&stop);
	sigaddset(&stop, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &stop, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigaction(number, &ours, NULL);
	errno = kept;
	terminal_continued(SIGCONT);
}

bool terminal_on_screen(void)
{
	return screen_out >= 0;
}

void terminal_screen(int in, int out)
{
	struct sigaction stop = { .sa_handler = terminal_stopped, .sa_flags = SA_RESTART };
	struct sigaction cont = { .sa_handler = terminal_continued, .sa_flags = SA_RESTART };

	screen_in = in;
	screen_out = out;
	terminal_guard();
	terminal_enter();
	sigaction(SIGTSTP, NULL, &screen_before[0]);
	sigaction(SIGCONT, NULL, &screen_before[1]);
	if (screen_before[0].sa_handler == SIG_IGN)
		return;
	sigaction(SIGTSTP, &stop, NULL);
	sigaction(SIGCONT, &cont, NULL);
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
