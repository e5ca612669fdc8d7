/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The person's ssh-agent for a gateway: there a socket of its own, whose bytes travel as frames; here a connection to
 * the agent for each one there. Only listing keys and signing pass.
 */
#ifndef CLI_VIA_VIAAGENT_H
#define CLI_VIA_VIAAGENT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/via/viaframe.h"

enum { VIAAGENT_CONNS = 32 };

struct viaagent {
	char dir[256], path[300];         /* there: the socket and its folder; here: the agent's own socket in `path` */
	int listener;                     /* -1: none */
	int fds[VIAAGENT_CONNS];          /* -1: free; the index is the frames' number */
	struct buf asked[VIAAGENT_CONNS]; /* here: a request that is not whole yet */
};

void viaagent_init(struct viaagent *a);
void viaagent_release(struct viaagent *a);

/* There: makes the socket. 0 or -errno. */
int viaagent_listen(struct viaagent *a);

/* Fills at most VIAAGENT_CONNS + 1 entries; how many. */
size_t viaagent_poll(const struct viaagent *a, struct pollfd *fds);

/* Takes connections and what they say, without waiting, as frames. 0 or a negative code. */
int viaagent_step(struct viaagent *a, struct buf *out);

/* There: what the agent answered. Here: what the gateway asks, with refusals into `out`. -EPROTO: no such frame. */
int viaagent_answer(struct viaagent *a, const struct via_frame *f);
int viaagent_ask(struct viaagent *a, const struct via_frame *f, struct buf *out);

#endif
