/* SPDX-License-Identifier: Apache-2.0 */
/* Puts one file: writes a temporary file beside the target, then renames it over the target. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pssh/copy/copyjob.h"
#include "pssh/copy/copytemp.h"
#include "pssh/pssh_types.h"

enum { CLEAN, LOCAL, LOOK, OPEN, VERIFY, DATA, CHECK, END, RENAME, CLEAR, RENAME_AGAIN, TIMES };

static bool copyputfile_flag(const struct job *j, unsigned flags)
{
	return (j->copy->flags & flags) != 0;
}

static struct sftp *copyputfile_sftp_of(struct job *j)
{
	return &j->copy->sftp;
}

/* ---- Replies --------------------------------------------------------------------------- */

static void reply_set(struct job *j, const struct sftp_reply *r)
{
	if (r->status == SFTP_OK) {
		j->sized = j->step == CHECK;
		return;
	}
	if (j->step != VERIFY && (copyputfile_flag(j, PSSH_COPY_PRESERVE | PSSH_COPY_UPDATE) || j->sparse_end))
		job_fail_reply(j, r, "set mode, times or size of", j->target);
	else if (j->step == VERIFY)
		job_fail_reply(j, r, "empty the rest of an earlier copy of", j->target);
	else
		copy_say(j->copy, 0, "the mode of '%s' on the host could not be kept: %s", j->target, sftp_reason(r));
}

static void reply_write(struct job *j, const struct sftp_reply *r)
{
	if (r->status == SFTP_OK)
		j->copy->progress.done += r->asked;
	else
		job_fail_reply(j, r, "write", j->target);
}

static void reply_rename(struct job *j, const struct sftp_reply *r)
{
	if (r->status == SFTP_OK)
		j->temp_made = false;
	else if (j->step == RENAME && !(copyputfile_sftp_of(j)->features & SFTP_HAS_POSIX_RENAME))
		j->renamed_over = true;
	else
		job_fail_reply(j, r, "give the copy its name", j->target);
}

static void reply_open(struct job *j, const struct sftp_reply *r)
{
	if (r->kind == SFTP_HANDLE_IS) {
		j->handle = r->handle;
		j->open = j->temp_made = true;
	} else if (r->status == SFTP_NO_SUCH_FILE) {
		job_fail(j, PSSH_EREMOTE, "cannot write '%s' on the host: there is no such directory", j->target);
	} else {
		job_fail_reply(j, r, "write", j->target);
	}
}

static void reply_space(struct job *j, const struct sftp_reply *r)
{
	uint64_t needs = j->size > j->at ? j->size - j->at : 0;

	if (r->kind != SFTP_SPACE)
		return;
	j->fail.code = 0;
	if (r->readonly)
		job_fail(j, PSSH_EREMOTE, "cannot write '%s' on the host: the file system is read-only", j->target);
	else if (r->inodes == 0)
		job_fail(j, PSSH_EREMOTE, "cannot write '%s' on the host: no inodes are left on the disk", j->target);
	else if (r->space < 65536 || r->space < needs)
		job_fail(j, PSSH_EREMOTE, "cannot write '%s' on the host: no space left on the disk (%llu bytes free)",
			j->target, (unsigned long long)r->space);
	else
		j->fail.code = PSSH_EREMOTE; /* keep the earlier sentence */
}

static void put_reply(struct job *j, const struct sftp_reply *r)
{
	switch (r->op) {
	case OP_STAT:
		j->status = r->kind == SFTP_ATTRS ? SFTP_OK : r->status;
		if (r->kind == SFTP_ATTRS)
			j->attrs = r->attrs;
		break;
	case OP_LSTAT:
		j->link_status = r->kind == SFTP_ATTRS ? SFTP_OK : r->status;
		if (r->kind == SFTP_ATTRS)
			j->link = r->attrs;
		break;
	case OP_OPEN:
		reply_open(j, r);
		break;
	case OP_CHECK:
		check_reply(j, r);
		break;
	case OP_WRITE:
		reply_write(j, r);
		break;
	case OP_SET:
		reply_set(j, r);
		break;
	case OP_SYNC:
		if (r->status != SFTP_OK)
			job_fail_reply(j, r, "write to the disk", j->target);
		break;
	case OP_CLOSE:
		j->open = false;
		if (r->status != SFTP_OK && j->step != CLEAN)
			job_fail_reply(j, r, "write", j->target);
		break;
	case OP_RENAME:
		reply_rename(j, r);
		break;
	case OP_SPACE:
		reply_space(j, r);
		break;
	default:
		break; /* OP_REMOVE: the next request shows whether it worked */
	}
}

