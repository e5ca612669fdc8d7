/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The further channels of a copy. Each opens the file that the first channel is copying, takes one
 * piece of it after another, and closes it when none is left. What a stream that is lost had not
 * finished goes over the first channel, so a stream can never fail a copy by its own end.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/copy/copyjob.h"
#include "pssh/pssh_types.h"

enum {
	PIECE = 256 * 1024, /* small, as the last pieces leave the other channels idle */
	LEAST = 4 << 20,    /* a stream opens no file of which less is left */
};

struct copy_stream {
	struct sftp_asker asker; /* must be first: a reply's asker is cast to its stream */
	struct copy *copy;
	struct job *job; /* whose data it carries; NULL: none */
	struct sftp sftp;
	struct sftp_handle handle;
	const struct sharing *how;
	enum { STREAM_IDLE, STREAM_OPENS, STREAM_LOOKS, STREAM_CARRIES, STREAM_CLOSES } state;
	bool open, ended;
	uint64_t at, end; /* its piece */
	unsigned agains;  /* how many blocks came short and need their rest */
	struct span again[COPY_BLOCKS];
};

/* ---- For jobs -------------------------------------------------------------------------- */

bool stream_worth(const struct job *j)
{
	bool worth = j->copy->streams > 1 && j->size >= COPY_SHARED;

	j->copy->wants_streams |= worth;
	return worth;
}

void stream_share(struct job *j, uint64_t left, const struct sharing *how)
{
	j->sharing = stream_worth(j) && left >= COPY_SHARED ? how : NULL;
}

static void copystream_detach(struct copy_stream *s)
{
	s->job = NULL;
	s->at = s->end = 0;
	s->agains = 0;
	s->copy->woken = true;
}

static void copystream_free(struct copy_stream *s)
{
	struct copy *c = s->copy;

	for (unsigned i = 0; i < c->stream_count; i++)
		if (c->stream[i] == s)
			c->stream[i] = c->stream[--c->stream_count];
	sftp_release(&s->sftp);
	free(s);
}

void stream_free_all(struct copy *c)
{
	while (c->stream_count)
		copystream_free(c->stream[0]);
}

void stream_leave(struct job *j)
{
	struct copy *c = j->copy;

	j->sharing = NULL;
	for (unsigned i = c->stream_count; i-- > 0;) {
		if (c->stream[i]->job != j)
			continue;
		copystream_detach(c->stream[i]);
		if (c->stream[i]->ended)
			copystream_free(c->stream[i]);
	}
}

bool stream_busy(const struct job *j)
{
	for (unsigned i = 0; i < j->copy->stream_count; i++)
		if (j->copy->stream[i]->job == j)
			return true;
	return false;
}

static uint64_t copystream_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where the earliest data begins that it has taken and not finished; UINT64_MAX: there is none. */
static uint64_t copystream_oldest(const struct copy_stream *s)
{
	uint64_t least = sftp_oldest(&s->sftp, &s->asker);

	if (s->at < s->end)
		least = copystream_least(least, s->at);
	for (unsigned i = 0; i < s->agains; i++)
		least = copystream_least(least, s->again[i].at);
	return least;
}

/* Of a lost stream: the span that begins there. Of a block that was arriving, the part that did not come. */
static struct span copystream_take(struct copy_stream *s, uint64_t at)
{
	struct span out = { at, 0 };

	for (size_t i = 0; i < SFTP_SLOTS; i++) {
		struct sftp_slot *slot = &s->sftp.slots[i];
		uint32_t came = slot == s->sftp.data_slot ? s->sftp.data_total - s->sftp.data_left : 0;

		if (slot->who && slot->len && slot->offset == at) {
			slot->who = NULL;
			out.len = slot->len - came;
			return out;
		}
	}
	for (unsigned i = 0; i < s->agains; i++) {
		if (s->again[i].at == at) {
			out = s->again[i];
			s->again[i] = s->again[--s->agains];
			return out;
		}
	}
	out.len = s->end - at < SFTP_READ ? (uint32_t)(s->end - at) : SFTP_READ;
	s->at += out.len;
	return out;
}

