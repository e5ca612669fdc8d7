/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs scripts on nodes over connections that stay open: sends them on standard input, runs them as root (by sudo for
 * another user), and separates their records from the output of programs. One loop for all nodes, which reports signals
 * too.
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
	REMOTE_RECORD, /* words[0 … count-1], the first names the record */
	REMOTE_LOG,    /* an output line of a program on the node */
	REMOTE_END,    /* ok, or status and text; the job is freed afterwards */
	REMOTE_DOWN,   /* the connection to the node ended; each of its jobs gets its own END */
	REMOTE_SIGNAL, /* Ctrl-C and the like; status: its number */
	REMOTE_TICK,   /* the time given to remote_next() is over */
};

enum { REMOTE_WORDS = 8 };

struct remote_event {
	enum remote_kind kind;
	struct remote_job *job;
	size_t member;
	const char *words[REMOTE_WORDS];
	size_t count;
	const char *line;
	bool out; /* LOG: from standard output */
	bool ok;
	int status;       /* of the script; -1: it did not report its end (lost, timed out, killed) */
	bool lost;        /* END: it lost the connection or the machine; it may start again */
	const char *text; /* a sentence unless ok */
	void *data;
};

/*
 * Connects to all hosts, asks about unknown host keys and passwords, and runs a script on each as the signed-in user,
 * in the session of the first contact: one session less. names: of members. An exit status.
 */
int remote_open(struct nanopod *np, char *const *names, size_t count, const char *script, size_t len,
	struct remote **out);
/* The job of that script, whose events come as those of any other; once for a member that was reached. */
struct remote_job *remote_first(struct remote *r, size_t member, void *data);
#define REMOTE_FIRST "60"              /* that script ends after so many seconds */
enum { REMOTE_FIRST_OUT = 260 << 10 }; /* the most of what it says that is kept */
void remote_close(struct remote *r);

/* Whether it was reached; else why: a sentence. */
bool remote_up(const struct remote *r, size_t member, const char **why);

/* Sets how to become root there. password: of sudo, NULL if it needs none; copied, and wiped at close. */
enum remote_root { REMOTE_AS_IS, REMOTE_SUDO, REMOTE_SUDO_PASSWORD };
void remote_set_root(struct remote *r, size_t member, enum remote_root how, const char *password);

enum remote_flags {
	/*
	 * The script reads the channel itself, as descriptor 9: an empty line every 5 s while nanopod lives, "exit",
	 * or its end. It ends on the last two, and after REMOTE_SILENT seconds without a line.
	 */
	REMOTE_HOLD = 1,
	REMOTE_USER = 2, /* as the signed-in user, not as root */
	REMOTE_LOOK = 4, /* it changes nothing */
	REMOTE_LAST = 8, /* its shell ends with it, and waits for no other script */
};
#define REMOTE_SILENT "60"
/* A script without that flag ends after this many: a client that only stood still must not lose half a step. */
#define REMOTE_CUT "300"

/*
 * script: copied, and the copy is wiped after sending; the caller wipes its own. The node reads all of it before
 * running it in a subshell without standard input, and ends it with all that it started when the connection ends.
 * timeout_ms 0: none. A script that cannot start ends like one that failed.
 */
void remote_begin(struct remote *r, size_t member, const char *script, size_t len, unsigned flags, int64_t timeout_ms,
	void *data, struct remote_job **out);
/* Sets its time limit from now on. The second returns 0, or after a timeout how long it took. */
void remote_allow(struct remote_job *job, int64_t ms);
int64_t remote_late_ms(const struct remote_job *job);
int64_t remote_started_us(const struct remote_job *job); /* when it was sent: wall clock */
int64_t remote_heard_us(const struct remote_job *job);   /* when what it says now came */

/*
 * Copies a local file or folder to an absolute path there (first into the user's own folder if sudo is needed). Ends
 * like a job.
 */
void remote_upload(struct remote *r, size_t member, const char *local, const char *path, void *data,
	struct remote_job **out);

/* Ends its processes on the node too; the END follows soon. */
void remote_cancel(struct remote *r, struct remote_job *job);

size_t remote_jobs(const struct remote *r);
unsigned remote_connections(const struct remote *r); /* how many connections so far */

/* Sleeps until the next event, at most ms (-1: for ever). */
void remote_next(struct remote *r, int ms, struct remote_event *ev);

#endif
