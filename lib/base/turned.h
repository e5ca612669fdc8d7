/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of lines that is only appended to, and what it was before: when PATH is full it becomes PATH.1, the next one
 * PATH.2, and PATH begins anew. Who reads it knows a file by its first line, whatever it is called by then.
 */
#ifndef BASE_TURNED_H
#define BASE_TURNED_H

#include <stddef.h>
#include <stdint.h>

/* The numbers of those before PATH, in ascending order, malloc'd. 0 or -errno. */
int turned_list(const char *path, uint64_t **numbers, size_t *count);

char *turned_path(const char *path, uint64_t number); /* malloc'd; NULL: out of memory */

/* A hash of its first line; 0: it has no whole one. 0 or -errno. */
int turned_mark(int fd, uint64_t *mark);

#endif
