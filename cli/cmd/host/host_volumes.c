/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host volumes: room of a machine's disk that its owner lets to buyers, and for how much. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cmd/admin/admin.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/value.h"
#include "market/money.h"

static const struct column host_volumes_columns[] = {
	{ "machine", COLUMN_ID, "its id" },
	{ "max_gib", COLUMN_RAW | COLUMN_RIGHT, "GiB that it lets in all" },
	{ "free_gib", COLUMN_RAW | COLUMN_RIGHT, "GiB that nobody has" },
	{ "price", COLUMN_RIGHT, "of new volumes, per GiB and month" },
	{ 0 },
};

static int host_volumes_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	char max[CELL_TEXT], left[CELL_TEXT], price[CELL_TEXT];
	struct model_volume v;
	int rc = wire_volume(d, at, &v, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ v.agent, cell_int(v.gib, max), cell_int(v.free, left),
				cell_money(l->np, v.month, price) });
	return rc;
}

static int host_volumes_send(struct market_link *m, const struct options *o, const char *machine, uint64_t bytes,
	int64_t price)
{
	char amount[MONEY_TEXT];
	struct buf body, path;
	struct json j;
	int rc;

	buf_init(&body, 4096);
	buf_init(&path, 4096);
	admin_path(&path, o, "/np/v1/agents/", machine, "/volumes");
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_int(&j, "max_gib", (int64_t)(bytes >> 30));
	if (price >= 0)
		json_text(&j, "gib_month_dollars", money_wire(price, amount));
	json_end(&j);
	if (j.error)
		command_nomem();
	rc = market_send(m, "PUT", buf_text(&path), &body, NULL)
		? market_fail(m, "cannot let room of machine '%s'", machine)
		: rows_one(m, o, host_volumes_columns, host_volumes_row, "the machine");
	buf_release(&body);
	buf_release(&path);
	return rc;
}

int host_volumes(struct nanopod *np, const struct options *o, char **words)
{
	const char *max = option_text(o, "max"), *typed = option_text(o, "price");
	struct market_link *m = NULL;
	struct fail why = { 0 };
	int64_t price = -1;
	uint64_t bytes = 0;
	int rc = 0;

	if (!rows_check(np, o, host_volumes_columns, &rc))
		return rc;
	if (!max)
		return print_fail_field(np, STATUS_USAGE, "--max", "e.g. nanopod host volumes rack1 --max 500G -p 0.05",
			"--max is required: how much room it lets in all");
	if (value_size(max, &bytes, &why) || (typed && money_parse(typed, &price, &why)))
		return print_fail_field(np, STATUS_USAGE, *why.text && typed && price < 0 ? "--price" : "--max", NULL,
			"cannot let that: %s", why.text);
	rc = admin_begin(np, o, &m);
	rc = rc ? rc : host_volumes_send(m, o, words[0], bytes, price);
	market_sign_out(m);
	return rc;
}
