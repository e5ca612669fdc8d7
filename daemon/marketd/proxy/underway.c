/* SPDX-License-Identifier: Apache-2.0 */
/* What each account has under way, and its limits: no one customer takes the gateway from all others. */
#include <stdio.h>
#include <stdlib.h>

#include "marketd/proxy/proxy_own.h"

static struct underway *underway_of(struct proxy *p, const char *account)
{
	struct underway *u = table_get(&p->underway, account);

	if (u)
		return u;
	u = calloc(1, sizeof *u);
	if (!u)
		return NULL;
	snprintf(u->account, sizeof u->account, "%s", account);
	if (table_set(&p->underway, account, u) == 0)
		return u;
	free(u);
	return NULL;
}

bool underway_enter(struct relay *x)
{
	struct underway *u = underway_of(x->proxy, x->who.account);

	if (!u || u->relays >= RELAYS_PER_ACCOUNT)
		return false;
	u->relays++;
	x->underway = u;
	return true;
}

void underway_leave(struct relay *x)
{
	struct underway *u = x->underway;

	if (!u)
		return;
	underway_hold(x, 0);
	underway_promise(x, 0);
	x->underway = NULL;
	if (--u->relays)
		return;
	table_remove(&x->proxy->underway, u->account);
	free(u);
}

bool underway_hold(struct relay *x, size_t bytes)
{
	size_t all = x->proxy->body_bytes - x->held + bytes, mine = x->underway->bytes - x->held + bytes;

	if (bytes > x->held && (all > BODIES_MAX || mine > BODIES_PER_ACCOUNT))
		return false;
	x->proxy->body_bytes = all;
	x->underway->bytes = mine;
	x->held = bytes;
	return true;
}

void underway_promise(struct relay *x, int64_t tokens)
{
	if (tokens != x->promised)
		budgets_promise(&x->proxy->budgets, x->who.account, x->who.token, tokens - x->promised);
	x->promised = tokens;
}
