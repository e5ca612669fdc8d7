/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_config(5) as OpenSSH 9.2 understands it: which settings would `ssh name` use? It reads files
 * once; each answer then comes from memory, without a lookup, a command or a file.
 */
#ifndef PSSH_CONFIG_SSHCONFIG_H
#define PSSH_CONFIG_SSHCONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct fail;
struct sshconfig;

int sshconfig_new(struct sshconfig **out);
void sshconfig_free(struct sshconfig *c);

/*
 * Adds a file. The first value wins, so add the user's file before the system's. Relative Include
 * paths of a user's file are below ~/.ssh, those of other files below /etc/ssh; only a user's file may
 * use `~`, and only its SendEnv counts. On failure adds nothing: PSSH_ENOENT, PSSH_ELOCAL (cannot be
 * read), PSSH_ESYNTAX (the text names file, line and keyword), PSSH_ENOMEM.
 */
int sshconfig_read(struct sshconfig *c, const char *path, bool user_file, struct fail *f);

enum sshconfig_strict {
	SSHCONFIG_STRICT_UNSET = -1,
	SSHCONFIG_STRICT_NO,          /* "off" too */
	SSHCONFIG_STRICT_YES,
	SSHCONFIG_STRICT_ASK,
	SSHCONFIG_STRICT_ACCEPT_NEW,
};

enum sshconfig_tty {
	SSHCONFIG_TTY_UNSET = -1, SSHCONFIG_TTY_NO, SSHCONFIG_TTY_YES, SSHCONFIG_TTY_FORCE, SSHCONFIG_TTY_AUTO,
};

/*
 * A setting that libpssh understands but cannot honour. A line has one such object for all hosts to
 * which it applies; the caller uses `told` to warn only once.
 */
struct sshconfig_warning {
	struct sshconfig_warning *next; /* of all files; see sshconfig_warnings() */
	const char *file, *keyword, *why;
	unsigned line;
	bool told;
};

/* All warnings, for any host; NULL: none. A host's answer has its own. */
struct sshconfig_warning *sshconfig_warnings(const struct sshconfig *c);

/*
 * Unset: NULL, and -1 for numbers except `port`, where it is 0. Tokens, ${NAME} and ~ are expanded.
 * Lists end with NULL; one that was set to "none" is empty, not NULL.
 */
struct sshconfig_answer {
	char *hostname;           /* what to dial; never NULL; by default the alias */
	char *user;               /* user_given first; NULL: the local user */
	char *host_key_alias;
	char *proxy_jump;         /* NULL, also for "none": no jump; else as written, tokens expanded */
	char *proxy_command;      /* NULL, also for "none"; for /bin/sh -c */
	char *identity_agent;     /* a socket's path, or "none"; SSH_AUTH_SOCK is already looked up */
	char *bind_address;
	char *bind_interface;
	char *preferred_authentications;
	char *remote_command;     /* NULL, also for "none" */
	char *forward_agent_socket; /* the path of ForwardAgent; forward_agent is then 1 */
	char *kex, *hostkeys, *ciphers, *macs, *pubkey_algorithms; /* as written, with a leading + - or ^ */

	char **identity_files;    /* unset: the caller's defaults */
	char **certificate_files;
	char **user_known_hosts;  /* unset: ~/.ssh/known_hosts, ~/.ssh/known_hosts2 */
	char **global_known_hosts; /* unset: /etc/ssh/ssh_known_hosts, /etc/ssh/ssh_known_hosts2 */
	char **send_env;          /* patterns, "-pattern" already applied */
	char **set_env;           /* "NAME=value" */

	unsigned port;            /* port_given first; 0: 22 */
	int connect_timeout;      /* s; 0: none */
	int connection_attempts;
	int server_alive_interval; /* s; 0: none */
	int server_alive_count_max;
	int number_of_password_prompts;
	int address_family;       /* AF_UNSPEC, AF_INET, AF_INET6 */
	int request_tty;          /* enum sshconfig_tty */
	int strict;               /* enum sshconfig_strict */
	int escape_char;          /* a character, or -2: none */

	/* 0 or 1 */
	int identities_only, pubkey, password, kbdint, batch_mode, forward_agent, hash_known_hosts;
	int warn_weak; /* 0: not of key exchanges that a quantum computer could break */
	int compression, tcp_keepalive, no_host_authentication_for_localhost;

	struct sshconfig_warning **warnings; /* those that apply to this host; the config owns them */
	size_t warning_count;
};

/*
 * The settings for `alias`. user_given (or NULL) and port_given (or 0) came with it, as in
 * user@alias:port; they win, and Match user and the tokens see them. PSSH_EINVAL, with out untouched,
 * if a token or an environment variable cannot be expanded.
 */
int sshconfig_find(const struct sshconfig *c, const char *alias, const char *user_given, unsigned port_given,
	struct sshconfig_answer *out, struct fail *f);
void sshconfig_answer_release(struct sshconfig_answer *a);

#endif
