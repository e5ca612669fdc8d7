/* SPDX-License-Identifier: Apache-2.0 */
/* Which time a report is about. */
#include "cli/cmd/money/report.h"
#include "cli/frame/print.h"

/* --from is the first day or month, --to the last one; both as far as `now`. */
int report_period(struct nanopod *np, const struct options *o, int64_t now, struct period *out)
{
	const char *from = option_text(o, "from"), *to = option_text(o, "to");
	struct fail why = { 0 };
	struct period p;

	*out = period_month_of(now);
	if (from && period_read(from, &p, &why))
		return print_fail_field(np, STATUS_USAGE, "--from", NULL, "cannot understand --from: %s", why.text);
	out->from = from ? p.from : out->from;
	if (to && period_read(to, &p, &why))
		return print_fail_field(np, STATUS_USAGE, "--to", NULL, "cannot understand --to: %s", why.text);
	if (to && !from)
		*out = period_month_of(p.from);
	out->to = to ? p.to : now + 1;
	if (out->to > now + 1)
		out->to = now + 1;
	if (out->from >= out->to)
		return print_fail_field(np, STATUS_USAGE, to ? "--to" : "--from", NULL,
			"cannot report: the period ends before it begins");
	return 0;
}
