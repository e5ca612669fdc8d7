/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store whose disk is a string of bytes that outlives it: batches with a sum, one after the other, as a log
 * is. What a crash leaves half written is not there when it is opened again. For the simulator.
 */
#ifndef TESTS_SIM_MEMSTORE_H
#define TESTS_SIM_MEMSTORE_H

#include "marketd/store/store.h"

struct memdisk {
	struct buf log;
	bool tear;                 /* the next commit fails, and is not written as it should be from byte `torn` on: */
	bool hole;                 /* … not the next few bytes; else nothing more */
	size_t torn;
};

void memdisk_init(struct memdisk *d);
void memdisk_release(struct memdisk *d);

/* 0 or a reason. The disk stays the caller's. */
int memstore_open(struct memdisk *d, struct store **out, struct fail *f);

#endif