/* ---- The local file -------------------------------------------------------------------- */

static bool copyputfile_local_send(struct job *j)
{
	struct node *n = j->node;
	struct fail why;
	struct stat st;
	int rc = node_open(j->copy->source, n, &why);

	if (rc == PSSH_EAGAIN && j->copy->fds)
		return false; /* wait until another file frees its descriptor */
	if (rc) {
		job_fail(j, rc == PSSH_EAGAIN ? PSSH_ELOCAL : rc, "%s", why.text);
		return false;
	}
	j->fd = n->fd;
	j->copy->fds++;
	if (fstat(j->fd, &st))
		job_fail_errno(j, errno, "cannot read '%s'", j->source);
	else if (st.st_ino != n->ino || st.st_dev != n->dev || (uint64_t)st.st_size < n->size || !S_ISREG(st.st_mode))
		job_fail(j, PSSH_ELOCAL, "'%s' changed while it was copied; copy it again", j->source);
	j->size = n->size;
	return true;
}

/* The temporary file is opened again: by the next try, or by streams. So its owner must be able to. */
static bool copyputfile_reopens(const struct job *j)
{
	return copyputfile_flag(j, PSSH_COPY_RESUME) || stream_worth(j);
}

static bool copyputfile_local_next(struct job *j)
{
	j->status = j->link_status = SFTP_NO_SUCH_FILE;
	return job_go(j, j->fresh_dir ? OPEN : LOOK);
}

/* If the source grew, as logs do, copy its first size. Any other change makes the copy torn. */
static bool copyputfile_unchanged(struct job *j)
{
	const struct node *n = j->node;
	struct stat st;

	if (fstat(j->fd, &st)) {
		job_fail_errno(j, errno, "cannot read '%s'", j->source);
		return false;
	}
	if ((uint64_t)st.st_size > n->size) {
		copy_say(j->copy, 0, "'%s' grew while it was copied: the first %llu bytes are there", j->source,
			(unsigned long long)n->size);
		return true;
	}
	if ((uint64_t)st.st_size == n->size && st.st_mtim.tv_sec == n->mtime.tv_sec &&
		st.st_mtim.tv_nsec == n->mtime.tv_nsec)
		return true;
	job_fail(j, PSSH_ELOCAL, "'%s' changed while it was copied; copy it again", j->source);
	return false;
}

/* ---- Opening --------------------------------------------------------------------------- */

static bool copyputfile_look_send(struct job *j)
{
	if (j->part == 0 && sftp_path(copyputfile_sftp_of(j), &j->asker, OP_STAT, SFTP_REQ_STAT, j->target))
		j->part++;
	if (j->part == 1 && !copyputfile_flag(j, PSSH_COPY_RESUME))
		return true;
	if (j->part == 1 && sftp_path(copyputfile_sftp_of(j), &j->asker, OP_LSTAT, SFTP_REQ_LSTAT, j->temp))
		j->part++;
	return j->part == 2;
}

static bool copyputfile_regular(const struct sftp_attrs *a)
{
	return !(a->flags & SFTP_ATTR_MODE) || S_ISREG(a->mode);
}

static bool copyputfile_same(const struct job *j)
{
	const struct sftp_attrs *a = &j->attrs;
	unsigned both = SFTP_ATTR_SIZE | SFTP_ATTR_TIMES;

	return copyputfile_flag(j, PSSH_COPY_UPDATE) && j->status == SFTP_OK && (a->flags & both) == both &&
		a->size == j->size && a->mtime == (uint32_t)j->node->mtime.tv_sec;
}

/* The host has this file; with PSSH_COPY_PRESERVE its mode may be another. */
static bool copyputfile_leave(struct job *j)
{
	j->same = true;
	j->copy->progress.unchanged++;
	j->copy->progress.total -= j->size;
	return copyputfile_flag(j, PSSH_COPY_PRESERVE) && (j->attrs.flags & SFTP_ATTR_MODE) &&
		(j->attrs.mode & 0777) != j->node->mode && job_go(j, TIMES);
}

static bool copyputfile_look_next(struct job *j)
{
	if (j->status == SFTP_OK && !copyputfile_regular(&j->attrs))
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is %s", j->target,
			S_ISDIR(j->attrs.mode) ? "a directory" : "not a plain file");
	else if (j->link_status == SFTP_OK && !copyputfile_regular(&j->link))
		job_fail(j, PSSH_EREMOTE, "cannot resume: '%s' on the host is not a plain file", j->temp);
	else if (copyputfile_same(j))
		return copyputfile_leave(j);
	return job_go(j, OPEN);
}

