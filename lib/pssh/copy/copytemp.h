/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of temporary files, and which of them are leftovers of copies that were cut off. The name of
 * one says which process made it, so the next copy from the same machine knows whether that still runs.
 */
#ifndef PSSH_COPY_COPYTEMP_H
#define PSSH_COPY_COPYTEMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This machine since it started, as far as processes can see each other; 0: not known. */
uint32_t temp_machine(void);

/*
 * The temporary name beside a target: with `resume` always the same, so that the next copy finds it;
 * else a random one, so that two copies of one file do not collide. malloc'd or NULL.
 */
char *temp_path(const char *target, uint32_t machine, bool resume);

/* Whether a name is one of temp_path() without `resume`. */
bool temp_is_ours(const char *name, size_t len);

/*
 * Whether a file of this name is left over: the process that made it is gone, or, if it was made on
 * another machine, nobody wrote to it on the last day of its directory. Times are those of the
 * machine that has the file. So a copy may give its file an old time only together with its last name.
 */
bool temp_is_left(const char *name, size_t len, uint32_t machine, int64_t written, int64_t dir_changed);

/* Removes the leftovers of a local directory. */
void temp_tidy(const char *dir, uint32_t machine);

#endif
