/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a copy. Each takes one file or directory through named steps. A step sends several
 * requests and ends when all are answered. The jobs of a copy run side by side, so that the connection
 * is never idle.
 */
#ifndef PSSH_COPY_COPYJOB_H
#define PSSH_COPY_COPYJOB_H

#include "base/list.h"
#include "pssh/copy/copy.h"
#include "pssh/copy/copytree.h"
#include "pssh/copy/digest.h"
#include "pssh/copy/sftp.h"
#include "pssh/pssh_types.h"

enum {
	COPY_JOBS = 32,          /* jobs at once */
	COPY_BLOCKS = PACE_MOST, /* blocks of data outstanding, over all files */
	COPY_WINDOW = 8 << 20,   /* bytes from a file's earliest outstanding block to its latest */
	COPY_QUEUE = 2000,       /* how many listed names may wait; above it no directory is listed */
	COPY_NOTES = 64,
	COPY_SHARED = 16 << 20, /* streams carry files of at least this size */
};

struct job;

struct step {
	const char *name;
	bool (*send)(struct job *j); /* sends requests; false: some could not be sent yet */
	bool (*next)(struct job *j); /* called when all are answered; false: the job has ended */
};

enum { STEP_CLEAN, STEP_FIRST };     /* every table of steps begins with these */

struct span {
	uint64_t at;
	uint32_t len;
};

/* The blocks of a remote file that are requested. */
struct reading {
	uint64_t at, end, stride;
	int op;
	bool serial, ended;          /* serial: the size is unknown, so read block after block to the end */
	unsigned agains;             /* how many blocks came short and need their rest */
	struct span again[COPY_BLOCKS];
};

/* A comparison of the beginning of both sides. */
struct check {
	uint64_t limit;
	bool reads, sampled;         /* reads: by reading the file, else by a command's SHA-256 */
	bool asked, answered, differs;
	char hex[DIGEST_HEX];
	struct digest *own;
};

/* Where a block of data goes, or comes from: one of the copy's channels and its handle of the file. */
struct lane {
	struct sftp *sftp;
	struct sftp_asker *asker;
	const struct sftp_handle *handle;
};

/* What a stream needs to know of the file that it carries data of. */
struct sharing {
	/* The next piece that nobody has yet, of up to `most` bytes; false: none is left. */
	bool (*piece)(struct job *j, struct span *out, uint32_t most);
	/* Sends one block at *at, or asks for it, as large as fits. False: not now, or it failed. */
	bool (*block)(struct job *j, struct lane lane, uint64_t *at, uint64_t end);
	void (*answer)(struct job *j, const struct sftp_reply *r); /* to a block */
};

struct job {
	struct sftp_asker asker;     /* must be first: a reply's asker is cast to its job */
	struct copy *copy;
	const struct step *steps;
	void (*reply)(struct job *j, const struct sftp_reply *r);
	unsigned step, part;         /* part: how much of the step was sent */
	bool sent, silent;           /* silent: does not count as a file */
	struct node *node;
	char *source, *target, *temp; /* paths on the reading and the writing side */
	char *reason;                /* why the server refused */
	struct sftp_handle handle;
	bool open, temp_made, fresh, fresh_dir, made_root, same;
	int fd;
	uint64_t size, at;
	uint32_t saved_mode;         /* a get's: the mode of the replaced file */
	uint64_t data_until;         /* a put's: where the next hole begins */
	bool sparse_end, sized, renamed_over;
	struct sftp_attrs attrs, link; /* of the remote file or target; of the link itself */
	uint32_t status, link_status;  /* SFTP_OK: the attributes are valid */
	bool full;                     /* the server failed without a reason: ask for the free space */
	struct reading reading;
	const struct sharing *sharing; /* how streams carry its data; NULL: not now */
	struct span again;             /* a put's: what a stream that was lost left, to be sent now */
	struct check check;
	struct tidy *tidy;
	struct fail fail;
};

enum command_state { COMMAND_NONE, COMMAND_WAITS, COMMAND_RUNS };

struct note {
	struct list link;
	struct fail fail;
};

struct copy {
	struct sftp sftp;
	unsigned flags;
	uint32_t machine; /* of temp_machine() */
	bool put, cancelled, finished, busy, no_commands, rooted, moded;
	unsigned streams, stream_count; /* how many there may be in all; how many further ones there are */
	struct copy_stream *stream[PSSH_STREAMS];
	bool wants_streams, woken;
	bool (*begin)(struct copy *c);      /* starts jobs as far as possible; true: none is left */
	struct copy_source *source;
	char *remote, *local, *root;        /* as the caller gave them; root: where the copy goes */
	bool slash;                         /* the target ended in a slash */
	struct job *jobs[COPY_JOBS];
	unsigned count, fds;
	/* put */
	size_t next_dir, next_file, next_mode;
	uint8_t *made;
	/* get */
	struct node *tree;
	struct list files, dirs, made_dirs, lost_dirs;
	size_t queued, known;
	unsigned listing;
	struct glob *glob; /* the remote path is a pattern, or NULL */

