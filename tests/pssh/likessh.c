/* SPDX-License-Identifier: Apache-2.0 */
/* pssh_like_ssh(): a fleet that needs no other setting. The directories are made by likessh.t. */
#include <sys/socket.h>
#include <sys/un.h>

#include "drive.h"

static void check_directory(const char *directory, const char *what)
{
	struct drive d;

	if (!drive_start(&d))
		exit(99);
	is_int(pssh_like_ssh(d.p, directory), 0, "%s: it is read", what);
	ends(once(&d, host(&d, "n1"), "exit 5"), "exit 5", "%s: a command", what);
	drive_end(&d, what);
}

/* A socket that takes connections and says nothing. */
static int make_agent(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof sa) != 0 || listen(fd, 4) != 0)
		exit(99);
	return fd;
}

static void check_agent(void)
{
	struct drive d;
	const struct pssh_event *ev;
	int fd = make_agent("agent");
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (!drive_start(&d))
		exit(99);
	setenv("SSH_AUTH_SOCK", "agent", 1);
	is_int(pssh_like_ssh(d.p, "nothing-here"), 0, "a directory that does not exist counts as empty");
	pssh_wait(d.p, &ev, 0);
	is_int(poll(&pfd, 1, 20000), 1, "the agent of SSH_AUTH_SOCK is asked");
	drive_end(&d, "the agent");
	close(fd);
}

static void check_empty(void)
{
	struct drive d;

	if (!drive_start(&d))
		exit(99);
	is_int(pssh_like_ssh(d.p, "empty"), 0, "a directory without anything");
	is_int(pssh_host_port(host(&d, "n1")), 22, "nothing is known of the host, not from the home directory either");
	drive_end(&d, "an empty directory");
}

static void check_broken(void)
{
	struct drive d;
	char path[5000];

	if (!drive_start(&d))
		exit(99);
	ok(pssh_like_ssh(d.p, "broken") < 0, "a configuration that ssh would refuse");
	has_str(pssh_error(d.p), "NoSuchKeyword", "the sentence names the line");
	memset(path, 'x', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	is_int(pssh_like_ssh(d.p, path), PSSH_EINVAL, "a path without end");
	drive_end(&d, "broken");
}

int main(void)
{
	unsetenv("SSH_AUTH_SOCK");
	check_directory("dot", "a directory");
	check_directory(NULL, "the home directory");
	check_empty();
	check_broken();
	check_agent();
	return done();
}
