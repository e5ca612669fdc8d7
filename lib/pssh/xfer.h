/* SPDX-License-Identifier: Apache-2.0 */
/* A copy on its channel: moves its bytes, and runs the checksum commands that it asks for. */
#ifndef PSSH_XFER_H
#define PSSH_XFER_H

#include "base/fail.h"
#include "pssh/chan.h"
#include "pssh/copy.h"
#include "pssh/exec.h"

struct xfer;

enum { XFER_DONE = 0, XFER_BEGUN = 1, XFER_PROGRESS = 2 };

int xfer_new(struct link *l, struct copy *copy, struct xfer **out); /* takes the copy over */
void xfer_free(struct xfer *x);

/* One of the above, PSSH_EAGAIN, or the code by which the copy failed. */
int xfer_step(struct xfer *x, struct exec_room *room, struct fail *f);
void xfer_cancel(struct xfer *x);
void xfer_progress(const struct xfer *x, struct copy_progress *out);

#endif
