/* SPDX-License-Identifier: Apache-2.0 */
/* Is this machine as good as it says? Measured, three times each, with the command that mends what fails. */
#ifndef AGENTD_MACHINE_VERIFY_H
#define AGENTD_MACHINE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct driver;
struct driver_setup;

struct verify_setup {
	const char *root;            /* sysfs; as in inventory.h */
	const char *data;            /* folder to measure the disk in; NULL: not measured */
	const char *market;          /* URL; NULL: not joined, network and clock to the market are not measured */
	bool clock_known;            /* what GET /np/v1 said and when, as in health.h */
	int64_t market_now, local_now;
	const char *address;         /* announced for SSH to nodes; NULL: not checked */
	const char *listen;          /* where those ports are opened; NULL: "0.0.0.0" */
	unsigned first_port, ports;  /* the range; ports 0: one */
	const struct driver *const *drivers; /* ends with NULL; NULL: none are tried */
	const struct driver_setup *driver_setup;
	const char *cuda;            /* library; NULL: libcuda.so.1 */
	const char *nvml;            /* as in inventory.h */
	int64_t disk_bytes;          /* 0: 256 MiB, never more than a tenth of what is free */
	int64_t deadline_ms;         /* of one check; 0: 60 s */
};

/* `nanopod-agentd verify`: 0, or 11 where a check failed. Prints as it goes; json: one object at the end. */
int verify_verb(const struct verify_setup *s, bool json, FILE *out, FILE *err);

#endif
