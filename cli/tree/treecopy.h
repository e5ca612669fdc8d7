/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies one file to many hosts, from host to host: this machine sends it once, and each host takes it from another
 * one while that one still receives it. treeplan.c decides who from whom, treenode.sh runs on the hosts.
 */
#ifndef CLI_TREE_TREECOPY_H
#define CLI_TREE_TREECOPY_H

#include <stdbool.h>

#include "cli/remote/fanout.h"

struct tree_order {
	const char *from, *to; /* a local file; a path on the hosts, as of pssh_put() */
	bool preserve, resume, quiet;
	unsigned limit_ms;                                /* for each host; 0: none */
	void (*tell)(void *arg, const struct outcome *o); /* each host as it ends */
	void *arg;
};

/* In the place of fanout_start() and the events: at its end each host has its outcome. An exit status. */
int tree_copy(struct fanout *f, const struct tree_order *order);

#endif
