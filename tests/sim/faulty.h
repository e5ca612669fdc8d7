/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in front of a store, whose disk fails now and then: writing, committing, reading; and whose
 * process dies before a commit, in it, or when it was on disk but nobody had been told.
 */
#ifndef TESTS_SIM_FAULTY_H
#define TESTS_SIM_FAULTY_H

#include "marketd/store/store.h"
#include "memstore.h"
#include "rng.h"

struct faults {
	int write, commit, read;   /* how many of a thousand fail */
	int die;                   /* … commits in or about which the process dies */
};

struct faulty {
	struct store base;
	struct store *inner;
	struct memdisk *disk;      /* NULL: what is below is another store, whose disk cannot be torn */
	struct rng *rng;
	struct faults faults;
	bool dead;                 /* nothing works any more; close() leaves the disk as it is */
	bool unsure;               /* it died and what was staged may be on disk */
	long failed, died;

	/* The market commits a long gap in time in steps: which state was meant to last, and which did. */
	uint64_t (*state)(void *arg);
	void *arg;
	uint64_t asked, kept;      /* of the last commit that was asked for; that went well */
	bool heard;                /* kept is one that nobody looked at yet */
};

/* inner becomes the shim's. */
struct faulty *faulty_new(struct store *inner, struct memdisk *disk, struct rng *rng);

#endif
