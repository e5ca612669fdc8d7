/* SPDX-License-Identifier: Apache-2.0 */
/* Backwards: each step's undo, the last one first, so that a node is as it was before. */
#include "cli/provision/rollout/rollout_part.h"

int rollout_remove(struct rollout *e, bool force)
{
	int status = rollout_lock(e);

	if (status)
		return status;
	rollout_phase(e, ENGINE_REMOVE, "remove");
	e->force = force;
	rollout_old_undo(e, false);
	rollout_graph(e);
	graph_turn(e->g);
	for (size_t m = 0; m < e->c->count; m++)
		if (!rollout_in(e, m)) {
			e->g->lost[m] = false;
			graph_lose(e->g, m);
		}
	if (!e->stops)
		rollout_backwards(e);
	e->force = false;
	rollout_unlock(e);
	return rollout_status(e);
}
