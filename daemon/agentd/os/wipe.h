/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what a tenant left behind: trees of any depth, folders without rights, names of any kind. */
#ifndef AGENTD_OS_WIPE_H
#define AGENTD_OS_WIPE_H

#include "base/fail.h"

/*
 * Removes all in dir but the names in keep (ends with NULL; may be NULL). Never follows a link and never crosses into
 * another file system: a mount below stays and makes it fail with -EBUSY. No such dir: 0.
 */
int wipe_folder(const char *dir, const char *const *keep, struct fail *f);

#endif
