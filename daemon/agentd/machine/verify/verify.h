/* SPDX-License-Identifier: Apache-2.0 */
/* Is this machine as good as it claims? Measures three times each, and names the command that fixes what fails. */
#ifndef AGENTD_MACHINE_VERIFY_VERIFY_H
#define AGENTD_MACHINE_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct claims;
struct driver;
struct driver_setup;

struct verify_setup {
	const char *root;   /* sysfs; as in inventory.h */
	const char *data;   /* folder to measure the disk in; NULL: not measured */
	const char *market; /* URL; NULL: not joined, so neither the network nor the clock is measured */
	bool clock_known;   /* the market's time from GET /np/v1 and ours, as in health.h */
	int64_t market_now, local_now;
	const char *address;                 /* announced for SSH to nodes; NULL: not checked */
	const char *listen;                  /* the address of those ports; NULL: "0.0.0.0" */
	unsigned first_port, ports;          /* the range; ports 0: one */
	const struct driver *const *drivers; /* ends with NULL; NULL: try none */
	const struct driver_setup *driver_setup;
	const char *cuda;    /* library; NULL: libcuda.so.1 */
	const char *opencl;  /* library; NULL: libOpenCL.so.1; "": none */
	int64_t gpus;        /* that its hosts are sold with */
	const char *nonce;   /* what the challenges' seeds come from; NULL: a random one */
	const char *nvml;    /* as in inventory.h */
	int64_t disk_bytes;  /* 0: 256 MiB, at most a tenth of the free space */
	int64_t deadline_ms; /* of one check; 0: 60 s */
	int64_t within_ms;   /* of all; 0: any. A GPU whose deadline would be later is not asked, and fails */
	const struct claims *before; /* verify_run() says here what earlier checks found */
	int64_t ends_ms;             /* and when within_ms are over, by clock_ms(); 0: never */
};

/* Prints each result as it comes (show NULL: none). 0; or -ENOMEM, -E2BIG, -EIO. claims_release(out). */
int verify_run(const struct verify_setup *s, FILE *show, struct claims *out);

#endif
