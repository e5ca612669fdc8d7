/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one thread of a program in PTX, as far as the agent's program needs: for tests/lib/fakecuda. */
#ifndef TESTS_FAKEPTX_H
#define TESTS_FAKEPTX_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One thread of an entry of text, with its four parameters. threads: of a block; blocks: of all. Memory is the
 * process's own. False: it has no such entry, or does what this does not know.
 */
struct ptx_place {
	uint32_t block, blocks, thread, threads;
};
bool fakeptx_run(const char *text, const char *entry, const uint64_t args[4], struct ptx_place at);

#endif
