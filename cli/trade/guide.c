/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/guide.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/trade/market_clock.h"
#include "cli/trade/quote.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/window.h"
#include "market/when.h"

enum { ANSWER_MAX = 256, HOUR = 3600, NODES_MOST = 1024, CENT = 10000 };

/* What the person chose so far. */
struct guiding {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct market_clock clock;
	struct skus skus;
	const struct sku *sku;
	long nodes;
	int64_t start; /* 0: now */
	char duration[ANSWER_MAX], price[ANSWER_MAX];
	struct quote quote;
};

bool guide_wanted(const struct nanopod *np, const struct options *o)
{
	static const char *const names[] = { "type", "nodes", "duration", "start", "end", "price", "yes", "dry-run" };

	if (!np->tty_in || !np->tty_err || np->errors_json)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (option_given(o, names[i]))
			return false;
	return true;
}

/* The typed line without blanks around it, or the fallback where it is empty. 0, or an exit status. */
static int guide_line(struct guiding *g, const char *question, const char *fallback, char answer[ANSWER_MAX])
{
	char *asked, *line, *start;
	int rc;

	if (asprintf(&asked, *fallback ? "%s [%s]: " : "%s%s: ", question, fallback) < 0)
		command_nomem();
	fflush(g->np->err);
	rc = prompt_shown(asked, ANSWER_MAX - 1, &line);
	free(asked);
	if (rc)
		return print_fail(g->np, STATUS_INT, NULL, "interrupted; nothing was changed");
	start = line + strspn(line, " \t");
	for (size_t n = strlen(start); n && strchr(" \t\r", start[n - 1]); n--)
		start[n - 1] = '\0';
	snprintf(answer, ANSWER_MAX, "%s", *start ? start : fallback);
	free(line);
	return 0;
}

/* What so many nodes cost for so long, from the chosen start on. 0 or a negative code in m->fail. */
static int guide_quote(struct guiding *g, const struct sku *sku, int64_t nodes, int64_t seconds, struct quote *q)
{
	int64_t first = window_first(market_clock_now(&g->clock)), start = g->start > first ? g->start : first;
	struct model_order_new order = { .sku = sku->id,
		.nodes = nodes,
		.start = start,
		.end = start + seconds,
		.price = quote_any_price(nodes, seconds / WINDOW_STEP) };

	return quote_ask(g->m, &order, sku, q);
}

static const char *guide_type(const struct sku *sku)
{
	return sku->alias ? sku->alias : sku->id;
}

/* Can it be bought, but for the money that the account has? */
static bool guide_on_sale(const struct quote *q)
{
	return q->known && (q->fills || quote_only_money(q->reason));
}

static int guide_show_types(struct guiding *g)
{
	char contract[SKU_CONTRACT], total[MONEY_TEXT];
	FILE *err = g->np->err;
	size_t widest = 0;
	struct quote q;

	for (size_t i = 0; i < g->skus.count; i++)
		if (print_width(guide_type(&g->skus.list[i])) > widest)
			widest = print_width(guide_type(&g->skus.list[i]));
	fprintf(err, "%sTypes, and what a node costs for the next hour%s\n", print_color(g->np, err, COLOR_BOLD),
		print_color(g->np, err, COLOR_NONE));
	for (size_t i = 0; i < g->skus.count; i++) {
		const struct sku *sku = &g->skus.list[i];

		if (guide_quote(g, sku, 1, HOUR, &q))
			return market_fail(g->m, "cannot price '%s'", guide_type(sku));
		fprintf(err, "%3zu  ", i + 1);
		print_safe_line(err, guide_type(sku));
		fprintf(err, "%*s  %12s  ", (int)(widest - print_width(guide_type(sku))), "",
			guide_on_sale(&q) ? money_text(q.cost, total) : "not on sale");
		print_safe_line(err, sku_contract(sku, contract));
		putc('\n', err);
	}
	return 0;
}

static int guide_ask_type(struct guiding *g)
{
	char answer[ANSWER_MAX];
	long number;
	int rc = g->skus.count ? guide_show_types(g)
			       : print_fail(g->np, STATUS_NOTFOUND, NULL, "this market has no types of node");

	while (!rc && !g->sku) {
		rc = guide_line(g, "Type, by number or name", "1", answer);
		if (rc)
			return rc;
		if (str_to_long(answer, 1, (long)g->skus.count, &number) == 0)
			g->sku = &g->skus.list[number - 1];
		else
			skus_find(g->np, &g->skus, answer, &g->sku);
	}
	return rc;
}

