/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one host: a machine of named states, from a name to a session on which
 * channels can be opened. It knows nothing of tasks; whoever owns it steps it when its watch or
 * timer is due, and reads what became of it.
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
#include "pssh/known/hostkey.h"
#include "pssh/keys/keyring.h"
#include "pssh/session/proxy.h"
#include "pssh/pssh_types.h"
#include "pssh/session/resolve.h"

enum conn_state {
	CONN_RESOLVE, CONN_DIAL, CONN_VIA, CONN_PROXY, CONN_HELLO, CONN_HOSTKEY, CONN_AUTH, CONN_READY, CONN_GONE,
	CONN_STATES
};

/* What all connections of a fleet share. */
struct conn_shared {
	struct loop *loop;
	struct resolver *resolver;
	struct keyring keyring;
	struct algorithms algorithms;
	struct log log;
	int kind;                      /* of watches and timers */
};

/* What one host's connection is to be; kept by the host. */
struct conn_plan {
	const char *name, *address, *user;
	unsigned port;
	const char *proxy, *bind;
	int family;
	const char *algorithms[PSSH_ALGS];
	struct hostkey_rule hostkey;
	struct auth_want auth;
	unsigned deadline[PSSH_PHASES];
};

struct conn {
	struct conn_shared *shared;
	const struct conn_plan *plan;
	void *owner;                   /* the host; not looked at here */
	enum conn_state state;
	struct loop_watch watch;
	struct loop_timer timer;
	struct list in_ready;          /* the owner's list of those to step */
	struct fail why;

	int fd;
	struct resolve *question;
	struct dial dial;
	struct proxy *proxy;           /* the owner ends it after conn_free: conn_take_proxy */
	struct conn *via;              /* the jump host's connection */
	struct chan *via_chan;
	struct list riders, in_riders; /* connections that go through this one */

	struct link link;
	struct auth *auth;
	char fingerprint[64];
	int64_t heard, kept;           /* when the server last sent something; when we last asked it to */
	uint64_t reads, via_reads;     /* how often something came in; what the owner knows of via's */
	size_t room, chatter; /* bytes that this turn may still read; that came before the keys were exchanged */
	bool ended, flushed;           /* the server sends no more; all that it sent was read */
	uint64_t due_reads;            /* what reads was when something was last there to be read */
	bool unread;                   /* it still is there */
	bool barred;                   /* waits for another opening on via */
	bool dead;                     /* its transport is to be touched no more */
	bool hopeless;                 /* its jump host failed in a way that does not pass */
	bool asked;                    /* the owner has passed auth's question on */
};

/* via: the jump host's connection, in whatever state; NULL: none. */
int conn_new(struct conn_shared *shared, const struct conn_plan *plan, struct conn *via, void *owner,
	struct conn **out);
void conn_free(struct conn *c);
struct proxy *conn_take_proxy(struct conn *c);

/* 0: ready; PSSH_EAGAIN: wait; else a code, and c->why. */
int conn_step(struct conn *c);

/* Tells the loop what it waits for now. Call after every step of it or of its channels. */
void conn_arm(struct conn *c);

/* Its timer is due: 0 where that was no deadline, else as conn_step. */
int conn_due(struct conn *c);

/* Asks the server for a sign of life. */
void conn_keep_alive(struct conn *c);

/* Ends it at once. */
void conn_fail(struct conn *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
