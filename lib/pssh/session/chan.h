/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel on a session, and two rules that the channels of one session must keep. First, libssh2
 * keeps the state of an opening in the session, so only one channel opens at a time. Second, after a
 * send that would block, libssh2 insists on the very same call again, which an abandoned channel
 * cannot make; so the link takes every packet whole, and a writer waits until the socket has taken
 * it. This file also translates libssh2's EAGAIN: every call returns 0 (or a count), PSSH_EAGAIN or
 * a code.
 */
#ifndef PSSH_SESSION_CHAN_H
#define PSSH_SESSION_CHAN_H

#include <libssh2.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/list.h"
#include "pssh/session/feed.h"

struct chan {
	struct link *link;
	LIBSSH2_CHANNEL *raw; /* NULL until open, and on a link that a keeper lends */
	void *lent;           /* what such a link has instead */
	unsigned window;
	uint32_t id;
	bool came;              /* the server opened it, to the agent */
	struct list in_closing; /* or among those that came */
};

/* What a link does: that of a session (chan.c), or of a keeper that lends one (pssh/keep). chan_… below say what. */
struct link_calls {
	int (*open_session)(struct chan *ch, unsigned window, struct fail *f);
	int (*open_direct)(struct chan *ch, const char *host, unsigned port, unsigned window, struct fail *f);
	int (*env)(struct chan *ch, const char *name, const char *value);
	int (*pty)(struct chan *ch, const char *term, unsigned columns, unsigned rows, struct fail *f);
	int (*resize)(struct chan *ch, unsigned columns, unsigned rows);
	int (*start)(struct chan *ch, const char *request, const char *text, struct fail *f);
	ssize_t (*read)(struct chan *ch, int stream, void *data, size_t len);
	ssize_t (*write)(struct chan *ch, const void *data, size_t len);
	int (*send_eof)(struct chan *ch);
	bool (*eof)(const struct chan *ch);
	bool (*waiting)(const struct chan *ch);
	bool (*pending)(const struct chan *ch);
	int (*wait_closed)(struct chan *ch);
	int (*exit)(struct chan *ch, char **signal);
	void (*close)(struct chan *ch);
	void (*drop)(struct chan *ch);
	void (*reap)(struct link *l);
	int (*pump)(struct link *l, bool needed);
	const char *(*error)(const struct link *l);
	/* For a link that a keeper lends; NULL for a session, whose transport the conn moves. */
	int (*turn)(struct link *l, bool *heard); /* reads what came: 0, or a code: the link is lost */
	void (*flush)(struct link *l);            /* sends what was asked meanwhile */
	bool (*wants_write)(const struct link *l);
	/* 0: it is lent; PSSH_EAGAIN; or a code. */
	int (*lend)(const struct link *l, const void **hostkey, size_t *len);
	void (*alive)(struct link *l); /* asks for a sign of life, which turn() hears */
	void (*leave)(struct link *l); /* in a forked child: from here on nothing is sent */
	void (*release)(struct link *l);
};

struct link {
	const struct link_calls *calls;
	void *lent; /* the keeper's socket and its channels; NULL: this is a session */
	LIBSSH2_SESSION *session;
	int64_t opening_since;  /* when opener began; clock_ms() */
	const struct chan *opener;
	const void *listens; /* who asks the server to listen; the link itself: one that is gone */
	char *listen_host;   /* what was asked, as libssh2 wants it again */
	unsigned listen_port;
	struct buf out;         /* taken from libssh2 and not sent yet */
	struct list closing;    /* channels without an owner that the server still has to close */
	struct list came;       /* channels to the agent, which the server has opened */
	bool agent_granted;     /* the server may open some */
	LIBSSH2_CHANNEL *spare; /* a closed channel, kept because libssh2 reads only through one */
	uint64_t ended;         /* a bit for each channel id: its exit status or signal came */
	struct feed feed;
	uint32_t confirmed;     /* the id of the channel that was opened last */
	uint64_t news;          /* how often something happened that any channel may wait for */
	bool looking;           /* the owner steps all channels, and again until there is no more news */
	void (*wake)(void *io); /* has the owner step all channels; called at news while it does not look */
	/* The link is the session's abstract, so libssh2's callbacks find both here. */
	void *io, *asker;       /* the conn whose transport this is; the auth that answers its questions */
};

int link_init(struct link *l); /* makes the session; io and wake stay. 0 or PSSH_ENOMEM */
bool link_wants_write(const struct link *l);
/* True when one channel has been opening for so long that others should use another connection. */
bool link_clogged(const struct link *l);
/*
 * Call when bytes came in, which may be for any channel whoever read them, and when another channel can open.
 * Without it a channel would sleep on bytes that are no longer in the socket.
 */
void link_news(struct link *l);
void link_release(struct link *l);  /* after it the session may be freed */

/*
 * Reads while no channel does, so that libssh2 answers keep-alives and notices the end. needed:
 * something arrived and no channel took it. 0 or a code.
 */
static inline int link_pump(struct link *l, bool needed)
{
	return l->calls->pump(l, needed);
}

/* Continues closing channels; call at every step of the session. */
static inline void link_reap(struct link *l)
{
	l->calls->reap(l);
}