/* The earliest first: where a copy may be resumed, the later ones have to wait for it. */
bool stream_left(struct job *j, struct span *out)
{
	struct copy *c = j->copy;
	struct copy_stream *lost = NULL;
	const struct span held = *out;
	uint64_t least = held.len ? held.at : UINT64_MAX;

	for (unsigned i = c->stream_count; i-- > 0;) {
		struct copy_stream *s = c->stream[i];
		uint64_t at = copystream_oldest(s);

		if (s->job != j || !s->ended)
			continue;
		if (at == UINT64_MAX) {
			copystream_free(s);
		} else if (at < least && (!held.len || s->agains < COPY_BLOCKS)) {
			least = at;
			lost = s;
		}
	}
	if (!lost)
		return false;
	*out = copystream_take(lost, least);
	if (held.len)
		lost->again[lost->agains++] = held;
	return true;
}

uint64_t stream_oldest(const struct job *j)
{
	uint64_t least = sftp_oldest(&j->copy->sftp, &j->asker);

	if (j->again.len)
		least = copystream_least(least, j->again.at);
	for (unsigned i = 0; i < j->copy->stream_count; i++)
		if (j->copy->stream[i]->job == j)
			least = copystream_least(least, copystream_oldest(j->copy->stream[i]));
	return least;
}

unsigned stream_blocks(const struct copy *c)
{
	return c->streams > 2 ? c->sftp.pace.ahead * 2 / c->streams : c->sftp.pace.ahead;
}

/* ---- Sending --------------------------------------------------------------------------- */

static uint64_t copystream_untaken(const struct job *j)
{
	return j->copy->put ? j->size - j->at : j->reading.end - j->reading.at;
}

/* A file that this stream can help with; NULL: none. */
static struct job *copystream_job(const struct copy *c)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->jobs[i]->sharing && !c->jobs[i]->fail.code && copystream_untaken(c->jobs[i]) >= LEAST)
			return c->jobs[i];
	return NULL;
}

static void copystream_open(struct copy_stream *s, struct job *j)
{
	bool put = s->copy->put;

	if (!sftp_open(&s->sftp, &s->asker, OP_OPEN, put ? j->temp : j->source, put ? SFTP_OPEN_WRITE : SFTP_OPEN_READ,
		    NULL))
		return;
	s->job = j;
	s->how = j->sharing;
	s->state = STREAM_OPENS;
}

static bool copystream_piece(struct copy_stream *s)
{
	struct span piece;

	if (!s->how->piece(s->job, &piece, PIECE))
		return false;
	s->at = piece.at;
	s->end = piece.at + piece.len;
	return true;
}

static void copystream_close(struct copy_stream *s)
{
	if (s->asker.waiting == 0 && sftp_handle(&s->sftp, &s->asker, OP_CLOSE, SFTP_REQ_CLOSE, &s->handle))
		s->state = STREAM_CLOSES;
}

static void copystream_carry(struct copy_stream *s)
{
	struct lane lane = { &s->sftp, &s->asker, &s->handle };

	for (; s->agains; s->agains--) {
		struct span rest = s->again[s->agains - 1];

		if (!s->how->block(s->job, lane, &rest.at, rest.at + rest.len))
			return;
	}
	while (s->at < s->end || copystream_piece(s)) {
		if (s->how->block(s->job, lane, &s->at, s->end))
			continue;
		s->copy->woken |= s->job->fail.code != 0;
		return;
	}
	copystream_close(s);
}

static void copystream_send(struct copy_stream *s)
{
	struct job *next;

	if (!s->sftp.ready || s->copy->finished)
		return;
	if (s->job && s->job->fail.code)
		copystream_detach(s);
	if (s->job && s->state == STREAM_LOOKS && !s->asker.waiting)
		sftp_handle(&s->sftp, &s->asker, OP_FSTAT, SFTP_REQ_FSTAT, &s->handle);
	else if (s->job && s->state == STREAM_CARRIES)
		copystream_carry(s);
	else if (!s->job && s->open && s->state != STREAM_CLOSES)
		copystream_close(s);
	else if (s->state == STREAM_IDLE && (next = copystream_job(s->copy)))
		copystream_open(s, next);
}

/* ---- Answers --------------------------------------------------------------------------- */

/* It goes on without this stream, and others need not try. */
static void copystream_refuse(struct copy_stream *s)
{
	if (s->job) {
		s->job->sharing = NULL;
		copystream_detach(s);
	}
	if (!s->open)
		s->state = STREAM_IDLE;
}

static void copystream_opened(struct copy_stream *s, const struct sftp_reply *r)
{
	s->open = r->kind == SFTP_HANDLE_IS;
	s->handle = r->handle;
	if (!s->open)
		copystream_refuse(s);
	else
		s->state = s->copy->put ? STREAM_CARRIES : STREAM_LOOKS;
}

