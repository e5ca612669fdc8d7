/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps many outputs that are mostly the same only once. A host's output is a place in a tree of texts: text that
 * another host printed already is only compared, and different text starts a branch. So memory grows only with
 * differences, and two outputs are equal where their places are.
 */
#ifndef CLI_REMOTE_FOLD_H
#define CLI_REMOTE_FOLD_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct fold;
struct fold_node;

/* The end of one output so far. Zeroed memory is the empty output. */
struct fold_place {
	struct fold_node *node;
	size_t at;
};

int fold_new(size_t max, struct fold **out); /* at most max bytes kept; 0 or -ENOMEM */
void fold_free(struct fold *f);

/* Appends to the output at *place. 0, -ENOMEM, or -EFBIG (then nothing was added). */
int fold_add(struct fold *f, struct fold_place *place, const void *data, size_t len);

uint64_t fold_length(struct fold_place place);
int fold_compare(struct fold_place a, struct fold_place b); /* 0: the same text; else an order */

/* Passes the text to each() in pieces, first to last; stops where each() does not return 0. */
int fold_read(struct fold_place place, int (*each)(void *arg, const char *data, size_t len), void *arg);
int fold_text(struct fold_place place, struct buf *out); /* appends; a code of buf_add */

#endif
