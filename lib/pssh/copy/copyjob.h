/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a copy is made of: jobs, each of which takes one file or directory through named steps.
 * A step asks the server some things at once and goes on when all are answered; jobs of one copy
 * run side by side, so that the way to the server is never empty.
 */
#ifndef PSSH_COPY_COPYJOB_H
#define PSSH_COPY_COPYJOB_H

#include "base/list.h"
#include "pssh/copy/copy.h"
#include "pssh/copy/copytree.h"
#include "pssh/copy/digest.h"
#include "pssh/copy/sftp.h"

enum {
	COPY_JOBS = 32,             /* files at once */
	COPY_BLOCKS = 96,           /* blocks of data outstanding, of all files */
	COPY_WINDOW = 4 << 20,      /* bytes of a file from the earliest outstanding to the latest */
	COPY_QUEUE = 2000,          /* names that are known and not begun; directories wait beyond it */
	COPY_NOTES = 64,
};

struct job;

struct step {
	const char *name;
	bool (*send)(struct job *j); /* asks; false: not all was asked yet */
	bool (*next)(struct job *j); /* all is answered; false: the job is at its end */
};

enum { STEP_CLEAN, STEP_FIRST };     /* in every table */

struct span {
	uint64_t at;
	uint32_t len;
};

/* Blocks of the remote file that are being asked for. */
struct reading {
	uint64_t at, end, stride;
	int op;
	bool serial, ended;          /* the size is not known: one block after the other, up to the end */
	unsigned agains;             /* rests of blocks that came short */
	struct span again[COPY_BLOCKS];
};

/* Is the beginning of both sides the same? */
struct check {
	uint64_t limit;
	bool reads, sampled;         /* by reading, else by a command's SHA-256 */
	bool asked, answered, differs;
	char hex[DIGEST_HEX];
	struct digest *own;
};

struct job {
	struct sftp_asker asker;     /* first: replies lead back by it */
	struct copy *copy;
	const struct step *steps;
	void (*reply)(struct job *j, const struct sftp_reply *r);
	unsigned step, part;         /* part: what the step asked already */
	bool sent, silent;           /* silent: no file of its own to be counted */
	struct node *node;
	char *source, *target, *temp; /* paths: one side's, the other's */
	char *reason;                /* why the server refused */
	struct sftp_handle handle;
	bool open, temp_made, fresh, fresh_dir;
	int fd;
	uint64_t size, at;
	uint32_t saved_mode;         /* a get's: of the file that is replaced */
	uint64_t data_until;         /* a put's: here the next hole begins */
	bool sparse_end, sized, renamed_over;
	struct sftp_attrs attrs, link; /* of the remote file or target; of what is there under a name */
	uint32_t status, link_status;  /* SFTP_OK: the attributes are there */
	bool full;                     /* the server failed for no reason that it gave: ask about space */
	struct reading reading;
	struct check check;
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
	bool put, cancelled, finished, busy, no_commands, rooted, moded;
	bool (*begin)(struct copy *c);      /* starts what can be started; true: there is no more */
	struct copy_source *source;
	char *remote, *local, *root;        /* as asked for; root: where the copy goes */
	bool slash;                         /* the target was given with one at its end */
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

	enum command_state command_state;
	struct job *command_job;            /* NULL: whom it was for is gone */
	char *command;

	struct copy_progress progress;
	char *name;
	struct fail first;
	struct list notes;
	size_t note_count;
};

/* The copy's own. */
struct job *job_start(struct copy *c, const struct step *steps, struct node *n); /* NULL: no place, or no memory */
bool job_go(struct job *j, unsigned step);         /* for step.next: true */
void job_fail(struct job *j, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void job_fail_errno(struct job *j, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void job_fail_reply(struct job *j, const struct sftp_reply *r, const char *what, const char *path);
bool job_no_memory(struct job *j);                 /* fails it; false */
void copy_blame(struct copy *c, const struct fail *why);
void copy_say(struct copy *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Reading: reply gives true where r carries data to be used. */
void reading_start(struct job *j, uint64_t at, uint64_t end);
bool reading_send(struct job *j);
bool reading_reply(struct job *j, const struct sftp_reply *r);

enum check_result { CHECK_SAME, CHECK_DIFFERS, CHECK_AGAIN };

void check_start(struct job *j, uint64_t limit, bool sampled);
bool check_send(struct job *j);
void check_reply(struct job *j, const struct sftp_reply *r);
enum check_result check_end(struct job *j);
void check_release(struct job *j);

enum { OP_STAT = 1, OP_LSTAT, OP_REAL, OP_OPEN, OP_FSTAT, OP_READ, OP_WRITE, OP_CHECK, OP_SET, OP_SYNC, OP_CLOSE,
	OP_RENAME, OP_REMOVE, OP_MKDIR, OP_LIST, OP_SPACE };

bool put_begin(struct copy *c);
bool get_begin(struct copy *c);
void get_finish(struct copy *c);
/* False: no place, or no memory. fresh_dir: the directory was made by this copy, so it is empty. */
bool put_file_start(struct copy *c, struct node *n, bool fresh_dir);
bool get_file_start(struct copy *c, struct node *n);
/* A name whose kind turned out to be a directory. */
void get_queue_dir(struct copy *c, struct node *n);
/* A job is dropped half-way: what it holds on this side. */
void job_drop_local(struct job *j);

#endif
