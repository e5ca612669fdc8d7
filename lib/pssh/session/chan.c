/* SPDX-License-Identifier: Apache-2.0 */
/* libssh2 after 1.11.1 discourages libssh2_poll_channel_read, but nothing else tells its two streams apart. */
#define LIBSSH2_DISABLE_DEPRECATION
#include "pssh/session/chan.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pssh/keys/sshwire.h"
#include "pssh/pssh_types.h"

enum { PACKET = 32768, OUT_MAX = 1 << 20, IDS = 64, CLOGGED_MS = 2000 };

static const struct link_calls session_calls;

static void *mem_alloc(size_t n, void **abstract)
{
	struct link *l = *abstract;

	feed_allocates(&l->feed, n);
	return malloc(n);
}

static void *mem_realloc(void *p, size_t n, void **abstract)
{
	(void)abstract;
	return realloc(p, n);
}

static uint32_t chan_recipient(const unsigned char *packet)
{
	return (uint32_t)packet[1] << 24 | (uint32_t)packet[2] << 16 | (uint32_t)packet[3] << 8 | packet[4];
}

/*
 * libssh2 reports exit status 0 even if the server sent none (its process was killed, for example),
 * which would pass for success. It also hides a channel's number. Both stand in packets that libssh2
 * frees through this function, so it looks at them here.
 */
static void mem_free(void *p, void **abstract)
{
	static const char status[] = "\0\0\0\013exit-status", signal[] = "\0\0\0\013exit-signal";
	enum { CONFIRMATION = 91, REQUEST = 98, HEAD = 5, NAME = sizeof status - 1, CONFIRMED = 17 };
	const unsigned char *packet = p;
	struct link *l = *abstract;
	size_t size = p ? malloc_usable_size(p) : 0;

	if (size >= CONFIRMED && packet[0] == CONFIRMATION && l->opener)
		l->confirmed = chan_recipient(packet);
	if (size >= HEAD + NAME && packet[0] == REQUEST && chan_recipient(packet) < IDS &&
	    (memcmp(packet + HEAD, status, NAME) == 0 || memcmp(packet + HEAD, signal, NAME) == 0))
		l->ended |= (uint64_t)1 << chan_recipient(packet);
	free(p);
}

int link_init(struct link *l)
{
	*l = (struct link){ .io = l->io, .wake = l->wake, .calls = &session_calls };
	feed_init(&l->feed);
	list_init(&l->closing);
	list_init(&l->came);
	buf_init(&l->out, OUT_MAX);
	l->session = libssh2_session_init_ex(mem_alloc, mem_free, mem_realloc, l);
	return l->session ? 0 : PSSH_ENOMEM;
}

bool link_wants_write(const struct link *l)
{
	return l->lent ? l->calls->wants_write(l) : l->out.len != 0;
}

void link_news(struct link *l)
{
	l->news++;
	if (!l->looking && l->wake)
		l->wake(l->io);
}

static const char *session_error(const struct link *l)
{
	char *text = NULL;

	if (l->feed.damaged)
		return "damaged data came from the server";
	switch (libssh2_session_last_errno(l->session)) {
	case LIBSSH2_ERROR_SOCKET_SEND:
	case LIBSSH2_ERROR_SOCKET_RECV:
	case LIBSSH2_ERROR_SOCKET_DISCONNECT:
		return "the server closed the connection"; /* libssh2 would only name the packet that it missed */
	default:
		break;
	}
	libssh2_session_last_error(l->session, &text, NULL, 0);
	return text && *text ? text : "no reason given";
}

const char *link_reason(const struct link *l, int code)
{
	if (l->lent)
		return link_error(l);
	if (code == PSSH_EPROTO || l->feed.damaged)
		return "damaged data came from the server";
	switch (code) {
	case PSSH_ECLOSED:
		return "the server closed the connection";
	default:
		return link_error(l);
	}
}