static int guide_ask_nodes(struct guiding *g)
{
	char answer[ANSWER_MAX];
	int rc;

	for (;;) {
		rc = guide_line(g, "Nodes", "1", answer);
		if (rc || str_to_long(answer, 1, NODES_MOST, &g->nodes) == 0)
			return rc;
		fprintf(g->np->err, "Please type a number from 1 to %d.\n", NODES_MOST);
	}
}

/* What people type is the number of hours itself, so that no number of a row can be taken for it. first: on sale. */
static int guide_show_hours(struct guiding *g, char first[ANSWER_MAX])
{
	static const int hours[] = { 1, 4, 12, 24, 72, 168 };
	char total[MONEY_TEXT];
	FILE *err = g->np->err;
	bool any = false;
	struct quote q;

	snprintf(first, ANSWER_MAX, "%d", hours[0]);
	fprintf(err, "%sHours, and what %ld node%s cost%s from now%s\n", print_color(g->np, err, COLOR_BOLD), g->nodes,
		g->nodes == 1 ? "" : "s", g->nodes == 1 ? "s" : "", print_color(g->np, err, COLOR_NONE));
	for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
		if (guide_quote(g, g->sku, g->nodes, (int64_t)hours[i] * HOUR, &q))
			return market_fail(g->m, "cannot price '%s'", guide_type(g->sku));
		fprintf(err, "%5d  %12s\n", hours[i], guide_on_sale(&q) ? money_text(q.cost, total) : "not on sale");
		if (guide_on_sale(&q) && !any)
			snprintf(first, ANSWER_MAX, "%d", hours[i]);
		any |= guide_on_sale(&q);
	}
	return 0;
}

/* A bare number is hours: that is what was asked for. */
static int guide_ask_time(struct guiding *g, int64_t *seconds)
{
	char answer[ANSWER_MAX], first[ANSWER_MAX];
	struct fail f = { 0 };
	int rc = guide_show_hours(g, first);

	while (!rc) {
		rc = guide_line(g, "Hours, or a time such as 90m, 2d, 1w", first, answer);
		if (rc)
			return rc;
		snprintf(g->duration, sizeof g->duration, "%.200s%s", answer,
			answer[strspn(answer, "0123456789.")] ? "" : "h");
		if (when_duration(g->duration, seconds, &f) == 0 && *seconds > 0 && *seconds % WINDOW_STEP == 0)
			return 0;
		fprintf(g->np->err, "Please type hours, or whole minutes as in 90m.\n");
	}
	return rc;
}

/* Where a later start would fill: asks whether to take it. 0: taken; 1: not; or an exit status. */
static int guide_ask_start(struct guiding *g)
{
	char answer[ANSWER_MAX], at[WHEN_TEXT], in[WHEN_TEXT], question[2 * WHEN_TEXT + 40];
	int64_t start = 0;
	int rc;

	for (size_t i = 0; i < g->quote.alternative_count; i++)
		if (strcmp(g->quote.alternatives[i].kind, "start") == 0)
			start = g->quote.alternatives[i].start;
	if (!start)
		return 1;
	snprintf(question, sizeof question, "Start %s instead (%s)?",
		when_local(start, market_clock_now(&g->clock), at),
		when_relative(start, market_clock_now(&g->clock), in));
	rc = guide_line(g, question, "yes", answer);
	if (rc || (*answer != 'y' && *answer != 'Y'))
		return rc ? rc : 1;
	g->start = start;
	return 0;
}

/* 0; 1 where the market does not have that now, so that the person is asked again; or an exit status (above 1: all). */
static int guide_show_price(struct guiding *g, int64_t seconds)
{
	struct quote *q = &g->quote;
	char rate[PLAN_RATE], total[MONEY_TEXT], at[WHEN_TEXT];
	FILE *err = g->np->err;
	int rc = 0;

	g->start = 0;
	do {
		if (guide_quote(g, g->sku, g->nodes, seconds, q))
			return market_fail(g->m, "cannot price '%s'", guide_type(g->sku));
		if (guide_on_sale(q))
			break;
		fprintf(err, "Not available %s: ", g->start ? "then" : "now");
		print_safe_line(err, q->message);
		fputs(".\n", err);
		rc = guide_ask_start(g);
		if (rc == 1)
			fputs("Fewer nodes or less time may be available; Ctrl-C ends.\n", err);
	} while (!rc);
	if (rc)
		return rc;
	fprintf(err, "%ld node%s of ", g->nodes, g->nodes == 1 ? "" : "s");
	print_safe_line(err, guide_type(g->sku));
	fprintf(err, " for %s%s%s: %s in total%s, %s\n", g->duration, g->start ? " from " : "",
		g->start ? when_local(g->start, market_clock_now(&g->clock), at) : "", money_text(q->cost, total),
		g->start ? "" : " now", plan_rate(quote_average(q), g->sku->gpus, rate));
	return 0;
}

