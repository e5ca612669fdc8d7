/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 64 * 1024 };

const char *sysfs_path(char room[SYSFS_PATH], const char *root, const char *fmt, ...)
{
	int n = snprintf(room, SYSFS_PATH, "%s", root ? root : ""), more;
	va_list ap;

	if (n >= SYSFS_PATH) {
		room[0] = '\0';
		return room;
	}
	va_start(ap, fmt);
	more = vsnprintf(room + n, (size_t)(SYSFS_PATH - n), fmt, ap);
	va_end(ap);
	if (n + more >= SYSFS_PATH)
		room[0] = '\0';
	return room;
}

/* Reads up to size - 1 bytes and ends them with NUL; returns their number, or -1. Never waits for a FIFO. */
static ssize_t sysfs_read_some(const char *path, char *room, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -1;
	while (len < size - 1) {
		n = read(fd, room + len, size - 1 - len);
		if (n > 0)
			len += (size_t)n;
		else if (n == 0 || errno != EINTR)
			break;
	}
	close(fd);
	room[len] = '\0';
	return n < 0 && !len ? -1 : (ssize_t)len;
}

/* One line without surrounding blanks; replaces control bytes. */
static bool sysfs_take_line(const char *from, char *room, size_t size)
{
	size_t len, n = 0;

	from += strspn(from, " \t");
	len = strcspn(from, "\n");
	while (len && isspace((unsigned char)from[len - 1]))
		len--;
	for (size_t i = 0; i < len && n + 1 < size; i++)
		room[n++] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
	room[n] = '\0';
	return n > 0;
}

bool sysfs_text(const char *path, char *room, size_t size)
{
	char text[4096];

	room[0] = '\0';
	return sysfs_read_some(path, text, sizeof text) > 0 && sysfs_take_line(text, room, size);
}

bool sysfs_int(const char *path, int64_t min, int64_t max, int64_t *out)
{
	char text[64], *end;
	long long n;

	if (!sysfs_text(path, text, sizeof text))
		return false;
	errno = 0;
	n = strtoll(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (errno || end == text || (*end && !isspace((unsigned char)*end)) || n < min || n > max)
		return false;
	*out = n;
	return true;
}

bool sysfs_link(const char *path, char *room, size_t size)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof target - 1);
	const char *last;

	room[0] = '\0';
	if (n <= 0)
		return false;
	target[n] = '\0';
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (!*last || strlen(last) >= size)
		return false;
	snprintf(room, size, "%s", last);
	return true;
}

static int sysfs_by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

int sysfs_list(const char *path, size_t max, char (**out)[SYSFS_NAME], size_t *count)
{
	char (*list)[SYSFS_NAME] = NULL;
	DIR *dir = opendir(path);
	struct dirent *e;
	size_t n = 0, cap = 0;
	int rc = 0;

	if (!dir)
		return -errno;
	while (!rc && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || strlen(e->d_name) >= SYSFS_NAME)
			continue;
		if (n == cap) {
			char (*more)[SYSFS_NAME] = n >= max ? NULL : realloc(list, (cap + 64) * sizeof *list);

			if (!more)
				rc = n >= max ? -E2BIG : -ENOMEM;
			else
				list = more, cap += 64;
		}
		if (!rc)
			snprintf(list[n++], SYSFS_NAME, "%s", e->d_name);
	}
	closedir(dir);
	if (rc) {
		free(list);
		return rc;
	}
	if (n)
		qsort(list, n, sizeof *list, sysfs_by_name);
	*out = list;
	*count = n;
	return 0;
}

bool sysfs_field(const char *path, const char *key, char *room, size_t size)
{
	char *text = malloc(FILE_MAX);
	size_t len = strlen(key);
	bool found = false;

	room[0] = '\0';
	if (text && sysfs_read_some(path, text, FILE_MAX) > 0)
		for (const char *line = text; line && !found; line = strchr(line, '\n')) {
			const char *rest = line += *line == '\n';

			if (strncmp(line, key, len) != 0)
				continue;
			rest += len;
			rest += strspn(rest, " \t");
			found = *rest == ':' && sysfs_take_line(rest + 1, room, size);
		}
	free(text);
	return found;
}

bool sysfs_count(const char *path, int64_t max, int64_t *out)
{
	char text[1024], *at = text;
	int64_t n = 0;

	if (!sysfs_text(path, text, sizeof text))
		return false;
	for (;;) {
		char *end;
		long from, to;

		if (!isdigit((unsigned char)*at))
			return false;
		from = to = strtol(at, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			to = strtol(end + 1, &end, 10);
		if (to < from || from < 0 || to > max || (n += to - from + 1) > max)
			return false;
		if (!*end)
			break;
		if (*end != ',')
			return false;
		at = end + 1;
	}
	*out = n;
	return true;
}

const char *sysfs_library(const char *root, const char *name, char room[SYSFS_PATH])
{
	if (!root || !*root || strcmp(root, "/") == 0)
		return NULL;
	sysfs_path(room, root, "/lib/%s", name);
	if (access(room, R_OK) != 0)
		room[0] = '\0';
	return room;
}
