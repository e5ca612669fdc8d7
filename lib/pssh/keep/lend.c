/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keep/lend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "pssh/keep/keepwire.h"
#include "pssh/pssh_types.h"
#include "base/door.h"

enum {
	LEND_CLIENTS = 16,
	LEND_CHANS = 4096,
	LEND_TURN = 16,
	LEND_WINDOW = 4 << 20,
	LEND_IN = 256 * 1024,
	LEND_OUT = 1 << 20,
	LEND_BUSY = 256 * 1024,
	LEND_TODO = 512 * 1024,
};

struct lend_chan {
	struct list in_chans;
	uint32_t id;
	struct chan *chan;
	struct buf todo;        /* frames that are not done yet */
	struct buf in;          /* bytes for the process */
	size_t may_come, taken; /* what the command may send; what was passed on since it last got credit */
	size_t may_send;
	bool open, runs, process; /* process: it counts among those of the connection */
	bool in_eof, eof_sent, eof_told, exit_told;
};

struct lend_client {
	struct loop_owned tw;
	struct list in_clients;
	int fd;
	struct buf in, out;
	struct list chans;
	unsigned chan_count;
	bool ending; /* it gets what is left in out, no more */
};

struct lend {
	struct loop *loop;
	int kind;
	void *owner;
	struct door door;
	struct list clients;
	unsigned count;
	struct lend_client *borrower;
	char *label, *agreed;
	struct buf hostkey;
	unsigned seconds;
	int64_t since, used; /* clock_boot_ms() */
	bool stopped;        /* to be closed when it is not lent */
	bool doubted;
	uint64_t news; /* the link's when doubt began */
};

int lend_new(struct loop *loop, int kind, const struct lend_want *want, void *owner, struct lend **out)
{
	struct lend *l = calloc(1, sizeof *l);

	if (!l)
		return PSSH_ENOMEM;
	*l = (struct lend){ .loop = loop, .kind = kind, .owner = owner, .seconds = want->seconds };
	door_init(&l->door, loop, kind, owner);
	l->door.fd = want->fd;
	list_init(&l->clients);
	buf_init(&l->hostkey, 64 * 1024);
	l->since = l->used = clock_boot_ms();
	l->label = strdup(want->label);
	l->agreed = strdup(want->agreed);
	if (!l->label || !l->agreed || buf_add(&l->hostkey, want->hostkey, want->hostkey_len) != 0 ||
		door_admit(&l->door, true) != 0) {
		lend_free(l);
		return PSSH_ENOMEM;
	}
	*out = l;
	return 0;
}

/* ---- What the command hears ---- */

static void lend_say(struct lend_client *c, const struct keepwire_frame *f)
{
	c->ending = c->ending || keepwire_add(&c->out, f) != 0;
}

/* 0 or -1: it hears no more. */
static int lend_flush(struct lend_client *c)
{
	while (c->out.len) {
		ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		buf_drop(&c->out, (size_t)n);
	}
	return 0;
}

static void lend_chan_free(struct lend *l, struct lend_client *c, struct lend_chan *ch)
{
	/* A process that nobody waits for would be counted among those of the next command. */
	l->stopped = l->stopped || (ch->process && !ch->exit_told);
	chan_close(ch->chan);
	buf_release(&ch->todo);
	buf_release(&ch->in);
	list_remove(&ch->in_chans);
	free(ch);
	c->chan_count--;
}

static void lend_client_free(struct lend *l, struct lend_client *c)
{
	while (!list_empty(&c->chans))
		lend_chan_free(l, c, list_entry(list_first(&c->chans), struct lend_chan, in_chans));
	if (l->borrower == c) {
		l->borrower = NULL;
		l->used = clock_boot_ms();
	}
	loop_forget(l->loop, &c->tw.watch);
	close(c->fd);
	buf_release(&c->in);
	buf_release(&c->out);
	list_remove(&c->in_clients);
	free(c);
	l->count--;
}

