/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/local/localproc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"

enum { TEXT_MAX = 4096, BOOT_TEXT = 64, START_FIELD = 20, LOWEST = 20000, HIGHEST = 32000, TRIES = 200 };

/* What tells a process from a later one with the same number: when it started, and in which boot of the machine. */
struct birth {
	long long ticks;
	char boot[BOOT_TEXT];
};

static int read_boot(char room[BOOT_TEXT])
{
	struct buf text;
	int rc;

	buf_init(&text, TEXT_MAX);
	rc = buf_read_file(&text, "/proc/sys/kernel/random/boot_id");
	if (!rc)
		snprintf(room, BOOT_TEXT, "%.*s", (int)strcspn(buf_text(&text), "\n"), buf_text(&text));
	buf_release(&text);
	return rc;
}

/* The name in brackets may hold brackets: fields are counted after the last one. A zombie counts as gone. */
static int read_birth(pid_t pid, struct birth *b)
{
	struct buf text;
	char path[40], *at;
	int rc;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	buf_init(&text, TEXT_MAX);
	rc = buf_read_file(&text, path);
	at = rc || !text.data ? NULL : strrchr(text.data, ')');
	rc = at && at[1] && at[2] != 'Z' && at[2] != 'X' ? 0 : -ESRCH;
	at = at && at[1] ? at + 2 : NULL;
	for (int i = 1; !rc && at && i < START_FIELD; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!rc && at)
		b->ticks = strtoll(at, NULL, 10);
	buf_release(&text);
	return rc ? rc : at ? read_boot(b->boot) : -ESRCH;
}

static int localproc_note(const char *path, pid_t pid, struct fail *f)
{
	struct birth b = { 0 };
	char text[200];
	int n, rc = read_birth(pid, &b);

	if (rc)
		return fail_set(f, rc, "cannot tell when process %ld started", (long)pid);
	n = snprintf(text, sizeof text, "%ld %lld %s %lld\n", (long)pid, b.ticks, b.boot, (long long)time(NULL));
	rc = file_replace(path, text, (size_t)n, 0600);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

int localproc_start(const char *path, const struct agentd_call *c, const char *log, struct fail *f)
{
	pid_t pid;
	int rc = agentd_leave(c, log, &pid, f);

	if (rc)
		return rc;
	rc = localproc_note(path, pid, f);
	if (rc == -ESRCH) /* It ended already: who waits for it reads its log and tells why. */
		return 0;
	if (rc) /* Nobody could stop a daemon that no file remembers. */
		kill(pid, SIGKILL);
	return rc;
}

/* 0: it runs; fd stays this process even where another one gets its number. */
static int localproc_find(const char *path, struct localproc *p, int *fd)
{
	struct birth was = { 0 }, is = { 0 };
	long long pid = 0, since = 0;
	struct buf text;
	int rc;

	*fd = -1;
	buf_init(&text, TEXT_MAX);
	rc = buf_read_file(&text, path);
	if (!rc && sscanf(buf_text(&text), "%lld %lld %63s %lld", &pid, &was.ticks, was.boot, &since) != 4)
		rc = -EINVAL;
	buf_release(&text);
	if (rc || pid < 2 || pid > INT32_MAX)
		return rc ? rc : -EINVAL;
	*fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	rc = *fd < 0 ? -ESRCH : read_birth((pid_t)pid, &is);
	if (!rc && (is.ticks != was.ticks || strcmp(is.boot, was.boot) != 0))
		rc = -ESRCH;
	if (rc && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	*p = (struct localproc){ (pid_t)pid, since };
	return rc;
}

bool localproc_runs(const char *path, struct localproc *p)
{
	int fd, rc = localproc_find(path, p, &fd);

	if (fd >= 0)
		close(fd);
	return rc == 0;
}

/* True: it ended within ms. */
static bool localproc_gone(int fd, int64_t ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t until = clock_ms() + ms, left;

	while ((left = until - clock_ms()) > 0)
		if (poll(&p, 1, (int)left) > 0)
			return true;
	return false;
}

int localproc_end(const char *path, int64_t grace_ms, struct fail *f)
{
	struct localproc p;
	int fd, rc = localproc_find(path, &p, &fd);

	if (rc == -EPERM || rc == -EACCES)
		return fail_errno(f, rc, -rc, "cannot read '%s'", path);
	if (rc) {
		unlink(path);
		return 0;
	}
	if (syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
		rc = fail_errno(f, -errno, errno, "cannot stop process %ld", (long)p.pid);
	if (!rc && !localproc_gone(fd, grace_ms)) {
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		if (!localproc_gone(fd, grace_ms))
			rc = fail_set(f, -EBUSY, "process %ld does not stop", (long)p.pid);
	}
	close(fd);
	if (!rc)
		unlink(path);
	return rc;
}

/* ---- Ports ------------------------------------------------------------------------------- */

bool localproc_port_free(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, rc;

	if (fd < 0)
		return false;
	/* A port that a daemon has just left is free, whatever the kernel still remembers of it. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	rc = bind(fd, (const struct sockaddr *)&sa, sizeof sa);
	close(fd);
	return rc == 0;
}

int localproc_find_ports(int count, struct fail *f)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t n;
		int first, k = 0;

		if (getrandom(&n, sizeof n, 0) != sizeof n)
			return fail_errno(f, -errno, errno, "cannot choose a port");
		first = LOWEST + (int)(n % (uint32_t)(HIGHEST - LOWEST - count));
		while (k < count && localproc_port_free(first + k))
			k++;
		if (k == count)
			return first;
	}
	return fail_set(f, -EADDRINUSE, "no %d free ports in a row on 127.0.0.1", count);
}
