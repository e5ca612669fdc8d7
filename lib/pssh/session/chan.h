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
	LIBSSH2_CHANNEL *raw;   /* NULL until open */
	unsigned window;
	uint32_t id;
	bool direct;            /* leads to an address instead of a session */
	struct list in_closing;
};

struct link {
	LIBSSH2_SESSION *session;
	int64_t opening_since;  /* when opener began; clock_ms() */
	const struct chan *opener;
	const void *listens;    /* who asks the server to listen */
	struct buf out;         /* taken from libssh2 and not sent yet */
	struct list closing;    /* channels without an owner that the server still has to close */
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

int link_init(struct link *l, void *io); /* makes the session; 0 or PSSH_ENOMEM */
bool link_wants_write(const struct link *l);
/* True when one channel has been opening for so long that others should use another connection. */
bool link_clogged(const struct link *l);
/*
 * Call when bytes came in, which may be for any channel whoever read them, and when another channel can open.
 * Without it a channel would sleep on bytes that are no longer in the socket.
 */
void link_news(struct link *l);
void link_reap(struct link *l);     /* continues closing channels; call at every step of the session */
void link_release(struct link *l);  /* after it the session may be freed */

/*
 * Reads while no channel does, so that libssh2 answers keep-alives and notices the end. needed:
 * something arrived and no channel took it. 0 or a code.
 */
int link_pump(struct link *l, bool needed);

/* libssh2's sentence for the session's last error. */
const char *link_error(const struct link *l);
/* Why a channel failed with this code. What libssh2 last noted may be old: reading notes no errors. */
const char *link_reason(const struct link *l, int code);
/* The PSSH code for a libssh2 code. */
int link_code(int libssh2_code);

struct chan *chan_new(struct link *l); /* NULL: out of memory */
void chan_close(struct chan *ch);      /* never blocks; takes ch over; ch may be NULL */
void chan_drop(struct chan *ch);       /* the same when its session ends too: sends nothing */

/*
 * The window is how much a server may send ahead of our reading. It limits both what libssh2 holds
 * for a host that nobody listens to and the throughput of one round trip: 8 MiB are 700 Mb/s over 90 ms.
 */
enum { CHAN_WINDOW = 512 * 1024, CHAN_WINDOW_FILES = 8 * 1024 * 1024 };

int chan_open_session(struct chan *ch, unsigned window, struct fail *f);
int chan_open_direct(struct chan *ch, const char *host, unsigned port, struct fail *f);
/* A unix socket of the host, by OpenSSH's extension. */
int chan_open_unix(struct chan *ch, const char *path, struct fail *f);
/*
 * Has the server listen: 0 with *out and the port, PSSH_EAGAIN, or a code. Only one asks at a time on
 * a session; who has begun asks again until it has the answer.
 */
int chan_listen(struct link *l, const void *who, const char *host, unsigned port, LIBSSH2_LISTENER **out,
	unsigned *bound, struct fail *f);
struct chan *chan_accept(struct link *l, LIBSSH2_LISTENER *listener); /* NULL: nobody came */
void chan_unlisten(LIBSSH2_LISTENER *listener);                       /* may be NULL */
int chan_env(struct chan *ch, const char *name, const char *value);
int chan_pty(struct chan *ch, const char *term, unsigned columns, unsigned rows, struct fail *f);
int chan_resize(struct chan *ch, unsigned columns, unsigned rows);
/* request: "exec", "shell" (text NULL) or "subsystem" */
int chan_start(struct chan *ch, const char *request, const char *text, struct fail *f);

/* Bytes read; 0 at the end of that stream; PSSH_EAGAIN; or a code. stream: 0 or 1 (stderr). */
ssize_t chan_read(struct chan *ch, int stream, void *data, size_t len);
/* Bytes taken; after PSSH_EAGAIN, call again with the same data. */
ssize_t chan_write(struct chan *ch, const void *data, size_t len);
int chan_send_eof(struct chan *ch);
bool chan_eof(const struct chan *ch);     /* the server sends no more, and everything was read */
bool chan_waiting(const struct chan *ch); /* unread bytes of either stream have come */
bool chan_pending(const struct chan *ch); /* something can be read without the network */
int chan_wait_closed(struct chan *ch);

/*
 * After chan_wait_closed: the exit status, or *signal (malloc'd) if a signal ended the process; -1
 * if the server sent neither.
 */
int chan_exit(struct chan *ch, char **signal);

#endif