/* The name may lead to another file by now. */
static void copystream_looked(struct copy_stream *s, const struct sftp_reply *r)
{
	const struct sftp_attrs *a = &r->attrs, *b = &s->job->attrs;

	if (r->kind == SFTP_ATTRS && a->flags == b->flags && a->size >= s->job->size && a->mode == b->mode &&
		a->mtime == b->mtime)
		s->state = STREAM_CARRIES;
	else
		copystream_refuse(s);
}

static void copystream_answered(struct copy_stream *s, const struct sftp_reply *r)
{
	s->how->answer(s->job, r);
	if (r->kind != SFTP_DATA || !r->last || r->data_total == r->asked)
		return;
	assert(s->agains < COPY_BLOCKS);
	s->again[s->agains++] = (struct span){ r->offset + r->len, r->asked - r->data_total };
}

static void copystream_closed(struct copy_stream *s, const struct sftp_reply *r)
{
	s->open = false;
	s->state = STREAM_IDLE;
	if (!s->job)
		return;
	if (s->copy->put && r->status != SFTP_OK)
		job_fail_reply(s->job, r, "write", s->job->target);
	copystream_detach(s);
}

static void copystream_reply(struct copy_stream *s, const struct sftp_reply *r)
{
	if (r->op == OP_OPEN)
		copystream_opened(s, r);
	else if (r->op == OP_CLOSE)
		copystream_closed(s, r);
	else if (!s->job || s->job->fail.code)
		return; /* to what this asked for, nobody waits for the answer */
	else if (r->op == OP_FSTAT)
		copystream_looked(s, r);
	else
		copystream_answered(s, r);
	/* Where a copy may be resumed, others wait for the one that is furthest behind. */
	if (s->job && (s->job->fail.code || (s->copy->flags & PSSH_COPY_RESUME)))
		s->copy->woken = true;
}

/* ---- What the owner calls -------------------------------------------------------------- */

/* A put that leaves no file alone knows at once; to ask for streams then saves round trips. */
void copy_set_streams(struct copy *c, unsigned n)
{
	c->streams = n;
	if (!c->put || n < 2 || (c->flags & PSSH_COPY_UPDATE))
		return;
	for (size_t i = 0; i < c->source->count && !c->wants_streams; i++)
		c->wants_streams = !c->source->nodes[i]->dir && c->source->nodes[i]->size >= COPY_SHARED;
}

bool copy_wants_streams(const struct copy *c)
{
	return c->wants_streams && !c->finished && !c->cancelled;
}

int copy_stream_new(struct copy *c, struct copy_stream **out)
{
	struct copy_stream *s = c->stream_count < PSSH_STREAMS ? calloc(1, sizeof *s) : NULL;

	if (!s)
		return PSSH_ENOMEM;
	s->copy = c;
	if (sftp_init(&s->sftp) != 0) {
		free(s);
		return PSSH_ENOMEM;
	}
	c->stream[c->stream_count++] = s;
	*out = s;
	return 0;
}

void copy_stream_output(struct copy_stream *s, const char **data, size_t *len)
{
	if (s->sftp.out_at == s->sftp.out_len)
		copystream_send(s);
	*data = s->sftp.out + s->sftp.out_at;
	*len = s->sftp.out_len - s->sftp.out_at;
}

void copy_stream_sent(struct copy_stream *s, size_t n)
{
	s->sftp.out_at += n;
	if (s->sftp.out_at >= s->sftp.out_len)
		s->sftp.out_at = s->sftp.out_len = 0;
}

int copy_stream_input(struct copy_stream *s, const char *data, size_t len, struct fail *f)
{
	struct sftp_reply r = { 0 };
	int rc;

	while ((rc = sftp_next(&s->sftp, &data, &len, &r, f)) > 0)
		copystream_reply(s, &r);
	return rc;
}

void copy_stream_end(struct copy_stream *s)
{
	s->ended = true;
	s->copy->woken = true;
	if (!s->job)
		copystream_free(s);
}

bool copy_stream_has_work(const struct copy_stream *s)
{
	if (!s->sftp.ready || s->asker.waiting)
		return false;
	if (s->job)
		return s->at < s->end;
	return s->open || (s->state == STREAM_IDLE && copystream_job(s->copy));
}

bool copy_stream_woke(struct copy *c)
{
	bool woken = c->woken;

	c->woken = false;
	return woken;
}
