/* SPDX-License-Identifier: Apache-2.0 */
/* What a command keeps of a user from one run to the next: where, and for one command at a time. */
#ifndef BASE_KEPT_H
#define BASE_KEPT_H

#include "base/fail.h"

/* A path in nanopod's folder under $XDG_STATE_HOME or ~/.local/state. malloc'd; NULL: no home, or no memory. */
char *kept_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Makes path's folders and keeps other commands from it, by a file beside it, until *lock is closed. 0; -EBUSY with
 * "BUSY 'PATH'" where another one has it; -errno.
 */
int kept_lock(const char *path, const char *busy, int *lock, struct fail *f);

#endif
