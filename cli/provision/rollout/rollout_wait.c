/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a rollout waits for when it has said nothing for a while, so that a log has no silent minutes. */
#include <stdio.h>
#include <string.h>

#include "cli/provision/rollout/rollout_part.h"

/* Who only looks expects an answer sooner. */
enum { WAIT_MS = 30000, WAIT_LOOK_MS = 10000, WAIT_SHOWN = 4 };

/* The longest-running tasks come first in the list. */
const char *rollout_wait(const struct rollout *e, int64_t now, char text[ROLLOUT_WAIT])
{
	static const char *const doing[] = {
		[ENGINE_FACTS] = "its facts",
		[ENGINE_PLAN] = "its checks",
		[ENGINE_APPLY] = "its lock",
		[ENGINE_VERIFY] = "its checks",
		[ENGINE_REMOVE] = "its lock",
		[ENGINE_CALL] = "its answer",
	};
	struct list *at, *tmp;
	size_t shown = 0, more = 0, n = 0;

	if (now < e->said_at + (e->phase == ENGINE_FACTS || e->phase == ENGINE_PLAN ? WAIT_LOOK_MS : WAIT_MS))
		return NULL;
	list_each (at, tmp, &e->tasks) {
		const struct rollout_task *t = list_entry(at, struct rollout_task, link);
		const struct work *w = t->now ? t->now : t->work;

		if (t == e->nodes[t->member].lock && e->nodes[t->member].locked)
			continue;
		if (++shown > WAIT_SHOWN) {
			more++;
			continue;
		}
		n += (size_t)snprintf(text + n, ROLLOUT_WAIT - n, "%s%.64s (%.64s%s%.64s%s, %lld s)", n ? ", " : "",
			e->c->members[t->member], w ? w->use->stack->name : doing[e->phase], w ? "/" : "",
			w ? w->step->name : "", t->work && !t->job ? ": connection lost" : "",
			(long long)(now - t->began) / 1000);
	}
	if (more)
		snprintf(text + n, ROLLOUT_WAIT - n, " and %zu more", more);
	return n ? text : NULL;
}
