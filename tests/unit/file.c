/* SPDX-License-Identifier: Apache-2.0 */
/* A file is written completely, with its mode, or stays as it was; no other file stays behind. */
#include <dirent.h>
#include <errno.h>
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
	rmdir(top);
	buf_release(&b);
	return done();
}
