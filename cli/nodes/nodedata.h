/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of nodes, however it came to be known. */
#ifndef CLI_NODES_NODEDATA_H
#define CLI_NODES_NODEDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trade/market_link.h"

enum { NODE_KEYS_MAX = 16 };

struct node {
	char *id, *name, *status_text, *message;
	char *reservation, *pool;  /* its name and its id */
	char *type, *zone, *proof; /* proof: of its host, a word of the market; NULL: unknown */
	enum model_instance_status status;
	bool host_down;                /* the market says that its host is silent or broken */
	bool ends_early;               /* its host goes out of service at its end */
	int64_t start, start_ms;       /* of the time that a pending one waits for; on clock_ms(). start 0: not known */
	int64_t end, created, updated; /* end 0: not known */
	char *hostname, *user;         /* hostname NULL: not reachable yet; user NULL: not known */
	unsigned port;
	char **keys; /* host keys: "ssh-ed25519 AAAA…" */
	size_t key_count;
	char *gpus, *gpus_json; /* what its host gave it, for people and for programs; gpus NULL: none reported */
};

struct nodes {
	struct node *list;
	size_t count;
	bool chosen; /* true: connect_host() and the selection use these nodes */
};

void nodes_free(struct nodes *n); /* NULL too */

/* An empty node at the end of the list; NULL: it is full. What one holds is freed by node_release(). */
struct node *nodes_add(struct nodes *n);
void node_release(struct node *n);

/* Free of options, shell syntax and control characters, so that it may go into ssh's settings and commands. */
bool node_name_is_plain(const char *name);
bool node_host_is_plain(const char *host);
bool node_user_is_plain(const char *user);
bool node_key_is_plain(const char *key); /* "ssh-ed25519 AAAA…" */

bool node_lives(const struct node *n);                       /* pending or running */
bool node_in(const struct node *n, const char *reservation); /* by its name or id */

#endif
