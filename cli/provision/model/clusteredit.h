/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the text of a cluster file: a setting, a role, the nodes. Comments and all else stay, unless the value stands
 * in {} or shares its line: then the lines of its outermost key are written again.
 */
#ifndef CLI_PROVISION_MODEL_CLUSTEREDIT_H
#define CLI_PROVISION_MODEL_CLUSTEREDIT_H

#include "base/buf.h"
#include "base/fail.h"

enum { CLUSTEREDIT_KEYS = 16 };

/* keys: the path to the value, ends with NULL. 0, or -EINVAL with the text unchanged. */
int clusteredit_set(const char *file, struct buf *text, const char *const *keys, const char *value, struct fail *f);

/* The same with a list of at least one text. */
int clusteredit_set_list(const char *file, struct buf *text, const char *const *keys, const char *const *words,
	size_t count, struct fail *f);
/* The same with keys as "slurm.accounting" below `above`; -EINVAL unless it is STACK.SETTING. */
int clusteredit_set_dotted(const char *file, struct buf *text, const char *above, const char *dotted, const char *value,
	struct fail *f);

/* Adds a stack with its defaults, unless the file has it. */
int clusteredit_stack(const char *file, struct buf *text, const char *stack, struct fail *f);
/* Takes out a stack ("stacks"), a role ("roles") or a person ("users") with all below it. 1 where it is not there. */
int clusteredit_drop(const char *file, struct buf *text, const char *above, const char *key, struct fail *f);
/* Replaces the nodes. */
int clusteredit_nodes(const char *file, struct buf *text, const char *hosts, struct fail *f);

#endif
