/* SPDX-License-Identifier: Apache-2.0 */
/* The types of libpssh's functions: error codes, choices, events. pssh.h includes this file. */
#ifndef PSSH_TYPES_H
#define PSSH_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; pssh_version() is that of the library which runs. 0x010203 is 1.2.3. */
#define PSSH_VERSION_MAJOR 0
#define PSSH_VERSION_MINOR 1
#define PSSH_VERSION_PATCH 0
#define PSSH_VERSION_NUM (PSSH_VERSION_MAJOR << 16 | PSSH_VERSION_MINOR << 8 | PSSH_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct pssh;
struct pssh_host;
struct pssh_task;

/* ---- Errors ---------------------------------------------------------------------------- */

/* X(name, code, text, retryable) */
#define PSSH_ERRORS(X) \
	X(PSSH_ENOMEM, -1, "out of memory", 0) \
	X(PSSH_EINVAL, -2, "the call is not valid", 0) \
	X(PSSH_ESYNTAX, -3, "cannot understand the text", 0) \
	X(PSSH_ENOENT, -4, "not found", 0) \
	X(PSSH_ELOCAL, -5, "a local file or system call failed", 0) \
	X(PSSH_ERESOLVE, -6, "the name cannot be resolved", 1) \
	X(PSSH_ECONNECT, -7, "the host cannot be reached", 1) \
	X(PSSH_ETIMEOUT, -8, "a deadline passed", 1) \
	X(PSSH_EPROTO, -9, "the server does not speak SSH as expected", 1) \
	X(PSSH_ECLOSED, -10, "the connection was closed", 1) \
	X(PSSH_EHOSTKEY, -11, "the host key differs from the known one", 0) \
	X(PSSH_EHOSTNEW, -12, "the host key is unknown", 0) \
	X(PSSH_EREVOKED, -13, "the host key is revoked", 0) \
	X(PSSH_EAUTH, -14, "the server accepted no key and no password", 0) \
	X(PSSH_EPROXY, -15, "the jump host or proxy command failed", 1) \
	X(PSSH_EREFUSED, -16, "the server refused the channel or the request", 0) \
	X(PSSH_ECANCEL, -17, "cancelled", 0) \
	X(PSSH_EREMOTE, -18, "a remote file operation failed", 0) \
	X(PSSH_ECHECKSUM, -19, "the copy differs from its source", 1) \
	X(PSSH_EUNSUPPORTED, -20, "not supported", 0) \
	X(PSSH_EPASSPHRASE, -21, "the key needs a passphrase", 0) \
	X(PSSH_EALGORITHM, -22, "no algorithm in common with the server", 0) \
	X(PSSH_EAGAIN, -23, "not now, try again", 1)

#define PSSH_X(name, code, text, retryable) name = code,
enum pssh_errors { PSSH_ERRORS(PSSH_X) PSSH_OK = 0 };
#undef PSSH_X

const char *pssh_strerror(int code);  /* the text above; never NULL */
const char *pssh_errname(int code);   /* "PSSH_EAUTH"; never NULL */
int pssh_retryable(int code);         /* 1 if the same may succeed later */

/* ---- Choices --------------------------------------------------------------------------- */

/* For pssh_set_deadline(). */
enum pssh_phase {
	PSSH_PHASE_RESOLVE,   /* name to address; default 10 s */
	PSSH_PHASE_CONNECT,   /* the TCP connection, all addresses together; default 15 s */
	PSSH_PHASE_HANDSHAKE, /* banner and key exchange; also the start of a task; default 30 s */
	PSSH_PHASE_AUTH,      /* signing in, without the time that a person takes to answer; default 30 s */
	PSSH_PHASE_TASK,      /* one task on one host, from its start there; default none */
	PSSH_PHASE_IDLE,      /* how long to keep an unused connection; default no limit */
	PSSH_PHASES           /* how many this version knows; grows */
};

/* For pssh_task_set_agent_forward(). */
enum pssh_agent_forward {
	PSSH_FORWARD_NO,        /* the default */
	PSSH_FORWARD_YES,       /* the agent of pssh_set_agent(), or IdentityAgent of the configuration */
	PSSH_FORWARD_CONFIGURED /* where ForwardAgent of the configuration says so, as it says */
};

/* For pssh_set_hostkeys(). */
enum pssh_hostkeys {
	PSSH_HOSTKEYS_STRICT,     /* known keys only; the default */
	PSSH_HOSTKEYS_ACCEPT_NEW, /* accept and write down the key of an unknown host; never a changed key */
	PSSH_HOSTKEYS_ASK         /* let the program decide about unknown and changed keys: PSSH_EV_HOSTKEY */
};

/* For pssh_answer_hostkey(). */
enum pssh_hostkey_answer {
	PSSH_HOSTKEY_REFUSE,  /* the host fails with the event's status */
	PSSH_HOSTKEY_ACCEPT,  /* for this connection */
	PSSH_HOSTKEY_REMEMBER /* as PSSH_HOSTKEYS_ACCEPT_NEW: write it down, too; not a changed one */
};

/* For pssh_set_algorithms(). */
enum pssh_algorithm {
	PSSH_ALG_KEX,
	PSSH_ALG_HOSTKEY,
	PSSH_ALG_CIPHER,
	PSSH_ALG_MAC,
	PSSH_ALGS /* how many this version knows; grows */
};

/* For pssh_set_log(). */
enum pssh_log_level { PSSH_LOG_ERROR = 1, PSSH_LOG_WARN, PSSH_LOG_INFO, PSSH_LOG_DEBUG, PSSH_LOG_TRACE };

