/* SPDX-License-Identifier: Apache-2.0 */
/* Backwards: each step's undo, the last one first, so that a node is as it was before. */
#include "cli/provision/rollout/rollout_part.h"

int engine_remove(struct engine *e, bool force)
{
	int status = engine_lock(e);

	if (status)
		return status;
	engine_phase(e, ENGINE_REMOVE, "remove");
	e->force = force;
	engine_old_undo(e, false);
	engine_graph(e);
	graph_turn(e->g);
	for (size_t m = 0; m < e->c->count; m++)
		if (!engine_in(e, m)) {
			e->g->lost[m] = false;
			graph_lose(e->g, m);
		}
	if (!e->stops)
		engine_backwards(e);
	e->force = false;
	engine_unlock(e);
	return engine_status(e);
}
