/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/statefile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

enum { LOCK_STEP_MS = 10 };

int statefile_bytes(const char *path, const void *data, size_t len, mode_t mode, struct fail *f)
{
	int rc = file_replace(path, data, len, mode);

	if (!rc)
		rc = file_sync_folder(path);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

int statefile_json(const char *path, json_t *j, struct fail *f)
{
	char *text = j ? json_dumps(j, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
	int rc = text ? statefile_bytes(path, text, strlen(text), 0600, f)
		      : fail_set(f, -ENOMEM, "out of memory for '%s'", path);

	free(text);
	json_decref(j);
	return rc;
}

static json_malloc_t statefile_memory;
static bool statefile_short;

static void *statefile_take(size_t size)
{
	void *p = statefile_memory(size);

	statefile_short |= !p;
	return p;
}

/* Without memory jansson may call any text invalid; what is damaged must not be said of what is whole. */
static json_t *statefile_parse(const struct buf *text, bool *short_of)
{
	json_free_t give;
	json_t *j;

	json_get_alloc_funcs(&statefile_memory, &give);
	json_set_alloc_funcs(statefile_take, give);
	statefile_short = false;
	j = json_loadb(buf_text(text), text->len, JSON_REJECT_DUPLICATES, NULL);
	json_set_alloc_funcs(statefile_memory, give);
	*short_of = statefile_short;
	return j;
}

int statefile_load(const char *path, json_t **out, struct fail *f)
{
	bool short_of = false;
	struct buf text;
	json_t *j = NULL;
	int rc;

	buf_init(&text, STATEFILE_MAX);
	rc = buf_read_file(&text, path);
	if (rc)
		fail_errno(f, rc, -rc, "cannot read '%s'", path);
	else
		j = statefile_parse(&text, &short_of);
	buf_release(&text);
	if (rc)
		return rc;
	if (!j && short_of)
		return fail_set(f, -ENOMEM, "out of memory for '%s'", path);
	if (!json_is_object(j)) {
		json_decref(j);
		return fail_set(f, -EINVAL, "'%s' is damaged: it is no JSON object", path);
	}
	*out = j;
	return 0;
}

void statefile_text(const json_t *j, const char *name, char *room, size_t size)
{
	const char *text = json_string_value(json_object_get(j, name));

	room[0] = '\0';
	if (text && strlen(text) < size)
		memcpy(room, text, strlen(text) + 1);
}

int64_t statefile_int(const json_t *j, const char *name, int64_t missing)
{
	const json_t *v = json_object_get(j, name);

	return json_is_integer(v) ? json_integer_value(v) : missing;
}

bool statefile_bool(const json_t *j, const char *name)
{
	return json_is_true(json_object_get(j, name));
}

void statefile_tidy(const char *dir, const char *name)
{
	size_t len = strlen(name);
	struct dirent *e;
	DIR *d = opendir(dir);

	/* The names that mkostemp() in file_replace() makes. */
	while (d && (e = readdir(d)))
		if (str_starts(e->d_name, name) && e->d_name[len] == '.' && strlen(e->d_name) == len + 7)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

int statefile_path(char room[STATEFILE_PATH], const char *dir, const char *name, const char *last)
{
	int n = snprintf(room, STATEFILE_PATH, last ? "%s/%s/%s" : "%s/%s", dir, name, last);

	return n < STATEFILE_PATH ? 0 : -ENAMETOOLONG;
}

int statefile_lock(const char *dir, const char *name, int how, int64_t wait_ms, struct fail *f)
{
	int64_t until = clock_ms() + wait_ms;
	char path[STATEFILE_PATH];
	int fd, rc = statefile_path(path, dir, name, NULL);

	if (rc)
		return fail_set(f, rc, "the path of '%s' is too long", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	while (flock(fd, wait_ms < 0 ? how : how | LOCK_NB) != 0) {
		int error = errno;

		if (error == EINTR)
			continue;
		if (error == EWOULDBLOCK && clock_ms() < until) {
			poll(NULL, 0, LOCK_STEP_MS);
			continue;
		}
		close(fd);
		return error == EWOULDBLOCK ? -EBUSY : fail_errno(f, -error, error, "cannot lock '%s'", path);
	}
	return fd;
}
