/* SPDX-License-Identifier: Apache-2.0 */
/* What large files do not show of a disk, small reads at random and the wait for a write; and this machine's memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agentd/machine/speed.h"
#include "base/clock.h"

enum {
	PAGE = 4096,
	PIECE = 1 << 20,
	READS_MOST = 20000,
	SYNCS = 30,
	RUN_MS = 500,
	MEMORY_BYTES = 64 << 20,
	MEMORY_PASSES = 4,
};

/* Reads a second. The places are of chance, so that nothing can read ahead. */
static int speed_small_reads(int fd, char *page, int64_t pages, int64_t *out)
{
	int64_t began = clock_us(), until = clock_ms() + RUN_MS, n = 0, took;
	uint32_t where[256];

	while (n < READS_MOST && clock_ms() < until) {
		if (getrandom(where, sizeof where, 0) != sizeof where)
			return -EIO;
		for (size_t i = 0; i < sizeof where / sizeof *where && clock_ms() < until; i++, n++)
			if (pread(fd, page, PAGE, (off_t)(where[i] % pages * PAGE)) != PAGE)
				return errno ? -errno : -EIO;
	}
	took = clock_us() - began;
	*out = n * 1000000 / (took > 0 ? took : 1);
	return 0;
}

/* The median wait for one page to be on the disk, in microseconds. */
static int speed_small_sync(int fd, char *page, int64_t pages, int64_t *out)
{
	int64_t waits[SYNCS];

	for (int i = 0; i < SYNCS; i++) {
		int64_t began = clock_us(), wait;
		int at = i;

		page[0]++;
		if (pwrite(fd, page, PAGE, (off_t)(i % pages * PAGE)) != PAGE || fdatasync(fd))
			return errno ? -errno : -EIO;
		wait = clock_us() - began;
		for (; at > 0 && waits[at - 1] > wait; at--)
			waits[at] = waits[at - 1];
		waits[at] = wait;
	}
	*out = waits[SYNCS / 2];
	return 0;
}

static int speed_small_fill(int fd, char *piece, int64_t bytes)
{
	for (int64_t at = 0; at < bytes; at += PIECE)
		if (pwrite(fd, piece, PIECE, at) != PIECE)
			return errno ? -errno : -EIO;
	return fdatasync(fd) ? -errno : 0;
}

int speed_disk_small(const char *folder, int64_t bytes, struct speed *reads, struct speed *sync, bool *direct,
	struct fail *f)
{
	int64_t read[SPEED_RUNS], wait[SPEED_RUNS];
	char *piece = aligned_alloc(PAGE, PIECE);
	bool past;
	int fd = speed_open_file(folder, &past), rc = fd < 0 ? -errno : piece ? 0 : -ENOMEM;

	bytes = bytes / PIECE * PIECE;
	if (!rc && (bytes < PIECE || getrandom(piece, 256, 0) != 256))
		rc = -EINVAL;
	rc = rc ? rc : speed_small_fill(fd, piece, bytes);
	for (int i = 0; !rc && i < SPEED_RUNS; i++) {
		if (!past)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		rc = speed_small_reads(fd, piece, bytes / PAGE, &read[i]);
		rc = rc ? rc : speed_small_sync(fd, piece, bytes / PAGE, &wait[i]);
	}
	free(piece);
	if (fd >= 0)
		close(fd);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot measure the disk in '%s'", folder);
	speed_of(read, reads);
	speed_of(wait, sync);
	*direct = past;
	return 0;
}

/* One core copies more than caches hold. */
int speed_memory(struct speed *out, struct fail *f)
{
	char *from = malloc(MEMORY_BYTES), *to = malloc(MEMORY_BYTES);
	int64_t runs[SPEED_RUNS];
	int rc = from && to ? 0 : fail_set(f, -ENOMEM, "out of memory");

	if (!rc) {
		memset(from, 1, MEMORY_BYTES);
		memset(to, 2, MEMORY_BYTES);
	}
	for (int i = 0; !rc && i < SPEED_RUNS; i++) {
		int64_t began = clock_us(), took;

		for (int k = 0; k < MEMORY_PASSES; k++) {
			from[k] = (char)(i + k);
			memcpy(to, from, MEMORY_BYTES);
			if (to[k] != from[k])
				rc = fail_set(f, -EBADMSG, "its memory does not hold what was written");
		}
		took = clock_us() - began;
		runs[i] = (int64_t)((double)MEMORY_BYTES * MEMORY_PASSES * 1e6 / (double)(took > 0 ? took : 1));
	}
	free(from);
	free(to);
	if (!rc)
		speed_of(runs, out);
	return rc;
}
