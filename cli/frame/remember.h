/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the market told lately, for completion: it must answer at once and never touches the
 * network. Whatever goes wrong here is silent: nothing depends on it.
 */
#ifndef CLI_FRAME_REMEMBER_H
#define CLI_FRAME_REMEMBER_H

#include <stddef.h>

#define REMEMBER_TYPES "types"
#define REMEMBER_ORDERS "orders"
#define REMEMBER_RESERVATIONS "reservations"
#define REMEMBER_NODES "nodes"

/*
 * All that there is of a kind now, instead of what was known. where: the market's address, so that
 * another one's names are not offered. help may be NULL, and so may each of it.
 */
void remember_all(const char *kind, const char *where, const char *const *names, const char *const *help, size_t count);

/* One more. */
void remember_one(const char *kind, const char *where, const char *name, const char *help);

/* Where something about `where` is kept that anybody may lose; malloc'd, its folders may not be there. NULL: no memory. */
char *remember_path(const char *kind, const char *where);

void remember_each(const char *kind, const char *where, void (*found)(void *arg, const char *name, const char *help),
	void *arg);

#endif
