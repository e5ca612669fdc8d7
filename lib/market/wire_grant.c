/* SPDX-License-Identifier: Apache-2.0 */
/* Grants, payments, and what the market's policy knows of an account. */
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
