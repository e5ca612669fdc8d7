/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's view of the machine under the process driver: its own processes, its own home and /tmp, and the machine's
 * programs and settings read-only. All else is left out: only what is on the list appears.
 */
#ifndef AGENTD_PROCESS_SPACE_H
#define AGENTD_PROCESS_SPACE_H

#include "base/fail.h"

enum { SPACE_HIDES = 8 };

struct space {
	const char *root;              /* a folder on which the new root may be mounted */
	const char *dir;               /* the node's folder; its home, tmp and ssh appear inside; NULL for a trial */
	const char *name;              /* host name */
	const char *home;              /* where its home appears */
	const char *hide[SPACE_HIDES]; /* folders that must look empty; ends with NULL */
};

/* Where dir/ssh and dir/hostkey appear inside. */
#define SPACE_SSH "/run/nanopod"

/* This process keeps its user; its children will be in new namespaces, the first as pid 1. */
int space_enter(struct fail *f);

/* In that first child: mounts all, changes root, and drops every capability that could undo it. */
int space_build(const struct space *s, struct fail *f);

#endif
