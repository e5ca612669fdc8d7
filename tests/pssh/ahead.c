/* SPDX-License-Identifier: Apache-2.0 */
/* Connections before their first task: by pssh_host_connect(), and over a socket that the caller made. */
#include <sys/socket.h>
#include <sys/wait.h>

#include "drive.h"

static struct drive d;

static void check_connect(void)
{
	struct pssh_host *h = host(&d, "n1");
	struct pssh_task *t = command(&d, "exit 4");

	is_int(pssh_host_connect(h), 0, "a host is connected ahead");
	ok(drive_until(&d, &d.up, 1, 30000), "it tells when it is ready");
	is_int(pssh_host_connected(h), 1, "it is");
	is_int(pssh_host_connect(h), 0, "again is no work");
	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "exit 4", "a task runs on it");
	is_int(d.up, 1, "over that connection");
	pssh_host_close(h);
	drive_until(&d, &d.down, 1, 20000);
	is_int(d.down, 1, "closing it is told once");
}

/* Only the limit of open connections keeps it: a task elsewhere takes its place. */
static void check_window(void)
{
	struct pssh_host *h = host(&d, "n1");
	unsigned up = d.up, down = d.down;

	pssh_set_window(d.p, 128, 1);
	pssh_host_connect(h);
	drive_until(&d, &d.up, up + 1, 30000);
	ends(once(&d, host(&d, "n2"), "exit 6"), "exit 6", "at the limit, another host's task");
	is_int(d.down, down + 1, "takes the place of an idle one");
	is_int(pssh_host_connected(h), 0, "which was the one connected ahead");
	pssh_set_window(d.p, 128, 0);
}

static void check_failure(void)
{
	struct pssh_host *h = host(&d, "nowhere");
	unsigned down = d.down;

	pssh_host_set_proxy(h, "echo no way >&2; exit 7");
	pssh_host_connect(h);
	ok(drive_until(&d, &d.down, down + 1, 30000), "a failure is told as the end of a connection");
	has_str(d.down_text, "no way", "and why");
	ok(d.last_down == h, "of that host");
	drive_for(&d, 50);
	is_int(d.down, down + 1, "once");
	pssh_host_connect(h);
	pssh_host_close(h);
	drive_until(&d, &d.down, down + 2, 20000);
	has_str(d.down_text, "closed by the caller", "one that has not begun can be closed");
}

/* One end of a socket pair whose other end an sshd has. */
static int make_sshd(pid_t *pid)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		exit(99);
	*pid = fork();
	if (*pid == 0) {
		dup2(pair[1], 0);
		dup2(pair[1], 1);
		execl("/bin/sh", "sh", "-c", env("SSHD_PROXY"), (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	return pair[0];
}

static void check_fd(void)
{
	struct pssh_host *h = host(&d, "n3");
	int fds = count_fds(), spare[2], fd;
	pid_t pid;

	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	pssh_host_set_proxy(h, "exit 7");
	if (pipe2(spare, O_CLOEXEC) != 0)
		exit(99);
	is_int(pssh_host_set_fd(h, spare[0]), PSSH_EINVAL, "a pipe is refused");
	close(spare[0]);
	close(spare[1]);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	is_int(pssh_host_set_fd(h, fd), PSSH_EINVAL, "a socket without a peer is refused");
	close(fd);

	is_int(pssh_host_set_fd(h, make_sshd(&pid)), 0, "a socket is given");
	is_int(pssh_host_set_fd(h, -1), 0, "and taken back");
	is_int(count_fds(), fds, "which closes it");
	waitpid(pid, NULL, 0);
	is_int(pssh_host_set_fd(h, make_sshd(&pid)), 0, "another one");
	ends(once(&d, h, "exit 8"), "exit 8", "a command over it");
	ends(once(&d, h, "exit 9"), "exit 9", "and a second one");
	pssh_host_close(h);
	is_int(waitpid(pid, NULL, 0), pid, "closing the host ends the server");
	is_int(count_fds(), fds, "and leaves no descriptor");
	ends(once(&d, h, "true"), "PSSH_EPROXY", "the next connection is made as usual");
}

int main(void)
{
	if (!drive_start(&d))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	check_fd(); /* in a fleet without proxies that end, whose descriptors close later */
	drive_end(&d, "given");
	if (!drive_start(&d))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	check_connect();
	check_window();
	check_failure();
	drive_end(&d, "ahead");
	return done();
}
