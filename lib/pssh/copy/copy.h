/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host's part of a put or a get, as bytes in and bytes out; the owner of the "sftp" channel moves
 * them. Nothing here blocks on the network or knows SSH; local files are read and written directly.
 * Any number of copies may read one file at once.
 */
#ifndef PSSH_COPY_COPY_H
#define PSSH_COPY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum {
	COPY_SYNC = 1 << 16, /* besides PSSH_COPY_*: fsync each file on the receiving side */
	COPY_WAY = 1 << 17,  /* a get: make the directories on the way to its target */
	COPY_FILE = 1 << 18, /* a put: the target is a file's path, because the source has no name */
};

/*
 * What a put reads: a file or, with PSSH_COPY_RECURSIVE, a tree, walked once for all hosts. It
 * remembers what it could not read in a tree, which fails every copy at its end. It must outlive its
 * copies.
 */
struct copy_source;

int copy_source_new(const char *local, unsigned flags, struct copy_source **out, struct fail *f);
void copy_source_free(struct copy_source *s);

/* The i-th thing of the tree that cannot be copied to any host: 1, or 0 past the end. */
int copy_source_note(const struct copy_source *s, size_t i, struct fail *f);

struct copy;

int copy_new_put(struct copy_source *source, const char *remote, unsigned flags, struct copy **out, struct fail *f);
/* The caller replaces {host} in local. Creates nothing locally before the server answers. */
int copy_new_get(const char *remote, const char *local, unsigned flags, struct copy **out, struct fail *f);

/*
 * Stops an unfinished copy: with PSSH_COPY_RESUME temporary files stay for the next try; else this
 * removes the local ones. Removing remote ones needs the server's answers: see copy_cancel.
 */
void copy_free(struct copy *c);
void copy_leave(struct copy *c); /* in a forked child: copy_free leaves the parent's temporary files */

/*
 * Stops in good order: begins nothing new and removes temporary files (unless RESUME is set); then
 * copy_finished() is true and copy_result() is PSSH_ECANCEL. Takes a round trip or two.
 */
void copy_cancel(struct copy *c);

/*
 * The bytes to send next; *len 0: none now. They stay in place until copy_sent() takes some of them,
 * whatever else is called, so a send that would block can be repeated with the same buffer.
 */
void copy_output(struct copy *c, const char **data, size_t *len);
void copy_sent(struct copy *c, size_t n);

/*
 * Takes any number of bytes from the server. 0, or a code if the whole copy is lost: then do not call
 * it again. The failure of one file is no failure here: see copy_result.
 */
int copy_input(struct copy *c, const char *data, size_t len, struct fail *f);

/* Tells the copy that the channel ended. why: a sentence or NULL. copy_result() is then that failure. */
void copy_lost(struct copy *c, int code, const char *why);

/* True when nothing is left to do on the channel, which may then be closed. */
bool copy_finished(const struct copy *c);

/*
 * True while local work is left that needs no answer, such as hashing a large file in slices: call
 * copy_output() again soon, even if nothing happens on the channel.
 */
bool copy_busy(const struct copy *c);

/* Once finished: 0, or the first failure; its sentence says how many more there were. */
int copy_result(const struct copy *c, struct fail *f);

/* The next message about one file: 1, or 0 if there is none. f->code 0: a remark, no failure. */
int copy_note(struct copy *c, struct fail *f);

struct copy_progress {
	uint64_t done, total;     /* bytes; total grows while a remote tree is read */
	uint64_t files, failed;   /* files that have ended; those of them that failed */
	uint64_t unchanged;       /* files that PSSH_COPY_UPDATE left alone; no part of total */
	const char *name;         /* the current file; never NULL, valid until the next call */
};

void copy_progress(const struct copy *c, struct copy_progress *out);

/*
 * For PSSH_COPY_CHECKSUM: a command to run on the host; NULL: none now. Pass its exit status and
 * output to copy_checksum_result, once for each command; pass -1 if it could not run. Unless the
 * status is 0, the copy reads the file back over SFTP. Meanwhile it continues with other files.
 */
const char *copy_checksum_command(struct copy *c);
void copy_checksum_result(struct copy *c, int status, const char *out, size_t len);

/*
 * Further channels to the same host, each over a connection of its own: they carry pieces of the
 * copy's large files. All else goes over the first channel, so the copy ends well without them.
 */
struct copy_stream;

void copy_set_streams(struct copy *c, unsigned n); /* how many in all, up to PSSH_STREAMS; 1: only the first */
bool copy_wants_streams(const struct copy *c);     /* a file has come that is worth them */

/* 0 or PSSH_ENOMEM. The next four are for it what the functions of these names are for the first channel. */
int copy_stream_new(struct copy *c, struct copy_stream **out);
void copy_stream_output(struct copy_stream *s, const char **data, size_t *len);
void copy_stream_sent(struct copy_stream *s, size_t n);
int copy_stream_input(struct copy_stream *s, const char *data, size_t len, struct fail *f);

/* Its channel ended: the other channels carry what it had not finished. Call it before copy_free. */
void copy_stream_end(struct copy_stream *s);

/* It has bytes to send that it did not have at its last call. */
bool copy_stream_has_work(const struct copy_stream *s);

/* Once true after a stream did what the first channel waits for: call copy_output soon. */
bool copy_stream_woke(struct copy *c);

#endif
