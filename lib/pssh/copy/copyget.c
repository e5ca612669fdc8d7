/* SPDX-License-Identifier: Apache-2.0 */
/* Gets a tree: finds where it goes, and lists its directories while files arrive. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pssh/copy/copyjob.h"
#include "pssh/copy/copytemp.h"
#include "pssh/pssh_types.h"

enum { LISTINGS = 4, LISTS_AHEAD = 4, LINKS = 40 };

static bool copyget_nothing_to_send(struct job *j)
{
	(void)j;
	return true;
}

static bool copyget_at_end(struct job *j)
{
	(void)j;
	return false;
}

static char *real_name(const struct sftp_reply *r)
{
	struct sftp_reply names = *r;
	const char *name;
	struct sftp_attrs a;
	size_t len;
	bool bad;

	if (r->kind != SFTP_NAMES || !sftp_name(&names, &name, &len, &a, &bad) || !len || len > SFTP_PATH ||
		memchr(name, 0, len))
		return NULL;
	return strndup(name, len);
}

static void set_attrs(struct node *n, const struct sftp_attrs *a)
{
	n->size = a->flags & SFTP_ATTR_SIZE ? a->size : 0;
	n->mode = a->flags & SFTP_ATTR_MODE ? a->mode & 0777 : n->dir ? 0777 : 0666;
	n->has_times = (a->flags & SFTP_ATTR_TIMES) != 0;
	n->atime.tv_sec = a->atime;
	n->mtime.tv_sec = a->mtime;
}

/* ---- Where does it go? ----------------------------------------------------------------- */

static void copyget_root_reply(struct job *j, const struct sftp_reply *r)
{
	if (r->op == OP_REAL) {
		j->node->real = real_name(r);
		return;
	}
	j->attrs = r->attrs;
	if (r->kind != SFTP_ATTRS)
		job_fail_reply(j, r, "read", j->source);
}

static bool copyget_root_send(struct job *j)
{
	struct sftp *s = &j->copy->sftp;

	if (j->part == 0 && sftp_path(s, &j->asker, OP_STAT, SFTP_REQ_STAT, j->source))
		j->part++;
	if (j->part == 1 && sftp_path(s, &j->asker, OP_REAL, SFTP_REQ_REALPATH, j->source))
		j->part++;
	return j->part == 2;
}

/* The name under which to keep the source. For "." and ".." the server tells it, if it is safe. */
static const char *copyget_base_of(const struct job *j)
{
	const char *base = path_base(j->source);

	if (name_is_safe(base, strlen(base)))
		return base;
	base = j->node->real ? path_base(j->node->real) : "";
	return name_is_safe(base, strlen(base)) ? base : NULL;
}

/* Where a local path leads by links, also if nothing is there yet. malloc'd or NULL. */
static char *local_end(struct job *j, const char *local)
{
	char text[SFTP_PATH], *path = strdup(local);
	ssize_t n;

	for (int links = 0; path && (n = readlink(path, text, sizeof text)) >= 0; links++) {
		char *dir = path_dir(path);

		free(path);
		path = text[0] == '/' ? strndup(text, (size_t)n) : dir ? path_join(dir, text, (size_t)n) : NULL;
		free(dir);
		if (links == LINKS || n == (ssize_t)sizeof text) {
			job_fail(j, PSSH_ELOCAL, "'%s' is a link that leads nowhere", local);
			break;
		}
	}
	return path;
}

/* malloc'd, or NULL with the job failed. */
static char *local_root(struct job *j, bool dir)
{
	struct copy *c = j->copy;
	const char *base = copyget_base_of(j);
	struct stat st;
	char *path;

	if (!get_ready(j))
		return NULL;
	if (c->slash || (stat(c->local, &st) == 0 && S_ISDIR(st.st_mode))) {
		if (!base && !dir)
			job_fail(j, PSSH_EREMOTE, "'%s' has no name to save it under", j->source);
		path = base ? path_join(c->local, base, strlen(base)) : strdup(c->local);
	} else {
		path = local_end(j, c->local);
	}
	if (!path && !j->fail.code)
		job_no_memory(j);
	return path;
}

