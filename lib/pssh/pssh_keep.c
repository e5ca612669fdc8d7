/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for connections that outlive their process. */
#include <stdlib.h>
#include <unistd.h>

#include "pssh/entry.h"
#include "pssh/keep/keeplist.h"
#include "pssh/pssh.h"

enum { KEEP_LONGEST = 7 * 24 * 3600 };

int pssh_set_keep(struct pssh *p, const char *folder, unsigned seconds)
{
	int fd = -1, rc;

	if (seconds > KEEP_LONGEST)
		return entry_refuse(p, "connections are kept for a week at most");
	rc = folder ? keepfolder_open(folder, &fd, &p->why) : 0;
	if (rc)
		return rc;
	if (p->keep_folder >= 0)
		close(p->keep_folder);
	p->keep_folder = fd;
	p->keep_seconds = seconds;
	p->keeps = folder != NULL;
	return 0;
}

int pssh_keep(struct pssh *p)
{
	int rc = entry_here(p);

	return rc ? rc : keeper_hand_over(p);
}

static int keep_ask(struct pssh *p, bool stop, struct pssh_kept **out, size_t *count, size_t *silent)
{
	if (!p->keeps)
		return entry_refuse(p, "call pssh_set_keep first");
	return keeplist_ask(p->keep_folder, stop, out, count, silent, &p->why);
}

int pssh_keep_list(struct pssh *p, struct pssh_kept **out, size_t *count, size_t *silent)
{
	return keep_ask(p, false, out, count, silent);
}

int pssh_keep_stop(struct pssh *p, struct pssh_kept **out, size_t *count, size_t *silent)
{
	return keep_ask(p, true, out, count, silent);
}
