/* SPDX-License-Identifier: Apache-2.0 */
/* Asks all keepers of a folder what they have, or to close it. */
#ifndef PSSH_KEEP_KEEPLIST_H
#define PSSH_KEEP_KEEPLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "pssh/pssh_types.h"

/*
 * *out is malloc'd, in no order; whoever does not answer soon is left out, and counted in *silent.
 * stop: each connection is closed when nobody uses it any more; keepers that do not answer are killed. 0 or a code.
 */
int keeplist_ask(int folder, bool stop, struct pssh_kept **out, size_t *count, size_t *silent, struct fail *f);

#endif
