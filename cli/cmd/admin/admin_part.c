/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the files of this command share. */
#include <string.h>
#include <time.h>

#include "cli/cmd/admin/admin.h"
#include "cli/frame/print.h"
#include "market/when.h"

enum { GRID = 60, PATH_ROOM = 16 * 1024 };

int admin_begin(struct nanopod *np, const struct options *o, struct market_link **out)
{
	struct market_link *m;
	int rc = market_sign_in(np, o, 0, &m);

	*out = NULL;
	if (rc)
		return rc;
	rc = market_need_ours(m, "admin");
	if (rc)
		market_sign_out(m);
	else
		*out = m;
	return rc;
}

void admin_path(struct buf *out, const struct options *o, const char *base, const char *name, const char *rest)
{
	const char *account = option_text(o, "account");

	if (buf_adds(out, base) || (name && client_quote(out, name)) || buf_adds(out, rest) ||
	    (account && (buf_adds(out, "?account=") || client_quote(out, account))))
		command_nomem();
}

int admin_list(struct nanopod *np, const struct options *o, const char *base, struct rows_list l)
{
	struct buf path;
	int rc;

	buf_init(&path, PATH_ROOM);
	admin_path(&path, o, base, NULL, "");
	l.path = buf_text(&path);
	rc = rows_list(np, o, &l);
	buf_release(&path);
	return rc;
}

int admin_delete(struct nanopod *np, const struct options *o, const char *base, const char *what, char **words)
{
	struct market_link *m;
	struct buf path;
	int rc = admin_begin(np, o, &m);

	if (rc)
		return rc;
	buf_init(&path, PATH_ROOM);
	for (; !rc && *words; words++) {
		buf_clear(&path);
		if (buf_adds(&path, base) || client_quote(&path, *words))
			command_nomem();
		if (market_send(m, "DELETE", buf_text(&path), NULL, NULL))
			rc = market_fail(m, "cannot end the %s '%s'", what, *words);
		else
			print_note(np, "ended '%s'", *words);
	}
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

int admin_time(struct nanopod *np, const struct options *o, const char *name, int64_t *seconds)
{
	const char *text = option_text(o, name);
	struct fail why = { 0 };
	int64_t at, now = (int64_t)time(NULL);
	char option[32];

	*seconds = 0;
	if (!text || strcmp(text, "now") == 0)
		return 0;
	snprintf(option, sizeof option, "--%s", name);
	if (when_end(text, now, &at, &why) ||
		when_grid(at, GRID, strcmp(name, "from") == 0 ? WHEN_UP : WHEN_DOWN, seconds, &why))
		return print_fail_field(np, STATUS_USAGE, option, NULL, "cannot understand %s: %s", option, why.text);
	return 0;
}
