/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpssh: run commands, copy files and open tunnels on thousands of hosts over SSH at once,
 * from one thread.
 *
 * A fleet (struct pssh) has hosts (struct pssh_host) and runs tasks (struct pssh_task) on them. The
 * caller pulls events out of it; the library never calls back, except for the log hook and the
 * resolver of a list:
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
 * To use it inside another event loop: poll pssh_fd() for reading, for at most pssh_timeout() ms,
 * then call pssh_next() until it returns 0. That takes at most about 20 ms, however much the hosts
 * send; if more waits, pssh_timeout() is 0.
 *
 * The library prints nothing, never exits, and reads no file, no environment and no agent unless
 * told to. Use a fleet from one thread at a time, except for pssh_wake(); fleets are independent of
 * each other, and any thread may make and free its own at any time. After fork() a fleet is the
 * parent's: the child may only call pssh_free().
 *
 * Functions that can fail return 0 or a negative code of PSSH_ERRORS. On failure they leave what
 * their last pointers point to untouched, and pssh_error() holds a sentence for a person. The
 * library copies all text that it is given.
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
 * last event. It does not wait for remote commands: cancel tasks first.
 */
void pssh_free(struct pssh *p);

/* The sentence of the last failed call on this fleet; "" if none has failed. */
const char *pssh_error(const struct pssh *p);

/*
 * The window: at most `opening` connections are being set up at once (default 128), and at most
 * `open` exist in all (default 0: no limit; if descriptors run out, hosts fail with PSSH_ELOCAL).
 * Hosts beyond it wait. At the limit `open` the longest idle connection closes to make room.
 */
int pssh_set_window(struct pssh *p, unsigned opening, unsigned open);

/* A deadline in milliseconds; 0: none. */
int pssh_set_deadline(struct pssh *p, enum pssh_phase phase, unsigned ms);

/*
 * How often to try a connection in all (default 1) if it fails with a retryable code. The pause is
 * first_ms (500) before the second try and doubles each time up to most_ms (30,000), with a random
 * quarter more or less. This never runs a command twice that has started.
 */
int pssh_set_retries(struct pssh *p, unsigned tries, unsigned first_ms, unsigned most_ms);

/*
 * Sends a keep-alive every ms (at least 2,000) on ready connections, those that exist included; 0:
 * none, the default. Closes a connection from which nothing came for three times as long.
 */
int pssh_set_keepalive(struct pssh *p, unsigned ms);

/*
 * Wins over StrictHostKeyChecking of the configuration, which decides if this is not called. Its
 * "no" counts as accept-new: a changed key is still refused.
 */
int pssh_set_hostkeys(struct pssh *p, enum pssh_hostkeys policy);

/*
 * Adds a file of known host keys. A file that does not exist counts as empty. The fleet appends new
 * keys to the first file added; without a file it remembers them as long as it lives. For hosts with
 * UserKnownHostsFile in the configuration, that replaces these files.
 */
int pssh_add_known_hosts(struct pssh *p, const char *path);

/*
 * Lines of known hosts that are in no file, for every host, whatever the configuration says.
 * PSSH_ESYNTAX: one of them is broken; then none counts.
 */
int pssh_add_known_hosts_text(struct pssh *p, const char *lines);

/*
 * A private key file to offer to every host, with `path`.pub and `path`-cert.pub if they exist. A
 * file that does not exist is skipped.
 */
int pssh_add_identity(struct pssh *p, const char *path);

/*
 * The same for the text of a private key. PSSH_EPASSPHRASE: the passphrase is wrong. Without one, a
 * locked key's passphrase is asked for when a server accepts the key. Trying one takes a second or more, here.
 */
int pssh_add_key(struct pssh *p, const void *text, size_t len, const char *passphrase);

/*
 * A public key, "ssh-ed25519 AAAA…", whose private part the program has: in a token or a key service, say.
 * Every host is offered it; PSSH_EV_SIGN asks the program for each signature.
 */
int pssh_add_signer(struct pssh *p, const char *public_key);

/* The agent's socket; NULL: no agent (the default). */
int pssh_set_agent(struct pssh *p, const char *socket_path);

/*
 * Reads a file in the format of ssh_config(5); hosts made later take their settings from it. May be
 * called for several files: the first value wins, as in ssh. It fails on what it cannot understand,
 * with a sentence that names file, line and keyword. It logs a setting that the library cannot
 * honour at PSSH_LOG_WARN.
 */