int link_code(int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case LIBSSH2_ERROR_EAGAIN:
		return PSSH_EAGAIN;
	case LIBSSH2_ERROR_ALLOC:
		return PSSH_ENOMEM;
	case LIBSSH2_ERROR_SOCKET_SEND:
	case LIBSSH2_ERROR_SOCKET_RECV:
	case LIBSSH2_ERROR_SOCKET_DISCONNECT:
	case LIBSSH2_ERROR_SOCKET_NONE:
		return PSSH_ECLOSED;
	case LIBSSH2_ERROR_CHANNEL_FAILURE:
	case LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED:
		return PSSH_EREFUSED;
	case LIBSSH2_ERROR_METHOD_NONE:
	case LIBSSH2_ERROR_KEX_FAILURE:
		return PSSH_EALGORITHM;
	default:
		return PSSH_EPROTO;
	}
}

bool link_clogged(const struct link *l)
{
	return l->opener && (!list_empty(&l->opener->in_closing) || clock_ms() - l->opening_since > CLOGGED_MS);
}

static void chan_opening(struct chan *ch)
{
	if (ch->link->opener != ch)
		ch->link->opening_since = clock_ms();
	ch->link->opener = ch;
}

static void chan_opening_over(struct link *l)
{
	l->opener = NULL;
	link_news(l);
}

/* The only place that translates libssh2's codes, EAGAIN among them. */
static int chan_settle(int rc)
{
	return rc < 0 ? link_code(rc) : rc;
}

struct chan *chan_new(struct link *l)
{
	struct chan *ch = calloc(1, sizeof *ch);

	if (!ch)
		return NULL;
	ch->link = l;
	list_init(&ch->in_closing);
	return ch;
}

static void session_drop(struct chan *ch)
{
	struct link *l = ch->link;

	if (l->opener == ch)
		chan_opening_over(l);
	list_remove(&ch->in_closing);
	free(ch);
}

/* Finishes an opening that its owner abandoned; until then no other channel can open. */
static int finish_open(struct chan *ch)
{
	if (ch->link->opener != ch)
		return 0;
	/* libssh2 continues the call whose arguments it kept, so the arguments here do not matter. */
	ch->raw = libssh2_channel_open_ex(ch->link->session, "session", 7, ch->window, PACKET, NULL, 0);
	if (!ch->raw && libssh2_session_last_errno(ch->link->session) == LIBSSH2_ERROR_EAGAIN)
		return PSSH_EAGAIN;
	chan_opening_over(ch->link);
	return 0;
}

static bool closed_now(struct chan *ch)
{
	int rc;

	if (finish_open(ch) == PSSH_EAGAIN)
		return false;
	if (ch->raw) {
		rc = ch->link->spare ? libssh2_channel_free(ch->raw) : libssh2_channel_close(ch->raw);
		if (chan_settle(rc) == PSSH_EAGAIN)
			return false;
		if (!ch->link->spare)
			ch->link->spare = ch->raw;
	}
	chan_drop(ch);
	return true;
}

/* Opens a channel only to close it and keep it as the spare. The server may refuse; then there is none. */
static int make_spare(struct link *l)
{
	struct chan *ch = chan_new(l);
	int rc;

	if (!ch)
		return PSSH_ENOMEM;
	ch->window = CHAN_WINDOW;
	chan_opening(ch);
	chan_close(ch);
	rc = l->spare || !list_empty(&l->closing) ? 0 : link_code(libssh2_session_last_errno(l->session));
	return rc == PSSH_EREFUSED ? 0 : rc;
}

static int session_pump(struct link *l, bool needed)
{
	char byte;
	ssize_t n;

	if (!l->spare && (!needed || l->opener || !list_empty(&l->closing)))
		return 0;
	if (!l->spare)
		return make_spare(l);
	n = libssh2_channel_read_ex(l->spare, 0, &byte, 1);
	return n >= 0 || n == LIBSSH2_ERROR_EAGAIN ? 0 : link_code((int)n);
}

