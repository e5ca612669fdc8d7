/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's rule for accounts that owe: days after which the market reminds, reminds for the last time, and
 * suspends. Each step is an event of its own and comes after the one before, so a clock that jumps leaves none out, and
 * a restart takes none twice. Who is told how: the alerts.
 */
#include "marketd/api/auditlog.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

enum { DUNNING_DAY = 1440 };

/* How long an account has to owe for a step, and how long ago the step before has to be. Minutes. */
static void dunning_waits(const struct api *api, int step, int64_t *minutes, int64_t *after)
{
	*minutes = (int64_t)api->dunning[step - 1] * DUNNING_DAY;
	*after = step > DUNNING_REMINDED ? *minutes - (int64_t)api->dunning[step - 2] * DUNNING_DAY : 0;
}

/* In which minute the step comes, where the one before comes, or came, in minute `last`. */
static int64_t dunning_due(const struct api *api, const struct debt *d, int step, int64_t last)
{
	int64_t minutes, after;

	dunning_waits(api, step, &minutes, &after);
	return step > DUNNING_REMINDED && last + after > d->since + minutes ? last + after : d->since + minutes;
}

/* It sells plans, or pays for others: they would lose what they have paid for, if the rule suspended it. */
static bool dunning_spares(const struct engine *e, const struct account *a)
{
	const struct tariff *t = NULL;
	const struct grant *g = NULL;

	while ((t = engine_tariff_after(e, a->id, t ? t->id : 0)))
		if (t->state != TARIFF_CLOSED)
			return true;
	while ((g = engine_grant_given(e, a->id, g ? g->id : 0)))
		if (g->until > engine_minute(e))
			return true;
	return false;
}

bool np_dunning_spares(const struct api *api, const struct account *a)
{
	return api->dunning[0] && a->debt.owes && a->state == ACCOUNT_OPEN &&
		dunning_spares(market_engine(api->market), a);
}

int64_t np_dunning_suspends(const struct api *api, const struct account *a)
{
	const struct debt *d = &a->debt;
	int64_t at = d->stepped;

	if (d->step == DUNNING_SUSPENDED)
		return at * 60;
	if (!d->owes || !api->dunning[0] || a->state != ACCOUNT_OPEN || np_dunning_spares(api, a))
		return 0;
	for (int step = (int)d->step + 1; step <= DUNNING_SUSPENDED; step++)
		at = dunning_due(api, d, step, at);
	return at * 60;
}

/* step 0: it owes nothing any more, and is open again. */
static void dunning_step(struct api *api, const struct account *a, int step)
{
	const struct request own = { .account = a->id };
	struct event ev = { .kind = EVENT_DUNNING, .account = a->id, .subject = a->id };
	const struct effects *did;
	struct fail why = { 0 };

	ev.u.dunning.step = step;
	if (step)
		dunning_waits(api, step, &ev.u.dunning.minutes, &ev.u.dunning.after);
	if (market_apply(api->market, &ev, &did, &why) == 0)
		auditlog_note(api, &own, &ev, 0);
	else
		log_at(api->log, LOG_WARN, "cannot say what became of an account that owes: %s", why.text);
}

static void dunning_due_now(struct api *api, const struct account *a, int64_t due)
{
	if (a->debt.step != DUNNING_WARNED || !np_dunning_spares(api, a))
		dunning_step(api, a, (int)a->debt.step + 1);
	else if (due > api->dunning_seen)
		log_at(api->log, LOG_WARN,
			"account '%s' stays open though it owes, as it sells plans or pays for others; "
			"'nanopod admin account suspend %s' suspends it",
			a->name, a->name);
}

void np_dunning_minute(struct api *api)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a;
	int64_t due;

	for (uint64_t id = 0; (a = engine_account_after(e, id)); id = a->id) {
		if (a->debt.reopened)
			dunning_step(api, a, DUNNING_NONE);
		if (api->dunning[0] && a->debt.owes && a->state == ACCOUNT_OPEN &&
			engine_minute(e) >= (due = dunning_due(api, &a->debt, (int)a->debt.step + 1, a->debt.stepped)))
			dunning_due_now(api, a, due);
	}
	api->dunning_seen = engine_minute(e);
}

json_t *np_debt(const struct api *api, const struct account *a)
{
	static const char *const words[] = { "none", "reminded", "warned", "suspended" };
	int64_t at = a ? np_dunning_suspends(api, a) : 0;
	json_t *o;

	if (!a || !a->debt.owes)
		return json_null();
	o = json_pack("{s:s, s:o, s:s, s:o}", "object", "debt", "since", render_minute(a->debt.since), "step",
		words[a->debt.step], "suspends_at", at ? json_integer(at) : json_null());
	render_money(o, "owed", account_owed(a));
	return o;
}

/* ---- Shapes ------------------------------------------------------------------------------ */

static const struct schema_field debt_fields[] = {
	OBJECT_IS("debt"),
	TIME("since", FIELD_REQUIRED),
	{ "step", SCHEMA_ENUM, FIELD_REQUIRED, "none|reminded|warned|suspended", 0, 0,
		"how far the operator's rule has come; suspended: by that rule, until nothing is owed" },
	{ "suspends_at", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Time", 0, 0,
		"null: there is no rule, or it waits while the account sells plans or pays for others" },
	{ "owed_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, NULL },
	{ "owed_micros", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_debt[] = {
	OBJECT("np.Debt", debt_fields),
	{ 0 },
};
