/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the ns driver: the layout of a node's folder, and who owns what.
 *
 *   share/      what the node reads at /etc/nanopod and cannot write: keys, host key, network, script
 *   layer/      what is mounted over the image and below the node's own files: its name, its units
 *   upper work  what the node wrote; or disk.img with both in it, where its disk is limited
 *   shared/     where the folder of its reservation is mounted from, while it runs (data/shared has it)
 *   dev/        where its device nodes are mounted from, while it runs
 *   image       a link to the build of the image that it was made from
 *   made        exists once `create` has finished
 *   ending      a stop asked it to end, and it was not started since
 */
#ifndef AGENTD_NS_NS_H
#define AGENTD_NS_NS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentd/driver.h"
#include "base/buf.h"

enum { NS_PATH = 512, NS_SEEN = NS_PATH + 32 };
#define NS_SHARED_AT "/etc/nanopod"
#define NS_SHARED_FOLDER "/shared" /* as the node sees it */
#define NS_VOLUMES_FOLDER "/volumes"

/* The node's root has this id outside; it and the MOUNT_IDS - 1 ids after it belong to the node. */
uid_t ns_first_id(const struct node_spec *n);

/* dir/name. -ENAMETOOLONG, or -EINVAL where the path has characters that mount options cannot hold. */
int ns_path(const struct node_spec *n, const char *name, char room[static NS_PATH], struct fail *f);

/* Replaces the file atomically: synced and owned by owner, or unchanged on failure. */
int ns_write(const char *path, const char *text, mode_t mode, uid_t owner, struct fail *f);
/* Makes the folder, owned by owner. */
int ns_folder(const char *path, mode_t mode, uid_t owner, struct fail *f);
/* Removes all in the folder but the names in keep (ends with NULL); never enters what is mounted there. */
int ns_empty(const char *folder, const char *const *keep, struct fail *f);

/* Writes share/ and layer/ as the spec says. */
int ns_layer(const struct node_spec *n, struct fail *f);
int ns_keys(const struct node_spec *n, struct fail *f);
/* Writes share/resources: the size that programs in the node should believe, whatever /proc shows, and its kernel. */
int ns_tell_size(const struct node_spec *n, struct fail *f);
/* Makes disk.img, or upper/ and work/. Those that exist stay. */
int ns_disk(const struct node_spec *n, struct fail *f);
int ns_disk_use(const struct node_spec *n, int64_t *used, int64_t *size);
/* A process of the node, in this machine's own process namespace, for which path is a mount, and where; 0: none. */
pid_t ns_outer(const struct node_spec *n, const char *path, char seen[static NS_SEEN]);

/*
 * The folder that the node shares with others of its reservation on this machine: made, or enlarged by its part. Then,
 * in the child that becomes the node: mounted at dir/shared, with the owners that the node sees. Then given back: it
 * goes with the last node, but not at once. now: without waiting, as its space is needed.
 */
int ns_shared(const struct node_spec *n, struct fail *f);
int ns_shared_mount(const struct node_spec *n, int users, struct fail *f);
int ns_shared_leave(const struct node_spec *n, struct fail *f);
int ns_shared_tidy(const struct driver_setup *s, bool now, struct fail *f);

/* Makes the disk, or lets it grow to so many bytes. And: gives the node what is mounted at `raw`. */
int ns_grown(const char *file, int64_t bytes, struct fail *f);
int ns_shift(int users, const char *raw, const char *at, struct fail *f);

/*
 * Volumes of the node's account on this machine (kept_volumes.h). Before the node starts, each has a file system of its
 * size, however long that takes; who makes it goes on where the caller is killed. Then, in the child that becomes the
 * node: all of them, mounted below dir/volumes. Then, while it runs: those that came since. What is mounted below
 * dir/volumes in the mount namespace of systemd-nspawn is mounted in the node, too.
 */
int ns_volumes_ready(const struct node_spec *n, struct fail *f);
int ns_volumes_mount(const struct node_spec *n, int users, struct fail *f);
int ns_volumes_join(const struct node_spec *n, struct fail *f);

/*
 * Writes what the node makes of its devices at its start: links, the ld cache, the environment. Then, in the child that
 * becomes the node: makes the device nodes, owned by the node's root, below dev/.
 */
int ns_devices(const struct node_spec *n, struct fail *f);
int ns_device_nodes(const struct node_spec *n, struct fail *f);
/* The folders, below the node's mounted root, that its libraries are mounted in. */
int ns_device_folders(const struct node_spec *n, const char *root, struct fail *f);
/* Adds options of systemd-nspawn for the devices, each ended by a NUL byte. 0 or -errno. */
int ns_device_options(const struct node_spec *n, struct buf *out, size_t *count);

/* Starts systemd-nspawn and waits for the node's first process. Needs groups and a veth. */
int ns_boot(const struct node_spec *n, struct fail *f);
/* The node's first process as a pid of this machine; 0: none. */
pid_t ns_init(const struct node_spec *n);

#endif
