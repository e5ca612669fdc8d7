/* SPDX-License-Identifier: Apache-2.0 */
/* A curve in one line of text. */
#ifndef CLI_FRAME_SPARK_H
#define CLI_FRAME_SPARK_H

#include <stddef.h>

enum { SPARK_CELLS = 64, SPARK_TEXT = 3 * SPARK_CELLS + 1 };

/*
 * `count` values from 0 to `most` in so many cells, means where there are more values; what is not known (NAN) is
 * blank, and 0 is not. By characters that every terminal has where the locale is not UTF-8. Returns room.
 */
const char *spark_text(const double *values, size_t count, double most, size_t cells, char room[SPARK_TEXT]);

#endif