void lend_free(struct lend *l)
{
	static const char why[] = "the server closed the connection";

	if (!l)
		return;
	if (l->borrower) {
		lend_say(l->borrower, &(struct keepwire_frame){ .type = KEEP_GONE, .t = { keepwire_text(why) } });
		lend_flush(l->borrower);
	}
	while (!list_empty(&l->clients))
		lend_client_free(l, list_entry(list_first(&l->clients), struct lend_client, in_clients));
	door_release(&l->door);
	buf_release(&l->hostkey);
	free(l->label);
	free(l->agreed);
	free(l);
}

void lend_stop(struct lend *l)
{
	l->stopped = true;
}

void lend_doubt(struct lend *l, const struct link *link)
{
	l->doubted = true;
	l->news = link->news;
}

int64_t lend_due(const struct lend *l)
{
	return l->borrower ? INT64_MAX : l->used + (int64_t)l->seconds * 1000;
}

/* ---- What it asks ---- */

/* Who connects and says nothing must not keep others out. */
static void lend_make_room(struct lend *l)
{
	struct list *first = list_first(&l->clients);

	if (list_entry(first, struct lend_client, in_clients) == l->borrower)
		first = first->next;
	lend_client_free(l, list_entry(first, struct lend_client, in_clients));
}

static void lend_accept(struct lend *l)
{
	struct ucred who;
	socklen_t len = sizeof who;

	for (;;) {
		int fd = door_accept(&l->door);
		struct lend_client *c = fd < 0 ? NULL : calloc(1, sizeof *c);

		if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 || who.uid != geteuid()) {
			free(c);
			if (fd >= 0)
				close(fd);
			if (fd < 0 || !c)
				return;
			continue;
		}
		c->fd = fd;
		c->tw = (struct loop_owned){ .watch.kind = l->kind, .owner = l->owner, .due = true };
		buf_init(&c->in, LEND_IN);
		buf_init(&c->out, LEND_OUT);
		list_init(&c->chans);
		list_append(&l->clients, &c->in_clients);
		if (++l->count > LEND_CLIENTS)
			lend_make_room(l);
	}
}

static void lend_state(struct lend *l, struct lend_client *c)
{
	int64_t now = clock_boot_ms();

	lend_say(c,
		&(struct keepwire_frame){ .type = KEEP_STATE,
			.t = { keepwire_text(l->label), keepwire_text(l->agreed) },
			.n = { (uint32_t)getpid(), l->borrower != NULL, (uint32_t)((now - l->since) / 1000),
				l->borrower ? 0 : (uint32_t)((now - l->used) / 1000), l->seconds } });
	c->ending = true;
}

static void lend_ask(struct lend *l, struct lend_client *c, const struct link *link)
{
	l->doubted = l->doubted && link->news == l->news;
	if (l->borrower || l->stopped || l->doubted || link_clogged(link) || clock_boot_ms() >= lend_due(l)) {
		lend_say(c, &(struct keepwire_frame){ .type = KEEP_BUSY });
		c->ending = true;
		return;
	}
	l->borrower = c;
	lend_say(c, &(struct keepwire_frame){ .type = KEEP_LENT, .t = { { l->hostkey.data, l->hostkey.len } } });
}

static struct lend_chan *lend_chan_find(struct lend_client *c, uint32_t id)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &c->chans)
		if (list_entry(pos, struct lend_chan, in_chans)->id == id)
			return list_entry(pos, struct lend_chan, in_chans);
	return NULL;
}

static int lend_chan_new(struct lend_client *c, struct link *link, uint32_t id, struct lend_chan **out)
{
	struct lend_chan *ch = lend_chan_find(c, id) ? NULL : calloc(1, sizeof *ch);

	if (!ch)
		return -1;
	ch->chan = chan_new(link);
	if (!ch->chan) {
		free(ch);
		return -1;
	}
	ch->id = id;
	ch->may_come = ch->may_send = KEEPWIRE_CREDIT;
	buf_init(&ch->todo, LEND_TODO);
	buf_init(&ch->in, KEEPWIRE_CREDIT);
	list_append(&c->chans, &ch->in_chans);
	c->chan_count++;
	*out = ch;
	return 0;
}

