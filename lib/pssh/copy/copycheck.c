/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a remote file with many requests outstanding, and compares its beginning with the local file,
 * by a command that prints its SHA-256 or by reading it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "pssh/copy/copyjob.h"
#include "pssh/pssh_types.h"

enum {
	SMALL = 256 * 1024, /* reading this much back is faster than running a command */
	SAMPLES = 32,
};

/* ---- Reading --------------------------------------------------------------------------- */

void reading_start(struct job *j, uint64_t at, uint64_t end)
{
	j->reading = (struct reading){ .at = at, .end = end, .stride = SFTP_READ, .op = OP_READ };
}

/* Gaps must stay within the window, or an interrupted copy could not be resumed. */
bool reading_may(const struct job *j, const struct sftp *s, uint64_t at)
{
	if (s->used >= stream_blocks(j->copy))
		return false;
	return !(j->copy->flags & PSSH_COPY_RESUME) || j->reading.serial || j->reading.stride != SFTP_READ ||
		at <= COPY_WINDOW || stream_oldest(j) >= at - COPY_WINDOW;
}

static bool reading_ask(struct job *j, uint64_t at, uint32_t len)
{
	struct sftp *s = &j->copy->sftp;

	if (!reading_may(j, s, at))
		return false;
	return sftp_read(s, &j->asker, j->reading.op, &j->handle, at, len);
}

static bool reading_send_serial(struct job *j)
{
	struct reading *rd = &j->reading;

	if (!rd->ended && !j->asker.waiting)
		reading_ask(j, rd->at, SFTP_READ);
	return rd->ended;
}

/* Is there something to be asked for again? It is the last one. */
static bool reading_again(struct job *j)
{
	struct reading *rd = &j->reading;

	if (!rd->agains) {
		rd->again[0] = (struct span){ 0 };
		rd->agains = stream_left(j, rd->again);
	} else {
		stream_left(j, &rd->again[rd->agains - 1]);
	}
	return rd->agains;
}

bool reading_send(struct job *j)
{
	struct reading *rd = &j->reading;

	if (rd->serial)
		return reading_send_serial(j);
	while (reading_again(j)) {
		if (!reading_ask(j, rd->again[rd->agains - 1].at, rd->again[rd->agains - 1].len))
			return false;
		rd->agains--;
	}
	while (rd->at < rd->end) {
		uint64_t left = rd->end - rd->at;

		if (!reading_ask(j, rd->at, left < SFTP_READ ? (uint32_t)left : SFTP_READ))
			return false;
		rd->at += left < rd->stride ? left : rd->stride;
	}
	/* A block that comes short needs another request for its rest. */
	return j->asker.waiting == 0 && !stream_busy(j);
}

bool reading_reply(struct job *j, const struct sftp_reply *r)
{
	struct reading *rd = &j->reading;
	uint64_t end;

	if (r->kind != SFTP_DATA) {
		if (r->status == SFTP_EOF && rd->serial)
			rd->ended = true;
		else if (r->status == SFTP_EOF)
			job_fail(j, PSSH_EREMOTE, "'%s' shrank on the host while it was copied",
				j->copy->put ? j->target : j->source);
		else
			job_fail_reply(j, r, "read", j->copy->put ? j->target : j->source);
		return false;
	}
	end = r->offset + r->len;
	if (r->last && rd->serial)
		rd->at = end;
	else if (r->last && r->data_total < r->asked && rd->agains < COPY_BLOCKS)
		rd->again[rd->agains++] = (struct span){ end, r->asked - r->data_total };
	return true;
}

/* ---- Comparing ------------------------------------------------------------------------- */

static void check_by_reading(struct job *j)
{
	struct check *k = &j->check;

	k->reads = true;
	reading_start(j, 0, k->limit);
	j->reading.op = OP_CHECK;
	if (!k->sampled || k->limit <= (uint64_t)SAMPLES * SFTP_READ)
		return;
	j->reading.stride = (k->limit - SFTP_READ) / (SAMPLES - 1);
	j->reading.at = k->limit - SFTP_READ - j->reading.stride * (SAMPLES - 1);
}

