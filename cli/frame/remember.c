/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/remember.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"
#include "cli/frame/value.h"

enum { FILE_MAX = 256 << 10, NAMES_MAX = 2000 };

/* malloc'd. make: creates the folders above. */
static char *file_of(const char *kind, const char *where, int make)
{
	const char *xdg = getenv("XDG_CACHE_HOME");
	char *base = NULL, *path = NULL;

	if (xdg && *xdg == '/')
		base = strdup(xdg);
	else
		base = str_expand_home("~/.cache");
	if (base &&
		asprintf(&path, "%s/nanopod/%s-%016llx", base, kind,
			(unsigned long long)hash_more(HASH_BEGIN, where, strlen(where))) < 0)
		path = NULL;
	if (path && make) {
		char *slash = strrchr(path, '/');

		mkdir(base, 0700);
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	free(base);
	return path;
}

bool remember_daily(const char *what)
{
	enum { DAY = 24 * 60 * 60 };
	char *path = file_of(what, "", 1);
	time_t now = time(NULL);
	struct stat st;
	bool said = path && stat(path, &st) == 0 && st.st_mtime <= now && now - st.st_mtime < DAY;
	int fd = path && !said ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd >= 0) {
		futimens(fd, NULL);
		close(fd);
	}
	free(path);
	return !said;
}

char *remember_path(const char *kind, const char *where)
{
	return file_of(kind, where, 0);
}

static void remember_add_line(struct buf *b, const char *name, const char *help)
{
	if (!*name || name[strcspn(name, "\t\n")] || buf_adds(b, name))
		return;
	buf_addc(b, '\t');
	for (; help && *help; help++)
		buf_addc(b, *help == '\t' || *help == '\n' ? ' ' : *help);
	buf_addc(b, '\n');
}

/* Replaces the file at once: completion may read it at any time. */
static void remember_replace(const char *path, const struct buf *b)
{
	char *temporary = NULL;
	int fd = asprintf(&temporary, "%s.XXXXXX", path) < 0 ? -1 : mkostemp(temporary, O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, b->data ? b->data : "", b->len) != (ssize_t)b->len || rename(temporary, path) < 0)
			unlink(temporary);
		close(fd);
	}
	free(temporary);
}

void remember_all(const char *kind, const char *where, const char *const *names, const char *const *help, size_t count)
{
	char *path = where ? file_of(kind, where, 1) : NULL;
	struct buf b;

	buf_init(&b, FILE_MAX);
	for (size_t i = 0; i < count && i < NAMES_MAX; i++)
		remember_add_line(&b, names[i], help ? help[i] : NULL);
	if (path)
		remember_replace(path, &b);
	buf_release(&b);
	free(path);
}

void remember_one(const char *kind, const char *where, const char *name, const char *help)
{
	char *path = where ? file_of(kind, where, 1) : NULL, *line, *rest;
	size_t len = strlen(name), count = 0;
	struct buf old, b;

	buf_init(&old, FILE_MAX);
	buf_init(&b, FILE_MAX);
	remember_add_line(&b, name, help);
	if (path && buf_read_file(&old, path) == 0 && old.len) {
		for (rest = old.data; (line = strsep(&rest, "\n")) && ++count < NAMES_MAX;)
			if (*line && !(strncmp(line, name, len) == 0 && line[len] == '\t'))
				buf_addf(&b, "%s\n", line);
	}
	if (path)
		remember_replace(path, &b);
	buf_release(&old);
	buf_release(&b);
	free(path);
}

void remember_each(const char *kind, const char *where, void (*found)(void *arg, const char *name, const char *help),
	void *arg)
{
	char *path = where ? file_of(kind, where, 0) : NULL, *line, *rest, *tab;
	struct buf b;

	buf_init(&b, FILE_MAX);
	if (path && buf_read_file(&b, path) == 0 && b.len) {
		for (rest = b.data; (line = strsep(&rest, "\n"));) {
			tab = strchr(line, '\t');
			if (!tab)
				continue;
			*tab = '\0';
			found(arg, line, tab[1] ? tab + 1 : NULL);
		}
	}
	buf_release(&b);
	free(path);
}

bool remember_any(const char *kind, const char *where)
{
	char *path = file_of(kind, where, 0);
	bool any = path && access(path, F_OK) == 0;

	free(path);
	return any;
}

struct remember_nearest {
	const char *typed;
	char *name;
	size_t *far;
	bool alike, found;
};

static void remember_nearer(struct remember_nearest *s, const char *name)
{
	size_t far;

	if (strlen(name) < REMEMBER_NAME && strcmp(name, s->typed) != 0 && value_near(s->typed, name, &far) &&
		far < *s->far) {
		memcpy(s->name, name, strlen(name) + 1);
		*s->far = far;
		s->found = true;
	}
}

static void remember_compare(void *arg, const char *name, const char *help)
{
	struct remember_nearest *s = arg;

	remember_nearer(s, name);
	if (s->alike && help)
		remember_nearer(s, help);
}

bool remember_near(const char *kind, const char *where, const char *typed, bool alike, char name[REMEMBER_NAME],
	size_t *far)
{
	struct remember_nearest s = { .typed = typed, .name = name, .far = far, .alike = alike };

	remember_each(kind, where, remember_compare, &s);
	return s.found;
}
