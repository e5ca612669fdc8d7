/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/alert/alert_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"

enum { NAMES_BYTES = 64, FOR_MOST = 6 * 86400 /* samples are read seven days back */ };

/* Who is told: "node", "reservation" and "account" are of who rents. */
static const char *alert_rules_who(enum alert_of of)
{
	return of == ALERT_OF_ANNOUNCEMENT                      ? "all"
		: of == ALERT_OF_PAYMENT                        ? "operator"
		: of == ALERT_OF_MACHINE || of == ALERT_OF_HOST ? "provider"
								: "customer";
}

/* ---- Setting ------------------------------------------------------------------------------ */

/* What a threshold is a number of, and its bounds; a balance is compared with what so many seconds cost. */
static const struct alert_rules_bounds {
	double least, most;
	const char *unit, *say;
} alert_rules_bounds[] = {
	[ALERT_NO_UNIT] = { 0, 0, "none", NULL },
	[ALERT_CELSIUS] = { 1, 200, "celsius", "degrees Celsius, from 1 to 200" },
	[ALERT_RATIO] = { 0.001, 1, "ratio", "a percentage or ratio, such as 95% or 0.95" },
	[ALERT_COUNT] = { 1, 1e9, "count", "a count, 1 or more" },
	[ALERT_SECONDS] = { 60, 90 * 86400, "seconds", "a time, from 60s (a minute) to 7776000s (90 days)" },
	[ALERT_DOLLARS] = { 60, 90 * 86400, "seconds", "a time, from 60s (a minute) to 7776000s (90 days)" },
};

/* A state and a debt have no threshold. */
static bool alert_rules_has(const struct alert_rule *r, bool threshold)
{
	return threshold ? !isnan(r->threshold) : r->seconds != ALERT_AT_ONCE;
}

/* "80", "95%" or "7200s"; *unit: what follows the number, or '\0'. */
static bool alert_rules_number(const char *text, double *out, char *unit)
{
	char *end;

	*out = strtod(text, &end);
	*unit = *end;
	return end > text && strspn(text, "0123456789.") == (size_t)(end - text) && isfinite(*out) &&
		(!*end || (strchr("%s", *end) && !end[1]));
}

/* A threshold in what its rule counts; -1: its unit is another one. */
static double alert_rules_threshold(const struct alert_rules_bounds *b, double v, char unit)
{
	bool ratio = strcmp(b->unit, "ratio") == 0, seconds = strcmp(b->unit, "seconds") == 0;

	if ((unit == '%' && !ratio) || (unit == 's' && !seconds))
		return -1;
	v = unit == '%' ? v / 100 : v;
	return v < b->least || v > b->most ? -1 : v;
}

/* The rule that a person may have meant, or NULL. */
static const char *alert_rules_near(const char *typed)
{
	const char *near = NULL;
	size_t best = 4;

	for (const struct alert_rule *r = alert_rules; r->name; r++) {
		size_t far = str_distance(typed, r->name);

		if (far < best) {
			best = far;
			near = r->name;
		}
	}
	return near;
}

