/* SPDX-License-Identifier: Apache-2.0 */
/* Usage events of the market, and what Lago answers to them. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "market/wire.h"
#include "market/wire_part.h"

static const struct wire_field usage_tokens[] = {
	FIELD(model_usage, "at", INT, NEEDED, at),
	FIELD(model_usage, "account", TEXT, NEEDED, account),
	FIELD(model_usage, "account_name", TEXT, MAY, account_name),
	FIELD(model_usage, "model", TEXT, NEEDED, model),
	FIELD(model_usage, "counted", TEXT, NEEDED, counted),
	FIELD(model_usage, "prompt_tokens", INT, NEEDED, prompt_tokens),
	FIELD(model_usage, "completion_tokens", INT, NEEDED, completion_tokens),
	FIELD(model_usage, "total_tokens", INT, NEEDED, total_tokens),
	{ 0 },
};

int wire_usage(struct doc *d, long at, struct model_usage *out, struct fail *f)
{
	static const struct wire_field outer[] = {
		FIELD(model_usage, "id", TEXT, NEEDED, id),
		FIELD(model_usage, "type", TEXT, NEEDED, metric),
		{ 0 },
	};
	static const struct wire_field fields[] = {
		FIELD(model_usage, "at", INT, NEEDED, at),
		FIELD(model_usage, "account", TEXT, NEEDED, account),
		FIELD(model_usage, "account_name", TEXT, MAY, account_name),
		FIELD(model_usage, "kind", TEXT, NEEDED, kind),
		FIELD(model_usage, "lease", TEXT, MAY, lease),
		FIELD(model_usage, "instance_sku", TEXT, MAY, sku),
		FIELD(model_usage, "volume", TEXT, MAY, volume),
		FIELD(model_usage, "grant", TEXT, MAY, grant),
		FIELD(model_usage, "type", TEXT, MAY, type),
		FIELD(model_usage, "reservation", TEXT, MAY, reservation),
		FIELD(model_usage, "tier", TEXT, NEEDED, tier),
		FIELD(model_usage, "node_minutes", INT, NEEDED, node_minutes),
		FIELD(model_usage, "gpu_seconds", INT, NEEDED, gpu_seconds),
		FIELD(model_usage, "amount_micros", INT, NEEDED, amount),
		FIELD(model_usage, "granted_micros", INT, NEEDED, granted),
		FIELD(model_usage, "refunded_micros", INT, NEEDED, refunded),
		{ 0 },
	};
	struct model_usage made = { .tier = "tokens", .kind = "usage" };
	struct json_t *o = wire_object(d, at, "a usage event", f), *data = o ? wire_member(o, "data") : NULL;
	int rc = o ? wire_fields(d, o, outer, "a usage event", &made, f) : -EPROTO;
	bool tokens = !rc && strcmp(made.metric, "batch_tokens") == 0;

	if (!rc && !data)
		rc = wire_bad(f, "a usage event", "data", "is missing");
	rc = rc ? rc : wire_fields(d, data, tokens ? usage_tokens : fields, "a usage event", &made, f);
	if (!rc)
		*out = made;
	return rc;
}

/* ---- Lago ------------------------------------------------------------------------------- */

const char *wire_lago_id(struct doc *d, const char *thing, const char *key, const char *name)
{
	static const struct wire_field fields[] = { { "lago_id", WIRE_TEXT, true, 0 }, { 0 } };
	struct fail f;
	struct json_t *o = wire_object(d, WIRE_WHOLE, "an answer", &f), *made = o ? wire_member(o, thing) : NULL;
	const char *id = NULL;

	return made && wire_says(made, key, name) && wire_fields(d, made, fields, thing, &id, &f) == 0 ? id : NULL;
}

bool wire_lago_is(struct doc *d, const char *thing, const char *key, const char *name)
{
	struct fail f;
	struct json_t *o = wire_object(d, WIRE_WHOLE, "an answer", &f), *made = o ? wire_member(o, thing) : NULL;

	return made && wire_says(made, key, name);
}

