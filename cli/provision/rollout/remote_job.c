/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/rollout/remote_job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/frame/print.h"

enum { SCRIPT_BYTES = 64 << 20, PIECE = 128 << 10, KILL_MS = 8000, END_MS = 1500, STOP_MS = 3000, BEAT_MS = 5000 };
enum { REFUSED_MS = 5000, REFUSED_PAUSE_MS = 100 };

#define GATE "#nanopod"

/* These commands go to the user's login shell, which may be any: so no '!', no newline, no backslash before a quote. */
static const char *const commands[] = {
	[REMOTE_AS_IS] = "exec sh -s",
	[REMOTE_SUDO] = "exec sudo -n -H sh -s",
	/*
	 * sudo reads one line, the password; if it wants none, sh skips the line. The script follows after sudo
	 * accepts.
	 */
	[REMOTE_SUDO_PASSWORD] = "exec sudo -k -S -H -p '" REMOTE_ASK
				 "' sh -c 'while IFS= read -r l; do case $l in \"" GATE
				 "\") printf \"\\036NP\\tready\\n\"; exec sh -s;; esac; done; exit 1'",
};

/*
 * The script is one shell command, so that half of it never runs. A second process, the watch, reads the channel, in
 * which nanopod sends a line every few seconds. When a line says "exit", when the channel ends, and when it is silent
 * for $np_cut seconds (a connection can be lost without a word), the watch ends the script and all that it started:
 * the session that sshd or sudo made for it. Thus neither a process nor a lock outlives its connection. On TERM the
 * watch does the same. Of a script that changes nothing the watch starts bash, and counts, only with the first line:
 * most are over by then. One that hangs as the connection is lost without a word before that line stays until sshd
 * hears of it.
 */
static const char before[] = "np_script() {\n(\n";
static const char after[] = "\n)\n}\n";
static const char look[] = "trap np_x=exit TERM HUP; read -r np_x; ";
static const char watch[] =
	"export np_cut np_x np_main; exec bash -c '\n"
	"look() { read -r line <\"/proc/$1/stat\" && set -- ${line##*) } && state=$1 session=$4; }\n"
	"each() {\n"
	"\tleft=\n"
	"\tfor pid in /proc/[0-9]*; do\n"
	"\t\tpid=${pid#/proc/}\n"
	"\t\t[ $pid != $$ ] && look $pid && [ $session = $own ] && [ $state != Z ] || continue\n"
	"\t\tleft=$pid\n"
	"\t\t[ -z \"$1\" ] || kill -$1 $pid\n"
	"\tdone\n"
	"}\n"
	"finish() {\n"
	"\ttrap \"\" TERM HUP INT\n"
	"\tlook $$\n"
	"\town=$session\n"
	"\tread -r leader <\"/proc/$own/comm\"\n"
	"\tcase $own:$leader in\n"
	"\t$np_main:* | *:sudo*) ;;\n"
	"\t*) kill -TERM 0; sleep 5; kill -KILL 0 ;;\n" /* a server that makes no session of its own for a command */
	"\tesac\n"
	/* The shell first, which would end the watch when its script ends before it: as text, 998 comes after 1003. */
	"\tlook $np_main && [ $session = $own ] && kill -TERM $np_main\n"
	"\teach TERM\n"
	"\tfor rest in .1 .2 .4 .8 1.5 2; do [ -n \"$left\" ] || exit; sleep $rest; each; done\n"
	"\teach KILL\n"
	"\texit\n"
	"}\n"
	"trap finish TERM HUP INT\n"
	"while [ \"$np_x\" != exit ] && read -r -t $np_cut np_x; do :; done\n"
	"finish' nanopod-watch) <&9 9<&- >/dev/null 2>&1 &\n"
	"np_watch=$!\n"
	"np_script 9<&-\nnp_end=$?\n"
	"{ kill -KILL $np_watch; wait $np_watch; } 2>/dev/null\n"
	"unset -f np_script\n" /* it may have had secrets */
	"exec <&9 9<&-\n";
static const char holding[] = "exec 9<&0 </dev/null\n";

static void remote_job_add(struct buf *b, const char *data, size_t len)
{
	if (buf_add(b, data, len) != 0)
		command_nomem();
}

static void remote_job_say(struct buf *b, const char *text)
{
	remote_job_add(b, text, strlen(text));
}

