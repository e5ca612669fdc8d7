/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks tests/fixtures/sysfs/NAME.tree (format: the README there) below a fresh folder, and removes it. */
#ifndef TESTS_INVENTORYTREE_H
#define TESTS_INVENTORYTREE_H

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"

/* Makes one file, link (target begins "-> ") or folder (path ends with '/'), with the folders above it. */
static void tree_put(const char *root, const char *path, const char *content)
{
	char full[2304];
	FILE *f;

	snprintf(full, sizeof full, "%s/%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0700);
		*p = '/';
	}
	if (full[strlen(full) - 1] == '/')
		return;
	unlink(full);
	if (strncmp(content, "-> ", 3) == 0) {
		if (symlink(content + 3, full) == 0)
			return;
	} else if ((f = fopen(full, "we"))) {
		fprintf(f, "%s\n", content);
		if (fclose(f) == 0)
			return;
	}
	diag("cannot make '%s'", full);
	exit(99);
}

/* Turns "\n" into a newline and '@' into the word, up to size - 1 bytes. */
static void tree_text(const char *from, const char *word, char *to, size_t size)
{
	size_t n = 0;

	for (; *from && n + 64 < size; from++) {
		if (*from == '\\' && from[1] == 'n') {
			to[n++] = '\n';
			from++;
		} else if (*from == '@' && word) {
			n += (size_t)snprintf(to + n, size - n, "%s", word);
		} else {
			to[n++] = *from;
		}
	}
	to[n] = '\0';
}

static void tree_line(const char *root, char *line)
{
	static char text[16384];
	char path[1024], *tab = strchr(line, '\t'), *open, *close;

	if (*line == '#' || !tab)
		return;
	*tab = '\0';
	open = strchr(line, '{');
	close = open ? strchr(open, '}') : NULL;
	if (!close) {
		tree_text(tab + 1, NULL, text, sizeof text);
		tree_put(root, line, text);
		return;
	}
	for (char *word = open + 1, *end; word < close; word = end + 1) {
		end = word + strcspn(word, ",}");
		snprintf(path, sizeof path, "%.*s%.*s%s", (int)(open - line), line, (int)(end - word), word, close + 1);
		char is = *end;

		*end = '\0';
		tree_text(tab + 1, word, text, sizeof text);
		*end = is;
		tree_put(root, path, text);
	}
}

/* Its folder in room, without a '/' at the end. */
static TAP_UNUSED void tree_unpack(const char *name, char *room, size_t size)
{
	const char *src = getenv("abs_top_srcdir");
	char file[1024];
	static char line[65536];
	FILE *f;

	snprintf(room, size, "%s/nanopod-tree.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	snprintf(file, sizeof file, "%s/tests/fixtures/sysfs/%s.tree", src ? src : ".", name);
	f = fopen(file, "re");
	if (!f || !mkdtemp(room)) {
		diag("cannot unpack '%s'", file);
		exit(99);
	}
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		tree_line(room, line);
	}
	fclose(f);
}

static int tree_drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static TAP_UNUSED void tree_remove(const char *root)
{
	nftw(root, tree_drop, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