/* 0 or -1: it may not say this now. */
static int lend_hear_chan(struct lend *l, struct lend_client *c, struct link *link, const struct keepwire_frame *f,
	const void *raw, size_t len)
{
	struct lend_chan *ch = lend_chan_find(c, f->chan);

	if (l->borrower != c)
		return -1;
	if ((f->type == KEEP_OPEN || f->type == KEEP_DIRECT) && c->chan_count >= LEND_CHANS) {
		lend_say(c,
			&(struct keepwire_frame){ .type = KEEP_DONE,
				.chan = f->chan,
				.n = { (uint32_t)-PSSH_EREFUSED },
				.t = { keepwire_text("the keeper has too many channels") } });
		return 0;
	}
	if (f->type == KEEP_OPEN || f->type == KEEP_DIRECT) {
		if (lend_chan_new(c, link, f->chan, &ch) != 0)
			return -1;
		return buf_add(&ch->todo, raw, len) ? -1 : 0;
	}
	if (!ch) /* a channel that was refused is closed, too */
		return f->type == KEEP_CLOSE ? 0 : -1;
	switch (f->type) {
	case KEEP_CLOSE:
		lend_chan_free(l, c, ch);
		return 0;
	case KEEP_DATA:
		if (ch->in_eof || f->t[0].len > ch->may_come || buf_add(&ch->in, f->t[0].at, f->t[0].len) != 0)
			return -1;
		ch->may_come -= f->t[0].len;
		return 0;
	case KEEP_EOF:
		ch->in_eof = true;
		return 0;
	case KEEP_CREDIT:
		ch->may_send += f->n[0];
		return ch->may_send <= KEEPWIRE_CREDIT ? 0 : -1;
	default:
		return buf_add(&ch->todo, raw, len) ? -1 : 0;
	}
}

static int lend_hear(struct lend *l, struct lend_client *c, struct link *link, const struct keepwire_frame *f,
	const void *raw, size_t len)
{
	switch (f->type) {
	case KEEP_LEND:
	case KEEP_ASK:
	case KEEP_STOP:
		if (f->n[0] != KEEPWIRE_VERSION || l->borrower == c)
			return -1;
		if (f->type == KEEP_LEND)
			lend_ask(l, c, link);
		else
			lend_state(l, c);
		l->stopped = l->stopped || f->type == KEEP_STOP;
		return 0;
	case KEEP_PING:
		lend_say(c, &(struct keepwire_frame){ .type = KEEP_PONG });
		return 0;
	default:
		return lend_hear_chan(l, c, link, f, raw, len);
	}
}

/* 0 or -1: the command has gone, or says what it may not. */
static int lend_listen(struct lend *l, struct lend_client *c, struct link *link)
{
	for (int i = 0; i < LEND_TURN; i++) {
		struct keepwire_frame f;
		size_t at = 0, used;
		ssize_t n;
		int rc;

		if (buf_reserve(&c->in, KEEPWIRE_DATA) != 0)
			return -1;
		n = recv(c->fd, c->in.data + c->in.len, KEEPWIRE_DATA, MSG_DONTWAIT);
		c->tw.due = n == KEEPWIRE_DATA;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (n == 0)
			return -1;
		c->in.len += (size_t)n;
		rc = 0;
		while (!c->ending &&
			(rc = keepwire_take(c->in.data + at, c->in.len - at, KEEP_COMMAND, &f, &used)) > 0) {
			if (lend_hear(l, c, link, &f, c->in.data + at, used) != 0)
				return -1;
			at += used;
		}
		if (c->ending)
			return 0;
		if (rc)
			return -1;
		buf_drop(&c->in, at);
		if (n < KEEPWIRE_DATA)
			return 0;
	}
	return 0;
}

/* ---- Channels ---- */

static void lend_done(struct lend_client *c, const struct lend_chan *ch, int rc, const char *why)
{
	lend_say(c,
		&(struct keepwire_frame){ .type = KEEP_DONE,
			.chan = ch->id,
			.n = { (uint32_t)-rc },
			.t = { keepwire_text(why) } });
}

