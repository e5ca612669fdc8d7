/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/money/paper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/print.h"
#include "cli/trade/market_link.h"
#include "market/money.h"
#include "market/when.h"

char *paper_copy(const char *text)
{
	char *made = text ? strdup(text) : NULL;

	if (text && !made)
		command_nomem();
	return made;
}

bool paper_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* NULL: none. */
static const char *paper_thing(const struct model_report_row *row)
{
	const char *const things[] = { row->reservation, row->pool, row->host_name, row->volume_name, row->volume };
	size_t i = 0;

	while (i + 1 < sizeof things / sizeof *things && !things[i])
		i++;
	return things[i];
}

static const char *paper_type(const struct model_report_row *row)
{
	return row->type ? row->type : row->sku;
}

void paper_line_init(struct paper_line *l, const struct model_report_row *row, const char *reason)
{
	*l = (struct paper_line){ .type = paper_copy(paper_type(row)),
		.thing = paper_copy(paper_thing(row)),
		.reason = paper_copy(reason) };
}

bool paper_line_is(const struct paper_line *l, const struct model_report_row *row)
{
	return paper_same(l->type, paper_type(row)) && paper_same(l->thing, paper_thing(row));
}

void paper_line_release(struct paper_line *l)
{
	free(l->type);
	free(l->thing);
	free(l->reason);
}

int paper_whose(struct paper *p)
{
	int rc = market_get(p->m, "/np/v1/whoami");
	struct model_whoami who = { 0 };

	rc = rc ? rc : wire_whoami(p->m->doc, WIRE_WHOLE, &who, &p->m->fail);
	if (!rc && !who.account_id) {
		snprintf(p->m->answer.field, sizeof p->m->answer.field, "account");
		return fail_set(&p->m->fail, REASON_INVALID, "the operator has no account");
	}
	if (rc)
		return rc;
	p->account_id = paper_copy(who.account_id);
	p->account = paper_copy(who.account ? who.account : who.account_id);
	statement_number(p->account_id, p->month.from, p->number);
	return 0;
}

void paper_release(struct paper *p)
{
	free(p->account);
	free(p->account_id);
}

const char *paper_market(const struct paper *p)
{
	return p->m->about.name ? p->m->about.name : p->m->url;
}

void paper_month(const struct paper *p, char *room, size_t size)
{
	char title[PERIOD_TEXT], from[PERIOD_TEXT], to[PERIOD_TEXT];

	snprintf(room, size, "%s, %s to %s (UTC)", period_title(p->month.from, title), period_day(p->month.from, from),
		period_day(p->month.to - 1, to));
}

void paper_head(const struct paper *p, const char *what, unsigned columns)
{
	char month[200];

	paper_month(p, month, sizeof month);
	print_labelled(p->np, p->np->out, what, columns, p->number);
	print_labelled(p->np, p->np->out, "Market", columns, paper_market(p));
	print_labelled(p->np, p->np->out, "Account", columns, p->account);
	print_labelled(p->np, p->np->out, "Account id", columns, p->account_id);
	print_labelled(p->np, p->np->out, "Month", columns, month);
}

void paper_json_head(const struct paper *p, struct json *j)
{
	char month[PERIOD_TEXT], when[WHEN_TEXT];

	json_text(j, "number", p->number);
	json_text(j, "market", p->m->about.name);
	json_text(j, "account", p->account);
	json_text(j, "account_id", p->account_id);
	json_text(j, "month", period_month(p->month.from, month));
	json_text(j, "from", when_iso(p->month.from, when));
	json_text(j, "to", when_iso(p->month.to, when));
}

void paper_json_money(struct json *j, const char *name, int64_t micros)
{
	char room[MONEY_TEXT], key[64];

	json_text(j, name, money_wire(micros, room));
	snprintf(key, sizeof key, "%s_micros", name);
	json_int(j, key, micros);
}
