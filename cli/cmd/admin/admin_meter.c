/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin meter: what was used and paid, to Lago or a file; and whether all of it arrived. */
#include "cli/cmd/admin/admin.h"
#include "cli/frame/print.h"
#include "cli/meter/meter.h"
#include "market/when.h"

static int admin_metered(struct nanopod *np, const struct options *o, int (*what)(struct meter *x))
{
	const char *text = option_text(o, "from");
	struct fail why = { 0 };
	struct meter x;
	int64_t from = 0;
	int rc;

	if (text && when_start(text, 0, &from, &why)) /* it is past for anybody's clock but that one */
		return print_fail_field(np, STATUS_USAGE, "--from", "e.g. --from 2026-11-01T00:00Z",
			"cannot understand --from: %s", why.text);
	rc = meter_open(&x, np, o, from);
	rc = rc ? rc : what(&x);
	meter_close(&x);
	return rc;
}

int admin_meter(struct nanopod *np, const struct options *o, char **words)
{
	(void)words;
	return admin_metered(np, o, meter_send);
}

int admin_meter_check(struct nanopod *np, const struct options *o, char **words)
{
	(void)words;
	return admin_metered(np, o, meter_check);
}
