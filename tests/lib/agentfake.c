/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod-agentd with one more driver, 'fake', for tests that make and end nodes by the hundred: a node is a file in
 * DATA/fake and a process that holds a lock on it and greets on its port as an SSH server would. Another one,
 * 'fakegpu', is the same, and its hosts have GPUs of their own.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agentd/verbs/command_line.h"
#include "agentd/os/port.h"
#include "agentd/os/spawn.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

enum { ROOM = 1200, WAIT_MS = 5000 };

static const struct driver driver_fake;
static struct driver driver_fakegpu;

static const struct driver *const all[] = { &driver_fake, &driver_fakegpu, &driver_process, NULL };

/* ---- The node itself ------------------------------------------------------------------------ */

/* listener PORT FILE CONSOLE: runs until it is killed. */
static int be_node(char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(argv[3], O_RDWR | O_CLOEXEC), console, s, one = 1;
	long port;

	if (fd < 0 || fcntl(fd, F_SETLK, &l) != 0 || str_to_long(argv[2], 1, 65535, &port) != 0)
		return 1;
	at.sin_port = htons((uint16_t)port);
	s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&at, sizeof at) != 0 || listen(s, 16) != 0)
		return 1;
	console = open(argv[4], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	dprintf(console, "fake node boots as %ld\n", (long)getpid());
	for (;;) {
		int c = accept(s, NULL, NULL);

		if (c >= 0 && write(c, "SSH-2.0-fake\r\n", 14) > 0)
			shutdown(c, SHUT_WR);
		if (c >= 0)
			close(c);
	}
}

/* ---- The driver ----------------------------------------------------------------------------- */

static void nap(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static void path_of(char room[ROOM], const struct driver_setup *s, const char *id)
{
	snprintf(room, ROOM, "%s/fake/%s", s->data, id);
}

/* The process that holds the node's lock; 0: none. */
static pid_t holder(const char *path)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDWR | O_CLOEXEC);
	pid_t pid = fd >= 0 && fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK ? l.l_pid : 0;

	if (fd >= 0)
		close(fd);
	return pid;
}

static int put(const struct node_spec *n, const char *name, const char *text)
{
	char path[ROOM];

	snprintf(path, sizeof path, "%s/%s", n->dir, name);
	nap(1500);
	return file_replace(path, text, strlen(text), 0600);
}

static int probe(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	(void)s;
	(void)f;
	*holds = HOLDS_PROCESSES | HOLDS_FILES | HOLDS_NETWORK;
	return 0;
}

static int create(const struct node_spec *n, struct fail *f)
{
	char path[ROOM];
	int fd = -1, rc;

	snprintf(path, sizeof path, "%s/fake/%s", n->setup->data, n->id);
	rc = file_folders(path);
	if (access(path, F_OK) == 0)
		return 0;
	rc = rc ? rc
		: put(n, "hostkey.pub",
			  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICeK5j+bsZcJKEidkPE3MXR0iDWZ1le5SUT8TJz9fZzw fake\n");
	rc = rc ? rc : put(n, "user", "root\n");
	rc = rc ? rc : put(n, "keys", n->keys);
	nap(1500);
	/* Written in place: killed during a replacement, it would leave a temporary file that nobody looks for. */
	if (!rc && (fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc ? fail_errno(f, rc, -rc, "cannot make '%s'", n->id) : 0;
}

static int start(const struct node_spec *n, struct fail *f)
{
	char path[ROOM], console[ROOM], port[16];
	const char *const argv[] = { "/proc/self/exe", "listener", port, path, console, NULL };
	struct spawn s = { .argv = argv };
	int64_t until = clock_ms() + WAIT_MS;
	pid_t pid;
	int rc;

	path_of(path, n->setup, n->id);
	snprintf(console, sizeof console, "%s/console", n->dir);
	snprintf(port, sizeof port, "%u", n->port);
	if (holder(path))
		return 0;
	nap(1500);
	rc = port_free("127.0.0.1", n->port, f);
	rc = rc ? rc : spawn_leave(&s, console, -1, &pid, f);
	while (!rc && !holder(path)) {
		if (clock_ms() > until)
			return fail_set(f, -ETIMEDOUT, "'%s' does not start", n->id);
		nap(1000);
	}
	return rc;
}

static int rekey(const struct node_spec *n, struct fail *f)
{
	(void)f;
	return put(n, "keys", n->keys);
}

static int stop(const struct node_spec *n, int64_t grace_ms, struct fail *f)
{
	int64_t until = clock_ms() + WAIT_MS;
	char path[ROOM];
	pid_t pid;

	(void)grace_ms;
	path_of(path, n->setup, n->id);
	while ((pid = holder(path)) > 0) {
		kill(pid, SIGKILL);
		if (clock_ms() > until)
			return fail_set(f, -ETIMEDOUT, "'%s' does not stop", n->id);
		nap(1000);
	}
	return 0;
}

static int destroy(const struct node_spec *n, struct fail *f)
{
	static const char *const names[] = { "hostkey.pub", "user", "keys", "console" };
	char path[ROOM];
	int rc = stop(n, 0, f);

	for (size_t i = 0; !rc && i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", n->dir, names[i]);
		unlink(path);
		nap(1000);
	}
	/* A file whose writer was killed. */
	DIR *d = rc ? NULL : opendir(n->dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.' && !str_starts(e->d_name, "node.json") && strcmp(e->d_name, "lock") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	path_of(path, n->setup, n->id);
	if (!rc)
		unlink(path);
	return rc;
}

static int inspect(const struct node_spec *n, enum node_is *out, struct fail *f)
{
	char path[ROOM];

	(void)f;
	path_of(path, n->setup, n->id);
	*out = access(path, F_OK) != 0 ? NODE_ABSENT : holder(path) ? NODE_RUNNING : NODE_STOPPED;
	return 0;
}

static int list(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg, struct fail *f)
{
	char path[ROOM];
	struct dirent *e;
	DIR *d;

	(void)f;
	path_of(path, s, "");
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (str_starts(e->d_name, "inst_") && !strchr(e->d_name, '.'))
			found(arg, e->d_name);
	if (d)
		closedir(d);
	return 0;
}

static int tidy(const struct driver_setup *s, struct fail *f)
{
	(void)s;
	(void)f;
	return 0;
}

/* $FAKE_NODE_MEMORY, and no limits of the network where it is set: as a driver has them that runs its nodes in QEMU. */
static void fake_terms(const struct driver_setup *s, struct driver_terms *out)
{
	const char *memory = getenv("FAKE_NODE_MEMORY");

	(void)s;
	out->node_memory = memory ? strtoll(memory, NULL, 10) : 0;
	out->no_rate = memory != NULL;
}

static const struct driver driver_fake = {
	.name = "fake",
	.about = "nothing at all: for tests",
	.probe = probe,
	.terms = fake_terms,
	.create = create,
	.start = start,
	.rekey = rekey,
	.stop = stop,
	.destroy = destroy,
	.inspect = inspect,
	.list = list,
	.tidy = tidy,
};

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "listener") == 0)
		return be_node(argv);
	driver_fakegpu = driver_fake;
	driver_fakegpu.name = "fakegpu";
	driver_fakegpu.about = "nothing at all, with GPUs: for tests";
	driver_fakegpu.devices = DEVICES_NODES;
	return command_line(argc, argv, all);
}
