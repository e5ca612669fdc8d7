/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is to open NVIDIA's GPUs. Its library and its program for resets open all of them, and one that is open
 * is not reset and leaves no driver: who asks the library and who resets wait for each other by DATA/gpus.turn.
 */
#ifndef AGENTD_OS_GPU_TURN_H
#define AGENTD_OS_GPU_TURN_H

#include <stdint.h>

#include "base/fail.h"

enum { GPU_TURN_MS = 300000 }; /* a reset takes up to a minute, and several wait in a row */

/*
 * how: LOCK_SH to look, LOCK_EX to reset, or to switch a mode by a reset. Waits, so never in the agent's main process
 * and never under a lock that this waits for. A descriptor to close; -EBUSY: others had it all the time; or another
 * negative errno.
 */
int gpu_turn(const char *data, int how, int64_t wait_ms, struct fail *f);

/* To look. *turn: to be closed; -1 where no agent that resets can have this folder: NULL, missing, or not ours. */
int gpu_turn_look(const char *data, int64_t wait_ms, int *turn, struct fail *f);

#endif
