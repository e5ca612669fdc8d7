/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as letters and back: padded, on one line, as JSON and OpenSSH write them. */
#ifndef AGENTD_BASE64_H
#define AGENTD_BASE64_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends. 0 or -ENOMEM / -EFBIG. */
int base64_put(struct buf *out, const void *data, size_t len);

/* Appends the bytes; -EINVAL where text is not base64 through and through. */
int base64_take(const char *text, size_t len, struct buf *out);

#endif
