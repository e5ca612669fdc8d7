/* SPDX-License-Identifier: Apache-2.0 */
/* A short word for what a local file or folder holds, without reading all of it; a check compares it with what was brought. */
#ifndef CLI_PROVISION_ROLLOUT_UPLOADID_H
#define CLI_PROVISION_ROLLOUT_UPLOADID_H

#include "base/buf.h"

void uploadid_add(const char *path, struct buf *out);    /* "" where there is no such path */
void uploadid_sums(const char *path, struct buf *out);   /* text of its list of checksums, if it has one */

#endif