bool wire_lago_charges(struct doc *d, const char *code, const char *model)
{
	struct fail f;
	struct json_t *o = wire_object(d, WIRE_WHOLE, "an answer", &f), *plan = o ? wire_member(o, "plan") : NULL;

	for (size_t i = 0; plan && i < wire_length(plan, "charges"); i++) {
		struct json_t *charge = wire_item(plan, "charges", i);

		if (charge && (!model || wire_says(charge, "charge_model", model)) &&
			wire_says(charge, "billable_metric_code", code))
			return true;
	}
	return false;
}

int wire_lago_accepted(struct doc *d, const char *const *ids, size_t count, struct fail *f)
{
	struct json_t *o = wire_object(d, WIRE_WHOLE, "an answer", f);

	if (!o)
		return -EPROTO;
	if (wire_length(o, "events") != count)
		return fail_set(f, -EPROTO, "it does not list the events that it accepted");
	for (size_t i = 0; i < count; i++) {
		struct json_t *e = wire_item(o, "events", i);

		if (!e || !wire_says(e, "transaction_id", ids[i]))
			return fail_set(f, -EPROTO, "it lists other events than it was sent");
	}
	return 0;
}

/* "error_details": {"3": {"transaction_id": ["value_already_exist"]}} */
int wire_lago_known(struct doc *d, bool *known, size_t count, struct fail *f)
{
	struct json_t *o = wire_object(d, WIRE_WHOLE, "an answer", f),
		      *all = o ? wire_member(o, "error_details") : NULL;
	size_t n = all ? wire_names(all, NULL) : 0, found = 0;

	if (!o)
		return -EPROTO;
	if (!n)
		return fail_set(f, -EPROTO, "it refuses the events and does not say which");
	for (size_t i = 0; i < count; i++) {
		char index[24];
		struct json_t *one;
		const char *why;

		snprintf(index, sizeof index, "%zu", i);
		one = wire_member(all, index);
		known[i] = one != NULL;
		found += known[i];
		if (!one)
			continue;
		why = wire_shown(d, one, "transaction_id");
		if (wire_names(one, NULL) != 1 || !why || strcmp(why, "value_already_exist") != 0)
			return fail_set(f, -EPROTO, "it refuses an event: %.200s", wire_shown(d, all, index));
	}
	if (found != n)
		return fail_set(f, -EPROTO, "it refuses the events: %.200s", wire_shown(d, o, "error_details"));
	return 0;
}

static int wire_lago_charge(struct doc *d, struct json_t *o, struct model_metered *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_metered, "units", TEXT, NEEDED, units),
		FIELD(model_metered, "events_count", INT, NEEDED, events),
		FIELD(model_metered, "amount_cents", INT, NEEDED, cents),
		{ 0 },
	};
	static const struct wire_field metric[] = {
		FIELD(model_metered, "code", TEXT, NEEDED, metric),
		{ 0 },
	};
	struct json_t *m = wire_member(o, "billable_metric");
	int rc = wire_fields(d, o, fields, "a charge", out, f);

	if (!rc && !m)
		rc = wire_bad(f, "a charge", "billable_metric", "is missing");
	rc = rc ? rc : wire_fields(d, m, metric, "a charge", out, f);
	out->groups = (int64_t)wire_length(o, "grouped_usage");
	return rc;
}

int wire_lago_usage(struct doc *d, const char **from, struct model_metered **out, size_t *count, struct fail *f)
{
	static const struct wire_field field[] = { { "from_datetime", WIRE_TEXT, true, 0 }, { 0 } };
	struct json_t *o = wire_object(d, WIRE_WHOLE, "an answer", f), *u = o ? wire_member(o, "customer_usage") : NULL;
	size_t n = u ? wire_length(u, "charges_usage") : 0;
	struct model_metered *list = wire_room(d, n + 1, sizeof *list);
	int rc;

	if (!u)
		return o ? wire_bad(f, "an answer", "customer_usage", "is missing") : -EPROTO;
	if (!list)
		return fail_set(f, -ENOMEM, "out of memory");
	rc = wire_fields(d, u, field, "what is used", from, f);
	for (size_t i = 0; !rc && i < n; i++) {
		struct json_t *charge = wire_item(u, "charges_usage", i);

		rc = charge ? wire_lago_charge(d, charge, &list[i], f)
			    : wire_bad(f, "what is used", "charges_usage", "holds something else");
	}
	if (!rc) {
		*out = list;
		*count = n;
	}
	return rc;
}
