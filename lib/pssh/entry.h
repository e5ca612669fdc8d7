/* SPDX-License-Identifier: Apache-2.0 */
/* What the public functions share: pssh.c, pssh_host.c, pssh_task.c and their like check arguments and pass them on. */
#ifndef PSSH_ENTRY_H
#define PSSH_ENTRY_H

#include "pssh/fleet/fleet.h"

/* Set the sentence of pssh_error() and return its code. */
int entry_refuse(struct pssh *p, const char *what); /* PSSH_EINVAL */
/* 0, or PSSH_EINVAL in a forked child: for calls that would use a connection, or make what needs one. */
int entry_here(struct pssh *p);
int entry_no_memory(struct pssh *p);                /* PSSH_ENOMEM */

/* Adds a variable to a list of name, value, …, NULL. */
int entry_add_variable(struct pssh *p, char ***env, size_t *count, const char *name, const char *value);

/* A task without hosts. In pssh_task.c. */
int entry_task_new(struct pssh *p, enum task_kind kind, struct pssh_task **out);

/* 0, or the same for what is not the name of a signal. In pssh_task.c. */
int entry_check_signal(struct pssh *p, const char *signal);

/* Frees *where and puts a copy of text there, or NULL for NULL. 0 or PSSH_ENOMEM. */
int entry_set_text(struct pssh *p, char **where, const char *text);

#endif
