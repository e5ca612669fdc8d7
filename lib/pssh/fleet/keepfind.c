/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a keeper has the connection that a host is about to make. */
#include <string.h>

#include "pssh/fleet/fleet.h"

static int keepfind_key(struct pssh_host *h, char name[KEEPKEY_NAME])
{
	struct buf b;
	int rc;

	buf_init(&b, 1 << 20);
	rc = keepkey_add(&b, &h->plan, &h->fleet->shared.keyring);
	for (struct pssh_host *via = h->via; via && !rc; via = via->via) {
		rc = via->conn ? 0 : host_make_plan(via);
		rc = rc ? rc : keepkey_add(&b, &via->plan, &h->fleet->shared.keyring);
	}
	if (!rc)
		keepkey_name(&b, name);
	buf_release(&b);
	return rc;
}

/* What a keeper's words cannot say needs a connection of this process. */
static bool keepfind_must_own(const struct pssh_host *h)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->runs)
		if (run_must_own(list_entry(pos, struct run, in_host)))
			return true;
	return false;
}

bool keepfind_same(struct pssh_host *h)
{
	char name[KEEPKEY_NAME];

	return keepfind_key(h, name) == 0 && strcmp(name, h->keep_key) == 0;
}

unsigned keepfind_window(const struct pssh_host *h)
{
	const struct list *first = h->runs.next;

	return first != &h->runs && list_entry(first, struct run, in_host)->task->kind == TASK_EXEC ? CHAN_WINDOW : 0;
}

int keepfind(struct pssh_host *h)
{
	struct pssh *p = h->fleet;

	/* By the files as they are now: this is also what a connection that is made now is kept under. */
	*h->keep_key = '\0';
	if (!p->keeps || h->stream || h->plan.proxy || h->plan.fd >= 0 || keepfind_key(h, h->keep_key) != 0 ||
		keepfind_must_own(h))
		return -1;
	while (h->keep_slot < KEEPFOLDER_SLOTS) {
		int fd = keepfolder_find(p->keep_folder, h->keep_key, h->keep_slot++);

		if (fd >= 0)
			return fd;
	}
	return -1;
}
