/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the database's file before SQLite does, which would take an empty or a foreign file for its own. */
#include "marketd/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "market/reason.h"

enum { HEADER = 100 }; /* of a database file */

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

off_t sqlite_size(const char *path, const char *suffix)
{
	char name[PATH_ROOM];
	struct stat st;
	int n = snprintf(name, sizeof name, "%s%s", path, suffix);

	return n > 0 && (size_t)n < sizeof name && stat(name, &st) == 0 ? st.st_size : -1;
}

static int look_absent(const char *path, struct fail *f)
{
	if (sqlite_size(path, "-wal") > 0)
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' is missing but its log '%s-wal' exists: put the database back beside "
			"it, or restore a backup with 'nanopod-marketd restore BACKUP'",
			path, path);
	return 1;
}

static int look_header(const char *path, const uint8_t h[HEADER], off_t size, int *form, struct fail *f)
{
	uint64_t page = (uint32_t)h[16] << 8 | h[17];

	if (memcmp(h, "SQLite format 3", 16) != 0)
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' is not a market's database: it is another file, an encrypted or a "
			"damaged one; give another --data, or restore a backup with 'nanopod-marketd restore BACKUP'",
			path);
	if (big_endian(h + 68) != SQLITE_STORE_APPLICATION)
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' is another program's SQLite database; give another --data", path);
	if (page == 1)
		page = 65536;
	/* If there is a log, a short file only means that a checkpoint was growing it. */
	if ((uint64_t)size < page * big_endian(h + 28) && sqlite_size(path, "-wal") <= 0)
		return fail_set(f, REASON_INTERNAL,
			"'%s' is truncated: %lld bytes are left of %llu; restore a backup with "
			"'nanopod-marketd restore BACKUP'",
			path, (long long)size, (unsigned long long)(page * big_endian(h + 28)));
	*form = (int)big_endian(h + 60);
	return 0;
}

int sqlite_look(const char *path, int *form, struct fail *f)
{
	uint8_t header[HEADER];
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT)
		return look_absent(path, f);
	if (fd < 0)
		return fail_errno(f, errno == EACCES ? REASON_FORBIDDEN : REASON_UNAVAILABLE, errno, "cannot open '%s'",
			path);
	n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, header, sizeof header, 0) : -1;
	close(fd);
	if (S_ISDIR(st.st_mode))
		return fail_set(f, REASON_WRONG_STATE, "'%s' is a directory; name a file in it, as in '%s/market.db'",
			path, path);
	if (!S_ISREG(st.st_mode))
		return fail_set(f, REASON_WRONG_STATE, "'%s' is not a regular file; give another --data", path);
	if (n < 0)
		return fail_set(f, REASON_UNAVAILABLE, "cannot read '%s': look at the disk with 'dmesg'", path);
	if (n == 0)
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' is empty: if it held a market, restore a backup with "
			"'nanopod-marketd restore --force BACKUP'; for a new market remove it",
			path);
	if (n < (ssize_t)sizeof header)
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' is not a market's database, or is truncated to %lld bytes; restore a "
			"backup with 'nanopod-marketd restore --force BACKUP'",
			path, (long long)n);
	return look_header(path, header, st.st_size, form, f);
}

int sqlite_folder_sync(const char *path)
{
	char folder[PATH_ROOM];
	const char *slash = strrchr(path, '/');
	int n = slash ? snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path)
		      : snprintf(folder, sizeof folder, ".");
	int fd, rc;

	if (n < 0 || (size_t)n >= sizeof folder)
		return -ENAMETOOLONG;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) ? -errno : 0;
	close(fd);
	return rc;
}
