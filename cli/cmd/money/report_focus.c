/* SPDX-License-Identifier: Apache-2.0 */
/* Spending in the columns of FOCUS, the FinOps Open Cost and Usage Specification: https://focus.finops.org. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/money/paper.h"
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
	X(ChargeCategory, 0, l->kind->category, \
		"Usage, Purchase for the fee of a plan, or Adjustment for released time that was not refunded") \
	X(ChargeClass, 0, NULL, "none: the market corrects no charge") \
	X(ChargeDescription, 0, about, "what it is for") \
	X(ChargeFrequency, 0, l->kind->frequency, "Usage-Based, Recurring, or One-Time") \
	X(ChargePeriodEnd, 0, to, "first second after the day") \
	X(ChargePeriodStart, 0, from, "first second of the day") \
	X(ConsumedQuantity, COLUMN_RAW, used, "node-minutes; of volumes: how many hours were paid") \
	X(ConsumedUnit, 0, used ? l->kind->unit : NULL, "Minutes, or Hours") \
	X(ContractedCost, 0, cost, "as BilledCost") \
	X(EffectiveCost, 0, cost, "as BilledCost") \
	X(InvoiceId, 0, number, "number of the month's statement") \
	X(InvoiceIssuerName, 0, market, "the market") \
	X(ListCost, 0, cost, "as BilledCost: a market has no other price") \
	X(PricingCategory, 0, "Standard", "Standard") \
	X(PricingQuantity, COLUMN_RAW, l->kind->unit ? quantity : NULL, "the same; of a plan: fees") \
	X(PricingUnit, 0, l->kind->unit, "Minutes, Hours, or Fees") \
	X(ProviderName, 0, market, "the market") \
	X(PublisherName, 0, market, "the market") \
	X(ResourceId, COLUMN_ID, l->resource, "id of the reservation or volume; none for plans") \
	X(ResourceName, 0, l->name, "its name; none for a volume that is gone") \
	X(ResourceType, 0, l->resource ? l->kind->resource : NULL, "Reservation, or Volume") \
	X(ServiceCategory, 0, l->kind->category_of_service, "Compute, or Storage") \
	X(ServiceName, 0, l->kind->service, "Nodes, Volumes, or Plans") \
	X(SkuId, 0, l->sku, "id of the type")

static const struct column focus_columns[] = {
#define FOCUS_COLUMN(name, flags, value, help) { #name, flags, help },
	FOCUS(FOCUS_COLUMN)
#undef FOCUS_COLUMN
		{ 0 },
};

/* What the kinds of a report's rows that are paid are in FOCUS. */
static const struct focus_kind {
	const char *kind, *about, *category, *frequency, *unit, *category_of_service, *service, *resource;
} focus_kinds[] = {
	{ "usage", "Node time", "Usage", "Usage-Based", "Minutes", "Compute", "Nodes", "Reservation" },
	{ "forfeit", "Released time that was not refunded", "Adjustment", "One-Time", NULL, "Compute", "Nodes",
		"Reservation" },
	{ "storage", "Volume, by the hour", "Usage", "Usage-Based", "Hours", "Storage", "Volumes", "Volume" },
	{ "plan", "Fee of a plan", "Purchase", "Recurring", "Fees", "Compute", "Plans", NULL },
};

/* A day of one account, type and reservation; or of a volume, or of its plan. */
struct focus_line {
	const struct focus_kind *kind;
	char *account, *account_name, *sku, *type, *resource, *name; /* NULL: it is of none */
	int64_t at, cost, seconds, transfers;
};

struct focus {
	struct nanopod *np;
	struct focus_line *list;
	size_t count, cap;
};

static const char *focus_resource(const struct model_report_row *row)
{
	return row->pool ? row->pool : row->volume;
}

static bool focus_same(const struct focus_line *l, const struct model_report_row *row)
{
	return l->at == row->at && strcmp(l->kind->kind, row->kind) == 0 && paper_same(l->account, row->account) &&
		paper_same(l->sku, row->sku) && paper_same(l->resource, focus_resource(row));
}

/* Days are in order for each account, so what is alike is near the end. */
static int focus_add(void *arg, const struct model_report_row *row, struct fail *f)
{
	struct focus *x = arg;
	const struct focus_kind *kind = NULL;
	struct focus_line *l = NULL;

	for (size_t i = 0; i < sizeof focus_kinds / sizeof *focus_kinds; i++)
		kind = strcmp(focus_kinds[i].kind, row->kind) == 0 ? &focus_kinds[i] : kind;
	if (!kind)
		return 0;
	for (size_t i = x->count; !l && i-- > 0 && x->list[i].at == row->at;)
		l = focus_same(&x->list[i], row) ? &x->list[i] : NULL;
	if (!l) {
		if (x->count == x->cap) {
			x->cap = x->cap ? 2 * x->cap : 64;
			x->list = reallocarray(x->list, x->cap, sizeof *x->list);
			if (!x->list)
				command_nomem();
		}
		l = &x->list[x->count++];
		*l = (struct focus_line){ .account = paper_copy(row->account),
			.account_name = paper_copy(row->account_name),
			.sku = paper_copy(row->sku),
			.type = paper_copy(row->type ? row->type : row->sku),
			.resource = paper_copy(focus_resource(row)),
			.name = paper_copy(row->pool ? row->reservation : row->volume_name),
			.at = row->at,
			.kind = kind };
	}
	if (__builtin_add_overflow(l->cost, row->gross, &l->cost) ||
		__builtin_add_overflow(l->seconds, row->seconds, &l->seconds) ||
		__builtin_add_overflow(l->transfers, row->transfers, &l->transfers))
		return fail_set(f, CLIENT_BAD_ANSWER, "the market reports more than can be counted");
	return 0;
}

static void focus_put(struct rows *r, const struct focus *x, const struct focus_line *l, const char *market)
{
	struct period month = period_month_of(l->at);
	bool nodes = strcmp(l->kind->kind, "usage") == 0;
	char cost[CELL_TEXT], quantity[CELL_TEXT], from[WHEN_TEXT], to[WHEN_TEXT], begin[WHEN_TEXT], end[WHEN_TEXT];
	char number[STATEMENT_NUMBER], about[400];
	const char *used = strcmp(l->kind->category, "Usage") == 0 ? quantity : NULL;
	const char *name = l->name ? l->name : l->resource ? l->resource : "";

	if (l->type && l->resource)
		snprintf(about, sizeof about, "%s of type %.100s, reservation %.200s", l->kind->about, l->type, name);
	else
		snprintf(about, sizeof about, "%s%s%.200s", l->kind->about, l->resource ? ": " : "", name);
	cell_money(x->np, l->cost, cost);
	cell_micros(nodes ? l->seconds / 60 : l->transfers, quantity);
	when_iso(l->at, from);
	when_iso(l->at + FOCUS_DAY, to);
	when_iso(month.from, begin);
	when_iso(month.to, end);
	statement_number(l->account ? l->account : "", l->at, number);
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
		free(l->resource);
		free(l->name);
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
