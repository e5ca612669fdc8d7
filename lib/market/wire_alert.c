/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with what an account has, as the market sees it. */
#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "market/wire_part.h"

#define OF(name, member) FIELD(model_alerts_of, name, INT, MAY, member)

int wire_alert(struct doc *d, long at, struct model_alert *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_alert, "rule", TEXT, NEEDED, rule),
		FIELD(model_alert, "severity", TEXT, NEEDED, severity),
		FIELD(model_alert, "since", INT, MAY, since),
		FIELD(model_alert, "value", REAL, MAY, value),
		FIELD(model_alert, "threshold", REAL, MAY, threshold),
		FIELD(model_alert, "unit", TEXT, MAY, unit),
		FIELD(model_alert, "for_seconds", INT, MAY, seconds),
		FIELD(model_alert, "text", TEXT, NEEDED, text),
		FIELD(model_alert, "next", TEXT, MAY, next),
		{ 0 },
	};
	static const struct wire_field subject[] = {
		FIELD(model_alert, "kind", TEXT, NEEDED, kind),
		FIELD(model_alert, "id", TEXT, NEEDED, id),
		FIELD(model_alert, "name", TEXT, MAY, name),
		FIELD(model_alert, "account", TEXT, MAY, account),
		{ 0 },
	};
	struct model_alert made = { .value = NAN, .threshold = NAN };
	struct json_t *o = wire_object(d, at, "an alert", f);
	int rc = o ? wire_fields(d, o, fields, "an alert", &made, f) : -EPROTO;

	o = rc ? NULL : wire_member(o, "subject");
	if (!rc)
		rc = o ? wire_fields(d, o, subject, "an alert", &made, f)
		       : wire_bad(f, "an alert", "subject", "is missing");
	if (!rc)
		*out = made;
	return rc;
}

int wire_alert_rule(struct doc *d, long at, struct model_alert_rule *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_alert_rule, "rule", TEXT, NEEDED, rule),
		FIELD(model_alert_rule, "severity", TEXT, NEEDED, severity),
		FIELD(model_alert_rule, "kind", TEXT, NEEDED, kind),
		FIELD(model_alert_rule, "who", TEXT, NEEDED, who),
		FIELD(model_alert_rule, "threshold", REAL, MAY, threshold),
		FIELD(model_alert_rule, "unit", TEXT, NEEDED, unit),
		FIELD(model_alert_rule, "for_seconds", INT, MAY, seconds),
		{ 0 },
	};
	struct model_alert_rule made = { .threshold = NAN, .seconds = -1 };
	int rc = wire_read(d, at, "a rule of alerts", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_announcement(struct doc *d, long at, struct model_announcement *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_announcement, "id", TEXT, NEEDED, id),
		FIELD(model_announcement, "account", TEXT, MAY, account),
		FIELD(model_announcement, "severity", TEXT, NEEDED, severity),
		FIELD(model_announcement, "text", TEXT, NEEDED, text),
		FIELD(model_announcement, "start_at", INT, MAY, start),
		FIELD(model_announcement, "end_at", INT, MAY, end),
		FIELD(model_announcement, "created_at", INT, MAY, created_at),
		{ 0 },
	};
	struct model_announcement made = { 0 };
	int rc = wire_read(d, at, "an announcement", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_alerts_of(struct doc *d, struct model_alerts_of *out, struct fail *f)
{
	static const struct wire_field looked[] = {
		OF("accounts", accounts),
		OF("machines", machines),
		OF("hosts", hosts),
		OF("nodes", nodes),
		{ 0 },
	};
	static const struct wire_field unknown[] = {
		OF("machines_never_heard", unknown.unheard),
		OF("machines_without_samples", unknown.machines),
		OF("machines_without_gpu_samples", unknown.machine_gpus),
		OF("hosts_without_machine", unknown.hosts),
		OF("nodes_without_samples", unknown.nodes),
		OF("nodes_without_gpu_samples", unknown.node_gpus),
		{ 0 },
	};
	static const struct wire_field whole[] = {
		OF("now", now),
		FIELD(model_alerts_of, "unjudged", TEXTS, MAY, unjudged),
		{ 0 },
	};
	struct model_alerts_of made = { 0 };
	struct json_t *o = wire_object(d, WIRE_WHOLE, "alerts", f), *of = o ? wire_member(o, "looked") : NULL;
	int rc = !o ? -EPROTO : wire_fields(d, o, whole, "alerts", &made, f);

	rc = rc      ? rc
		: of ? wire_fields(d, of, looked, "alerts", &made, f)
		     : wire_bad(f, "alerts", "looked", "is missing");

	of = rc ? NULL : wire_member(o, "unknown");
	if (!rc)
		rc = of ? wire_fields(d, of, unknown, "alerts", &made, f)
			: wire_bad(f, "alerts", "unknown", "is missing");
	if (!rc)
		*out = made;
	return rc;
}
