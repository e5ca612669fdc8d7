/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests and benches of the market: a client with many kept connections that is cheap enough to
 * share a machine with what it measures, a plain call, and a marketd as a child process.
 */
#ifndef TESTS_WEB_H
#define TESTS_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- Many connections -------------------------------------------------------------------- */

struct web;

struct web_answer {
	int conn;
	int status;            /* 0: the connection broke before the answer was whole */
	const char *body;      /* until the next call; followed by a NUL */
	size_t len;
	int64_t micros;        /* from the send to the answer */
};

struct web *web_new(int port, int conns);  /* to 127.0.0.1; ends the program where memory is short */
void web_free(struct web *w);
/* Sends on a connection that waits for nothing; opens it where it is not. Bytes are copied. */
void web_send(struct web *w, int conn, const char *bytes, size_t len);
bool web_busy(const struct web *w, int conn);
bool web_next(struct web *w, int ms, struct web_answer *out);  /* false: nothing came in that time */

int64_t web_now_us(void);
void web_nap(int ms);

/* "POST /path" with body and further header lines (each with CRLF) as bytes; malloc'd. */
char *web_request(const char *method, const char *path, const char *headers, const char *body, size_t *len);

/* ---- A market ---------------------------------------------------------------------------- */

enum { PROC_TEXT = 256 };

struct proc {
	pid_t pid;
	int port;              /* the first time: any, then the same again */
	char dir[PROC_TEXT], socket[PROC_TEXT + 16], log[PROC_TEXT + 16];
	long log_at;
};

void proc_init(struct proc *p, const char *dir);
/* Starts $MARKETD (or nanopod-marketd of the build) on dir with these options (NULL last); waits until it is ready. */
bool proc_start(struct proc *p, const char *const *options);
int proc_end(struct proc *p, int how);  /* and waits; the wait status */
int64_t proc_cpu_us(const struct proc *p); /* user and system time so far */
int64_t proc_anon_kib(const struct proc *p); /* memory of its own; -1: unknown */
void proc_tell(const struct proc *p);      /* what its log had to say since its last start, as TAP comments */
void proc_clear(const struct proc *p);     /* takes its folder and log away */
int proc_run(const struct proc *p, const char *verb); /* nanopod-marketd VERB --data dir: its exit status */

/* By the operator's socket; malloc'd body (NULL: no answer). */
char *proc_call(const struct proc *p, const char *method, const char *path, const char *body, int *status);

/* A seller with hosts on sale without an end, and a buyer with money, a pool and a token. */
struct stage {
	char token[PROC_TEXT], pool[PROC_TEXT], sku[PROC_TEXT];
	int64_t now;
};
bool stage_set(struct proc *p, int hosts, struct stage *out);

/* The text of a field of a JSON object at the top; false where it has none. */
bool json_field(const char *json, const char *name, char room[PROC_TEXT]);

#endif
