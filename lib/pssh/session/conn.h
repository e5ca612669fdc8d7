/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one host: a state machine from a name to a session on which channels can open.
 * It knows nothing of tasks; its owner steps it when its watch or timer is due, and reads the result.
 */
#ifndef PSSH_SESSION_CONN_H
#define PSSH_SESSION_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/list.h"
#include "base/log.h"
#include "base/loop.h"
#include "pssh/session/algorithm.h"
#include "pssh/session/auth.h"
#include "pssh/session/chan.h"
#include "pssh/session/dial.h"
#include "pssh/session/connfacts.h"
#include "pssh/known/hostkey.h"
#include "pssh/keys/keyring.h"
#include "pssh/keys/unlock.h"
#include "pssh/session/proxy.h"
#include "pssh/pssh_types.h"
#include "pssh/session/resolve.h"

enum conn_state {
	CONN_NEW,
	CONN_RESOLVE,
	CONN_DIAL,
	CONN_VIA,
	CONN_PROXY,
	CONN_GIVEN,
	CONN_HELLO,
	CONN_HOSTKEY,
	CONN_AUTH,
	CONN_READY,
	CONN_GONE,
	CONN_STATES
};

/* What all connections of a fleet share. */
struct conn_shared {
	struct loop *loop;
	struct list ready; /* connections to step */
	struct resolver *resolver;
	struct unlocker *unlocker;
	struct keyring keyring;
	struct algorithms algorithms;
	struct log log;
	int kind;                      /* of its watches and timers */
	bool warn_weak;                /* warn of the next key exchange that a quantum computer could break */
};

/* How to connect to one host. The host keeps it alive as long as the connection. */
struct conn_plan {
	const char *name, *address, *user;
	unsigned port;
	const char *proxy, *bind;
	int family, fd; /* fd: a connected socket, which conn_new takes over; -1: none */
	const char *algorithms[PSSH_ALGS];
	bool warn_weak;
	struct hostkey_rule hostkey;
	struct auth_want auth;
	unsigned deadline[PSSH_PHASES];
};

struct conn {
	struct conn_shared *shared;
	const struct conn_plan *plan;
	void *owner;                   /* the host; never used here */
	enum conn_state state;
	struct loop_watch watch;
	struct loop_timer timer;
	struct list in_ready; /* member of shared->ready */
	struct fail why;

	int fd;
	struct resolve *question;
	struct dial dial;
	struct proxy *proxy;           /* see conn_take_proxy: the owner ends it after conn_free */
	struct conn *via;              /* the jump host's connection */
	struct chan *via_chan;
	struct list riders, in_riders; /* connections that go through this one, and this one in such a list */

	struct link link;
	struct auth *auth;
	char fingerprint[64];
	struct connfacts facts;
	struct buf hello;              /* the first bytes that came, until the keys are exchanged */
	enum { SENT_PLAIN, SENT_NEWKEYS, SENT_SERVICE } sent; /* how far our half of the handshake is */
	bool greeted;                                         /* libssh2's handshake is over */
	int64_t heard, kept;           /* when the server last sent something; when we last sent a keep-alive */
	uint64_t reads;                /* how often bytes came in */
	struct buf ahead;              /* read from the socket, and not given to libssh2 yet */
	bool dry;                      /* the socket had no more; until its watch is due again */
	size_t room, chatter; /* bytes that this turn may still read; bytes that came during the key exchange */
	bool ended, flushed;           /* the server sends no more; everything that it sent was read */
	uint64_t due_reads;            /* the value of reads when the watch was last due */
	bool unread;                   /* the watch was due and nothing was read since */
	bool barred;                   /* waits until another channel has opened on via */
	bool dead;                     /* do not touch its transport any more */
	bool hopeless;                 /* its jump host failed for good: a retry would not help */
	bool by_hand;                  /* somebody may have confirmed the signature by which it signed in */
	struct hostkey_doubt doubt;
	bool asked; /* the owner has passed on auth's question, or that about the key */
};

/* via: the jump host's connection, in any state; NULL: none. 0 or PSSH_ENOMEM. */
int conn_new(struct conn_shared *shared, const struct conn_plan *plan, struct conn *via, void *owner,
	struct conn **out);
/*
 * Before its first step: it is a connection that a keeper lends over its socket fd, which is taken
 * over. borrow makes the link, and opens a session channel ahead if window is not 0. 0 or PSSH_ENOMEM.
 */
int conn_borrow(struct conn *c, int fd, unsigned window, int (*borrow)(struct link *l, int fd, unsigned window));
/* The key that the server showed; NULL: none. */
const uint8_t *conn_hostkey(const struct conn *c, size_t *len);
bool conn_is_lent(const struct conn *c);
void conn_free(struct conn *c);
struct proxy *conn_take_proxy(struct conn *c);
void conn_leave(struct conn *c); /* in a forked child: sends nothing from here on, and leaves the proxy command alone */

/* Has it stepped soon. */
void conn_wake(struct conn *c);

/* 0: ready; PSSH_EAGAIN: wait; else a code, and c->why. */
int conn_step(struct conn *c);

/* Tells the loop what it waits for. Call after every step of it or of its channels. */
void conn_arm(struct conn *c);

/* Call when its timer is due. 0: that was no deadline; else as conn_step. */
int conn_due(struct conn *c);

/* Sends a keep-alive. */
void conn_keep_alive(struct conn *c);

/* Ends it at once; keeps the first failure. */
void conn_fail(struct conn *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
