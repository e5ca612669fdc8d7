/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/nodeended.h"

#include <stdio.h>
#include <string.h>

#include "cli/nodes/node.h"
#include "market/when.h"

/* "train-0": ends in a dash and a number, as buy calls nodes. */
static bool node_ended_alike(const char *name)
{
	const char *dash = strrchr(name, '-');

	return dash && dash[1] && strspn(dash + 1, "0123456789") == strlen(dash + 1);
}

bool node_ended_told(struct nanopod *np, const char *host, char *room, size_t size)
{
	const char *at = strrchr(host, '@'), *name = at ? at + 1 : host;
	struct model_instance i;
	struct market_link *m;
	char when[WHEN_TEXT];
	bool ended;
	int64_t ended_at;

	if (np->nodes_kept || !node_name_is_plain(name) || nodes_of_host(np->nodes, host) ||
		(!np->nodes && (!node_ended_alike(name) || !nodes_can_ask(np))) ||
		market_sign_in(np, NULL, MARKET_BRIEFLY, &m))
		return false;
	ended = market_get(m, "/v2/instances/%s", name) == 0 && wire_instance(m->doc, WIRE_WHOLE, &i, &m->fail) == 0 &&
		i.name && strcmp(i.name, name) == 0 &&
		(i.status == MODEL_INSTANCE_TERMINATED || i.status == MODEL_INSTANCE_FAILED);
	ended_at = i.ended_at ? i.ended_at : i.shutdown_at ? i.shutdown_at : i.updated_at;
	if (ended)
		snprintf(room, size, "node '%.60s' %s %s; 'nanopod console %.60s' shows its last output", name,
			node_word(i.status, NULL), when_local(ended_at, command_now(np), when), name);
	market_sign_out(m);
	return ended;
}
