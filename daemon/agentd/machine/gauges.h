/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine, its GPUs and its nodes use, read at one moment; rates come of two of them. */
#ifndef AGENTD_MACHINE_GAUGES_H
#define AGENTD_MACHINE_GAUGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/machine/gpu.h"

enum { GAUGES_GPUS = 64, GAUGES_NODES = 1024, GAUGES_ID = 64, GAUGES_NODE_GPUS = 16 };

#define GAUGE_UNKNOWN INT64_MIN

struct gauges_machine {
	int64_t cpu_used, cpu_all; /* ticks since the start */
	int64_t memory, memory_total, disk, disk_total;
	int64_t disk_read, disk_written, network_in, network_out; /* bytes since the start */
};

struct gauges_gpu {
	char address[PCI_ADDRESS];
	int64_t use;                                                          /* percent */
	int64_t memory, memory_total, temperature, power, power_limit, clock; /* bytes, m°C, mW, MHz */
	int64_t throttled, errors, xid;
};

struct gauges_node {
	char id[GAUGES_ID];
	int64_t cpu_us; /* microseconds of a processor, since its group was made */
	int64_t memory, processes, disk, disk_total;
	int64_t network_in, network_out; /* bytes since it has its network */
	unsigned gpus[GAUGES_NODE_GPUS]; /* indices of the machine's */
	size_t gpu_count;
};

/* What is not known is GAUGE_UNKNOWN. */
struct gauges {
	int64_t at_us; /* CLOCK_MONOTONIC */
	int untold;    /* errno of the file for Prometheus; 0: written, or none is asked for */
	struct gauges_machine machine;
	size_t gpu_count, node_count;
	struct gauges_gpu gpus[GAUGES_GPUS];
	struct gauges_node nodes[GAUGES_NODES];
};

/* root: as in inventory.h. folder: the disk that nodes are on; NULL: unknown. */
void gauges_read_machine(const char *root, const char *folder, struct gauges_machine *out);
void gauges_take_gpu(const struct gpu *g, struct gauges_gpu *out);

/* Bytes that the network of process pid received and sent, its loopback left out. */
void gauges_read_network(const char *root, long pid, int64_t *in, int64_t *out);

/*
 * {"machine":{…},"gpus":[…],"nodes":[…]} by the names of market/metric.h. before: an earlier one, for rates; NULL:
 * none. NULL: no memory.
 */
json_t *gauges_json(const struct gauges *now, const struct gauges *before);

#endif
