/* SPDX-License-Identifier: Apache-2.0 */
/* Room that a machine lets for volumes, beside all that its hosts promise. */
#include <inttypes.h>

#include "market/reason.h"
#include "marketd/api/promise.h"
#include "marketd/api/tally.h"

int tally_check_volumes(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct agent *a = engine_agent(e, ev->subject);
	struct capacity has;
	struct tally r;
	int64_t left;

	if (!a || ev->u.volume.gib <= a->volume_gib)
		return 0;
	if (!tally_capacity_of(a, &has))
		return fail_set(why, REASON_NO_ROOM,
			"nobody knows what room this machine has: its agent does not report its capacity; update "
			"nanopod-agentd");
	if (!has.shared)
		return fail_set(why, REASON_NO_ROOM,
			"the driver%s%s of this machine gives nodes no volumes; run nanopod-agentd as root, with "
			"driver ns, where there are loop devices",
			*has.driver ? " " : "", has.driver);
	tally_init(&r, &has);
	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id)) {
		struct promise p = promise_of(engine_sku(e, h->sku));

		tally_take(&r, &p, h->name);
	}
	left = has.disk - r.disk + tally_volumes(a->volume_gib);
	if (tally_volumes(ev->u.volume.gib) <= left)
		return 0;
	left = (left - (INT64_C(1) << 30)) / (tally_volumes(1) - (INT64_C(1) << 30));
	return fail_set(why, REASON_NO_ROOM,
		"this machine has room for %" PRId64 " GiB of volumes, beside what its hosts promise",
		left > 0 ? left : 0);
}
