/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/rollout/sudoask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/command.h"
#include "cli/frame/signals.h"
#include "cli/frame/terminal.h"

enum { PASSWORD = 1024 };

/* One line of the terminal; 0 where a signal came first. */
static ssize_t sudoask_read_line(int tty, char *text)
{
	struct pollfd fds[2] = { { .fd = tty, .events = POLLIN }, { .fd = signals_fd(), .events = POLLIN } };

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno == EINTR)
			continue;
		if (fds[1].revents && signals_next() != SIGWINCH)
			return 0;
		if (fds[0].revents)
			return read(tty, text, PASSWORD);
	}
}

int sudoask(const char *node, char **out)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	char *text, *end;
	ssize_t n;

	*out = NULL;
	if (tty < 0)
		return STATUS_OK;
	text = calloc(1, PASSWORD + 1);
	if (!text)
		command_nomem();
	if (node)
		dprintf(tty, "Password of sudo on '%s' and the others (not shown): ", node);
	else
		dprintf(tty, "Password of sudo on the nodes (not shown): ");
	terminal_no_echo(tty);
	n = sudoask_read_line(tty, text);
	terminal_restore();
	dprintf(tty, "\n");
	close(tty);
	end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	if (!end) {
		explicit_bzero(text, PASSWORD);
		free(text);
		return STATUS_INT;
	}
	*end = '\0';
	*out = text;
	return STATUS_OK;
}

void sudoask_free(char *password)
{
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
}
