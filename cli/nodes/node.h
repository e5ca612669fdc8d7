/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account's nodes, as the market tells them: where each is reached, and by which host key. A
 * command asks once, and only where something that was typed needs it.
 */
#ifndef CLI_NODES_NODE_H
#define CLI_NODES_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/frame/command.h"
#include "cli/trade/market_link.h"

struct node {
	char *id, *name, *status_text, *message;
	char *reservation, *pool;      /* its name and its id */
	char *type, *zone;
	enum model_instance_status status;
	bool host_down;                /* the market knows that its host is silent or broken */
	int64_t end, created, updated; /* end 0: not told */
	char *hostname, *user;         /* hostname NULL: nowhere to be reached yet; user NULL: not told */
	unsigned port;
	char **keys;                   /* host keys: "ssh-ed25519 AAAA…" */
	size_t key_count;
};

struct nodes {
	struct node *list;
	size_t count;
	bool chosen;                   /* connect_host() and the selection look here: the nodes of this command */
};

/*
 * Those of one reservation (name or id; NULL: of all), by name; all: ended ones too. 0, or a negative
 * code in m->fail. A market of somebody else's is asked node by node for the way there.
 */
int nodes_load(struct market_link *m, const char *reservation, bool all, struct nodes **out);
void nodes_free(struct nodes *n); /* NULL too */

/* By name or id; of several that had a name the one that lives. NULL. */
const struct node *nodes_find(const struct nodes *n, const char *name);

/* The same for a host as it was typed: "user@name"; what has a port is no node. NULL. */
const struct node *nodes_of_host(const struct nodes *n, const char *host);

bool node_lives(const struct node *n);                             /* runs or will run */
bool node_in(const struct node *n, const char *reservation);       /* by its name or id */
const char *node_state(const struct node *n);                      /* for people: "pending", "running", "failed" … */
bool node_reachable(const struct node *n);                         /* runs, and it is known where */

/* An exit status, after saying why this node cannot be reached (yet) and what to do. */
int node_unreachable(struct nanopod *np, const struct node *n);

/*
 * np->nodes: those that live, asked once for this command and remembered for completion. 0, or an
 * exit status and it was said why.
 */
int nodes_know(struct nanopod *np);

/* The same again, as things are now. */
int nodes_know_again(struct nanopod *np);

/*
 * Are any of these names those of nodes? Where the names that the market told before have one of
 * them, or sure is true, it is asked, but not for long: where it does not answer, they are hosts like others.
 */
void nodes_guess(struct nanopod *np, const char *const *names, size_t count, bool sure);

/* The same for one host, which is asked about where neither ssh_config nor known_hosts has named it. */
void nodes_guess_host(struct nanopod *np, const char *host);

/* np->nodes as things are now, without a word. False: the market does not answer, and they are what they were. */
bool nodes_look_again(struct nanopod *np);

#endif
