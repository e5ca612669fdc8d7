/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/check.h"

#include <string.h>

#include "market/reason.h"

int check_account(const struct engine *e, const struct event *ev, struct fail *why)
{
	return world_account(e, ev->account) ? 0 : fail_set(why, REASON_NOT_FOUND, "no such account");
}

int check_suspended(const struct live_account *a, struct fail *why)
{
	if (a->pub.debt.step == DUNNING_SUSPENDED)
		return fail_set(why, REASON_SUSPENDED,
			"account '%s' is suspended, as it owes money; 'nanopod balance' says how much, and it is open "
			"again once that is paid",
			a->pub.name);
	return fail_set(why, REASON_SUSPENDED, "account '%s' is suspended: it may reduce what it has, not add",
		a->pub.name);
}

int check_open_account(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct live_account *a = world_account(e, ev->account);

	if (!a)
		return check_account(e, ev, why);
	return a->pub.state == ACCOUNT_SUSPENDED ? check_suspended(a, why) : 0;
}

int check_pool(const struct engine *e, const struct event *ev, uint64_t id, struct live_pool **out, struct fail *why)
{
	struct live_pool *p = world_pool(e, id);

	if (!p || p->pub.account != ev->account || p->pub.deleted)
		return fail_set(why, REASON_NOT_FOUND, "no such pool");
	*out = p;
	return 0;
}

int check_name(const char *name, bool needed, struct fail *why)
{
	if (!name && !needed)
		return 0;
	if (!name || !*name || strlen(name) > NAME_BYTES)
		return fail_set(why, REASON_INVALID, "a name has 1 to %d bytes", NAME_BYTES);
	return 0;
}

int check_text(const char *text, struct fail *why)
{
	if (text && strlen(text) > TEXT_BYTES)
		return fail_set(why, REASON_INVALID, "a text has at most %d bytes", TEXT_BYTES);
	return 0;
}
