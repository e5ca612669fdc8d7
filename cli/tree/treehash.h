/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of a file, computed by a process of its own beside the copy, so that both read it at the same time. */
#ifndef CLI_TREE_TREEHASH_H
#define CLI_TREE_TREEHASH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TREEHASH_HEX = 65 };

struct treehash {
	pid_t pid;
	int pipe;
	char hex[TREEHASH_HEX]; /* "" until it is known */
	bool failed;
};

int treehash_begin(struct treehash *h, int fd, uint64_t size); /* 0 or -errno */
void treehash_step(struct treehash *h);                        /* never waits */
void treehash_end(struct treehash *h);

#endif
