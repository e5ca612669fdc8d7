/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod report: node time, spending, earnings and hosts of a period, summed up from the ledger. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/cmd/money/report.h"
#include "cli/trade/market_clock.h"
#include "market/money.h"

/* ---- What there is to show --------------------------------------------------------------- */

/* X(name, help) */
#define PARTS(X) \
	X(TYPE, "type", "type of node") \
	X(RESERVATION, "reservation", "name of the reservation") \
	X(HOST, "host", "name of the host") \
	X(ACCOUNT, "account", "name of the account") \
	X(DAY, "day", "day in UTC on which the market booked it") \
	X(MONTH, "month", "month in UTC")

enum part {
#define PART_X(id, name, help) PART_##id,
	PARTS(PART_X)
#undef PART_X
		PART_KINDS
};

static const struct column part_columns[PART_KINDS] = {
#define PART_COLUMN(id, name, help) { name, 0, help },
	PARTS(PART_COLUMN)
#undef PART_COLUMN
};

/* The sums of a group, each with its column. */
enum sum {
	SUM_SECONDS,
	SUM_GPU_SECONDS,
	SUM_USED,
	SUM_FORFEITED,
	SUM_STORAGE,
	SUM_PLAN,
	SUM_INCLUDED,
	SUM_TOTAL,
	SUM_REFUNDED,
	SUM_GROSS,
	SUM_FEE,
	SUM_NET,
	SUM_HOSTS,
	SUM_OFFERED,
	SUM_SO_FAR,
	SUM_SO_FAR_SECONDS,
	SUM_KINDS
};
enum sum_form { FORM_MONEY, FORM_HOURS, FORM_COUNT };

