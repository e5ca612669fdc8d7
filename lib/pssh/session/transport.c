/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/transport.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

/*
 * libssh2 asks for the few bytes of a packet's beginning, then for its rest, and at last whether there is another
 * packet. One call to the kernel answers all that.
 */
static ssize_t transport_take(struct conn *c, int fd, void *data, size_t len, int flags)
{
	char room[TRANSPORT_AHEAD];
	bool direct = len >= sizeof room;
	size_t want = direct ? len : sizeof room;
	ssize_t n;

	if (c->ahead.len) {
		len = len < c->ahead.len ? len : c->ahead.len;
		memcpy(data, c->ahead.data, len);
		buf_drop(&c->ahead, len);
		if (!c->ahead.len)
			buf_release(&c->ahead);
		return (ssize_t)len;
	}
	if (c->dry)
		return -EAGAIN;
	n = recv(fd, direct ? data : room, want, flags);
	if (n < 0)
		n = errno == EINTR ? -EAGAIN : -errno;
	c->dry = n == -EAGAIN || (n > 0 && (size_t)n < want);
	if (direct || n <= 0)
		return n;
	if ((size_t)n > len && buf_add(&c->ahead, room + len, (size_t)n - len) != 0)
		return -ENOMEM;
	len = len < (size_t)n ? len : (size_t)n;
	memcpy(data, room, len);
	return (ssize_t)len;
}

static ssize_t transport_recv(libssh2_socket_t fd, void *data, size_t len, int flags, void **abstract)
{
	struct link *l = *abstract;
	struct conn *c = l->io;
	ssize_t n;

	if (c->dead || (c->state == CONN_HELLO && c->chatter >= TRANSPORT_CHATTER))
		return -ECONNRESET;
	if (!c->room)
		return -EAGAIN;
	len = feed_room(&l->feed, l->session, len);
	if (!len)
		return -ECONNRESET;
	len = len > c->room ? c->room : len;
	if (c->via_chan) {
		n = chan_read(c->via_chan, 0, data, len);
		if (n == 0 && !chan_eof(c->via_chan))
			n = PSSH_EAGAIN;
		n = n == PSSH_EAGAIN ? -EAGAIN : n < 0 ? -ECONNRESET : n;
	} else {
		n = transport_take(c, fd, data, len, flags);
	}
	if (n > 0) {
		feed_gave(&l->feed, data, (size_t)n);
		c->heard = clock_ms();
		c->reads++;
		c->facts.now.bytes_in += (uint64_t)n;
		link_news(l);
		c->room -= (size_t)n;
		if (c->state == CONN_HELLO) {
			size_t room = KEXINIT_MAX - c->hello.len;

			c->chatter += (size_t)n;
			buf_add(&c->hello, data, room < (size_t)n ? room : (size_t)n);
		}
	}
	if (n == 0) {
		/* libssh2 drops what it has read once it hears of the end, so report the end only after that. */
		c->ended = true;
		return c->flushed || c->state < CONN_READY ? 0 : -EAGAIN;
	}
	c->ended = c->ended || (n < 0 && n != -EAGAIN);
	return n;
}

void transport_due(struct conn *c)
{
	c->dry = false;
	c->unread = c->due_reads == c->reads;
	c->due_reads = c->reads;
}

/* How many bytes were sent, or -errno. */
static ssize_t send_now(struct conn *c, const void *data, size_t len)
{
	ssize_t n;

	if (c->dead)
		return -EPIPE;
	if (c->via_chan) {
		n = chan_write(c->via_chan, data, len);
		n = n == PSSH_EAGAIN ? -EAGAIN : n < 0 ? -EPIPE : n;
	} else {
		n = send(c->fd, data, len, MSG_NOSIGNAL);
		if (n < 0)
			n = errno == EINTR ? -EAGAIN : -errno;
	}
	if (n > 0)
		c->facts.now.bytes_out += (uint64_t)n;
	c->ended = c->ended || (n < 0 && n != -EAGAIN);
	return n;
}

int transport_flush(struct conn *c)
{
	struct buf *out = &c->link.out;
	bool waited = out->len != 0;

	while (out->len) {
		ssize_t n = send_now(c, out->data, out->len);

		if (n < 0)
			return (int)n;
		buf_drop(out, (size_t)n);
	}
	/* Who goes through it may have waited for that. No watch tells if it was sent while they read here. */
	if (waited && !list_empty(&c->riders))
		link_news(&c->link);
	return 0;
}

/*
 * libssh2 does not tell when the keys are exchanged and only the answer to its request for a service is missing. The
 * packet after the one that changes our keys, the last plain one, is that request.
 */
static void transport_note(struct conn *c, const unsigned char *packet, size_t len)
{
	enum { TYPE = 5, NEWKEYS = 21 };

	if (c->sent == SENT_NEWKEYS)
		c->sent = SENT_SERVICE;
	else if (c->sent == SENT_PLAIN && len > TYPE && packet[0] == 0 && packet[TYPE] == NEWKEYS)
		c->sent = SENT_NEWKEYS;
}

static ssize_t transport_send(libssh2_socket_t fd, const void *data, size_t len, int flags, void **abstract)
{
	struct link *l = *abstract;
	struct conn *c = l->io;
	ssize_t n;

	(void)fd, (void)flags;
	transport_note(c, data, len);
	n = transport_flush(c);
	if (n == 0)
		n = send_now(c, data, len);
	if (n < 0 && n != -EAGAIN)
		return n;
	n = n < 0 ? 0 : n;
	if (buf_add(&c->link.out, (const char *)data + n, len - (size_t)n) != 0)
		return -EPIPE;
	/* libssh2 lets a channel take 32,700 bytes at once. No watch tells that it has room for the rest. */
	if (n && c->via_chan) {
		int rc = transport_flush(c);

		if (rc && rc != -EAGAIN)
			return rc;
	}
	return (ssize_t)len;
}

typedef void (*plain_fn)(void);

static void transport_call_back(struct conn *c, int what, plain_fn function)
{
#ifdef HAVE_LIBSSH2_SESSION_CALLBACK_SET2
	libssh2_session_callback_set2(c->link.session, what, function);
#else
	libssh2_session_callback_set(c->link.session, what, (void *)function);
#endif
}

void transport_attach(struct conn *c)
{
	transport_call_back(c, LIBSSH2_CALLBACK_RECV, (plain_fn)transport_recv);
	transport_call_back(c, LIBSSH2_CALLBACK_SEND, (plain_fn)transport_send);
}
