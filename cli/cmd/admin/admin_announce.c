/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin announce: says something to all accounts or to one, lists what is said, ends it. */
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/frame/print.h"
#include "cli/trade/rows_list.h"

enum { BODY_MAX = 16 * 1024 };

static const struct column announce_columns[] = {
	{ "id", COLUMN_ID, "its id, for 'admin announce end'" },
	{ "severity", COLUMN_STATE, "info, warning or critical" },
	{ "account", 0, "id of the account that reads it; empty: all do" },
	{ "starts", 0, "from when on" },
	{ "ends", 0, "until when" },
	{ "text", COLUMN_TEXT, "what they read" },
	{ "created", COLUMN_WIDE, "when it was said" },
	{ 0 },
};

static int announce_add(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_announcement a;
	char start[CELL_TEXT], end[CELL_TEXT], made[CELL_TEXT];
	int rc = wire_announcement(d, at, &a, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ a.id, a.severity, a.account, cell_time(l->np, a.start, start),
				cell_time(l->np, a.end, end), a.text, cell_time(l->np, a.created_at, made) });
	return rc;
}

int admin_announce_list(struct nanopod *np, const struct options *o, char **words)
{
	const struct rows_list said = { "admin", NULL, "the announcements", announce_columns, announce_add,
		"no announcements" };

	(void)words;
	return admin_list(np, o, "/np/v1/announcements", said);
}

int admin_announce(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	int64_t from = 0, until = 0;
	struct buf body;
	struct json j;
	int rc;

	if (!rows_check(np, o, announce_columns, &rc))
		return rc;
	rc = admin_time(np, o, "from", &from);
	rc = rc ? rc : admin_time(np, o, "until", &until);
	if (rc)
		return rc;
	buf_init(&body, BODY_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "text", words[0]);
	json_text(&j, "severity", option_text(o, "severity"));
	if (option_given(o, "account"))
		json_text(&j, "account", option_text(o, "account"));
	if (from)
		json_int(&j, "start_at", from);
	if (until)
		json_int(&j, "end_at", until);
	json_end(&j);
	if (j.error)
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot announce that: it is too long, or not valid text");
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_make(m, "/np/v1/announcements", &body, buf_text(&body))
			? market_fail(m, "cannot announce that")
			: rows_one(m, o, announce_columns, announce_add, "the announcement");
	buf_release(&body);
	market_sign_out(m);
	return rc;
}

int admin_announce_end(struct nanopod *np, const struct options *o, char **words)
{
	return admin_delete(np, o, "/np/v1/announcements/", "announcement", words);
}