/*
 * A new file gets the source's mode minus the host's umask. A file that replaces another gets that
 * one's mode, and is closed to other users until then.
 */
static uint32_t copyputfile_first_mode(const struct job *j)
{
	if (copyputfile_flag(j, PSSH_COPY_PRESERVE) || j->status == SFTP_OK)
		return copyputfile_reopens(j) ? 0600 : j->node->mode & 0700;
	return copyputfile_reopens(j) ? j->node->mode | 0600 : j->node->mode;
}

static bool copyputfile_open_send(struct job *j)
{
	struct sftp_attrs a = { .flags = SFTP_ATTR_MODE, .mode = copyputfile_first_mode(j) };
	unsigned flags = SFTP_OPEN_WRITE | SFTP_OPEN_CREATE;
	bool goes_on = copyputfile_flag(j, PSSH_COPY_RESUME) && j->link_status == SFTP_OK;

	if (copyputfile_flag(j, PSSH_COPY_RESUME | PSSH_COPY_CHECKSUM))
		flags |= SFTP_OPEN_READ;
	if (!goes_on)
		flags |= SFTP_OPEN_EXCLUSIVE;
	return sftp_open(copyputfile_sftp_of(j), &j->asker, OP_OPEN, j->temp, flags, &a);
}

static void skip_hole(struct job *j)
{
	off_t data;

	if (!copyputfile_flag(j, PSSH_COPY_SPARSE) || j->at < j->data_until)
		return;
	data = lseek(j->fd, (off_t)j->at, SEEK_DATA);
	if (data < 0 && errno != ENXIO)
		data = (off_t)j->at; /* the file system does not report holes */
	if (data < 0 || (uint64_t)data > j->size)
		data = (off_t)j->size;
	j->copy->progress.done += (uint64_t)data - j->at;
	j->at = (uint64_t)data;
	if (j->at == j->size) {
		j->sparse_end = true;
		return;
	}
	data = lseek(j->fd, (off_t)j->at, SEEK_HOLE);
	j->data_until = data < 0 ? j->size : (uint64_t)data;
}

static uint64_t data_end(const struct job *j)
{
	return copyputfile_flag(j, PSSH_COPY_SPARSE) && j->data_until < j->size ? j->data_until : j->size;
}

static bool put_piece(struct job *j, struct span *out, uint32_t most)
{
	skip_hole(j);
	if (j->at == j->size)
		return false;
	*out = (struct span){ j->at, data_end(j) - j->at < most ? (uint32_t)(data_end(j) - j->at) : most };
	j->at += out->len;
	return true;
}

