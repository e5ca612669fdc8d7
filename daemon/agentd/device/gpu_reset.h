/* SPDX-License-Identifier: Apache-2.0 */
/* Resets a GPU between two tenants, so that nothing of the first is left in its memory. */
#ifndef AGENTD_DEVICE_GPU_RESET_H
#define AGENTD_DEVICE_GPU_RESET_H

#include "base/fail.h"

/*
 * Waits a little for processes that have it open, then resets it by the vendor's tool, else by the PCI function without
 * its driver. By a tool when nobody looks who holds memory of GPUs (gpu_book.h). 0: it was reset and its driver has it
 * again. Else the sentence says why it cannot be used.
 */
int gpu_reset(const char *data, const char *root, const char *address, struct fail *f);

/* Waits a little for processes that have it open. -EBUSY: one still has, and which. */
int gpu_reset_unused(const char *root, const char *address, struct fail *f);

#endif
