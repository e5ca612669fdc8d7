/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the ns driver: where a node's things are in its folder, and whose they are.
 *
 *   share/      what the node reads at /etc/nanopod and cannot write: keys, host key, network, script
 *   layer/      what lies over the image and below the node's own writing: its name, its units
 *   upper work  what the node wrote; or disk.img with both in it, where its disk is limited
 *   image       a link to the build of the image that it was made from
 *   made        is there when `create` came to its end
 *   ending      a stop asked it to end, and it was not started since
 */
#ifndef AGENTD_NS_NS_H
#define AGENTD_NS_NS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentd/driver.h"

enum { NS_PATH = 512 };
#define NS_SHARED_AT "/etc/nanopod"

/* The node's root is this number outside; MOUNT_IDS numbers from there on are the node's. */
uid_t ns_first_id(const struct node_spec *n);

/* dir/name. -ENAMETOOLONG, or -EINVAL where the path has what no mount can be told. */
int ns_path(const struct node_spec *n, const char *name, char room[static NS_PATH], struct fail *f);

/* The file is whole under its name, synced and owner's, or as it was. */
int ns_write(const char *path, const char *text, mode_t mode, uid_t owner, struct fail *f);
/* The folder is there and owner's. */
int ns_folder(const char *path, mode_t mode, uid_t owner, struct fail *f);
/* All in the folder but the names in keep (ends with NULL) is gone; never looks into what is mounted there. */
int ns_empty(const char *folder, const char *const *keep, struct fail *f);

/* share/ and layer/ are there and say what the spec says. */
int ns_layer(const struct node_spec *n, struct fail *f);
int ns_keys(const struct node_spec *n, struct fail *f);
/* disk.img, or upper/ and work/. There already: left as they are. */
int ns_disk(const struct node_spec *n, struct fail *f);

/* systemd-nspawn runs the node, and its first process is there. Needs groups and a veth. */
int ns_boot(const struct node_spec *n, struct fail *f);
/* The node's first process, seen from here; 0: none. */
pid_t ns_init(const struct node_spec *n);

#endif
