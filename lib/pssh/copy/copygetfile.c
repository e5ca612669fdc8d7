/* SPDX-License-Identifier: Apache-2.0 */
/* Gets one file: writes a temporary file beside the target, then renames it over the target. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pssh/copy/copyjob.h"
#include "pssh/copy/copytemp.h"
#include "pssh/pssh_types.h"

enum { CLEAN, LOOK, OPEN, LOCAL, VERIFY, DATA, CHECK, END };
enum { PAGE = 4096 };

static bool copygetfile_flag(const struct job *j, unsigned flags)
{
	return (j->copy->flags & flags) != 0;
}

static struct sftp *copygetfile_sftp_of(struct job *j)
{
	return &j->copy->sftp;
}

/* ---- Replies --------------------------------------------------------------------------- */

static bool write_all(struct job *j, const char *data, size_t len, uint64_t at)
{
	while (len) {
		ssize_t n = pwrite(j->fd, data, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			job_fail_errno(j, n < 0 ? errno : EIO, "cannot write '%s'", j->target);
			return false;
		}
		data += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

static bool all_zero(const char *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Skips whole pages of zeros. A page that comes in parts gives the same file either way. */
static void write_sparse(struct job *j, const char *data, size_t len, uint64_t at)
{
	while (len) {
		size_t n = PAGE - at % PAGE, zeros = 0, run;

		for (run = 0; run < len; run += zeros ? 0 : n, n = PAGE) {
			if (n > len - run)
				n = len - run;
			zeros = all_zero(data + run, n) ? n : 0;
			if (zeros)
				break;
		}
		if (run && !write_all(j, data, run, at))
			return;
		data += run + zeros;
		at += run + zeros;
		len -= run + zeros;
	}
}

static void get_arrived(struct job *j, const struct sftp_reply *r)
{
	if (copygetfile_flag(j, PSSH_COPY_SPARSE))
		write_sparse(j, r->data, r->len, r->offset);
	else
		write_all(j, r->data, r->len, r->offset);
	j->copy->progress.done += r->len;
}

static void get_reply(struct job *j, const struct sftp_reply *r)
{
	switch (r->op) {
	case OP_STAT:
	case OP_FSTAT:
		if (r->kind != SFTP_ATTRS)
			job_fail_reply(j, r, "read", j->source);
		else if (j->step == END)
			j->link = r->attrs;
		else
			j->attrs = r->attrs;
		break;
	case OP_REAL: {
		struct sftp_reply names = *r;
		struct sftp_attrs a;
		const char *name;
		size_t len;
		bool bad;

		if (r->kind == SFTP_NAMES && sftp_name(&names, &name, &len, &a, &bad) && len <= SFTP_PATH &&
			!j->node->real)
			j->node->real = strndup(name, len);
		break;
	}
	case OP_OPEN:
		j->open = r->kind == SFTP_HANDLE_IS;
		j->handle = r->handle;
		job_fail_reply(j, r, "read", j->source);
		break;
	case OP_READ:
		if (reading_reply(j, r))
			get_arrived(j, r);
		break;
	case OP_CHECK:
		check_reply(j, r);
		break;
	default:
		j->open = false; /* OP_CLOSE: its status does not matter for a file that was only read */
		break;
	}
}

/* ---- What is it? ----------------------------------------------------------------------- */

/* Asks what the source is: for a link, or if the listing did not say. */
static bool copygetfile_look_send(struct job *j)
{
	if (!j->node->unsure)
		return true;
	if (j->part == 0 && sftp_path(copygetfile_sftp_of(j), &j->asker, OP_STAT, SFTP_REQ_STAT, j->source))
		j->part++;
	if (j->part == 1 && sftp_path(copygetfile_sftp_of(j), &j->asker, OP_REAL, SFTP_REQ_REALPATH, j->source))
		j->part++;
	return j->part == 2;
}

/* False: this file is here already; with PSSH_COPY_PRESERVE its mode may be another. */
static bool copygetfile_needed(struct job *j)
{
	const struct node *n = j->node;
	struct stat st;

	if (!copygetfile_flag(j, PSSH_COPY_UPDATE) || !n->has_times || stat(j->target, &st) != 0 ||
		!S_ISREG(st.st_mode) || (uint64_t)st.st_size != n->size ||
		(uint32_t)st.st_mtim.tv_sec != (uint32_t)n->mtime.tv_sec)
		return true;
	j->copy->progress.unchanged++;
	j->copy->progress.total -= n->size;
	if (copygetfile_flag(j, PSSH_COPY_PRESERVE) && (st.st_mode & 0777) != n->mode && chmod(j->target, n->mode))
		job_fail_errno(j, errno, "cannot set the mode of '%s'", j->target);
	return j->fail.code != 0;
}

static bool copygetfile_look_next(struct job *j)
{
	struct node *n = j->node;
	uint32_t kind;

	if (!n->unsure)
		return copygetfile_needed(j) && job_go(j, OPEN);
	kind = j->attrs.flags & SFTP_ATTR_MODE ? j->attrs.mode & S_IFMT : S_IFREG;
	n->unsure = false;
	n->size = j->attrs.size;
	n->mode = j->attrs.flags & SFTP_ATTR_MODE ? j->attrs.mode & 0777 : 0666;
	n->has_times = (j->attrs.flags & SFTP_ATTR_TIMES) != 0;
	n->atime.tv_sec = j->attrs.atime;
	n->mtime.tv_sec = j->attrs.mtime;
	if (kind == S_IFREG) {
		j->copy->progress.total += n->size;
		return copygetfile_needed(j) && job_go(j, OPEN);
	}
	if (kind != S_IFDIR)
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is neither a file nor a directory", j->source);
	else if (!copygetfile_flag(j, PSSH_COPY_RECURSIVE))
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is a directory, and this copy is not recursive", j->source);
	if (j->fail.code)
		return true;
	if (!n->real) {
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is a link, and the server does not say where it leads",
			j->source);
		return true;
	}
	n->dir = true;
	j->silent = true;
	j->node = NULL;
	get_queue_dir(j->copy, n);
	return false;
}

static bool copygetfile_open_send(struct job *j)
{
	if (j->part == 0 && sftp_open(copygetfile_sftp_of(j), &j->asker, OP_OPEN, j->source, SFTP_OPEN_READ, NULL))
		j->part++;
	if (j->part == 1 && j->open &&
		sftp_handle(copygetfile_sftp_of(j), &j->asker, OP_FSTAT, SFTP_REQ_FSTAT, &j->handle))
		j->part++;
	return j->part == 2;
}

static bool copygetfile_open_next(struct job *j)
{
	j->size = j->attrs.flags & SFTP_ATTR_SIZE ? j->attrs.size : 0;
	if ((j->attrs.flags & SFTP_ATTR_MODE) && !S_ISREG(j->attrs.mode))
		job_fail(j, PSSH_EREMOTE, "'%s' on the host is not a plain file", j->source);
	else if (j->size > INT64_MAX)
		job_fail(j, PSSH_EREMOTE, "'%s' on the host has an impossible size", j->source);
	stream_worth(j);
	return job_go(j, LOCAL);
}

/* ---- The local file -------------------------------------------------------------------- */

/* An existing target must be a file; the copy keeps its mode. */
static bool look_at_target(struct job *j)
{
	struct stat st;

	j->status = SFTP_NO_SUCH_FILE;
	if (stat(j->target, &st))
		return true;
	if (S_ISDIR(st.st_mode))
		job_fail(j, PSSH_ELOCAL, "'%s' is a directory", j->target);
	else if (!S_ISREG(st.st_mode))
		job_fail(j, PSSH_ELOCAL, "'%s' exists and is not a plain file", j->target);
	j->status = SFTP_OK;
	j->saved_mode = st.st_mode & 0777;
	return !j->fail.code;
}

static mode_t copygetfile_first_mode(const struct job *j)
{
	mode_t mode = j->attrs.flags & SFTP_ATTR_MODE ? j->attrs.mode & 0777 : 0666;

	return copygetfile_flag(j, PSSH_COPY_PRESERVE) || j->status == SFTP_OK ? 0600 : mode | 0600;
}

static int open_temp(struct job *j)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	struct stat st;
	int fd;

	if (!copygetfile_flag(j, PSSH_COPY_RESUME))
		flags |= O_EXCL;
	fd = open(j->temp, flags, copygetfile_first_mode(j));
	if (fd < 0)
		return -errno;
	/* Anybody could have put it there, so accept only this user's file with a single name. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1) {
		j->at = (uint64_t)st.st_size;
		return fd;
	}
	close(fd);
	return -EEXIST;
}

static bool open_local(struct job *j)
{
	int fd = open_temp(j);
	char *dir;

	if (fd >= 0) {
		j->fd = fd;
		j->temp_made = true;
		j->copy->fds++;
		return true;
	}
	if ((fd == -EMFILE || fd == -ENFILE) && j->copy->fds)
		return false; /* wait until another file frees its descriptor */
	dir = path_dir(j->target);
	if (fd == -ENOENT && dir)
		job_fail(j, PSSH_ELOCAL, "cannot write '%s': there is no directory '%s'", j->target, dir);
	else if (fd == -EEXIST || fd == -ELOOP)
		job_fail(j, PSSH_ELOCAL, "'%s' exists and is not an earlier copy's; remove it", j->temp);
	else
		job_fail_errno(j, -fd, "cannot write '%s'", j->target);
	free(dir);
	return false;
}

static bool copygetfile_local_send(struct job *j)
{
	return look_at_target(j) && open_local(j);
}

static bool get_piece(struct job *j, struct span *out, uint32_t most)
{
	struct reading *rd = &j->reading;
	uint64_t left = rd->end - rd->at;

	*out = (struct span){ rd->at, left < most ? (uint32_t)left : most };
	rd->at += out->len;
	return out->len;
}

static bool get_block(struct job *j, struct lane lane, uint64_t *at, uint64_t end)
{
	uint32_t len = end - *at < SFTP_READ ? (uint32_t)(end - *at) : SFTP_READ;

	if (!reading_may(j, lane.sftp, *at) || !sftp_read(lane.sftp, lane.asker, OP_READ, lane.handle, *at, len))
		return false;
	*at += len;
	return true;
}

static void get_answer(struct job *j, const struct sftp_reply *r)
{
	if (r->kind != SFTP_DATA && r->status == SFTP_EOF)
		job_fail(j, PSSH_EREMOTE, "'%s' shrank on the host while it was copied", j->source);
	else if (r->kind != SFTP_DATA)
		job_fail_reply(j, r, "read", j->source);
	else
		get_arrived(j, r);
}

static const struct sharing get_sharing = { get_piece, get_block, get_answer };

static bool begin_data(struct job *j)
{
	j->copy->progress.done += j->at;
	/* Cut off an earlier copy's rest: sparse writing skips zeros, so old bytes would stay. */
	if (ftruncate(j->fd, (off_t)j->at))
		job_fail_errno(j, errno, "cannot write '%s'", j->target);
	reading_start(j, j->at, j->size);
	j->reading.serial = j->size == 0; /* files of /proc claim size 0 and have more */
	stream_share(j, j->size - j->at, &get_sharing);
	return job_go(j, DATA);
}

static bool copygetfile_local_next(struct job *j)
{
	uint64_t have = j->at;

	/* Continue only from where an earlier copy certainly has no gaps. */
	j->at = have > COPY_WINDOW && have <= j->size ? have - COPY_WINDOW : 0;
	if (j->at == 0)
		return begin_data(j);
	check_start(j, j->at, true);
	return job_go(j, VERIFY);
}

static bool copygetfile_verify_next(struct job *j)
{
	switch (check_end(j)) {
	case CHECK_AGAIN:
		return job_go(j, VERIFY);
	case CHECK_DIFFERS:
		j->at = 0;
		return begin_data(j);
	default:
		return begin_data(j);
	}
}

static bool copygetfile_data_next(struct job *j)
{
	stream_leave(j); /* what the comparison reads is not theirs */
	if (j->reading.serial)
		j->size = j->reading.at;
	if (ftruncate(j->fd, (off_t)j->size))
		job_fail_errno(j, errno, "cannot write '%s'", j->target);
	if (!copygetfile_flag(j, PSSH_COPY_CHECKSUM))
		return job_go(j, END);
	check_start(j, j->size, false);
	return job_go(j, CHECK);
}

static bool check_next(struct job *j)
{
	switch (check_end(j)) {
	case CHECK_AGAIN:
		return job_go(j, CHECK);
	case CHECK_DIFFERS:
		job_fail(j, PSSH_ECHECKSUM, "the copy '%s' differs from '%s' on the host", j->target, j->source);
		return true;
	default:
		return job_go(j, END);
	}
}

/* ---- The end --------------------------------------------------------------------------- */

static bool copygetfile_end_send(struct job *j)
{
	if (j->part == 0 && sftp_handle(copygetfile_sftp_of(j), &j->asker, OP_FSTAT, SFTP_REQ_FSTAT, &j->handle))
		j->part++;
	if (j->part == 1 && sftp_handle(copygetfile_sftp_of(j), &j->asker, OP_CLOSE, SFTP_REQ_CLOSE, &j->handle))
		j->part++;
	return j->part == 2;
}

/* If the source grew, as logs do, keep the size at opening. Any other change makes the copy torn. */
static bool copygetfile_unchanged(struct job *j)
{
	const struct sftp_attrs *a = &j->attrs, *b = &j->link;

	if (j->reading.serial)
		return true;
	if ((b->flags & SFTP_ATTR_SIZE) && b->size > j->size) {
		copy_say(j->copy, 0, "'%s' grew on the host while it was copied: the first %llu bytes are here",
			j->source, (unsigned long long)j->size);
		return true;
	}
	if (((b->flags & SFTP_ATTR_SIZE) && b->size < j->size) ||
		((a->flags & b->flags & SFTP_ATTR_TIMES) && a->mtime != b->mtime)) {
		job_fail(j, PSSH_EREMOTE, "'%s' changed on the host while it was copied; copy it again", j->source);
		return false;
	}
	return true;
}

static bool set_mode(struct job *j)
{
	mode_t mode = j->attrs.flags & SFTP_ATTR_MODE ? j->attrs.mode & 0777 : 0666;
	struct stat st;

	if (!copygetfile_flag(j, PSSH_COPY_PRESERVE)) {
		if (j->status == SFTP_OK)
			mode = j->saved_mode;
		else if (fstat(j->fd, &st) == 0)
			mode &= st.st_mode; /* the temporary file's mode has this process's umask applied */
		(void)!fchmod(j->fd, mode);
		return true;
	}
	if (fchmod(j->fd, mode) == 0)
		return true;
	job_fail_errno(j, errno, "cannot set the mode of '%s'", j->target);
	return false;
}

/* Once it has its name: a temporary file with an old time looks as if it were left over. */
static void set_times(struct job *j)
{
	struct timespec times[2] = { { .tv_sec = j->attrs.atime }, { .tv_sec = j->attrs.mtime } };

	if (copygetfile_flag(j, PSSH_COPY_PRESERVE | PSSH_COPY_UPDATE) && (j->attrs.flags & SFTP_ATTR_TIMES) &&
		futimens(j->fd, times))
		job_fail_errno(j, errno, "cannot set the times of '%s'", j->target);
}

static bool copygetfile_end_next(struct job *j)
{
	if (!copygetfile_unchanged(j) || !set_mode(j))
		return true;
	if (copygetfile_flag(j, COPY_SYNC | PSSH_COPY_CHECKSUM) && fsync(j->fd)) {
		job_fail_errno(j, errno, "cannot write '%s' to the disk", j->target);
		return true;
	}
	if (rename(j->temp, j->target)) {
		job_fail_errno(j, errno, "cannot give the copy its name '%s'", j->target);
		return true;
	}
	j->temp_made = false;
	set_times(j);
	return j->fail.code != 0;
}

static bool copygetfile_clean_send(struct job *j)
{
	return !j->open || sftp_handle(copygetfile_sftp_of(j), &j->asker, OP_CLOSE, SFTP_REQ_CLOSE, &j->handle);
}

static bool copygetfile_clean_next(struct job *j)
{
	(void)j;
	return false; /* job_drop_local cleans up */
}

void job_drop_local(struct job *j)
{
	if (j->fd >= 0) {
		j->copy->fds--;
		if (j->copy->put)
			node_close(j->node);
		else
			close(j->fd);
		j->fd = -1;
	}
	if (!j->copy->put && j->temp_made && !copygetfile_flag(j, PSSH_COPY_RESUME))
		unlink(j->temp);
}

static const struct step get_steps[] = {
	[CLEAN] = { "clean", copygetfile_clean_send, copygetfile_clean_next },
	[LOOK] = { "look", copygetfile_look_send, copygetfile_look_next },
	[OPEN] = { "open", copygetfile_open_send, copygetfile_open_next },
	[LOCAL] = { "local", copygetfile_local_send, copygetfile_local_next },
	[VERIFY] = { "verify", check_send, copygetfile_verify_next },
	[DATA] = { "data", reading_send, copygetfile_data_next },
	[CHECK] = { "check", check_send, check_next },
	[END] = { "end", copygetfile_end_send, copygetfile_end_next },
};

bool get_file_start(struct copy *c, struct node *n)
{
	struct job *j = job_start(c, get_steps, n);

	if (!j)
		return false;
	j->reply = get_reply;
	j->source = node_source(n, c->remote);
	j->target = node_path(n, c->root);
	j->temp = j->target ? temp_path(j->target, c->machine, c->flags & PSSH_COPY_RESUME) : NULL;
	if (!j->source || !j->temp)
		job_no_memory(j);
	else if (strlen(j->source) > SFTP_PATH)
		job_fail(j, PSSH_EREMOTE, "'%s' on the host: the path is longer than %d bytes", n->name, SFTP_PATH);
	return true;
}
