/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keep/borrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "pssh/keep/keepwire.h"
#include "pssh/pssh_types.h"

enum {
	BORROW_IN = 256 * 1024,
	BORROW_OUT = 1 << 20,
	BORROW_BUSY = 256 * 1024,
	BORROW_TURN = 32,
	BORROW_ROOM = 16 * 1024,
	BORROW_CHANS = 256
};

struct borrow_chan {
	struct list in_chans;
	uint32_t id;
	struct buf data[2];
	size_t at[2];           /* how far each was read */
	size_t may_send;        /* what the keeper takes now */
	size_t may_come, taken; /* what the keeper may send; what was read since it last got credit */
	bool asked, answered, eof, closed, known;
	int code; /* of the answer */
	char why[256];
	int status;
	char signal[32];
};

struct borrow {
	int fd;
	enum { BORROW_ASKING, BORROW_LENT, BORROW_LOST } state;
	struct buf in, out, hostkey;
	struct list chans;
	uint32_t next;
	struct borrow_chan *ahead; /* asked for before anybody opened it, with this window; NULL: none */
	unsigned window;
	bool urgent; /* what is in out must go now */
	struct fail why;
};

static int borrow_lost(struct borrow *b, int code, const char *why)
{
	if (b->state != BORROW_LOST)
		fail_set(&b->why, code, "%s", why);
	b->state = BORROW_LOST;
	return b->why.code;
}

static void borrow_say(struct borrow *b, const struct keepwire_frame *f)
{
	b->urgent = true;
	if (b->state != BORROW_LOST && keepwire_add(&b->out, f) != 0)
		borrow_lost(b, PSSH_ENOMEM, "out of memory");
}

static void borrow_flush(struct link *l)
{
	struct borrow *b = l->lent;
	ssize_t n = 1;

	while (b->urgent && b->out.len && n > 0) {
		n = send(b->fd, b->out.data, b->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			buf_drop(&b->out, (size_t)n);
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		buf_clear(&b->out); /* reading tells why */
	b->urgent = b->urgent && b->out.len;
}

static bool borrow_wants_write(const struct link *l)
{
	const struct borrow *b = l->lent;

	return b->urgent;
}

/* ---- What the keeper says ---- */

static struct borrow_chan *borrow_find(struct borrow *b, uint32_t id)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &b->chans)
		if (list_entry(pos, struct borrow_chan, in_chans)->id == id)
			return list_entry(pos, struct borrow_chan, in_chans);
	return NULL;
}

/* False: the keeper may not say this now. */
static bool borrow_hear_chan(struct borrow_chan *c, const struct keepwire_frame *f)
{
	size_t len = f->t[0].len;

	switch (f->type) {
	case KEEP_DONE:
		if (!c->asked || c->answered || f->n[0] > 63)
			return false;
		c->answered = true;
		c->code = -(int)f->n[0];
		keepwire_copy(f->t[0], c->why, sizeof c->why);
		return true;
	case KEEP_DATA:
		if (c->eof || len > c->may_come || buf_add(&c->data[f->n[0]], f->t[0].at, len) != 0)
			return false;
		c->may_come -= len;
		return true;
	case KEEP_CREDIT:
		c->may_send += f->n[0];
		return c->may_send <= KEEPWIRE_CREDIT;
	case KEEP_EOF:
		c->eof = true;
		return true;
	case KEEP_EXIT:
		if (!c->eof || c->closed || f->n[0] > 1 || f->n[1] > INT32_MAX)
			return false;
		c->closed = true;
		c->known = f->n[0];
		c->status = (int)f->n[1];
		keepwire_copy(f->t[0], c->signal, sizeof c->signal);
		return true;
	default:
		return false;
	}
}

static int borrow_hear(struct borrow *b, const struct keepwire_frame *f)
{
	struct borrow_chan *c;
	char why[256];

	switch (f->type) {
	case KEEP_LENT:
		if (b->state != BORROW_ASKING || buf_add(&b->hostkey, f->t[0].at, f->t[0].len) != 0)
			break;
		b->state = BORROW_LENT;
		return 0;
	case KEEP_BUSY:
		return borrow_lost(b, PSSH_EREFUSED, "another command uses the connection");
	case KEEP_GONE:
		return borrow_lost(b, PSSH_ECLOSED, keepwire_copy(f->t[0], why, sizeof why));
	case KEEP_PONG:
		return 0;
	default:
		c = borrow_find(b, f->chan);
		if (b->state == BORROW_LENT && (!c || borrow_hear_chan(c, f))) /* without c: it was closed meanwhile */
			return 0;
		break;
	}
	return borrow_lost(b, PSSH_EPROTO, "the keeper of its connection does not speak as expected");
}

