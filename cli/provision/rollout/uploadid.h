/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short fingerprint of a local file or folder, without reading all of it; a check compares it with that of the last
 * upload.
 */
#ifndef CLI_PROVISION_ROLLOUT_UPLOADID_H
#define CLI_PROVISION_ROLLOUT_UPLOADID_H

#include "base/buf.h"

void uploadid_add(const char *path, struct buf *out);  /* adds "" if the path does not exist */
void uploadid_sums(const char *path, struct buf *out); /* adds the text of its list of checksums, if it has one */

#endif
