/* SPDX-License-Identifier: Apache-2.0 */
/* What the owner of a copy calls: it passes bytes in and out, and starts and ends jobs. */
#include "pssh/copy/copy.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pssh/copy/copyjob.h"
#include "pssh/copy/copytemp.h"
#include "pssh/pssh_types.h"

/* ---- Making and freeing ---------------------------------------------------------------- */

/* SFTP paths begin in the home directory, and "~" means nothing there, so "~/" is cut off. */
static char *remote_path(const char *path, bool *slash, struct fail *f)
{
	char *p;

	if (path[0] == '~' && path[1] && path[1] != '/') {
		fail_set(f, PSSH_EUNSUPPORTED, "'%s': another user's home is unknown; give the full path", path);
		return NULL;
	}
	if (path[0] == '~')
		path += 1 + strspn(path + 1, "/");
	if (strlen(path) > SFTP_PATH) {
		fail_set(f, PSSH_EINVAL, "the remote path is longer than %d bytes", SFTP_PATH);
		return NULL;
	}
	p = path_trim(*path ? path : ".", slash);
	if (!p)
		fail_set(f, PSSH_ENOMEM, "out of memory");
	return p;
}

static int copy_new(const char *remote, unsigned flags, struct copy **out, struct fail *f)
{
	struct copy *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	c->flags = flags;
	c->machine = temp_machine();
	c->streams = 1;
	list_init(&c->files);
	list_init(&c->dirs);
	list_init(&c->made_dirs);
	list_init(&c->lost_dirs);
	list_init(&c->notes);
	rc = sftp_init(&c->sftp);
	if (rc) {
		fail_set(f, rc, "out of memory");
	} else {
		struct fail why = { .code = PSSH_ENOMEM };

		c->remote = remote_path(remote, &c->slash, &why);
		if (!c->remote)
			rc = fail_set(f, why.code, "%s", why.text);
	}
	if (rc)
		copy_free(c);
	else
		*out = c;
	return rc;
}

int copy_new_put(struct copy_source *source, const char *remote, unsigned flags, struct copy **out, struct fail *f)
{
	struct copy *c;
	int rc = copy_new(remote, flags, &c, f);

	if (rc)
		return rc;
	c->put = true;
	c->begin = put_begin;
	c->source = source;
	c->progress.total = source->total;
	c->made = calloc(source->count, 1);
	if (!c->made) {
		copy_free(c);
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	}
	if (source->failed) {
		if (copy_source_note(source, 0, &c->first) == 0)
			fail_set(&c->first, PSSH_ENOMEM, "out of memory");
		c->progress.failed = c->progress.files = source->failed;
	}
	*out = c;
	return 0;
}

int copy_new_get(const char *remote, const char *local, unsigned flags, struct copy **out, struct fail *f)
{
	struct copy *c;
	int rc = copy_new(remote, flags, &c, f);

	if (rc)
		return rc;
	c->begin = get_begin;
	c->local = path_trim(*local ? local : ".", &c->slash);
	if (!c->local || ((flags & PSSH_COPY_GLOB) && glob_wanted(c->remote) && glob_new(c->remote, &c->glob))) {
		copy_free(c);
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	}
	c->slash |= c->glob != NULL; /* any number of files needs a directory */
	*out = c;
	return 0;
}

static void job_free(struct job *j)
{
	struct copy *c = j->copy;

	if (c->command_job == j) {
		c->command_job = NULL;
		if (c->command_state == COMMAND_WAITS)
			c->command_state = COMMAND_NONE;
	}
	stream_leave(j);
	job_drop_local(j);
	check_release(j);
	tidy_release(j);
	free(j->source);
	free(j->target);
	free(j->temp);
	free(j->reason);
	free(j);
}

static void list_free_nodes(struct list *l)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, l)
		node_free(list_entry(pos, struct node, link));
}

static void drop_jobs(struct copy *c)
{
	for (unsigned i = 0; i < c->count; i++) {
		struct job *j = c->jobs[i];

		if (!c->put && j->node && !j->node->dir)
			node_free(j->node);
		job_free(j);
	}
	c->count = 0;
}

void copy_leave(struct copy *c)
{
	for (unsigned i = 0; i < c->count; i++)
		c->jobs[i]->temp_made = false;
}

void copy_free(struct copy *c)
{
	struct list *pos, *tmp;

	if (!c)
		return;
	drop_jobs(c);
	list_free_nodes(&c->files);
	list_free_nodes(&c->dirs);
	list_free_nodes(&c->made_dirs);
	list_free_nodes(&c->lost_dirs);
	list_each (pos, tmp, &c->notes)
		free(list_entry(pos, struct note, link));
	glob_free(c->glob);
	stream_free_all(c);
	sftp_release(&c->sftp);
	free(c->made);
	free(c->remote);
	free(c->local);
	free(c->root);
	free(c->command);
	free(c->name);
	free(c);
}

/* ---- Jobs ------------------------------------------------------------------------------ */

static void job_end(struct copy *c, unsigned i)
{
	struct job *j = c->jobs[i];

	assert(i < c->count && !j->asker.waiting);
	if (!j->silent)
		c->progress.files++;
	if (j->fail.code)
		copy_blame(c, &j->fail);
	free(c->name);
	c->name = j->source;
	j->source = NULL;
	if (!c->put && j->node && !j->node->dir)
		node_free(j->node);
	job_free(j);
	memmove(c->jobs + i, c->jobs + i + 1, (c->count - i - 1) * sizeof *c->jobs);
	c->count--;
}

