/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `nanopod-marketd check | backup | restore | migrate`: maintains a market's database from the command
 * line. main.c reads the options and calls this; it reports one plain line per step.
 */
#ifndef MARKETD_STORE_MAINTAIN_H
#define MARKETD_STORE_MAINTAIN_H

#include <stdbool.h>
#include <stdio.h>

struct maintain {
	const char *data;          /* the database, as store_open() takes it */
	const char *path;          /* backup: where to; restore: where from; check: a copy instead of data; else NULL */
	bool force;                /* restore: replaces an existing database (and keeps it as PATH.before-restore) */
	FILE *err;                 /* progress and the sentence of a failure */
};

/*
 * An exit status of the command line's contract: 0 done, 1 failure, 2 usage, 3 not found, 4 not
 * permitted, 5 exists already or has the wrong form, 8 cannot be written or read now, 11 the check
 * found something wrong.
 */
int maintain_run(const char *verb, const struct maintain *how);

#endif
