/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one thing of a host over SFTP without a local file: attributes, a directory, or a file's bytes. */
#ifndef PSSH_SESSION_LOOK_H
#define PSSH_SESSION_LOOK_H

#include "base/fail.h"
#include "pssh/copy/sftp.h"
#include "pssh/session/chan.h"
#include "pssh/session/exec.h"

struct look;

enum look_what { LOOK_STAT, LOOK_DIR, LOOK_DATA };
enum { LOOK_DONE = 0, LOOK_BEGUN = 1, LOOK_FILE = 2, LOOK_BYTES = 3 };

/* The path stays the caller's. limit: how many bytes LOOK_DATA may have. */
int look_new(struct link *l, enum look_what what, const char *path, size_t limit, struct look **out);
void look_free(struct look *k);

/* One of the above, PSSH_EAGAIN or a code. PSSH_ENOENT: there is no such file. */
int look_step(struct look *k, struct exec_room *room, struct fail *f);
/* Of LOOK_FILE; valid until the next step. */
const char *look_file(const struct look *k, struct sftp_attrs *a);
/* Of LOOK_BYTES: the whole file, until look_free. */
const struct buf *look_bytes(const struct look *k);

#endif