int pssh_read_config(struct pssh *p, const char *path);

/*
 * Reads what ssh reads: config, known_hosts and the usual identities in ~/.ssh, the files in /etc/ssh,
 * and the agent's socket from SSH_AUTH_SOCK; of the files, those that exist. Call it before the first
 * pssh_host(). With a directory it reads that instead of ~/.ssh, and nothing of /etc/ssh.
 */
int pssh_like_ssh(struct pssh *p, const char *directory);

/*
 * Preferred algorithms, best first, comma-separated. The default begins with ML-KEM and sntrup761
 * where libssh2 has them, then curve25519, ed25519 and AES, because they take a third of the
 * processor time of libssh2's own order, and continues with everything that libssh2 has except weak
 * ones.
 */
int pssh_set_algorithms(struct pssh *p, enum pssh_algorithm kind, const char *list);

/*
 * 1: logs a warning, once, about a connection whose key exchange a quantum computer could break
 * though the server offers a better one, which libssh2 lacks. 0 (default): does not. WarnWeakCrypto
 * of the configuration can exclude hosts.
 */
int pssh_set_warn_weak(struct pssh *p, int on);

/* 1: questions for a person become PSSH_EV_PROMPT; 0 (default): keys and methods that need an answer are skipped. */
int pssh_set_prompts(struct pssh *p, int on);

/* The log hook; NULL: none. It must not call any function on the fleet. */
int pssh_set_log(struct pssh *p, enum pssh_log_level level,
	void (*sink)(void *arg, enum pssh_log_level level, const char *text), void *arg);

/* ---- Connections that outlive their process --------------------------------------------- */

/*
 * Looks in this folder for connections that other processes of this user left there, and uses those
 * that were made to the same place, by the same way, as the same user, with the same settings and keys,
 * and whose host key the fleet accepts. pssh_free() leaves its idle connections there: a process that
 * it forks, the keeper, lends each to one fleet at a time, and closes it after so many seconds without
 * use (at most a week; 0: leaves none). Makes the folder if it does not exist; refuses one that another
 * user owns or may enter. NULL: neither (the default). It keeps no connection for which a password was
 * typed, whose signature somebody may have confirmed (an agent took a second or longer, or the program
 * answered PSSH_EV_SIGN), or that a proxy command carries.
 */
int pssh_set_keep(struct pssh *p, const char *folder, unsigned seconds);

/* Leaves the idle connections now. Tasks that follow on these hosts borrow them. */
int pssh_keep(struct pssh *p);

/*
 * What the folder of pssh_set_keep() has: free() *list. Keepers that do not answer are counted in
 * *silent only. pssh_keep_stop() also has each closed as soon as nobody uses it, and kills the keepers
 * that do not answer.
 */
int pssh_keep_list(struct pssh *p, struct pssh_kept **list, size_t *count, size_t *silent);
int pssh_keep_stop(struct pssh *p, struct pssh_kept **list, size_t *count, size_t *silent);

/* ---- Lists of host names --------------------------------------------------------------- */

/*
 * Names by range: "n[01-64,70]", "n[1-9/2]", "r[1-4]n[1-16]", "user@h[1-2]:2222", "a,b c", "@group"
 * through a resolver. "x[1-9]!x[3,5]" leaves names out of one word, "-x3" or "!x3" removes names from
 * the whole list. A list keeps the order and has each name once.
 */
struct pssh_list;

int pssh_list_new(struct pssh_list **out);
void pssh_list_free(struct pssh_list *l);
const char *pssh_list_error(const struct pssh_list *l);

/* fn adds the group's members to `into` by pssh_list_add, or returns a negative code. */
int pssh_list_set_resolver(struct pssh_list *l,
	int (*fn)(void *arg, const char *group, struct pssh_list *into), void *arg);

/* Change nothing on failure. A list has at most 1,000,000 names. */
int pssh_list_add(struct pssh_list *l, const char *text);
/* "-": standard input. # begins a comment; a line "#include FILE" stands for the lines of that file. */
int pssh_list_add_file(struct pssh_list *l, const char *path);
int pssh_list_drop(struct pssh_list *l, const char *text);

size_t pssh_list_count(const struct pssh_list *l);
const char *pssh_list_get(const struct pssh_list *l, size_t i); /* NULL past the end */

/* The shortest text that expands to the same set; free() it. */
int pssh_list_fold(const struct pssh_list *l, char **out);

