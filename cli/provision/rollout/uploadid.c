/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/rollout/uploadid.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "cli/frame/command.h"

enum { SUMS = 1 << 20, DEEPEST = 16 };

void uploadid_sums(const char *path, struct buf *out)
{
	static const char *const names[] = { "SHA256SUMS", "sha256sums" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *file;
		struct buf b;

		if (asprintf(&file, "%s/%s", path, names[i]) < 0)
			command_nomem();
		buf_init(&b, SUMS);
		if (buf_read_file(&b, file) == 0 && !memchr(buf_text(&b), '\0', b.len) &&
			buf_add(out, buf_text(&b), b.len) == 0)
			i = sizeof names / sizeof *names;
		buf_release(&b);
		free(file);
	}
}

/* Sums the entries, so that the order in which the folder is read does not matter. */
static uint64_t sum_of(const char *path, const char *name, int depth)
{
	uint64_t sum;
	struct stat st;
	struct dirent *entry;
	DIR *dir;

	if (stat(path, &st) != 0)
		return 0;
	sum = hash_more(HASH_BEGIN, name, strlen(name));
	if (!S_ISDIR(st.st_mode))
		return hash_more(hash_more(sum, &st.st_size, sizeof st.st_size), &st.st_mtim, sizeof st.st_mtim);
	dir = depth < DEEPEST ? opendir(path) : NULL;
	while (dir && (entry = readdir(dir))) {
		char *below;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0)
			command_nomem();
		sum += hash_more(sum_of(below, entry->d_name, depth + 1), name, strlen(name));
		free(below);
	}
	if (dir)
		closedir(dir);
	return sum;
}

void uploadid_add(const char *path, struct buf *out)
{
	struct buf sums;
	uint64_t sum;

	buf_init(&sums, SUMS);
	uploadid_sums(path, &sums);
	sum = sums.len ? hash_more(HASH_BEGIN, sums.data, sums.len) : sum_of(path, "", 0);
	buf_release(&sums);
	if (sum && buf_addf(out, "%016" PRIx64, sum) != 0)
		command_nomem();
}
