/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lines that two texts do not share, to show how one host's output differs from most others'. */
#ifndef CLI_REMOTE_DIFF_H
#define CLI_REMOTE_DIFF_H

#include <stddef.h>

enum diff_side { DIFF_SAME = ' ', DIFF_OLD = '-', DIFF_NEW = '+' };

/*
 * Calls each() for every line of the way from a to b, in order; no_line = the line's number in
 * its own text, from 1. Lines keep their newline, if they have one. 0, -ENOMEM, or what each()
 * returned where that was not 0.
 */
int diff_lines(const char *a, size_t alen, const char *b, size_t blen,
	int (*each)(void *arg, enum diff_side side, size_t number, const char *line, size_t len), void *arg);

#endif
