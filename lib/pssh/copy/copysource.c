/* SPDX-License-Identifier: Apache-2.0 */
/* What a put reads: one file, or a tree walked once, with its descriptors shared by all hosts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pssh/copy/copy.h"
#include "pssh/copy/copytree.h"
#include "pssh/pssh_types.h"

enum { FAILS = 64 };

static void source_blame(struct copy_source *s, const struct fail *why)
{
	if (!s->fails)
		s->fails = calloc(FAILS, sizeof *s->fails);
	if (s->fails && s->failed < FAILS)
		s->fails[s->failed] = *why;
	s->failed++;
}

int copy_source_note(const struct copy_source *s, size_t i, struct fail *f)
{
	if (!s->fails || i >= s->failed || i >= FAILS)
		return 0;
	*f = s->fails[i];
	return 1;
}

static int source_add(struct copy_source *s, struct node *n, struct fail *f)
{
	if (s->count == COPY_NODES)
		return fail_set(f, PSSH_ELOCAL, "'%s' holds more than %d files", s->root, COPY_NODES);
	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct node **nodes = realloc(s->nodes, cap * sizeof *nodes);

		if (!nodes)
			return fail_set(f, PSSH_ENOMEM, "out of memory");
		s->nodes = nodes;
		s->cap = cap;
	}
	n->index = s->count;
	s->nodes[s->count++] = n;
	if (!n->dir)
		s->total += n->size;
	return 0;
}

static void node_set(struct node *n, const struct stat *st)
{
	n->size = (uint64_t)st->st_size;
	n->mtime = st->st_mtim;
	n->atime = st->st_atim;
	n->mode = st->st_mode & 0777;
	n->dir = S_ISDIR(st->st_mode);
	n->dev = st->st_dev;
	n->ino = st->st_ino;
}

/* Following a link to one of its parents would never end. */
static bool copysource_leads_back(const struct node *n)
{
	for (const struct node *up = n->parent; up; up = up->parent)
		if (up->dev == n->dev && up->ino == n->ino)
			return true;
	return n->depth >= COPY_DEPTH;
}

/* 0 also if the entry cannot be copied (the source remembers why). */
static int walk_entry(struct copy_source *s, struct node *dir, int dirfd, const char *name, struct fail *f)
{
	struct node *n = node_new(dir, name, strlen(name));
	char *path = n ? node_path(n, s->root) : NULL;
	struct fail why = { 0 };
	struct stat st;
	int rc = 0;

	if (!path) {
		rc = fail_set(f, PSSH_ENOMEM, "out of memory");
	} else if (fstatat(dirfd, name, &st, 0)) {
		fail_errno(&why, PSSH_ELOCAL, errno, "cannot read '%s'", path);
	} else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		fail_set(&why, PSSH_ELOCAL, "'%s' is neither a file nor a directory", path);
	} else {
		node_set(n, &st);
		if (n->dir && copysource_leads_back(n))
			fail_set(&why, PSSH_ELOCAL, "'%s' leads back to a parent, or too deep", path);
		else
			rc = source_add(s, n, f);
	}
	if (why.code)
		source_blame(s, &why);
	if (rc || why.code)
		node_free(n);
	free(path);
	return rc;
}

static int walk_dir(struct copy_source *s, struct node *n, struct fail *f)
{
	char *path = node_path(n, s->root);
	DIR *d = path ? opendir(path) : NULL;
	struct fail why;
	struct dirent *e;
	int rc = 0;

	if (!path)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	if (!d) {
		fail_errno(&why, PSSH_ELOCAL, errno, "cannot read the directory '%s'", path);
		source_blame(s, &why);
	}
	while (d && !rc && (errno = 0, e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = walk_entry(s, n, dirfd(d), e->d_name, f);
	if (d)
		closedir(d);
	free(path);
	return rc;
}

/* The name of the source; for "." and "/x/.." the real one. */
static char *source_base(const char *root)
{
	const char *base = path_base(root);
	char *real, *copy;

	if (*base && strcmp(base, ".") != 0 && strcmp(base, "..") != 0)
		return strdup(base);
	real = realpath(root, NULL);
	copy = real ? strdup(path_base(real)) : NULL;
	free(real);
	return copy;
}

static int source_open(struct copy_source *s, struct fail *f)
{
	struct node *root;
	struct stat st;
	int rc;

	if (stat(s->root, &st))
		return fail_errno(f, errno == ENOENT ? PSSH_ENOENT : PSSH_ELOCAL, errno, "cannot read '%s'", s->root);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return fail_set(f, PSSH_ELOCAL, "'%s' is neither a file nor a directory", s->root);
	if (S_ISDIR(st.st_mode) && !(s->flags & PSSH_COPY_RECURSIVE))
		return fail_set(f, PSSH_EINVAL, "'%s' is a directory, and this copy is not recursive", s->root);
	s->base = source_base(s->root);
	root = node_new(NULL, "", 0);
	if (!s->base || !root) {
		node_free(root);
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	}
	node_set(root, &st);
	rc = source_add(s, root, f);
	if (rc) {
		node_free(root);
		return rc;
	}
	for (size_t i = 0; i < s->count && !rc; i++)
		if (s->nodes[i]->dir)
			rc = walk_dir(s, s->nodes[i], f);
	if (rc || root->dir)
		return rc;
	/* An unreadable file should fail once here, not once on every host. */
	rc = node_open(s, root, f);
	if (rc == 0)
		node_close(root);
	return rc;
}

int copy_source_new(const char *local, unsigned flags, struct copy_source **out, struct fail *f)
{
	struct copy_source *s = calloc(1, sizeof *s);
	bool slash;
	int rc;

	if (!s)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	s->flags = flags;
	s->root = path_trim(local, &slash);
	if (!s->root)
		rc = fail_set(f, PSSH_ENOMEM, "out of memory");
	else
		rc = source_open(s, f);
	if (rc == 0 && slash && !s->nodes[0]->dir)
		rc = fail_set(f, PSSH_ELOCAL, "'%s' is not a directory", s->root);
	if (rc)
		copy_source_free(s);
	else
		*out = s;
	return rc;
}

void copy_source_free(struct copy_source *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		node_free(s->nodes[i]);
	free(s->nodes);
	free(s->fails);
	free(s->root);
	free(s->base);
	free(s);
}

int node_open(struct copy_source *s, struct node *n, struct fail *f)
{
	char *path;
	int rc = 0;

	if (n->users++)
		return 0;
	path = node_path(n, s->root);
	/* O_NONBLOCK: it may have become a pipe since, and opening must not wait for a writer. */
	n->fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (!path)
		rc = fail_set(f, PSSH_ENOMEM, "out of memory");
	else if (n->fd < 0)
		rc = fail_errno(f, errno == EMFILE || errno == ENFILE ? PSSH_EAGAIN : PSSH_ELOCAL, errno,
			"cannot read '%s'", path);
	free(path);
	if (rc)
		n->users--;
	else
		posix_fadvise(n->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return rc;
}

void node_close(struct node *n)
{
	if (--n->users)
		return;
	close(n->fd);
	n->fd = -1;
}
