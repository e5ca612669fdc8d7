/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an account's commits are worth. Formula 1, which nanopod-reputation(7) publishes: of a day at most 3 commits
 * count; a week (from Monday, UTC) counts as the square root of its commits, and half as much each 26 weeks that pass.
 * Their sum S makes a score of 100 x S / (S + 20): many weeks win, a heap of commits does not.
 */
#ifndef CLI_CMD_ADMIN_REPUTATION_H
#define CLI_CMD_ADMIN_REPUTATION_H

#include <stddef.h>
#include <stdint.h>

enum { REPUTATION_FORMULA = 1 };

struct reputation {
	int64_t hundredths;   /* of the score, 0 … 10000 */
	size_t seen, counted; /* commits; counted: of no day more than 3 */
	size_t weeks;         /* with a commit */
	int64_t last;         /* when the newest was; 0: there is none */
};

/* times: when they were committed, Unix seconds; sorts them. Commits after `now` do not count. */
void reputation_of(int64_t *times, size_t count, int64_t now, struct reputation *out);

#endif
