/* SPDX-License-Identifier: Apache-2.0 */
/* One script on one node, or one copy to it: its text, its progress and its result. For remote.c alone. */
#ifndef CLI_PROVISION_ROLLOUT_REMOTE_JOB_H
#define CLI_PROVISION_ROLLOUT_REMOTE_JOB_H

#include "base/list.h"
#include "cli/provision/rollout/remote.h"
#include "cli/provision/rollout/remote_wire.h"
#include "pssh/pssh.h"

enum { REMOTE_TEXT = 512, REMOTE_IDLE_MS = 30000 };
#define REMOTE_ASK "[nanopod asks sudo]" /* sudo's prompt */
/* With a script's status the end of its standard output, with its number the end of its standard error. */
#define REMOTE_MARK "\036NP\tend\t"

/* What a host said to the script that came with the first contact, until a job takes it. */
struct remote_first {
	struct buf out;
	size_t sent;
	unsigned told; /* lines after the script: its watch counts from there */
	bool flooded;  /* it said more than it may */
	bool passed;   /* its script has ended, and its shell waits */
	bool late;
	int64_t started_us, heard_us, began_ms, ended_ms;
	enum pssh_event_type ended; /* EXIT or SIGNAL */
	int status;
	char text[REMOTE_TEXT];
};

struct remote_peer {
	struct pssh_host *host;
	struct remote_first first;
	size_t member;
	bool up;
	char why[REMOTE_TEXT];
	enum remote_root root;
	char *password;
	struct pssh_task *idle; /* whose shell waits for another script, or NULL */
	enum remote_root idle_root;
	int64_t idle_until;            /* after that, its connection may have died unnoticed */
	int64_t let_go_at;             /* when a session of it was given up last, or 0 */
	bool alone;                    /* no shell may wait: as many hosts as --fanout allows have their turn */
	struct pssh_task *contact;     /* of the first contact, that of all peers; NULL: it has ended */
	struct remote_job *on_contact; /* whose script runs in its shell */
	unsigned turns;                /* scripts so far */
};

struct remote_job {
	struct list link;
	struct remote_peer *peer;
	struct pssh_task *task;
	struct buf script;     /* the unsent rest, and the password before it */
	size_t sent, gate;     /* gate: how much may go before sudo accepts the password */
	unsigned flags, asked; /* asked: how often sudo asked for the password */
	bool copy, full, cancelled, timed_out, said_end, over, lost;
	bool marked; /* its standard error has ended, too */
	unsigned turn;
	enum remote_root root;
	bool first; /* what it said has come already: peer->first */
	int64_t deadline, kill_at, end_at, beat_at, again_at, started_us;
	int64_t limit_ms;
	int status;
	struct remote_wire out, err;
	char last[REMOTE_TEXT];       /* output line of a program */
	char text[REMOTE_TEXT];       /* why it failed */
	void *data;
};

/* Makes the text and the task of a new job. A pssh code. */
int remote_job_begin(struct remote_job *job, struct pssh *fleet, const char *script, size_t len);
int remote_job_copy(struct remote_job *job, struct pssh *fleet, const char *local, const char *path);
void remote_job_free(struct remote_job *job);

/* The text of a script as a node gets it, which is ended after `cut` seconds without a line from here. */
void remote_job_text(struct buf *b, const char *script, size_t len, unsigned flags, const char *cut, unsigned turn);

void remote_job_send(struct remote_job *job); /* as much as the channel takes */
void remote_job_cancel(struct remote_job *job);
void remote_job_due(struct remote_job *job, int64_t now);
int64_t remote_job_when(const struct remote_job *job); /* time of its next timer; INT64_MAX: none */

/* Takes the records for itself, like `end`; false for those of the caller. */
bool remote_job_mark(struct remote_job *job, struct remote_wire *w); /* a line that only said an end */
bool remote_job_leave(struct remote_job *job); /* if its script has ended and its shell waits, the peer has that */
bool remote_job_record(struct remote_job *job, const struct remote_wire *w);
void remote_job_nonsense(struct remote_job *job, const char *why);
void remote_job_stderr(struct remote_job *job, const char *data, size_t len);
bool remote_job_refused(struct remote_job *job, const struct pssh_event *ev); /* not its end: it asks again */
void remote_job_ended(struct remote_job *job, const struct pssh_event *ev);

#endif