static void session_close(struct chan *ch)
{
	assert(list_empty(&ch->in_closing));
	if (!closed_now(ch))
		list_append(&ch->link->closing, &ch->in_closing);
}

static void session_reap(struct link *l)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &l->closing)
		closed_now(list_entry(pos, struct chan, in_closing));
}

void link_release(struct link *l)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &l->closing)
		chan_drop(list_entry(pos, struct chan, in_closing));
	list_each (pos, tmp, &l->came)
		chan_drop(list_entry(pos, struct chan, in_closing));
	free(l->listen_host);
	l->listen_host = NULL;
}

static int open_failed(struct chan *ch, struct fail *f, const char *what)
{
	int rc = chan_settle(libssh2_session_last_errno(ch->link->session));

	if (rc == PSSH_EAGAIN)
		return rc;
	chan_opening_over(ch->link);
	return fail_set(f, rc, "%s: %s", what, link_error(ch->link));
}

static int session_open_session(struct chan *ch, unsigned window, struct fail *f)
{
	if (ch->link->opener && ch->link->opener != ch)
		return PSSH_EAGAIN;
	chan_opening(ch);
	ch->window = window;
	ch->raw = libssh2_channel_open_ex(ch->link->session, "session", 7, window, PACKET, NULL, 0);
	if (!ch->raw)
		return open_failed(ch, f, "the server opened no session channel");
	chan_opening_over(ch->link);
	ch->id = ch->link->confirmed;
	if (ch->id < IDS) /* the server reuses numbers */
		ch->link->ended &= ~((uint64_t)1 << ch->id);
	return 0;
}

/* libssh2's own call knows one window only. */
static int session_open_direct(struct chan *ch, const char *host, unsigned port, unsigned window, struct fail *f)
{
	static const char type[] = "direct-tcpip";
	struct buf message;
	int rc;

	if (ch->link->opener && ch->link->opener != ch)
		return PSSH_EAGAIN;
	buf_init(&message, 8192);
	rc = sshwire_add_text(&message, host);
	rc = rc ? rc : sshwire_add_u32(&message, port);
	rc = rc ? rc : sshwire_add_text(&message, "127.0.0.1"); /* who asks, and from which port */
	rc = rc ? rc : sshwire_add_u32(&message, 0);
	if (rc) {
		buf_release(&message);
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	}
	chan_opening(ch);
	ch->window = window;
	ch->raw = libssh2_channel_open_ex(ch->link->session, type, sizeof type - 1, window, PACKET, message.data,
		(unsigned)message.len);
	buf_release(&message);
	if (!ch->raw)
		return open_failed(ch, f, "the jump host opened no channel to it");
	chan_opening_over(ch->link);
	return 0;
}

/* A keeper has no words for some requests. */
static int chan_needs_session(struct fail *f)
{
	return fail_set(f, PSSH_EINVAL, "this needs a connection of its own, and this one is lent by a keeper");
}

int chan_open_unix(struct chan *ch, const char *path, struct fail *f)
{
	static const char type[] = "direct-streamlocal@openssh.com";
	struct buf message;
	int rc;

	if (ch->link->lent)
		return chan_needs_session(f);
	if (ch->link->opener && ch->link->opener != ch)
		return PSSH_EAGAIN;
	buf_init(&message, 8192);
	rc = sshwire_add_text(&message, path) || buf_add(&message, "\0\0\0\0\0\0\0\0", 8);
	if (rc) {
		buf_release(&message);
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	}
	chan_opening(ch);
	ch->window = CHAN_WINDOW;
	ch->raw = libssh2_channel_open_ex(ch->link->session, type, sizeof type - 1, CHAN_WINDOW, PACKET, message.data,
		(unsigned)message.len);
	buf_release(&message);
	if (!ch->raw)
		return open_failed(ch, f, "the server opened no channel to the socket");
	chan_opening_over(ch->link);
	return 0;
}

