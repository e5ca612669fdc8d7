/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON object's own texts and numbers, as text: enough to read our JSON Lines back. */
#ifndef CLI_FRAME_FLAT_H
#define CLI_FRAME_FLAT_H

#include <stddef.h>

#include "base/table.h"

struct flat {
	struct table values; /* key -> malloc'd text; nested values, true, false and null are not kept */
};

/* 0, -EINVAL where it is no JSON object, -ENOMEM. Nothing is to be released on failure. */
int flat_parse(struct flat *f, const char *text, size_t len);
void flat_release(struct flat *f);
const char *flat_text(const struct flat *f, const char *key); /* NULL where absent */

#endif
