/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of verify: one check and its result. A check runs in a child with a deadline. */
#ifndef AGENTD_MACHINE_VERIFY_PART_H
#define AGENTD_MACHINE_VERIFY_PART_H

#include "agentd/machine/speed.h"
#include "agentd/machine/verify.h"

enum verify_is { VERIFY_OK, VERIFY_FAILED, VERIFY_SKIPPED };

struct verify_result {
	char check[32];              /* "disk write" */
	enum verify_is is;
	bool measured;
	int64_t value, least, most; /* median and spread of the runs, in unit */
	int64_t at;                 /* Unix seconds */
	int runs;
	char unit[16];
	char device[20];             /* PCI address of what was measured; "": the machine */
	char method[96];             /* how, in words; "": none */
	char answer[40];             /* "ROUNDS:HEX", as market/challenge.h has it; "" */
	char text[240], mend[240];   /* what was found; how to fix it */
};

/* A check may give several results: *count of them into list (room for VERIFY_EACH). */
enum { VERIFY_EACH = 96 };
typedef void (*verify_fn)(const struct verify_setup *s, struct verify_result *list, int *count);

void verify_disk(const struct verify_setup *s, struct verify_result *list, int *count);
void verify_network(const struct verify_setup *s, struct verify_result *list, int *count);
void verify_clock(const struct verify_setup *s, struct verify_result *list, int *count);
void verify_ssh(const struct verify_setup *s, struct verify_result *list, int *count);
void verify_drivers(const struct verify_setup *s, struct verify_result *list, int *count);
void verify_gpus(const struct verify_setup *s, struct verify_result *list, int *count);
void verify_opencl(const struct verify_setup *s, struct verify_result *list, int *count);

/* Starts the next result in the list: ok, with the check's name. */
struct verify_result *verify_begin(struct verify_result *list, int *count, const char *check);
/* What was measured, divided so that it is in that unit. */
void verify_put(struct verify_result *r, const struct speed *s, int64_t divide, const char *unit);
void verify_fail(struct verify_result *r, const char *mend, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void verify_skip(struct verify_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void verify_say(struct verify_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
