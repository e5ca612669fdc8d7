/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of one node: device files, what their libraries need, and the GPUs that they belong to. Plain data with
 * ceilings: it may come from files that others wrote.
 */
#ifndef AGENTD_OS_DEVICES_H
#define AGENTD_OS_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { DEVICES_PATH = 256, DEVICES_TEXT = 512, DEVICES_MAX = 512, DEVICES_GPUS = 64, DEVICES_ADDRESS = 20 };

enum device_access { DEVICE_MKNOD = 1, DEVICE_READ = 2, DEVICE_WRITE = 4, DEVICE_ALL = 7 };

struct device_node {
	char inside[DEVICES_PATH];  /* "/dev/nvidia0" */
	char outside[DEVICES_PATH]; /* on this machine; for its numbers, where they are not known */
	char type;                  /* 'c', 'b' */
	bool numbered;              /* major and minor are set */
	unsigned major, minor;
	unsigned access; /* enum device_access */
};

/* A file or folder of this machine that the node reads. */
struct device_mount {
	char inside[DEVICES_PATH], outside[DEVICES_PATH];
};

/* Inside the node: path leads to target, which may be relative. */
struct device_link {
	char target[DEVICES_PATH], path[DEVICES_PATH];
};

struct device_text {
	char text[DEVICES_TEXT];
};

struct device_gpu {
	char address[DEVICES_ADDRESS]; /* "0000:19:00.0" */
	unsigned vendor;
	char model[64], uuid[64]; /* uuid "": unknown */
};

/* A function of the PCI bus that a guest gets; vfio-pci has it. */
struct device_function {
	char address[DEVICES_ADDRESS];
	int group;      /* of the IOMMU */
	uint64_t space; /* bytes of address space that it needs, at most */
};

struct node_devices {
	struct device_node *nodes;
	struct device_mount *mounts;
	struct device_link *links;
	struct device_text *env;     /* "NAME=value" */
	struct device_text *folders; /* of libraries: the node's ld cache lists them */
	struct device_gpu *gpus;
	struct device_function *functions; /* those of a slot one after another */
	size_t node_count, mount_count, link_count, env_count, folder_count, gpu_count, function_count;
};

/* Each returns 0, -ENOMEM, or -E2BIG above the ceiling. What is there already (by its path inside) stays as it is. */
int devices_add_node(struct node_devices *d, const struct device_node *n);
int devices_add_mount(struct node_devices *d, const char *outside, const char *inside);
int devices_add_link(struct node_devices *d, const char *target, const char *path);
int devices_add_env(struct node_devices *d, const char *text);
int devices_add_folder(struct node_devices *d, const char *path);
int devices_add_gpu(struct node_devices *d, const struct device_gpu *g);
int devices_add_function(struct node_devices *d, const struct device_function *n);
int devices_merge(struct node_devices *d, const struct node_devices *more);
void devices_release(struct node_devices *d);

/* Absolute, without "..", "." or empty parts, printable, and short enough for the structs above. */
bool devices_path_good(const char *path);

#endif