static int lend_open(struct lend_chan *ch, const struct keepwire_frame *q, struct fail *f)
{
	unsigned window = q->n[q->type == KEEP_DIRECT];
	char host[1100];
	int rc;

	window = window < LEND_WINDOW ? window : LEND_WINDOW;
	if (q->type == KEEP_DIRECT)
		rc = chan_open_direct(ch->chan, keepwire_copy(q->t[0], host, sizeof host), q->n[0], window, f);
	else
		rc = chan_open_session(ch->chan, window, f);
	ch->open = rc == 0;
	ch->runs = rc == 0 && q->type == KEEP_DIRECT;
	return rc;
}

static int lend_start(struct lend_chan *ch, const struct keepwire_frame *q, struct fail *f)
{
	char request[16], *text = q->n[0] ? strndup(q->t[1].at, q->t[1].len) : NULL;
	int rc;

	keepwire_copy(q->t[0], request, sizeof request);
	if (q->n[0] && !text)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	rc = chan_start(ch->chan, request, text, f);
	free(text);
	/* Even where the answer is lost, it may run. */
	ch->process = ch->process || (strcmp(request, "subsystem") != 0 && rc != PSSH_EREFUSED);
	ch->runs = rc == 0;
	return rc;
}

/* PSSH_EAGAIN; 0: done; or another code. */
static int lend_do(struct lend_chan *ch, const struct keepwire_frame *q, struct fail *f)
{
	char a[1100], b[KEEPWIRE_DATA];

	switch (q->type) {
	case KEEP_OPEN:
	case KEEP_DIRECT:
		return lend_open(ch, q, f);
	case KEEP_ENV:
		return chan_env(ch->chan, keepwire_copy(q->t[0], a, sizeof a), keepwire_copy(q->t[1], b, sizeof b));
	case KEEP_PTY:
		return chan_pty(ch->chan, keepwire_copy(q->t[0], a, sizeof a), q->n[0], q->n[1], f);
	case KEEP_RESIZE:
		return chan_resize(ch->chan, q->n[0], q->n[1]);
	default:
		return lend_start(ch, q, f);
	}
}

/* 0, or -1: it asks for something that cannot be. */
static int lend_work(struct lend_client *c, struct lend_chan *ch, struct link *link)
{
	struct keepwire_frame q;
	size_t used;

	while (keepwire_take(ch->todo.data, ch->todo.len, KEEP_COMMAND, &q, &used) > 0) {
		struct fail f = { 0 };
		bool opens = q.type == KEEP_OPEN || q.type == KEEP_DIRECT;
		int rc;

		if (opens == ch->open || (q.type == KEEP_START && ch->runs))
			return -1;
		rc = lend_do(ch, &q, &f);
		if (rc == PSSH_EAGAIN)
			return 0;
		if (q.type != KEEP_ENV && q.type != KEEP_RESIZE)
			lend_done(c, ch, rc, f.code ? f.text : rc ? link_error(link) : "");
		buf_drop(&ch->todo, used);
	}
	return 0;
}

/* From the command to the process. 0 or a code: the connection is lost. */
static int lend_inward(struct lend_client *c, struct lend_chan *ch)
{
	while (ch->in.len) {
		ssize_t n = chan_write(ch->chan, ch->in.data, ch->in.len);

		if (n == PSSH_EAGAIN)
			break;
		if (n == PSSH_ECLOSED)
			return (int)n;
		n = n < 0 ? (ssize_t)ch->in.len : n; /* the process closed its input */
		buf_drop(&ch->in, (size_t)n);
		ch->taken += (size_t)n;
	}
	if (ch->taken >= KEEPWIRE_CREDIT / 4 || (ch->taken && !ch->in.len && !ch->in_eof)) {
		lend_say(c,
			&(struct keepwire_frame){ .type = KEEP_CREDIT, .chan = ch->id, .n = { (uint32_t)ch->taken } });
		ch->may_come += ch->taken;
		ch->taken = 0;
	}
	if (ch->in_eof && !ch->in.len && !ch->eof_sent) {
		int rc = chan_send_eof(ch->chan);

		if (rc == PSSH_ECLOSED)
			return rc;
		ch->eof_sent = rc != PSSH_EAGAIN;
	}
	return 0;
}

