/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel on a session, and what the channels of one session must agree on. libssh2 keeps the
 * state of an opening in the session, so one channel at a time may open; and after a send that
 * would block it wants to hear the very same call again, which an abandoned channel cannot make. So
 * its transport takes every packet whole, and who has much to write waits until that is gone. Both
 * rules live here, and so does the translation of its EAGAIN: every call returns 0 (or a count),
 * PSSH_EAGAIN, or a code.
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

struct chan {
	struct link *link;
	LIBSSH2_CHANNEL *raw;   /* NULL until open */
	unsigned window;
	uint32_t id;
	bool direct;            /* no session: a way to an address */
	struct list in_closing;
};

struct link {
	LIBSSH2_SESSION *session;
	int64_t opening_since;  /* when opener began: clock_ms() */
	const struct chan *opener;
	struct buf out;         /* what the transport took and has not sent yet */
	struct list closing;    /* channels that nobody owns any more but the server */
	LIBSSH2_CHANNEL *spare; /* a closed channel, kept because libssh2 reads only through one */
	uint64_t ended;         /* by channel id: an exit status or signal came */
	uint32_t confirmed;     /* the id of the channel that was opened last */
	void *io, *asker; /* whose transport this is; who answers its questions: the session's abstract is the link */
};

int link_init(struct link *l, void *io); /* makes the session; 0 or PSSH_ENOMEM */
bool link_wants_write(const struct link *l);
/* Somebody's opening takes so long that others had better go another way. */
bool link_clogged(const struct link *l);
void link_reap(struct link *l);     /* goes on closing; call whenever the session is stepped */
void link_release(struct link *l);  /* after it the session may be freed */

/*
 * Reads what came while no channel reads, so that keep-alives are answered and an end is seen. 0 or
 * a code. needed: something did come, and nobody took it.
 */
int link_pump(struct link *l, bool needed);

/* The sentence of the session's last error, as libssh2 words it. */
const char *link_error(const struct link *l);
/* What a libssh2 code means to us. */
int link_code(int libssh2_code);

struct chan *chan_new(struct link *l); /* NULL: out of memory */
void chan_close(struct chan *ch);      /* never blocks; ch may be NULL and is gone after it */
void chan_drop(struct chan *ch);       /* the same where its session goes as well: nothing is sent */

/*
 * The window is what a server may send ahead of our reading, so also what libssh2 holds for a host
 * that nobody listens to; and the most that is on its way in one round trip.
 */
enum { CHAN_WINDOW = 512 * 1024, CHAN_WINDOW_FILES = 2 * 1024 * 1024 };

int chan_open_session(struct chan *ch, unsigned window, struct fail *f);
int chan_open_direct(struct chan *ch, const char *host, unsigned port, struct fail *f);
int chan_env(struct chan *ch, const char *name, const char *value);
int chan_pty(struct chan *ch, const char *term, unsigned columns, unsigned rows, struct fail *f);
int chan_resize(struct chan *ch, unsigned columns, unsigned rows);
/* request: "exec", "shell" (text NULL) or "subsystem" */
int chan_start(struct chan *ch, const char *request, const char *text, struct fail *f);

/* Bytes read; 0 at the end of that stream; PSSH_EAGAIN; or a code. stream: 0 or 1 (stderr). */
ssize_t chan_read(struct chan *ch, int stream, void *data, size_t len);
/* Bytes taken; after PSSH_EAGAIN call again with the same data. */
ssize_t chan_write(struct chan *ch, const void *data, size_t len);
int chan_send_eof(struct chan *ch);
bool chan_eof(const struct chan *ch);     /* the server will send no more and all was read */
bool chan_waiting(const struct chan *ch); /* bytes of either stream came and were not read */
bool chan_pending(const struct chan *ch); /* something can be read without asking the network */
int chan_wait_closed(struct chan *ch);

/*
 * After chan_wait_closed: the exit status, or with *signal (malloc'd) the signal that ended it; -1
 * where the server told neither.
 */
int chan_exit(struct chan *ch, char **signal);

#endif
