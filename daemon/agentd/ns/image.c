/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/ns/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/ns/image_part.h"
#include "agentd/ns/ns.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"

enum { NAME_MAX_LEN = 64, JSON_MAX = 1 << 20, WHERE_MAX = 1024 };

bool image_name_good(const char *name)
{
	size_t len = strlen(name);

	return len && len <= NAME_MAX_LEN && *name != '.' && *name != '-' && strcmp(name, "lock") != 0 &&
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

int image_path(const char *images, const char *name, const char *more, char room[static IMAGE_PATH], struct fail *f)
{
	if (snprintf(room, IMAGE_PATH, "%s/%s%s", images, name, more) >= IMAGE_PATH)
		return fail_set(f, -ENAMETOOLONG, "the path of the folder '%s' is too long", images);
	return 0;
}

/* ---- Finding -------------------------------------------------------------------------------- */

static int image_read_about(struct image *out, struct fail *f)
{
	char path[sizeof out->path + 16];
	json_error_t error;
	json_t *j;

	snprintf(path, sizeof path, "%s/image.json", out->path);
	j = json_load_file(path, 0, &error);
	if (!j)
		return fail_set(f, -EINVAL,
			"the image '%s' is damaged (%s); 'nanopod host image build --again' repairs it", out->path,
			error.text);
	out->built_at = json_integer_value(json_object_get(j, "built_at"));
	out->form = strcmp(json_string_value(json_object_get(j, "form")) ? json_string_value(json_object_get(j, "form"))
									 : "",
			    "tar") == 0
		? IMAGE_TAR
		: IMAGE_FOLDER;
	json_decref(j);
	return 0;
}

int image_find(const char *images, const char *name, struct image *out, struct fail *f)
{
	char path[IMAGE_PATH], *real;
	struct image found = { 0 };
	int rc, n;

	if (!name)
		name = IMAGE_DEFAULT;
	if (!image_name_good(name))
		return fail_set(f, -EINVAL, "'%s' is not a valid image name", name);
	rc = image_path(images, name, "", path, f);
	if (rc)
		return rc;
	real = realpath(path, NULL);
	if (!real)
		return fail_set(f, -ENOENT, "no image '%s'; 'nanopod host image build%s%s' builds it",
			name, strcmp(name, IMAGE_DEFAULT) == 0 ? "" : " ",
			strcmp(name, IMAGE_DEFAULT) == 0 ? "" : name);
	n = snprintf(found.path, sizeof found.path, "%s", real);
	free(real);
	if (n >= (int)sizeof found.path)
		return fail_set(f, -ENAMETOOLONG, "the path of the folder '%s' is too long", images);
	rc = image_read_about(&found, f);
	if (rc)
		return rc;
	if (snprintf(found.root, sizeof found.root, "%.490s/%s", found.path,
		    found.form == IMAGE_TAR ? "root.tar" : "root") < 0 ||
		access(found.root, F_OK) != 0)
		return fail_set(f, -EINVAL, "the image '%s' is damaged; 'nanopod host image build --again' repairs it",
			found.path);
	*out = found;
	return 0;
}

int image_lock(const char *images, int *fd, struct fail *f)
{
	char path[IMAGE_PATH];
	int lock, rc = image_path(images, "lock", "", path, f);

	if (rc)
		return rc;
	rc = file_folders(path);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot make the folder '%s'", images);
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0)
		return fail_errno(f, -errno, errno, "cannot write into '%s'", images);
	if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
		close(lock);
		return fail_set(f, -EBUSY, "another build runs in '%s'; wait for it, or stop it", images);
	}
	*fd = lock;
	return 0;
}

/* ---- Who uses a build ------------------------------------------------------------------------- */

int image_hold(const struct image *i, const char *who, const char *dir, struct fail *f)
{
	char path[IMAGE_PATH];
	int rc = image_path(i->path, "held/", who, path, f);

	if (rc)
		return rc;
	rc = file_folders(path);
	if (!rc)
		rc = file_replace(path, dir, strlen(dir), 0600);
	return rc ? fail_errno(f, rc, -rc, "cannot record in '%s' that a node uses it", i->path) : 0;
}

/* Calls each for every entry of the folder whose name does not begin with '.'. */
static void each_in(const char *folder, void (*each)(const char *folder, const char *name, void *arg), void *arg)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			each(folder, e->d_name, arg);
	if (d)
		closedir(d);
}

