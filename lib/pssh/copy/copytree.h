/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and directories to be copied, as a tree whose names can be put under any root, and the
 * making of paths for both sides. What a put reads is walked here, once for all hosts.
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
	/* A put's: shared by all hosts. */
	size_t index;
	dev_t dev;
	ino_t ino;
	int fd;                  /* open while somebody reads it, else -1 */
	unsigned users;
	struct digest *digest;
	/* A get's. */
	char *real;              /* of a directory: the path that the server says it really has */
	bool unsure;             /* its kind is not known before it is asked for */
	bool made, has_times;
};

struct node *node_new(struct node *parent, const char *name, size_t len); /* NULL: out of memory */
void node_free(struct node *n);
char *node_path(const struct node *n, const char *root); /* malloc'd; NULL: out of memory */

/* "a/b//" -> "a/b", "//" -> "/"; *slash: it ended in one. malloc'd. */
char *path_trim(const char *path, bool *slash);
char *path_join(const char *dir, const char *name, size_t len);
const char *path_base(const char *path); /* within path, of a trimmed one */
char *path_dir(const char *path);        /* "." where there is none */

/* One name of a directory and nothing that leads elsewhere. */
bool name_is_safe(const char *name, size_t len);

/*
 * The temporary name beside a target: always the same with `resume`, so that it is found again;
 * else one that nobody else has, so that two copies of one file do not meet.
 */
char *path_temp(const char *target, bool resume);

struct copy_source {
	char *root;              /* local, trimmed */
	char *base;              /* the name it has under a directory; "" for "/" */
	unsigned flags;
	struct node **nodes;     /* parents before children; [0] is the root */
	size_t count, cap;
	uint64_t total;
	size_t failed;           /* what could not be walked, and why, of the first ones */
	struct fail *fails;
};

/* Shared between copies; node_close once for each node_open. PSSH_EAGAIN: no descriptor is left. */
int node_open(struct copy_source *s, struct node *n, struct fail *f);
void node_close(struct node *n);

#endif
