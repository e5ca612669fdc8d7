/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/kept_volumes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/disk.h"
#include "agentd/os/mount.h"
#include "agentd/os/statefile.h"

static const char volumes_json[] = "volume.json", volumes_gone[] = ".deleted";

static int volumes_path(const char *data, const char *id, const char *last, char room[VOLUME_PATH])
{
	int n = snprintf(room, VOLUME_PATH, "%s/volumes%s%s%s%s", data, *id ? "/" : "", id, *last ? "/" : "", last);

	return n < VOLUME_PATH ? 0 : -ENAMETOOLONG;
}

static int volumes_folder(const char *path, struct fail *f)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	return fail_errno(f, -errno, errno, "cannot make '%s'", path);
}

/* The lock is the folder itself: who waits for one that was put aside or deleted meanwhile looks again. */
int volume_lock(const char *data, const char *id, bool wait, struct fail *f)
{
	struct stat had, is;
	char path[VOLUME_PATH];
	int rc = volumes_path(data, id, "", path), fd;

	while (!rc) {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return fail_errno(f, -errno, errno, "cannot open '%s'", path);
		if (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0)
			rc = errno == EWOULDBLOCK ? -EBUSY : fail_errno(f, -errno, errno, "cannot lock '%s'", path);
		else if (fstat(fd, &had) == 0 && lstat(path, &is) == 0 && had.st_ino == is.st_ino &&
			had.st_dev == is.st_dev)
			return fd;
		close(fd);
	}
	return rc;
}

/* ---- What the market said ------------------------------------------------------------------ */

int volume_find(const char *data, const char *id, struct kept_volume *v)
{
	char path[VOLUME_PATH];
	json_t *j = NULL;
	int rc = volumes_path(data, id, volumes_json, path);

	*v = (struct kept_volume){ 0 };
	rc = rc ? rc : statefile_load(path, &j, NULL);
	if (rc)
		return rc;
	snprintf(v->id, sizeof v->id, "%s", id);
	statefile_text(j, "tenant", v->tenant, sizeof v->tenant);
	statefile_text(j, "name", v->name, sizeof v->name);
	statefile_text(j, "join", v->home.join, sizeof v->home.join);
	statefile_text(j, "agent", v->home.agent, sizeof v->home.agent);
	statefile_text(j, "market", v->home.url, sizeof v->home.url);
	v->bytes = statefile_int(j, "bytes", 0);
	v->mounted = statefile_bool(j, "mounted");
	v->named = statefile_bool(j, "named");
	json_decref(j);
	return *v->tenant && *v->name && v->bytes > 0 ? 0 : -EINVAL;
}

/* Needs no lock: the agent alone writes it, and who reads it has the old one or the new one. */
static int kept_volume_write(const char *data, const struct kept_volume *v, struct fail *f)
{
	char path[VOLUME_PATH];

	if (volumes_path(data, v->id, volumes_json, path))
		return fail_set(f, -ENAMETOOLONG, "the path of '%s' is too long", data);
	return statefile_json(path,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:b}", "market", v->home.url, "agent", v->home.agent,
			"join", v->home.join, "tenant", v->tenant, "name", v->name, "bytes", (json_int_t)v->bytes,
			"mounted", (int)v->mounted, "named", (int)v->named),
		f);
}

static bool kept_volume_same(const struct kept_volume *a, const struct kept_volume *b)
{
	return strcmp(a->name, b->name) == 0 && a->bytes == b->bytes && a->mounted == b->mounted &&
		a->named == b->named && strcmp(a->home.url, b->home.url) == 0;
}

static bool volume_is_of(const struct kept_volume *v, const struct volume_home *home)
{
	return strcmp(v->home.join, home->join) == 0 && strcmp(v->home.agent, home->agent) == 0;
}

/* It has no words that a node would take: none at all, or damaged ones. */
static bool volume_is_mute(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR || rc == -EINVAL || rc == -EFBIG;
}

int volumes_hide(const char *data, const char *id, bool named, struct fail *f)
{
	struct kept_volume old;
	int rc = volume_find(data, id, &old);

	if (volume_is_mute(rc))
		return 0;
	if (rc)
		return fail_errno(f, rc, -rc, "cannot read '%s/volumes/%s/%s'", data, id, volumes_json);
	if (!old.mounted && old.named == named)
		return 0;
	old.mounted = false;
	old.named = named;
	return kept_volume_write(data, &old, f);
}

/* ---- Put aside ----------------------------------------------------------------------------- */

