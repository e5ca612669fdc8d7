/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/alerts/alertrules.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/value.h"
#include "cli/trade/rows_list.h"

enum { PATH_BYTES = 16 * 1024 };

/* ---- What the person has set -------------------------------------------------------------- */

/* A number, "95%" or "2h"; *unit: of the number, as the market reads it in a query. */
static bool alertrules_value(const char *text, double *out, const char **unit)
{
	char *end;
	int64_t ms;
	struct fail f;

	if (value_duration(text, &ms, &f) == 0) {
		*out = (double)ms / 1000;
		*unit = "s";
		return true;
	}
	*out = strtod(text, &end);
	*unit = strcmp(end, "%") == 0 ? "%25" : "";
	return end != text && (!*end || **unit) && isfinite(*out) && *out >= 0;
}

static bool alertrules_seconds(const char *text, double *out, const char **unit)
{
	int64_t ms = 0;
	struct fail f;

	if (strcmp(text, "none") != 0 && value_duration(text, &ms, &f))
		return false;
	*out = (double)(ms / 1000);
	*unit = "s";
	return true;
}

/* What the two options differ in. */
static const struct alertrules_kind {
	const char *parameter, *form, *example;
	bool (*read)(const char *text, double *out, const char **unit);
} alertrules_thresholds = { "threshold", "RULE=VALUE", "node_gpu_hot=80, machine_disk=95%, lease_ends=2h",
	alertrules_value },
  alertrules_durations = { "for", "RULE=DURATION", "node_gpu_hot=10m, host_down=none", alertrules_seconds };

static int alertrules_add(const char *text, const struct alertrules_kind *kind, struct buf *out, struct fail *f)
{
	size_t len = strcspn(text, "=");
	const char *unit;
	double v;

	if (!text[len] || !len)
		return fail_set(f, -EINVAL, "cannot use '%.80s': %s is required, e.g. %s", text, kind->form,
			kind->example);
	if (strspn(text, "abcdefghijklmnopqrstuvwxyz_*?") != len)
		return fail_set(f, -EINVAL, "no rule '%.*s'; 'nanopod alerts --rules' lists them",
			len < 80 ? (int)len : 80, text);
	if (!kind->read(text + len + 1, &v, &unit))
		return fail_set(f, -EINVAL, "cannot use '%.80s'; e.g. %s", text, kind->example);
	buf_addf(out, "&%s=", kind->parameter);
	for (size_t i = 0; i < len; i++)
		if (text[i] == '?')
			buf_adds(out, "%3F");
		else
			buf_addc(out, text[i]);
	return buf_addf(out, "%%3D%.10g%s", v, unit) ? fail_set(f, -E2BIG, "too many thresholds of alerts") : 0;
}

int alertrules_query(const struct settings *s, struct buf *out, struct fail *f)
{
	const char *text;
	int rc = 0;

	for (size_t i = 0; (text = settings_item(s, SETTING_ID_ALERT_THRESHOLD, i)) && !rc; i++)
		rc = alertrules_add(text, &alertrules_thresholds, out, f);
	for (size_t i = 0; (text = settings_item(s, SETTING_ID_ALERT_FOR, i)) && !rc; i++)
		rc = alertrules_add(text, &alertrules_durations, out, f);
	return rc;
}

/* ---- All of them --------------------------------------------------------------------------- */

static const struct column alertrules_columns[] = {
	{ "rule", COLUMN_ID, "its name, for --threshold, --for and --silence" },
	{ "severity", COLUMN_STATE, "critical, warning or info" },
	{ "about", 0, "account, reservation, machine, host, node, announcement, payment or volume" },
	{ "who", 0, "who sees it: customer, provider or all" },
	{ "threshold", 0, "from which value on it tells, as --threshold takes it; empty: it has none" },
	{ "for", 0, "for how long it has to be so" },
	{ "value", COLUMN_RAW | COLUMN_HIDDEN, "the threshold as a number" },
	{ "unit", COLUMN_HIDDEN, "of that number" },
	{ "for_seconds", COLUMN_RAW | COLUMN_HIDDEN, "that time in seconds" },
	{ 0 },
};

/* As --threshold takes it. */
static const char *alertrules_typed(const struct model_alert_rule *r, char room[CELL_TEXT])
{
	if (isnan(r->threshold))
		return NULL;
	if (strcmp(r->unit, "seconds") == 0)
		value_show_duration((int64_t)r->threshold * 1000, room, CELL_TEXT);
	else if (strcmp(r->unit, "ratio") == 0)
		snprintf(room, CELL_TEXT, "%.6g%%", r->threshold * 100);
	else
		snprintf(room, CELL_TEXT, "%.10g", r->threshold);
	return room;
}

static int alertrules_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_alert_rule r;
	char typed[CELL_TEXT], value[CELL_TEXT], span[CELL_TEXT] = "none", seconds[CELL_TEXT];
	int rc = wire_alert_rule(d, at, &r, f);

	if (rc)
		return rc;
	if (r.seconds > 0)
		value_show_duration(r.seconds * 1000, span, sizeof span);
	snprintf(value, sizeof value, "%.10g", r.threshold);
	rows_add(l->rows,
		(const char *[]){ r.rule, r.severity, r.kind, r.who, alertrules_typed(&r, typed), span,
			isnan(r.threshold) ? NULL : value, r.unit, cell_int(r.seconds, seconds) });
	return 0;
}

int alertrules_list(struct nanopod *np, const struct options *o)
{
	struct rows_list list = { "alerts", NULL, "the rules of alerts", alertrules_columns, alertrules_row, NULL };
	struct buf path;
	struct fail f;
	int rc;

	buf_init(&path, PATH_BYTES);
	buf_adds(&path, "/np/v1/alert_rules?");
	alertrules_query(np->settings, &path, &f); /* checked before */
	list.path = buf_text(&path);
	rc = rows_list(np, o, &list);
	buf_release(&path);
	return rc;
}
