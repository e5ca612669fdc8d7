/* SPDX-License-Identifier: Apache-2.0 */
/* What the owner set for this machine's power: the file power.json in the agent's folder. */
#ifndef AGENTD_POWER_ENVELOPE_H
#define AGENTD_POWER_ENVELOPE_H

#include "agentd/power/device.h"
#include "agentd/power/supply.h"

enum { ENVELOPE_GPUS = 64, ENVELOPE_FILE_MAX = 64 * 1024 };

struct envelope {
	int64_t wall; /* milliwatts that this machine may draw at the wall */
	struct supply supply;
	int64_t reserve; /* board, memory, disks, fans: behind the supply */
	int64_t cpu;     /* limit of all processors together; 0: as it is */
	struct envelope_gpu {
		char address[POWER_ADDRESS];
		int64_t cap;   /* 0: none */
	} gpus[ENVELOPE_GPUS]; /* those that were there when it was set */
	size_t gpu_count;
};

/* 0; -EINVAL: text is no such file's. */
int envelope_parse(const char *text, size_t len, struct envelope *out, struct fail *f);

/* Of DATA/power.json. Load: -ENOENT, -EINVAL. */
int envelope_load(const char *data, struct envelope *out, struct fail *f);
int envelope_save(const char *data, const struct envelope *e, struct fail *f);

/* Is there such a file, damaged or not? */
bool envelope_there(const char *data);

/* The owner's cap of this GPU; 0: none. */
int64_t envelope_cap(const struct envelope *e, const char *address);

#endif
