/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a new root folder out of mounts, piece by piece. Paths "at" are below the new root, without '/' in front. */
#ifndef AGENTD_PROCESS_NEWROOT_H
#define AGENTD_PROCESS_NEWROOT_H

#include "base/fail.h"

struct mounter {
	int root;           /* the new root folder */
	char path[256];     /* where it is, as long as the old root is there */
};

enum { MOUNTER_FIXED = 1 /* read-only, with all below */ };

int mounter_init(struct mounter *m, const char *path, struct fail *f);
int mounter_close(struct mounter *m, struct fail *f);   /* the root itself becomes read-only; it is "/" by now */

int mounter_folder(struct mounter *m, const char *at, struct fail *f);
int mounter_touch(struct mounter *m, const char *at, struct fail *f);
int mounter_link(struct mounter *m, const char *to, const char *at, struct fail *f);
int mounter_bind(struct mounter *m, const char *from, const char *at, int flags, struct fail *f);
int mounter_fresh(struct mounter *m, const char *type, const char *at, const char *options, struct fail *f);

/* A folder or link of the machine's root, read-only; none: nothing. And any path, where it is there. */
int mounter_system(struct mounter *m, const char *name, struct fail *f);
int mounter_maybe(struct mounter *m, const char *path, struct fail *f);

/* What is there already becomes read-only, or empty. Not there: nothing. */
int mounter_fix(struct mounter *m, const char *at, struct fail *f);
int mounter_empty(struct mounter *m, const char *at, struct fail *f);

/* Whatever below `at` is not for everybody to read becomes empty. */
int mounter_secrets(struct mounter *m, const char *at, struct fail *f);

/* GPUs and their like, and the file that names DNS servers. */
int mounter_accelerators(struct mounter *m, struct fail *f);
int mounter_resolver(struct mounter *m, struct fail *f);

/* /etc/group without the group of terminals, which is unknown there; and a root without a password, who is not locked out. */
int mounter_groups(struct mounter *m, struct fail *f);
int mounter_shadow(struct mounter *m, struct fail *f);

#endif
