/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/host/host_end.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/os/proctree.h"
#include "base/buf.h"
#include "base/str.h"

enum { NET_MAX = 16 << 20, UPTIME_MAX = 256, SOCKETS = 16, LISTENING = 0x0A };

struct sockets {
	size_t n;
	unsigned long inode[SOCKETS];
};

static void host_end_listening_in(const char *path, unsigned port, struct sockets *out)
{
	struct buf b;

	buf_init(&b, NET_MAX);
	if (buf_read_file(&b, path) == 0)
		for (const char *p = buf_text(&b); p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
			unsigned local, state;
			unsigned long inode;

			if (sscanf(p, " %*[^:]: %*[0-9A-F]:%x %*[^ ] %x %*s %*s %*s %*s %*s %lu", &local, &state,
				    &inode) == 3 &&
				local == port && state == LISTENING && out->n < SOCKETS)
				out->inode[out->n++] = inode;
		}
	buf_release(&b);
}

static bool host_end_holds_socket(pid_t pid, const struct sockets *want)
{
	char path[64], link[64];
	bool found = false;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		ssize_t len = readlinkat(dirfd(d), e->d_name, link, sizeof link - 1);
		unsigned long inode;

		link[len < 0 ? 0 : len] = '\0';
		if (sscanf(link, "socket:[%lu]", &inode) == 1)
			for (size_t i = 0; i < want->n; i++)
				found = found || want->inode[i] == inode;
	}
	if (d)
		closedir(d);
	return found;
}

struct search {
	struct sockets sockets;
	pid_t listener;
};

/* Look for sshd by name, for others (systemd, if it opened the socket) may hold the same socket. */
static void host_end_look(void *arg, pid_t pid)
{
	struct search *s = arg;
	char name[64];

	if (s->listener || !process_read(pid, "comm", name, sizeof name) || strcmp(name, "sshd\n") != 0)
		return;
	if (host_end_holds_socket(pid, &s->sockets))
		s->listener = pid;
}

int host_now(unsigned long long *ticks, struct fail *f)
{
	struct buf b;
	double up;
	bool told;

	buf_init(&b, UPTIME_MAX);
	told = buf_read_file(&b, "/proc/uptime") == 0 && sscanf(buf_text(&b), "%lf", &up) == 1;
	buf_release(&b);
	if (!told)
		return fail_set(f, -EIO, "cannot read '/proc/uptime'");
	*ticks = (unsigned long long)(up * (double)sysconf(_SC_CLK_TCK));
	return 0;
}

unsigned host_end_sessions(unsigned port, unsigned long long since, int sig)
{
	struct search s = { .listener = 0 };

	host_end_listening_in("/proc/net/tcp", port, &s.sockets);
	host_end_listening_in("/proc/net/tcp6", port, &s.sockets);
	if (!s.sockets.n)
		return 0;
	process_each(host_end_look, &s);
	return s.listener ? process_signal_from(s.listener, since, sig) : 0;
}
