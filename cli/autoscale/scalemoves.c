/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that may be moved keep no node if others have room for them. Else a node that is given back would be bought
 * again for them at once. Room that is only a number can be wrong, as a manager has more reasons: what was moved stays
 * for an hour, then for two, and so on.
 */
#include "cli/autoscale/scale.h"

#include <stdlib.h>
#include <string.h>

static bool moves_fit(const struct scale_shape *room, const struct scale_job *j)
{
	return room->cpus >= j->cpus && room->memory_mb >= j->memory_mb && room->gpus >= j->gpus;
}

static void moves_take(struct scale_shape *room, const struct scale_job *j)
{
	room->cpus -= j->cpus;
	room->memory_mb -= j->memory_mb;
	room->gpus -= j->gpus;
}

/* Whether a node stays, so that jobs may be moved there. An empty one goes before a job is moved to it. */
static bool moves_stays(const struct scale_world *w, size_t i, const bool *has)
{
	const struct scale_node *n = &w->nodes[i];

	return n->place == SCALE_SERVES && !n->drained && !n->moves && (n->busy || has[i]);
}

/* Finds a place for the job, first where no node stays for it alone. */
static bool moves_place(struct scale_world *w, const struct scale_move *m, const bool *has, struct scale_shape *rooms,
	bool *takes)
{
	for (size_t i = 0; i < w->room_count; i++)
		if (moves_fit(&rooms[w->count + i], &m->job)) {
			moves_take(&rooms[w->count + i], &m->job);
			return true;
		}
	for (int busy = 1; busy >= 0; busy--)
		for (size_t i = 0; i < w->count; i++) {
			if (i == m->node || w->nodes[i].busy != busy || !moves_stays(w, i, has) ||
				!moves_fit(&rooms[i], &m->job))
				continue;
			moves_take(&rooms[i], &m->job);
			takes[i] = true;
			return true;
		}
	return false;
}

/* Moves all that runs on node n, or nothing. */
static bool moves_all(struct scale_world *w, size_t n, const bool *has, struct scale_refusals *moved, int64_t now,
	struct scale_shape *rooms)
{
	size_t bins = w->count + w->room_count;
	struct scale_shape *try = malloc(bins * sizeof *try);
	bool takes[SCALE_NODES] = { false }, all = try != NULL;

	if (try)
		memcpy(try, rooms, bins * sizeof *try);
	for (size_t k = 0; all && k < w->move_count; k++)
		if (w->moves[k].node == n)
			all = !scale_refusals_has(moved, &w->moves[k].job, now) &&
				moves_place(w, &w->moves[k], has, try, takes);
	for (size_t i = 0; all && i < w->count; i++)
		w->nodes[i].busy |= takes[i];
	if (all)
		memcpy(rooms, try, bins * sizeof *try);
	free(try);
	return all;
}

void scale_moves(struct scale_world *w, struct scale_refusals *moved, int64_t now)
{
	struct scale_shape *rooms = malloc((w->count + w->room_count + 1) * sizeof *rooms);
	bool has[SCALE_NODES] = { false };

	for (size_t k = 0; k < w->move_count; k++)
		has[w->moves[k].node] = true;
	for (size_t i = 0; rooms && i < w->count; i++)
		rooms[i] = w->nodes[i].room;
	if (rooms && w->room_count)
		memcpy(rooms + w->count, w->rooms, w->room_count * sizeof *rooms);
	for (size_t i = 0; i < w->count; i++) {
		if (!has[i] || w->nodes[i].busy)
			continue;
		w->nodes[i].moves = rooms && w->nodes[i].place == SCALE_SERVES &&
			moves_all(w, i, has, moved, now, rooms);
		w->nodes[i].busy = !w->nodes[i].moves;
	}
	free(rooms);
}

void scale_moved(const struct scale_world *w, size_t n, struct scale_refusals *moved, int64_t now)
{
	for (size_t k = 0; k < w->move_count; k++)
		if (w->moves[k].node == n)
			scale_refusals_add(moved, &w->moves[k].job, now);
}