/* Runs a job until it needs an answer. False: it has ended. */
static bool job_run(struct job *j)
{
	for (;;) {
		if (j->copy->cancelled && j->step != STEP_CLEAN && !j->sent)
			job_fail(j, PSSH_ECANCEL, "cancelled");
		if (j->fail.code && j->step != STEP_CLEAN) {
			if (j->asker.waiting)
				return true;
			stream_leave(j);
			job_go(j, STEP_CLEAN);
		}
		if (!j->sent) {
			j->sent = j->steps[j->step].send(j);
			if (j->fail.code && j->step != STEP_CLEAN)
				continue;
			if (!j->sent)
				return true;
		}
		if (j->asker.waiting)
			return true;
		if (!j->steps[j->step].next(j))
			return false;
	}
}

static void run_jobs(struct copy *c)
{
	for (unsigned i = 0; i < c->count;)
		if (job_run(c->jobs[i]))
			i++;
		else
			job_end(c, i);
}

static void copy_end(struct copy *c, bool complete)
{
	if (!c->put)
		get_finish(c);
	if (c->cancelled)
		c->first = (struct fail){ .code = PSSH_ECANCEL, .text = "cancelled" };
	else if (!complete && !c->first.code)
		c->first = (struct fail){ .code = PSSH_ENOMEM, .text = "out of memory" };
	c->finished = true;
}

static void copy_pump(struct copy *c)
{
	bool complete = false;
	unsigned before;

	if (!c->sftp.ready || c->finished)
		return;
	c->busy = false;
	do {
		run_jobs(c);
		before = c->count;
		if (!c->cancelled)
			complete = c->begin(c);
	} while (c->count != before);
	if (c->count == 0)
		copy_end(c, complete);
}

/* ---- What the owner calls -------------------------------------------------------------- */

void copy_output(struct copy *c, const char **data, size_t *len)
{
	struct sftp *s = &c->sftp;

	if (s->out_at == s->out_len)
		copy_pump(c);
	*data = s->out + s->out_at;
	*len = s->out_len - s->out_at;
}

void copy_sent(struct copy *c, size_t n)
{
	struct sftp *s = &c->sftp;

	s->out_at += n;
	if (s->out_at >= s->out_len)
		s->out_at = s->out_len = 0;
}

int copy_input(struct copy *c, const char *data, size_t len, struct fail *f)
{
	struct fail why = { 0 };
	struct sftp_reply r = { 0 };
	int rc;

	if (c->finished)
		return 0;
	while ((rc = sftp_next(&c->sftp, &data, &len, &r, &why)) > 0) {
		struct job *j = (struct job *)(void *)r.who;

		if (j->fail.code == 0 || j->step == STEP_CLEAN || r.kind == SFTP_HANDLE_IS || r.op == OP_CLOSE)
			j->reply(j, &r);
	}
	if (rc == 0) {
		copy_pump(c);
		return 0;
	}
	copy_lost(c, rc, why.text);
	return fail_set(f, rc, "%s", why.text);
}

void copy_lost(struct copy *c, int code, const char *why)
{
	if (c->finished)
		return;
	if (c->count && c->jobs[0]->source && !c->jobs[0]->silent)
		copy_say(c, code, "%s while '%s' was copied", why ? why : "the connection was lost",
			c->jobs[0]->source);
	else
		copy_say(c, code, "%s", why ? why : "the server ended the SFTP session");
	c->first = (struct fail){ .code = code };
	snprintf(c->first.text, sizeof c->first.text, "%s", list_empty(&c->notes) ? "the connection was lost"
		: list_entry(c->notes.prev, struct note, link)->fail.text);
	drop_jobs(c);
	c->finished = true;
}

void copy_cancel(struct copy *c)
{
	c->cancelled = true;
	if (!c->sftp.ready) {
		c->first = (struct fail){ .code = PSSH_ECANCEL, .text = "cancelled" };
		c->finished = true;
	}
	copy_pump(c);
}

bool copy_finished(const struct copy *c)
{
	return c->finished;
}

bool copy_busy(const struct copy *c)
{
	return c->busy && !c->finished;
}

int copy_result(const struct copy *c, struct fail *f)
{
	if (!c->first.code)
		return 0;
	if (c->progress.failed > 1 && c->first.code != PSSH_ECANCEL)
		return fail_set(f, c->first.code, "%s (and %llu more failed)", c->first.text,
			(unsigned long long)c->progress.failed - 1);
	return fail_set(f, c->first.code, "%s", c->first.text);
}

int copy_note(struct copy *c, struct fail *f)
{
	struct list *l = list_first(&c->notes);
	struct note *n;

	if (!l)
		return 0;
	n = list_entry(l, struct note, link);
	*f = n->fail;
	list_remove(l);
	free(n);
	c->note_count--;
	return 1;
}

void copy_progress(const struct copy *c, struct copy_progress *out)
{
	*out = c->progress;
	if (c->count && c->jobs[0]->source)
		out->name = c->jobs[0]->source;
	else
		out->name = c->name ? c->name : c->put ? c->source->root : c->remote;
	if (out->total < out->done)
		out->total = out->done;
}

const char *copy_checksum_command(struct copy *c)
{
	if (c->command_state != COMMAND_WAITS)
		return NULL;
	c->command_state = COMMAND_RUNS;
	return c->command;
}

void copy_checksum_result(struct copy *c, int status, const char *out, size_t len)
{
	struct job *j = c->command_job;

	if (c->command_state != COMMAND_RUNS)
		return;
	c->command_state = COMMAND_NONE;
	c->command_job = NULL;
	if (status != 0)
		c->no_commands = true;
	if (j) {
		j->check.answered = true;
		if (status != 0 || digest_find(out, len, j->check.hex))
			j->check.hex[0] = '\0';
	}
	copy_pump(c);
}
