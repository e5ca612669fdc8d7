/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a tree: finds where it goes, creates directories, sends files, then sets modes and times of directories. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pssh/copy/copyjob.h"
#include "pssh/pssh_types.h"

enum { NOT_MADE, MADE, MADE_FRESH, MADE_NOT };

static bool copyput_nothing_to_send(struct job *j)
{
	(void)j;
	return true;
}

static bool copyput_at_end(struct job *j)
{
	(void)j;
	return false;
}

static void take_stat(struct job *j, const struct sftp_reply *r)
{
	struct sftp_attrs *a = r->op == OP_LSTAT ? &j->link : &j->attrs;
	uint32_t *status = r->op == OP_LSTAT ? &j->link_status : &j->status;

	*status = r->kind == SFTP_ATTRS ? SFTP_OK : r->status;
	if (r->kind == SFTP_ATTRS)
		*a = r->attrs;
}

static bool is_kind(const struct sftp_attrs *a, uint32_t kind)
{
	return (a->flags & SFTP_ATTR_MODE) && (a->mode & S_IFMT) == kind;
}

/* ---- Where does it go? ----------------------------------------------------------------- */

enum { ROOT_CLEAN, ROOT_STAT, ROOT_REAL, ROOT_MAKE, ROOT_TIDY, ROOT_LIST, ROOT_REMOVE };

static void copyput_root_reply(struct job *j, const struct sftp_reply *r)
{
	const char *name;
	struct sftp_attrs a;
	struct sftp_reply names = *r;
	size_t len;
	bool bad;

	if (r->op == OP_MKDIR) {
		j->fresh = r->status == SFTP_OK;
		j->link_status = r->status;
		if (!j->fresh && !j->reason)
			j->reason = strdup(sftp_reason(r));
		return;
	}
	if (r->op != OP_REAL) {
		take_stat(j, r);
		return;
	}
	if (r->kind == SFTP_NAMES && sftp_name(&names, &name, &len, &a, &bad) && len && len <= SFTP_PATH &&
		!memchr(name, 0, len)) {
		free(j->target);
		j->target = strndup(name, len);
	}
}

static bool copyput_root_send(struct job *j)
{
	struct sftp *s = &j->copy->sftp;

	if (j->part == 0 && sftp_path(s, &j->asker, OP_STAT, SFTP_REQ_STAT, j->copy->remote))
		j->part++;
	if (j->part == 1 && sftp_path(s, &j->asker, OP_LSTAT, SFTP_REQ_LSTAT, j->copy->remote))
		j->part++;
	return j->part == 2;
}

static bool root_done(struct job *j)
{
	j->copy->root = j->target;
	j->target = NULL;
	if (!j->copy->root)
		return job_no_memory(j), true;
	if (j->copy->source->nodes[0]->dir || j->fresh)
		return false; /* a tree's own job comes next; a directory just made holds nothing to tidy */
	j->target = path_dir(j->copy->root);
	return j->target && tidy_begin(j, ROOT_TIDY);
}

static bool root_inside(struct job *j)
{
	const struct copy *c = j->copy;

	if (c->flags & COPY_FILE) {
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is a directory; data need the path of a file", c->remote);
		return true;
	}
	j->target = path_join(c->remote, c->source->base, strlen(c->source->base));
	return root_done(j);
}

static bool root_make_send(struct job *j)
{
	struct sftp_attrs a = { .flags = SFTP_ATTR_MODE, .mode = 0777 };

	return sftp_mkdir(&j->copy->sftp, &j->asker, OP_MKDIR, j->copy->remote, &a);
}

static bool root_make_next(struct job *j)
{
	j->made_root = true;
	/* Another copy may have made it a moment before. */
	return j->fresh ? root_inside(j) : job_go(j, ROOT_STAT);
}

static void root_not_made(struct job *j)
{
	const char *why = j->link_status == SFTP_NO_SUCH_FILE ? "its parent is missing" : j->reason;

	job_fail(j, PSSH_EREMOTE, "cannot make the directory '%s' on the host: %s", j->copy->remote, why ? why : "");
}

