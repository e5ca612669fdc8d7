/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the SFTP protocol, version 3: writes requests into a buffer and reads replies from
 * bytes, with many requests outstanding, matched by their number. libssh2's SFTP waits for each file's
 * answers in turn and needs a session to be tested; this needs neither, and is as fast as OpenSSH's.
 */
#ifndef PSSH_COPY_SFTP_H
#define PSSH_COPY_SFTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "pssh/copy/pace.h"
#include "pssh/keys/sshwire.h"

enum {
	/*
	 * Unsent bytes never exceed one channel packet of libssh2 (32700): a block of data that is
	 * split over two packets costs a tenth of the throughput.
	 */
	SFTP_PACKET = 32700,
	SFTP_READ = 32768,         /* every server can return this much */
	SFTP_SLOTS = 320,          /* requests outstanding at once */
	SFTP_HANDLE = 256,         /* longest handle, by the protocol */
	SFTP_PATH = 8192,          /* longest path */
	SFTP_MESSAGE = 256 * 1024, /* longest message accepted from a server, except data */
};

enum sftp_status {
	SFTP_OK, SFTP_EOF, SFTP_NO_SUCH_FILE, SFTP_PERMISSION_DENIED, SFTP_FAILURE, SFTP_BAD_MESSAGE,
	SFTP_NO_CONNECTION, SFTP_CONNECTION_LOST, SFTP_UNSUPPORTED,
};

/* Requests that have only a path or only a handle. */
enum sftp_request {
	SFTP_REQ_CLOSE = 4, SFTP_REQ_LSTAT = 7, SFTP_REQ_FSTAT = 8, SFTP_REQ_OPENDIR = 11, SFTP_REQ_READDIR = 12,
	SFTP_REQ_REMOVE = 13, SFTP_REQ_RMDIR = 15, SFTP_REQ_REALPATH = 16, SFTP_REQ_STAT = 17,
};

enum {
	SFTP_OPEN_READ = 1,
	SFTP_OPEN_WRITE = 2,
	SFTP_OPEN_CREATE = 8,
	SFTP_OPEN_TRUNCATE = 16,
	SFTP_OPEN_EXCLUSIVE = 32
};
enum { SFTP_ATTR_SIZE = 1, SFTP_ATTR_OWNER = 2, SFTP_ATTR_MODE = 4, SFTP_ATTR_TIMES = 8 };
enum { SFTP_HAS_POSIX_RENAME = 1, SFTP_HAS_FSYNC = 2, SFTP_HAS_STATVFS = 4 };

struct sftp_attrs {
	uint32_t flags; /* SFTP_ATTR_*: which attributes are set */
	uint32_t mode, atime, mtime;
	uint64_t size;
};

struct sftp_handle {
	uint32_t len;
	char bytes[SFTP_HANDLE];
};

/* A member of whoever sends requests: `waiting` counts the outstanding answers. */
struct sftp_asker {
	unsigned waiting;
};

struct sftp_slot {
	struct sftp_asker *who; /* NULL: free */
	uint64_t offset;
	uint32_t id, len;
	uint8_t op, type;
};

struct sftp {
	char *out;
	size_t out_at, out_len;    /* unsent bytes are out[out_at .. out_len) */
	struct buf in;             /* an incomplete message */
	uint32_t data_left, data_total; /* of the data message that is passed on now */
	struct sftp_slot *data_slot;
	struct sftp_slot slots[SFTP_SLOTS];
	struct pace pace;
	unsigned used;
	uint32_t next;
	unsigned features;         /* SFTP_HAS_* */
	bool ready;                /* versions were exchanged */
};

int sftp_init(struct sftp *s); /* 0 or PSSH_ENOMEM; the greeting is in the buffer */
void sftp_release(struct sftp *s);

/* All return false and do nothing if slots or room are short: try again later. */
bool sftp_path(struct sftp *s, struct sftp_asker *who, int op, enum sftp_request type, const char *path);
bool sftp_handle(struct sftp *s, struct sftp_asker *who, int op, enum sftp_request type, const struct sftp_handle *h);
bool sftp_open(struct sftp *s, struct sftp_asker *who, int op, const char *path, unsigned flags,
	const struct sftp_attrs *a);
bool sftp_mkdir(struct sftp *s, struct sftp_asker *who, int op, const char *path, const struct sftp_attrs *a);
bool sftp_setstat(struct sftp *s, struct sftp_asker *who, int op, const char *path, const struct sftp_attrs *a);
bool sftp_fsetstat(struct sftp *s, struct sftp_asker *who, int op, const struct sftp_handle *h,
	const struct sftp_attrs *a);
bool sftp_read(struct sftp *s, struct sftp_asker *who, int op, const struct sftp_handle *h, uint64_t offset,
	uint32_t len);
bool sftp_rename(struct sftp *s, struct sftp_asker *who, int op, const char *from,
	const char *to); /* replaces the target if the server can */
bool sftp_fsync(struct sftp *s, struct sftp_asker *who, int op, const struct sftp_handle *h);
bool sftp_statvfs(struct sftp *s, struct sftp_asker *who, int op, const char *path);

/*
 * Writing has two halves, so that the caller reads data directly into the send buffer. The first
 * returns room for *len bytes, reduced to what fits; the second sends the request with the number of
 * bytes. No other request may come between them.
 */
char *sftp_write_place(struct sftp *s, const struct sftp_handle *h, uint32_t *len); /* NULL: not now */
void sftp_write(struct sftp *s, struct sftp_asker *who, int op, const struct sftp_handle *h, uint64_t offset,
	uint32_t len);

/* The offset of its earliest outstanding read or write; UINT64_MAX: none. */
uint64_t sftp_oldest(const struct sftp *s, const struct sftp_asker *who);

enum sftp_kind { SFTP_STATUS, SFTP_HANDLE_IS, SFTP_DATA, SFTP_NAMES, SFTP_ATTRS, SFTP_SPACE };

struct sftp_reply {
	enum sftp_kind kind;
	struct sftp_asker *who;
	int op;
	uint64_t offset;           /* of the request; SFTP_DATA: of this piece */
	uint32_t asked;            /* length of the request, in bytes */
	uint32_t status;           /* SFTP_STATUS */
	char message[160];         /* SFTP_STATUS: printable, may be "" */
	struct sftp_handle handle;
	const char *data;          /* SFTP_DATA: one piece; valid until the next call */
	size_t len;
	uint32_t data_total;       /* of all its pieces */
	bool last;                 /* no more pieces follow */
	struct sftp_attrs attrs;
	uint32_t names;            /* SFTP_NAMES: how many are left for sftp_name */
	struct sshwire rest;
	uint64_t space, inodes;    /* SFTP_SPACE: free bytes and inodes */
	bool readonly;
};

/*
 * Takes bytes from *data and advances it. 1: *r is a reply; 0: all bytes are taken; or PSSH_EPROTO,
 * PSSH_EUNSUPPORTED, PSSH_ENOMEM, and the session is lost. Every reply belongs to an outstanding
 * request and has a kind that answers it.
 */
int sftp_next(struct sftp *s, const char **data, size_t *len, struct sftp_reply *r, struct fail *f);

/* The next of the reply's names. False: none is left, or the server's list is damaged (*bad). */
bool sftp_name(struct sftp_reply *r, const char **name, size_t *len, struct sftp_attrs *a, bool *bad);

/* "no such file", "permission denied", or the server's own words. */
const char *sftp_reason(const struct sftp_reply *r);

#endif