/* "RULE=NUMBER"; RULE may have * and ?. false: refused. */
static bool alert_rules_set(const struct request *q, struct reply *r, struct alert_rule *rules, const char *text,
	bool threshold)
{
	const char *field = threshold ? "threshold" : "for", *equals = strrchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : 0, named = 0, set = 0;
	char pattern[NAMES_BYTES];
	const char *near;
	double number = 0;
	char unit = '\0';

	if (!len || len >= sizeof pattern || !alert_rules_number(equals + 1, &number, &unit) ||
		(unit == '%' && !threshold)) {
		api_refuse(q, r, REASON_INVALID, field, "'%s' has values as RULE=NUMBER, and units %% and s", field);
		return false;
	}
	snprintf(pattern, sizeof pattern, "%.*s", (int)len, text);
	for (struct alert_rule *x = rules; x->name; x++) {
		const struct alert_rules_bounds *b = &alert_rules_bounds[x->unit];
		double v = threshold ? alert_rules_threshold(b, number, unit) : number > FOR_MOST ? -1 : number;

		if (!str_glob(pattern, x->name))
			continue;
		named++;
		if (!alert_rules_has(x, threshold))
			continue;
		if (v < 0) {
			api_refuse(q, r, REASON_INVALID, field, "%s of rule '%s' is %s",
				threshold ? "the threshold" : "the duration", x->name,
				threshold ? b->say : "seconds, at most 518400 (6 days)");
			return false;
		}
		set++;
		if (threshold)
			x->threshold = v;
		else
			x->seconds = (int64_t)v;
	}
	near = named ? NULL : alert_rules_near(pattern);
	if (!named)
		api_refuse(q, r, REASON_INVALID, field, "no rule '%s'; %s%s%s'nanopod alerts --rules' lists them",
			pattern, near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
	else if (!set)
		api_refuse(q, r, REASON_INVALID, field, "rule '%s' has no %s", pattern,
			threshold ? "threshold" : "duration: it is told at once");
	return set > 0;
}

bool alert_rules_ask(const struct request *q, struct reply *r, struct alert_rule rules[ALERT_RULES])
{
	const char *text;
	size_t n = 0;

	do
		rules[n] = alert_rules[n];
	while (rules[n++].name && n < ALERT_RULES);
	rules[ALERT_RULES - 1] = (struct alert_rule){ 0 };
	for (size_t i = 0; (text = api_query_at(q, "threshold", i)); i++)
		if (!alert_rules_set(q, r, rules, text, true))
			return false;
	for (size_t i = 0; (text = api_query_at(q, "for", i)); i++)
		if (!alert_rules_set(q, r, rules, text, false))
			return false;
	return true;
}

int64_t alert_rules_ahead(const struct alert_rule *rules, enum alert_of of, enum alert_unit unit)
{
	int64_t most = 0;

	for (; rules->name; rules++)
		if (rules->of == of && rules->unit == unit && rules->threshold > (double)most)
			most = (int64_t)rules->threshold;
	return most;
}

/* ---- Listing ------------------------------------------------------------------------------ */

static json_t *alert_rules_one(const struct alert_rule *r)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:o}", "object", "alert_rule", "rule", r->name,
		"severity", alert_severity_word(r->severity), "kind", alert_of_word(r->of), "who",
		alert_rules_who(r->of), "threshold", alert_rules_has(r, true) ? json_real(r->threshold) : json_null(),
		"unit", alert_rules_bounds[r->unit].unit, "for_seconds",
		alert_rules_has(r, false) ? json_integer(r->seconds) : json_null());
}

static int get_alert_rules(struct api *api, const struct request *q, struct reply *r)
{
	struct alert_rule rules[ALERT_RULES];
	json_t *data;

	(void)api;
	if (!alert_rules_ask(q, r, rules))
		return r->status;
	data = json_array();
	for (const struct alert_rule *x = rules; x->name; x++)
		json_array_append_new(data, alert_rules_one(x));
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static const struct schema_field alert_rules_fields[] = {
	OBJECT_IS("alert_rule"),
	{ "rule", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "such as node_gpu_hot" },
	{ "severity", SCHEMA_ENUM, FIELD_REQUIRED, "critical|warning|info", 0, 0,
		"of an announcement: as the operator says" },
	{ "kind", SCHEMA_ENUM, FIELD_REQUIRED, "account|reservation|machine|host|node|announcement|payment|volume", 0,
		0, NULL },
	{ "who", SCHEMA_ENUM, FIELD_REQUIRED, "customer|provider|operator|all", 0, 0, "who sees it" },
	{ "threshold", SCHEMA_NUMBER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "null: a state, which has none" },
	{ "unit", SCHEMA_ENUM, FIELD_REQUIRED, "none|celsius|ratio|count|seconds", 0, 0, "of the threshold" },
	{ "for_seconds", SCHEMA_INTEGER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"for how long it has to hold before it is told; null: it is told at once" },
	{ 0 },
};

static const struct schema_field alert_rules_list[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.AlertRule", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_alert_rules[] = {
	OBJECT("np.AlertRule", alert_rules_fields),
	OBJECT("np.AlertRuleList", alert_rules_list),
	{ 0 },
};

const struct route api_np_alert_rule_routes[] = {
	{ METHOD_GET, "/np/v1/alert_rules", get_alert_rules, SCOPE_READ | SCOPE_HOST, 0,
		"Get the rules of alerts, with thresholds and durations as they would be in GET /np/v1/alerts",
		ALERT_RULES_QUERY, NULL, "np.AlertRuleList", 200 },
	{ 0 },
};
