/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a fleet that reaches what the person's own `ssh` reaches: ~/.ssh/config, known_hosts, keys and agent, with
 * options and settings over them.
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
	bool ask_new;  /* asks about an unknown host key, where there is a terminal */
	bool ask_all;  /* asks even where ssh_config refuses it */
	bool loosened; /* keys were accepted: another line of the shell may not use it */
	char *made_of; /* the settings as text, by which the shell tells whether another line may use it */
};

/*
 * An exit status, after an error message. In the shell it may hand out the connection of an earlier line, so
 * always return it by connect_close() and never keep its hosts.
 */
int connect_open(struct nanopod *np, struct connect **out);
void connect_close(struct nanopod *np, struct connect *c);
void connect_free(struct connect *c);

/* Adds the host, with the options' user, port and jump where its name has none. An exit status. */
int connect_host(struct nanopod *np, struct connect *c, const char *name, struct pssh_host **out);

/*
 * Writes the host keys of a node under its id to a file in ~/.cache, as ssh reads known hosts; a malloc'd path. An exit
 * status.
 */
struct node;
int connect_key_file(struct nanopod *np, const struct node *n, char **out);

/* Replaces this process by the system's ssh with the same settings. Returns only on failure: a status. */
int connect_openssh(struct nanopod *np, const char *host, char *const *extra, char *const *command);

/* Connections that the shell keeps open; np->shell of cmd/shell.c begins with it. */
struct connect_warm {
	struct connect *kept[4]; /* one per set of connection options */
	char *selection;         /* hosts of lines without -w, or NULL */
};

#endif