void remote_job_text(struct buf *b, const char *script, size_t len, unsigned flags, const char *cut, unsigned turn)
{
	remote_job_say(b, before);
	remote_job_add(b, script, len);
	remote_job_say(b, after);
	remote_job_say(b, "{\n");
	remote_job_say(b, holding);
	if (flags & REMOTE_HOLD) {
		remote_job_say(b, "np_script\nnp_end=$?\n");
	} else {
		remote_job_say(b, "(np_main=$$ np_x='' np_cut=");
		remote_job_say(b, cut);
		remote_job_say(b, "; ");
		remote_job_say(b, flags & REMOTE_LOOK ? look : "");
		remote_job_say(b, watch);
	}
	/* The last thing of its session, and of both its streams, before another script may come. */
	remote_job_say(b, "printf '\\036NP\\tend\\t%s\\n' $np_end\n");
	if (!(flags & REMOTE_HOLD) && buf_addf(b, "printf '" REMOTE_MARK "%u\\n' >&2\n", turn) != 0)
		command_nomem();
	/* In here: the watch would read it where the shell has not read that far. */
	if (flags & (REMOTE_HOLD | REMOTE_LAST))
		remote_job_say(b, "exit 0\n");
	remote_job_say(b, "}\n");
}

static void remote_job_wrap(struct remote_job *job, const char *script, size_t len)
{
	struct buf *b = &job->script;
	bool ask = job->peer->root == REMOTE_SUDO_PASSWORD && !(job->flags & REMOTE_USER) && !job->task;

	/* Allocates the final size at once: growing would leave copies of secrets in freed memory. */
	if (buf_reserve(b, len + 4096 + (job->peer->password ? strlen(job->peer->password) : 0)) != 0)
		command_nomem();
	if (ask) {
		remote_job_say(b, job->peer->password ? job->peer->password : "");
		remote_job_say(b, "\n" GATE "\n");
		job->gate = b->len;
	}
	job->turn = ++job->peer->turns;
	remote_job_text(b, script, len, job->flags, REMOTE_CUT, job->turn);
}

static int remote_job_start(struct remote_job *job)
{
	int rc = pssh_task_add(job->task, job->peer->host);

	pssh_task_set_data(job->task, job);
	return rc ? rc : pssh_task_start(job->task);
}

/* All nodes share the task of the first contact. */
static void remote_job_has(struct remote_peer *p, struct pssh_task *task, struct remote_job *job)
{
	if (task == p->contact)
		p->on_contact = job;
	else
		pssh_task_set_data(task, job);
}

static void remote_job_let_go(struct remote_peer *p, struct pssh_task *task)
{
	if (!task)
		return;
	p->let_go_at = clock_ms();
	remote_job_has(p, task, NULL);
	if (task == p->contact)
		pssh_task_stop_host(task, p->host);
	else
		pssh_task_free(task);
}

static void remote_job_let_idle_go(struct remote_peer *p)
{
	struct pssh_task *idle = p->idle;

	p->idle = NULL;
	remote_job_let_go(p, idle);
}

/*
 * Goes on in the shell that an earlier script left, if it is of the same user. Otherwise that ends, because a server
 * may limit how many sessions there are (see remote_job_refused()); beside the script that holds a lock it stays.
 */
static bool remote_job_resume(struct remote_job *job)
{
	struct remote_peer *p = job->peer;
	bool holds = job->flags & REMOTE_HOLD, late = clock_ms() >= p->idle_until;

	if (!p->idle)
		return false;
	if (late || (!holds && (job->copy || p->idle_root != job->root))) {
		remote_job_let_idle_go(p);
		return false;
	}
	if (holds)
		return false;
	job->task = p->idle;
	p->idle = NULL;
	remote_job_has(p, job->task, job);
	return true;
}

static void remote_job_said_end(struct remote_job *job, unsigned long status)
{
	if (job->said_end)
		return;
	job->said_end = true;
	job->status = (int)(status & 255);
	job->end_at = clock_ms() + END_MS;
}

/* Whether its shell waits for another script. An "exit", which it might read, ends it. */
bool remote_job_leave(struct remote_job *job)
{
	struct remote_peer *p = job->peer;

	if (!job->said_end || !job->marked || job->kill_at || *job->text || job->over || p->idle)
		return false;
	remote_job_has(p, job->task, NULL);
	if (p->alone)
		remote_job_let_go(p, job->task);
	else
		p->idle = job->task;
	p->idle_root = job->root;
	p->idle_until = clock_ms() + REMOTE_IDLE_MS;
	job->task = NULL;
	return true;
}

/* Its end is the end of a line: of standard error, or where half a line came before the record that says so. */
bool remote_job_mark(struct remote_job *job, struct remote_wire *w)
{
	char *at = strrchr(w->line.data, *REMOTE_MARK), *end;
	unsigned long number;

	if (!at || strncmp(at, REMOTE_MARK, sizeof REMOTE_MARK - 1) != 0)
		return false;
	at += sizeof REMOTE_MARK - 1;
	number = strtoul(at, &end, 10);
	if (end == at || *end)
		return false;
	if (w == &job->out)
		remote_job_said_end(job, number);
	else if (number == job->turn)
		job->marked = true;
	else
		return false;
	at -= sizeof REMOTE_MARK - 1;
	*at = '\0';
	return at == w->line.data;
}

