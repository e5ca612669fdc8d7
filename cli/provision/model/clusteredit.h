/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the text of a cluster file: a setting, a role, the nodes. Comments and all else stay as they are, but where the
 * value stands in {} or is no lines of its own: then its outermost key is written anew.
 */
#ifndef CLI_PROVISION_MODEL_CLUSTEREDIT_H
#define CLI_PROVISION_MODEL_CLUSTEREDIT_H

#include "base/buf.h"
#include "base/fail.h"

enum { CLUSTEREDIT_KEYS = 16 };

/* keys: the way to the value, ends with NULL. 0 or -EINVAL; the text is as it was then. */
int clusteredit_set(const char *file, struct buf *text, const char *const *keys, const char *value, struct fail *f);

/* "stacks.slurm.accounting" as keys; -EINVAL where that is none. */
int clusteredit_set_dotted(const char *file, struct buf *text, const char *above, const char *dotted, const char *value,
	struct fail *f);

/* One more stack, with its defaults; nothing where it is there. */
int clusteredit_stack(const char *file, struct buf *text, const char *stack, struct fail *f);
/* The nodes are these from now on, instead of what it said. */
int clusteredit_nodes(const char *file, struct buf *text, const char *hosts, struct fail *f);

#endif
