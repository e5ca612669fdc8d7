/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the nodes that are kept: refused with a sentence, or free of what ssh would take for an option. */
#include "cli/nodes/nodecache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_node(const struct node *n)
{
	if (!n->id || !n->name || !n->reservation || !n->pool || *n->id == '-' || strpbrk(n->id, " \t\n\"'`$"))
		abort();
	if (n->hostname && (!n->port || n->port > 65535 || *n->hostname == '-' || strpbrk(n->hostname, " \t\n\"'`$%")))
		abort();
	if (n->user && (*n->user == '-' || strpbrk(n->user, " \t\n\"'`%")))
		abort();
	for (size_t i = 0; i < n->key_count; i++)
		if (!strchr(n->keys[i], ' ') || strpbrk(n->keys[i], "\t\n\"'"))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nodes *n = NULL;
	struct fail f = { 0 };
	int64_t looked;

	if (nodecache_parse((const char *)data, size, "http://m", "", &n, &looked, &f) < 0 ? !*f.text || n : !n)
		abort();
	for (size_t i = 0; n && i < n->count; i++)
		check_node(&n->list[i]);
	nodes_free(n);
	return 0;
}