/* From the process to the command. */
static int lend_outward(struct lend_client *c, struct lend_chan *ch, struct exec_room *room)
{
	int stream = 0, quiet = 0;

	while (ch->may_send && c->out.len < LEND_BUSY && (quiet < 2 || (quiet == 2 && chan_waiting(ch->chan)))) {
		size_t most = ch->may_send < KEEPWIRE_DATA ? ch->may_send : KEEPWIRE_DATA;
		ssize_t n = chan_read(ch->chan, stream, room->data, most);

		if (n < 0 && n != PSSH_EAGAIN)
			return (int)n;
		if (n <= 0) {
			stream = !stream;
			quiet++;
			continue;
		}
		quiet = 0;
		ch->may_send -= (size_t)n;
		lend_say(c,
			&(struct keepwire_frame){ .type = KEEP_DATA,
				.chan = ch->id,
				.n = { (uint32_t)stream },
				.t = { { room->data, (size_t)n } } });
	}
	if (!ch->eof_told && chan_eof(ch->chan)) {
		lend_say(c, &(struct keepwire_frame){ .type = KEEP_EOF, .chan = ch->id });
		ch->eof_told = true;
	}
	return 0;
}

static int lend_ended(struct lend_client *c, struct lend_chan *ch)
{
	char *signal = NULL;
	int rc, status;

	if (!ch->eof_told || ch->exit_told)
		return 0;
	rc = chan_wait_closed(ch->chan);
	if (rc)
		return rc == PSSH_EAGAIN ? 0 : rc;
	status = chan_exit(ch->chan, &signal);
	lend_say(c,
		&(struct keepwire_frame){ .type = KEEP_EXIT,
			.chan = ch->id,
			.n = { status >= 0, status >= 0 ? (uint32_t)status & INT32_MAX : 0 },
			.t = { keepwire_text(signal ? signal : "") } });
	free(signal);
	ch->exit_told = true;
	chan_close(ch->chan);
	ch->chan = NULL;
	return 0;
}

/* 0; 1: the command is in the wrong; or a code: the connection is lost. */
static int lend_chan_step(struct lend_client *c, struct lend_chan *ch, struct link *link, struct exec_room *room)
{
	int rc = 0;

	if (ch->exit_told) { /* the command may not have heard of it when it said this */
		buf_clear(&ch->todo);
		buf_clear(&ch->in);
		return 0;
	}
	if (ch->todo.len && lend_work(c, ch, link) != 0)
		return 1;
	if (ch->runs || (ch->process && !ch->in.len))
		rc = lend_inward(c, ch);
	if (!ch->runs)
		return rc;
	rc = rc ? rc : lend_outward(c, ch, room);
	return rc ? rc : lend_ended(c, ch);
}

/* ---- The whole ---- */

/* 0; 1: the client is over; or a code: the connection is lost. */
static int lend_client_step(struct lend *l, struct lend_client *c, struct link *link, struct exec_room *room)
{
	struct list *pos, *tmp;
	int rc;

	if (!c->ending && c->tw.due && lend_listen(l, c, link) != 0)
		return 1;
	list_each (pos, tmp, &c->chans) {
		rc = lend_chan_step(c, list_entry(pos, struct lend_chan, in_chans), link, room);
		if (rc)
			return rc;
	}
	if (lend_flush(c) != 0 || (c->ending && !c->out.len))
		return 1;
	return loop_watch(l->loop, &c->tw.watch, c->fd, LOOP_READ | (c->out.len ? LOOP_WRITE : 0u)) == 0 ? 0 : 1;
}

int lend_step(struct lend *l, struct link *link, struct exec_room *room, struct fail *f)
{
	struct list *pos, *tmp;

	lend_accept(l);
	list_each (pos, tmp, &l->clients) {
		struct lend_client *c = list_entry(pos, struct lend_client, in_clients);
		int rc = lend_client_step(l, c, link, room);

		if (rc < 0)
			return fail_set(f, rc, "%s", link_reason(link, rc));
		if (rc > 0)
			lend_client_free(l, c);
	}
	if (l->stopped && !l->borrower)
		return fail_set(f, PSSH_ECLOSED, "no longer kept");
	if (door_admit(&l->door, true) != 0)
		return fail_set(f, PSSH_ELOCAL, "cannot wait for commands");
	return PSSH_EAGAIN;
}