	enum command_state command_state;
	struct job *command_job;            /* NULL: that job has ended */
	char *command;

	struct copy_progress progress;
	char *name;
	struct fail first;
	struct list notes;
	size_t note_count;
};

/* ---- For the files of a copy ---- */
/* NULL: no free place, or out of memory. */
struct job *job_start(struct copy *c, const struct step *steps, struct node *n);
bool job_go(struct job *j, unsigned step);         /* returns true, for step.next */
void job_fail(struct job *j, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void job_fail_errno(struct job *j, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void job_fail_reply(struct job *j, const struct sftp_reply *r, const char *what, const char *path);
bool job_no_memory(struct job *j);                 /* fails the job; returns false */
void copy_blame(struct copy *c, const struct fail *why);
void copy_say(struct copy *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* reading_reply returns true if r carries data to use. */
void reading_start(struct job *j, uint64_t at, uint64_t end);
bool reading_send(struct job *j);
bool reading_reply(struct job *j, const struct sftp_reply *r);
bool reading_may(const struct job *j, const struct sftp *s, uint64_t at); /* ask for a block there now */

enum check_result { CHECK_SAME, CHECK_DIFFERS, CHECK_AGAIN };

void check_start(struct job *j, uint64_t limit, bool sampled);
bool check_send(struct job *j);
void check_reply(struct job *j, const struct sftp_reply *r);
enum check_result check_end(struct job *j);
void check_release(struct job *j);

enum { OP_STAT = 1, OP_LSTAT, OP_REAL, OP_OPEN, OP_FSTAT, OP_READ, OP_WRITE, OP_CHECK, OP_SET, OP_SYNC, OP_CLOSE,
	OP_RENAME, OP_REMOVE, OP_MKDIR, OP_LIST, OP_SPACE };

/* ---- copystream.c ---- */
bool stream_worth(const struct job *j); /* the file will be shared; asks for streams */
/* From here on they may carry what is left of it, if that is worth it. */
void stream_share(struct job *j, uint64_t left, const struct sharing *how);
bool stream_busy(const struct job *j);             /* some of its data is with streams */
void stream_leave(struct job *j);                  /* they have nothing to do with it any more */
/*
 * The earliest span that a lost stream left, in exchange for that in *out (of length 0: none), which is later. False:
 * there is none, or none earlier.
 */
bool stream_left(struct job *j, struct span *out);
uint64_t stream_oldest(const struct job *j);       /* as sftp_oldest, over all channels */
void stream_free_all(struct copy *c);
unsigned stream_blocks(const struct copy *c); /* how many blocks a channel may have outstanding */

bool put_begin(struct copy *c);
bool get_begin(struct copy *c);
void get_finish(struct copy *c);
/* False: no free place, or out of memory. fresh_dir: this copy made the directory, so it is empty. */
bool put_file_start(struct copy *c, struct node *n, bool fresh_dir);
bool get_file_start(struct copy *c, struct node *n);
/* Makes the directories that a target here needs: itself if it ended in '/', with COPY_WAY those above it. */
bool get_ready(struct job *j);
bool glob_wanted(const char *path);                /* it has a wildcard */
int glob_new(const char *path, struct glob **out); /* 0 or PSSH_ENOMEM */
void glob_free(struct glob *g);
bool glob_begin(struct copy *c); /* as get_begin, until the matches are known */
/* Queues a name that turned out to be a directory. */
void get_queue_dir(struct copy *c, struct node *n);
/*
 * Three steps for the end of a job whose j->target is a directory that was there before: they remove
 * what copies that were cut off left in it. tidy_begin returns true, for step.next, or false without memory.
 */
bool tidy_begin(struct job *j, unsigned step);
bool tidy_open_send(struct job *j);
bool tidy_open_next(struct job *j);
bool tidy_list_send(struct job *j);
bool tidy_list_next(struct job *j);
bool tidy_remove_send(struct job *j);
bool tidy_remove_next(struct job *j);
void tidy_release(struct job *j);
/* Frees what an unfinished job holds on this side. */
void job_drop_local(struct job *j);

#endif
