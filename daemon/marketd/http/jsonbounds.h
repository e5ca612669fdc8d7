/* SPDX-License-Identifier: Apache-2.0 */
/* What JSON from others will cost, before the parser sees it: nested brackets cost it stack, and each value memory. */
#ifndef MARKETD_HTTP_JSONBOUNDS_H
#define MARKETD_HTTP_JSONBOUNDS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it is nested no deeper, and has no more brackets and commas that begin a value. */
bool json_bounded(const char *text, size_t len, int depth, size_t values);

#endif
