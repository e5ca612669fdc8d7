/* SPDX-License-Identifier: Apache-2.0 */
/* Tunnels through a real sshd. The clients are child processes, which may block. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "drive.h"

enum { VISITORS = 20, AMOUNT = 700000 };

static struct drive d;

/* Answers every client with its bytes inverted, and a last word after its end of file. */
static void echo_one(int fd)
{
	char block[8192];
	ssize_t n;

	while ((n = read(fd, block, sizeof block)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			block[i] = (char)~block[i];
		for (ssize_t at = 0, w; at < n; at += w)
			if ((w = write(fd, block + at, (size_t)(n - at))) <= 0)
				_exit(1);
	}
	if (write(fd, "end", 3) != 3)
		_exit(1);
	_exit(0);
}

static pid_t echo_server(unsigned *port)
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
	if (pid == 0) {
		signal(SIGCHLD, SIG_IGN);
		for (;;) {
			int c = accept(fd, NULL, NULL);

			if (c >= 0 && fork() == 0)
				echo_one(c);
			close(c);
		}
	}
	close(fd);
	return pid;
}

static int visit_fd(const char *path, unsigned port)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port) };
	int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM, 0), rc;

	if (path)
		snprintf(un.sun_path, sizeof un.sun_path, "%.100s", path);
	rc = path ? connect(fd, (struct sockaddr *)&un, sizeof un) : connect(fd, (struct sockaddr *)&in, sizeof in);
	if (rc == 0)
		return fd;
	close(fd);
	return -1;
}

/* Sends AMOUNT bytes from one process and reads the answer in another. Exits with 0 if all was right. */
static int visit(const char *path, unsigned port, unsigned seed)
{
	int fd = visit_fd(path, port);
	unsigned char block[4096];
	size_t heard = 0;
	ssize_t n;

	if (fd < 0)
		return 2;
	if (fork() == 0) {
		for (size_t at = 0; at < AMOUNT; at += (size_t)n) {
			size_t len = AMOUNT - at < sizeof block ? AMOUNT - at : sizeof block;

			for (size_t i = 0; i < len; i++)
				block[i] = (unsigned char)((at + i) * 31 + seed);
			n = write(fd, block, len);
			if (n <= 0)
				_exit(1);
		}
		shutdown(fd, SHUT_WR);
		_exit(0);
	}
	while ((n = read(fd, block, sizeof block)) > 0) {
		for (ssize_t i = 0; i < n; i++, heard++) {
			unsigned char want = heard < AMOUNT ? (unsigned char)~(heard * 31 + seed)
							    : (unsigned char)"end"[heard - AMOUNT];

			if (heard >= AMOUNT + 3 || block[i] != want)
				return 3;
		}
	}
	return heard == AMOUNT + 3 ? 0 : 4;
}

static pid_t send_visitor(const char *path, unsigned port, unsigned seed)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(visit(path, port, seed));
	return pid;
}

/* Drives the fleet until these processes have exited. Returns how many exited with 0. */
static unsigned content(pid_t *pids, unsigned count, int ms)
{
	int64_t end = now_ms() + ms;
	unsigned good = 0, left = count;

	while (left && now_ms() < end) {
		drive_for(&d, 10);
		for (unsigned i = 0; i < count; i++) {
			int status;

			if (pids[i] > 0 && waitpid(pids[i], &status, WNOHANG) == pids[i]) {
				pids[i] = 0;
				left--;
				good += status == 0;
				if (status)
					diag("a visitor leaves with %d", WEXITSTATUS(status));
			}
		}
	}
	for (unsigned i = 0; i < count; i++)
		if (pids[i] > 0 && kill(pids[i], SIGKILL) == 0)
			waitpid(pids[i], NULL, 0);
	return good;
}

static struct pssh_task *open_tunnel(struct pssh_host *h, const char *where, unsigned to)
{
	struct pssh_task *t = NULL;
	char target[64];

	snprintf(target, sizeof target, "127.0.0.1:%u", to);
	is_int(pssh_tunnel(d.p, where, target, &t), 0, "a tunnel at '%s'", where);
	is_int(pssh_task_add(t, h), 0, "through a host");
	is_int(pssh_task_add(t, host(&d, "n2")), PSSH_EINVAL, "and no other");
	pssh_task_start(t);
	ok(drive_until(&d, &drive_seen(&d, t, h)->started, 1, 10000), "it listens");
	return t;
}

static void check_refused(struct pssh_host *h)
{
	struct pssh_task *t = open_tunnel(h, "127.0.0.1:0", 1);
	pid_t pid = fork();
	char c;

	if (pid == 0) {
		int fd = visit_fd(NULL, pssh_tunnel_port(t));

		_exit(fd >= 0 && read(fd, &c, 1) <= 0 ? 0 : 1);
	}
	is_int(content(&pid, 1, 5000), 1, "where nobody listens behind it the visitor is sent away");
	is_int(drive_seen(&d, t, h)->ends, 0, "the tunnel stays");
	pssh_task_stop(t);
	drive_until(&d, &d.done, d.done + 1, 2000);
	ends(drive_seen(&d, t, h), "PSSH_ECANCEL", "until it is stopped");
}

int main(void)
{
	pid_t server, pids[VISITORS];
	struct pssh_task *t, *bad = NULL;
	struct pssh_host *h;
	unsigned to, port;
	struct stat st;
	int fds;

	plan_none;
	server = echo_server(&to);
	fds = count_fds();
	drive_start(&d);
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	h = host(&d, "n1");

	t = open_tunnel(h, "127.0.0.1:0", to);
	port = pssh_tunnel_port(t);
	ok(port > 0, "its port is known");
	pids[0] = send_visitor(NULL, port, 0);
	is_int(content(pids, 1, 20000), 1, "a visitor is served both ways, to the end of each");
	for (unsigned i = 0; i < VISITORS; i++)
		pids[i] = send_visitor(NULL, port, i);
	is_int(content(pids, VISITORS, 40000), VISITORS, "so are %d at once", VISITORS);
	ends(once(&d, h, "echo beside"), "exit 0", "a command runs beside it");
	is_int(d.up, 1, "all over one connection");
	pssh_task_cancel(t, "TERM", 100);
	drive_until(&d, &d.done, d.done + 1, 5000);
	is_int(drive_seen(&d, t, h)->ends, 1, "it ends when it is cancelled");
	is_int(visit_fd(NULL, port), -1, "then nobody listens");

	t = open_tunnel(h, "./door", to);
	ok(stat("door", &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 077) == 0, "its socket is for nobody else");
	pids[0] = send_visitor("door", 0, 5);
	is_int(content(pids, 1, 20000), 1, "a visitor of a unix socket");
	drive_free(&d, t);
	ok(access("door", F_OK) != 0, "the socket goes with the task");
	check_refused(h);
	is_int(pssh_tunnel(d.p, "127.0.0.1:0", "nonsense", &bad) == 0
			? (pssh_task_add(bad, h), pssh_task_start(bad), drive_done(&d, 1),
				  drive_seen(&d, bad, h)->status)
			: PSSH_ESYNTAX,
		PSSH_ESYNTAX, "a target that is none");
	drive_end(&d, "tunnel");
	is_int(count_fds(), fds, "no descriptor is left");
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return done();
}
