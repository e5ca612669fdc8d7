/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a copy on its channel: moves its bytes and runs the checksum commands that it asks for. */
#ifndef PSSH_SESSION_XFER_H
#define PSSH_SESSION_XFER_H

#include "base/fail.h"
#include "pssh/session/chan.h"
#include "pssh/copy/copy.h"
#include "pssh/session/exec.h"

struct xfer;

enum { XFER_DONE = 0, XFER_BEGUN = 1, XFER_PROGRESS = 2, XFER_NOTE = 3, XFER_BUSY = 4 };

int xfer_new(struct link *l, struct copy *copy, struct xfer **out); /* takes the copy over */
int xfer_join(struct link *l, struct xfer *first, struct xfer **out); /* a further stream of its copy; free it before */
void xfer_free(struct xfer *x);
void xfer_leave(struct xfer *x); /* in a forked child: see copy_leave */

/*
 * One of the above, PSSH_EAGAIN, or the code of the copy's failure. XFER_NOTE: xfer_note() is a line
 * about one file. XFER_BUSY: local work is left, so step it again soon.
 */
int xfer_step(struct xfer *x, struct exec_room *room, struct fail *f);
const char *xfer_note(const struct xfer *x);
void xfer_cancel(struct xfer *x);
void xfer_progress(const struct xfer *x, struct copy_progress *out);
bool xfer_wants_streams(const struct xfer *x);
bool xfer_stream_has_work(const struct xfer *x); /* of one that has joined: step it */
bool xfer_stream_woke(struct xfer *x);           /* once true: step the first one */

#endif
