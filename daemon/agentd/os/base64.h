/* SPDX-License-Identifier: Apache-2.0 */
/* Letters as bytes again: what buf_add_base64() wrote, as JSON and OpenSSH have it. */
#ifndef AGENTD_OS_BASE64_H
#define AGENTD_OS_BASE64_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the bytes; -EINVAL where text is not base64 through and through. */
int base64_take(const char *text, size_t len, struct buf *out);

#endif