static bool copyget_root_next(struct job *j)
{
	struct copy *c = j->copy;
	struct node *n = j->node;
	bool dir = (j->attrs.flags & SFTP_ATTR_MODE) && S_ISDIR(j->attrs.mode);

	if (dir && !(c->flags & PSSH_COPY_RECURSIVE))
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is a directory, and this copy is not recursive",
			j->source);
	else if (!dir && (j->attrs.flags & SFTP_ATTR_MODE) && !S_ISREG(j->attrs.mode))
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is neither a file nor a directory", j->source);
	else
		c->root = local_root(j, dir);
	if (j->fail.code)
		return true;
	if (!dir) {
		char *in = path_dir(c->root);

		if (in)
			temp_tidy(in, c->machine);
		free(in);
	}
	j->node = NULL;
	set_attrs(n, &j->attrs);
	if (dir) {
		n->dir = true;
		get_queue_dir(c, n);
		return false;
	}
	c->progress.total += n->size;
	list_append(&c->files, &n->link);
	c->queued++;
	return false;
}

static const struct step root_steps[] = {
	[STEP_CLEAN] = { "clean", copyget_nothing_to_send, copyget_at_end },
	[STEP_FIRST] = { "stat", copyget_root_send, copyget_root_next },
};

/* ---- Directories ----------------------------------------------------------------------- */

enum { LIST_CLEAN, LIST_MAKE, LIST_READ, LIST_CLOSE };

