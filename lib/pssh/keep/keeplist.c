/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keep/keeplist.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "pssh/keep/keepfolder.h"
#include "pssh/keep/keepwire.h"

enum { KEEPLIST_MS = 2000, KEEPLIST_MORE_MS = 200, KEEPLIST_MAX = 16384, KEEPLIST_ANSWER = 4096 };

static bool keeplist_request(int fd, bool stop)
{
	struct buf b;
	bool sent;

	buf_init(&b, 64);
	sent = keepwire_add(&b,
		       &(struct keepwire_frame){ .type = stop ? KEEP_STOP : KEEP_ASK, .n = { KEEPWIRE_VERSION } }) ==
			0 &&
		send(fd, b.data, b.len, MSG_NOSIGNAL) == (ssize_t)b.len;
	buf_release(&b);
	return sent;
}

static void keeplist_agreed(struct keepwire_text t, struct pssh_kept *out)
{
	char text[4 * sizeof out->kex];

	keepwire_copy(t, text, sizeof text);
	sscanf(text, "%64s %64s %64s %64s", out->kex, out->hostkey, out->cipher, out->mac);
}

/* 1: *out is its answer; 0: wait; -1: it gives none. */
static int keeplist_answer(int fd, struct buf *in, struct pssh_kept *out)
{
	struct keepwire_frame f;
	char room[1024];
	size_t used;
	ssize_t n = recv(fd, room, sizeof room, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || buf_add(in, room, (size_t)n) != 0)
		return -1;
	switch (keepwire_take(in->data, in->len, KEEP_KEEPER, &f, &used)) {
	case 0:
		return 0;
	case 1:
		break;
	default:
		return -1;
	}
	if (f.type != KEEP_STATE)
		return -1;
	*out = (struct pssh_kept){ .pid = f.n[0], .lent = f.n[1] != 0, .age = f.n[2], .idle = f.n[3], .limit = f.n[4] };
	keepwire_copy(f.t[0], out->name, sizeof out->name);
	keeplist_agreed(f.t[1], out);
	return 1;
}

struct keeplist_one {
	int fd;
	pid_t keeper;
	struct buf in;
	struct pssh_kept kept;
	bool answered, silent;
};

struct keeplist {
	struct keeplist_one *all;
	size_t count, room;
};

static void keeplist_release(struct keeplist *l)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->all[i].fd >= 0)
			close(l->all[i].fd);
		buf_release(&l->all[i].in);
	}
	free(l->all);
}

static int keeplist_add(struct keeplist *l, int fd)
{
	struct keeplist_one *one;
	struct ucred who = { 0 };
	socklen_t len = sizeof who;

	if (l->count == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct keeplist_one *more = realloc(l->all, room * sizeof *more);

		if (!more)
			return PSSH_ENOMEM;
		l->all = more;
		l->room = room;
	}
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len);
	one = &l->all[l->count++];
	*one = (struct keeplist_one){ .fd = fd, .keeper = who.pid };
	buf_init(&one->in, KEEPLIST_ANSWER);
	return 0;
}

static void keeplist_hear(struct keeplist_one *one)
{
	int rc = keeplist_answer(one->fd, &one->in, &one->kept);

	if (rc == 0)
		return;
	one->answered = rc == 1;
	close(one->fd);
	one->fd = -1;
}

static DIR *keeplist_folder(int folder, struct fail *f)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		fail_errno(f, PSSH_ELOCAL, errno, "cannot read the folder of kept connections");
		if (fd >= 0)
			close(fd);
	}
	return dir;
}

/* Waits for those from `from` on, until end. */
static int keeplist_wait(struct keeplist *l, size_t from, int64_t end)
{
	size_t count = l->count - from, open;
	struct pollfd *fds = calloc(count + 1, sizeof *fds);
	int64_t left;

	if (!fds)
		return PSSH_ENOMEM;
	do {
		open = 0;
		for (size_t i = 0; i < count; i++) {
			fds[i] = (struct pollfd){ l->all[from + i].fd, POLLIN, 0 };
			open += fds[i].fd >= 0;
		}
		left = end - clock_ms();
		if (open && poll(fds, (nfds_t)count, left > 0 ? (int)left : 0) > 0)
			for (size_t i = 0; i < count; i++)
				if (fds[i].revents)
					keeplist_hear(&l->all[from + i]);
	} while (open && left > 0);
	for (size_t i = from; i < l->count; i++) {
		l->all[i].silent = l->all[i].fd >= 0;
		if (l->all[i].silent)
			close(l->all[i].fd);
		l->all[i].fd = -1;
	}
	free(fds);
	return 0;
}

/*
 * Asks all and then waits, so that a keeper that stands still costs the same time with one connection or with many; in
 * parts, where they are more than there are descriptors.
 */
static int keeplist_ask_all(int folder, DIR *dir, bool stop, struct keeplist *l)
{
	struct rlimit limit = { 1024, 1024 };
	int64_t end = clock_ms() + KEEPLIST_MS;
	struct dirent *de;
	size_t from = 0;
	int rc = 0;

	getrlimit(RLIMIT_NOFILE, &limit);
	while (!rc && l->count < KEEPLIST_MAX && (de = readdir(dir))) {
		int fd = *de->d_name == '.' ? -1 : keepfolder_connect(folder, de->d_name);

		keepfolder_sweep(folder, de->d_name);
		if (fd < 0)
			continue;
		rc = keeplist_add(l, fd);
		if (rc || !keeplist_request(fd, stop)) {
			close(fd);
			if (!rc)
				l->all[l->count - 1].fd = -1;
		}
		if (!rc && l->count - from >= limit.rlim_cur / 2) {
			rc = keeplist_wait(l, from, end);
			from = l->count;
			end = end > clock_ms() + KEEPLIST_MORE_MS ? end : clock_ms() + KEEPLIST_MORE_MS;
		}
	}
	return rc ? rc : keeplist_wait(l, from, end);
}

/* A keeper that does not answer lends nothing to anybody, so nothing is lost with it. */
static void keeplist_kill(const struct keeplist *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->all[i].silent && l->all[i].keeper > 1)
			kill(l->all[i].keeper, SIGKILL);
}

static int keeplist_tell(const struct keeplist *l, struct pssh_kept **out, size_t *count, size_t *silent)
{
	struct pssh_kept *list = calloc(l->count + 1, sizeof *list);
	size_t n = 0;

	if (!list)
		return PSSH_ENOMEM;
	for (size_t i = 0; i < l->count; i++)
		if (l->all[i].answered)
			list[n++] = l->all[i].kept;
	*out = list;
	*count = n;
	*silent = l->count - n;
	return 0;
}

int keeplist_ask(int folder, bool stop, struct pssh_kept **out, size_t *count, size_t *silent, struct fail *f)
{
	DIR *dir = keeplist_folder(folder, f);
	struct keeplist l = { 0 };
	int rc;

	if (!dir)
		return PSSH_ELOCAL;
	rc = keeplist_ask_all(folder, dir, stop, &l);
	rc = rc ? fail_set(f, rc, "out of memory") : keeplist_tell(&l, out, count, silent);
	if (!rc && stop)
		keeplist_kill(&l);
	keeplist_release(&l);
	closedir(dir);
	return rc;
}
