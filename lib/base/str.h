/* SPDX-License-Identifier: Apache-2.0 */
/* Small text functions that more than one room needs. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

bool str_starts(const char *s, const char *prefix);

/* list ends with NULL; a NULL list is empty. */
bool str_among(char *const *list, const char *s);

/* s must be a decimal number in [min, max] and nothing else. 0, -EINVAL or -ERANGE. */
int str_to_long(const char *s, long min, long max, long *out);

/* How many edits (insert, delete, replace, swap) turn a into b; SIZE_MAX above 64 characters. */
size_t str_distance(const char *a, const char *b);

/* Expands `~` and `~/x` to this user's home ($HOME, else the password file). malloc'd or NULL. */
char *str_expand_home(const char *path);

/* Matches * and ? as ssh_config patterns do; no [classes]. */
bool str_glob(const char *pattern, const char *s);

/* Appends s as one word that every POSIX shell reads back as s. 0 or -errno. */
int str_quote_sh(struct buf *b, const char *s);

#endif
