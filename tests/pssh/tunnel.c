/* SPDX-License-Identifier: Apache-2.0 */
/* Tunnels through a real sshd. The clients are child processes, which may block. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "drive.h"

enum { VISITORS = 40, AMOUNT = 300000 };

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

/* Asks a SOCKS proxy for a way to a port of its host. */
static int visit_socks(unsigned port, int version, unsigned to)
{
	const char high = (char)(to >> 8), low = (char)to;
	const char five[] = { 5, 1, 0, 3, 9, 'l', 'o', 'c', 'a', 'l', 'h', 'o', 's', 't', high, low };
	const char four[] = { 4, 1, high, low, 0, 0, 0, 7, 'm', 'e', 0, 'l', 'o', 'c', 'a', 'l', 'h', 'o', 's', 't',
		0 };
	char answer[10];
	int fd = visit_fd(NULL, port);

	if (fd < 0)
		return -1;
	if (version == 5 &&
		(write(fd, "\5\2\2\0", 4) != 4 || read(fd, answer, 2) != 2 || memcmp(answer, "\5\0", 2) != 0))
		return -1;
	if (version == 5)
		return write(fd, five, sizeof five) == sizeof five && read(fd, answer, 10) == 10 && answer[1] == 0 ? fd
														   : -1;
	return write(fd, four, sizeof four) == sizeof four && read(fd, answer, 8) == 8 && answer[1] == 90 ? fd : -1;
}

/* Sends AMOUNT bytes from one process and reads the answer in another. Exits with 0 if all was right. */
static int visit(int fd, unsigned seed)
{
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
		_exit(visit(visit_fd(path, port), seed));
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
	ok(drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS), "it listens");
	return t;
}

/* So many at once; socks: they ask for the port `to` by SOCKS 5 and 4a in turn. */
static void check_visitors(unsigned port, unsigned to, bool socks, const char *what)
{
	pid_t pids[VISITORS];

	for (unsigned i = 0; i < VISITORS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(visit(socks ? visit_socks(port, i % 2 ? 4 : 5, to) : visit_fd(NULL, port), i));
	}
	is_int(content(pids, VISITORS, DRIVE_PATIENCE_MS), VISITORS, "%s: %d visitors at once, to the end of each way",
		what, VISITORS);
}

static struct seen *begin(struct pssh_task *t, struct pssh_host *h)
{
	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	drive_begun(&d, drive_seen(&d, t, h));
	return drive_seen(&d, t, h);
}

static void check_socks(struct pssh_host *h, unsigned to)
{
	struct pssh_task *t = NULL;
	pid_t pid;
	char c;

	is_int(pssh_tunnel_socks(d.p, "127.0.0.1:0", &t), 0, "a SOCKS proxy");
	is_int(begin(t, h)->started, 1, "listens");
	check_visitors(pssh_tunnel_port(t), to, true, "SOCKS");
	pid = fork();
	if (pid == 0) {
		int fd = visit_fd(NULL, pssh_tunnel_port(t));
		char answer[12];
		const char one[] = { 5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 1 };

		_exit(write(fd, one, sizeof one) == sizeof one && recv(fd, answer, 12, MSG_WAITALL) == 12 &&
					answer[3] == 5 && read(fd, &c, 1) == 0
				? 0
				: 1);
	}
	is_int(content(&pid, 1, DRIVE_PATIENCE_MS), 1, "a port where nobody listens: SOCKS says 'refused'");
	pid = fork();
	if (pid == 0) {
		int fd = visit_fd(NULL, pssh_tunnel_port(t));

		_exit(write(fd, "GET / HTTP/1.0\r\n\r\n", 18) == 18 && read(fd, &c, 1) <= 0 ? 0 : 1);
	}
	is_int(content(&pid, 1, DRIVE_PATIENCE_MS), 1, "what is no SOCKS is sent away");
	drive_free(&d, t);
}

/* How many ms of processor time it takes to be driven for half a second. */
static int busy_ms(void)
{
	clock_t from = clock();

	drive_for(&d, 500);
	return (int)((clock() - from) * 1000 / CLOCKS_PER_SEC);
}