static bool copyput_root_next(struct job *j)
{
	struct copy *c = j->copy;
	bool dir = j->status == SFTP_OK && is_kind(&j->attrs, S_IFDIR);
	bool tree = c->source->nodes[0]->dir, link;

	if (j->status != SFTP_OK && j->status != SFTP_NO_SUCH_FILE) {
		job_fail(j, PSSH_EREMOTE, "cannot look at '%s' on the host: %s", c->remote,
			j->status == SFTP_PERMISSION_DENIED ? "permission denied" : "the server gives no reason");
		return true;
	}
	if (dir)
		return root_inside(j);
	if (c->slash && j->status && !j->made_root)
		return job_go(j, ROOT_MAKE);
	if (c->slash && j->status)
		root_not_made(j);
	else if (j->status == SFTP_OK && (c->slash || tree))
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is not a directory", c->remote);
	else if (j->status == SFTP_OK && (j->attrs.flags & SFTP_ATTR_MODE) && !is_kind(&j->attrs, S_IFREG))
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is neither a file nor a directory", c->remote);
	if (j->fail.code)
		return true;
	/* Keep a link and replace what it points to, or make that. */
	link = j->link_status == SFTP_OK && is_kind(&j->link, S_IFLNK);
	if (!link || j->status == SFTP_OK)
		j->target = strdup(c->remote);
	return link ? job_go(j, ROOT_REAL) : root_done(j);
}

static bool real_next(struct job *j)
{
	if (j->target)
		return root_done(j);
	job_fail(j, PSSH_EREMOTE, "'%s' on the host is a link that leads nowhere", j->copy->remote);
	return true;
}

static bool real_send(struct job *j)
{
	return sftp_path(&j->copy->sftp, &j->asker, OP_REAL, SFTP_REQ_REALPATH, j->copy->remote);
}

static const struct step root_steps[] = {
	[ROOT_CLEAN] = { "clean", copyput_nothing_to_send, copyput_at_end },
	[ROOT_STAT] = { "stat", copyput_root_send, copyput_root_next },
	[ROOT_REAL] = { "realpath", real_send, real_next },
	[ROOT_MAKE] = { "mkdir", root_make_send, root_make_next },
	[ROOT_TIDY] = { "tidy: opendir", tidy_open_send, tidy_open_next },
	[ROOT_LIST] = { "tidy: readdir", tidy_list_send, tidy_list_next },
	[ROOT_REMOVE] = { "tidy: remove", tidy_remove_send, tidy_remove_next },
};

/* ---- Directories ----------------------------------------------------------------------- */

enum { DIR_CLEAN, DIR_MAKE, DIR_LOOK, DIR_TIDY, DIR_LIST, DIR_REMOVE };

static void dir_reply(struct job *j, const struct sftp_reply *r)
{
	if (r->op == OP_STAT) {
		take_stat(j, r);
	} else {
		j->fresh = r->status == SFTP_OK;
		j->link_status = r->status;
		if (r->status != SFTP_OK && !j->reason)
			j->reason = strdup(sftp_reason(r));
	}
}

static bool dir_send(struct job *j)
{
	struct sftp_attrs a = { .flags = SFTP_ATTR_MODE, .mode = j->node->mode | 0700 };

	return sftp_mkdir(&j->copy->sftp, &j->asker, OP_MKDIR, j->target, &a);
}

static bool dir_next(struct job *j)
{
	if (!j->fresh)
		return job_go(j, DIR_LOOK);
	j->copy->made[j->node->index] = MADE_FRESH;
	return false;
}

static bool copyput_look_send(struct job *j)
{
	return sftp_path(&j->copy->sftp, &j->asker, OP_STAT, SFTP_REQ_STAT, j->target);
}

static bool copyput_look_next(struct job *j)
{
	if (j->status == SFTP_OK && is_kind(&j->attrs, S_IFDIR)) {
		j->copy->made[j->node->index] = MADE;
		return tidy_begin(j, DIR_TIDY);
	}
	if (j->link_status == SFTP_NO_SUCH_FILE)
		job_fail(j, PSSH_EREMOTE,
			"cannot make the directory '%s' on the host: its parent is missing",
			j->target);
	else if (j->status == SFTP_OK)
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is not a directory", j->target);
	else
		job_fail(j, PSSH_EREMOTE, "cannot make the directory '%s' on the host: %s", j->target,
			j->reason ? j->reason : "");
	return true;
}

static bool dir_clean_next(struct job *j)
{
	if (j->copy->made[j->node->index] == NOT_MADE)
		j->copy->made[j->node->index] = MADE_NOT;
	return false;
}

static const struct step dir_steps[] = {
	[DIR_CLEAN] = { "clean", copyput_nothing_to_send, dir_clean_next },
	[DIR_MAKE] = { "mkdir", dir_send, dir_next },
	[DIR_LOOK] = { "look", copyput_look_send, copyput_look_next },
	[DIR_TIDY] = { "tidy: opendir", tidy_open_send, tidy_open_next },
	[DIR_LIST] = { "tidy: readdir", tidy_list_send, tidy_list_next },
	[DIR_REMOVE] = { "tidy: remove", tidy_remove_send, tidy_remove_next },
};

