/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buyer's public key as one line of authorized_keys: type, base64, comment. Options are refused, since they would
 * give a key powers that its owner does not have; the decoded base64 must be of the stated type.
 */
#ifndef AGENTD_KEYLINE_H
#define AGENTD_KEYLINE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"

enum { KEYLINE_MAX = 16 * 1024 };

/* Appends the line, rebuilt from its parts, and a newline. -EINVAL and why not; -EFBIG, -ENOMEM. */
int keyline_add(const char *text, size_t len, struct buf *out, struct fail *f);

#endif
