/* SPDX-License-Identifier: Apache-2.0 */
/* Grants, plans, payments, and what the market's policy knows of an account. */
#include <errno.h>
#include <stddef.h>

#include "market/wire.h"
#include "market/wire_part.h"

int wire_grant(struct doc *d, long at, struct model_grant *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_grant, "id", TEXT, NEEDED, id),
		FIELD(model_grant, "name", TEXT, NEEDED, name),
		FIELD(model_grant, "account_name", TEXT, MAY, account),
		FIELD(model_grant, "sponsor_name", TEXT, MAY, sponsor),
		FIELD(model_grant, "state", TEXT, NEEDED, state),
		FIELD(model_grant, "max_dollars", MONEY, NEEDED, max),
		FIELD(model_grant, "spent_dollars", MONEY, NEEDED, spent),
		FIELD(model_grant, "left_dollars", MONEY, NEEDED, left),
		FIELD(model_grant, "end_at", INT, MAY, end),
		FIELD(model_grant, "created_at", INT, MAY, created_at),
		{ 0 },
	};
	struct model_grant made = { 0 };
	int rc = wire_read(d, at, "a grant", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_volume(struct doc *d, long at, struct model_volume *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_volume, "id", TEXT, MAY, id),
		FIELD(model_volume, "name", TEXT, MAY, name),
		FIELD(model_volume, "agent", TEXT, NEEDED, agent),
		FIELD(model_volume, "state", TEXT, MAY, state),
		FIELD(model_volume, "types", TEXTS, MAY, types),
		FIELD(model_volume, "gib", INT, NEEDED, gib),
		FIELD(model_volume, "free_gib", INT, MAY, free),
		FIELD(model_volume, "gib_month_dollars", MONEY, NEEDED, month),
		FIELD(model_volume, "hourly_dollars", MONEY, MAY, hour),
		FIELD(model_volume, "created_at", INT, MAY, created_at),
		FIELD(model_volume, "paid_until", INT, MAY, paid_until),
		FIELD(model_volume, "delete_at", INT, MAY, delete_at),
		FIELD(model_volume, "here", BOOL, MAY, here),
		FIELD(model_volume, "up", BOOL, MAY, up),
		{ 0 },
	};
	struct model_volume made = { 0 };
	int rc = wire_read(d, at, "a volume", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_plan(struct doc *d, long at, struct model_plan *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_plan, "name", TEXT, NEEDED, name),
		FIELD(model_plan, "seller_name", TEXT, MAY, seller),
		FIELD(model_plan, "type", TEXT, MAY, type),
		FIELD(model_plan, "state", TEXT, NEEDED, state),
		FIELD(model_plan, "fee_dollars", MONEY, NEEDED, fee),
		FIELD(model_plan, "included_dollars", MONEY, NEEDED, included),
		FIELD(model_plan, "rates_dollars", MONEY, NEEDED, rates),
		FIELD(model_plan, "now_dollars", MONEY, NEEDED, now),
		FIELD(model_plan, "begin_at", INT, NEEDED, begin),
		{ 0 },
	};
	struct model_plan made = { 0 };
	int rc = wire_read(d, at, "a plan", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_subscription(struct doc *d, long at, struct model_subscription *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_subscription, "plan", TEXT, MAY, name),
		FIELD(model_subscription, "next", TEXT, MAY, next),
		FIELD(model_subscription, "type", TEXT, MAY, type),
		FIELD(model_subscription, "next_reason", TEXT, MAY, lapses),
		FIELD(model_subscription, "fee_dollars", MONEY, NEEDED, fee),
		FIELD(model_subscription, "next_fee_dollars", MONEY, NEEDED, next_fee),
		FIELD(model_subscription, "included_dollars", MONEY, NEEDED, included),
		FIELD(model_subscription, "used_dollars", MONEY, NEEDED, used),
		FIELD(model_subscription, "left_dollars", MONEY, NEEDED, left),
		FIELD(model_subscription, "rates_left_dollars", MONEY, NEEDED, rates_left),
		FIELD(model_subscription, "end_at", INT, MAY, end),
		{ 0 },
	};
	struct model_subscription made = { 0 };
	int rc = wire_read(d, at, "a plan", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_topup(struct doc *d, struct model_topup *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_topup, "id", TEXT, NEEDED, id),
		FIELD(model_topup, "state", TEXT, NEEDED, state),
		FIELD(model_topup, "url", TEXT, MAY, url),
		FIELD(model_topup, "amount_dollars", MONEY, MAY, amount),
		FIELD(model_topup, "expires_at", INT, MAY, expires),
		{ 0 },
	};
	struct model_topup made = { 0 };
	int rc = wire_read(d, WIRE_WHOLE, "a top-up", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_payout_setup(struct doc *d, struct model_topup *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_topup, "id", TEXT, NEEDED, id),
		FIELD(model_topup, "url", TEXT, NEEDED, url),
		FIELD(model_topup, "expires_at", INT, MAY, expires),
		{ 0 },
	};

	*out = (struct model_topup){ 0 };
	return wire_read(d, WIRE_WHOLE, "a page", fields, out, f);
}

