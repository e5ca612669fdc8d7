/* SPDX-License-Identifier: Apache-2.0 */
/* One script on one node, or one copy to it: its text, its progress and its result. For remote.c alone. */
#ifndef CLI_PROVISION_ROLLOUT_REMOTE_JOB_H
#define CLI_PROVISION_ROLLOUT_REMOTE_JOB_H

#include "base/list.h"
#include "cli/provision/rollout/remote.h"
#include "cli/provision/rollout/remote_wire.h"
#include "pssh/pssh.h"

enum { REMOTE_TEXT = 512 };
#define REMOTE_ASK "[nanopod asks sudo]"   /* sudo's prompt */

struct remote_peer {
	struct pssh_host *host;
	size_t member;
	bool up;
	char why[REMOTE_TEXT];
	enum remote_root root;
	char *password;
};

struct remote_job {
	struct list link;
	struct remote_peer *peer;
	struct pssh_task *task;
	struct buf script;     /* the unsent rest, and the password before it */
	size_t sent, gate;     /* gate: how much may go before sudo accepts the password */
	unsigned flags, asked; /* asked: how often sudo asked for the password */
	bool copy, full, cancelled, timed_out, said_end, over, lost;
	int64_t deadline, kill_at, end_at, beat_at, started_us;
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

void remote_job_send(struct remote_job *job); /* as much as the channel takes */
void remote_job_cancel(struct remote_job *job);
void remote_job_due(struct remote_job *job, int64_t now);
int64_t remote_job_when(const struct remote_job *job); /* time of its next timer; INT64_MAX: none */

/* Takes the records for itself, like `end`; false for those of the caller. */
bool remote_job_record(struct remote_job *job, const struct remote_wire *w);
void remote_job_nonsense(struct remote_job *job, const char *why);
void remote_job_stderr(struct remote_job *job, const char *data, size_t len);
void remote_job_ended(struct remote_job *job, const struct pssh_event *ev);

#endif