/* Takes the frames out of what came; a part of one waits in `in` for the rest. */
static int borrow_parse(struct borrow *b, const char *data, size_t len)
{
	struct keepwire_frame f;
	size_t at = 0, used;
	int rc;

	if (b->in.len) {
		if (buf_add(&b->in, data, len) != 0)
			return borrow_lost(b, PSSH_ENOMEM, "out of memory");
		data = b->in.data;
		len = b->in.len;
	}
	while ((rc = keepwire_take(data + at, len - at, KEEP_KEEPER, &f, &used)) > 0) {
		at += used;
		rc = borrow_hear(b, &f);
		if (rc)
			return rc;
	}
	if (rc)
		return borrow_lost(b, rc, "the keeper of its connection does not speak as expected");
	if (b->in.len)
		buf_drop(&b->in, at);
	else if (at < len && buf_add(&b->in, data + at, len - at) != 0)
		return borrow_lost(b, PSSH_ENOMEM, "out of memory");
	return 0;
}

static int borrow_turn(struct link *l, bool *heard)
{
	struct borrow *b = l->lent;

	for (int i = 0; i < BORROW_TURN && b->state != BORROW_LOST; i++) {
		char room[BORROW_ROOM];
		ssize_t n = recv(b->fd, room, sizeof room, MSG_DONTWAIT);
		int rc;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return borrow_lost(b, PSSH_ECLOSED, "the keeper of its connection ended");
		*heard = true;
		rc = borrow_parse(b, room, (size_t)n);
		if (rc)
			return rc;
		if ((size_t)n < sizeof room)
			return 0;
	}
	return b->state == BORROW_LOST ? b->why.code : 0;
}

static int borrow_lend(const struct link *l, const void **hostkey, size_t *len)
{
	const struct borrow *b = l->lent;

	if (b->state == BORROW_LOST)
		return b->why.code;
	*hostkey = buf_text(&b->hostkey);
	*len = b->hostkey.len;
	return b->state == BORROW_LENT ? 0 : PSSH_EAGAIN;
}

static void borrow_alive(struct link *l)
{
	borrow_say(l->lent, &(struct keepwire_frame){ .type = KEEP_PING });
	borrow_flush(l);
}

static int borrow_pump(struct link *l, bool needed)
{
	const struct borrow *b = l->lent;

	(void)needed;
	return b->state == BORROW_LOST ? b->why.code : 0;
}

static const char *borrow_error(const struct link *l)
{
	const struct borrow *b = l->lent;

	return b->why.code ? b->why.text : "no reason given";
}

/* ---- Channels ---- */

static void borrow_ask(struct borrow *b, struct borrow_chan *c, struct keepwire_frame f)
{
	c->asked = true;
	c->answered = false;
	f.chan = c->id;
	borrow_say(b, &f);
}

static int borrow_answer(struct chan *ch, struct fail *f)
{
	struct borrow *b = ch->link->lent;
	struct borrow_chan *c = ch->lent;

	if (!c->answered)
		return b->state == BORROW_LOST ? fail_set(f, PSSH_ECLOSED, "%s", b->why.text) : PSSH_EAGAIN;
	c->asked = c->answered = false;
	return c->code ? fail_set(f, c->code, "%s", c->why) : 0;
}

static void borrow_opening_over(struct link *l)
{
	l->opener = NULL;
	link_news(l);
}

static struct borrow_chan *borrow_chan_new(struct borrow *b)
{
	struct borrow_chan *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->id = b->next++;
	c->may_send = c->may_come = KEEPWIRE_CREDIT;
	buf_init(&c->data[0], KEEPWIRE_CREDIT * 2);
	buf_init(&c->data[1], KEEPWIRE_CREDIT * 2);
	list_append(&b->chans, &c->in_chans);
	return c;
}

/*
 * The keeper's session opens one channel at a time. Who waits has to know that it waits for another channel, not for
 * its own, so the same rule holds here.
 */
static int borrow_open(struct chan *ch, struct keepwire_frame q, struct fail *f)
{
	struct link *l = ch->link;
	struct borrow *b = l->lent;
	int rc;

	if (!ch->lent) {
		if (l->opener)
			return PSSH_EAGAIN;
		if (b->ahead && q.type == KEEP_OPEN && q.n[0] == b->window) {
			ch->lent = b->ahead;
			b->ahead = NULL;
		} else {
			ch->lent = borrow_chan_new(b);
			if (!ch->lent)
				return fail_set(f, PSSH_ENOMEM, "out of memory");
			borrow_ask(b, ch->lent, q);
		}
		l->opener = ch;
		l->opening_since = clock_ms();
	}
	rc = borrow_answer(ch, f);
	if (rc != PSSH_EAGAIN)
		borrow_opening_over(l);
	return rc;
}

