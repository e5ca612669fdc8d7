/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's GPUs for its guest, as functions of the PCI bus, and back to their drivers after it. Which driver each
 * function had is in DATA/gpus.json before the first one changes it.
 */
#ifndef AGENTD_DEVICE_GUEST_GPUS_H
#define AGENTD_DEVICE_GUEST_GPUS_H

#include <jansson.h>

#include "agentd/os/devices.h"
#include "base/fail.h"

/*
 * Gives vfio-pci all functions of the GPUs that the node has (host_gpus_take), none of which is cut into slices then,
 * and adds them to *out; again, too.
 * -ENOTSUP: no IOMMU or no vfio-pci; -EBUSY: something else shares a group, or a process has a GPU open.
 */
int guest_gpus_take(const char *data, const char *root, const char *node, struct node_devices *out, struct fail *f);

/*
 * After the node's end, for each GPU of its own: resets it where a guest may have had it. 1: it was not taken for one.
 * All of a node's before the first goes back: GPUs of one bus or one IOMMU group are reset while vfio-pci has them all.
 */
int guest_gpus_reset(const char *data, const char *root, const char *node, const char *address, struct fail *f);
/* And gives its functions back to their drivers. */
int guest_gpus_return(const char *data, const char *root, const char *node, const char *address, struct fail *f);

/* The element's GPU is a guest's from now on, */
void guest_gpus_begin(json_t *gpu);
/* and not lent any more. */
void guest_gpus_forget(json_t *gpu);

#endif
