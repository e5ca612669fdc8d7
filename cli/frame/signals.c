/* SPDX-License-Identifier: Apache-2.0 */
/* A signal handler reaches only static data: this is the only file of the command line that has some. */
#include "cli/frame/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGPIPE };
/* After so many signals the default action ends a loop that hangs, e.g. in a write that nobody reads. */
enum { CAUGHT = sizeof caught / sizeof *caught, MOST_PATIENT = 3 };

static int ends[2] = { -1, -1 };
static int depth;
static volatile sig_atomic_t asked;
static struct sigaction before[CAUGHT];

static void signals_handle(int number)
{
	int kept = errno;
	unsigned char c = (unsigned char)number;

	if (number != SIGWINCH && ++asked >= MOST_PATIENT)
		signal(number, SIG_DFL);
	if (write(ends[1], &c, 1) < 0) {
		/* The pipe is full: enough signals wait already. */
	}
	errno = kept;
}

int signals_begin(void)
{
	struct sigaction sa = { .sa_handler = signals_handle, .sa_flags = SA_RESTART };

	if (depth++)
		return 0;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		depth--;
		return -errno;
	}
	asked = 0;
	for (int i = 0; i < CAUGHT; i++) {
		sigaction(caught[i], NULL, &before[i]);
		/* nohup stays in force. */
		if (caught[i] == SIGHUP && before[i].sa_handler == SIG_IGN)
			continue;
		sa.sa_handler = caught[i] == SIGPIPE ? SIG_IGN : signals_handle;
		sigaction(caught[i], &sa, NULL);
	}
	return 0;
}

void signals_end(void)
{
	if (--depth)
		return;
	for (int i = 0; i < CAUGHT; i++)
		sigaction(caught[i], &before[i], NULL);
	close(ends[0]);
	close(ends[1]);
	ends[0] = ends[1] = -1;
}

void signals_forget(void)
{
	if (depth) {
		depth = 1;
		signals_end();
	}
}

int signals_fd(void)
{
	return ends[0];
}

int signals_next(void)
{
	unsigned char c;

	return read(ends[0], &c, 1) == 1 ? c : 0;
}

bool signals_rest(int64_t ms, int *number)
{
	struct pollfd fd = { .fd = signals_fd(), .events = POLLIN };
	int n;

	if (poll(&fd, 1, (int)(ms > 0 ? ms : 0)) <= 0)
		return false;
	n = signals_next();
	if (n == 0 || n == SIGWINCH)
		return false;
	*number = n;
	return true;
}

int signals_asked(void)
{
	return asked;
}
