/* SPDX-License-Identifier: Apache-2.0 */
/* Channels as descriptors: to addresses, sockets, commands and subsystems of a real sshd's host. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "drive.h"

enum { PARTS = 40, AMOUNT = 300000 };

static struct drive d;
static char tcp[64];

/* Answers one client with its bytes, and a last word after its end of file. */
static void echo_one(int fd)
{
	char block[8192];
	ssize_t n;

	while ((n = read(fd, block, sizeof block)) > 0)
		for (ssize_t at = 0, w; at < n; at += w)
			if ((w = write(fd, block + at, (size_t)(n - at))) <= 0)
				_exit(1);
	_exit(write(fd, "end", 3) == 3 ? 0 : 1);
}

static pid_t echo_server(int family, struct sockaddr *sa, socklen_t len)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, sa, len) != 0 || listen(fd, 64) != 0 || getsockname(fd, sa, &len) != 0)
		exit(99);
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

static struct pssh_task *channel(enum pssh_channel_kind kind, const char *target, const char *name, int *fd)
{
	struct pssh_task *t;

	if (pssh_channel(d.p, kind, target, fd, &t) != 0 || pssh_task_add(t, host(&d, name)) != 0 ||
		pssh_task_start(t) != 0) {
		printf("Bail out! %s\n", pssh_error(d.p));
		exit(99);
	}
	return t;
}

/* Writes what the channel takes now. */
static size_t put(int fd, const char *data, size_t len)
{
	ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

	return n > 0 ? (size_t)n : 0;
}

/* Drives the fleet until fd has an end of file; keeps the text. */
static size_t take_all(int fd, char *out, size_t size)
{
	int64_t end = now_ms() + 60000;
	size_t got = 0;

	while (now_ms() < end) {
		ssize_t n = read(fd, out + got, size - 1 - got);

		if (n == 0)
			break;
		if (n > 0)
			got += (size_t)n;
		else
			drive_for(&d, 5);
	}
	out[got] = '\0';
	return got;
}

static void check_talk(enum pssh_channel_kind kind, const char *target, const char *what)
{
	char text[256];
	int fd, fds = count_fds();
	struct pssh_task *t = channel(kind, target, "n1", &fd);

	is_int((long long)put(fd, "hello ", 6), 6, "%s: it can be written to before it is open", what);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->started, 1, DRIVE_PATIENCE_MS);
	put(fd, "there ", 6);
	shutdown(fd, SHUT_WR);
	take_all(fd, text, sizeof text);
	is_str(text, "hello there end", "%s: the answer comes after our end of file", what);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, host(&d, "n1")), "exit 0", "%s: both ends are its end", what);
	close(fd);
	drive_free(&d, t);
	ok(count_fds() <= fds + 1, "%s: no descriptor is left but the connection's", what);
}

/* Many at once, each with more than any buffer holds. */
static void check_many(void)
{
	static char block[AMOUNT];
	int fd[PARTS];
	size_t out[PARTS] = { 0 }, in[PARTS] = { 0 }, good = 0, open = PARTS;
	int64_t end = now_ms() + 60000;
	struct pssh_task *t[PARTS];
	int ended = 0;

	memset(block, 'x', sizeof block);
	for (int i = 0; i < PARTS; i++)
		t[i] = channel(PSSH_CHANNEL_TCP, tcp, i % 2 ? "n1" : "n2", &fd[i]);
	while (open && now_ms() < end) {
		for (int i = 0; i < PARTS; i++) {
			char room[65536];
			ssize_t n = fd[i] < 0 ? -1 : read(fd[i], room, sizeof room);

			if (n > 0)
				in[i] += (size_t)n;
			if (fd[i] >= 0 && out[i] < AMOUNT && (out[i] += put(fd[i], block, AMOUNT - out[i])) == AMOUNT)
				shutdown(fd[i], SHUT_WR);
			if (n == 0) {
				close(fd[i]);
				fd[i] = -1;
				open--;
				good += in[i] == AMOUNT + 3;
			}
		}
		drive_for(&d, 1);
	}
	is_int((long long)good, PARTS, "%d channels at once carry %d bytes each way", PARTS, AMOUNT);
	for (int i = 0; i < PARTS; i++) {
		struct seen *s = drive_seen(&d, t[i], host(&d, i % 2 ? "n1" : "n2"));

		drive_until(&d, &s->ends, 1, DRIVE_PATIENCE_MS);
		ended += strcmp(end_of(s), "exit 0") == 0;
	}
	is_int(ended, PARTS, "and all end");
}

static void check_command(void)
{
	char text[256];
	int fd;
	struct pssh_task *t = channel(PSSH_CHANNEL_COMMAND, "tr a-z A-Z; echo aside >&2; exit 3", "n1", &fd);
	struct seen *s;

	put(fd, "quiet", 5);
	shutdown(fd, SHUT_WR);
	take_all(fd, text, sizeof text);
	is_str(text, "QUIET", "a command's output");
	s = drive_seen(&d, t, host(&d, "n1"));
	drive_until(&d, &s->ends, 1, DRIVE_PATIENCE_MS);
	ends(s, "exit 3", "its exit status");
	is_str(s->err, "aside\n", "its standard error as events");
	close(fd);
	t = channel(PSSH_CHANNEL_COMMAND, "kill -TERM $$", "n1", &fd);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, host(&d, "n1")), "signal TERM", "a signal");
	close(fd);
}

