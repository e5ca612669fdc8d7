/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the lines of one value or of one outermost key in a settings file's text, and keeps all else, comments too.
 */
#ifndef CONF_CONFEDIT_H
#define CONF_CONFEDIT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/fail.h"
#include "conf/conf.h"

/*
 * keys: the way to the value from the outermost map, ends with NULL. values: one text, or a list
 * where `list`; count 0 takes the key away. *out gets the new text. 0; 1 where the key to be taken
 * away is not there; -EINVAL where the text cannot be changed safely, with a sentence.
 */
int confedit_set(const char *name, const struct buf *text, const char *const *keys,
	const char *const *values, size_t count, int list, struct buf *out, struct fail *f);

/*
 * Replaces the lines of an outermost key by these; a key that is missing is added at the end. file: the text, parsed.
 * 0, or -EINVAL, -EFBIG, -ENOMEM with a sentence; the text is then as it was.
 */
int confedit_set_top(const struct conf_file *file, struct buf *text, const char *key, const struct buf *lines,
	struct fail *f);

/* Adds the text as a scalar: plain where YAML cannot take it for anything else, else in single quotes. */
int confedit_add_scalar(struct buf *b, const char *text);

/* The bytes [*from, *to) of the lines that a member or an item has a part in. */
void confedit_lines(const struct buf *text, const struct conf *c, size_t *from, size_t *to);

/* Replaces the bytes [from, to) by these lines. The old text is wiped: it may hold keys. 0, -EFBIG or -ENOMEM. */
int confedit_replace(struct buf *text, size_t from, size_t to, const struct buf *lines);

/* Whether both say the same; the order of a map's members does not count. */
bool confedit_same(const struct conf *a, const struct conf *b);

#endif
