/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account's nodes as the market lists them, with address and host keys. A command asks the market once, and
 * only where something that was typed needs it.
 */
#ifndef CLI_NODES_NODE_H
#define CLI_NODES_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/nodes/nodedata.h"
#include "cli/frame/command.h"
#include "cli/trade/market_link.h"

/*
 * Loads the nodes of one reservation (name or id; NULL: of all), sorted by name; all: ended ones too. 0, or a
 * negative code in m->fail. Asks a market that is not one of ours node by node for addresses.
 */
int nodes_load(struct market_link *m, const char *reservation, bool all, struct nodes **out);
/* By name or id; of several with the name the pending or running one. NULL: none. */
const struct node *nodes_find(const struct nodes *n, const char *name);

/* The same for a host as typed, "user@name"; one with a port is not a node. NULL. */
const struct node *nodes_of_host(const struct nodes *n, const char *host);

const char *node_state(const struct node *n);                      /* "pending", "running", "failed" … */
const char *node_state_told(const struct node *n);                 /* for people: with what hinders it */
bool node_reachable(const struct node *n);                         /* runs, and its address is known */

/* The word that people see for an instance's status; text: the market's own word, for a status that is not known. */
const char *node_word(enum model_instance_status status, const char *text);

/* Tells people shortly before the end of a node that runs how to keep it; nothing where it has more time. */
void node_tell_end(struct nanopod *np, const struct node *n);

/* Prints why the node cannot be reached (yet) and what to do. An exit status. */
int node_unreachable(struct nanopod *np, const struct node *n);
/* The same for a node whose host keys the market does not know. */
int node_keyless(struct nanopod *np, const struct node *n);

/*
 * Fills np->nodes with pending and running nodes: asks the market once per command, and remembers the names for
 * completion. Where the market is away, those that it told last do, and a note says so once. 0, or an exit status
 * after an error message.
 */
int nodes_know(struct nanopod *np);

/* Asks again. */
int nodes_know_again(struct nanopod *np);

/*
 * Loads the nodes where one of these names may be a node: where completion remembers it, or sure is true, or nothing
 * was ever listed and ssh does not know the first of them. Waits only briefly: where the market does not answer and
 * told nothing before, the names are taken for plain hosts.
 */
void nodes_guess(struct nanopod *np, const char *const *names, size_t count, bool sure);

/* The same for one host; asks where neither ssh_config nor known_hosts knows it. */
void nodes_guess_host(struct nanopod *np, const char *host);

/* Is there a market and a token, and was it not asked yet? */
bool nodes_can_ask(const struct nanopod *np);

/* Has ssh_config or known_hosts that host, or is it an address? */
bool nodes_host_known(const struct nanopod *np, const char *host);

/* Loads np->nodes again, silently. False: the market does not answer, and np->nodes is unchanged. */
bool nodes_look_again(struct nanopod *np);

#endif
