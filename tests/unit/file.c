/* SPDX-License-Identifier: Apache-2.0 */
/* A file is written completely, with its mode, or stays as it was; no other file stays behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "base/buf.h"
#include "base/file.h"

static int entries(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode : 0;
}

static bool holds(const char *path, const char *text)
{
	struct buf b;
	bool same;

	buf_init(&b, 4096);
	same = buf_read_file(&b, path) == 0 && strcmp(buf_text(&b), text) == 0;
	buf_release(&b);
	return same;
}

/* What a person names may be anything; the folder is empty. */
static void test_put(void)
{
	int fd, ends[2];
	char word[4] = "", pipe_path[32];

	umask(027);
	is_int(file_put("new", "one", 3, 0666), 0, "a new file");
	ok(holds("new", "one") && mode_of("new") == (S_IFREG | 0640), "has what the umask leaves of its mode");
	ok(chmod("new", 0604) == 0 && symlink("new", "first") == 0 && symlink("first", "link") == 0,
		"(a link to a link)");
	is_int(file_put("link", "two", 3, 0666), 0, "through links");
	ok(holds("new", "two") && mode_of("new") == (S_IFREG | 0604), "their target is replaced, and keeps its mode");
	ok(S_ISLNK(mode_of("link")) && S_ISLNK(mode_of("first")), "and they stay");
	ok(unlink("new") == 0 && file_put("link", "three", 5, 0666) == 0 && holds("new", "three") &&
			mode_of("new") == (S_IFREG | 0640),
		"a target that is not there is made");
	is_int(entries("."), 3, "nothing else is there");
	is_int(file_put("none/x", "x", 1, 0666), -ENOENT, "no folder, no file");
	is_int(file_put(".", "x", 1, 0666), -EISDIR, "a folder is no file");
	ok(pipe(ends) == 0, "(a pipe)");
	snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", ends[1]);
	is_int(file_put(pipe_path, "abc", 3, 0666), 0, "into it");
	ok(read(ends[0], word, 3) == 3 && strcmp(word, "abc") == 0, "the pipe has it");
	close(ends[0]);
	close(ends[1]);
	is_int(file_put("/dev/full", "x", 1, 0666), -ENOSPC, "a device takes it, or says why not");
	fd = open("new", O_WRONLY | O_APPEND);
	snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", fd);
	ok(fd >= 0 && file_put(pipe_path, " more", 5, 0666) == 0 && holds("new", "three more"),
		"an open file goes on where it ends");
	close(fd);
	unlink("new");
	unlink("first");
	unlink("link");
}

int main(void)
{
	char top[] = "/tmp/nanopod-file.XXXXXX", folder[64], path[80];
	struct stat st = { 0 };
	struct buf b;

	if (!mkdtemp(top) || chdir(top) != 0)
		return 99;
	buf_init(&b, 4096);
	snprintf(folder, sizeof folder, "%s/a/b", top);
	snprintf(path, sizeof path, "%s/name", folder);
	is_int(file_replace(path, "x", 1, 0600), -ENOENT, "no folder, no file");
	is_int(file_folders(path), 0, "the folders above it are made");
	ok(stat(folder, &st) == 0 && (st.st_mode & 0777) == 0700, "for this user alone");
	is_int(file_folders(path), 0, "and may be there");
	is_int(file_replace(path, "one", 3, 0600), 0, "written");
	is_int(file_replace(path, "second", 6, 0644), 0, "and anew");
	ok(buf_read_file(&b, path) == 0, "read");
	is_str(buf_text(&b), "second", "whole");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644, "with its mode");
	is_int(entries(folder), 1, "nothing else is there");
	is_int(file_replace(folder, "x", 1, 0600), -EISDIR, "a folder is not replaced");
	snprintf(folder, sizeof folder, "%s/a", top);
	is_int(entries(folder), 1, "and nothing is left of the try");
	ok(symlink("target", "link") == 0 && file_replace("link", "x", 1, 0600) == 0 && lstat("link", &st) == 0 &&
		S_ISREG(st.st_mode) && access("target", F_OK) != 0, "a link is replaced, not followed");
	is_int(file_sync_folder("link"), 0, "the folder of a plain name is synced");
	is_int(file_sync_folder(path), 0, "and that of a path");
	unlink(path);
	unlink("link");
	snprintf(path, sizeof path, "%s/a/b", top);
	rmdir(path);
	rmdir(folder);
	test_put();
	rmdir(top);
	buf_release(&b);
	return done();
}
