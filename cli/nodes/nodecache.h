/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market said last of the nodes that live: names, addresses, users and host keys, so that commands reach
 * them while the market is away. One file for each market, profile and token; each successful look replaces it whole.
 */
#ifndef CLI_NODES_NODECACHE_H
#define CLI_NODES_NODECACHE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/nodes/nodedata.h"

/*
 * Writes them down. reservation: the list is of this one alone, by name or id, and the others stay; NULL: of all.
 * Failures are silent: the next look tries again.
 */
void nodecache_write(const struct nanopod *np, const char *url, const struct nodes *n, const char *reservation);

/*
 * 0: nodes whose time has not ended, and when the market told them. -ENOENT: there are none. Another negative code:
 * the file cannot be trusted, and a sentence says why; it stays as it is.
 */
int nodecache_read(const struct nanopod *np, const char *url, struct nodes **out, int64_t *looked, struct fail *f);

/* The text of such a file. 0, or -EINVAL with a sentence. Ended nodes too. */
int nodecache_parse(const char *text, size_t len, const char *url, const char *profile, struct nodes **out,
	int64_t *looked, struct fail *f);

#endif
