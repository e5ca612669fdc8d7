/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of others, run without a shell: to their end with a deadline, or left behind as a node's
 * own. What they said on standard error becomes the sentence of the failure.
 */
#ifndef AGENTD_OS_SPAWN_H
#define AGENTD_OS_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"

enum { SPAWN_ARGS = 96 };

struct spawn {
	const char *const *argv;   /* ends with NULL; argv[0] is looked for in a fixed path of system folders */
	const char *const *env;    /* ends with NULL: "NAME=value", beside PATH, LC_ALL=C and HOME; NULL: none */
	const char *dir;           /* working folder; NULL: "/" */
	int in;                    /* standard input; -1 or 0: /dev/null */
	int net;                   /* a network namespace's descriptor to run in; 0 or -1: this one's */
	int (*prepare)(void *arg); /* in the child, just before the program; not 0: it does not start */
	void *arg;
};

/*
 * Runs it to its end: 0 where it exited with 0. -ENOENT: not installed. -ETIMEDOUT: killed, with all
 * its process group. Else -EIO and the last lines that it said in the sentence. out: its standard output, or NULL.
 */
int spawn_run(const struct spawn *s, int64_t deadline_ms, struct buf *out, struct fail *f);

/* The same with the words as arguments, ending with NULL. */
int spawn_words(int64_t deadline_ms, struct fail *f, const char *word, ...) __attribute__((sentinel));

/*
 * Starts it in a session of its own with standard output and error appended to log_path, all other
 * descriptors closed but keep (-1: none), which becomes descriptor 3. Returns its pid in *pid once the program runs.
 */
int spawn_leave(const struct spawn *s, const char *log_path, int keep, pid_t *pid, struct fail *f);

/* Is there such a program in the system's folders? Its path in room, or false. */
bool spawn_find(const char *name, char *room, size_t size);

#endif
