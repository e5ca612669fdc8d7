/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage events on disk, a line of JSON each. Those of one turn are written and synced together; nothing is ever changed
 * but a last line that a crash left unfinished, whose answer nobody got.
 */
#ifndef MARKETD_PROXY_SPOOL_H
#define MARKETD_PROXY_SPOOL_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"

struct spool {
	int fd, lock;
	const char *path;
	off_t good;       /* so much of it is whole lines on disk */
	struct buf lines; /* to be written */
	bool sick;        /* the last try to write failed */
};

/* The path stays the caller's. `take` gets each event that is there. Close it whatever this returns. */
int spool_open(struct spool *s, const char *path, int (*take)(void *arg, const json_t *event), void *arg,
	struct fail *f);
void spool_close(struct spool *s);

int spool_add(struct spool *s, const json_t *event); /* 0, -ENOMEM or -EFBIG */
int spool_sync(struct spool *s, struct fail *f);     /* 0: all that was added is on disk */

#endif
