/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/door.h"

#include <string.h>

#include "market/reason.h"

int door_account(const struct engine *e, const struct event *ev, struct fail *why)
{
	return world_party(e, ev->account) ? 0 : fail_set(why, REASON_NOT_FOUND, "there is no such account");
}

int door_open_account(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct party *p = world_party(e, ev->account);

	if (!p)
		return door_account(e, ev, why);
	if (p->pub.state == ACCOUNT_SUSPENDED)
		return fail_set(why, REASON_SUSPENDED, "account '%s' is suspended: it may reduce what it has, not add", p->pub.name);
	return 0;
}

int door_pool(const struct engine *e, const struct event *ev, uint64_t id, struct depot **out, struct fail *why)
{
	struct depot *d = world_depot(e, id);

	if (!d || d->pub.account != ev->account || d->pub.deleted)
		return fail_set(why, REASON_NOT_FOUND, "there is no such pool");
	*out = d;
	return 0;
}

int door_name(const char *name, bool needed, struct fail *why)
{
	if (!name && !needed)
		return 0;
	if (!name || !*name || strlen(name) > NAME_BYTES)
		return fail_set(why, REASON_INVALID, "a name has 1 to %d bytes", NAME_BYTES);
	return 0;
}

int door_text(const char *text, struct fail *why)
{
	if (text && strlen(text) > TEXT_BYTES)
		return fail_set(why, REASON_INVALID, "a text has at most %d bytes", TEXT_BYTES);
	return 0;
}