/* ---- Hosts ----------------------------------------------------------------------------- */

/*
 * The host that `spec` names: "name", "user@name", "name:port", "[::1]:port" or
 * "ssh://user@name:port". The same spec gives the same host, with its connection.
 */
int pssh_host(struct pssh *p, const char *spec, struct pssh_host **out);

/*
 * These take effect with the next connection; user and port of the spec win over them. NULL or 0
 * goes back to the configuration's value.
 */
int pssh_host_set_address(struct pssh_host *h, const char *address);
int pssh_host_set_port(struct pssh_host *h, unsigned port);
int pssh_host_set_user(struct pssh_host *h, const char *user);
int pssh_host_set_jump(struct pssh_host *h, const char *jumps);      /* "a,user@b:22"; "none" */
int pssh_host_set_proxy(struct pssh_host *h, const char *command);   /* run by /bin/sh -c; "none" */

/*
 * A connected stream socket for the next connection, instead of address, jump hosts and proxy; -1:
 * none. The library takes it over and closes it. Later connections are made as if it had not been.
 */
int pssh_host_set_fd(struct pssh_host *h, int fd);
int pssh_host_add_identity(struct pssh_host *h, const char *path);

/*
 * The only key that the host may show: "ssh-ed25519 AAAA…" or "SHA256:…". May be called for several
 * keys; NULL removes them all. With PSSH_HOSTKEYS_ACCEPT_NEW a key that is not known yet is also
 * written to the known hosts.
 */
int pssh_host_pin(struct pssh_host *h, const char *key);

const char *pssh_host_name(const struct pssh_host *h);     /* the spec */
const char *pssh_host_address(const struct pssh_host *h);
const char *pssh_host_user(const struct pssh_host *h);
unsigned pssh_host_port(const struct pssh_host *h);
const char *pssh_host_jump(const struct pssh_host *h);     /* "a,user@b:22", or its proxy command, or "" */
const char *pssh_host_identity(const struct pssh_host *h, size_t i); /* key file i that it offers, or NULL */
const char *pssh_host_error(const struct pssh_host *h);    /* the sentence of its last failure, or "" */
const char *pssh_host_fingerprint(const struct pssh_host *h); /* "SHA256:…" of the last key that it showed, or "" */
/* Of its connection, or of the last one. size: sizeof *out. PSSH_ENOENT: there has been none. */
int pssh_host_facts(const struct pssh_host *h, struct pssh_facts *out, size_t size);
/* While it is connected: the key by which it was verified, "ssh-ed25519 AAAA…", until the next call; else "". */
const char *pssh_host_key(struct pssh_host *h);
/*
 * The lines of the known hosts that decide about this host's key, under its own name: free() *lines. For a program on
 * another machine that connects to it in our place, by pssh_add_known_hosts_text().
 */
int pssh_host_known(struct pssh_host *h, char **lines);
/*
 * Writes down a key that such a program accepted, "ssh-ed25519 AAAA…", as PSSH_HOSTKEYS_ACCEPT_NEW does: PSSH_EHOSTKEY
 * where another one is known or pinned, PSSH_EREVOKED where it is revoked.
 */
int pssh_host_remember(struct pssh_host *h, const char *key);
int pssh_host_connected(const struct pssh_host *h);
int pssh_host_strict(const struct pssh_host *h);          /* 1: refuse unknown keys without asking */

/*
 * Connects before a task needs it, within the window. PSSH_EV_HOST_UP or PSSH_EV_HOST_DOWN tells the
 * result; no event if it is connected already.
 */
int pssh_host_connect(struct pssh_host *h);
void pssh_host_close(struct pssh_host *h);                 /* its tasks fail with PSSH_ECLOSED */

/*
 * Closes its connection and frees it. Its events that were not pulled yet are dropped; the same spec
 * gives a new host later. A host that a task still has stays as it is: PSSH_EINVAL.
 */
int pssh_host_free(struct pssh_host *h);
void pssh_host_set_data(struct pssh_host *h, void *data);
void *pssh_host_data(const struct pssh_host *h);

/* ---- Tasks ----------------------------------------------------------------------------- */

/* A command, passed unchanged to the user's shell on each host. NULL: a login shell. */
int pssh_exec(struct pssh *p, const char *command, struct pssh_task **out);

