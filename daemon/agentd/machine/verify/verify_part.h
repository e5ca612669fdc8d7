/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of verify: one check and its result. A check runs in a child with a deadline. */
#ifndef AGENTD_MACHINE_VERIFY_VERIFY_PART_H
#define AGENTD_MACHINE_VERIFY_VERIFY_PART_H

#include "agentd/machine/speed.h"
#include "agentd/machine/verify/verify.h"
#include "market/claims.h"

/* A check may give several results: *count of them into list (room for VERIFY_EACH). */
enum { VERIFY_EACH = 168 };
typedef void (*verify_fn)(const struct verify_setup *s, struct claim *list, int *count);

void verify_disk(const struct verify_setup *s, struct claim *list, int *count);
void verify_memory(const struct verify_setup *s, struct claim *list, int *count);
void verify_links(const struct verify_setup *s, struct claim *list, int *count);
void verify_network(const struct verify_setup *s, struct claim *list, int *count);
void verify_clock(const struct verify_setup *s, struct claim *list, int *count);
void verify_ssh(const struct verify_setup *s, struct claim *list, int *count);
void verify_drivers(const struct verify_setup *s, struct claim *list, int *count);
void verify_gpus(const struct verify_setup *s, struct claim *list, int *count);
void verify_opencl(const struct verify_setup *s, struct claim *list, int *count);

/* Starts the next result in the list: ok, with the check's name. */
struct claim *verify_begin(struct claim *list, int *count, const char *check);
/* What was measured, divided so that it is in that unit. */
void verify_put(struct claim *r, const struct speed *s, int64_t divide, const char *unit);
void verify_fail(struct claim *r, const char *mend, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void verify_skip(struct claim *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void verify_say(struct claim *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