int remote_job_begin(struct remote_job *job, struct pssh *fleet, const char *script, size_t len)
{
	bool resumes;
	int rc;

	buf_init(&job->script, SCRIPT_BYTES);
	job->root = job->flags & REMOTE_USER ? REMOTE_AS_IS : job->peer->root;
	resumes = remote_job_resume(job);
	remote_job_wrap(job, script, len);
	if (job->limit_ms)
		job->deadline = clock_ms() + job->limit_ms;
	if (resumes) {
		remote_job_send(job);
		return 0;
	}
	rc = pssh_exec(fleet, commands[job->root], &job->task);
	rc = rc ? rc : pssh_task_set_output(job->task, PSSH_OUTPUT_CHUNKS, (size_t)1 << 20, PSSH_OVERFLOW_DROP);
	rc = rc ? rc : pssh_task_open_input(job->task);
	return rc ? rc : remote_job_start(job);
}

int remote_job_copy(struct remote_job *job, struct pssh *fleet, const char *local, const char *path)
{
	int rc;

	job->copy = true;
	remote_job_resume(job);
	rc = pssh_put(fleet, local, path, PSSH_COPY_RECURSIVE | PSSH_COPY_PRESERVE | PSSH_COPY_RESUME, &job->task);
	return rc ? rc : remote_job_start(job);
}

static void remote_job_wipe(struct remote_job *job)
{
	if (job->script.data)
		explicit_bzero(job->script.data, job->script.cap);
	buf_release(&job->script);
	job->sent = 0;
}

void remote_job_free(struct remote_job *job)
{
	remote_job_let_go(job->peer, job->task);
	remote_job_wipe(job);
	remote_wire_release(&job->out);
	remote_wire_release(&job->err);
	list_remove(&job->link);
	free(job);
}

static int64_t remote_job_wall_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void remote_job_send(struct remote_job *job)
{
	if (job->copy)
		return;
	if (!job->started_us)
		job->started_us = remote_job_wall_us();
	while (!job->full && job->sent < job->script.len) {
		size_t end = job->gate && job->asked < UINT_MAX ? job->gate : job->script.len, n = end - job->sent;

		if (!n)
			return;
		n = n < PIECE ? n : PIECE;
		if (pssh_task_write(job->task, job->peer->host, job->script.data + job->sent, n) != 0) {
			job->full = true;
			return;
		}
		job->sent += n;
	}
	if (job->script.len && job->sent == job->script.len) {
		remote_job_wipe(job);
		job->beat_at = clock_ms() + BEAT_MS;
	}
}

static void remote_job_line(struct remote_job *job, const char *text)
{
	if (!job->script.len && !job->copy)
		pssh_task_write(job->task, job->peer->host, text, strlen(text));
}

void remote_allow(struct remote_job *job, int64_t ms)
{
	job->limit_ms = ms;
	job->deadline = clock_ms() + ms;
}

int64_t remote_late_ms(const struct remote_job *job)
{
	return job->timed_out ? job->limit_ms : 0;
}

int64_t remote_started_us(const struct remote_job *job)
{
	return job->started_us;
}

void remote_job_cancel(struct remote_job *job)
{
	if (job->over || job->kill_at)
		return;
	job->kill_at = clock_ms() + KILL_MS;
	if (job->again_at)
		remote_job_ended(job, &(struct pssh_event){ .type = PSSH_EV_ERROR, .status = PSSH_ECANCEL });
	else if (job->copy || !job->started_us || job->script.len)
		pssh_task_cancel_host(job->task, job->peer->host, "TERM", 0);
	else
		remote_job_line(job, "exit\n"); /* to the watch; a shell whose script has just ended does it, too */
}

int64_t remote_job_when(const struct remote_job *job)
{
	int64_t when = INT64_MAX;

	if (job->deadline && !job->timed_out && !job->said_end)
		when = job->deadline;
	if (job->kill_at && job->kill_at < when)
		when = job->kill_at;
	if (job->end_at && job->end_at < when)
		when = job->end_at;
	if (job->beat_at && !job->said_end && job->beat_at < when)
		when = job->beat_at;
	if (job->again_at && job->again_at < when)
		when = job->again_at;
	return when;
}