static int borrow_open_session(struct chan *ch, unsigned window, struct fail *f)
{
	return borrow_open(ch, (struct keepwire_frame){ .type = KEEP_OPEN, .n = { window } }, f);
}

static int borrow_open_direct(struct chan *ch, const char *host, unsigned port, unsigned window, struct fail *f)
{
	return borrow_open(ch,
		(struct keepwire_frame){ .type = KEEP_DIRECT, .t = { keepwire_text(host) }, .n = { port, window } }, f);
}

static int borrow_env(struct chan *ch, const char *name, const char *value)
{
	const struct borrow_chan *c = ch->lent;

	borrow_say(ch->link->lent,
		&(struct keepwire_frame){ .type = KEEP_ENV,
			.chan = c->id,
			.t = { keepwire_text(name), keepwire_text(value) } });
	return 0;
}

static int borrow_pty(struct chan *ch, const char *term, unsigned columns, unsigned rows, struct fail *f)
{
	const struct borrow_chan *c = ch->lent;

	if (c->asked)
		return borrow_answer(ch, f);
	borrow_ask(ch->link->lent, ch->lent,
		(struct keepwire_frame){ .type = KEEP_PTY, .t = { keepwire_text(term) }, .n = { columns, rows } });
	return PSSH_EAGAIN;
}

static int borrow_resize(struct chan *ch, unsigned columns, unsigned rows)
{
	const struct borrow_chan *c = ch->lent;

	borrow_say(ch->link->lent,
		&(struct keepwire_frame){ .type = KEEP_RESIZE, .chan = c->id, .n = { columns, rows } });
	return 0;
}

static int borrow_start(struct chan *ch, const char *request, const char *text, struct fail *f)
{
	const struct borrow_chan *c = ch->lent;

	if (c->asked)
		return borrow_answer(ch, f);
	borrow_ask(ch->link->lent, ch->lent,
		(struct keepwire_frame){ .type = KEEP_START,
			.n = { text != NULL },
			.t = { keepwire_text(request), { text, text ? strlen(text) : 0 } } });
	return PSSH_EAGAIN;
}

static ssize_t borrow_read(struct chan *ch, int stream, void *data, size_t len)
{
	const struct borrow *b = ch->link->lent;
	struct borrow_chan *c = ch->lent;
	struct buf *from = &c->data[stream];
	size_t n = from->len - c->at[stream];

	if (!n)
		return c->eof ? 0 : b->state == BORROW_LOST ? PSSH_ECLOSED : PSSH_EAGAIN;
	n = n < len ? n : len;
	memcpy(data, from->data + c->at[stream], n);
	c->at[stream] += n;
	c->taken += n;
	if (c->at[stream] == from->len) {
		buf_clear(from);
		c->at[stream] = 0;
	}
	if (c->taken >= KEEPWIRE_CREDIT / 4 && !c->eof) {
		for (int i = 0; i < 2; i++) {
			buf_drop(&c->data[i], c->at[i]);
			c->at[i] = 0;
		}
		borrow_say(ch->link->lent,
			&(struct keepwire_frame){ .type = KEEP_CREDIT, .chan = c->id, .n = { (uint32_t)c->taken } });
		c->may_come += c->taken;
		c->taken = 0;
	}
	return (ssize_t)n;
}

static ssize_t borrow_write(struct chan *ch, const void *data, size_t len)
{
	struct borrow *b = ch->link->lent;
	struct borrow_chan *c = ch->lent;

	if (b->state == BORROW_LOST)
		return PSSH_ECLOSED;
	if (c->closed)
		return PSSH_EPROTO; /* as on a session: its process has ended */
	len = len < c->may_send ? len : c->may_send;
	len = len < KEEPWIRE_DATA ? len : KEEPWIRE_DATA;
	if (!len || b->out.len >= BORROW_BUSY)
		return PSSH_EAGAIN;
	c->may_send -= len;
	borrow_say(b, &(struct keepwire_frame){ .type = KEEP_DATA, .chan = c->id, .t = { { data, len } } });
	return (ssize_t)len;
}

static int borrow_send_eof(struct chan *ch)
{
	const struct borrow_chan *c = ch->lent;

	if (!c->closed)
		borrow_say(ch->link->lent, &(struct keepwire_frame){ .type = KEEP_EOF, .chan = c->id });
	return 0;
}

static bool borrow_waiting(const struct chan *ch)
{
	const struct borrow_chan *c = ch->lent;

	return c->data[0].len || c->data[1].len;
}

static bool borrow_eof(const struct chan *ch)
{
	const struct borrow_chan *c = ch->lent;

	return c->eof && !borrow_waiting(ch);
}

