/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the market listed lately, for completion, which must answer at once and never touches the
 * network. Failures are silent: nothing depends on these names.
 */
#ifndef CLI_FRAME_REMEMBER_H
#define CLI_FRAME_REMEMBER_H

#include <stdbool.h>
#include <stddef.h>

#define REMEMBER_TYPES "types"
#define REMEMBER_ORDERS "orders"
#define REMEMBER_ACCOUNTS "accounts" /* an operator's */
#define REMEMBER_RESERVATIONS "reservations"
#define REMEMBER_NODES "nodes"
#define REMEMBER_RELEASED "released" /* reservations, with the end that a release gave them */

enum { REMEMBER_NAME = 64 };

/*
 * Replaces the names of a kind. where: the market's address, so that completion offers no names of another
 * one; NULL: remembers nothing. help, and each member of it, may be NULL.
 */
void remember_all(const char *kind, const char *where, const char *const *names, const char *const *help, size_t count);

/* Adds one name. */
void remember_one(const char *kind, const char *where, const char *name, const char *help);

/* Path of a cache file about `where`, malloc'd; its folders may not exist. NULL: out of memory. */
char *remember_path(const char *kind, const char *where);

/* False if it was true within a day: what is said once a day is said now. Forgets what it cannot write. */
bool remember_daily(const char *what);

void remember_each(const char *kind, const char *where, void (*found)(void *arg, const char *name, const char *help),
	void *arg);

/* Were names of the kind ever listed, even none? */
bool remember_any(const char *kind, const char *where);

/*
 * The name of a kind that a slip of the pen turns into `typed`, and how far it is; *far, at first SIZE_MAX, is how near
 * it has to be. alike: what is told beside a name is one, too. False: none is nearer.
 */
bool remember_near(const char *kind, const char *where, const char *typed, bool alike, char name[REMEMBER_NAME],
	size_t *far);

#endif
