/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command and a keeper of connections say to each other over a unix socket: frames with a
 * type, the number of a channel, and fields that the type decides. Either side may be hostile.
 */
#ifndef PSSH_KEEP_KEEPWIRE_H
#define PSSH_KEEP_KEEPWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * X(name, number, fields, who sends it): n is a number, t text without NULs, b any bytes.
 * The command asks first; a keeper that answers KEEP_LENT lends its connection until the socket closes.
 */
#define KEEPWIRE_FRAMES(X) \
	X(LEND, 1, "n", KEEP_COMMAND)     /* version */ \
	X(ASK, 2, "n", KEEP_COMMAND)      /* version: what is open? */ \
	X(STOP, 3, "n", KEEP_COMMAND)     /* version: close all connections and end */ \
	X(OPEN, 4, "n", KEEP_COMMAND)     /* a session channel: window */ \
	X(DIRECT, 5, "tnn", KEEP_COMMAND) /* a channel to an address: host, port, window */ \
	X(ENV, 6, "tt", KEEP_COMMAND)     /* name, value; not answered */ \
	X(PTY, 7, "tnn", KEEP_COMMAND)    /* terminal, columns, rows */ \
	X(RESIZE, 8, "nn", KEEP_COMMAND)  /* columns, rows; not answered */ \
	X(START, 9, "tnt", KEEP_COMMAND)  /* request, whether it has text, text */ \
	X(CLOSE, 10, "", KEEP_COMMAND) \
	X(PING, 11, "", KEEP_COMMAND) \
	X(DATA, 12, "nb", KEEP_BOTH) /* stream, bytes */ \
	X(EOF, 13, "", KEEP_BOTH) \
	X(CREDIT, 14, "n", KEEP_BOTH) /* so many bytes more may be sent */ \
	X(LENT, 20, "b", KEEP_KEEPER) /* the server's host key */ \
	X(BUSY, 21, "", KEEP_KEEPER) \
	/* user@address:port, PID, lent or not, age, idle time, limit (s), algorithms */ \
	X(STATE, 22, "tnnnnnt", KEEP_KEEPER) \
	X(DONE, 23, "nt", KEEP_KEEPER)  /* of OPEN, DIRECT, PTY, START: 0 or the code without its sign; why */ \
	X(EXIT, 24, "nnt", KEEP_KEEPER) /* whether the server sent a status; status; signal or "" */ \
	X(GONE, 25, "t", KEEP_KEEPER)   /* the connection is lost: why */ \
	X(PONG, 26, "", KEEP_KEEPER)

enum { KEEP_COMMAND = 1, KEEP_KEEPER = 2, KEEP_BOTH = 3 };

enum keepwire_type {
#define KEEPWIRE_X(name, number, fields, who) KEEP_##name = number,
	KEEPWIRE_FRAMES(KEEPWIRE_X)
#undef KEEPWIRE_X
};

enum {
	KEEPWIRE_VERSION = 3,
	KEEPWIRE_FRAME = 128 * 1024,  /* longest frame */
	KEEPWIRE_DATA = 32 * 1024,    /* most bytes in one DATA */
	KEEPWIRE_CREDIT = 256 * 1024, /* what either side may send on a new channel before the first CREDIT */
};

struct keepwire_text {
	const char *at; /* no NUL follows it */
	size_t len;
};

struct keepwire_frame {
	enum keepwire_type type;
	uint32_t chan;
	uint32_t n[5];
	struct keepwire_text t[2];
};

/* Appends a frame. 0, -ENOMEM or -EFBIG. */
int keepwire_add(struct buf *b, const struct keepwire_frame *f);

/*
 * Takes the first frame that `from` sent. 1, with *used bytes and texts that point into data; 0: it is
 * not complete yet; PSSH_EPROTO: these bytes are no frame that it may send.
 */
int keepwire_take(const void *data, size_t len, int from, struct keepwire_frame *f, size_t *used);

#define keepwire_text(s) \
	{ \
		(s), strlen(s) \
	}

/* A copy with a NUL, cut to size. */
const char *keepwire_copy(struct keepwire_text t, char *room, size_t size);

#endif
