/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last steps of the job of a directory that was there before: lists it, and removes what copies
 * that were cut off left in it. Nothing of this can fail the copy.
 */
#include <stdlib.h>
#include <string.h>

#include "pssh/copy/copyjob.h"
#include "pssh/copy/copytemp.h"

enum { TIDY_AHEAD = 4, TIDY_LISTS = 40, TIDY_MAX = 64 };

struct tidy {
	unsigned lists, count, removed;
	bool listed;
	int64_t changed; /* the directory, by its own machine's clock */
	struct {
		char *name;
		int64_t written;
	} found[TIDY_MAX];
};

void tidy_release(struct job *j)
{
	for (unsigned i = 0; j->tidy && i < j->tidy->count; i++)
		free(j->tidy->found[i].name);
	free(j->tidy);
	j->tidy = NULL;
}

static void tidy_name(struct job *j, const char *name, size_t len, const struct sftp_attrs *a)
{
	struct tidy *t = j->tidy;
	char *copy;

	if (!(a->flags & SFTP_ATTR_TIMES))
		return;
	if (len == 1 && name[0] == '.')
		t->changed = a->mtime;
	if (t->count == TIDY_MAX || !name_is_safe(name, len) || !temp_is_ours(name, len) ||
		!(copy = strndup(name, len)))
		return;
	t->found[t->count].name = copy;
	t->found[t->count++].written = a->mtime;
}

static void tidy_reply(struct job *j, const struct sftp_reply *r)
{
	struct sftp_reply names = *r;
	const char *name;
	struct sftp_attrs a;
	size_t len;
	bool bad = false;

	if (r->op == OP_CLOSE) {
		j->open = false;
	} else if (r->kind == SFTP_HANDLE_IS) {
		j->handle = r->handle;
		j->open = true;
	} else if (r->kind == SFTP_NAMES) {
		while (sftp_name(&names, &name, &len, &a, &bad))
			tidy_name(j, name, len, &a);
	} else if (r->op == OP_LIST) {
		j->tidy->listed = true; /* the end of the list, or no list */
	}
}

bool tidy_begin(struct job *j, unsigned step)
{
	j->tidy = calloc(1, sizeof *j->tidy);
	j->reply = tidy_reply;
	return j->tidy && job_go(j, step);
}

bool tidy_open_send(struct job *j)
{
	return sftp_path(&j->copy->sftp, &j->asker, OP_LIST, SFTP_REQ_OPENDIR, j->target);
}

bool tidy_open_next(struct job *j)
{
	return j->open && job_go(j, j->step + 1);
}

bool tidy_list_send(struct job *j)
{
	struct tidy *t = j->tidy;

	for (; !t->listed && t->lists < TIDY_LISTS && j->asker.waiting < TIDY_AHEAD; t->lists++)
		if (!sftp_handle(&j->copy->sftp, &j->asker, OP_LIST, SFTP_REQ_READDIR, &j->handle))
			break;
	return t->listed || t->lists == TIDY_LISTS;
}

bool tidy_list_next(struct job *j)
{
	return job_go(j, j->step + 1);
}

bool tidy_remove_send(struct job *j)
{
	struct tidy *t = j->tidy;

	if (j->part == 0 && !sftp_handle(&j->copy->sftp, &j->asker, OP_CLOSE, SFTP_REQ_CLOSE, &j->handle))
		return false;
	j->part = 1;
	for (; t->removed < t->count; t->removed++) {
		const char *name = t->found[t->removed].name;
		char *path = NULL;
		bool sent = true;

		if (temp_is_left(name, strlen(name), j->copy->machine, t->found[t->removed].written, t->changed))
			path = path_join(j->target, name, strlen(name));
		if (path && strlen(path) <= SFTP_PATH)
			sent = sftp_path(&j->copy->sftp, &j->asker, OP_REMOVE, SFTP_REQ_REMOVE, path);
		free(path);
		if (!sent)
			return false;
	}
	return true;
}

bool tidy_remove_next(struct job *j)
{
	(void)j;
	return false;
}