static int volumes_put_aside(const char *data, const char *id, char aside[VOLUME_PATH], struct fail *f)
{
	char path[VOLUME_PATH], to[VOLUME_PATH];
	int fd, rc, times = 0;

	rc = volumes_hide(data, id, false, f);
	fd = volume_lock(data, id, false, f);
	if (fd < 0)
		return rc ? rc : fd;
	volumes_path(data, id, "", path); /* aside no node sees it, whatever its words are */
	do {
		rc = snprintf(to, sizeof to, "%s.old-%d", path, ++times) < VOLUME_PATH ? 0 : -ENAMETOOLONG;
		rc = rc ? rc : access(to, F_OK) == 0 ? -EEXIST : rename(path, to) != 0 ? -errno : 0;
	} while (rc == -EEXIST);
	close(fd);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot put '%s' aside", path);
	memcpy(aside, to, sizeof to);
	return 0;
}

/* Has it data? A folder with neither these nor volume.json is one that was begun. */
static int volume_has_data(const char *data, const char *id)
{
	char path[VOLUME_PATH];
	int rc = volumes_path(data, id, "disk.img", path);

	if (rc || access(path, F_OK) == 0)
		return rc ? rc : 1;
	return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
}

/*
 * 1: it is to be put aside, being no volume of this home (and tenant; NULL: whosever), or damaged, or data of nobody
 * that is known; 0: it is not; or an error: what cannot be read now may be read later, and is its owner's still.
 */
static int volume_foreign(const char *data, const char *id, const struct volume_home *home, const char *tenant,
	struct fail *f)
{
	struct kept_volume old;
	int rc = volume_find(data, id, &old);

	if (rc == 0)
		return !volume_is_of(&old, home) || (tenant && strcmp(old.tenant, tenant) != 0);
	if (rc == -EINVAL || rc == -EFBIG)
		return 1;
	if (rc == -ENOENT)
		rc = volume_has_data(data, id);
	return rc < 0 ? fail_errno(f, rc, -rc, "cannot read '%s/volumes/%s/%s'", data, id, volumes_json) : rc;
}

int volumes_keep(const char *data, const struct kept_volume *v, char aside[VOLUME_PATH], struct fail *f)
{
	char path[VOLUME_PATH];
	struct kept_volume old;
	int rc = volume_foreign(data, v->id, &v->home, v->tenant, f);

	aside[0] = '\0';
	if (rc > 0)
		rc = volumes_put_aside(data, v->id, aside, f);
	if (rc || (volume_find(data, v->id, &old) == 0 && kept_volume_same(&old, v)))
		return rc;
	rc = volumes_path(data, "", "", path);
	rc = rc ? rc : volumes_folder(path, f);
	rc = rc ? rc : volumes_path(data, v->id, "", path);
	rc = rc ? rc : volumes_folder(path, f);
	return rc ? rc : kept_volume_write(data, v, f);
}

/* ---- Deleted ------------------------------------------------------------------------------- */

/* A node may still have the file, though not what was in it: its room is free at once. */
static void volumes_unlink(int folder, const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	unlinkat(folder, name, 0);
}

