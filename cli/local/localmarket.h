/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The market of `nanopod local`, through its operator's socket: creates what is missing of two accounts, play
 * money, a token, the type of node that this machine is, and its offers.
 */
#ifndef CLI_LOCAL_LOCALMARKET_H
#define CLI_LOCAL_LOCALMARKET_H

#include "cli/local/localstate.h"
#include "cli/trade/market_link.h"

#define LOCAL_BUYER "you"
#define LOCAL_OWNER "owner"
#define LOCAL_TYPE "cpu"
#define LOCAL_PRICE "0.60" /* dollars per node-hour */

/* The type that this machine is sold as. */
struct localtype {
	char name[64], accelerator[64]; /* "cpu"; accelerator "" for none */
	long gpus;                      /* of a node */
	int64_t vcpus, overcommit, memory, disk; /* what it promises of each node; 0: nothing */
};

/* So much of each that all nodes fit: whole cores where there are enough, else one that several share. */
void localmarket_size(struct localtype *t, const struct model_sizes *has, long nodes);

/* A link to the market as its operator; market_sign_out() ends it. An exit status. */
int localmarket_open(struct nanopod *np, const struct localstate *s, struct market_link **out);
/* flags: enum market_flags. */
int localmarket_open_by(struct nanopod *np, const struct localstate *s, unsigned flags, struct market_link **out);

/* Does it answer? Prints nothing. */
bool localmarket_answers(struct nanopod *np, const struct localstate *s);

/* Create accounts, money, token and settings file, and the type. Exit statuses, after an error message. */
int localmarket_people(struct market_link *m, struct localstate *s, const char *dollars);
int localmarket_type(struct market_link *m, const struct localtype *t);

/* A token with which one machine may join; malloc'd. */
int localmarket_join_token(struct market_link *m, char **out);

struct localhosts {
	size_t all, up;   /* the owner's */
};

/*
 * Counts the owner's hosts; s and offer may be NULL. offer: offers hosts that are not yet, at this price per node-hour.
 */
int localmarket_hosts(struct market_link *m, struct localstate *s, const char *offer, struct localhosts *out);

/* The node that failed last of those whose time goes on, and why its agent says so. */
struct localfailure {
	char name[100], why[300];
	int64_t at;       /* 0: none */
};

/* Finds it, if the agent is up: then hosts that are down stay down until the failed node's time is over. */
int localmarket_failure(struct market_link *m, struct localfailure *out);

/* How many of the nodes on this machine that should answer SSH do not. */
size_t localmarket_silent(struct market_link *m);

#endif