/* ---- Modes and times of directories ---------------------------------------------------- */

static void mode_reply(struct job *j, const struct sftp_reply *r)
{
	if (r->status != SFTP_OK)
		job_fail_reply(j, r, "set mode and times of", j->target);
}

static bool mode_send(struct job *j)
{
	struct sftp_attrs a = { .flags = SFTP_ATTR_MODE, .mode = j->node->mode };

	if (j->copy->flags & PSSH_COPY_PRESERVE) {
		a.flags |= SFTP_ATTR_TIMES;
		a.atime = (uint32_t)j->node->atime.tv_sec;
		a.mtime = (uint32_t)j->node->mtime.tv_sec;
	} else {
		a.mode &= ~022u; /* the host's umask is unknown */
	}
	return sftp_setstat(&j->copy->sftp, &j->asker, OP_SET, j->target, &a);
}

static const struct step mode_steps[] = {
	[STEP_CLEAN] = { "clean", copyput_nothing_to_send, copyput_at_end },
	[STEP_FIRST] = { "setstat", mode_send, copyput_at_end },
};

/* ---- Beginning ------------------------------------------------------------------------- */

static struct job *copyput_start(struct copy *c, const struct step *steps, struct node *n,
	void (*reply)(struct job *, const struct sftp_reply *))
{
	struct job *j = job_start(c, steps, n);

	if (!j)
		return NULL;
	j->reply = reply;
	j->silent = true;
	j->source = node_path(n, c->source->root);
	if (c->root)
		j->target = node_path(n, c->root);
	if (!j->source || (c->root && !j->target))
		job_no_memory(j);
	return j;
}

static bool wants_mode(const struct copy *c, const struct node *n)
{
	if (c->made[n->index] == NOT_MADE || c->made[n->index] == MADE_NOT)
		return false;
	return (c->flags & PSSH_COPY_PRESERVE) || (c->made[n->index] == MADE_FRESH && (n->mode & 0700) != 0700);
}

static bool parent_lost(const struct copy *c, const struct node *n)
{
	return n->parent && c->made[n->parent->index] == MADE_NOT;
}

/* Starts each directory once its parent exists. False: some have not started. */
static bool begin_dirs(struct copy *c)
{
	struct copy_source *s = c->source;

	for (; c->next_dir < s->count && c->count < COPY_JOBS; c->next_dir++) {
		struct node *n = s->nodes[c->next_dir];

		if (!n->dir)
			continue;
		if (n->parent && c->made[n->parent->index] == NOT_MADE)
			return false;
		if (parent_lost(c, n))
			c->made[n->index] = MADE_NOT;
		else if (!copyput_start(c, dir_steps, n, dir_reply))
			return false;
	}
	return c->next_dir == s->count;
}

static bool begin_files(struct copy *c)
{
	struct copy_source *s = c->source;

	for (; c->next_file < s->count && c->count < COPY_JOBS; c->next_file++) {
		struct node *n = s->nodes[c->next_file];

		if (n->dir)
			continue;
		if (n->parent && c->made[n->parent->index] == NOT_MADE)
			return false;
		if (parent_lost(c, n)) {
			c->progress.files++;
			c->progress.failed++;
			continue;
		}
		if (!put_file_start(c, n, n->parent && c->made[n->parent->index] == MADE_FRESH))
			return false;
	}
	return c->next_file == s->count;
}

/* Children first: a parent's new mode could deny access to them. */
static bool begin_modes(struct copy *c)
{
	for (; c->next_mode > 0; c->next_mode--) {
		struct node *n = c->source->nodes[c->next_mode - 1];

		if (n->dir && wants_mode(c, n) && !copyput_start(c, mode_steps, n, mode_reply))
			return false;
	}
	return true;
}

bool put_begin(struct copy *c)
{
	if (!c->rooted) {
		c->rooted = copyput_start(c, root_steps, c->source->nodes[0], copyput_root_reply) != NULL;
		return false;
	}
	if (!c->root)
		return c->count == 0;
	if (!begin_dirs(c) || !begin_files(c))
		return false;
	if (!c->moded) {
		if (c->count)
			return false; /* a file that arrives would change its directory's time again */
		c->moded = true;
		c->next_mode = c->source->count;
	}
	return begin_modes(c);
}
