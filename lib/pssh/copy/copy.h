/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host's side of a put or a get, as bytes in and bytes out: whoever has the channel of the
 * "sftp" subsystem moves them. Nothing here blocks on the network or knows of SSH; local files
 * are read and written in place. One file may be read by any number of copies at once.
 */
#ifndef PSSH_COPY_COPY_H
#define PSSH_COPY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum {
	COPY_SYNC = 1 << 16, /* beside PSSH_COPY_*: fsync each file on the receiving side */
};

/*
 * What a put reads: a file or, with PSSH_COPY_RECURSIVE, a tree that is walked once here for all
 * hosts. What could not be read in a tree is remembered and fails every copy at its end. The
 * source must outlive its copies.
 */
struct copy_source;

int copy_source_new(const char *local, unsigned flags, struct copy_source **out, struct fail *f);
void copy_source_free(struct copy_source *s);

/* The i-th thing of the tree that cannot be copied to any host: 1, or 0 past the end. */
int copy_source_note(const struct copy_source *s, size_t i, struct fail *f);

struct copy;

int copy_new_put(struct copy_source *source, const char *remote, unsigned flags, struct copy **out, struct fail *f);
/* {host} in local is the caller's to replace. Nothing local is made before the server answers. */
int copy_new_get(const char *remote, const char *local, unsigned flags, struct copy **out, struct fail *f);

/*
 * Gives up where it is not finished: with PSSH_COPY_RESUME temporary files stay for the next
 * try; else the local ones are removed. Remote ones are only removed while the server still
 * answers: see copy_cancel.
 */
void copy_free(struct copy *c);

/*
 * Stops in good order: nothing new is begun, temporary files are removed (but with RESUME), then
 * copy_finished() and copy_result() say PSSH_ECANCEL. For those who can wait a round trip or two.
 */
void copy_cancel(struct copy *c);

/*
 * What the server is to get next; *len 0: nothing now. The bytes stay where they are until
 * copy_sent() took some of them, whatever else is called, so a send that would block can be
 * repeated with the same buffer.
 */
void copy_output(struct copy *c, const char **data, size_t *len);
void copy_sent(struct copy *c, size_t n);

/*
 * What the server said, any number of bytes. 0, or a code when the whole copy is lost: then
 * nothing more may be handed in. A failure of one file is no failure here: see copy_result.
 */
int copy_input(struct copy *c, const char *data, size_t len, struct fail *f);

/* The channel ended: why (a sentence, or NULL). After it copy_result() is that failure. */
void copy_lost(struct copy *c, int code, const char *why);

/* Nothing is left to do on the channel: it may be closed. */
bool copy_finished(const struct copy *c);

/*
 * Local work is left that needs no answer (a large file is hashed in slices): call copy_output()
 * again soon even if nothing happens on the channel.
 */
bool copy_busy(const struct copy *c);

/* Once finished: 0, or the first failure with its sentence (and how many more there were). */
int copy_result(const struct copy *c, struct fail *f);

/* What a person should know of single files, one a call: 1, or 0 when there is no more. f->code 0: a remark. */
int copy_note(struct copy *c, struct fail *f);

struct copy_progress {
	uint64_t done, total;     /* bytes; total grows while a remote tree is read */
	uint64_t files, failed;   /* at their end; and of them failed */
	const char *name;         /* what is being copied: never NULL, valid until the next call */
};

void copy_progress(const struct copy *c, struct copy_progress *out);

/*
 * PSSH_COPY_CHECKSUM: while the copy waits for one, a command to run on the host with its output
 * to be handed back; NULL: none now. Any failure to run it (status not 0, no exec allowed) is
 * status -1 or the exit status: the file is then read back over SFTP. Each command is to be
 * answered once; the copy goes on with other files meanwhile.
 */
const char *copy_checksum_command(struct copy *c);
void copy_checksum_result(struct copy *c, int status, const char *out, size_t len);

#endif