/*
 * Copies to a temporary name beside the target, then renames it. In the local path of a get, and of a
 * put with PSSH_COPY_PER_HOST, "{host}" stands for the host's name; a get from several hosts needs it.
 * A remote path is relative to the home directory and may begin with "~/". A target that is a directory
 * or ends in '/', which makes it one, receives the source under its own name; any other is the new name.
 */
int pssh_put(struct pssh *p, const char *local, const char *remote, unsigned flags, struct pssh_task **out);
int pssh_get(struct pssh *p, const char *remote, const char *local, unsigned flags, struct pssh_task **out);

/*
 * The same from memory, which is copied, to the path of a file. A new file gets the mode minus the
 * host's umask; one that is replaced keeps its own.
 */
int pssh_put_data(struct pssh *p, const void *data, size_t len, const char *remote, unsigned mode,
	struct pssh_task **out);

/* A file's bytes in one PSSH_EV_STDOUT; PSSH_EREMOTE: it has more than limit (0: 1 MiB). */
int pssh_get_data(struct pssh *p, const char *remote, size_t limit, struct pssh_task **out);

/*
 * What a path is, following links: one PSSH_EV_FILE. What is in a directory, itself and its parent
 * left out: one for each name. PSSH_ENOENT: it does not exist.
 */
int pssh_stat(struct pssh *p, const char *remote, struct pssh_task **out);
int pssh_read_dir(struct pssh *p, const char *remote, struct pssh_task **out);

/*
 * Listens on a local "address:port" (port 0: any free one, see pssh_tunnel_port) or unix socket path
 * and carries each connection to "host:port" as seen from the task's only host.
 */
int pssh_tunnel(struct pssh *p, const char *listen, const char *target, struct pssh_task **out);
/* The same, but each connection says by SOCKS (5, 4a, 4) where it leads, as seen from the host. */
int pssh_tunnel_socks(struct pssh *p, const char *listen, struct pssh_task **out);

/*
 * The other way round: the host listens on "address:port" (its sshd decides what it permits;
 * "localhost": for itself) and each connection leads to "host:port" as seen from this machine.
 */
int pssh_tunnel_back(struct pssh *p, const char *listen, const char *target, struct pssh_task **out);

unsigned pssh_tunnel_port(const struct pssh_task *t);

/*
 * A channel of the task's only host as a descriptor: bytes written to *fd go to the target, and what
 * comes from there can be read. *fd is a non-blocking stream socket, which the caller closes. Bytes
 * flow while events are pulled. The task ends when both sides have ended; PSSH_ECANCEL: the caller
 * closed *fd before.
 */
int pssh_channel(struct pssh *p, enum pssh_channel_kind kind, const char *target, int *fd, struct pssh_task **out);

int pssh_task_add(struct pssh_task *t, struct pssh_host *h); /* before or after the start */
int pssh_task_start(struct pssh_task *t);

/* Stops the task at once if it still runs, and drops its events that were not pulled yet. */
void pssh_task_free(struct pssh_task *t);

/*
 * How output becomes events. The library reads no output while nobody pulls events; the channel's
 * window then holds the server back. So it only ever holds an incomplete line (one longer than the
 * ceiling comes in pieces) and gathered output (`policy` says what happens beyond the ceiling). The
 * ceiling is for one stream of one host; 0: the default, 1 MiB.
 */
int pssh_task_set_output(struct pssh_task *t, enum pssh_output mode, size_t ceiling, enum pssh_overflow policy);

/* The library does not report a variable that the server refuses. */
int pssh_task_set_env(struct pssh_task *t, const char *name, const char *value);
int pssh_task_set_pty(struct pssh_task *t, const char *term, unsigned columns, unsigned rows);
int pssh_task_resize(struct pssh_task *t, struct pssh_host *h, unsigned columns, unsigned rows);
int pssh_task_set_deadline(struct pssh_task *t, unsigned ms);      /* overrides PSSH_PHASE_TASK */

/*
 * A copy may use n connections to each host, 1 (the default) to PSSH_STREAMS: pieces of files of at
 * least 16 MiB go over all of them. Those beyond the first are made when such a file comes, where that
 * asks no person anything; one that fails costs speed only.
 */
int pssh_task_set_streams(struct pssh_task *t, unsigned n);

/*
 * An enum pssh_agent_forward: commands may use the agent here, to list its keys and to sign. So may root on
 * the host. PSSH_EUNSUPPORTED: PSSH_FORWARD_YES, and libssh2 is older than 1.11.
 */
