/* SPDX-License-Identifier: Apache-2.0 */
/* Copies over several connections, as a program sees them: one host, its events, and its end in every way. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "drive.h"

enum { STREAMS = 4 };

static struct drive d;
static unsigned verified; /* connections whose host key was checked */

/* A path for the host, whose home is elsewhere. */
static const char *full(const char *name)
{
	static char room[4096];

	snprintf(room, sizeof room, "%s/%s", env("TMP"), name);
	return room;
}

static void hear(void *arg, enum pssh_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	verified += strstr(text, "key exchange") != NULL;
}

/* A copy in its middle, over all its connections. */
static struct pssh_task *in_the_middle(struct pssh_host *h)
{
	struct pssh_task *t;

	verified = 0;
	if (pssh_get(d.p, full("zeros"), "to/zeros", PSSH_COPY_SPARSE, &t) != 0 ||
		pssh_task_set_streams(t, STREAMS) != 0 || pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	ok(drive_until(&d, &verified, STREAMS, 120000), "a copy opens %d connections", STREAMS);
	drive_for(&d, 200);
	is_int(drive_seen(&d, t, h)->ends, 0, "and goes on");
	return t;
}

static int child_frees(void)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		pssh_free(d.p);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int names_in(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	for (struct dirent *de; dir && (de = readdir(dir));)
		n += de->d_name[0] != '.' || de->d_name[1] == '.' || strlen(de->d_name) > 2;
	if (dir)
		closedir(dir);
	return n - 1; /* ".." */
}

static void check_ends(void)
{
	int fds = count_fds();
	struct pssh_host *h = host(&d, "n1");
	struct pssh_task *t = in_the_middle(h);
	unsigned events;

	is_int(d.up, 1, "one host is up");
	is_int(d.count, 1, "events are about that host alone");
	is_int(pssh_host_free(h), PSSH_EINVAL, "it is not freed while it copies");
	is_int(child_frees(), 0, "a forked child frees its copy of the fleet");
	events = d.events;
	ok(drive_until(&d, &d.events, events + 3, 60000), "the copy does not notice");
	is_int(names_in("to"), 1, "what it has so far has a temporary name");
	pssh_task_cancel(t, "TERM", 1000);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "PSSH_ECANCEL", "it is cancelled");
	is_int(names_in("to"), 0, "nothing is left");
	is_int(d.down, 0, "no connection's end was told");
	drive_free(&d, t);
	is_int(pssh_host_free(h), 0, "the host is freed");
	is_int(count_fds_again(fds), fds, "with all its connections");

	h = host(&d, "n1");
	t = in_the_middle(h);
	pssh_task_stop(t);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "PSSH_ECANCEL", "another is stopped");
	drive_free(&d, t);
	is_int(pssh_host_free(h), 0, "the host is freed");
	h = host(&d, "n1");
	t = in_the_middle(h);
	pssh_host_close(h);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "PSSH_ECLOSED", "a third loses its host");
	is_int(d.down, 1, "one connection's end was told");
	is_int(count_fds_again(fds), fds, "all are closed");
	drive_free(&d, t);
	is_int(names_in("to"), 0, "nothing is left");
	in_the_middle(h); /* and the fleet is freed */
}

/* Nothing says how to reach the host of a given socket again. */
static void check_socket(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(env("SSHD_PORT"), NULL, 10)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pssh_host *h = host(&d, "n2");
	struct pssh_task *t;
	char name[64];

	snprintf(name, sizeof name, "%s.2", env("SSHD_NET"));
	inet_pton(AF_INET, name, &at.sin_addr);
	if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0 || pssh_host_set_fd(h, fd) != 0 ||
		pssh_put(d.p, "large", full("to/large"), 0, &t) != 0)
		exit(99);
	verified = 0;
	pssh_task_set_streams(t, STREAMS);
	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "exit 0", "a copy over a socket of the program");
	is_int(verified, 1, "uses that alone");
	unlink("to/large");
}

static void check_arguments(void)
{
	struct pssh_task *t = command(&d, "true"), *copy;

	is_int(pssh_task_set_streams(t, 2), PSSH_EINVAL, "a command has no streams");
	if (pssh_put(d.p, "large", "to/", 0, &copy) != 0)
		exit(99);
	is_int(pssh_task_set_streams(copy, 0), PSSH_EINVAL, "no stream is too few");
	is_int(pssh_task_set_streams(copy, PSSH_STREAMS + 1), PSSH_EINVAL, "and there is a most");
	is_int(pssh_task_set_streams(copy, PSSH_STREAMS), 0, "which is fine");
}

int main(void)
{
	if (!drive_start(&d))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	pssh_set_log(d.p, PSSH_LOG_INFO, hear, NULL);
	check_arguments();
	check_socket();
	drive_end(&d, "a socket");
	if (!drive_start(&d))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	pssh_set_log(d.p, PSSH_LOG_INFO, hear, NULL);
	check_ends();
	drive_end(&d, "ends");
	return done();
}
