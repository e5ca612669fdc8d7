/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what a stranger has made: trees of any depth, folders without rights, names of any kind. */
#ifndef AGENTD_OS_WIPE_H
#define AGENTD_OS_WIPE_H

#include "base/fail.h"

/*
 * All that is in dir but the names in keep (ends with NULL; may be NULL). Never follows a link, never crosses
 * into another file system: what is mounted below is left and makes it fail with -EBUSY. dir not there: 0.
 */
int process_wipe(const char *dir, const char *const *keep, struct fail *f);

#endif
