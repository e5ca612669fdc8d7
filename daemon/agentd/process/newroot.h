/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a new root folder out of mounts, piece by piece. Paths "at" are below the new root, without a '/' first. */
#ifndef AGENTD_PROCESS_NEWROOT_H
#define AGENTD_PROCESS_NEWROOT_H

#include "base/fail.h"

struct mounter {
	int root;           /* the new root folder */
	char path[256];     /* its path, valid until the old root goes away */
};

enum { MOUNTER_FIXED = 1 /* read-only, with all mounts below */ };

int mounter_init(struct mounter *m, const char *path, struct fail *f);
int mounter_close(struct mounter *m, struct fail *f);   /* makes the root read-only, when it is "/" */

int mounter_folder(struct mounter *m, const char *at, struct fail *f);
int mounter_touch(struct mounter *m, const char *at, struct fail *f);
int mounter_link(struct mounter *m, const char *to, const char *at, struct fail *f);
int mounter_bind(struct mounter *m, const char *from, const char *at, int flags, struct fail *f);
int mounter_fresh(struct mounter *m, const char *type, const char *at, const char *options, struct fail *f);

/* Shows a folder or link of the machine's root read-only (missing: nothing). And: any path, if it exists. */
int mounter_system(struct mounter *m, const char *name, struct fail *f);
int mounter_maybe(struct mounter *m, const char *path, struct fail *f);

/* Makes a path below the new root read-only, or empty. Missing: nothing. */
int mounter_fix(struct mounter *m, const char *at, struct fail *f);
int mounter_empty(struct mounter *m, const char *at, struct fail *f);

/* Makes everything below `at` that not everybody may read look empty. */
int mounter_secrets(struct mounter *m, const char *at, struct fail *f);

/* GPUs and similar devices, and the file that names DNS servers. */
int mounter_accelerators(struct mounter *m, struct fail *f);
int mounter_resolver(struct mounter *m, struct fail *f);

/* /etc/group without the group of terminals, whose number is not mapped there; and a root account not locked. */
int mounter_groups(struct mounter *m, struct fail *f);
int mounter_shadow(struct mounter *m, struct fail *f);

#endif
