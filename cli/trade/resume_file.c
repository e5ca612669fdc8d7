/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/resume_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"
#include "base/kept.h"

enum { FILE_MAX = 1 << 20, VALUES_MAX = 4096, ID_BYTES = 10 };

/* The format keeps its first name: files of earlier versions are still read. */
static const char heading[] = "nanopod-intent 1\n";

struct value {
	char *name, *text;
};

struct resume_file {
	char *path;
	int fd;
	char id[2 * ID_BYTES + 1];
	struct value *values;
	size_t count, room;
};

/* ---- Where ----------------------------------------------------------------------------- */

/* malloc'd, ends with '/'. Earlier versions look for unfinished purchases in the same folder. */
static char *resume_file_folder(void)
{
	return kept_path("intents/");
}

/*
 * Looking through the files locks each for a moment. This lock keeps two that look from taking each other
 * for the owner of a file. -1: there is no folder, hence no file.
 */
static int lock_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
		;
	return fd;
}

/* ---- Values ---------------------------------------------------------------------------- */

static int resume_file_keep(struct resume_file *i, char *name, char *text)
{
	for (size_t k = 0; k < i->count; k++) {
		if (strcmp(i->values[k].name, name) != 0)
			continue;
		free(i->values[k].text);
		free(name);
		i->values[k].text = text;
		return 0;
	}
	if (i->count == i->room) {
		size_t room = i->room ? i->room * 2 : 16;
		struct value *grown = room <= VALUES_MAX ? realloc(i->values, room * sizeof *grown) : NULL;

		if (!grown) {
			free(name);
			free(text);
			return -ENOMEM;
		}
		i->values = grown;
		i->room = room;
	}
	i->values[i->count++] = (struct value){ name, text };
	return 0;
}

const char *resume_file_get(const struct resume_file *i, const char *name)
{
	for (size_t k = 0; k < i->count; k++)
		if (strcmp(i->values[k].name, name) == 0)
			return i->values[k].text;
	return NULL;
}

const char *resume_file_key(const struct resume_file *i, const char *step, char room[RESUME_FILE_KEY])
{
	snprintf(room, RESUME_FILE_KEY, "np-%s-%s", i->id, step);
	return room;
}

const char *resume_file_command(const struct resume_file *i)
{
	const char *text = resume_file_get(i, "command");

	return text ? text : "";
}

int64_t resume_file_begun(const struct resume_file *i)
{
	const char *text = resume_file_get(i, "begun");
	long n = 0;

	return text && str_to_long(text, 0, LONG_MAX, &n) == 0 ? n : 0;
}

/* ---- On disk --------------------------------------------------------------------------- */

/* One line for each value: \ and newline are written as \\ and \n. */
static int resume_file_add_line(struct buf *b, const char *name, const char *text)
{
	int rc = buf_addf(b, "%s ", name);

	for (; *text && !rc; text++)
		rc = *text == '\n' ? buf_adds(b, "\\n") : *text == '\\' ? buf_adds(b, "\\\\") : buf_addc(b, *text);
	return rc ? rc : buf_addc(b, '\n');
}

static void resume_file_unescape(char *text)
{
	char *w = text;

	for (; *text; text++) {
		if (*text == '\\' && text[1]) {
			text++;
			*w++ = *text == 'n' ? '\n' : *text;
		} else {
			*w++ = *text;
		}
	}
	*w = '\0';
}

static int write_synced(int fd, const struct buf *b)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* A crash tore a last line that has no newline; nobody acted upon it, so it is cut off. */
static int resume_file_parse(struct resume_file *i, struct buf *text)
{
	size_t whole = strlen(heading);
	char *line;

	if (text->len < whole || memcmp(text->data, heading, whole) != 0)
		return -EINVAL;
	for (line = text->data + whole; (size_t)(line - text->data) < text->len;) {
		char *end = strchr(line, '\n'), *blank, *name, *value;

		if (!end)
			break;
		*end = '\0';
		blank = strchr(line, ' ');
		if (!blank)
			return -EINVAL;
		*blank = '\0';
		name = strdup(line);
		value = strdup(blank + 1);
		if (!name || !value) {
			free(name);
			free(value);
			return -ENOMEM;
		}
		resume_file_unescape(value);
		if (resume_file_keep(i, name, value))
			return -ENOMEM;
		line = end + 1;
	}
	return ftruncate(i->fd, line - text->data) < 0 ? -errno : 0;
}

void resume_file_free(struct resume_file *i)
{
	if (!i)
		return;
	if (i->fd >= 0)
		close(i->fd);
	for (size_t k = 0; k < i->count; k++) {
		free(i->values[k].name);
		free(i->values[k].text);
	}
	free(i->values);
	free(i->path);
	free(i);
}

/* NULL where a living command holds the lock or has just removed the file. */
static struct resume_file *resume_file_open_one(const char *dir, const char *name)
{
	struct resume_file *i = calloc(1, sizeof *i);
	struct stat st;
	struct buf text;
	bool good;