/* The sentence for the link's last error. */
static inline const char *link_error(const struct link *l)
{
	return l->calls->error(l);
}
/* Why a channel failed with this code. What libssh2 last noted may be old: reading notes no errors. */
const char *link_reason(const struct link *l, int code);
/* The PSSH code for a libssh2 code. */
int link_code(int libssh2_code);

struct chan *chan_new(struct link *l); /* NULL: out of memory */

/* Never blocks; takes ch over; ch may be NULL. */
static inline void chan_close(struct chan *ch)
{
	if (ch)
		ch->link->calls->close(ch);
}

/* The same when its link ends too: sends nothing. */
static inline void chan_drop(struct chan *ch)
{
	if (ch)
		ch->link->calls->drop(ch);
}

/*
 * The window is how much a server may send ahead of our reading. It limits both what libssh2 holds
 * for a host that nobody listens to and the throughput of one round trip: 8 MiB are 700 Mb/s over 90 ms.
 */
enum { CHAN_WINDOW = 512 * 1024, CHAN_WINDOW_DIRECT = 2 * 1024 * 1024, CHAN_WINDOW_FILES = 8 * 1024 * 1024 };

static inline int chan_open_session(struct chan *ch, unsigned window, struct fail *f)
{
	return ch->link->calls->open_session(ch, window, f);
}

static inline int chan_open_direct(struct chan *ch, const char *host, unsigned port, unsigned window, struct fail *f)
{
	return ch->link->calls->open_direct(ch, host, port, window, f);
}

/* These two need a session: on a lent link they fail. A unix socket of the host, by OpenSSH's extension. */
int chan_open_unix(struct chan *ch, const char *path, struct fail *f);
/*
 * Has the server listen: 0 with *out and the port, PSSH_EAGAIN, or a code. Only one asks at a time on
 * a session; who has begun asks again until it has the answer.
 */
int chan_listen(struct link *l, const void *who, const char *host, unsigned port, LIBSSH2_LISTENER **out,
	unsigned *bound, struct fail *f);
void chan_listen_leave(struct link *l, const void *who);              /* who is gone; the answer may still come */
struct chan *chan_accept(struct link *l, LIBSSH2_LISTENER *listener); /* NULL: nobody came */
void chan_unlisten(LIBSSH2_LISTENER *listener);                       /* may be NULL */

/* False: this libssh2 cannot forward an agent. */
bool chan_can_forward(void);
/* Before the command on ch: asks that it may use the agent. PSSH_EREFUSED: the server forwards none. Of a session. */
int chan_forward(struct chan *ch, struct fail *f);
size_t chan_unread(const struct chan *ch); /* bytes that came and nobody has read; of a session */

/* The next channel that the server has opened to the agent; NULL: none. Its stderr, which no agent has, is not kept. */
static inline struct chan *chan_came(struct link *l)
{
	struct list *first = list_first(&l->came);
	struct chan *ch = first ? list_entry(first, struct chan, in_closing) : NULL;

	if (!ch)
		return NULL;
	list_remove(first);
	if (ch->raw)
		libssh2_channel_handle_extended_data2(ch->raw, LIBSSH2_CHANNEL_EXTENDED_DATA_IGNORE);
	return ch;
}

static inline int chan_env(struct chan *ch, const char *name, const char *value)
{
	return ch->link->calls->env(ch, name, value);
}

static inline int chan_pty(struct chan *ch, const char *term, unsigned columns, unsigned rows, struct fail *f)
{
	return ch->link->calls->pty(ch, term, columns, rows, f);
}

static inline int chan_resize(struct chan *ch, unsigned columns, unsigned rows)
{
	return ch->link->calls->resize(ch, columns, rows);
}

/* request: "exec", "shell" (text NULL) or "subsystem" */
static inline int chan_start(struct chan *ch, const char *request, const char *text, struct fail *f)
{
	return ch->link->calls->start(ch, request, text, f);
}

/* Bytes read; 0 at the end of that stream; PSSH_EAGAIN; or a code. stream: 0 or 1 (stderr). */
static inline ssize_t chan_read(struct chan *ch, int stream, void *data, size_t len)
{
	return ch->link->calls->read(ch, stream, data, len);
}

/* Bytes taken; after PSSH_EAGAIN, call again with the same data. */
static inline ssize_t chan_write(struct chan *ch, const void *data, size_t len)
{
	return ch->link->calls->write(ch, data, len);
}

static inline int chan_send_eof(struct chan *ch)
{
	return ch->link->calls->send_eof(ch);
}

/* The server sends no more, and everything was read. */
static inline bool chan_eof(const struct chan *ch)
{
	return ch->link->calls->eof(ch);
}

/* Unread bytes of either stream have come. */
static inline bool chan_waiting(const struct chan *ch)
{
	return ch->link->calls->waiting(ch);
}

/* Something can be read without the network. */
static inline bool chan_pending(const struct chan *ch)
{
	return ch->link->calls->pending(ch);
}

static inline int chan_wait_closed(struct chan *ch)
{
	return ch->link->calls->wait_closed(ch);
}

/*
 * After chan_wait_closed: the exit status, or *signal (malloc'd) if a signal ended the process; -1
 * if the server sent neither.
 */
static inline int chan_exit(struct chan *ch, char **signal)
{
	return ch->link->calls->exit(ch, signal);
}

#endif