static void drop_in(const char *images, const char *name, void *who)
{
	char path[IMAGE_PATH], held[IMAGE_PATH];

	if (strchr(name, '@') && image_path(images, name, "/held/", held, NULL) == 0 &&
		image_path(held, who, "", path, NULL) == 0)
		unlink(path);
}

void image_drop(const char *images, const char *who)
{
	each_in(images, drop_in, (void *)(uintptr_t)who);
}

static void count_held(const char *folder, const char *name, void *count)
{
	char path[IMAGE_PATH];
	struct buf b;

	buf_init(&b, WHERE_MAX);
	if (image_path(folder, name, "", path, NULL) == 0 && buf_read_file(&b, path) == 0) {
		if (access(buf_text(&b), F_OK) == 0)
			(*(size_t *)count)++;
		else
			unlink(path);
	}
	buf_release(&b);
}

size_t image_held(const char *build)
{
	char path[IMAGE_PATH];
	size_t count = 0;

	if (image_path(build, "held", "", path, NULL) == 0)
		each_in(path, count_held, &count);
	return count;
}

/* ---- Removing --------------------------------------------------------------------------------- */

int image_erase(const char *path, struct fail *f)
{
	struct stat st;
	int rc;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : fail_errno(f, -errno, errno, "cannot look at '%s'", path);
	rc = S_ISDIR(st.st_mode) ? ns_empty(path, NULL, f) : 0;
	if (!rc && (S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path)) != 0 && errno != ENOENT)
		rc = fail_errno(f, -errno, errno, "cannot remove '%s'", path);
	return rc;
}

struct sweep {
	const char *name, *current;
	struct fail *f;
	int rc;
};

/* Renames a build before it removes it, so that a half-removed build never looks complete. */
static void sweep_one(const char *images, const char *entry, void *arg)
{
	struct sweep *s = arg;
	size_t len = strlen(s->name);
	char path[IMAGE_PATH], gone[IMAGE_PATH];
	bool build = strncmp(entry, s->name, len) == 0 && entry[len] == '@' && !strchr(entry + len, '.');
	bool rest = strncmp(entry, s->name, len) == 0 &&
		(strcmp(entry + len, ".new") == 0 || strcmp(entry + len, ".gone") == 0 ||
			strcmp(entry + len, ".link") == 0 || strcmp(entry + len, ".log") == 0);
	int rc = 0;

	if ((!build && !rest) || image_path(images, entry, "", path, s->f) != 0 ||
		image_path(images, s->name, ".gone", gone, s->f) != 0)
		return;
	if (build && (strcmp(path, s->current) == 0 || image_held(path)))
		return;
	if (build) {
		rc = image_erase(gone, s->f);
		if (!rc && rename(path, gone) != 0)
			rc = fail_errno(s->f, -errno, errno, "cannot remove '%s'", path);
		if (!rc)
			rc = image_erase(gone, s->f);
	} else {
		rc = image_erase(path, s->f);
	}
	s->rc = s->rc ? s->rc : rc;
}

int image_sweep(const char *images, const char *name, struct fail *f)
{
	struct sweep s = { .name = name, .f = f };
	char path[IMAGE_PATH], current[PATH_MAX] = "";
	int rc = image_path(images, name, "", path, f);
	char *real = rc ? NULL : realpath(path, NULL);
	char *last = real ? strrchr(real, '/') : NULL;

	/* The link's folder may have another path than realpath's. */
	if (last)
		snprintf(current, sizeof current, "%s%s", images, last);
	free(real);
	s.current = current;
	if (!rc)
		each_in(images, sweep_one, &s);
	return rc ? rc : s.rc;
}

int image_remove(const char *images, const char *name, struct fail *f)
{
	char path[IMAGE_PATH];
	struct image image;
	int lock, rc;
	size_t held;

	if (!image_name_good(name))
		return fail_set(f, -EINVAL, "'%s' is not a valid image name", name);
	rc = image_find(images, name, &image, f);
	if (rc == -ENOENT)
		return fail_set(f, rc, "no image '%s'", name);
	held = rc ? 0 : image_held(image.path);
	if (held)
		return fail_set(f, -EADDRINUSE, "%zu node%s made from the image '%s'; end them first", held,
			held == 1 ? " was" : "s were", name);
	rc = image_lock(images, &lock, f);
	if (rc)
		return rc;
	rc = image_path(images, name, "", path, f);
	if (!rc && unlink(path) != 0 && errno != ENOENT)
		rc = fail_errno(f, -errno, errno, "cannot remove '%s'", path);
	if (!rc)
		rc = image_sweep(images, name, f);
	close(lock);
	return rc;
}