static void check_subsystem(void)
{
	static const char init[] = { 0, 0, 0, 5, 1, 0, 0, 0, 3 };
	unsigned char answer[4096];
	int fd;
	struct pssh_task *t = channel(PSSH_CHANNEL_SUBSYSTEM, "sftp", "n1", &fd);
	int64_t end = now_ms() + 20000;
	ssize_t n = -1;

	put(fd, init, sizeof init);
	while (n < 9 && now_ms() < end) {
		n = recv(fd, answer, sizeof answer, MSG_PEEK);
		drive_for(&d, 5);
	}
	ok(n >= 9 && answer[4] == 2 && answer[8] == 3, "the sftp subsystem answers version 3");
	shutdown(fd, SHUT_WR);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, host(&d, "n1")), "exit 0", "and ends with our end of file");
	close(fd);
	t = channel(PSSH_CHANNEL_SUBSYSTEM, "no-such-thing", "n1", &fd);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, host(&d, "n1")), "PSSH_EREFUSED", "one that the server lacks is refused");
	is_int(read(fd, answer, 1), 0, "and the descriptor ends");
	close(fd);
}

/* The other side reads nothing: what we can write ends soon. It writes without end: so does what it can. */
static void check_pressure(void)
{
	static char block[65536];
	int fd, full = 0;
	size_t took = 0, more;
	long before;
	struct pssh_task *t = channel(PSSH_CHANNEL_COMMAND, "exec sleep 1000", "n1", &fd);

	while (full < 20 && took < 64 << 20) {
		more = put(fd, block, sizeof block);
		took += more;
		full = more ? 0 : full + 1;
		drive_for(&d, 5);
	}
	ok(took < 16 << 20, "a channel that nobody reads takes %d KiB", (int)(took >> 10));
	close(fd);
	drive_free(&d, t);

	before = peak_kib();
	t = channel(PSSH_CHANNEL_COMMAND, "exec yes", "n1", &fd);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->started, 1, DRIVE_PATIENCE_MS);
	for (int i = 0; i < 5; i++)
		ends(once(&d, host(&d, "n1"), "true"), "exit 0", "beside one that we do not read, a command runs");
	ok(peak_kib() - before < 32 * 1024, "and memory stays bounded (%ld KiB more)", peak_kib() - before);
	close(fd);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, host(&d, "n1")), "PSSH_ECANCEL", "closing the descriptor ends it");
}

static void check_close(void)
{
	int fd;
	struct pssh_task *t = channel(PSSH_CHANNEL_TCP, tcp, "n1", &fd);
	char byte;

	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->started, 1, DRIVE_PATIENCE_MS);
	drive_free(&d, t);
	is_int(read(fd, &byte, 1), 0, "freeing the task ends the descriptor");
	close(fd);

	t = channel(PSSH_CHANNEL_COMMAND, "cat >/dev/null; exec sleep 1000", "n2", &fd);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n2"))->started, 1, DRIVE_PATIENCE_MS);
	close(fd);
	drive_until(&d, &drive_seen(&d, t, host(&d, "n2"))->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, host(&d, "n2")), "PSSH_ECANCEL", "a closed descriptor ends a channel that is quiet");
}

static void check_errors(void)
{
	struct pssh_task *t = NULL;
	int fd = -7;

	is_int(pssh_channel(d.p, PSSH_CHANNEL_TCP, "nonsense", &fd, &t), PSSH_ESYNTAX, "no address");
	is_int(pssh_channel(d.p, PSSH_CHANNEL_UNIX, "relative", &fd, &t), PSSH_ESYNTAX, "no absolute path");
	is_int(pssh_channel(d.p, (enum pssh_channel_kind)9, "x", &fd, &t), PSSH_EINVAL, "no kind");
	is_int(pssh_channel(d.p, PSSH_CHANNEL_COMMAND, "", &fd, &t), PSSH_EINVAL, "no command");
	ok(fd == -7 && !t, "leave the results alone");
	t = channel(PSSH_CHANNEL_TCP, "127.0.0.1:1", "n1", &fd);
	is_int(pssh_task_add(t, host(&d, "n2")), PSSH_EINVAL, "one host only");
	drive_until(&d, &drive_seen(&d, t, host(&d, "n1"))->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, host(&d, "n1")), "PSSH_ECONNECT", "an address where nobody listens");
	has_str(drive_seen(&d, t, host(&d, "n1"))->text, "127.0.0.1:1", "which the sentence names");
	close(fd);
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	pid_t servers[2];
	char here[80];

	if (!getcwd(here, sizeof here))
		return 99;
	snprintf(un.sun_path, sizeof un.sun_path, "%s/echo", here);
	servers[0] = echo_server(AF_INET, (struct sockaddr *)&in, sizeof in);
	servers[1] = echo_server(AF_UNIX, (struct sockaddr *)&un, sizeof un);
	snprintf(tcp, sizeof tcp, "127.0.0.1:%u", ntohs(in.sin_port));
	if (!drive_start(&d))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	check_talk(PSSH_CHANNEL_TCP, tcp, "an address");
	check_talk(PSSH_CHANNEL_UNIX, un.sun_path, "a unix socket");
	check_command();
	check_subsystem();
	check_many();
	check_pressure();
	check_close();
	check_errors();
	drive_end(&d, "channels");
	kill(servers[0], SIGTERM);
	kill(servers[1], SIGTERM);
	return done();
}
