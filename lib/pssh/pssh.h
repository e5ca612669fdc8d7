/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpssh: run commands, copy files and open tunnels on thousands of hosts over SSH at once,
 * from one thread.
 *
 * A fleet (struct pssh) knows hosts (struct pssh_host) and does tasks (struct pssh_task). What
 * happens is pulled out of it as events; nothing is ever called back, but for the log hook:
 *
 *     struct pssh *p;
 *     struct pssh_host *h;
 *     struct pssh_task *t;
 *     const struct pssh_event *ev;
 *
 *     pssh_new(&p);
 *     pssh_host(p, "root@n1", &h);
 *     pssh_exec(p, "uptime", &t);
 *     pssh_task_add(t, h);
 *     pssh_task_start(t);
 *     while (pssh_wait(p, &ev, -1) > 0 && ev->type != PSSH_EV_DONE)
 *             if (ev->type == PSSH_EV_STDOUT)
 *                     fwrite(ev->data, 1, ev->len, stdout);
 *     pssh_free(p);
 *
 * To live inside another loop instead: poll pssh_fd() for reading and for at most
 * pssh_timeout() ms, then call pssh_next() until it returns 0.
 *
 * The library prints nothing, never exits, keeps no globals, and reads no file, no environment
 * and no agent unless it is told to. A fleet belongs to one thread at a time; two fleets know
 * nothing of each other.
 *
 * Functions that can fail return 0 or a negative code of PSSH_ERRORS, and leave what their last
 * pointers point to untouched when they fail; pssh_error() then holds a sentence for a person.
 * Text that is handed in is copied.
 */
#ifndef PSSH_H
#define PSSH_H

#include "pssh_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

const char *pssh_version(void);       /* "1.2.3" */

/* ---- Fleet ----------------------------------------------------------------------------- */

int pssh_new(struct pssh **out);

/*
 * Closes every connection at once and frees all that belongs to the fleet: hosts, tasks, the
 * last event. What runs remotely is not waited for: cancel tasks first.
 */
void pssh_free(struct pssh *p);

/* The sentence of the last call on this fleet that failed; "" where none did. */
const char *pssh_error(const struct pssh *p);

/*
 * Window: at most `opening` connections between dialling and being ready at once (default 128),
 * and at most `open` in all (default 0: no limit; where descriptors run out, hosts fail with
 * PSSH_ELOCAL). Hosts beyond it wait; at `open` the longest idle connection is closed to make room.
 */
int pssh_set_window(struct pssh *p, unsigned opening, unsigned open);

/* A deadline in milliseconds; 0: none. */
int pssh_set_deadline(struct pssh *p, enum pssh_phase phase, unsigned ms);

/*
 * How often a connection that fails in a way that may pass is tried (default 1), waiting
 * first_ms (500) before the second try, doubled each time up to most_ms (30,000), with a random
 * quarter more or less. A command that has started is never run twice by this.
 */
int pssh_set_retries(struct pssh *p, unsigned tries, unsigned first_ms, unsigned most_ms);

/*
 * A keep-alive every ms (at least 2,000) once ready; 0: none, the default. Nothing heard for three
 * times as long closes the connection.
 */
int pssh_set_keepalive(struct pssh *p, unsigned ms);

/*
 * Wins over StrictHostKeyChecking of the configuration, which decides where this is not called;
 * its "no" counts as accept-new: a changed key is refused all the same.
 */
int pssh_set_hostkeys(struct pssh *p, enum pssh_hostkeys policy);

/*
 * Adds a file of known host keys. A file that does not exist counts as empty. New keys are
 * appended to the first one added; without any they are remembered for this fleet's life.
 * UserKnownHostsFile of a configuration takes the place of these for its hosts.
 */
int pssh_add_known_hosts(struct pssh *p, const char *path);

/*
 * A private key file to offer to every host; `path`.pub and `path`-cert.pub are used where there.
 * One that does not exist is passed over.
 */
int pssh_add_identity(struct pssh *p, const char *path);

/* The agent's socket; NULL: no agent (the default). */
int pssh_set_agent(struct pssh *p, const char *socket_path);

/*
 * Reads a file in the format of ssh_config(5); hosts made later take their settings from it.
 * May be called for several files: the first value wins, as in ssh. What is not understood makes
 * it fail with a sentence that names file, line and keyword; what is understood but cannot be
 * honoured is said at PSSH_LOG_WARN.
 */
