/* SPDX-License-Identifier: Apache-2.0 */
#include "base/turned.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

enum { TURNED_LINE = 65536 };

static int turned_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* 0: it is none of those. */
static uint64_t turned_number(const char *name, const char *base, size_t len)
{
	const char *digits = name + len + 1;
	uint64_t n;

	if (strncmp(name, base, len) != 0 || name[len] != '.' || *digits == '0' || !*digits ||
		strspn(digits, "0123456789") != strlen(digits))
		return 0;
	errno = 0;
	n = strtoull(digits, NULL, 10);
	return errno ? 0 : n;
}

int turned_list(const char *path, uint64_t **numbers, size_t *count)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	DIR *dir = folder ? opendir(folder) : NULL;
	uint64_t *list = NULL, n;
	size_t used = 0, room = 0;
	const struct dirent *e;
	int rc = dir ? 0 : folder ? -errno : -ENOMEM;

	while (!rc && (errno = 0, e = readdir(dir))) {
		n = turned_number(e->d_name, base, strlen(base));
		if (n && used == room) {
			uint64_t *more = reallocarray(list, room = 2 * room + 16, sizeof *list);

			rc = more ? 0 : -ENOMEM;
			list = more ? more : list;
		}
		if (n && !rc)
			list[used++] = n;
	}
	rc = rc ? rc : -errno;
	if (dir)
		closedir(dir);
	free(folder);
	if (rc) {
		free(list);
		return rc;
	}
	if (used)
		qsort(list, used, sizeof *list, turned_compare);
	*numbers = list;
	*count = used;
	return 0;
}

char *turned_path(const char *path, uint64_t number)
{
	char *out;

	return asprintf(&out, "%s.%" PRIu64, path, number) < 0 ? NULL : out;
}

int turned_mark(int fd, uint64_t *mark)
{
	char *line = malloc(TURNED_LINE);
	ssize_t n = line ? pread(fd, line, TURNED_LINE, 0) : -1;
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;
	int rc = !line ? -ENOMEM : n < 0 ? -errno : n == TURNED_LINE && !end ? -EFBIG : 0;

	if (!rc)
		*mark = end ? hash_more(HASH_BEGIN, line, (size_t)(end - line)) : 0;
	free(line);
	return rc;
}
