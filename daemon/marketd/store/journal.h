/* SPDX-License-Identifier: Apache-2.0 */
/* An event as bytes and back: what the journal keeps and what a snapshot starts from. */
#ifndef MARKETD_STORE_JOURNAL_H
#define MARKETD_STORE_JOURNAL_H

#include <stddef.h>

#include "base/buf.h"
#include "marketd/engine/event.h"

/* Appends; the form carries its version and changes only with a migration. 0 or -ENOMEM / -EFBIG. */
int journal_put(struct buf *out, const struct event *ev);

/*
 * Reads one whole event; strings point into bytes (each is followed by a NUL there). -EINVAL on
 * anything that journal_put would not have written.
 */
int journal_get(const void *bytes, size_t len, struct event *ev);

#endif
