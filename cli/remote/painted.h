/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does output that a host sent leave a colour on? Then the next label, another host's line or the shell's prompt would
 * have it too.
 */
#ifndef CLI_REMOTE_PAINTED_H
#define CLI_REMOTE_PAINTED_H

#include <stdbool.h>
#include <stddef.h>

/* What turns all colours off again. */
#define PAINTED_OFF "\033[0m"

struct painted {
	unsigned char at; /* in an escape sequence: 1 after ESC, 2 in its numbers */
	bool number;      /* one of the numbers is not 0 */
	bool on;
};

/* Reads on: an escape sequence may come in pieces. */
void painted_read(struct painted *p, const char *text, size_t len);

#endif