/* libssh2 wants the same call until the server answers. */
static LIBSSH2_LISTENER *listen_again(struct link *l, int *number)
{
	enum { QUEUE = 64 };
	LIBSSH2_LISTENER *out = libssh2_channel_forward_listen_ex(l->session, l->listen_host, (int)l->listen_port,
		number, QUEUE);

	if (out || libssh2_session_last_errno(l->session) != LIBSSH2_ERROR_EAGAIN) {
		l->listens = NULL;
		free(l->listen_host);
		l->listen_host = NULL;
	}
	return out;
}

void chan_listen_leave(struct link *l, const void *who)
{
	if (l->listens == who)
		l->listens = l;
}

int chan_listen(struct link *l, const void *who, const char *host, unsigned port, LIBSSH2_LISTENER **out,
	unsigned *bound, struct fail *f)
{
	int number = 0, rc;

	if (l->lent)
		return chan_needs_session(f);
	if (l->listens == l)
		chan_unlisten(listen_again(l, &number));
	if (l->listens && l->listens != who)
		return PSSH_EAGAIN;
	if (!l->listens && !(l->listen_host = strdup(host)))
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	l->listens = who;
	l->listen_port = port;
	number = 0;
	*out = listen_again(l, &number);
	rc = *out ? 0 : chan_settle(libssh2_session_last_errno(l->session));
	rc = *out || rc ? rc : PSSH_EPROTO;
	if (rc == PSSH_EAGAIN)
		return rc;
	link_news(l);
	*bound = port ? port : (unsigned)number;
	if (rc == PSSH_ECLOSED)
		return fail_set(f, rc, "%s", link_error(l));
	return rc ? fail_set(f, PSSH_EREFUSED,
			    "the host does not listen on '%s' port %u: the port is taken there, or AllowTcpForwarding, "
			    "PermitListen or GatewayPorts in its sshd_config forbid it",
			    host, port)
		  : 0;
}

struct chan *chan_accept(struct link *l, LIBSSH2_LISTENER *listener)
{
	LIBSSH2_CHANNEL *raw = libssh2_channel_forward_accept(listener);
	struct chan *ch = raw ? chan_new(l) : NULL;

	if (ch)
		ch->raw = raw;
	else if (raw)
		libssh2_channel_free(raw);
	return ch;
}

void chan_unlisten(LIBSSH2_LISTENER *listener)
{
	if (listener)
		libssh2_channel_forward_cancel(listener); /* what cannot be sent now goes with the session */
}

#ifdef LIBSSH2_CALLBACK_AUTHAGENT
/* libssh2 is in the middle of a packet here, so the channel waits. If memory is short, it stays the session's. */
static void chan_take(LIBSSH2_SESSION *session, LIBSSH2_CHANNEL *raw, void **abstract)
{
	struct link *l = *abstract;
	struct chan *ch = chan_new(l);

	(void)session;
	if (!ch)
		return;
	ch->raw = raw;
	ch->came = true;
	list_append(&l->came, &ch->in_closing);
	link_news(l);
}

bool chan_can_forward(void)
{
	return true;
}

int chan_forward(struct chan *ch, struct fail *f)
{
	struct link *l = ch->link;
	int rc;

	if (l->lent)
		return chan_needs_session(f);
	/*
	 * Without the callback libssh2 refuses such channels, but 1.11.1 does it by a packet that is a byte too
	 * long, for which OpenSSH ends the connection. So it stays, for programs that outlive their command.
	 */
	libssh2_session_callback_set2(l->session, LIBSSH2_CALLBACK_AUTHAGENT, (void (*)(void))chan_take);
	rc = chan_settle(libssh2_channel_request_auth_agent(ch->raw));
	l->agent_granted = l->agent_granted || rc == 0;
	/* OpenSSH grants it once, and to all commands of the connection. */
	return rc == PSSH_EREFUSED && l->agent_granted ? 0 : rc;
}
#else
bool chan_can_forward(void)
{
	return false;
}

