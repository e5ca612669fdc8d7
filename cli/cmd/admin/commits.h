/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who committed when, of local clones (by git itself) and of what Perceval wrote. A commit counts once, however many
 * sources have it; merges do not count.
 */
#ifndef CLI_CMD_ADMIN_COMMITS_H
#define CLI_CMD_ADMIN_COMMITS_H

#include "base/fail.h"
#include "base/table.h"

/* The commits of one account. */
struct committer {
	char *account;
	int64_t *times;
	size_t count, cap;
};

struct commits {
	struct table mails;   /* struct committer by e-mail address, lower case */
	struct table seen;    /* hashes */
	size_t read, strange; /* commits in all; of addresses that belong to nobody */
};

/* Reads a folder (a clone), a file of JSON Lines, or standard input ("-"). 0, or -1 with a sentence. */
int commits_read(struct commits *c, const char *source, struct fail *f);
void commits_release(struct commits *c); /* leaves committers alone */

/* false: the address belongs to another account already. */
int commits_belong(struct commits *c, const char *mail, struct committer *to);

#endif
