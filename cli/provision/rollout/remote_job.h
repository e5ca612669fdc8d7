/* SPDX-License-Identifier: Apache-2.0 */
/* One script on one node, or one copy to it: how it is sent, and what became of it. Of remote.c alone. */
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
	struct buf script;            /* what is not sent yet, and the password before it */
	size_t sent, gate;            /* gate: so much before sudo took the password */
	unsigned flags, asked;        /* asked: how often sudo wanted a password */
	bool copy, full, cancelled, timed_out, said_end, over, lost;
	int64_t deadline, kill_at, end_at, started_us;
	int64_t limit_ms;
	int status;
	struct remote_wire out, err;
	char last[REMOTE_TEXT];       /* line that a program said */
	char text[REMOTE_TEXT];       /* why it failed */
	void *data;
};

/* Text and task of a job that begins. A pssh code. */
int remote_job_begin(struct remote_job *job, struct pssh *fleet, const char *script, size_t len);
int remote_job_copy(struct remote_job *job, struct pssh *fleet, const char *local, const char *path);
void remote_job_free(struct remote_job *job);

void remote_job_send(struct remote_job *job);     /* as much as there is room for */
void remote_job_cancel(struct remote_job *job);
void remote_job_due(struct remote_job *job, int64_t now);
int64_t remote_job_when(const struct remote_job *job);   /* when something is due; INT64_MAX: never */

/* Takes an `end` record, and what else is not for others: true where it is kept here. */
bool remote_job_record(struct remote_job *job, const struct remote_wire *w);
void remote_job_nonsense(struct remote_job *job, const char *why);
void remote_job_stderr(struct remote_job *job, const char *data, size_t len);
void remote_job_ended(struct remote_job *job, const struct pssh_event *ev);

#endif
