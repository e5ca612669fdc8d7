/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs programs of others without a shell: to their end with a deadline, or left behind as a process of a node.
 * Their standard error becomes the sentence of the failure.
 */
#ifndef AGENTD_OS_SPAWN_H
#define AGENTD_OS_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"

enum { SPAWN_ARGS = 256 };

struct spawn {
	const char *const *argv;   /* ends with NULL; argv[0] is searched in a fixed list of system folders */
	const char *const *env;    /* ends with NULL: "NAME=value", added to PATH, LC_ALL=C and HOME; NULL: none */
	const char *dir;           /* working folder; NULL: "/" */
	int in;                    /* standard input; -1 or 0: /dev/null */
	int net;                   /* descriptor of the network namespace to run in; 0 or -1: ours */
	int (*prepare)(void *arg); /* in the child, just before the program; not 0: do not start it */
	void *arg;
};

/*
 * Runs it to its end: 0 if it exited with 0. -ENOENT: not installed. -ETIMEDOUT: killed, with its whole process
 * group. Else -EIO, with the last lines of its standard error in the sentence. out: its standard output, or NULL.
 */
int spawn_run(const struct spawn *s, int64_t deadline_ms, struct buf *out, struct fail *f);

/* The same with the words as arguments, ending with NULL. */
int spawn_words(int64_t deadline_ms, struct fail *f, const char *word, ...) __attribute__((sentinel));

/*
 * Starts it in a new session, with standard output and error appended to log_path. keep (-1: none) becomes descriptor
 * 3; all other descriptors are closed. Stores the program's pid in *pid once it runs.
 */
int spawn_leave(const struct spawn *s, const char *log_path, int keep, pid_t *pid, struct fail *f);

/* Finds a program in the system's folders: its path into room, or false. */
bool spawn_find(const char *name, char *room, size_t size);

#endif
