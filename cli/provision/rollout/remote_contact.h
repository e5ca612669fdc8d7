/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first contact with all nodes, like that of `nanopod run`, with its questions about host keys and passwords. Each
 * node runs a script in the session that shows that it can be reached, and what it says is kept. For remote.c alone.
 */
#ifndef CLI_PROVISION_ROLLOUT_REMOTE_CONTACT_H
#define CLI_PROVISION_ROLLOUT_REMOTE_CONTACT_H

#include "cli/provision/rollout/remote_job.h"

struct contact {
	struct nanopod *np;
	struct connect *connect;
	struct remote_peer *peers;
	size_t count;
	unsigned connections;
	struct pssh_task *task; /* of the first contact; its shells may wait for other scripts */
	struct buf script;
};

/* Fills the peers: whether each was reached, and what it said. An exit status. */
int remote_contact(struct contact *c, const struct pssh_list *list, const char *script, size_t len);

#endif
