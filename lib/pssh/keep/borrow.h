/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link whose session a keeper has: the command's side of the keeper's socket. Channels on it are
 * used as those of a session are. What the keeper sends is checked as strictly as a server's bytes.
 */
#ifndef PSSH_KEEP_BORROW_H
#define PSSH_KEEP_BORROW_H

#include "pssh/session/chan.h"

/*
 * Asks the keeper at the other end of fd, which stays the caller's, to lend its connection, and unless
 * window is 0 to open a session channel with that window at once: the first one that the caller opens.
 * 0 or PSSH_ENOMEM.
 */
int borrow_init(struct link *l, int fd, unsigned window);

#endif
