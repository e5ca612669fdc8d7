/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet that reaches what the person's own `ssh` reaches: options and settings laid over
 * ~/.ssh/config, known_hosts, keys and agent.
 */
#ifndef CLI_REMOTE_CONNECT_H
#define CLI_REMOTE_CONNECT_H

#include <stdbool.h>

#include "cli/frame/command.h"
#include "pssh/pssh.h"

struct prompt;

struct connect {
	struct pssh *fleet;
	struct prompt *prompt;
	bool ask_new;  /* an unknown host key is asked about, where there is a terminal */
	bool ask_all;  /* also where ssh_config says that it is refused */
	bool loosened; /* keys were accepted: not for another line of the shell */
	char *made_of; /* the settings as text: may a shell use it for another line? */
};

/*
 * An exit status, after saying what is wrong. Within the shell it may hand out the connection of
 * an earlier line; so always give it back by connect_close and never keep its hosts.
 */
int connect_open(struct nanopod *np, struct connect **out);
void connect_close(struct nanopod *np, struct connect *c);
void connect_free(struct connect *c);

/* The host with the options' user, port and jump where the name does not say them. An exit status. */
int connect_host(struct nanopod *np, struct connect *c, const char *name, struct pssh_host **out);

/* Hands the process over to the system's ssh with the same settings. Returns only on failure: a status. */
int connect_openssh(struct nanopod *np, const char *host, char *const *extra, char *const *command);

/* Where the shell keeps what stays warm; np->shell of cmd/shell.c begins with it. */
struct connect_warm {
	struct connect *kept[4]; /* one for each set of connection options */
	char *selection;         /* hosts of lines without -w, or NULL */
};

#endif
