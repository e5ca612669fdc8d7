/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/alerts/announcements.h"

#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/option.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"

#define SEEN "announcements"

struct seen {
	const char *id;
	bool found;
};

static void announcements_seen(void *arg, const char *name, const char *help)
{
	struct seen *s = arg;

	(void)help;
	s->found = s->found || strcmp(name, s->id) == 0;
}

static int announcements_one(void *arg, struct doc *d, long at, struct fail *f)
{
	struct market_link *m = arg;
	struct model_announcement a;
	struct seen s = { 0 };
	int rc = wire_announcement(d, at, &a, f);

	if (rc)
		return rc;
	s.id = a.id;
	remember_each(SEEN, m->where, announcements_seen, &s);
	if (s.found)
		return 0;
	if (strcmp(a.severity, "info") == 0)
		print_note(m->np, "the market's operator says: %s", a.text);
	else
		print_warn(m->np, "the market's operator says (%s): %s", a.severity, a.text);
	remember_one(SEEN, m->where, a.id, NULL);
	return 0;
}

void announcements_tell(struct market_link *m)
{
	struct nanopod *np = m->np;

	if (!np->tty_err || !np->tty_out || !cell_for_people(np) || option_given(np->typed, "quiet") || m->explain ||
		!m->where || market_ours(m) != 1)
		return;
	market_each(m, "/np/v1/announcements", announcements_one, m); /* one that fails is no failure of the command */
}
