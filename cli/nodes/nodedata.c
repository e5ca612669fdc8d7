/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/nodedata.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 100000 };

struct node *nodes_add(struct nodes *n)
{
	if (n->count >= NODES_MAX)
		return NULL;
	n->list = reallocarray(n->list, n->count + 1, sizeof *n->list);
	if (!n->list)
		command_nomem();
	n->list[n->count] = (struct node){ 0 };
	return &n->list[n->count++];
}

/* A market's text goes into ssh's settings and commands: refuses options, shell syntax and control characters. */
static bool node_is_plain(const char *text, const char *also)
{
	if (!isalnum((unsigned char)*text) && *text != '_' && *text != ':')
		return false;
	while (isalnum((unsigned char)*text) || (*text && strchr(also, *text)))
		text++;
	return !*text;
}

bool node_name_is_plain(const char *name)
{
	return node_is_plain(name, "._-");
}

bool node_host_is_plain(const char *host)
{
	return node_is_plain(host, "._-:");
}

bool node_user_is_plain(const char *user)
{
	return node_is_plain(user, "._-$");
}

bool node_key_is_plain(const char *key)
{
	const char *blank = strchr(key, ' ');

	return blank && blank > key && node_is_plain(key, "-@._ +/=") && node_is_plain(blank + 1, "+/=");
}

void node_release(struct node *n)
{
	for (size_t i = 0; i < n->key_count; i++)
		free(n->keys[i]);
	free(n->keys);
	free(n->id);
	free(n->name);
	free(n->status_text);
	free(n->message);
	free(n->reservation);
	free(n->pool);
	free(n->type);
	free(n->zone);
	free(n->gpus);
	free(n->gpus_json);
	free(n->proof);
	free(n->hostname);
	free(n->user);
}

void nodes_free(struct nodes *n)
{
	for (size_t i = 0; n && i < n->count; i++)
		node_release(&n->list[i]);
	if (n)
		free(n->list);
	free(n);
}

bool node_lives(const struct node *n)
{
	return n->status == MODEL_INSTANCE_RUNNING || n->status == MODEL_INSTANCE_AWAITING;
}

bool node_in(const struct node *n, const char *reservation)
{
	return strcmp(n->reservation, reservation) == 0 || strcmp(n->pool, reservation) == 0;
}
