/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/speed.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

enum { BLOCK = 1 << 20, ALIGN = 4096, HOST = 256 };

void speed_of(const int64_t runs[SPEED_RUNS], struct speed *out)
{
	int64_t r[SPEED_RUNS];

	memcpy(r, runs, sizeof r);
	for (int i = 0; i < SPEED_RUNS; i++)
		for (int k = i + 1; k < SPEED_RUNS; k++)
			if (r[k] < r[i]) {
				int64_t t = r[i];

				r[i] = r[k];
				r[k] = t;
			}
	*out = (struct speed){ .least = r[0], .value = r[SPEED_RUNS / 2], .most = r[SPEED_RUNS - 1] };
}

static int64_t speed_per_second(int64_t bytes, int64_t us)
{
	return (int64_t)((double)bytes * 1e6 / (double)(us > 0 ? us : 1));
}

/* ---- Disk --------------------------------------------------------------------------------------- */

/* Opens a file without a name; where the file system has none, names it and unlinks it at once. */
int speed_open_file(const char *folder, bool *direct)
{
	char path[4096];
	int fd = -1;

	for (int with = 1; fd < 0 && with >= 0; with--) {
		int flags = O_RDWR | O_CLOEXEC | (with ? O_DIRECT : 0);

		*direct = with;
		fd = open(folder, flags | O_TMPFILE, 0600);
		if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
			continue;
		snprintf(path, sizeof path, "%s/.verify-%ld", folder, (long)getpid());
		fd = open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd >= 0)
			unlink(path);
	}
	return fd;
}

static int speed_pass(int fd, char *block, int64_t bytes, bool writing)
{
	for (int64_t at = 0; at < bytes; at += BLOCK) {
		ssize_t n = writing ? pwrite(fd, block, BLOCK, at) : pread(fd, block, BLOCK, at);

		if (n != BLOCK)
			return n < 0 ? -errno : -EIO;
	}
	return 0;
}

/* One run each way. 0 or -errno. */
static int speed_run_disk(int fd, char *block, int64_t bytes, bool direct, int64_t *wrote, int64_t *took)
{
	int64_t began = clock_us();
	int rc = speed_pass(fd, block, bytes, true);

	if (!rc && fdatasync(fd))
		rc = -errno;
	*wrote = speed_per_second(bytes, clock_us() - began);
	if (!rc && !direct)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	began = clock_us();
	rc = rc ? rc : speed_pass(fd, block, bytes, false);
	*took = speed_per_second(bytes, clock_us() - began);
	return rc;
}

int speed_disk(const char *folder, int64_t bytes, struct speed *write, struct speed *read, bool *direct, struct fail *f)
{
	int64_t wrote[SPEED_RUNS], took[SPEED_RUNS];
	char *block = aligned_alloc(ALIGN, BLOCK);
	bool past;
	int fd = speed_open_file(folder, &past), rc = fd < 0 ? -errno : 0;

	if (!block)
		rc = -ENOMEM;
	bytes = bytes / BLOCK * BLOCK;
	for (size_t i = 0; block && i < BLOCK; i++) /* random, so that neither zeros nor compression help */
		block[i] = (char)((i * 2654435761u) >> 13);
	for (int i = 0; !rc && i < SPEED_RUNS; i++)
		rc = speed_run_disk(fd, block, bytes, past, &wrote[i], &took[i]);
	free(block);
	if (fd >= 0)
		close(fd);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot measure the disk in '%s'", folder);
	speed_of(wrote, write);
	speed_of(took, read);
	*direct = past;
	return 0;
}

/* ---- Network --------------------------------------------------------------------------------------- */

/* "https://host:port/x" into host and port. */
static int speed_take_apart(const char *where, char host[HOST], char port[8])
{
	const char *at = str_starts(where, "https://") ? where + 8
		: str_starts(where, "http://")         ? where + 7
						       : NULL,
		   *end, *colon;
	size_t len;

	if (!at)
		return -ENOTSUP;
	snprintf(port, 8, "%s", at == where + 8 ? "443" : "80");
	len = strcspn(at, "/#?");
	end = at + len;
	if (*at == '[' && memchr(at, ']', len)) {
		colon = strchr(at, ']') + 1;
		snprintf(host, HOST, "%.*s", (int)(colon - at - 2), at + 1);
	} else {
		colon = memchr(at, ':', len);
		colon = colon ? colon : end;
		snprintf(host, HOST, "%.*s", (int)(colon - at < HOST - 1 ? colon - at : HOST - 1), at);
	}
	if (colon < end && *colon == ':')
		snprintf(port, 8, "%.*s", (int)(end - colon - 1 < 7 ? end - colon - 1 : 7), colon + 1);
	return *host ? 0 : -ENOTSUP;
}

/* Microseconds, or -errno. */
static int64_t speed_connect_once(const struct addrinfo *a, int64_t deadline_ms)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
	int64_t began = clock_us(), took;
	socklen_t size = sizeof error;
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)
		error = errno;
	else if (poll(&p, 1, (int)deadline_ms) <= 0)
		error = ETIMEDOUT;
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	took = clock_us() - began;
	close(fd);
	return error ? -error : took;
}

int speed_round_trip(const char *where, int64_t deadline_ms, struct speed *out, struct fail *f)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL, *use;
	int64_t runs[SPEED_RUNS] = { -EHOSTUNREACH };
	char host[HOST], port[8];
	int rc = speed_take_apart(where, host, port);

	if (rc)
		return fail_set(f, rc, "cannot measure to '%s': not an http or https URL", where);
	rc = getaddrinfo(host, port, &hints, &list);
	if (rc)
		return fail_set(f, -EHOSTUNREACH, "cannot find '%s': %s", host, gai_strerror(rc));
	for (use = list; use && (runs[0] = speed_connect_once(use, deadline_ms)) < 0; use = use->ai_next)
		;
	for (int i = 1; use && i < SPEED_RUNS; i++)
		if ((runs[i] = speed_connect_once(use, deadline_ms)) < 0) {
			runs[0] = runs[i];
			break;
		}
	freeaddrinfo(list);
	if (runs[0] < 0)
		return fail_errno(f, (int)runs[0], (int)-runs[0], "cannot reach '%s' at port %s", host, port);
	speed_of(runs, out);
	return 0;
}
