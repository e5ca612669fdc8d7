/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node of the process driver sees of the machine: its own processes, its own home and /tmp, the
 * machine's programs and settings read-only, and nothing else: what is not on the list is not there.
 */
#ifndef AGENTD_PROCESS_SPACE_H
#define AGENTD_PROCESS_SPACE_H

#include "base/fail.h"

enum { SPACE_HIDES = 8 };

struct space {
	const char *root;              /* a folder on which the new root may be mounted */
	const char *dir;               /* of the node: home, tmp and ssh in it come along; NULL for a trial */
	const char *name;              /* host name */
	const char *home;              /* where its home appears */
	const char *hide[SPACE_HIDES]; /* folders that must be empty in it, wherever they are; ends with NULL */
};

/* Where dir/ssh and dir/hostkey appear inside. */
#define SPACE_SSH "/run/nanopod"

/* This process keeps its user; its children will be in new namespaces, the first as pid 1. */
int space_enter(struct fail *f);

/* In that first child: mounts all, goes there, and gives up every right that could undo it. */
int space_build(const struct space *s, struct fail *f);

#endif
