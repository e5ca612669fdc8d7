/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/series/series.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SERIES_PATH = 4096 };

struct series {
	char folder[SERIES_PATH - 64];
};

int series_open(struct series **out, const char *folder, struct fail *f)
{
	struct series *s = calloc(1, sizeof *s);

	if (!s)
		return fail_set(f, -ENOMEM, "out of memory");
	if (strlen(folder) >= sizeof s->folder) {
		free(s);
		return fail_set(f, -ENAMETOOLONG, "the path '%.100s…' is too long", folder);
	}
	memcpy(s->folder, folder, strlen(folder) + 1);
	if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
		free(s);
		return fail_errno(f, -errno, errno, "cannot make the folder '%s'", folder);
	}
	*out = s;
	return 0;
}

void series_close(struct series *s)
{
	free(s);
}

static const char *series_path(const struct series *s, uint64_t agent, char path[SERIES_PATH])
{
	snprintf(path, SERIES_PATH, "%s/%" PRIu64 ".ring", s->folder, agent);
	return path;
}

int series_put(struct series *s, uint64_t agent, int64_t time, const struct ring_key *keys, const double *values,
	size_t count, struct fail *f)
{
	char path[SERIES_PATH];

	return s ? ring_put(series_path(s, agent, path), time, keys, values, count, f) : 0;
}

int series_read(struct series *s, uint64_t agent, const struct ring_key *keys, size_t count,
	const struct ring_span *span, double *mean, double *largest, struct fail *f)
{
	char path[SERIES_PATH];

	if (s)
		return ring_read(series_path(s, agent, path), keys, count, span, mean, largest, f);
	for (size_t i = 0; i < count * span->count; i++)
		mean[i] = largest[i] = NAN;
	return 0;
}

int series_keys(struct series *s, uint64_t agent, struct ring_key **keys, size_t *count, struct fail *f)
{
	char path[SERIES_PATH];

	*keys = NULL;
	*count = 0;
	return s ? ring_keys(series_path(s, agent, path), keys, count, f) : 0;
}

/* The clock of files is this machine's, which need not be the market's: with a test clock nothing gets old. */
void series_sweep(struct series *s, int64_t now)
{
	DIR *d = s ? opendir(s->folder) : NULL;
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)) != NULL) {
		const char *end = strrchr(e->d_name, '.');

		if (end && strcmp(end, ".ring") == 0 && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode) && st.st_mtime < now - (int64_t)RING_COARSE_STEP * RING_COARSE_ROWS)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}
