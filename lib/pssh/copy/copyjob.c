/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the jobs of a copy, moves them to their next step, and records failures. */
#include "pssh/copy/copyjob.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/pssh_types.h"

/* ---- Failures -------------------------------------------------------------------------- */

/* Names come from servers: replace control characters, which could steer a terminal. */
static void make_plain(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			*text = '?';
}

static void copy_note_add(struct copy *c, const struct fail *why)
{
	struct note *n;

	if (c->note_count >= COPY_NOTES || !(n = malloc(sizeof *n)))
		return;
	n->fail = *why;
	list_init(&n->link);
	list_append(&c->notes, &n->link);
	c->note_count++;
}

void copy_blame(struct copy *c, const struct fail *why)
{
	struct fail plain = *why;

	make_plain(plain.text);
	if (!c->first.code)
		c->first = plain;
	c->progress.failed++;
	copy_note_add(c, &plain);
}

void copy_say(struct copy *c, int code, const char *fmt, ...)
{
	struct fail f;
	va_list ap;

	va_start(ap, fmt);
	fail_vset(&f, code, fmt, ap);
	va_end(ap);
	make_plain(f.text);
	if (code)
		copy_blame(c, &f);
	else
		copy_note_add(c, &f);
}

void job_fail(struct job *j, int code, const char *fmt, ...)
{
	va_list ap;

	if (j->fail.code)
		return;
	va_start(ap, fmt);
	fail_vset(&j->fail, code, fmt, ap);
	va_end(ap);
}

void job_fail_errno(struct job *j, int err, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (j->fail.code)
		return;
	va_start(ap, fmt);
	fail_vset(&j->fail, PSSH_ELOCAL, fmt, ap);
	va_end(ap);
	n = strlen(j->fail.text);
	snprintf(j->fail.text + n, sizeof j->fail.text - n, ": %s", strerror(err));
}

void job_fail_reply(struct job *j, const struct sftp_reply *r, const char *what, const char *path)
{
	if (r->kind != SFTP_STATUS || j->fail.code)
		return;
	j->full = j->copy->put && r->status == SFTP_FAILURE;
	job_fail(j, !j->copy->put && r->status == SFTP_NO_SUCH_FILE ? PSSH_ENOENT : PSSH_EREMOTE,
		"cannot %s '%s' on the host: %s", what, path, sftp_reason(r));
}

bool job_no_memory(struct job *j)
{
	job_fail(j, PSSH_ENOMEM, "out of memory");
	return false;
}

/* ---- Jobs ------------------------------------------------------------------------------ */

struct job *job_start(struct copy *c, const struct step *steps, struct node *n)
{
	struct job *j;

	if (c->count == COPY_JOBS || !(j = calloc(1, sizeof *j)))
		return NULL;
	j->copy = c;
	j->steps = steps;
	j->step = STEP_FIRST;
	j->node = n;
	j->fd = -1;
	c->jobs[c->count++] = j;
	return j;
}

bool job_go(struct job *j, unsigned step)
{
	j->step = step;
	j->part = 0;
	j->sent = false;
	return true;
}
