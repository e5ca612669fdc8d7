/* SPDX-License-Identifier: Apache-2.0 */
#include "scaleworld.h"

#include <inttypes.h>
#include <stdio.h>

void scaleworld_wrong(struct sim *s, const char *what, int64_t id)
{
	if (!*s->wrong)
		snprintf(s->wrong, sizeof s->wrong, "second %" PRId64 ": %s (%" PRId64 ")", s->now, what, id);
}

bool scaleworld_used(const struct sim *s, const struct sim_node *n)
{
	return (n->job_until > s->now && !n->moves) || n->person_until > s->now;
}

/* ---- The world goes on --------------------------------------------------------------------- */

static void sim_market(struct sim *s)
{
	if (!s->storm) {
		s->price = s->cap / 2;
		s->on_sale = NODES;
	} else if (rng_percent(&s->g, 3)) {
		s->price = s->cap / 4 + rng_below(&s->g, s->cap * 2);
		s->on_sale = rng_percent(&s->g, 30) ? 0 : rng_below(&s->g, 12);
	}
}

static void sim_submit(struct sim *s)
{
	if (!s->storm || !rng_percent(&s->g, 3))
		return;
	for (size_t i = 0, n = (size_t)rng_below(&s->g, 20); i < JOBS && n; i++) {
		struct sim_job *j = &s->jobs[i];

		if (j->waits || j->runs)
			continue;
		n--;
		*j = (struct sim_job){ .nodes = rng_percent(&s->g, 80) ? 1 : 1 + rng_below(&s->g, 12),
			.seconds = 30 + rng_below(&s->g, rng_percent(&s->g, 10) ? 4 * HOUR : 900),
			.waits = true };
		j->moves = j->nodes == 1 && rng_percent(&s->g, 20);
		j->stubborn = j->moves && rng_percent(&s->g, 20);
		j->cpus = j->nodes * (1 + rng_below(&s->g, rng_percent(&s->g, 5) ? 20 : s->shape.cpus));
	}
}

static bool sim_goes_elsewhere(struct sim *s, struct sim_job *j)
{
	if (!j->moves || j->stubborn || s->elsewhere <= 0)
		return false;
	s->elsewhere--;
	j->waits = false;
	j->runs = j->elsewhere = true;
	j->until = s->now + j->seconds;
	return true;
}

void scaleworld_evict(struct sim *s, struct sim_node *n)
{
	struct sim_job *j;

	if (!n->moves || n->job_until <= s->now)
		return;
	j = &s->jobs[n->moves - 1];
	if (j->moved_at && s->now - j->moved_at < HOUR)
		scaleworld_wrong(s, "a job is moved again and again", (int64_t)n->moves);
	j->moved_at = s->now;
	j->runs = false;
	j->waits = true;
}

void scaleworld_placed(struct sim *s)
{
	for (size_t i = 0; i < JOBS; i++) {
		struct sim_job *j = &s->jobs[i];

		if (j->waits && j->moves && j->moved_at == s->now && !sim_goes_elsewhere(s, j) && !j->stubborn)
			scaleworld_wrong(s, "a job that fits nowhere else is moved", (int64_t)i);
	}
}

/* Slurm, one job a node: on those that serve, are not drained and are free. */
static void sim_schedule(struct sim *s)
{
	for (size_t i = 0; i < JOBS; i++) {
		struct sim_job *j = &s->jobs[i];
		int64_t free = 0;

		if (j->runs && j->until <= s->now) {
			s->elsewhere += j->elsewhere;
			j->runs = j->elsewhere = false;
		}
		if (!j->waits || sim_goes_elsewhere(s, j) || j->cpus > j->nodes * s->shape.cpus)
			continue;
		for (size_t k = 0; k < NODES; k++)
			free += s->nodes[k].serves && !s->nodes[k].drained && s->nodes[k].job_until <= s->now;
		if (free < j->nodes)
			continue;
		j->waits = false;
		j->runs = true;
		j->until = s->now + j->seconds;
		for (size_t k = 0, n = (size_t)j->nodes; k < NODES && n; k++)
			if (s->nodes[k].serves && !s->nodes[k].drained && s->nodes[k].job_until <= s->now) {
				s->nodes[k].job_until = j->until;
				s->nodes[k].moves = j->moves ? i + 1 : 0;
				n--;
			}
	}
}

static void sim_nodes(struct sim *s)
{
	for (size_t i = 0; i < NODES; i++) {
		struct sim_node *n = &s->nodes[i];

		if (n->there && n->end <= s->now) { /* its jobs end with it, and run again */
			bool member = n->member;

			if (s->calm_at && s->now > s->calm_at + 2 * s->ahead && n->job_until > s->now && n->seen.used &&
				!n->cut && (!n->seen.prolonged || s->now - s->looked_at < HOUR))
				scaleworld_wrong(s, "a job that was seen ends with its node", n->id);
			*n = (struct sim_node){ .id = n->id, .member = member };
			continue;
		}
		if (s->storm && n->there && n->up_at <= s->now && n->mute_until <= s->now &&
			rng_below(&s->g, 2000) == 0)
			n->person_until = s->now + rng_below(&s->g, HOUR);
		if (s->storm && n->serves && n->mute_until <= s->now && rng_below(&s->g, 1000) == 0) {
			n->mute_since = s->now;
			n->person_until = 0;
			n->mute_until = s->now + rng_below(&s->g, 10 * (s->ahead > HOUR ? s->ahead : HOUR));
		}
		n->blind = (s->storm && rng_percent(&s->g, 2)) || n->mute_until > s->now;
	}
}

/* Somebody changes the reservation with other commands, also while it is calm. */
static void sim_by_hand(struct sim *s)
{
	struct sim_node *n = &s->nodes[rng_below(&s->g, NODES)];
	int64_t left = n->end - s->now;

	if (s->barren || (!s->storm && !s->calm_at) || !n->there || left <= STEP || rng_below(&s->g, 30) != 0)
		return;
	s->hands++;
	switch (rng_below(&s->g, 4)) {
	case 0: /* extend */
		n->end += STEP * (1 + rng_below(&s->g, 2 * s->ahead / STEP));
		s->by_hand += s->price * (n->end - s->now - left) / HOUR;
		break;
	case 1: /* release */
		n->end = s->now;
		n->cut = true;
		break;
	case 2: /* sell, from then on */
		n->end = s->now + STEP * (1 + rng_below(&s->g, left / STEP));
		n->cut = true;
		break;
	default: /* replace: another one has its name and its time */
		*n = (struct sim_node){ .there = true,
			.member = n->member,
			.id = ++s->ids,
			.up_at = s->now + BOOT,
			.used_at = s->now,
			.end = n->end };
	}
}

static void sim_silence(struct sim *s)
{
	if (((s->storm && !s->barren) || s->calm_at) && s->now >= s->silent_until && rng_below(&s->g, 3000) == 0)
		s->silent_until = s->now + rng_below(&s->g, 3 * HOUR);
}

void scaleworld_step(struct sim *s)
{
	s->now += STEP;
	sim_silence(s);
	sim_market(s);
	sim_submit(s);
	sim_by_hand(s);
	sim_nodes(s);
	sim_schedule(s);
}