static bool borrow_pending(const struct chan *ch)
{
	const struct borrow_chan *c = ch->lent;

	return c->eof || borrow_waiting(ch);
}

static int borrow_wait_closed(struct chan *ch)
{
	const struct borrow *b = ch->link->lent;
	const struct borrow_chan *c = ch->lent;

	return c->closed ? 0 : b->state == BORROW_LOST ? PSSH_ECLOSED : PSSH_EAGAIN;
}

static int borrow_exit(struct chan *ch, char **signal)
{
	const struct borrow_chan *c = ch->lent;

	if (*c->signal)
		*signal = strdup(c->signal);
	return c->closed && c->known ? c->status : -1;
}

static void borrow_chan_free(struct borrow_chan *c)
{
	if (!c)
		return;
	list_remove(&c->in_chans);
	buf_release(&c->data[0]);
	buf_release(&c->data[1]);
	free(c);
}

static void borrow_drop(struct chan *ch)
{
	if (ch->link->opener == ch)
		borrow_opening_over(ch->link);
	list_remove(&ch->in_closing);
	borrow_chan_free(ch->lent);
	free(ch);
}

/* An opening that was abandoned bars the others until it is answered. */
static void borrow_close(struct chan *ch)
{
	struct borrow *b = ch->link->lent;
	const struct borrow_chan *c = ch->lent;
	bool urgent = b->urgent;

	if (ch->link->opener == ch && !c->answered && b->state != BORROW_LOST) {
		if (list_empty(&ch->in_closing))
			list_append(&ch->link->closing, &ch->in_closing);
		return;
	}
	if (c)
		borrow_say(b, &(struct keepwire_frame){ .type = KEEP_CLOSE, .chan = c->id });
	if (c && c->closed) /* the keeper has closed it, and forgets it when there is more to say */
		b->urgent = urgent;
	borrow_drop(ch);
}

static void borrow_reap(struct link *l)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &l->closing)
		borrow_close(list_entry(pos, struct chan, in_closing));
}

static void borrow_leave(struct link *l)
{
	struct borrow *b = l->lent;

	borrow_lost(b, PSSH_ECLOSED, "the connection is the parent's");
	buf_clear(&b->out);
}

static void borrow_release(struct link *l)
{
	struct borrow *b = l->lent;

	while (!list_empty(&l->closing))
		borrow_drop(list_entry(list_first(&l->closing), struct chan, in_closing));
	borrow_flush(l); /* the keeper lends a connection again only if it hears that its channels are closed */
	borrow_chan_free(b->ahead);
	buf_release(&b->in);
	buf_release(&b->out);
	buf_release(&b->hostkey);
	free(b);
	l->lent = NULL;
}

static const struct link_calls borrow_calls = {
	.open_session = borrow_open_session,
	.open_direct = borrow_open_direct,
	.env = borrow_env,
	.pty = borrow_pty,
	.resize = borrow_resize,
	.start = borrow_start,
	.read = borrow_read,
	.write = borrow_write,
	.send_eof = borrow_send_eof,
	.eof = borrow_eof,
	.waiting = borrow_waiting,
	.pending = borrow_pending,
	.wait_closed = borrow_wait_closed,
	.exit = borrow_exit,
	.close = borrow_close,
	.drop = borrow_drop,
	.reap = borrow_reap,
	.pump = borrow_pump,
	.error = borrow_error,
	.turn = borrow_turn,
	.flush = borrow_flush,
	.wants_write = borrow_wants_write,
	.lend = borrow_lend,
	.alive = borrow_alive,
	.leave = borrow_leave,
	.release = borrow_release,
};

int borrow_init(struct link *l, int fd, unsigned window)
{
	struct borrow *b = calloc(1, sizeof *b);

	if (!b)
		return PSSH_ENOMEM;
	*l = (struct link){ .io = l->io, .wake = l->wake, .calls = &borrow_calls, .lent = b };
	list_init(&l->closing);
	list_init(&l->came);
	b->fd = fd;
	b->next = 1;
	buf_init(&b->in, BORROW_IN);
	buf_init(&b->out, BORROW_OUT);
	buf_init(&b->hostkey, 64 * 1024);
	list_init(&b->chans);
	borrow_say(b, &(struct keepwire_frame){ .type = KEEP_LEND, .n = { KEEPWIRE_VERSION } });
	b->window = window;
	b->ahead = window ? borrow_chan_new(b) : NULL; /* without memory it is opened later */
	if (b->ahead)
		borrow_ask(b, b->ahead, (struct keepwire_frame){ .type = KEEP_OPEN, .n = { window } });
	borrow_flush(l);
	return b->state == BORROW_LOST ? PSSH_ENOMEM : 0;
}
