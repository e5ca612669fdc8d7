/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns of a table a terminal has room for, and how wide each is. */
#ifndef CLI_FRAME_FIT_H
#define CLI_FRAME_FIT_H

#include <stdbool.h>
#include <stddef.h>

enum { FIT_GAP = 2 }; /* blanks between columns */

struct fit {
	unsigned flags; /* enum column_flags */
	size_t heading; /* cells of its heading */
	size_t want;    /* of its widest cell, or the heading */
	size_t word;    /* of the widest word in its sentences */
	size_t width;   /* what it gets */
	bool dropped;
};

/*
 * Where there is no room for all: sentences take more lines, minor columns go, long names are cut, and the other
 * columns go from the right.
 */
void fit_columns(struct fit *columns, size_t count, size_t cells);

/* What may have lines of its own under its row gets them where there is no room for all; all else stays as it is. */
void fit_under(struct fit *columns, size_t count, size_t cells);

#endif
