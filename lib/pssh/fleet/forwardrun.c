/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that may use the agent of this machine. */
#include <string.h>

#include "pssh/fleet/fleet.h"

enum { FORWARDRUN_NO_AGENT = 31 }; /* the bit of pssh.told; host.c has those from 0 on */

const char *forwardrun_agent(const struct run *r)
{
	const struct pssh_host *h = r->host;
	bool configured = r->task->forward == PSSH_FORWARD_CONFIGURED;

	if (r->task->kind != TASK_EXEC || r->task->forward == PSSH_FORWARD_NO || !chan_can_forward())
		return NULL;
	if (configured && (!h->config || h->config->forward_agent != 1))
		return NULL;
	if (configured && h->config->forward_agent_socket)
		return h->config->forward_agent_socket;
	return h->plan.auth.agent ? agent_path(h->plan.auth.agent) : NULL;
}

bool forwardrun_waits(const struct run *r)
{
	struct pssh_host *h = r->host;
	struct list *pos, *tmp;
	bool others = false;

	if (!conn_is_lent(h->conn) || !forwardrun_agent(r) || !list_empty(&h->conn->riders))
		return false;
	list_each (pos, tmp, &h->runs) {
		const struct run *o = list_entry(pos, struct run, in_host);

		if (o == r || o->state == RUN_WAITING)
			continue;
		if (o->tunnel || o->channel)
			return false;
		others = true;
	}
	return others;
}

int forwardrun_begin(struct run *r)
{
	struct pssh_host *h = r->host;
	struct pssh *p = h->fleet;
	const char *path = forwardrun_agent(r);
	int rc = 0;

	if (!path && r->task->forward == PSSH_FORWARD_YES && !(p->told & 1u << FORWARDRUN_NO_AGENT)) {
		p->told |= 1u << FORWARDRUN_NO_AGENT;
		log_at(&p->shared.log, LOG_WARN, "'%s': there is no agent to forward", h->alias);
	}
	if (!path)
		return 0;
	if (conn_is_lent(h->conn) && r->task->forward == PSSH_FORWARD_CONFIGURED) {
		log_at(&p->shared.log, LOG_INFO, "'%s': the agent is not forwarded over a kept connection in use",
			h->alias);
		return 0;
	}
	if (!h->forward)
		rc = forward_new(p->shared.loop, KIND_FORWARD, h, &h->forward);
	rc = rc ? rc : forward_begin(h->forward, path);
	if (!rc)
		r->forwards = r->exec->forward = true;
	return rc;
}

void forwardrun_end(struct run *r)
{
	if (r->forwards)
		forward_end(r->host->forward);
	r->forwards = false;
}

void forwardrun_tell(struct run *r)
{
	const struct pssh_host *h = r->host;

	if (r->exec->not_forwarded)
		log_at(&h->fleet->shared.log, r->task->forward == PSSH_FORWARD_YES ? LOG_WARN : LOG_INFO,
			"'%s' does not let the agent be forwarded: AllowAgentForwarding in its sshd_config, or how the "
			"key may be used there",
			h->alias);
}

bool forwardrun_turn(struct pssh_host *h)
{
	struct conn *c = h->conn;
	struct fail f = { 0 };

	if (!h->forward || forward_step(h->forward, &c->link, &h->fleet->room, &f) == 0)
		return true;
	conn_fail(c, f.code, "'%s': %s", h->spec, f.text);
	return false;
}