/* The limit that fills now, and limits that still fill where offers become dearer, in whole cents. */
static void guide_show_limits(struct guiding *g, int64_t seconds)
{
	static const struct {
		int percent;
		const char *what;
	} rows[] = { { 0, "fills now" }, { 10, "fills, too, if offers become 10 % dearer" },
		{ 25, "fills, too, if offers become 25 % dearer" } };
	unsigned unit = g->sku->gpus ? g->sku->gpus : 1;
	char text[MONEY_TEXT], total[MONEY_TEXT];
	FILE *err = g->np->err;
	int64_t price, cost;

	fprintf(err, "%sLimits per %s-hour; you pay what the offers cost, never more%s\n",
		print_color(g->np, err, COLOR_BOLD), g->sku->gpus ? "GPU" : "node",
		print_color(g->np, err, COLOR_NONE));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		quote_limit_text(g->quote.price, g->sku->gpus, text);
		if (rows[i].percent) {
			int64_t cents = (g->quote.price * 60 / unit * (100 + rows[i].percent) / 100 + CENT - 1) / CENT;

			snprintf(text, sizeof text, "%" PRId64 ".%02d", cents / 100, (int)(cents % 100));
		}
		if (price_parse(text, g->sku->gpus, &price, NULL) == 0 &&
			money_cost(price, g->nodes, seconds / 60, &cost) == 0)
			fprintf(err, "%8s  %s: %s%s\n", text, rows[i].what, rows[i].percent ? "up to " : "",
				money_text(rows[i].percent ? cost : g->quote.cost, total));
	}
}

static int guide_ask_price(struct guiding *g, int64_t seconds)
{
	char text[MONEY_TEXT];
	struct fail f = { 0 };
	int64_t price;
	int rc;

	guide_show_limits(g, seconds);
	for (;;) {
		rc = guide_line(g, "Limit, in dollars", quote_limit_text(g->quote.price, g->sku->gpus, text), g->price);
		if (rc || price_parse(g->price, g->sku->gpus, &price, &f) == 0)
			return rc;
		fprintf(g->np->err, "Please type dollars: %s.\n", f.text);
	}
}

static int guide_ask_all(struct guiding *g)
{
	int64_t seconds = 0;
	int rc = guide_ask_type(g), shown = 1;

	while (!rc && shown == 1) {
		rc = guide_ask_nodes(g);
		rc = rc ? rc : guide_ask_time(g, &seconds);
		shown = rc ? 0 : guide_show_price(g, seconds);
		rc = shown > 1 ? shown : rc;
	}
	return rc ? rc : guide_ask_price(g, seconds);
}

static void guide_add(struct guide *out, const char *name, const char *value)
{
	bool joined = *value && name[1] == '-';

	if (out->count + 2 > GUIDE_WORDS ||
		asprintf(&out->words[out->count++], joined ? "%s=%s" : "%s", name, value) < 0)
		command_nomem();
	if (*value && !joined && asprintf(&out->words[out->count++], "%s", value) < 0)
		command_nomem();
}

/* The answers in the words of the command line, and what was typed beside them. */
static void guide_write(const struct guiding *g, struct guide *out)
{
	const struct option *row;
	const char *text;
	char nodes[32], name[80], at[WHEN_TEXT];

	snprintf(nodes, sizeof nodes, "%ld", g->nodes);
	guide_add(out, "buy", "");
	guide_add(out, "-t", guide_type(g->sku));
	guide_add(out, "-n", nodes);
	guide_add(out, "-d", g->duration);
	if (g->start)
		guide_add(out, "-s", when_iso(g->start, at));
	guide_add(out, "-p", g->price);
	for (size_t i = 0; option_typed(g->o, i, &row, &text); i++) {
		snprintf(name, sizeof name, "--%s", row->name);
		guide_add(out, name, text);
	}
}

int guide_ask(struct nanopod *np, const struct options *o, struct guide *out)
{
	struct guiding g = { .np = np, .o = o };
	int rc = market_sign_in(np, o, 0, &g.m);

	*out = (struct guide){ .count = 0 };
	if (rc)
		return rc;
	g.m->explain = false;
	if (market_clock_read(g.m, &g.clock) < 0)
		rc = market_fail(g.m, "cannot show prices");
	rc = rc ? rc : skus_load(g.m, &g.skus);
	rc = rc ? rc : guide_ask_all(&g);
	if (!rc)
		guide_write(&g, out);
	skus_release(&g.skus);
	market_sign_out(g.m);
	return rc;
}

void guide_release(struct guide *g)
{
	for (int i = 0; i < g->count; i++)
		free(g->words[i]);
	*g = (struct guide){ .count = 0 };
}
