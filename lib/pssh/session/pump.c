/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/pump.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "pssh/pssh_types.h"

enum { ROOM = 65536 };

void pump_init(struct pump *pump, int fd, struct chan *chan)
{
	*pump = (struct pump){ .fd = fd, .chan = chan };
	buf_init(&pump->in, ROOM);
	buf_init(&pump->out, ROOM);
}

void pump_release(struct pump *pump)
{
	buf_release(&pump->in);
	buf_release(&pump->out);
}

/* The host takes no more, but what it sends is still wanted. */
static void pump_refused(struct pump *c)
{
	shutdown(c->fd, SHUT_RD);
	buf_clear(&c->in);
	c->in_ended = c->eof_sent = true;
}

/* Moves bytes to the host. 1: moved some; 0: none; or a code. */
static int pump_inward(struct pump *c, struct exec_room *room)
{
	int moved = 0;
	ssize_t n;

	if (!c->in_ended && !c->in.len) {
		n = read(c->fd, room->data, ROOM / 2);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			c->in_ended = true;
		else if (n > 0 && buf_add(&c->in, room->data, (size_t)n) != 0)
			return PSSH_ENOMEM;
		moved = n >= 0;
	}
	if (c->in.len) {
		n = chan_write(c->chan, c->in.data, c->in.len);
		if (n == PSSH_EAGAIN || n == PSSH_ECLOSED)
			return n == PSSH_EAGAIN ? moved : (int)n;
		if (n < 0)
			pump_refused(c);
		else
			buf_drop(&c->in, (size_t)n);
		moved = 1;
	}
	if (c->in_ended && !c->in.len && !c->eof_sent) {
		n = chan_send_eof(c->chan);
		if (n < 0)
			return n == PSSH_EAGAIN ? moved : (int)n;
		c->eof_sent = true;
	}
	return moved;
}

static int pump_outward(struct pump *c, struct exec_room *room)
{
	int moved = 0;
	ssize_t n;

	if (!c->out.len && !c->out_ended) {
		n = chan_read(c->chan, 0, room->data, ROOM / 2);
		if (n < 0 && n != PSSH_EAGAIN)
			return (int)n;
		if (n > 0 && c->edit)
			c->edit(c, room->data, (size_t)n);
		if (n > 0 && buf_add(&c->out, room->data, (size_t)n) != 0)
			return PSSH_ENOMEM;
		if (n == 0 && chan_eof(c->chan)) {
			c->out_ended = true;
			shutdown(c->fd, SHUT_WR);
		}
		moved = n > 0;
	}
	if (c->out.len) {
		n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? moved : PSSH_ELOCAL;
		buf_drop(&c->out, (size_t)n);
		moved = 1;
	}
	return moved;
}

int pump_step(struct pump *pump, struct exec_room *room)
{
	int in, out;

	do {
		in = pump_inward(pump, room);
		out = in < 0 ? in : pump_outward(pump, room);
		if (out < 0)
			return out;
		if (pump->out_ended && pump->eof_sent)
			return 0;
	} while (in > 0 || out > 0);
	return PSSH_EAGAIN;
}

uint32_t pump_want(const struct pump *pump)
{
	return (pump->in_ended || pump->in.len ? 0u : LOOP_READ) | (pump->out.len ? LOOP_WRITE : 0u);
}