	if (!i)
		return NULL;
	buf_init(&text, FILE_MAX);
	snprintf(i->id, sizeof i->id, "%s", name);
	i->fd = -1;
	if (asprintf(&i->path, "%s%s", dir, name) < 0)
		i->path = NULL;
	else
		i->fd = open(i->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	good = i->fd >= 0 && flock(i->fd, LOCK_EX | LOCK_NB) == 0 && fstat(i->fd, &st) == 0 && S_ISREG(st.st_mode) &&
		st.st_nlink > 0 && st.st_uid == geteuid() && buf_read_fd(&text, i->fd) == 0 && text.len &&
		resume_file_parse(i, &text) == 0;
	buf_release(&text);
	if (good && resume_file_get(i, "match"))
		return i;
	resume_file_free(i);
	return NULL;
}

static bool resume_file_is_id(const char *name)
{
	return strlen(name) == 2 * ID_BYTES && !name[strspn(name, "0123456789abcdef")];
}

static int older_first(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_resume_file(const struct dirent *d)
{
	return resume_file_is_id(d->d_name);
}

int resume_file_find(const char *match, struct resume_file **out, struct fail *f)
{
	struct dirent **names = NULL;
	struct resume_file *best = NULL;
	char *dir = resume_file_folder();
	int n, lock;

	if (!dir)
		return fail_set(f, -ENOMEM, "cannot find your unfinished purchases: HOME is not set");
	lock = lock_folder(dir);
	n = scandir(dir, &names, is_resume_file, older_first);
	for (int k = 0; k < n; k++) {
		struct resume_file *i = resume_file_open_one(dir, names[k]->d_name);

		if (i && strcmp(resume_file_get(i, "match"), match) == 0 &&
			(!best || resume_file_begun(i) < resume_file_begun(best))) {
			resume_file_free(best);
			best = i;
		} else {
			resume_file_free(i);
		}
		free(names[k]);
	}
	if (lock >= 0)
		close(lock);
	free(names);
	free(dir);
	*out = best;
	return 0;
}

size_t resume_file_each(const char *prefix, bool (*found)(void *arg, const struct resume_file *i), void *arg)
{
	struct dirent **names = NULL;
	char *dir = resume_file_folder();
	int lock = dir ? lock_folder(dir) : -1, n = dir ? scandir(dir, &names, is_resume_file, older_first) : 0;
	bool more = true;
	size_t shown = 0;

	for (int k = 0; k < n; k++) {
		struct resume_file *i = more ? resume_file_open_one(dir, names[k]->d_name) : NULL;

		if (i && str_starts(resume_file_get(i, "match"), prefix)) {
			more = found(arg, i);
			shown++;
		}
		resume_file_free(i);
		free(names[k]);
	}
	if (lock >= 0)
		close(lock);
	free(names);
	free(dir);
	return shown;
}

static int resume_file_create(struct resume_file *i, char *dir)
{
	unsigned char random[ID_BYTES];
	int rc = file_folders(dir), lock;

	if (rc)
		return rc;
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	for (size_t k = 0; k < sizeof random; k++)
		snprintf(i->id + 2 * k, 3, "%02x", random[k]);
	if (asprintf(&i->path, "%s%s", dir, i->id) < 0) {
		i->path = NULL;
		return -ENOMEM;
	}
	lock = lock_folder(dir);
	i->fd = open(i->path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	rc = i->fd < 0 || flock(i->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	if (lock >= 0)
		close(lock);
	return rc;
}

static int resume_file_remember(struct resume_file *i, const char *name, const char *text)
{
	char *a = strdup(name), *b = strdup(text);

	if (a && b)
		return resume_file_keep(i, a, b);
	free(a);
	free(b);
	return -ENOMEM;
}

int resume_file_new(const char *match, const char *command, int64_t begun, struct resume_file **out, struct fail *f)
{
	struct resume_file *i = calloc(1, sizeof *i);
	char *dir = resume_file_folder(), when[32];
	struct buf b;
	int rc;

	buf_init(&b, FILE_MAX);
	snprintf(when, sizeof when, "%" PRId64, begun);
	if (i)
		i->fd = -1;
	rc = i && dir ? resume_file_create(i, dir) : -ENOMEM;
	if (!rc &&
		(buf_adds(&b, heading) || resume_file_add_line(&b, "match", match) ||
			resume_file_add_line(&b, "command", command) || resume_file_add_line(&b, "begun", when) ||
			resume_file_remember(i, "match", match) || resume_file_remember(i, "command", command) ||
			resume_file_remember(i, "begun", when)))
		rc = -ENOMEM;
	rc = rc ? rc : write_synced(i->fd, &b);
	rc = rc ? rc : file_sync_folder(i->path);
	buf_release(&b);
	if (rc) {
		fail_errno(f, rc, -rc, "cannot write '%s', so nothing was sent",
			i && i->path  ? i->path
				: dir ? dir
				      : "HOME");
		if (i && i->fd >= 0)
			unlink(i->path);
		resume_file_free(i);
	} else {
		*out = i;
	}
	free(dir);
	return rc;
}

int resume_file_set(struct resume_file *i, const char *name, const char *value, struct fail *f)
{
	struct buf b;
	int rc;

	buf_init(&b, FILE_MAX);
	rc = resume_file_add_line(&b, name, value);
	rc = rc ? rc : write_synced(i->fd, &b);
	rc = rc ? rc : resume_file_remember(i, name, value);
	buf_release(&b);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", i->path) : 0;
}

int resume_file_end(struct resume_file *i, struct fail *f)
{
	int rc = unlink(i->path) < 0 && errno != ENOENT ? -errno : 0;

	if (rc)
		fail_errno(f, rc, -rc, "cannot remove '%s'", i->path);
	file_sync_folder(i->path); /* if a crash brings it back, the same command gets the same answers */
	resume_file_free(i);
	return rc;
}
