/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts as other programs need to know them: name, address, port, user, keys. For ssh-config and inventory. */
#ifndef CLI_CMD_REACH_REACH_H
#define CLI_CMD_REACH_REACH_H

#include <stddef.h>

#include "cli/remote/connect.h"
#include "cli/nodes/node.h"

struct reach_host {
	char *name;              /* without user and port */
	const char *user;        /* NULL: the program's own choice */
	const struct node *node; /* NULL: a host like others */
	struct pssh_host *host;  /* its address, port, jump hosts and key files */
	char *key_file;          /* of a node: its host keys, under the node's id */
};

struct reach {
	struct connect *connect;
	struct reach_host *list;
	size_t count, left_out;
};

/*
 * Those that the words and options name, which must name some. Nodes that cannot be reached are named and left out;
 * then the command ends by reach_status(). An exit status.
 */
int reach_open(struct nanopod *np, const struct options *o, struct reach *r);
void reach_close(struct nanopod *np, struct reach *r);
int reach_status(const struct reach *r);

/* Of a node its reservation, else NULL. */
const char *reach_group(const struct reach_host *h);

#endif
