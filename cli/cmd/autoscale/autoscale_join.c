/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that were bought join the cluster, which takes minutes. The loop goes on beside it: what works is extended, and
 * what waits is bought for.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/cmd/autoscale/autoscale.h"

enum { JOIN_WORDS = 1 << 16 };

bool autoscale_joins(const struct autoscale *a)
{
	return a->join.count != 0;
}

static void join_failed(struct autoscale *a, const char *why)
{
	for (size_t i = 0; i < a->join.count; i++) {
		const struct autoscale_joiner *n = &a->join.nodes[i];

		autoscale_say(a, true, "%s did not join '%s' (try %u): %.120s", n->name, a->cluster,
			++autoscale_seen(a, n->id)->failed, why);
	}
}

static void join_clear(struct autoscale *a)
{
	free(a->join.nodes);
	a->join = (struct autoscale_join){ .count = 0 };
}

void autoscale_join(struct autoscale *a)
{
	struct autoscale_join *j = &a->join;
	struct autoscale_words w = { .count = 0 };
	char why[SCALE_TEXT] = "";
	struct buf hosts;

	j->nodes = calloc(a->plan.count, sizeof *j->nodes);
	if (!j->nodes)
		command_nomem();
	buf_init(&hosts, JOIN_WORDS);
	for (size_t i = 0; i < a->plan.count; i++) {
		const struct scale_step *s = &a->plan.steps[i];
		const struct scale_node *n = &a->w.nodes[s->node];
		struct autoscale_joiner *k = &j->nodes[j->count];

		if (s->verb != SCALE_JOIN)
			continue;
		snprintf(k->name, sizeof k->name, "%s", n->name);
		snprintf(k->id, sizeof k->id, "%s", n->id);
		snprintf(k->why, sizeof k->why, "%s", s->why);
		if (buf_addf(&hosts, "%s%s", j->count++ ? "," : "", n->name))
			command_nomem();
	}
	autoscale_words_provision(a, &w, "add", buf_text(&hosts));
	buf_release(&hosts);
	j->until = clock_ms() + AUTOSCALE_CALL_MS;
	if (!autoscale_call_begin(a, &w, &j->going, why))
		return;
	join_failed(a, why);
	join_clear(a);
}

bool autoscale_joined(struct autoscale *a, bool wait)
{
	struct autoscale_join *j = &a->join;
	char why[SCALE_TEXT] = "";
	int status;

	if (!j->count)
		return false;
	if (!j->late && clock_ms() > j->until) {
		j->late = true;
		kill(j->going.pid, SIGTERM);
	}
	if (!autoscale_call_over(&j->going, wait, &status, why))
		return false;
	if (status)
		join_failed(a, j->late ? "it took too long" : why);
	for (size_t i = 0; !status && i < j->count; i++) {
		struct scale_seen *s = autoscale_seen(a, j->nodes[i].id);

		s->joined_ms = s->joined_ms ? s->joined_ms : clock_ms();
		autoscale_say(a, false, "%s joined '%s': %s", j->nodes[i].name, a->cluster, j->nodes[i].why);
	}
	join_clear(a);
	return true;
}

void autoscale_join_end(struct autoscale *a)
{
	if (!autoscale_joins(a))
		return;
	kill(a->join.going.pid, SIGTERM);
	(void)autoscale_joined(a, true);
}