/* Can be repeated wherever it stopped. */
static int volumes_remove(const char *path, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			volumes_unlink(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return rmdir(path) == 0 || errno == ENOENT ? 0 : fail_errno(f, -errno, errno, "cannot remove '%s'", path);
}

/* From here on it is no volume, whatever happens: nobody mounts what was deleted in part. */
static int volumes_begin_end(const char *data, const char *id, const char *gone, struct fail *f)
{
	char path[VOLUME_PATH], disk[VOLUME_PATH];
	int fd = volume_lock(data, id, false, f), rc = volumes_path(data, id, "disk.img", disk);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = rc ? rc : volumes_path(data, id, "", path);
	if (!rc && mount_file_busy(disk))
		rc = mount_file_cut(disk, path);
	if (!rc && rename(path, gone) != 0)
		rc = fail_errno(f, -errno, errno, "cannot delete '%s'", path);
	close(fd);
	return rc;
}

int volumes_delete(const char *data, const struct kept_volume *v, struct fail *f)
{
	char path[VOLUME_PATH], gone[VOLUME_PATH + sizeof volumes_gone];
	int rc = volumes_path(data, v->id, "", path);

	if (rc)
		return fail_set(f, rc, "the path of '%s' is too long", data);
	snprintf(gone, sizeof gone, "%s%s", path, volumes_gone);
	rc = volumes_remove(gone, f);
	rc = rc ? rc : volume_foreign(data, v->id, &v->home, v->tenant, f);
	if (rc)
		return rc < 0 ? rc : 0; /* of others: nothing of this home's and tenant's is there */
	rc = volumes_begin_end(data, v->id, gone, f);
	return rc ? rc : volumes_remove(gone, f);
}

/* ---- All of them --------------------------------------------------------------------------- */

/* fn(arg, name) of each entry. What cannot be listed is an error: a node would start without its volumes. */
static int volumes_entries(const char *data, int (*fn)(void *arg, const char *name), void *arg, struct fail *f)
{
	char path[VOLUME_PATH];
	struct dirent *e = NULL;
	int rc = volumes_path(data, "", "", path), error = 0;
	DIR *d = rc ? NULL : opendir(path);

	if (!d)
		return rc || errno != ENOENT ? fail_errno(f, rc ? rc : -errno, errno, "cannot open '%s'", path) : 0;
	do {
		errno = 0;
		e = readdir(d);
		error = e ? 0 : errno;
		if (e && e->d_name[0] != '.' && strlen(e->d_name) < VOLUME_NAME)
			rc = fn(arg, e->d_name);
	} while (!rc && e);
	closedir(d);
	return error ? fail_errno(f, -error, error, "cannot read '%s'", path) : rc;
}

struct volumes_walk {
	const char *data;
	int (*each)(void *arg, const struct kept_volume *v);
	void (*stray)(void *arg, const struct stray_volume *v);
	void *arg;
	const struct volume_home *home;
	struct fail *f;
	int count, rc;
};

static bool volumes_is_plain(const char *name)
{
	return !strchr(name, '.');
}

static int volumes_each_one(void *arg, const char *name)
{
	const struct volumes_walk *w = arg;
	struct kept_volume v;
	int rc = volumes_is_plain(name) ? volume_find(w->data, name, &v) : -ENOENT;

	if (rc == -ENOENT || rc == -ENOTDIR)
		return 0;
	if (rc) {
		v = (struct kept_volume){ .unread = rc };
		snprintf(v.id, sizeof v.id, "%s", name);
	}
	return w->each(w->arg, &v);
}

int volumes_each(const char *data, int (*fn)(void *arg, const struct kept_volume *v), void *arg, struct fail *f)
{
	struct volumes_walk w = { .data = data, .each = fn, .arg = arg };

	return volumes_entries(data, volumes_each_one, &w, f);
}

static int volumes_settle_one(void *arg, const char *name)
{
	struct volumes_walk *w = arg;
	const char *end = strchr(name, '.');
	char path[VOLUME_PATH], aside[VOLUME_PATH];
	struct stat st;
	int rc = volumes_path(w->data, name, "", path);

	if (rc || lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (end && strcmp(end, volumes_gone) == 0)
		rc = volumes_remove(path, w->f);
	else if (!end)
		rc = volume_foreign(w->data, name, w->home, NULL, w->f);
	if (rc > 0)
		rc = volumes_put_aside(w->data, name, aside, w->f);
	else if (rc == 0 && !end)
		statefile_tidy(path, volumes_json);
	w->rc = w->rc ? w->rc : rc;
	return 0;
}

int volumes_settle(const char *data, const struct volume_home *home, struct fail *f)
{
	struct volumes_walk w = { .data = data, .home = home, .f = f };
	int rc = volumes_entries(data, volumes_settle_one, &w, f);

	return rc ? rc : w.rc;
}

static int volumes_stray_one(void *arg, const char *name)
{
	struct volumes_walk *w = arg;
	struct stray_volume s = { .aside = strstr(name, ".old-") != NULL };
	struct kept_volume v;
	char path[VOLUME_PATH];
	int rc = volume_find(w->data, name, &v);

	if (s.aside ? false : !volumes_is_plain(name) || rc || v.named)
		return 0;
	if (volumes_path(w->data, name, "", s.path) || volumes_path(w->data, name, "disk.img", path))
		return 0;
	s.held = disk_held(path);
	s.home = v.home;
	w->count++;
	if (w->stray)
		w->stray(w->arg, &s);
	return 0;
}

int volumes_stray(const char *data, void (*fn)(void *arg, const struct stray_volume *v), void *arg)
{
	struct volumes_walk w = { .data = data, .stray = fn, .arg = arg };

	volumes_entries(data, volumes_stray_one, &w, NULL);
	return w.count;
}
