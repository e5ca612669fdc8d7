/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024 };

static const size_t short_bytes = 1 << 20, long_bytes = 128 << 20;

/* Numbers that no other place in the file or in memory has; inverted, every bit is tried both ways. */
static void probe_fill(uint64_t *words, size_t count, uint64_t first, uint64_t flip)
{
	for (size_t i = 0; i < count; i++)
		words[i] = (first + i) * UINT64_C(0x9e3779b97f4a7c15) ^ flip;
}

static bool probe_same(const uint64_t *words, size_t count, uint64_t first, uint64_t flip)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] != ((first + i) * UINT64_C(0x9e3779b97f4a7c15) ^ flip))
			return false;
	return true;
}

int probe_disk(int fd, size_t bytes)
{
	uint64_t words[BLOCK / sizeof(uint64_t)];
	const size_t count = sizeof words / sizeof *words;

	for (size_t at = 0; at < bytes; at += BLOCK) {
		probe_fill(words, count, at, 0);
		errno = EIO; /* a short write sets none */
		if (pwrite(fd, words, BLOCK, (off_t)at) != BLOCK)
			return -errno;
	}
	if (fsync(fd) != 0 && errno != EINVAL)
		return -errno;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* read the disk, not the page cache */
	for (size_t at = 0; at < bytes; at += BLOCK) {
		errno = EIO;
		if (pread(fd, words, BLOCK, (off_t)at) != BLOCK)
			return -errno;
		if (!probe_same(words, count, at, 0))
			return -EIO;
	}
	return 0;
}

/* false: some of it does not keep what is written. No memory to try with is no fault. */
static bool probe_memory(size_t bytes)
{
	uint64_t *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const size_t count = bytes / sizeof *words;
	bool same = true;

	if (words == MAP_FAILED)
		return true;
	for (uint64_t flip = 0;; flip = UINT64_MAX) {
		probe_fill(words, count, 0, flip);
		__asm__ volatile("" : : "r"(words) : "memory"); /* really write, really read */
		same = same && probe_same(words, count, 0, flip);
		if (flip)
			break;
	}
	munmap(words, bytes);
	return same;
}

static void probe_folder(const char *folder, size_t bytes, struct health_report *r)
{
	char path[1024];
	int fd, rc;

	snprintf(path, sizeof path, "%s/probe.tmp", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		unlink(path); /* it is gone whatever happens */
	rc = fd < 0 ? -errno : probe_disk(fd, bytes);
	if (fd >= 0)
		close(fd);
	if (rc == -ENOSPC || rc == -EDQUOT) /* how full it is, is another check */
		return;
	if (rc)
		health_found(r, HEALTH_DRAINING, "probe", "", "check the disk that '--data' is on: dmesg, smartctl -a",
			"the disk of '%s' does not keep what is written: %s", folder, strerror(-rc));
}

void probe_run(const char *folder, bool lengthy, struct health_report *r)
{
	size_t bytes = lengthy ? long_bytes : short_bytes;

	if (folder)
		probe_folder(folder, bytes, r);
	if (!probe_memory(bytes))
		health_found(r, HEALTH_DRAINING, "probe", "", "test the memory: memtester, or memtest86+ at boot",
			"the machine's memory does not keep what is written");
}

const struct health_finding *probe_failed(const struct health_report *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->list[i].check, "probe") == 0)
			return &r->list[i];
	return NULL;
}