int chan_forward(struct chan *ch, struct fail *f)
{
	(void)ch;
	return fail_set(f, PSSH_EUNSUPPORTED, "libpssh does not forward agents");
}
#endif

size_t chan_unread(const struct chan *ch)
{
	unsigned long unread = 0;

	if (ch->raw)
		libssh2_channel_window_read_ex(ch->raw, &unread, NULL);
	return unread;
}

static int session_env(struct chan *ch, const char *name, const char *value)
{
	return chan_settle(
		libssh2_channel_setenv_ex(ch->raw, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

static int session_pty(struct chan *ch, const char *term, unsigned columns, unsigned rows, struct fail *f)
{
	int rc;

	rc = chan_settle(libssh2_channel_request_pty_ex(ch->raw, term, (unsigned)strlen(term), NULL, 0, (int)columns,
		(int)rows, 0, 0));
	if (rc && rc != PSSH_EAGAIN)
		return fail_set(f, rc, "the server refused a terminal: %s", link_error(ch->link));
	return rc;
}

static int session_resize(struct chan *ch, unsigned columns, unsigned rows)
{
	return chan_settle(libssh2_channel_request_pty_size_ex(ch->raw, (int)columns, (int)rows, 0, 0));
}

static int session_start(struct chan *ch, const char *request, const char *text, struct fail *f)
{
	int rc;

	rc = chan_settle(libssh2_channel_process_startup(ch->raw, request, (unsigned)strlen(request),
		text, text ? (unsigned)strlen(text) : 0));
	if (rc && rc != PSSH_EAGAIN)
		return fail_set(f, rc, "the server refused the %s request: %s", request, link_error(ch->link));
	return rc;
}

static ssize_t session_read(struct chan *ch, int stream, void *data, size_t len)
{
	return chan_settle((int)libssh2_channel_read_ex(ch->raw, stream, data, len));
}

static ssize_t session_write(struct chan *ch, const void *data, size_t len)
{
	ssize_t n;

	if (ch->link->out.len)
		return PSSH_EAGAIN;
	n = chan_settle((int)libssh2_channel_write_ex(ch->raw, 0, data, len));
	return n == 0 && len ? PSSH_EAGAIN : n;
}

static int session_send_eof(struct chan *ch)
{
	return chan_settle(libssh2_channel_send_eof(ch->raw));
}

static bool session_eof(const struct chan *ch)
{
	return libssh2_channel_eof(ch->raw) == 1;
}

static bool session_waiting(const struct chan *ch)
{
	return libssh2_poll_channel_read(ch->raw, 1) != 0;
}

static bool session_pending(const struct chan *ch)
{
	return libssh2_poll_channel_read(ch->raw, 0) || libssh2_channel_eof(ch->raw) == 1;
}

static int session_wait_closed(struct chan *ch)
{
	return chan_settle(libssh2_channel_wait_closed(ch->raw));
}

static int session_exit(struct chan *ch, char **signal)
{
	char *name = NULL;

	if (libssh2_channel_get_exit_signal(ch->raw, &name, NULL, NULL, NULL, NULL, NULL) == 0 && name) {
		*signal = strdup(name);
		libssh2_free(ch->link->session, name);
	}
	if (ch->id < IDS && !(ch->link->ended & (uint64_t)1 << ch->id))
		return -1;
	return libssh2_channel_get_exit_status(ch->raw);
}

static const struct link_calls session_calls = {
	.open_session = session_open_session,
	.open_direct = session_open_direct,
	.env = session_env,
	.pty = session_pty,
	.resize = session_resize,
	.start = session_start,
	.read = session_read,
	.write = session_write,
	.send_eof = session_send_eof,
	.eof = session_eof,
	.waiting = session_waiting,
	.pending = session_pending,
	.wait_closed = session_wait_closed,
	.exit = session_exit,
	.close = session_close,
	.drop = session_drop,
	.reap = session_reap,
	.pump = session_pump,
	.error = session_error,
};
