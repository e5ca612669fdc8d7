/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/qemu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAD = 1024, KILLED_MS = 20000 };

static bool qemu_ours(uid_t uid)
{
	return uid == geteuid() || (geteuid() == 0 && uid >= VMPROC_UID_FIRST && uid <= VMPROC_UID_FREEZE);
}

/* "…/qemu-system-x86_64 -name NAME …": NAME, or NULL. */
static const char *qemu_name_in(const char *head, size_t len)
{
	const char *words[3], *at = head;
	const char *slash;

	for (int i = 0; i < 3; i++) {
		const char *end = at < head + len ? memchr(at, '\0', (size_t)(head + len - at)) : NULL;

		if (!end)
			return NULL;
		words[i] = at;
		at = end + 1;
	}
	slash = strrchr(words[0], '/');
	return strcmp(slash ? slash + 1 : words[0], VMPROC_QEMU) == 0 && strcmp(words[1], "-name") == 0 ? words[2]
													: NULL;
}

static const char *qemu_name_of(const char *pid, char room[HEAD])
{
	char path[64];
	struct stat st;
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof path, "/proc/%.20s", pid) < 0 || stat(path, &st) != 0 || !qemu_ours(st.st_uid))
		return NULL;
	snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	n = read(fd, room, HEAD);
	close(fd);
	return n > 0 ? qemu_name_in(room, (size_t)n) : NULL;
}

struct search {
	const char *name, *begin;
	pid_t pid;
	void (*found)(void *arg, const char *rest);
	void *arg;
};

static int qemu_walk(struct search *s)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	if (!d)
		return -errno;
	while ((e = readdir(d)) && !s->pid) {
		char room[HEAD];
		const char *name = isdigit((unsigned char)*e->d_name) ? qemu_name_of(e->d_name, room) : NULL;

		if (name && s->name && strcmp(name, s->name) == 0)
			s->pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (name && s->begin && strncmp(name, s->begin, strlen(s->begin)) == 0)
			s->found(s->arg, name + strlen(s->begin));
	}
	closedir(d);
	return 0;
}

pid_t vmproc_find(const char *name)
{
	struct search s = { .name = name };

	qemu_walk(&s);
	return s.pid;
}

int vmproc_each(const char *begin, void (*found)(void *arg, const char *rest), void *arg)
{
	return qemu_walk(&(struct search){ .begin = begin, .found = found, .arg = arg });
}

/* Our own child stays as a zombie until we wait for it; for others' children the call does nothing. */
static bool qemu_gone(int fd, pid_t pid, int64_t ms)
{
	int n = poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, ms > 0 ? (int)ms : 0);

	if (n > 0)
		waitid(P_PID, (id_t)pid, &(siginfo_t){ .si_pid = 0 }, WEXITED | WNOHANG);
	return n > 0;
}

int vmproc_end(const char *name, int64_t grace_ms, struct fail *f)
{
	pid_t pid = vmproc_find(name);
	bool done;
	int fd;

	if (!pid)
		return 0;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return errno == ESRCH ? 0 : fail_errno(f, -errno, errno, "cannot watch process %d", (int)pid);
	/* Another process may have taken the number before we held it. */
	if (vmproc_find(name) != pid) {
		close(fd);
		return 0;
	}
	done = grace_ms > 0 && qemu_gone(fd, pid, grace_ms);
	if (!done) {
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		done = qemu_gone(fd, pid, KILLED_MS);
	}
	close(fd);
	return done ? 0 : fail_set(f, -ETIMEDOUT, "QEMU '%s' (process %d) was killed but goes on", name, (int)pid);
}
