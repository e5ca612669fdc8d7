/* SPDX-License-Identifier: Apache-2.0 */
/* Spending in the columns of FOCUS, the FinOps Open Cost and Usage Specification: https://focus.finops.org. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/money/report.h"
#include "cli/frame/cell.h"
#include "market/when.h"

enum { FOCUS_DAY = 86400 };

/* X(name, flags, what focus_put() has for it, help) */
#define FOCUS(X) \
	X(BilledCost, 0, cost, "what was charged") \
	X(BillingAccountId, 0, l->account, "id of the account") \
	X(BillingAccountName, 0, l->account_name, "its name") \
	X(BillingCurrency, 0, "USD", "USD") \
	X(BillingPeriodEnd, 0, end, "first second after the month") \
	X(BillingPeriodStart, 0, begin, "first second of the month") \
	X(ChargeCategory, 0, l->forfeit ? "Adjustment" : "Usage", \
		"Usage, or Adjustment for released time that was not refunded") \
	X(ChargeClass, 0, NULL, "none: the market corrects no charge") \
	X(ChargeDescription, 0, about, "what it is for") \
	X(ChargeFrequency, 0, l->forfeit ? "One-Time" : "Usage-Based", "Usage-Based, or One-Time") \
	X(ChargePeriodEnd, 0, to, "first second after the day") \
	X(ChargePeriodStart, 0, from, "first second of the day") \
	X(ConsumedQuantity, COLUMN_RAW, used, "node-minutes") \
	X(ConsumedUnit, 0, unit, "Minutes") \
	X(ContractedCost, 0, cost, "as BilledCost") \
	X(EffectiveCost, 0, cost, "as BilledCost") \
	X(InvoiceId, 0, number, "number of the month's statement") \
	X(InvoiceIssuerName, 0, market, "the market") \
	X(ListCost, 0, cost, "as BilledCost: a market has no other price") \
	X(PricingCategory, 0, "Standard", "Standard") \
	X(PricingQuantity, COLUMN_RAW, used, "node-minutes") \
	X(PricingUnit, 0, unit, "Minutes") \
	X(ProviderName, 0, market, "the market") \
	X(PublisherName, 0, market, "the market") \
	X(ResourceId, COLUMN_ID, l->pool, "id of the reservation") \
	X(ResourceName, 0, l->reservation, "its name") \
	X(ResourceType, 0, "Reservation", "Reservation") \
	X(ServiceCategory, 0, "Compute", "Compute") \
	X(ServiceName, 0, "Nodes", "Nodes") \
	X(SkuId, 0, l->sku, "id of the type")

static const struct column focus_columns[] = {
#define FOCUS_COLUMN(name, flags, value, help) { #name, flags, help },
	FOCUS(FOCUS_COLUMN)
#undef FOCUS_COLUMN
		{ 0 },
};

/* A day of one account, type and reservation. */
struct focus_line {
	char *account, *account_name, *sku, *type, *pool, *reservation;
	int64_t at, cost, seconds;
	bool forfeit;
};

struct focus {
	struct nanopod *np;
	struct focus_line *list;
	size_t count, cap;
};

static char *focus_copy(const char *text)
{
	char *made = strdup(text ? text : "");

	if (!made)
		command_nomem();
	return made;
}

static bool focus_same(const struct focus_line *l, const struct model_report_row *row, bool forfeit)
{
	return l->at == row->at && l->forfeit == forfeit && strcmp(l->account, row->account ? row->account : "") == 0 &&
		strcmp(l->sku, row->sku ? row->sku : "") == 0 && strcmp(l->pool, row->pool ? row->pool : "") == 0;
}

/* Days are in order for each account, so what is alike is near the end. */
static int focus_add(void *arg, const struct model_report_row *row, struct fail *f)
{
	struct focus *x = arg;
	bool usage = strcmp(row->kind, "usage") == 0, forfeit = strcmp(row->kind, "forfeit") == 0;
	struct focus_line *l = NULL;

	if (!usage && !forfeit)
		return 0;
	for (size_t i = x->count; !l && i-- > 0 && x->list[i].at == row->at;)
		l = focus_same(&x->list[i], row, forfeit) ? &x->list[i] : NULL;
	if (!l) {
		if (x->count == x->cap) {
			x->cap = x->cap ? 2 * x->cap : 64;
			x->list = reallocarray(x->list, x->cap, sizeof *x->list);
			if (!x->list)
				command_nomem();
		}
		l = &x->list[x->count++];
		*l = (struct focus_line){ .account = focus_copy(row->account),
			.account_name = focus_copy(row->account_name),
			.sku = focus_copy(row->sku),
			.type = focus_copy(row->type ? row->type : row->sku),
			.pool = focus_copy(row->pool),
			.reservation = focus_copy(row->reservation ? row->reservation : row->pool),
			.at = row->at,
			.forfeit = forfeit };
	}
	if (__builtin_add_overflow(l->cost, row->gross, &l->cost) ||
		__builtin_add_overflow(l->seconds, row->seconds, &l->seconds))
		return fail_set(f, CLIENT_BAD_ANSWER, "the market reports more than can be counted");
	return 0;
}

static void focus_put(struct rows *r, const struct focus *x, const struct focus_line *l, const char *market)
{
	struct period month = period_month_of(l->at);
	char cost[CELL_TEXT], minutes[CELL_TEXT], from[WHEN_TEXT], to[WHEN_TEXT], begin[WHEN_TEXT], end[WHEN_TEXT];
	char number[STATEMENT_NUMBER], about[400];
	const char *used = l->forfeit ? NULL : minutes, *unit = l->forfeit ? NULL : "Minutes";

	snprintf(about, sizeof about, "%s of type %.100s, reservation %.200s",
		l->forfeit ? "Released time that was not refunded" : "Node time", l->type, l->reservation);
	cell_money(x->np, l->cost, cost);
	cell_micros(l->seconds / 60, minutes);
	when_iso(l->at, from);
	when_iso(l->at + FOCUS_DAY, to);
	when_iso(month.from, begin);
	when_iso(month.to, end);
	statement_number(l->account, l->at, number);
	rows_add(r,
		(const char *[]){
#define FOCUS_VALUE(name, flags, value, help) value,
			FOCUS(FOCUS_VALUE)
#undef FOCUS_VALUE
		});
}

static void focus_release(struct focus *x)
{
	for (size_t i = 0; i < x->count; i++) {
		const struct focus_line *l = &x->list[i];

		free(l->account);
		free(l->account_name);
		free(l->sku);
		free(l->type);
		free(l->pool);
		free(l->reservation);
	}
	free(x->list);
}

int report_focus(struct market_link *m, const struct options *o, const struct period *p)
{
	struct focus x = { .np = m->np };
	struct rows *r = NULL;
	int rc;

	if (!option_given(o, "output") && cell_for_people(m->np))
		m->np->format = FORMAT_CSV;
	if (account_report_read(m, p, NULL, focus_add, &x))
		rc = market_fail(m, "cannot report");
	else
		r = rows_new(m->np, o, focus_columns, &rc);
	for (size_t i = 0; r && i < x.count; i++)
		focus_put(r, &x, &x.list[i], m->about.name ? m->about.name : m->url);
	rc = r ? rows_end(r) : rc;
	focus_release(&x);
	return rc;
}
