/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/local/localstatus.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "market/money.h"
#include "market/when.h"

enum { JSON_MAX = 65536 };

static void localstatus_count(struct market_link *m, struct localstatus *st)
{
	struct model_account a;

	if (localmarket_hosts(m, NULL, NULL, &st->hosts) == 0 && market_get(m, "/np/v1/accounts/" LOCAL_BUYER) == 0 &&
		wire_account(m->doc, WIRE_WHOLE, &a, &m->fail) == 0) {
		st->available = a.balance.available;
		st->known = true;
	}
}

static int localstatus_take_node(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_instance i;
	size_t *running = arg;
	int rc = wire_instance(d, at, &i, f);

	*running += !rc && i.status == MODEL_INSTANCE_RUNNING;
	return rc;
}

void localstatus_look(struct nanopod *np, const struct localstate *s, struct localstatus *st)
{
	struct market_link *m;

	*st = (struct localstatus){ .available = MODEL_NONE };
	st->market_runs = localproc_runs(s->market_pid, &st->market);
	st->agent_runs = localproc_runs(s->agent_pid, &st->agent);
	/* Briefly: a market that hangs is what the command is to show. */
	if (!st->market_runs || localmarket_open_by(np, s, MARKET_BRIEFLY, &m))
		return;
	st->silent = market_get(m, "/np/v1") != 0;
	if (st->silent) {
		market_sign_out(m);
		return;
	}
	localstatus_count(m, st);
	if (market_each(m, "/v2/instances?limit=200&status=running&account=" LOCAL_BUYER, localstatus_take_node,
		    &st->running))
		st->known = false;
	market_sign_out(m);
}

static const char *localstatus_word(const struct localstatus *st)
{
	if (st->market_runs && st->agent_runs && !st->silent)
		return "running";
	return st->market_runs || st->agent_runs ? "broken" : "stopped";
}

static void localstatus_json(struct nanopod *np, const struct localstate *s, const struct localstatus *st)
{
	char room[CELL_TEXT];
	struct json j;
	struct buf b;

	buf_init(&b, JSON_MAX);
	j = json_to(&b);
	json_begin_object(&j, NULL);
	json_text(&j, "state", localstatus_word(st));
	json_text(&j, "folder", s->dir);
	if (localstate_get(s, "port")) {
		snprintf(room, sizeof room, "http://127.0.0.1:%ld", localstate_number(s, "port"));
		json_text(&j, "url", room);
	}
	json_text(&j, "driver", localstate_get(s, "driver"));
	json_text(&j, "driver_why", localstate_get(s, "driver.why"));
	json_text(&j, "type", LOCAL_TYPE);
	if (st->market_runs)
		json_int(&j, "market_pid", st->market.pid);
	if (st->agent_runs)
		json_int(&j, "agent_pid", st->agent.pid);
	if (st->market_runs && st->agent_runs)
		json_text(&j, "since",
			when_iso(st->market.since > st->agent.since ? st->market.since : st->agent.since, room));
	if (st->known) {
		json_int(&j, "hosts", (int64_t)st->hosts.all);
		json_int(&j, "hosts_up", (int64_t)st->hosts.up);
		json_int(&j, "nodes_running", (int64_t)st->running);
		json_text(&j, "available", cell_money(np, st->available, room));
		json_int(&j, "available_micros", st->available);
	}
	json_end(&j);
	fprintf(np->out, "%s\n", buf_text(&b));
	buf_release(&b);
}

static void localstatus_line(struct nanopod *np, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void localstatus_line(struct nanopod *np, const char *label, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	print_labelled(np, np->out, label, 8, text);
	free(text);
}

static void localstatus_text(struct nanopod *np, const struct localstate *s, const struct localstatus *st)
{
	int64_t now = (int64_t)time(NULL);
	char room[WHEN_TEXT], money[MONEY_TEXT];

	localstatus_line(np, "state", "%s", localstatus_word(st));
	if (st->market_runs)
		localstatus_line(np, "market", "http://127.0.0.1:%ld, %sstarted %s (process %ld)",
			localstate_number(s, "port"), st->silent ? "does not answer, " : "",
			when_relative(st->market.since, now, room), (long)st->market.pid);
	else
		localstatus_line(np, "market", "not running; its log is '%s'", s->market_log);
	if (st->agent_runs)
		localstatus_line(np, "agent", "driver %s, %s (process %ld)", localstate_get(s, "driver"),
			localstate_get(s, "driver.why"), (long)st->agent.pid);
	else
		localstatus_line(np, "agent", "not running; its log is '%s'", s->agent_log);
	if (st->known) {
		localstatus_line(np, "nodes",
			"%zu running of %zu of type '" LOCAL_TYPE "' at $" LOCAL_PRICE " per node-hour%s", st->running,
			st->hosts.all, st->hosts.up == st->hosts.all ? "" : "; not all hosts are up");
		localstatus_line(np, "money", "%s (play money)", money_text(st->available, money));
	}
	localstatus_line(np, "folder", "%s", s->dir);
}

void localstatus_print(struct nanopod *np, const struct localstate *s, const struct localstatus *st)
{
	if (np->format == FORMAT_NAME)
		fprintf(np->out, "%s\n", localstatus_word(st));
	else if (np->format == FORMAT_JSON || np->format == FORMAT_JSONL)
		localstatus_json(np, s, st);
	else
		localstatus_text(np, s, st);
}
