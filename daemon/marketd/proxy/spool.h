/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage events on disk, a line of JSON each. Those of one turn of the loop are written and synced together; nothing is
 * ever changed but a last line that a crash left unfinished, whose answer nobody got. A full file becomes PATH.1, then
 * PATH.2. What they add up to is in PATH.sums, with how far that goes: a start reads only what is behind that.
 */
#ifndef MARKETD_PROXY_SPOOL_H
#define MARKETD_PROXY_SPOOL_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"

/* Who adds up the events. */
struct spool_counter {
	void *arg;
	int (*take)(void *arg, const json_t *event);
	json_t *(*sums)(void *arg);            /* NULL: out of memory */
	int (*begin)(void *arg, json_t *sums); /* from these on; NULL: from nothing */
};

struct spool {
	int fd, lock;
	const char *path;
	struct spool_counter counter;
	uint64_t number;  /* that its file will have */
	off_t most;       /* bytes that make it full */
	off_t good;       /* so much of it is whole lines on disk */
	off_t again;      /* its size from which on it tries again to begin a new file */
	struct buf lines; /* to be written */
	bool sick;        /* the last try to write failed */
	bool unnamed;     /* a crash could lose the names of files */
	bool open;        /* its sums are those of all its events */
};

/* The path stays the caller's. Takes the events that are there. Close it whatever this returns. */
int spool_open(struct spool *s, const char *path, const struct spool_counter *counter, off_t most, struct fail *f);
void spool_close(struct spool *s);

int spool_add(struct spool *s, const json_t *event); /* 0, -ENOMEM or -EFBIG */
int spool_sync(struct spool *s, struct fail *f);     /* 0: all that was added is on disk */

/* After spool_sync(): begins a new file where this one is full. Where that fails, it goes on with this one. */
int spool_turn(struct spool *s, struct fail *f);

#endif