int pssh_read_config(struct pssh *p, const char *path);

/*
 * Preferred algorithms, best first, separated by commas. The default begins with curve25519,
 * ed25519 and AES, because they take a third of the processor time of libssh2's own order, and
 * ends with all that libssh2 has, weak ones left out.
 */
int pssh_set_algorithms(struct pssh *p, enum pssh_algorithm kind, const char *list);

/* 1: questions for a person come out as PSSH_EV_PROMPT; 0 (default): what needs one is skipped. */
int pssh_set_prompts(struct pssh *p, int on);

/* The one hook. It must not call back into the fleet. */
int pssh_set_log(struct pssh *p, enum pssh_log_level level,
	void (*sink)(void *arg, enum pssh_log_level level, const char *text), void *arg);

/* ---- Lists of host names --------------------------------------------------------------- */

/*
 * Names by range: "n[01-64,70]", "n[1-9/2]", "r[1-4]n[1-16]", "user@h[1-2]:2222", "a,b c", "@group"
 * through a resolver. "x[1-9]!x[3,5]" leaves some out of one word, "-x3" or "!x3" takes out of the
 * whole list. Order is kept, a name counts once.
 */
struct pssh_list;

int pssh_list_new(struct pssh_list **out);
void pssh_list_free(struct pssh_list *l);
const char *pssh_list_error(const struct pssh_list *l);

/* fn adds the group's members to `into` by pssh_list_add, or returns a negative code. */
int pssh_list_set_resolver(struct pssh_list *l,
	int (*fn)(void *arg, const char *group, struct pssh_list *into), void *arg);

/* Nothing is changed where the text cannot be understood. At most 1,000,000 names in a list. */
int pssh_list_add(struct pssh_list *l, const char *text);
int pssh_list_add_file(struct pssh_list *l, const char *path); /* "-": standard input; # comments */
int pssh_list_drop(struct pssh_list *l, const char *text);

size_t pssh_list_count(const struct pssh_list *l);
const char *pssh_list_get(const struct pssh_list *l, size_t i); /* NULL past the end */

/* The shortest text that expands to the same set; free() it. */
int pssh_list_fold(const struct pssh_list *l, char **out);

/* ---- Hosts ----------------------------------------------------------------------------- */

/*
 * The host that a person would call `spec`: "name", "user@name", "name:port", "[::1]:port",
 * "ssh://user@name:port". The same spec gives the same host, with its connection.
 */
int pssh_host(struct pssh *p, const char *spec, struct pssh_host **out);

/*
 * All take effect with the next connection; user and port of the spec win over them. NULL or 0
 * given to a set function goes back to the configuration's.
 */
int pssh_host_set_address(struct pssh_host *h, const char *address);
int pssh_host_set_port(struct pssh_host *h, unsigned port);
int pssh_host_set_user(struct pssh_host *h, const char *user);
int pssh_host_set_jump(struct pssh_host *h, const char *jumps);      /* "a,user@b:22"; "none" */
int pssh_host_set_proxy(struct pssh_host *h, const char *command);   /* run by /bin/sh -c; "none" */
int pssh_host_add_identity(struct pssh_host *h, const char *path);

/*
 * Its key, and no other: "ssh-ed25519 AAAA…" or "SHA256:…". May be called for several; NULL
 * forgets them. With PSSH_HOSTKEYS_ACCEPT_NEW it is written down too where it is not known yet.
 */
int pssh_host_pin(struct pssh_host *h, const char *key);

const char *pssh_host_name(const struct pssh_host *h);     /* the spec */
const char *pssh_host_address(const struct pssh_host *h);
const char *pssh_host_user(const struct pssh_host *h);
unsigned pssh_host_port(const struct pssh_host *h);
const char *pssh_host_jump(const struct pssh_host *h);     /* "a,user@b:22", or its proxy command; "" for neither */
const char *pssh_host_error(const struct pssh_host *h);    /* its last failure's sentence, or "" */
const char *pssh_host_fingerprint(const struct pssh_host *h); /* "SHA256:…" once seen, or "" */
int pssh_host_connected(const struct pssh_host *h);
int pssh_host_strict(const struct pssh_host *h);          /* 1: the caller or ssh_config refuses unknown keys unasked */
void pssh_host_close(struct pssh_host *h);                 /* its tasks fail with PSSH_ECLOSED */
void pssh_host_set_data(struct pssh_host *h, void *data);
void *pssh_host_data(const struct pssh_host *h);

