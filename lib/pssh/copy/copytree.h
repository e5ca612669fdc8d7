/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files and directories of a copy, as a tree whose names fit under any root, and the paths for
 * both sides. It also walks the source of a put, once for all hosts.
 */
#ifndef PSSH_COPY_COPYTREE_H
#define PSSH_COPY_COPYTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fail.h"
#include "base/list.h"

struct digest;

enum { COPY_DEPTH = 100, COPY_NODES = 4 << 20 };

struct node {
	struct list link;
	struct node *parent;     /* NULL: the root, whose name is "" */
	char *name;
	uint64_t size;
	struct timespec mtime, atime;
	uint32_t mode;           /* permissions only */
	unsigned depth;
	bool dir;
	/* For a put; shared by all hosts. */
	size_t index;
	dev_t dev;
	ino_t ino;
	int fd;                  /* open while a copy reads it, else -1 */
	unsigned users;
	struct digest *digest;
	/* For a get. */
	char *real;              /* a directory's real path, as the server says */
	char *from;              /* its path on the host, if a pattern found it; else its parent says that */
	bool unsure;             /* its kind is unknown until the server is asked */
	bool made, has_times;
};

struct node *node_new(struct node *parent, const char *name, size_t len); /* NULL: out of memory */
void node_free(struct node *n);
char *node_path(const struct node *n, const char *root); /* malloc'd; NULL: out of memory */
char *node_source(const struct node *n, const char *root); /* the same on the host of a get, which may have patterns */

/* "a/b//" -> "a/b", "//" -> "/"; *slash: it ended in a slash. malloc'd. */
char *path_trim(const char *path, bool *slash);
char *path_join(const char *dir, const char *name, size_t len);
const char *path_base(const char *path); /* points into path, which must be trimmed */
char *path_dir(const char *path);        /* "." if path has no directory */

/* True for a plain name in a directory that leads nowhere else. */
bool name_is_safe(const char *name, size_t len);

struct copy_source {
	char *root;              /* local, trimmed */
	char *base;              /* its name under a directory; "" for "/" */
	unsigned flags;
	struct node **nodes;     /* parents before children; [0] is the root */
	size_t count, cap;
	uint64_t total;
	size_t failed;           /* how many could not be walked, and why for the first ones */
	struct fail *fails;
};

/* Copies share the descriptor; call node_close once for each node_open. PSSH_EAGAIN: no descriptor is left. */
int node_open(struct copy_source *s, struct node *n, struct fail *f);
void node_close(struct node *n);

#endif