/* All places of a tunnel are taken by those who say nothing. */
static void check_full(struct pssh_host *h, unsigned to)
{
	enum { PLACES = 256 };
	struct pssh_task *t = NULL;
	int fds[PLACES + 1], ms;
	pid_t pid;

	is_int(pssh_tunnel_socks(d.p, "127.0.0.1:0", &t), 0, "a tunnel");
	is_int(begin(t, h)->started, 1, "listens");
	for (int i = 0; i <= PLACES; i++) {
		fds[i] = visit_fd(NULL, pssh_tunnel_port(t));
		drive_for(&d, 1);
	}
	ms = busy_ms();
	ok(ms < 250, "one visitor too many waits, and costs nothing (%d ms)", ms);
	for (int i = 0; i <= PLACES; i++)
		close(fds[i]);
	pid = fork();
	if (pid == 0)
		_exit(visit(visit_socks(pssh_tunnel_port(t), 5, to), 1));
	is_int(content(&pid, 1, 60000), 1, "when they have left there is room again");
	drive_free(&d, t);
}

/* A target that neither accepts nor refuses: its queue is full. */
static void check_silent(struct pssh_host *h)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof in;
	struct pssh_task *t = NULL;
	int server = socket(AF_INET, SOCK_STREAM, 0), fill[4], fd, ms;
	char five[] = { 5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 0 };

	if (bind(server, (struct sockaddr *)&in, sizeof in) != 0 || listen(server, 0) != 0 ||
		getsockname(server, (struct sockaddr *)&in, &len) != 0)
		exit(99);
	for (int i = 0; i < 4; i++) {
		fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(fill[i], (struct sockaddr *)&in, sizeof in);
	}
	memcpy(five + 11, &in.sin_port, 2);
	is_int(pssh_tunnel_socks(d.p, "127.0.0.1:0", &t), 0, "a tunnel");
	is_int(begin(t, h)->started, 1, "listens");
	fd = visit_fd(NULL, pssh_tunnel_port(t));
	is_int(write(fd, five, sizeof five), sizeof five, "a visitor asks for a target that is silent");
	drive_for(&d, 200);
	close(fd);
	ms = busy_ms();
	ok(ms < 250, "and leaves, which costs nothing (%d ms)", ms);
	for (int i = 0; i < 4; i++)
		close(fill[i]);
	close(server);
	drive_free(&d, t);
	pssh_host_close(h);
}

static void check_back(struct pssh_host *h, unsigned to)
{
	struct pssh_task *t = NULL, *second = NULL;
	struct seen *s;
	char where[64], target[64], proxy[2000];
	unsigned port;

	snprintf(target, sizeof target, "localhost:%u", to);
	is_int(pssh_tunnel_back(d.p, "localhost:0", target, &t), 0, "a tunnel back");
	is_int(begin(t, h)->started, 1, "the host listens");
	port = pssh_tunnel_port(t);
	ok(port > 0, "its port is known");
	check_visitors(port, to, false, "back");
	snprintf(where, sizeof where, "localhost:%u", port);
	if (pssh_tunnel_back(d.p, where, target, &second) != 0)
		exit(99);
	s = begin(second, h);
	ends(s, "PSSH_EREFUSED", "a port that is taken there");
	has_str(s->text, "the port is taken there", "is told");
	drive_free(&d, second);
	drive_free(&d, t);
	ends(once(&d, h, "true"), "exit 0", "a command after it");
	is_int(visit_fd(NULL, port), -1, "then the host listens no more");

	h = host(&d, "n2");
	snprintf(proxy, sizeof proxy, "%.900s -o AllowTcpForwarding=no", env("SSHD_PROXY"));
	pssh_host_set_proxy(h, proxy);
	pssh_add_known_hosts(d.p, "more_hosts");
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	if (pssh_tunnel_back(d.p, "localhost:0", target, &t) != 0)
		exit(99);
	s = begin(t, h);
	ends(s, "PSSH_EREFUSED", "a host that permits none");
	has_str(s->text, "AllowTcpForwarding, PermitListen or GatewayPorts in its sshd_config",
		"names what forbids it");
	drive_free(&d, t);
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
	is_int(content(&pid, 1, DRIVE_PATIENCE_MS), 1, "where nobody listens behind it the visitor is sent away");
	is_int(drive_seen(&d, t, h)->ends, 0, "the tunnel stays");
	pssh_task_stop(t);
	drive_until(&d, &d.done, d.done + 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, h), "PSSH_ECANCEL", "until it is stopped");
}

