/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/hostnames.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

enum { FILE_MAX = 4 << 20, FILES_MAX = 64, DEPTH_MAX = 8 };

struct search {
	void (*found)(void *arg, const char *name);
	void *arg;
	int files; /* files read so far: Includes may form a circle */
};

static bool hostnames_read_file(struct search *s, const char *path, struct buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	bool fine = fd >= 0 && s->files++ < FILES_MAX && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	/* Of a file above the ceiling it reads the beginning. */
	if (fine)
		(void)buf_read_fd(text, fd);
	if (fd >= 0)
		close(fd);
	return fine;
}

static bool hostnames_is_plain(const char *name)
{
	return *name && !name[strcspn(name, "*?!|/%\"'\\`$ ")];
}

static void read_config(struct search *s, const char *path, int depth);

static void hostnames_include(struct search *s, const char *pattern, int depth)
{
	char *full = NULL;
	glob_t paths;

	if (pattern[0] == '/')
		full = strdup(pattern);
	else if (pattern[0] == '~')
		full = str_expand_home(pattern);
	else {
		char *folder = str_expand_home("~/.ssh");

		if (folder && asprintf(&full, "%s/%s", folder, pattern) < 0)
			full = NULL;
		free(folder);
	}
	if (full && glob(full, 0, NULL, &paths) == 0) {
		for (size_t i = 0; i < paths.gl_pathc; i++)
			read_config(s, paths.gl_pathv[i], depth + 1);
		globfree(&paths);
	}
	free(full);
}

static void read_config(struct search *s, const char *path, int depth)
{
	char *rest, *line, *word;
	struct buf text;
	bool host;

	buf_init(&text, FILE_MAX);
	if (depth > DEPTH_MAX || !hostnames_read_file(s, path, &text) || !text.data) {
		buf_release(&text);
		return;
	}
	rest = text.data;
	while ((line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t");
		word = strsep(&line, " \t=");
		host = word && strcasecmp(word, "host") == 0;
		if (!host && !(word && strcasecmp(word, "include") == 0))
			continue;
		while ((word = strsep(&line, " \t=\"\r"))) {
			if (!*word)
				continue;
			if (host && hostnames_is_plain(word))
				s->found(s->arg, word);
			else if (!host)
				hostnames_include(s, word, depth);
		}
	}
	buf_release(&text);
}

void hostnames_config(const char *path, void (*found)(void *arg, const char *name), void *arg)
{
	struct search s = { .found = found, .arg = arg };

	read_config(&s, path, 0);
}

static void known_name(struct search *s, char *name)
{
	char *end = name[0] == '[' ? strchr(name, ']') : NULL;

	if (end) {
		memmove(end, end + 1, strlen(end));
		name++;
	}
	if (hostnames_is_plain(name))
		s->found(s->arg, name);
}

void hostnames_known(const char *path, void (*found)(void *arg, const char *name), void *arg)
{
	struct search s = { .found = found, .arg = arg };
	char *rest, *line, *names, *name;
	struct buf text;

	buf_init(&text, FILE_MAX);
	if (!hostnames_read_file(&s, path, &text) || !text.data) {
		buf_release(&text);
		return;
	}
	rest = text.data;
	while ((line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t");
		if (*line == '#' || *line == '@' || *line == '|')
			continue;
		names = strsep(&line, " \t");
		while ((name = strsep(&names, ",")))
			known_name(&s, name);
	}
	buf_release(&text);
}