int wire_debt(struct doc *d, long at, struct model_debt *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_debt, "owed_dollars", MONEY, NEEDED, owed),
		FIELD(model_debt, "since", INT, NEEDED, since),
		FIELD(model_debt, "suspends_at", INT, MAY, suspends),
		FIELD(model_debt, "step", TEXT, NEEDED, step),
		{ 0 },
	};
	struct model_debt made = { 0 };
	struct json_t *o = wire_object(d, at, "an account", f), *debt = wire_member(o, "debt");
	int rc = !o ? -EPROTO : debt ? wire_fields(d, debt, fields, "a debt", &made, f) : 0;

	if (!rc)
		*out = made;
	return rc;
}

int wire_income(struct doc *d, struct model_income *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_income, "earned_dollars", MONEY, NEEDED, earned),
		FIELD(model_income, "paid_dollars", MONEY, NEEDED, paid),
		FIELD(model_income, "payable_dollars", MONEY, NEEDED, payable),
		FIELD(model_income, "hold_hours", INT, NEEDED, hold),
		{ 0 },
	};
	struct model_income made = { 0 };
	int rc = wire_read(d, WIRE_WHOLE, "what was earned", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_payout(struct doc *d, long at, struct model_payout *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_payout, "id", TEXT, NEEDED, id),
		FIELD(model_payout, "account_name", TEXT, NEEDED, account),
		FIELD(model_payout, "state", TEXT, NEEDED, state),
		FIELD(model_payout, "reference", TEXT, MAY, reference),
		FIELD(model_payout, "reason", TEXT, MAY, why),
		FIELD(model_payout, "waits", TEXT, MAY, waits),
		FIELD(model_payout, "amount_dollars", MONEY, NEEDED, amount),
		FIELD(model_payout, "back_dollars", MONEY, NEEDED, back),
		FIELD(model_payout, "balance_dollars", MONEY, MAY, balance),
		FIELD(model_payout, "created_at", INT, NEEDED, created_at),
		{ 0 },
	};
	struct model_payout made = { 0 };
	int rc = wire_read(d, at, "a payout", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_payment(struct doc *d, long at, struct model_payment *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_payment, "id", TEXT, NEEDED, id),
		FIELD(model_payment, "reference", TEXT, NEEDED, reference),
		FIELD(model_payment, "account_name", TEXT, MAY, account),
		FIELD(model_payment, "amount_dollars", MONEY, NEEDED, amount),
		FIELD(model_payment, "created_at", INT, MAY, created_at),
		{ 0 },
	};
	struct model_payment made = { 0 };
	int rc = wire_read(d, at, "a payment", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_facts(struct doc *d, struct model_fact **out, size_t *count, struct fail *f)
{
	static const struct wire_field field[] = {
		FIELD(model_fact, "end_at", INT, MAY, end),
		{ 0 },
	};
	struct json_t *o = wire_object(d, WIRE_WHOLE, "facts", f), *facts = o ? wire_member(o, "facts") : NULL;
	size_t n = facts ? wire_names(facts, NULL) : 0;
	const char **names = wire_room(d, n + 1, sizeof *names);
	struct model_fact *list = wire_room(d, n + 1, sizeof *list);

	if (!o)
		return -EPROTO;
	if (!names || !list)
		return fail_set(f, -ENOMEM, "out of memory");
	if (facts)
		wire_names(facts, names);
	for (size_t i = 0; i < n; i++) {
		struct json_t *fact = wire_member(facts, names[i]);
		int rc = fact ? wire_fields(d, fact, field, "a fact", &list[i], f)
			      : wire_bad(f, "facts", names[i], "is no object");

		if (rc)
			return rc;
		list[i].name = names[i];
		list[i].value = wire_shown(d, fact, "value");
		if (!list[i].value)
			return fail_set(f, -ENOMEM, "out of memory");
	}
	*out = list;
	*count = n;
	return 0;
}
