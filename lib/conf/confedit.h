/* SPDX-License-Identifier: Apache-2.0 */
/* Changes one value in a settings file's text and leaves all else, comments too, as it was. */
#ifndef CONF_CONFEDIT_H
#define CONF_CONFEDIT_H

#include "base/buf.h"
#include "base/fail.h"

/*
 * keys: the way to the value from the outermost map, ends with NULL. values: one text, or a list
 * where `list`; count 0 takes the key away. *out gets the new text. 0; 1 where the key to be taken
 * away is not there; -EINVAL where the text cannot be changed safely, with a sentence.
 */
int confedit_set(const char *name, const struct buf *text, const char *const *keys,
	const char *const *values, size_t count, int list, struct buf *out, struct fail *f);

#endif
