/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agents measure and the market keeps: one list for both, and for who reads it. Numbers are in files and never
 * used again; names are the API's. Measures of GPUs mean what DCGM's mean.
 */
#ifndef MARKET_METRIC_H
#define MARKET_METRIC_H

#include <stddef.h>
#include <stdint.h>

enum metric_of {
	METRIC_OF_MACHINE,
	METRIC_OF_GPU, /* of the machine, in the order of their addresses */
	METRIC_OF_NODE,
	METRIC_OF_NODE_GPU, /* those that the node has, in that order */
};

/* X(number, whose, name, unit, what it says) */
#define METRICS(X) \
	X(1, MACHINE, "cpu", "ratio", "processor time in use, of all processors") \
	X(2, MACHINE, "memory", "bytes", "memory in use") \
	X(3, MACHINE, "memory_total", "bytes", "memory that there is") \
	X(4, MACHINE, "disk", "bytes", "used of the disk that nodes are on") \
	X(5, MACHINE, "disk_total", "bytes", "size of that disk") \
	X(6, MACHINE, "disk_read", "bytes_per_second", "read from disks") \
	X(7, MACHINE, "disk_written", "bytes_per_second", "written to disks") \
	X(8, MACHINE, "network_in", "bytes_per_second", "received by its network cards") \
	X(9, MACHINE, "network_out", "bytes_per_second", "sent by its network cards") \
	X(20, GPU, "use", "ratio", "time in which a kernel ran") \
	X(21, GPU, "memory", "bytes", "memory in use") \
	X(22, GPU, "memory_total", "bytes", "memory that there is") \
	X(23, GPU, "temperature", "celsius", "of the GPU") \
	X(24, GPU, "power", "watts", "drawn") \
	X(25, GPU, "power_limit", "watts", "that it may draw") \
	X(26, GPU, "clock", "hertz", "of its processors") \
	X(27, GPU, "throttled", "ratio", "1: slowed down by heat or power, beyond what was set; else 0") \
	X(28, GPU, "memory_errors", "count", "that could not be corrected, since the driver started") \
	X(29, GPU, "xid", "number", "number of the last Xid error of NVIDIA's driver within an hour; 0: none") \
	X(40, NODE, "cpu", "cores", "processors in use") \
	X(41, NODE, "memory", "bytes", "memory in use") \
	X(42, NODE, "processes", "count", "and threads") \
	X(43, NODE, "network_in", "bytes_per_second", "received") \
	X(44, NODE, "network_out", "bytes_per_second", "sent") \
	X(45, NODE, "disk", "bytes", "in use of its own disk") \
	X(46, NODE, "disk_total", "bytes", "size of that disk") \
	X(60, NODE_GPU, "use", "ratio", "time in which a kernel ran") \
	X(61, NODE_GPU, "memory", "bytes", "memory in use") \
	X(62, NODE_GPU, "memory_total", "bytes", "memory that there is") \
	X(63, NODE_GPU, "temperature", "celsius", "of the GPU") \
	X(64, NODE_GPU, "power", "watts", "drawn") \
	X(65, NODE_GPU, "power_limit", "watts", "that it may draw") \
	X(66, NODE_GPU, "clock", "hertz", "of its processors") \
	X(67, NODE_GPU, "throttled", "ratio", "1: slowed down by heat or power, beyond what was set; else 0") \
	X(68, NODE_GPU, "memory_errors", "count", "that could not be corrected, since the driver started") \
	X(69, NODE_GPU, "xid", "number", "number of the last Xid error of NVIDIA's driver within an hour; 0: none") \
	X(70, NODE_GPU, "machine_gpu", "number", "which of its machine's GPUs it is, from 0")

enum { METRIC_NAME = 32 };

struct metric {
	uint32_t number;
	enum metric_of of;
	const char *name, *unit, *text;
};

size_t metric_count(void);
const struct metric *metric_at(size_t i);
const struct metric *metric_numbered(uint32_t number);                 /* NULL: none of this version */
const struct metric *metric_find(enum metric_of of, const char *name); /* NULL */

/* "machine.cpu", "gpu.use", "node.cpu", "node.gpu.use". Returns name. */
const char *metric_full_name(const struct metric *m, char name[METRIC_NAME]);
const struct metric *metric_named(const char *full_name); /* NULL */

#endif