/* For pssh_put() and pssh_get(). */
enum pssh_copy_flags {
	PSSH_COPY_RECURSIVE = 1, /* copy directories too */
	PSSH_COPY_PRESERVE = 2,  /* keep modes and times */
	PSSH_COPY_RESUME = 4,    /* continue where an earlier copy stopped */
	PSSH_COPY_CHECKSUM = 8,  /* compare SHA-256 of both sides at the end */
	PSSH_COPY_SPARSE = 16,   /* keep holes */
	PSSH_COPY_PER_HOST = 32, /* of a put: "{host}" in the local path stands for the host's name */
	PSSH_COPY_GLOB = 64,     /* of a get: *, ? and [ in the remote path are wildcards */
	PSSH_COPY_UPDATE = 128   /* leave files alone that have the source's size and time; keep times */
};

/* For pssh_task_set_streams(): the most. */
#define PSSH_STREAMS 8

/* For pssh_channel(): what the target is. */
enum pssh_channel_kind {
	PSSH_CHANNEL_TCP,       /* "host:port", as seen from the host */
	PSSH_CHANNEL_UNIX,      /* the path of a unix socket of the host */
	PSSH_CHANNEL_SUBSYSTEM, /* the name of a subsystem, as "sftp" */
	PSSH_CHANNEL_COMMAND    /* a command; its standard error becomes PSSH_EV_STDERR */
};

/* For pssh_task_set_output(). */
enum pssh_output {
	PSSH_OUTPUT_LINES,  /* whole lines, one or more in an event; the default */
	PSSH_OUTPUT_CHUNKS, /* as it comes */
	PSSH_OUTPUT_GATHER  /* the whole stream in one event, before the end */
};

enum pssh_overflow {
	PSSH_OVERFLOW_DROP, /* drop the oldest bytes and count them in ev->dropped; the default */
	PSSH_OVERFLOW_SPILL /* continue in an unlinked temporary file */
};

/* ---- Facts ----------------------------------------------------------------------------- */

/* For pssh_host_facts(): how one connection was made, and what went over it. Later versions add members at the end. */
struct pssh_facts {
	unsigned resolve_ms, connect_ms, handshake_ms, auth_ms; /* how long each phase took so far */
	const char *kex, *hostkey, *cipher, *mac;               /* the algorithms agreed on; "" before that */
	uint64_t bytes_in, bytes_out;                           /* on the wire, encrypted */
};

/* A connection that outlived its process: see pssh_set_keep(). */
struct pssh_kept {
	char name[256];     /* user@address:port */
	unsigned pid;       /* of its keeper */
	int lent;           /* a command uses it now */
	unsigned age, idle; /* since when it is kept, and unused: seconds */
	unsigned limit;     /* after so many seconds without use it closes */
	char kex[65], hostkey[65], cipher[65], mac[65]; /* the algorithms agreed on */
	/* 0. Later versions name members here: an array of these keeps its stride. */
	uint64_t reserved[8];
};

/* ---- Events ---------------------------------------------------------------------------- */

enum pssh_event_type {
	PSSH_EV_HOST_UP = 1, /* a connection is ready, a jump host's too; task NULL */
	PSSH_EV_HOST_DOWN,   /* a ready connection ended, or pssh_host_connect() failed: status, text; task NULL */
	PSSH_EV_RETRY,       /* a try failed and another follows: status, text, attempt */
	PSSH_EV_STARTED,     /* the command runs, the copy begins, the tunnel listens */
	PSSH_EV_STDOUT,      /* data, len, dropped */
	PSSH_EV_STDERR,      /* data, len, dropped; of a copy, a tunnel: a line about one file, one connection */
	PSSH_EV_WRITABLE,    /* input may be written again; host NULL: the input for all hosts */
	PSSH_EV_PROGRESS,    /* of a copy: done, total (bytes), unchanged, text (the file) */
	PSSH_EV_PROMPT,      /* a question: text, echo, prompt; answer it by pssh_answer */
	PSSH_EV_EXIT,        /* status (0 for a copy). The host has ended. */
	PSSH_EV_SIGNAL,      /* text: the signal that ended it, as "TERM". The host has ended. */
	PSSH_EV_ERROR,       /* status: a code; text: a sentence. The host has ended. */
	PSSH_EV_DONE,        /* every host of the task has ended; host NULL */
	PSSH_EV_FILE,        /* of the host: text (name), status (st_mode), total (size), done (time of change) */
	PSSH_EV_SIGN,        /* sign data, len by the key text; status, prompt; answer it by pssh_answer_sign */
	PSSH_EV_HOSTKEY      /* status, text: what is wrong with the key data, len; prompt: see pssh_answer_hostkey */
};

/* Each host of a started task ends with exactly one EXIT, SIGNAL or ERROR; DONE follows the last one. */
struct pssh_event {
	enum pssh_event_type type;
	struct pssh_task *task;
	struct pssh_host *host;
	uint64_t seq;           /* 1, 2, 3 … within the fleet */
	const char *data;       /* never NULL; no NUL follows it */
	size_t len;
	uint64_t dropped;       /* how many bytes before data the ceiling dropped */
	int status;
	const char *text;       /* never NULL */
	uint64_t done, total;
	unsigned attempt;
	int cancelled; /* a call that cancels or stops, or a deadline, caused this end */
	int echo;
	uint64_t prompt;
	uint64_t unchanged; /* of a copy with PSSH_COPY_UPDATE: files that it left alone */
	/* 0. Later versions name members here, so the size stays: one that an older library does not know reads 0. */
	uint64_t reserved[7];
};

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
