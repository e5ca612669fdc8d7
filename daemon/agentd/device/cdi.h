/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI files (Container Device Interface, versions 0.3 to 1.1, JSON or YAML): what a vendor's tool says that a GPU needs
 * inside a container. No hook of theirs is run: we make links and update the ld cache inside the node ourselves, and
 * ignore the others. Mounts are always read-only, and never below /dev, /proc or /sys.
 */
#ifndef AGENTD_DEVICE_CDI_H
#define AGENTD_DEVICE_CDI_H

#include "agentd/os/devices.h"
#include "base/buf.h"
#include "base/fail.h"

enum { CDI_NAME = 128, CDI_DEVICES = 512, CDI_FILES = 64 };

struct cdi_device {
	char name[CDI_NAME]; /* "0", "GPU-…", "all" */
	struct node_devices edits;
};

struct cdi {
	char kind[CDI_NAME]; /* "nvidia.com/gpu" */
	struct cdi_device *devices;
	size_t count;
	struct node_devices edits; /* for each of them */
};

/* 0; -EINVAL with a sentence that names the place; -ENOMEM. The name is for that sentence only. */
int cdi_parse(const char *name, const char *text, size_t len, struct cdi **out, struct fail *f);
int cdi_read(const char *path, struct cdi **out, struct fail *f);
void cdi_free(struct cdi *c);

/* The file of one kind with these devices, as JSON of version 0.5.0. 0 or -ENOMEM. */
int cdi_write(const struct cdi *c, struct buf *out);

#endif
