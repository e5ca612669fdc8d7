/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buyer's public key as one line of authorized_keys: type, base64, comment. Options would let a
 * key command what they do not own, so there are none; what is inside of the base64 must be what the type says.
 */
#ifndef AGENTD_KEYLINE_H
#define AGENTD_KEYLINE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"

enum { KEYLINE_MAX = 16 * 1024 };

/* Appends the line, made anew of its parts, and a newline. -EINVAL and why not; -EFBIG, -ENOMEM. */
int keyline_add(const char *text, size_t len, struct buf *out, struct fail *f);

#endif
