/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of several channels come over one socket. Here that socket is deaf for a few calls now and then, as if the
 * bytes came a moment later, so it is chance which part of the library reads them. Nobody's bytes may be forgotten.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "drive.h"

enum { VISITORS = 10, ROUNDS = 60, PATIENCE_S = 200 };

static struct drive d;
static bool deaf;
static unsigned chance = 7;

/* libpssh's recv(): whenever it has read all that there is, it hears nothing for a few calls. */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *data, size_t len, int flags)
{
	static unsigned silent;
	ssize_t n;

	if (deaf && silent) {
		silent--;
		errno = EAGAIN;
		return -1;
	}
	n = syscall(SYS_recvfrom, fd, data, len, flags, NULL, NULL);
	if (n < 0) {
		chance = chance * 1103515245u + 12345u;
		silent = (chance >> 16) % (2 * VISITORS);
	}
	return n;
}

static void echo_all(int listening)
{
	char byte;

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int c = accept(listening, NULL, NULL);

		if (c >= 0 && fork() == 0) {
			while (read(c, &byte, 1) == 1 && write(c, &byte, 1) == 1)
				;
			_exit(0);
		}
		close(c);
	}
}

static pid_t start_echo(unsigned *port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof sa;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof sa) != 0 || listen(fd, 64) != 0 ||
		getsockname(fd, (struct sockaddr *)&sa, &len) != 0)
		exit(99);
	*port = ntohs(sa.sin_port);
	pid = fork();
	if (pid == 0)
		echo_all(fd);
	close(fd);
	return pid;
}

/* Says one byte and waits until it comes back, again and again; exits with 0 if it always did. */
static pid_t send_visitor(unsigned port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port) };
	pid_t pid = fork();
	char said, heard;
	int fd;

	if (pid)
		return pid;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&in, sizeof in) != 0)
		_exit(1);
	alarm(PATIENCE_S);
	for (int i = 0; i < ROUNDS; i++) {
		said = (char)i;
		if (write(fd, &said, 1) != 1 || read(fd, &heard, 1) != 1 || heard != said)
			_exit(2);
	}
	_exit(0);
}

/* How many of them were served; a visitor whose bytes were forgotten ends by its alarm. */
static unsigned count_served(const pid_t *pids)
{
	unsigned served = 0;

	for (unsigned left = VISITORS; left; drive_for(&d, 10)) {
		int status;

		for (unsigned i = 0; i < VISITORS; i++) {
			if (waitpid(pids[i], &status, WNOHANG) == pids[i]) {
				served += status == 0;
				left--;
			}
		}
	}
	return served;
}

static void visitors(struct pssh_host *h, const char *what, struct pssh_task *beside)
{
	struct pssh_task *t = NULL;
	pid_t pids[VISITORS], server;
	char target[64];
	unsigned to;

	server = start_echo(&to);
	snprintf(target, sizeof target, "127.0.0.1:%u", to);
	if (pssh_tunnel(d.p, "127.0.0.1:0", target, &t) != 0 || pssh_task_add(t, h) != 0)
		exit(99);
	pssh_task_start(t);
	ok(drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS), "%s: it listens", what);
	for (unsigned i = 0; i < VISITORS; i++)
		pids[i] = send_visitor(pssh_tunnel_port(t));
	deaf = true;
	is_int(count_served(pids), VISITORS, "%s: %d visitors were served to the end", what, VISITORS);
	deaf = false;
	drive_free(&d, t);
	if (beside)
		drive_free(&d, beside);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

int main(void)
{
	struct pssh_task *t;
	struct pssh_host *h;

	plan_none;
	drive_start(&d);
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	h = host(&d, "n1");
	visitors(h, "a new connection", NULL);
	is_str(once(&d, h, "true")->text, "", "a command runs");
	visitors(h, "after a command", NULL); /* its closed channel is what the library then reads through */
	t = command(&d, "cat");
	pssh_task_open_input(t);
	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	visitors(h, "beside a silent command", t);
	drive_end(&d, "unheard");
	return done();
}