void check_start(struct job *j, uint64_t limit, bool sampled)
{
	check_release(j);
	j->check = (struct check){ .limit = limit, .sampled = sampled };
	if (limit <= SMALL || j->copy->no_commands)
		check_by_reading(j);
}

void check_release(struct job *j)
{
	digest_free(j->check.own);
	j->check.own = NULL;
}

/* Tries several tools, as not every host has GNU's. Without any, the status is not 0. */
static bool make_command(struct job *j)
{
	const char *path = j->copy->put ? j->temp : j->source;
	struct buf inner, outer;
	int rc;

	buf_init(&inner, 8 * SFTP_PATH);
	buf_init(&outer, 32 * SFTP_PATH);
	rc = buf_addf(&inner, "exec <");
	if (!rc)
		rc = str_quote_sh(&inner, path);
	if (!rc)
		rc = buf_addf(&inner,
			" || exit 1; head -c %llu | { sha256sum || shasum -a 256 || sha256 -q || openssl sha256; } "
			"2>/dev/null",
			(unsigned long long)j->check.limit);
	if (!rc)
		rc = buf_adds(&outer, "exec sh -c ");
	if (!rc)
		rc = str_quote_sh(&outer, buf_text(&inner));
	buf_release(&inner);
	if (rc) {
		buf_release(&outer);
		return job_no_memory(j);
	}
	free(j->copy->command);
	j->copy->command = buf_steal(&outer);
	return j->copy->command ? true : job_no_memory(j);
}

static bool ask_command(struct job *j)
{
	struct copy *c = j->copy;

	if (c->command_state != COMMAND_NONE || !make_command(j))
		return false;
	c->command_state = COMMAND_WAITS;
	c->command_job = j;
	return true;
}

/* The hash of a put's whole file is made once and shared by all hosts. */
static struct digest **check_digest(struct job *j)
{
	if (j->copy->put && j->check.limit == j->node->size)
		return &j->node->digest;
	return &j->check.own;
}

static bool check_send_command(struct job *j)
{
	struct check *k = &j->check;
	struct digest **d = check_digest(j);
	int rc;

	if (!k->asked && j->copy->no_commands) {
		check_by_reading(j);
		return false;
	}
	if (!k->asked)
		k->asked = ask_command(j);
	if (!*d && !(*d = digest_new(k->limit)))
		return job_no_memory(j);
	rc = digest_step(*d, j->fd);
	if (rc < 0)
		job_fail_errno(j, -rc, "cannot read '%s' again", j->copy->put ? j->source : j->target);
	if (rc > 0)
		j->copy->busy = true;
	return rc == 0 && k->answered;
}

bool check_send(struct job *j)
{
	if (!j->check.reads && check_send_command(j))
		return true;
	return j->check.reads && reading_send(j);
}

void check_reply(struct job *j, const struct sftp_reply *r)
{
	char block[SFTP_READ];
	size_t have = 0;

	if (!reading_reply(j, r) || j->check.differs)
		return;
	while (have < r->len) {
		ssize_t n = pread(j->fd, block, r->len - have, (off_t)(r->offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || memcmp(block, r->data + have, (size_t)n) != 0) {
			j->check.differs = true;
			return;
		}
		have += (size_t)n;
	}
}

enum check_result check_end(struct job *j)
{
	struct check *k = &j->check;

	if (k->reads)
		return k->differs ? CHECK_DIFFERS : CHECK_SAME;
	if (k->hex[0])
		return memcmp(k->hex, digest_hex(*check_digest(j)), DIGEST_HEX) == 0 ? CHECK_SAME : CHECK_DIFFERS;
	check_by_reading(j);
	return CHECK_AGAIN;
}
