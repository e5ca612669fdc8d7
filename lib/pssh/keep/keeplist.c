/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keep/keeplist.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "pssh/keep/keepfolder.h"
#include "pssh/keep/keepwire.h"

enum { KEEPLIST_MS = 2000, KEEPLIST_MAX = 16384, KEEPLIST_ANSWER = 4096 };

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
	return 1;
}

/* One after the other: each answers in less time than it takes to keep them apart. */
static int keeplist_one(int folder, const char *name, bool stop, int64_t end, struct pssh_kept *out)
{
	int fd = keepfolder_connect(folder, name), rc = 0;
	struct pollfd look = { fd, POLLIN, 0 };
	struct buf in;

	if (fd < 0)
		return 0;
	buf_init(&in, KEEPLIST_ANSWER);
	if (!keeplist_request(fd, stop))
		rc = -1;
	while (rc == 0 && clock_ms() < end) {
		poll(&look, 1, (int)(end - clock_ms()) + 1);
		rc = keeplist_answer(fd, &in, out);
	}
	buf_release(&in);
	close(fd);
	return rc == 1 ? 1 : -1;
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

int keeplist_ask(int folder, bool stop, struct pssh_kept **out, size_t *count, size_t *silent, struct fail *f)
{
	DIR *dir = keeplist_folder(folder, f);
	struct pssh_kept *list = NULL, one;
	size_t n = 0, cap = 0, quiet = 0;
	struct dirent *de;
	int rc = 0;

	if (!dir)
		return PSSH_ELOCAL;
	while (!rc && n < KEEPLIST_MAX && (de = readdir(dir))) {
		struct pssh_kept *more;
		int said = *de->d_name == '.'
			? 0
			: keeplist_one(folder, de->d_name, stop, clock_ms() + (quiet ? 100 : KEEPLIST_MS), &one);

		quiet += said < 0;
		if (said != 1)
			continue;
		if (n == cap) {
			cap = cap ? cap * 2 : 16;
			more = realloc(list, cap * sizeof *list);
			if (!more) {
				rc = fail_set(f, PSSH_ENOMEM, "out of memory");
				break;
			}
			list = more;
		}
		list[n++] = one;
	}
	closedir(dir);
	if (rc) {
		free(list);
		return rc;
	}
	*out = list;
	*count = n;
	*silent = quiet;
	return 0;
}
