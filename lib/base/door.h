/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening socket in a loop. While this process has no descriptor left for another visitor, the
 * door stays shut for a moment: else the visitors who wait would wake the loop again and again.
 */
#ifndef BASE_DOOR_H
#define BASE_DOOR_H

#include <stdbool.h>

#include "base/loop.h"

struct door {
	struct loop_owned tw;
	struct loop_timer timer;
	struct loop *loop;
	int fd;
};

/* No fd yet: set it before door_admit(). kind: of its watch and timer. */
void door_init(struct door *d, struct loop *loop, int kind, void *owner);
/* Closes the socket, too. */
void door_release(struct door *d);

/* The next visitor, non-blocking; -1: nobody waits, or nobody can be let in now. */
int door_accept(struct door *d);

/* Whether visitors shall wake the loop. 0 or -errno. */
int door_admit(struct door *d, bool admit);

#endif
