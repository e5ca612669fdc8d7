/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts run on nodes over the fleet's kept connections: sent on standard input, as root (by sudo where the user is
 * another), their records parted from what programs say. One loop for all nodes; signals are taken care of.
 */
#ifndef CLI_PROVISION_ROLLOUT_REMOTE_H
#define CLI_PROVISION_ROLLOUT_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/frame/command.h"
#include "cli/remote/connect.h"

struct remote;
struct remote_job;

enum remote_kind {
	REMOTE_RECORD,   /* words[0 … count-1], the first names the record */
	REMOTE_LOG,      /* a line that a program on the node said */
	REMOTE_END,      /* ok, or status and text; the job is gone after this */
	REMOTE_DOWN,     /* the connection to the node ended; its jobs end by themselves */
	REMOTE_SIGNAL,   /* Ctrl-C and the like: how often so far is in status */
	REMOTE_TICK,     /* the time that was given to remote_next() is over */
};

enum { REMOTE_WORDS = 8 };

struct remote_event {
	enum remote_kind kind;
	struct remote_job *job;
	size_t member;
	const char *words[REMOTE_WORDS];
	size_t count;
	const char *line;
	bool out;            /* LOG: it came on standard output */
	bool ok;
	int status;          /* of the script; -1: it never said its end (lost, timed out, killed) */
	bool lost;           /* END: the connection or the machine went away under it; it may be begun again */
	const char *text;    /* a sentence where it is not ok */
	void *data;
};

/* names: of members. An exit status; asks for unknown host keys and passwords, and reaches all hosts. */
int remote_open(struct nanopod *np, char *const *names, size_t count, struct remote **out);
void remote_close(struct remote *r);

/* Was it reached? Else why: a sentence. */
bool remote_up(const struct remote *r, size_t member, const char **why);

/* How it becomes root there; password: of sudo, NULL where none is needed. Copied; wiped at close. */
enum remote_root { REMOTE_AS_IS, REMOTE_SUDO, REMOTE_SUDO_PASSWORD };
void remote_set_root(struct remote *r, size_t member, enum remote_root how, const char *password);

enum remote_flags {
	REMOTE_SURVIVE = 1,  /* goes on to its end though the connection is lost */
	REMOTE_HOLD = 2,     /* standard input stays open, as descriptor 9 of the script; remote_cancel() ends it */
	REMOTE_USER = 4,     /* as who signed in, not as root */
};

/*
 * script: wiped by nobody but the caller, copied here and wiped when sent. It is read whole before it runs, in a subshell,
 * without standard input. timeout_ms 0: none. One that cannot be begun ends as one that failed.
 */
void remote_begin(struct remote *r, size_t member, const char *script, size_t len, unsigned flags, int64_t timeout_ms,
	void *data, struct remote_job **out);
/* HOLD: a line to it. */
void remote_write(struct remote_job *job, const char *text);
/* It may take so long, from now on. 0: it may take longer; else how long it took, and is ended for that. */
void remote_allow(struct remote_job *job, int64_t ms);
int64_t remote_late_ms(const struct remote_job *job);
int64_t remote_started_us(const struct remote_job *job);   /* when it was sent off: wall clock */

/* Copies a local file or folder to an absolute path there (a user's own folder first where sudo is needed). Ends as a job does. */
void remote_upload(struct remote *r, size_t member, const char *local, const char *path, void *data,
	struct remote_job **out);

/* Its processes on the node are ended too. It ends by itself, soon. */
void remote_cancel(struct remote *r, struct remote_job *job);

size_t remote_jobs(const struct remote *r);
unsigned remote_connections(const struct remote *r);   /* how many were made so far */

/* Sleeps for what comes next, at most ms (-1: for ever). */
void remote_next(struct remote *r, int ms, struct remote_event *ev);

#endif
