/* SPDX-License-Identifier: Apache-2.0 */
/* A node of the vm driver: its files in dir/vm, what its spec implies, and its disk. */
#ifndef AGENTD_VM_VM_NODE_H
#define AGENTD_VM_VM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/driver.h"
#include "agentd/ns/net.h"
#include "agentd/vm/accel.h"
#include "agentd/vm/bootimage.h"
#include "agentd/vm/launch.h"

enum { VMNODE_NAME = 160, VMNODE_MACHINE_ID = 33 };

struct vmnode {
	const struct node_spec *n;
	struct node_spec group;    /* its spec, with memory for QEMU itself added: for the groups */
	char dir[VMIMAGE_PATH];    /* n->dir/vm */
	char name[VMNODE_NAME];    /* of its QEMU process */
	uid_t uid;
	bool hub; /* as root: a tap in the tenant's namespace; else QEMU's own network, with no way out */
	struct vmshape shape;
	int64_t disk;              /* bytes: what was sold and, besides, the tables of its file system */
	struct net_names net;      /* where hub */
};

/* What QEMU takes of this machine's memory beside its guest's, at most. */
int64_t vmnode_memory_beside(bool kvm);

int vmnode_of(const struct node_spec *n, bool kvm, struct vmnode *out, struct fail *f);

/* Small files in dir that record how far the node is. */
#define VMNODE_MADE "made"         /* "clone" or "cold": a start has all it needs */
#define VMNODE_BOOTED "booted"     /* its disk belongs to it from now on */
#define VMNODE_ENDING "ending"     /* "begun": a stop asked it to end, and it was not started since */
#define VMNODE_TENANT "tenant"     /* whose network it is in, whatever a later spec says */
bool vmnode_has(const struct vmnode *v, const char *file);
bool vmnode_says(const struct vmnode *v, const char *file, const char *text);
void vmnode_read(const struct vmnode *v, const char *file, char *room, size_t size); /* "" where it is missing */
int vmnode_put(const struct vmnode *v, const char *file, const char *text, struct fail *f);

/* Links the named files (NULL-ended) of folder (an image, or a frozen guest) into the node. */
int vmnode_share(const struct vmnode *v, const char *folder, const char *const *files, struct fail *f);

/* Makes a folder for one QEMU of user uid: only that user may enter run/, which holds its sockets. */
int vmnode_folder(const char *dir, uid_t uid, struct fail *f);

/* Makes an empty disk over base ("base.ext4" or "gold.qcow2" in the same folder), owned by uid; size 0: the base's. */
int vmnode_disk(const char *dir, const char *base, const char *format, int64_t size, uid_t uid, struct fail *f);

/* What a disk of so many bytes inside takes of this machine, at most; `inodes` changes nothing. */
int64_t vmnode_disk_file(int64_t disk, int64_t inodes);

/* Takes the space of a promised disk. */
int vmnode_hold(const struct vmnode *v, struct fail *f);

/* Can this driver keep what the node was promised? 0, or -ENOTSUP and why not. */
int vmnode_can_keep(const struct vmnode *v, struct fail *f);

/* Writes the node's current identity; and: its words for the kernel's command line. */
int vmnode_identity(const struct vmnode *v, int64_t *serial, struct fail *f);
int vmnode_words(const struct vmnode *v, char *room, size_t size, struct fail *f);

#endif