/* Takes one name of a listing. Servers are not trusted: it must be a plain name. */
static void take_name(struct job *j, const char *name, size_t len, const struct sftp_attrs *a)
{
	struct copy *c = j->copy;
	uint32_t kind = a->flags & SFTP_ATTR_MODE ? a->mode & S_IFMT : 0;
	struct node *n;

	if ((len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.'))
		return;
	if (!name_is_safe(name, len)) {
		copy_say(c, PSSH_EREMOTE, "'%s': the server lists '%.*s', which is not a file name", j->source,
			len < 100 ? (int)len : 100, name);
		return;
	}
	if (kind && kind != S_IFREG && kind != S_IFDIR && kind != S_IFLNK) {
		copy_say(c, PSSH_EREMOTE, "'%s/%.*s' on the host is neither a file nor a directory", j->source,
			(int)len, name);
		return;
	}
	if (++c->known > COPY_NODES) {
		job_fail(j, PSSH_EREMOTE, "'%s' holds more than %d files", c->remote, COPY_NODES);
		return;
	}
	n = node_new(j->node, name, len);
	if (!n) {
		job_no_memory(j);
		return;
	}
	n->dir = kind == S_IFDIR;
	n->unsure = kind != S_IFDIR && kind != S_IFREG;
	set_attrs(n, a);
	if (n->dir) {
		get_queue_dir(c, n);
		return;
	}
	if (!n->unsure)
		c->progress.total += n->size;
	list_append(&c->files, &n->link);
	c->queued++;
}

static void list_reply(struct job *j, const struct sftp_reply *r)
{
	struct sftp_reply names = *r;
	const char *name;
	struct sftp_attrs a;
	size_t len;
	bool bad = false;

	if (r->op == OP_CLOSE) {
		j->open = false;
	} else if (r->kind == SFTP_HANDLE_IS) {
		j->handle = r->handle;
		j->open = true;
	} else if (r->kind == SFTP_NAMES) {
		if (!names.names)
			j->reading.ended = true;
		while (!j->fail.code && sftp_name(&names, &name, &len, &a, &bad))
			take_name(j, name, len, &a);
		if (bad)
			job_fail(j, PSSH_EPROTO, "the server's list of '%s' is damaged", j->source);
	} else if (r->status == SFTP_EOF) {
		j->reading.ended = true;
	} else {
		job_fail_reply(j, r, "list", j->source);
	}
}

static bool make_local(struct job *j)
{
	struct stat st;

	if (mkdir(j->target, j->node->mode | 0700) == 0) {
		j->node->made = true;
		return true;
	}
	if (errno == EEXIST && stat(j->target, &st) == 0 && S_ISDIR(st.st_mode)) {
		temp_tidy(j->target, j->copy->machine);
		return true;
	}
	job_fail_errno(j, errno, "cannot make the directory '%s'", j->target);
	return false;
}

static bool list_make(struct job *j)
{
	if (j->part == 0 && !make_local(j))
		return false;
	j->part = 1;
	return sftp_path(&j->copy->sftp, &j->asker, OP_LIST, SFTP_REQ_OPENDIR, j->source);
}

static bool list_made(struct job *j)
{
	return job_go(j, LIST_READ);
}

static bool list_read(struct job *j)
{
	while (!j->reading.ended && j->asker.waiting < LISTS_AHEAD && j->copy->queued < COPY_QUEUE)
		if (!sftp_handle(&j->copy->sftp, &j->asker, OP_LIST, SFTP_REQ_READDIR, &j->handle))
			break;
	return j->reading.ended;
}

static bool list_was_read(struct job *j)
{
	return job_go(j, LIST_CLOSE);
}

static bool list_close(struct job *j)
{
	return !j->open || sftp_handle(&j->copy->sftp, &j->asker, OP_CLOSE, SFTP_REQ_CLOSE, &j->handle);
}

static bool list_end(struct job *j)
{
	j->copy->listing--;
	return false;
}

static const struct step list_steps[] = {
	[LIST_CLEAN] = { "clean", list_close, list_end },
	[LIST_MAKE] = { "opendir", list_make, list_made },
	[LIST_READ] = { "readdir", list_read, list_was_read },
	[LIST_CLOSE] = { "close", list_close, list_end },
};

/* ---- Beginning and end ----------------------------------------------------------------- */

static struct job *copyget_start(struct copy *c, const struct step *steps, struct node *n,
	void (*reply)(struct job *, const struct sftp_reply *))
{
	struct job *j = job_start(c, steps, n);

	if (!j)
		return NULL;
	j->reply = reply;
	j->silent = true;
	j->source = node_source(n, c->remote);
	j->target = c->root ? node_path(n, c->root) : NULL;
	if (!j->source || (c->root && !j->target))
		job_no_memory(j);
	else if (strlen(j->source) > SFTP_PATH)
		job_fail(j, PSSH_EREMOTE, "'%s' on the host: the path is longer than %d bytes", n->name, SFTP_PATH);
	return j;
}

static bool begin_root(struct copy *c)
{
	struct node *n = node_new(NULL, "", 0);

	c->rooted = n && copyget_start(c, root_steps, n, copyget_root_reply);
	if (!c->rooted)
		node_free(n);
	return false;
}

static bool copyget_begin_list(struct copy *c, struct node *n)
{
	list_remove(&n->link);
	if (!copyget_start(c, list_steps, n, list_reply)) {
		list_append(&c->dirs, &n->link);
		return false;
	}
	list_append(&c->made_dirs, &n->link);
	c->listing++;
	return true;
}

static bool begin_file(struct copy *c, struct node *n)
{
	list_remove(&n->link);
	if (!get_file_start(c, n)) {
		list_append(&c->files, &n->link);
		return false;
	}
	c->queued--;
	return true;
}

bool get_begin(struct copy *c)
{
	bool going = true;

	if (!c->rooted)
		return c->glob ? glob_begin(c) : begin_root(c);
	while (going && c->count < COPY_JOBS) {
		struct list *dir = list_first(&c->dirs), *file = list_first(&c->files);

		if (dir && c->listing < LISTINGS && c->queued < COPY_QUEUE)
			going = copyget_begin_list(c, list_entry(dir, struct node, link));
		else if (file)
			going = begin_file(c, list_entry(file, struct node, link));
		else
			return c->count == 0;
	}
	return false;
}

static void finish_dir(struct copy *c, struct node *n)
{
	struct timespec times[2] = { n->atime, n->mtime };
	bool keep = c->flags & PSSH_COPY_PRESERVE;
	char *path = c->root ? node_path(n, c->root) : NULL;
	struct stat st;

	if (path && keep && (chmod(path, n->mode) || (n->has_times && utimensat(AT_FDCWD, path, times, 0))))
		copy_say(c, PSSH_ELOCAL, "cannot set mode and times of '%s': %s", path, strerror(errno));
	else if (path && !keep && n->made && (n->mode & 0700) != 0700 && stat(path, &st) == 0)
		(void)!chmod(path, st.st_mode & n->mode);
	free(path);
}

/* Sets modes and times of directories once they are complete; children first. */
void get_finish(struct copy *c)
{
	for (struct list *l = c->made_dirs.prev; l != &c->made_dirs; l = l->prev)
		finish_dir(c, list_entry(l, struct node, link));
}
