/* SPDX-License-Identifier: Apache-2.0 */
/* What a node was sold as: it gets exactly that, and the machine promises it to nobody else. */
#ifndef AGENTD_CONTRACT_H
#define AGENTD_CONTRACT_H

#include <stdint.h>

struct contract { /* 0 or "": not promised */
	unsigned vcpus, overcommit, gpus;
	int64_t memory, disk, inodes, network_mbps, gpu_memory;
	int64_t shared; /* its part of the folder of its reservation */
	char gpu_vendor[16], gpu_model[64];
	unsigned gpu_parts; /* of its GPU it gets one such part: 4 is a quarter */
	char gpu_slice[32]; /* or a slice of this profile: "1g.10gb" */
};

enum { GPU_PARTS_MAX = 16 };

#endif