/* ---- Tasks ----------------------------------------------------------------------------- */

/* A command, given to the user's shell on each host as it is. NULL: a login shell. */
int pssh_exec(struct pssh *p, const char *command, struct pssh_task **out);

/*
 * Copies to a temporary name beside the target, then renames it. In the local path of a get
 * "{host}" stands for the host's name. A remote path is relative to the home directory, and
 * "~/" is understood. A path that ends in '/' or names a directory receives the file under its
 * own name.
 */
int pssh_put(struct pssh *p, const char *local, const char *remote, unsigned flags, struct pssh_task **out);
int pssh_get(struct pssh *p, const char *remote, const char *local, unsigned flags, struct pssh_task **out);

/*
 * Listens on a local "address:port" (port 0: any, see pssh_tunnel_port) or unix socket path and
 * carries each connection to "host:port" as seen from the task's one host.
 */
int pssh_tunnel(struct pssh *p, const char *listen, const char *target, struct pssh_task **out);
unsigned pssh_tunnel_port(const struct pssh_task *t);

int pssh_task_add(struct pssh_task *t, struct pssh_host *h); /* before or after the start */
int pssh_task_start(struct pssh_task *t);

/* Stops at once where it still runs. Its events that were not pulled yet are forgotten. */
void pssh_task_free(struct pssh_task *t);

/*
 * How output comes out. What is not pulled is not read: the server is held back by the channel's
 * window, so only two things are ever held here: a line that is not whole yet (longer than the
 * ceiling, it comes out in pieces) and gathered output (beyond the ceiling, `policy` says). The
 * ceiling is for one stream of one host; default 1 MiB.
 */
int pssh_task_set_output(struct pssh_task *t, enum pssh_output mode, size_t ceiling, enum pssh_overflow policy);

/* A variable that the server refuses is left out, and not told. */
int pssh_task_set_env(struct pssh_task *t, const char *name, const char *value);
int pssh_task_set_pty(struct pssh_task *t, const char *term, unsigned columns, unsigned rows);
int pssh_task_resize(struct pssh_task *t, struct pssh_host *h, unsigned columns, unsigned rows);
int pssh_task_set_deadline(struct pssh_task *t, unsigned ms);      /* overrides PSSH_PHASE_TASK */
int pssh_task_set_agent_forward(struct pssh_task *t, int on);      /* 1: PSSH_EUNSUPPORTED, by libssh2 */
void pssh_task_set_data(struct pssh_task *t, void *data);
void *pssh_task_data(const struct pssh_task *t);
size_t pssh_task_left(const struct pssh_task *t);                  /* hosts not at their end yet */

/*
 * Standard input. With no call at all the commands read end-of-file at once. After
 * pssh_task_open_input() they wait for what pssh_task_write() brings, h NULL: to every host (one
 * copy is kept, each host takes it at its own speed), until pssh_task_end_input().
 * PSSH_EAGAIN: 1 MiB waits already; go on after the next PSSH_EV_WRITABLE.
 */
int pssh_task_open_input(struct pssh_task *t);
int pssh_task_write(struct pssh_task *t, struct pssh_host *h, const void *data, size_t len);
int pssh_task_end_input(struct pssh_task *t, struct pssh_host *h);

/*
 * Sends `signal` ("INT", "TERM", …) to every process of the task, waits grace_ms, then ends those
 * that are left with KILL. Hosts not begun yet end at once with PSSH_ECANCEL. Each host still ends
 * with its own event, whose text says what became of the processes (of a SIGNAL it is the signal).
 */
int pssh_task_cancel(struct pssh_task *t, const char *signal, unsigned grace_ms);

/* Stops waiting: closes the channels; every host left ends with PSSH_ECANCEL. */
int pssh_task_stop(struct pssh_task *t);

/* ---- Events ---------------------------------------------------------------------------- */

/* 1: *ev is the next event, valid until the next call on the fleet; 0: none now; or a code. */
int pssh_next(struct pssh *p, const struct pssh_event **ev);

/* The same, sleeping up to ms (-1: for ever) for one. 0 also after a signal was caught. */
int pssh_wait(struct pssh *p, const struct pssh_event **ev, int ms);

int pssh_fd(const struct pssh *p);
int pssh_timeout(const struct pssh *p);

/* Answers a prompt; NULL: declines it. The text is wiped after use. */
int pssh_answer(struct pssh *p, uint64_t prompt, const char *text);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
