/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds back what a program writes faster than is good for others: it waits, as for a slow terminal. The kernel moves
 * a terminal's bytes at nobody's expense, so limits of control groups do not bound what a flood of them costs.
 */
#ifndef AGENTD_OS_THROTTLE_H
#define AGENTD_OS_THROTTLE_H

#include <stdint.h>

struct throttle {
	int64_t burst;      /* bytes that pass at once */
	int64_t rate;       /* bytes a second after those */
	int64_t most, kept; /* a file that holds more than most bytes of disk keeps its last kept bytes, and its size */
};

/*
 * Puts a pipe in the place of descriptor fd, a file opened to append. A child that nobody waits for moves its bytes to
 * the file, and ends when no one holds the pipe any more. If the child is killed, writers wait. 0 or -errno.
 */
int throttle_output(int fd, const struct throttle *t);

#endif
