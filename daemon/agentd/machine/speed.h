/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a disk by a file of limited size and a network by round trips: three times each, to show the spread. */
#ifndef AGENTD_MACHINE_SPEED_H
#define AGENTD_MACHINE_SPEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { SPEED_RUNS = 3 };

struct speed {
	int64_t value, least, most;  /* the median, and the spread */
};

void speed_of(const int64_t runs[SPEED_RUNS], struct speed *out);

/*
 * Writes so many bytes into a file of that folder and reads them back, past the page cache where the file system can
 * (*direct). The file never has a name, so it is gone whatever happens. In bytes a second.
 */
int speed_disk(const char *folder, int64_t bytes, struct speed *write, struct speed *read, bool *direct,
	struct fail *f);

/* The same for small things: reads of 4 KiB at random places a second, and microseconds until such a write is safe. */
int speed_disk_small(const char *folder, int64_t bytes, struct speed *reads, struct speed *sync, bool *direct,
	struct fail *f);

/* Bytes a second that one core copies. */
int speed_memory(struct speed *out, struct fail *f);

/* For both: a file of that folder without a name. -1 and errno. */
int speed_open_file(const char *folder, bool *direct);

/* Microseconds until a TCP connection opens. where: https://host[:port]/…, http://…; -ENOTSUP: another kind of URL. */
int speed_round_trip(const char *where, int64_t deadline_ms, struct speed *out, struct fail *f);

#endif
