/* SPDX-License-Identifier: Apache-2.0 */
/* Small things about text that more than one room needs. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

bool str_starts(const char *s, const char *prefix);

/* list ends with NULL; NULL is an empty one. */
bool str_among(char *const *list, const char *s);

/* Whole text is a whole number in [min, max]; 0 or -EINVAL / -ERANGE. */
int str_to_long(const char *s, long min, long max, long *out);

/* How many edits (insert, delete, replace, swap) apart; large for long texts. */
size_t str_distance(const char *a, const char *b);

/* `~` and `~/x` to the home of this user ($HOME, else the password file). malloc'd or NULL. */
char *str_expand_home(const char *path);

/* Shell-style match of * and ? (no classes), as ssh_config patterns know them. */
bool str_glob(const char *pattern, const char *s);

/* Appends s as one word that every POSIX shell reads back as s. 0 or -errno. */
int str_quote_sh(struct buf *b, const char *s);

#endif