/* Writes to each connection for ever. */
static pid_t flood_server(unsigned *port)
{
	static const char block[65536];
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

			if (c >= 0 && fork() == 0) {
				while (write(c, block, sizeof block) > 0)
					;
				_exit(0);
			}
			close(c);
		}
	}
	close(fd);
	return pid;
}

static long memory_mib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all = 0, here = 0;

	if (!f || fscanf(f, "%ld %ld", &all, &here) != 2)
		exit(99);
	fclose(f);
	return here * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

/* What nobody reads waits here, for each visitor as much as the server may send ahead. */
static void check_unread(struct pssh_host *h)
{
	enum { READERS = 64, MOST_MIB = 90, STILL = 25 };
	struct pssh_task *t = NULL;
	int fds[READERS], still = 0;
	long from = memory_mib(), now = from, was;
	char target[64];
	unsigned to;
	pid_t server = flood_server(&to);

	snprintf(target, sizeof target, "127.0.0.1:%u", to);
	is_int(pssh_tunnel(d.p, "./flood", target, &t), 0, "a tunnel");
	is_int(begin(t, h)->started, 1, "listens");
	for (int i = 0; i < READERS; i++) {
		fds[i] = visit_fd("flood", 0);
		drive_for(&d, 1);
	}
	while (still < STILL && now - from < MOST_MIB) {
		drive_for(&d, 40);
		was = now;
		now = memory_mib();
		still = now == was ? still + 1 : 0;
	}
	ok(now - from < MOST_MIB, "%d visitors who read nothing cost %ld MiB", READERS, now - from);
	for (int i = 0; i < READERS; i++)
		close(fds[i]);
	drive_free(&d, t);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
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
	is_int(content(pids, 1, DRIVE_PATIENCE_MS), 1, "a visitor is served both ways, to the end of each");
	for (unsigned i = 0; i < VISITORS; i++)
		pids[i] = send_visitor(NULL, port, i);
	is_int(content(pids, VISITORS, DRIVE_PATIENCE_MS), VISITORS, "so are %d at once", VISITORS);
	ends(once(&d, h, "echo beside"), "exit 0", "a command runs beside it");
	is_int(d.up, 1, "all over one connection");
	pssh_task_cancel(t, "TERM", 100);
	drive_until(&d, &d.done, d.done + 1, DRIVE_PATIENCE_MS);
	is_int(drive_seen(&d, t, h)->ends, 1, "it ends when it is cancelled");
	is_int(visit_fd(NULL, port), -1, "then nobody listens");

	t = open_tunnel(h, "./door", to);
	ok(stat("door", &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 077) == 0, "its socket is for nobody else");
	pids[0] = send_visitor("door", 0, 5);
	is_int(content(pids, 1, DRIVE_PATIENCE_MS), 1, "a visitor of a unix socket");
	drive_free(&d, t);
	ok(access("door", F_OK) != 0, "the socket goes with the task");
	check_refused(h);
	check_socks(h, to);
	check_back(h, to);
	check_full(h, to);
	check_silent(h);
	check_unread(h);
	is_int(pssh_tunnel(d.p, "127.0.0.1:0", "nonsense", &bad) == 0
			? (pssh_task_add(bad, h), pssh_task_start(bad), drive_done(&d, 1),
				  drive_seen(&d, bad, h)->status)
			: PSSH_ESYNTAX,
		PSSH_ESYNTAX, "a target that is none");
	drive_end(&d, "tunnel");
	is_int(count_fds_again(fds), fds, "no descriptor is left");
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return done();
}