static const struct sum_column {
	enum sum_form form;
	struct column shown, exact; /* exact: a hidden number beside it */
} sum_columns[SUM_KINDS] = {
	[SUM_SECONDS] = { FORM_HOURS, { "node_hours", COLUMN_RIGHT | COLUMN_MINOR, "time of nodes that has passed" },
		{ "node_seconds", COLUMN_RAW | COLUMN_HIDDEN, "the same in seconds" } },
	[SUM_GPU_SECONDS] = { FORM_HOURS, { "gpu_hours", COLUMN_RIGHT, "the same, for each of their GPUs" },
		{ "gpu_seconds", COLUMN_RAW | COLUMN_HIDDEN, "the same in seconds" } },
	[SUM_USED] = { FORM_MONEY, { "used", COLUMN_RIGHT | COLUMN_MINOR, "paid for node time that has passed" },
		{ "used_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_FORFEITED] = { FORM_MONEY,
		{ "forfeited", COLUMN_RIGHT | COLUMN_MINOR, "of released time, what was not refunded" },
		{ "forfeited_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_STORAGE] = { FORM_MONEY, { "storage", COLUMN_RIGHT | COLUMN_MINOR, "paid for hours of volumes" },
		{ "storage_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_PLAN] = { FORM_MONEY, { "plan", COLUMN_RIGHT | COLUMN_MINOR, "fees of the plan" },
		{ "plan_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_INCLUDED] = { FORM_MONEY,
		{ "included", COLUMN_RIGHT | COLUMN_MINOR, "node time that the plan or a grant paid" },
		{ "included_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_TOTAL] = { FORM_MONEY, { "total", COLUMN_RIGHT, "what the account has less" },
		{ "total_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_REFUNDED] = { FORM_MONEY, { "refunded", COLUMN_RIGHT | COLUMN_MINOR, "paid before and given back" },
		{ "refunded_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_GROSS] = { FORM_MONEY, { "gross", COLUMN_RIGHT | COLUMN_MINOR, "what buyers paid" },
		{ "gross_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_FEE] = { FORM_MONEY, { "fee", COLUMN_RIGHT | COLUMN_MINOR, "what the market kept of it" },
		{ "fee_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_NET] = { FORM_MONEY, { "net", COLUMN_RIGHT, "what the seller got" },
		{ "net_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_HOSTS] = { FORM_COUNT, { "hosts", COLUMN_RIGHT | COLUMN_RAW | COLUMN_MINOR, "hosts that are registered" },
		{ 0 } },
	[SUM_SO_FAR] = { FORM_MONEY,
		{ "so_far", COLUMN_RIGHT | COLUMN_HIDDEN,
			"what runs now has cost since the market booked it last; not in the total" },
		{ "so_far_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" } },
	[SUM_SO_FAR_SECONDS] = { FORM_HOURS,
		{ "so_far", COLUMN_RIGHT | COLUMN_HIDDEN,
			"node-hours of what runs now since the market booked it last" },
		{ "so_far_seconds", COLUMN_RAW | COLUMN_HIDDEN, "the same in seconds" } },
	[SUM_OFFERED] = { FORM_HOURS,
		{ "hours", COLUMN_RIGHT | COLUMN_MINOR, "node-hours that they have in this time" },
		{ "seconds", COLUMN_RAW | COLUMN_HIDDEN, "the same in seconds" } },
};

static const struct column share_column = { "sold", COLUMN_RIGHT, "share of those that were sold" };

static const struct report {
	const char *name;
	unsigned parts;           /* bits: by what it can be */
	enum sum sums[SUM_KINDS]; /* ends with SUM_KINDS */
	bool share;
	enum sum total; /* of the line below the table */
	const char *nothing;
} reports[] = {
	{ "usage", 1 << PART_TYPE | 1 << PART_RESERVATION | 1 << PART_ACCOUNT | 1 << PART_DAY | 1 << PART_MONTH,
		{ SUM_SECONDS, SUM_GPU_SECONDS, SUM_SO_FAR_SECONDS, SUM_KINDS }, false, SUM_SECONDS,
		"no node time was used" },
	{ "spend", 1 << PART_TYPE | 1 << PART_RESERVATION | 1 << PART_ACCOUNT | 1 << PART_DAY | 1 << PART_MONTH,
		{ SUM_SECONDS, SUM_USED, SUM_FORFEITED, SUM_TOTAL, SUM_REFUNDED, SUM_STORAGE, SUM_PLAN, SUM_INCLUDED,
			SUM_SO_FAR, SUM_KINDS },
		false, SUM_TOTAL, "nothing was spent" },
	{ "earnings", 1 << PART_TYPE | 1 << PART_HOST | 1 << PART_ACCOUNT | 1 << PART_DAY | 1 << PART_MONTH,
		{ SUM_SECONDS, SUM_GROSS, SUM_FEE, SUM_NET, SUM_KINDS }, false, SUM_NET, "nothing was earned" },
	{ "fleet", 1 << PART_TYPE | 1 << PART_HOST | 1 << PART_ACCOUNT | 1 << PART_DAY | 1 << PART_MONTH,
		{ SUM_HOSTS, SUM_OFFERED, SUM_SECONDS, SUM_GROSS, SUM_FEE, SUM_NET, SUM_KINDS }, true, SUM_NET,
		"no hosts, and nothing was earned" },
};

enum { REPORTS = sizeof reports / sizeof *reports, FLEET = 3, COLUMNS_MOST = 2 * SUM_KINDS + PART_KINDS + 2 };

/* ---- Groups ------------------------------------------------------------------------------ */

struct group {
	char *parts[PART_KINDS]; /* NULL: it is for none, or not asked for */
	int64_t sums[SUM_KINDS];
};

struct summary {
	struct nanopod *np;
	const struct report *report;
	enum part by[PART_KINDS];
	size_t by_count;
	struct period period;
	int64_t now;
	const char *account; /* whose it is; NULL: not known */
	struct table index; /* of groups, by what their parts say together */
	struct group **list;
	size_t count;
};

static char *report_copy(const char *text)
{
	char *made = text ? strdup(text) : NULL;

	if (text && !made)
		command_nomem();
	return made;
}

static struct group *report_group(struct summary *s, const char *const values[PART_KINDS])
{
	struct group *g;
	struct buf key;

	buf_init(&key, 64 * 1024);
	for (size_t i = 0; i < s->by_count; i++)
		if (buf_addf(&key, "%s\n", values[s->by[i]] ? values[s->by[i]] : ""))
			command_nomem();
	g = table_get(&s->index, buf_text(&key));
	if (!g) {
		g = calloc(1, sizeof *g);
		s->list = reallocarray(s->list, s->count + 1, sizeof *s->list);
		if (!g || !s->list || table_set(&s->index, buf_text(&key), g))
			command_nomem();
		for (size_t i = 0; i < s->by_count; i++)
			g->parts[s->by[i]] = report_copy(values[s->by[i]]);
		s->list[s->count++] = g;
	}
	buf_release(&key);
	return g;
}

static int report_count(struct group *g, enum sum sum, int64_t n, struct fail *f)
{
	if (money_add(g->sums[sum], n, &g->sums[sum]))
		return fail_set(f, CLIENT_BAD_ANSWER, "the market reports more than can be counted");
	return 0;
}

/* What a row of money that leaves a buyer adds to; SUM_KINDS: it is another row. */
static enum sum report_spent(const char *kind)
{
	static const char *const kinds[] = { "usage", "forfeit", "refund", "storage", "plan", "included", "granted" };
	static const enum sum sums[] = { SUM_USED, SUM_FORFEITED, SUM_REFUNDED, SUM_STORAGE, SUM_PLAN, SUM_INCLUDED,
		SUM_INCLUDED, SUM_KINDS };
	size_t i = 0;

	while (i < sizeof kinds / sizeof *kinds && strcmp(kind, kinds[i]) != 0)
		i++;
	return sums[i];
}

static int report_add_row(void *arg, const struct model_report_row *row, struct fail *f)
{
	struct summary *s = arg;
	enum sum spent = report_spent(row->kind);
	bool refund = spent == SUM_REFUNDED, earning = strcmp(row->kind, "earning") == 0;
	bool buys = s->report->parts & 1 << PART_RESERVATION;
	char day[PERIOD_TEXT], month[PERIOD_TEXT];
	const char *const values[PART_KINDS] = {
		[PART_TYPE] = row->type ? row->type : row->sku,
		[PART_RESERVATION] = row->reservation ? row->reservation : row->pool,
		[PART_HOST] = row->host_name ? row->host_name : row->host,
		[PART_ACCOUNT] = row->account_name ? row->account_name : row->account,
		[PART_DAY] = period_day(row->at, day),
		[PART_MONTH] = period_month(row->at, month),
	};
	struct group *g;
	int64_t seconds = refund ? 0 : row->seconds, gpu_seconds; /* refunded: nobody had that time */
	int rc;

	if (!buys && s->report->share && !row->host) /* resold by a buyer: it is the owner's already */
		return 0;
	if (!(buys ? spent != SUM_KINDS : earning) || (strcmp(s->report->name, "usage") == 0 && !seconds))
		return 0;
	g = report_group(s, values);
	rc = report_count(g, SUM_SECONDS, seconds, f);
	rc = rc ? rc : money_mul(seconds, row->gpus, &gpu_seconds);
	rc = rc ? rc : report_count(g, SUM_GPU_SECONDS, gpu_seconds, f);
	if (!rc && buys)
		rc = report_count(g, spent, row->gross, f);
	if (!rc && buys && !refund && spent != SUM_INCLUDED)
		rc = report_count(g, SUM_TOTAL, row->gross, f);
	if (!rc && earning) {
		rc = report_count(g, SUM_GROSS, row->gross, f);
		rc = rc ? rc : report_count(g, SUM_FEE, row->fee, f);
		rc = rc ? rc : report_count(g, SUM_NET, row->amount, f);
	}
	return rc;
}

/* What runs now is booked each hour, or at its end: until then it is told apart. */
static int report_add_lease(void *arg, struct doc *d, long at, struct fail *f)
{
	struct summary *s = arg;
	char day[PERIOD_TEXT], month[PERIOD_TEXT];
	struct model_lease l;
	int64_t from, to, cost;
	int rc = wire_lease(d, at, &l, f);
	struct group *g;

	if (rc || !l.settled)
		return rc;
	from = l.settled > s->period.from ? l.settled : s->period.from;
	to = l.end < s->now ? l.end : s->now;
	if (to - from < 60)
		return 0;
	if (money_cost(l.price, l.nodes, (to - from) / 60, &cost))
		return fail_set(f, CLIENT_BAD_ANSWER, "the market reports more than can be counted");
	g = report_group(s,
		(const char *const[PART_KINDS]){ [PART_TYPE] = l.sku.name ? l.sku.name : l.sku.id,
			[PART_RESERVATION] = l.pool.name ? l.pool.name : l.pool.id,
			[PART_ACCOUNT] = s->account,
			[PART_DAY] = period_day(s->now, day),
			[PART_MONTH] = period_month(s->now, month) });
	rc = report_count(g, SUM_SO_FAR, cost, f);
	return rc ? rc : report_count(g, SUM_SO_FAR_SECONDS, (to - from) / 60 * 60 * l.nodes, f);
}

static bool report_has_part(const struct summary *s, enum part part)
{
	for (size_t i = 0; i < s->by_count; i++)
		if (s->by[i] == part)
			return true;
	return false;
}

/* What a host has of one day, one month, or all of the period. */
static int report_add_host_time(struct summary *s, const struct model_host *h, const struct period *p, struct fail *f)
{
	int64_t from = h->start > p->from ? h->start : p->from, to = h->end < p->to ? h->end : p->to;
	char day[PERIOD_TEXT], month[PERIOD_TEXT];
	struct group *g;
	int rc;

	if (to <= from && p->to - p->from < s->period.to - s->period.from)
		return 0;
	g = report_group(s,
		(const char *const[PART_KINDS]){ [PART_TYPE] = h->sku.name ? h->sku.name : h->sku.id,
			[PART_HOST] = h->name ? h->name : h->id,
			[PART_ACCOUNT] = h->account ? h->account : s->account,
			[PART_DAY] = period_day(p->from, day),
			[PART_MONTH] = period_month(p->from, month) });
	rc = report_count(g, SUM_HOSTS, 1, f);
	return rc ? rc : report_count(g, SUM_OFFERED, to > from ? to - from : 0, f);
}

static int report_add_host(void *arg, struct doc *d, long at, struct fail *f)
{
	struct summary *s = arg;
	struct model_host h;
	int rc = wire_host(d, at, &h, f);
	bool days = report_has_part(s, PART_DAY), months = report_has_part(s, PART_MONTH);
	struct period p = s->period;

	for (; !rc && p.from < s->period.to; p.from = p.to) {
		p.to = days ? (p.from / 86400 + 1) * 86400 : months ? period_month_of(p.from).to : s->period.to;
		p.to = p.to < s->period.to ? p.to : s->period.to;
		rc = report_add_host_time(s, &h, &p, f);
	}
	return rc;
}

static void summary_release(struct summary *s)
{
	for (size_t i = 0; i < s->count; i++) {
		for (size_t k = 0; k < PART_KINDS; k++)
			free(s->list[i]->parts[k]);
		free(s->list[i]);
	}
	free(s->list);
	table_release(&s->index);
}

/* ---- Showing ----------------------------------------------------------------------------- */

static int groups_by_parts(const void *x, const void *y, void *arg)
{
	const struct group *a = *(struct group *const *)x, *b = *(struct group *const *)y;
	const struct summary *s = arg;
	int rc = 0;

	for (size_t i = 0; i < s->by_count && !rc; i++) {
		const char *p = a->parts[s->by[i]], *q = b->parts[s->by[i]];

		rc = strverscmp(p ? p : "", q ? q : "");
	}
	return rc;
}

static const char *report_cell(const struct nanopod *np, enum sum sum, int64_t n, char room[CELL_TEXT])
{
	if (sum_columns[sum].form == FORM_MONEY)
		return cell_money(np, n, room);
	if (sum_columns[sum].form == FORM_HOURS)
		snprintf(room, CELL_TEXT, "%.*f", cell_for_people(np) ? 1 : 4, (double)n / 3600);
	else
		snprintf(room, CELL_TEXT, "%" PRId64, n);
	return room;
}

/* The columns of this report, in their order; the last one is { 0 }. */
static void report_columns(const struct summary *s, struct column out[COLUMNS_MOST])
{
	size_t n = 0;

	for (size_t i = 0; i < s->by_count; i++) {
		out[n] = part_columns[s->by[i]];
		out[n++].flags |= i == 0 ? COLUMN_ID : 0;
	}
	for (const enum sum *sum = s->report->sums; *sum != SUM_KINDS; sum++) {
		out[n++] = sum_columns[*sum].shown;
		if (sum_columns[*sum].exact.name)
			out[n++] = sum_columns[*sum].exact;
		if (*sum == SUM_SECONDS && s->report->share)
			out[n++] = share_column;
	}
	out[n] = (struct column){ 0 };
}

static void report_put_group(const struct summary *s, struct rows *r, const struct group *g)
{
	const char *cells[COLUMNS_MOST];
	char rooms[COLUMNS_MOST][CELL_TEXT];
	size_t n = 0;

	for (size_t i = 0; i < s->by_count; i++)
		cells[n++] = g->parts[s->by[i]];
	for (const enum sum *sum = s->report->sums; *sum != SUM_KINDS; sum++) {
		cells[n] = report_cell(s->np, *sum, g->sums[*sum], rooms[n]);
		n++;
		if (sum_columns[*sum].exact.name) {
			cells[n] = cell_micros(g->sums[*sum], rooms[n]);
			n++;
		}
		if (*sum == SUM_SECONDS && s->report->share) {
			int64_t offered = g->sums[SUM_OFFERED];

			snprintf(rooms[n], CELL_TEXT, "%.1f%%",
				offered ? 100 * (double)g->sums[SUM_SECONDS] / (double)offered : 0);
			cells[n] = offered ? rooms[n] : NULL;
			n++;
		}
	}
	rows_add(r, cells);
}

/* 0: it is too large to count. */
static int64_t report_sum(const struct summary *s, enum sum sum)
{
	int64_t total = 0;

	for (size_t i = 0; i < s->count; i++)
		if (money_add(total, s->list[i]->sums[sum], &total))
			return 0;
	return total;
}

/* The sum of all lines, for people. */
static void report_tell(const struct summary *s)
{
	enum sum sum = s->report->total, so_far = sum == SUM_SECONDS ? SUM_SO_FAR_SECONDS : SUM_SO_FAR;
	const char *unit = sum_columns[sum].form == FORM_HOURS ? " node-hours" : "";
	int64_t running = report_sum(s, so_far);
	char from[PERIOD_TEXT], to[PERIOD_TEXT], room[CELL_TEXT], more[CELL_TEXT];

	period_day(s->period.from, from);
	period_day(s->period.to > s->period.from ? s->period.to - 1 : s->period.to, to);
	if (!s->count)
		print_note(s->np, "%s from %s to %s (UTC)", s->report->nothing, from, to);
	else if (running)
		print_note(s->np,
			"from %s to %s (UTC): %s%s in all, and %s%s so far of what runs now, which is booked each hour",
			from, to, report_cell(s->np, sum, report_sum(s, sum), room), unit,
			report_cell(s->np, so_far, running, more), unit);
	else
		print_note(s->np, "from %s to %s (UTC): %s%s in all", from, to,
			report_cell(s->np, sum, report_sum(s, sum), room), sum == SUM_NET ? " net" : unit);
}

static int report_show(struct summary *s, const struct options *o)
{
	struct column columns[COLUMNS_MOST];
	struct rows *r;
	int rc;

	report_columns(s, columns);
	r = rows_new(s->np, o, columns, &rc);
	if (!r)
		return rc;
	if (s->count)
		qsort_r(s->list, s->count, sizeof *s->list, groups_by_parts, s);
	for (size_t i = 0; i < s->count; i++)
		report_put_group(s, r, s->list[i]);
	rc = rows_end(r);
	if (cell_for_people(s->np))
		report_tell(s);
	return rc;
}

/* ---- The command ------------------------------------------------------------------------- */

static int report_read_by(struct summary *s, const struct options *o)
{
	const char *text = option_text(o, "by"), *word;
	size_t len;

	for (word = text; *word; word += len + (word[len] == ',')) {
		size_t i = 0, k = 0;

		len = strcspn(word, ",");
		while (i < PART_KINDS &&
			(strlen(part_columns[i].name) != len || strncmp(part_columns[i].name, word, len) != 0))
			i++;
		if (i == PART_KINDS || !(s->report->parts & 1u << i)) {
			struct buf known;
			int rc;

			buf_init(&known, 4096);
			for (k = 0; k < PART_KINDS; k++)
				if (s->report->parts & 1u << k)
					buf_addf(&known, "%s%s", known.len ? ", " : "", part_columns[k].name);
			rc = print_fail_field(s->np, STATUS_USAGE, "--by", NULL,
				"no report %s by '%.*s'; available: %s", s->report->name, (int)(len > 40 ? 40 : len),
				word, buf_text(&known));
			buf_release(&known);
			return rc;
		}
		while (k < s->by_count && s->by[k] != (enum part)i)
			k++;
		if (k == s->by_count)
			s->by[s->by_count++] = (enum part)i;
	}
	if (!s->by_count)
		return print_fail_field(s->np, STATUS_USAGE, "--by", NULL, "--by is empty, e.g. --by type,day");
	return 0;
}

static int report_read_market(struct market_link *m, struct summary *s)
{
	int rc = account_report_read(m, &s->period, NULL, report_add_row, s);

	if (!rc && s->report->parts & 1 << PART_RESERVATION && s->period.to > s->now) {
		rc = market_each(m, "/np/v1/leases?active=true&limit=1000", report_add_lease, s);
		rc = rc == REASON_INVALID ? 0 : rc; /* an operator without --account has none */
	}
	if (!rc && s->report == &reports[FLEET])
		rc = market_each(m, "/np/v1/hosts", report_add_host, s);
	return rc;
}

static int report_run(struct nanopod *np, const struct options *o, struct summary *s)
{
	struct column columns[COLUMNS_MOST];
	struct market_clock clock;
	struct market_link *m;
	int rc = report_read_by(s, o);

	if (rc)
		return rc;
	report_columns(s, columns);
	if (option_given(o, "focus") ? strcmp(s->report->name, "spend") != 0 : !rows_check(np, o, columns, &rc))
		return option_given(o, "focus")
			? print_fail_field(np, STATUS_USAGE, "--focus", "type 'nanopod report spend --focus'",
				  "--focus is for spending")
			: rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	rc = market_need_ours(m, "report");
	if (!rc && market_clock_read(m, &clock) < 0)
		rc = market_fail(m, "cannot report");
	if (!rc && market_whoami(m))
		rc = market_fail(m, "cannot report");
	s->account = np->account ? np->account : m->who.account;
	s->now = rc ? 0 : market_clock_now(&clock);
	rc = rc ? rc : report_period(np, o, s->now, &s->period);
	if (!rc && option_given(o, "focus"))
		rc = report_focus(m, o, &s->period);
	else if (!rc)
		rc = report_read_market(m, s) ? market_fail(m, "cannot report") : report_show(s, o);
	market_sign_out(m);
	return rc;
}

static int report_command(struct nanopod *np, const struct options *o)
{
	const char *given = option_argv(o)[0], *name = given ? given : "spend";
	struct summary s = { .np = np };
	int rc;

	for (size_t i = 0; i < REPORTS; i++)
		if (strcmp(reports[i].name, name) == 0)
			s.report = &reports[i];
	if (!s.report)
		return print_fail(np, STATUS_USAGE, NULL,
			"no report '%.60s'; available: usage, spend, earnings and fleet", name);
	table_init(&s.index);
	rc = report_run(np, o, &s);
	if (!rc && !given && cell_for_people(np))
		print_note(np, "this is 'nanopod report spend'; there are also: usage, earnings, fleet");
	summary_release(&s);
	return rc;
}

static const struct option options[] = {
	{ "by", 0, OPTION_STRING, "LIST", .fallback = "type",
		.help = "a line for each of these, comma-separated: type, account, day, month; usage, spend: "
			"reservation; earnings, fleet: host" },
	{ "from", 0, OPTION_STRING, "DATE",
		.help = "first day (2026-10-05) or month (2026-10), in UTC; default: this month" },
	{ "to", 0, OPTION_STRING, "DATE", .help = "last day or month; default: today" },
	{ "focus", 0, OPTION_FLAG, .help = "spend: columns of FOCUS 1.0, as CSV unless -o says otherwise" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod report", "what this month has cost, by type" },
	{ "nanopod report usage --by reservation,day --from 2026-10-01 --to 2026-10-07", "node time of a week" },
	{ "nanopod report earnings --by host --from 2026-10 --to 2026-10", "what each host has earned in October" },
	{ "nanopod report fleet --by host", "which share of each host was sold" },
	{ "nanopod report fleet --by account,day",
		"for the operator: which share of each account's hosts was sold each day" },
	{ "nanopod report spend --focus --from 2026-10 --to 2026-10 >october.csv", "for programs that read FOCUS" },
	{ 0 },
};

const struct command cmd_report = {
	.name = "report",
	.args = "[usage|spend|earnings|fleet]",
	.summary = "sum up node time, spending and earnings",
	.examples = examples,
	.positional = "usage     node time that passed\n"
		      "spend     what it cost (default)\n"
		      "earnings  what time of your hosts has brought, before and after the fee\n"
		      "fleet     your hosts: how much of their time was sold",
	.description = "The market sums up its ledger, so the sums are exact: -o json and -o csv have each amount as a "
		       "decimal, and in micro-dollars by --fields. A day is one in UTC, and what the market booked on "
		       "it: a node's time is booked each hour. What runs now is told apart until then. Money that "
		       "waits in orders, or is paid for time to come, is not spent yet.\n\nAn operator without "
		       "--account gets everybody's.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = 1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "usage|spend|earnings|fleet",
	.run = report_command,
};
