/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent, forwarded over one connection: each program on the host that asks for it is a channel, which this
 * carries to the agent's socket here. They can list keys and have things signed, nothing else.
 */
#ifndef PSSH_FLEET_FORWARD_H
#define PSSH_FLEET_FORWARD_H

#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

/* From the first command that may use the agent to the end of its connection. */
struct forward {
	struct loop *loop;
	struct loop_timer timer; /* of its kind: an agent that is too busy is called again */
	int kind;                /* of its watches, too, which are struct loop_owned */
	void *owner;
	char *path;
	unsigned users, count; /* commands that may use the agent; their clients */
	struct list clients;
};

/* 0 or PSSH_ENOMEM. */
int forward_new(struct loop *loop, int kind, void *owner, struct forward **out);
void forward_free(struct forward *w); /* w may be NULL */

/* For a command that may use the agent at that path. 0 or PSSH_ENOMEM. */
int forward_begin(struct forward *w, const char *path);
/* It has ended; after the last one nobody may. */
void forward_end(struct forward *w);

/* Serves all as far as it can without blocking. 0, or PSSH_EPROTO: what the server does is no use of an agent. */
int forward_step(struct forward *w, struct link *l, struct exec_room *room, struct fail *f);

/* Lets through what may be asked, piece by piece; of other requests it spoils the type. */
struct forward_words {
	unsigned head;    /* bytes of the message's length that came */
	uint32_t len, at; /* of the message */
};
void forward_filter(struct forward_words *words, char *data, size_t len);

#endif
