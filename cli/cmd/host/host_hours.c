/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod host offer --hours: an offer for each window of these hours. Typed again, by a timer, it adds those that are
 * not on sale yet: the market refuses time that is on sale or sold.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cmd/admin/admin.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/trade/market_clock.h"
#include "cli/trade/window.h"
#include "market/reason.h"

enum { HOURS_AHEAD = 7 * 86400 };

int host_hours_read(struct nanopod *np, const struct options *o, struct hours *out)
{
	struct fail why = { 0 };
	const char *text = option_text(o, "hours");

	if (!text || hours_parse(text, out, &why) == 0)
		return STATUS_OK;
	return print_fail_field(np, STATUS_USAGE, "--hours", NULL, "cannot offer '%.40s': %s", text, why.text);
}

int host_hours_plan(struct market_link *m, const struct hours *h, int64_t from, int64_t until, struct host_hours *out)
{
	struct market_clock clock;
	int64_t first;

	if (market_clock_read(m, &clock) < 0)
		return market_fail(m, "cannot ask what time it is");
	first = window_first(market_clock_now(&clock));
	from = from > first ? from : first;
	until = until ? until : from + HOURS_AHEAD;
	out->count = hours_windows(h, from, until, out->list, HOST_HOURS);
	if (out->count == HOST_HOURS)
		return print_fail_field(m->np, STATUS_USAGE, "--until", "repeat the command later, as by a timer",
			"cannot offer more than %d windows at once", HOST_HOURS - 1);
	if (out->count)
		return STATUS_OK;
	return print_fail_field(m->np, STATUS_USAGE, "--hours", NULL, "these hours have no time until then");
}

int host_hours_offer(struct market_link *m, const struct options *o, const char *host, int64_t price, unsigned gpus,
	const struct host_hours *w)
{
	size_t made = 0, there = 0;
	struct rows *r;
	int status, rc = 0;

	r = admin_offers_new(m->np, o, &status);
	if (!r)
		return status;
	for (size_t i = 0; !rc && i < w->count; i++) {
		rc = admin_offer_send(m, o, host, price, w->list[i].start, w->list[i].end);
		if (!rc) {
			made++;
			rc = admin_offers_add(m, r, host, gpus);
		} else if (rc == REASON_NOT_OWNED) {
			there++;
			rc = 0;
		} else if (rc == MARKET_EXPLAINED) {
			rc = 0;
		}
	}
	status = rows_end(r);
	if (rc)
		return market_fail(m, "cannot offer '%s' (%zu of %zu windows are on sale or sold)", host, made + there,
			w->count);
	if (there)
		print_note(m->np,
			"%zu of %zu windows were on sale or sold already; 'nanopod host price' changes prices", there,
			w->count);
	return status;
}
