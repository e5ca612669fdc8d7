/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of NVIDIA's GPUs (MIG), made for a node and destroyed after it. DATA/slices.json has what each GPU can be cut
 * into, as the last inventory found it; DATA/mig.json, under a lock of its own, which slice is whose, and the mode that
 * each GPU had before it was cut. A slice of this agent that no node has was left by a step that was killed: the next
 * one on its GPU destroys it.
 */
#ifndef AGENTD_DEVICE_GPU_SLICES_H
#define AGENTD_DEVICE_GPU_SLICES_H

#include <jansson.h>
#include <stdint.h>

#include "agentd/machine/inventory.h"
#include "agentd/machine/nvml_mig.h"
#include "base/fail.h"

/* Keeps what the inventory found; of GPUs that it could not ask, what was known before. */
int gpu_slices_keep(const char *data, const struct inventory *v, struct fail *f);

json_t *gpu_slices_load(const char *data); /* never NULL but without memory */

/* How many such slices the GPU holds; 0: none, or nobody knows. *memory, where not NULL: of each. */
unsigned gpu_slices_count(const json_t *known, const char *address, const char *profile, int64_t *memory);

/*
 * Makes the node's slice, or finds the one that it has. Switches MIG on where it is off. Returns as mig_do() does.
 */
int gpu_slices_make(const char *data, const char *root, const char *address, const char *profile, const char *node,
	struct mig_instance *out, struct fail *f);

/*
 * Destroys the node's slice and those that nobody has; after the last one the GPU gets its mode back. Waits a little
 * for processes that end. 0, too, where the GPU was never cut.
 */
int gpu_slices_undo(const char *data, const char *root, const char *address, const char *node, struct fail *f);

/* Is the GPU cut? Then its slices need no reset: destroying one clears its memory. */
bool gpu_slices_any(const char *data, const char *address);

/* Before a node gets the whole GPU, and after it. -EBUSY: it is still cut. */
int gpu_slices_end(const char *data, const char *root, const char *address, struct fail *f);

/*
 * After gpu_slices_end(), for a node that gets the whole GPU: switches MIG off where the owner has it on, since then it
 * can only be used in slices. The next end switches it on again. -EBUSY: the owner made slices.
 */
int gpu_slices_off(const char *data, const char *root, const char *address, struct fail *f);

#endif
