/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/ensured.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "market/when.h"

enum { ENSURED_LOOK_MS = 200 };

/* "2 nodes of richmond", as many as it has now, else the most that it will have. */
static const char *ensured_text(struct deal *d, const struct reservation *r, int64_t now, char *room, size_t size)
{
	const struct sku *sku = skus_by_id(&d->skus, r->parts[0].sku);
	char nodes[DEAL_NODES];
	int64_t n = part_nodes_at(&r->parts[0], now);

	snprintf(room, size, "%s of %s%s", deal_nodes(n ? n : part_most(&r->parts[0]), nodes),
		sku && sku->alias ? sku->alias : r->parts[0].sku, r->count > 1 ? " and other types" : "");
	return room;
}

static int ensured_judge(struct deal *d, const struct deal_order *want, const struct reservation *r)
{
	int64_t now = market_clock_now(&d->args.clock), nodes = part_nodes_at(&r->parts[0], now);
	const char *state = reservation_state(r, now);
	int64_t begins = part_begins(&r->parts[0], now);
	bool waits = option_given(d->o, "wait");
	char has[200], wants[DEAL_NODES], end[WHEN_TEXT], relative[WHEN_TEXT], begin[WHEN_TEXT];

	nodes = nodes ? nodes : part_most(&r->parts[0]);
	if (strcmp(state, "ended") == 0)
		return print_fail_field(d->np, STATUS_CONFLICT, "--name",
			"'--into' buys into it again; another '--name' makes a new reservation",
			"cannot ensure '%s': it has ended", r->name);
	if (r->count > 1 || strcmp(r->parts[0].sku, want->sku->id) != 0 || nodes != want->args.nodes)
		return print_fail_field(d->np, STATUS_CONFLICT, "--ensure",
			"'--into' adds nodes to it; another '--name' makes a new reservation",
			"cannot ensure '%s': it has %s, not %s of %s", r->name,
			ensured_text(d, r, now, has, sizeof has), deal_nodes(want->args.nodes, wants),
			want->sku->alias ? want->sku->alias : want->sku->id);
	when_local(part_end(&r->parts[0]), now, end);
	ensured_text(d, r, now, has, sizeof has);
	if (begins > now)
		print_note(d->np, "you have '%s' already: %s, %s from %s (%s) until %s; nothing was bought%s%s%s",
			r->name, has, state, when_local(begins, now, begin), when_relative(begins, now, relative), end,
			waits ? "" : "; 'nanopod wait ", waits ? "" : r->name, waits ? "" : "' waits for it");
	else
		print_note(d->np, "you have '%s' already: %s, %s until %s (%s); nothing was bought", r->name, has,
			state, end, when_relative(part_end(&r->parts[0]), now, relative));
	return 0;
}

int ensured_find(struct deal *d, const struct deal_order *want, const char *name, struct reservation *out)
{
	int64_t until = clock_ms() + DEAL_DECIDE_MS;
	bool said = false;
	int number = 0, rc;

	for (;;) {
		rc = reservation_look(d->m, name, out);
		if (rc == 1)
			return ENSURED_BUY;
		if (rc)
			return market_fail(d->m, "cannot look for '%s'", name);
		if (out->count) {
			rc = ensured_judge(d, want, out);
			if (rc)
				reservation_release(out);
			return rc;
		}
		reservation_release(out);
		if (clock_ms() >= until)
			return print_fail(d->np, STATUS_WAITING,
				"run the same command again; 'nanopod orders' lists orders that wait",
				"cannot ensure '%s': it has no nodes yet, so another command may be buying it", name);
		if (!said)
			print_note(d->np, "'%s' has no nodes yet: waiting for the command that buys them", name);
		said = true;
		if (signals_rest(ENSURED_LOOK_MS, &number))
			return print_fail(d->np, number == SIGTERM ? STATUS_TERM : STATUS_INT, NULL,
				"interrupted; nothing was changed");
	}
}