void remote_job_due(struct remote_job *job, int64_t now)
{
	if (job->again_at && now >= job->again_at) {
		job->again_at = 0;
		if (pssh_task_add(job->task, job->peer->host) != 0)
			command_nomem();
	}
	if (job->beat_at && !job->said_end && now >= job->beat_at) {
		job->beat_at = now + BEAT_MS;
		remote_job_line(job, "\n");
	}
	if (job->end_at && now >= job->end_at) {
		/* A process that the script started keeps the output open; do not wait for it. */
		job->end_at = 0;
		pssh_task_stop_host(job->task, job->peer->host);
	}
	if (job->kill_at && now >= job->kill_at) {
		job->kill_at = job->kill_at + KILL_MS;
		if (job->cancelled)
			pssh_task_stop_host(job->task, job->peer->host);
		else
			pssh_task_cancel_host(job->task, job->peer->host, "TERM", STOP_MS);
		job->cancelled = true;
	}
	if (job->deadline && !job->timed_out && !job->said_end && now >= job->deadline) {
		job->timed_out = true;
		remote_job_cancel(job);
	}
}

/* ---- What comes back ---------------------------------------------------------------------- */

bool remote_job_record(struct remote_job *job, const struct remote_wire *w)
{
	if (strcmp(w->words[0], "ready") == 0 && job->gate && job->asked < UINT_MAX) {
		job->asked = UINT_MAX;
		remote_job_send(job);
		return true;
	}
	if (strcmp(w->words[0], "end") != 0)
		return false;
	if (w->count == 2)
		remote_job_said_end(job, strtoul(w->words[1], NULL, 10));
	return true;
}

void remote_job_nonsense(struct remote_job *job, const char *why)
{
	if (!*job->text)
		snprintf(job->text, sizeof job->text, "cannot understand the node: %s", why);
	job->said_end = false;
	remote_job_cancel(job);
}

/* sudo asks again, so the password was wrong; send nothing more, least of all the script. */
void remote_job_stderr(struct remote_job *job, const char *data, size_t len)
{
	if (!job->gate || job->asked == UINT_MAX)
		return;
	for (const char *p = data; (p = memmem(p, len - (size_t)(p - data), REMOTE_ASK, sizeof REMOTE_ASK - 1));
		p += sizeof REMOTE_ASK - 1)
		if (++job->asked == 2) {
			snprintf(job->text, sizeof job->text, "sudo refused the password");
			pssh_task_end_input(job->task, job->peer->host);
		}
}

static void remote_job_broken(struct remote_job *job, const struct pssh_event *ev)
{
	const char *last = job->last;

	if (ev->type == PSSH_EV_ERROR) {
		job->lost = pssh_retryable(ev->status);
		snprintf(job->text, sizeof job->text, "%s%s", ev->text,
			ev->status == PSSH_EREFUSED && !job->started_us && !job->copy
				? "; it must allow 2 sessions at a time: MaxSessions in its sshd_config"
				: "");
	} else if (ev->type == PSSH_EV_SIGNAL) {
		job->lost = true;
		snprintf(job->text, sizeof job->text, "signal %s ended its script", ev->text);
	} else {
		job->lost = job->started_us != 0 && (!job->gate || job->asked == UINT_MAX);
		snprintf(job->text, sizeof job->text, "its script stopped with status %d%s%.300s", ev->status,
			*last ? ": " : "", last);
	}
}

/*
 * A server counts a session until its processes have ended, a while after nanopod let it go. If it refuses another one
 * meanwhile, the job asks again; the shell that waits for a script makes room, too.
 */
bool remote_job_refused(struct remote_job *job, const struct pssh_event *ev)
{
	struct remote_peer *p = job->peer;
	int64_t now = clock_ms();

	if (ev->type != PSSH_EV_ERROR || ev->status != PSSH_EREFUSED || job->started_us || job->kill_at)
		return false;
	if (p->idle)
		remote_job_let_idle_go(p);
	if (!p->let_go_at || now >= p->let_go_at + REFUSED_MS)
		return false;
	job->again_at = now + REFUSED_PAUSE_MS;
	return true;
}

void remote_job_ended(struct remote_job *job, const struct pssh_event *ev)
{
	job->over = true;
	job->again_at = 0;
	if (job->copy && ev->type == PSSH_EV_EXIT) {
		job->said_end = true;
		job->status = ev->status;
	}
	/* A cancelled script may report a status of its own; people should read that it was stopped. */
	if (job->said_end && !*job->text && (!job->status || !job->kill_at)) {
		if (job->status)
			snprintf(job->text, sizeof job->text, "it ended with status %d", job->status);
		return;
	}
	job->status = -1;
	if (*job->text)
		return;
	if (job->timed_out)
		snprintf(job->text, sizeof job->text, "it took longer than %lld s, so nanopod ended it",
			(long long)job->limit_ms / 1000);
	else if (job->kill_at)
		snprintf(job->text, sizeof job->text, "it was stopped");
	else
		remote_job_broken(job, ev);
}