int pssh_task_set_agent_forward(struct pssh_task *t, int how);
void pssh_task_set_data(struct pssh_task *t, void *data);
void *pssh_task_data(const struct pssh_task *t);
size_t pssh_task_left(const struct pssh_task *t);                  /* hosts that have not ended yet */

/*
 * For one host that was added and has not begun: another command (NULL: the task's), variables after
 * the task's, and another deadline (of copies and tunnels too).
 */
int pssh_task_set_host_command(struct pssh_task *t, struct pssh_host *h, const char *command);
int pssh_task_set_host_env(struct pssh_task *t, struct pssh_host *h, const char *name, const char *value);
int pssh_task_set_host_deadline(struct pssh_task *t, struct pssh_host *h, unsigned ms);

/*
 * Standard input. Without these calls the commands read end-of-file at once. After
 * pssh_task_open_input() they wait for pssh_task_write(), until pssh_task_end_input(). h NULL: all
 * hosts; the library keeps one copy, and each host takes it at its own speed. PSSH_EAGAIN: 1 MiB
 * waits already; go on after the next PSSH_EV_WRITABLE.
 */
int pssh_task_open_input(struct pssh_task *t);
int pssh_task_write(struct pssh_task *t, struct pssh_host *h, const void *data, size_t len);
int pssh_task_end_input(struct pssh_task *t, struct pssh_host *h);

/*
 * Sends `signal` ("INT", "TERM", …) to every process of the task, waits grace_ms, then sends KILL to
 * those that are left. Hosts that have not begun end at once with PSSH_ECANCEL. Each other host ends
 * with its own event, whose text tells what happened to the processes (for PSSH_EV_SIGNAL: the signal).
 */
int pssh_task_cancel(struct pssh_task *t, const char *signal, unsigned grace_ms);

/* The same for one host, which PSSH_ENOENT says is not in the task or has ended. The others go on. */
int pssh_task_cancel_host(struct pssh_task *t, struct pssh_host *h, const char *signal, unsigned grace_ms);

/* Closes the channels without waiting; every host that has not ended does so with PSSH_ECANCEL. */
int pssh_task_stop(struct pssh_task *t);
int pssh_task_stop_host(struct pssh_task *t, struct pssh_host *h);

/* ---- Events ---------------------------------------------------------------------------- */

/*
 * 1: *ev is the next event; 0: none now, or calls in a row have taken 20 ms and it is the program's
 * turn; or a code. An event, with its text and data, is valid until the next pssh_next() or pssh_wait(),
 * or until a call that frees, cancels, stops or closes what it is about.
 */
int pssh_next(struct pssh *p, const struct pssh_event **ev);

/* The same, but sleeps up to ms (-1: for ever) for an event. 0 also after a signal was caught, or pssh_wake(). */
int pssh_wait(struct pssh *p, const struct pssh_event **ev, int ms);

/*
 * Makes a pssh_wait() that sleeps, or else the next one, return 0, and pssh_fd() readable until a
 * call of pssh_next(). The only function that another thread or a signal handler may call on a fleet.
 */
void pssh_wake(struct pssh *p);

int pssh_fd(const struct pssh *p);
int pssh_timeout(const struct pssh *p);

/*
 * Answers a prompt; NULL declines it. A thread of the library tries a passphrase, and asks again if it is
 * wrong. The library wipes its copies of the text after use.
 */
int pssh_answer(struct pssh *p, uint64_t prompt, const char *text);

/*
 * Answers PSSH_EV_SIGN with the signature as EVP_DigestSign() and key services make it: 64 bytes of Ed25519,
 * RSA's number (PKCS #1 v1.5), ECDSA's two in DER. NULL declines. The event's status is the hash to use: 256, 384
 * or 512 of SHA-2, 1 for SHA-1, 0 for Ed25519. PSSH_EINVAL: that is no such signature; the question stays open.
 */
int pssh_answer_sign(struct pssh *p, uint64_t prompt, const void *signature, size_t len);

/*
 * Answers PSSH_EV_HOSTKEY, of which status PSSH_EHOSTNEW says that the key is unknown and PSSH_EHOSTKEY that
 * another one is known. data, len: the key, "ssh-ed25519 AAAA…". The host waits for the answer without a deadline.
 */
int pssh_answer_hostkey(struct pssh *p, uint64_t prompt, enum pssh_hostkey_answer answer);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