/* Sends one block at *at, as large as fits. False: not now, or it failed. */
static bool put_block(struct job *j, struct lane lane, uint64_t *at, uint64_t end)
{
	uint32_t len = end - *at < SFTP_PACKET ? (uint32_t)(end - *at) : SFTP_PACKET;
	char *place;
	ssize_t n;

	/* Only a copy that may be resumed needs the window: what it leaves must have no gaps before it. */
	if (lane.sftp->used >= stream_blocks(j->copy) ||
		(copyputfile_flag(j, PSSH_COPY_RESUME) && *at > COPY_WINDOW && stream_oldest(j) < *at - COPY_WINDOW))
		return false;
	place = sftp_write_place(lane.sftp, lane.handle, &len);
	if (!place)
		return false;
	do
		n = pread(j->fd, place, len, (off_t)*at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		job_fail_errno(j, errno, "cannot read '%s'", j->source);
	else if (n == 0)
		job_fail(j, PSSH_ELOCAL, "'%s' shrank while it was copied; copy it again", j->source);
	if (n <= 0)
		return false;
	sftp_write(lane.sftp, lane.asker, OP_WRITE, lane.handle, *at, (uint32_t)n);
	*at += (uint64_t)n;
	return true;
}

static const struct sharing put_sharing = { put_piece, put_block, reply_write };

static bool begin_sending(struct job *j)
{
	stream_share(j, j->size - j->at, &put_sharing);
	return job_go(j, DATA);
}

/*
 * How much of an earlier copy to trust: servers may write blocks in any order, so its last window may
 * have gaps. The part before that is compared before the copy continues.
 */
static bool copyputfile_open_next(struct job *j)
{
	uint64_t have = copyputfile_flag(j, PSSH_COPY_RESUME) && j->link_status == SFTP_OK ? j->link.size : 0;

	j->at = have > COPY_WINDOW && have <= j->size ? have - COPY_WINDOW : 0;
	if (have == 0)
		return begin_sending(j);
	check_start(j, j->at, true);
	return job_go(j, VERIFY);
}

static bool verify_send(struct job *j)
{
	struct sftp_attrs empty = { .flags = SFTP_ATTR_SIZE };

	if (j->at)
		return check_send(j);
	return sftp_fsetstat(copyputfile_sftp_of(j), &j->asker, OP_SET, &j->handle, &empty);
}

static bool copyputfile_verify_next(struct job *j)
{
	switch (j->at ? check_end(j) : CHECK_SAME) {
	case CHECK_AGAIN:
		return job_go(j, VERIFY);
	case CHECK_DIFFERS:
		j->at = 0;
		return job_go(j, VERIFY);
	default:
		j->copy->progress.done += j->at;
		return begin_sending(j);
	}
}

/* ---- Data ------------------------------------------------------------------------------ */

static void end_attrs(const struct job *j, struct sftp_attrs *a)
{
	*a = (struct sftp_attrs){ .size = j->size };
	if (j->sparse_end)
		a->flags |= SFTP_ATTR_SIZE;
	if (copyputfile_flag(j, PSSH_COPY_PRESERVE)) {
		a->flags |= SFTP_ATTR_MODE;
		a->mode = j->node->mode;
	} else if (j->status == SFTP_OK && (j->attrs.flags & SFTP_ATTR_MODE)) {
		a->flags |= SFTP_ATTR_MODE;
		a->mode = j->attrs.mode & 0777;
	} else if (copyputfile_reopens(j) && (j->node->mode & 0600) != 0600) {
		a->flags |= SFTP_ATTR_MODE;
		a->mode = j->node->mode & ~022u; /* the host's umask is unknown */
	}
}

static bool copyputfile_end_send(struct job *j)
{
	struct sftp_attrs a;

	if (j->part == 0) {
		if (!copyputfile_unchanged(j))
			return false;
		j->part++;
	}
	end_attrs(j, &a);
	if (j->part == 1 && (a.flags == 0 || sftp_fsetstat(copyputfile_sftp_of(j), &j->asker, OP_SET, &j->handle, &a)))
		j->part++;
	if (j->part == 2 &&
		(!(j->copy->flags & (COPY_SYNC | PSSH_COPY_CHECKSUM)) ||
			!(copyputfile_sftp_of(j)->features & SFTP_HAS_FSYNC) ||
			sftp_fsync(copyputfile_sftp_of(j), &j->asker, OP_SYNC, &j->handle)))
		j->part++;
	if (j->part == 3 && sftp_handle(copyputfile_sftp_of(j), &j->asker, OP_CLOSE, SFTP_REQ_CLOSE, &j->handle))
		j->part++;
	return j->part == 4;
}

/* What streams left when they were lost. True: all of it is sent. */
static bool send_again(struct job *j, struct lane lane)
{
	while (stream_left(j, &j->again) || j->again.len) {
		uint64_t at = j->again.at, end = at + j->again.len;

		if (!put_block(j, lane, &at, end))
			return false;
		j->again = (struct span){ at, (uint32_t)(end - at) };
	}
	return true;
}

/* Without a comparison, closing and renaming follow the data without waiting for its answers. */
static bool data_send(struct job *j)
{
	struct lane lane = { copyputfile_sftp_of(j), &j->asker, &j->handle };

	if (!send_again(j, lane))
		return false;
	while (j->at < j->size) {
		skip_hole(j);
		if (j->at < j->size && !put_block(j, lane, &j->at, data_end(j)))
			return false;
	}
	return !stream_busy(j) && (copyputfile_flag(j, PSSH_COPY_CHECKSUM) || copyputfile_end_send(j));
}

static bool copyputfile_data_next(struct job *j)
{
	if (!copyputfile_flag(j, PSSH_COPY_CHECKSUM))
		return job_go(j, RENAME);
	check_start(j, j->size, false);
	return job_go(j, CHECK);
}

/* A reader sees a hole at the end only once the size is set. */
static bool compare_send(struct job *j)
{
	struct sftp_attrs size = { .flags = SFTP_ATTR_SIZE, .size = j->size };

	if (!j->sparse_end || j->sized)
		return check_send(j);
	if (j->part == 0 && sftp_fsetstat(copyputfile_sftp_of(j), &j->asker, OP_SET, &j->handle, &size))
		j->part++;
	return false;
}

static bool compare_next(struct job *j)
{
	switch (check_end(j)) {
	case CHECK_AGAIN:
		return job_go(j, CHECK);
	case CHECK_DIFFERS:
		job_fail(j, PSSH_ECHECKSUM, "the copy '%s' on the host differs from '%s'", j->target, j->source);
		return true;
	default:
		return job_go(j, END);
	}
}

/* ---- The end --------------------------------------------------------------------------- */

static bool copyputfile_end_next(struct job *j)
{
	return job_go(j, RENAME);
}

static bool rename_send(struct job *j)
{
	return sftp_rename(copyputfile_sftp_of(j), &j->asker, OP_RENAME, j->temp, j->target);
}

static bool rename_next(struct job *j)
{
	if (j->renamed_over && j->step == RENAME)
		return job_go(j, CLEAR);
	return copyputfile_flag(j, PSSH_COPY_PRESERVE | PSSH_COPY_UPDATE) && job_go(j, TIMES);
}

/* For servers that cannot replace by a rename: for a moment neither the old nor the new file exists. */
static bool clear_send(struct job *j)
{
	return sftp_path(copyputfile_sftp_of(j), &j->asker, OP_REMOVE, SFTP_REQ_REMOVE, j->target);
}

static bool clear_next(struct job *j)
{
	return job_go(j, RENAME_AGAIN);
}

/* Not before: a temporary file with an old time looks as if it were left over. */
static bool times_send(struct job *j)
{
	struct sftp_attrs a = { .flags = j->same ? SFTP_ATTR_MODE : SFTP_ATTR_TIMES,
		.mode = j->node->mode,
		.atime = (uint32_t)j->node->atime.tv_sec,
		.mtime = (uint32_t)j->node->mtime.tv_sec };

	return sftp_setstat(copyputfile_sftp_of(j), &j->asker, OP_SET, j->target, &a);
}

static bool times_next(struct job *j)
{
	(void)j;
	return false;
}

/* Ask for free space before removing the temporary file, which frees some. */
static bool copyputfile_clean_send(struct job *j)
{
	char *dir = NULL;

	if (j->part == 0 && j->full && (copyputfile_sftp_of(j)->features & SFTP_HAS_STATVFS) &&
		(dir = path_dir(j->target))) {
		if (sftp_statvfs(copyputfile_sftp_of(j), &j->asker, OP_SPACE, dir))
			j->part++;
		free(dir);
	} else if (j->part == 0) {
		j->part++;
	}
	if (j->part == 1 &&
		(!j->open || sftp_handle(copyputfile_sftp_of(j), &j->asker, OP_CLOSE, SFTP_REQ_CLOSE, &j->handle)))
		j->part++;
	if (j->part == 2 && (!j->temp_made || copyputfile_flag(j, PSSH_COPY_RESUME) ||
		sftp_path(copyputfile_sftp_of(j), &j->asker, OP_REMOVE, SFTP_REQ_REMOVE, j->temp)))
		j->part++;
	return j->part == 3;
}

static bool copyputfile_clean_next(struct job *j)
{
	(void)j;
	return false;
}

static const struct step put_steps[] = {
	[CLEAN] = { "clean", copyputfile_clean_send, copyputfile_clean_next },
	[LOCAL] = { "local", copyputfile_local_send, copyputfile_local_next },
	[LOOK] = { "look", copyputfile_look_send, copyputfile_look_next },
	[OPEN] = { "open", copyputfile_open_send, copyputfile_open_next },
	[VERIFY] = { "verify", verify_send, copyputfile_verify_next },
	[DATA] = { "data", data_send, copyputfile_data_next },
	[CHECK] = { "check", compare_send, compare_next },
	[END] = { "end", copyputfile_end_send, copyputfile_end_next },
	[RENAME] = { "rename", rename_send, rename_next },
	[CLEAR] = { "clear", clear_send, clear_next },
	[RENAME_AGAIN] = { "rename again", rename_send, rename_next },
	[TIMES] = { "times", times_send, times_next },
};

bool put_file_start(struct copy *c, struct node *n, bool fresh_dir)
{
	struct job *j = job_start(c, put_steps, n);

	if (!j)
		return false;
	j->reply = put_reply;
	j->fresh_dir = fresh_dir;
	j->source = node_path(n, c->source->root);
	j->target = node_path(n, c->root);
	j->temp = j->target ? temp_path(j->target, c->machine, c->flags & PSSH_COPY_RESUME) : NULL;
	if (!j->source || !j->temp)
		job_no_memory(j);
	else if (strlen(j->temp) > SFTP_PATH)
		job_fail(j, PSSH_EINVAL, "'%s': the path on the host would be longer than %d bytes", j->source,
			SFTP_PATH);
	return true;
}
