/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host drain, undrain and list: hosts go out of service, after a plan says what that ends and costs. */
#include <inttypes.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/trade/rows_list.h"
#include "market/money.h"
#include "market/reason.h"
#include "market/when.h"

enum { BODY_MAX = 65536 };

/* ---- List ------------------------------------------------------------------------------------------ */

static const struct column host_list_columns[] = {
	{ "host", COLUMN_ID, "its name" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "type", 0, "type of its nodes" },
	{ "state", COLUMN_STATE, "up, down, draining or drained" },
	{ "since", 0, "since when it is down; from when on it is not sold" },
	{ "why", COLUMN_TEXT, "why" },
	{ "sold_until", 0, "until when it is sold, with what is free before" },
	{ "node_price", COLUMN_RIGHT, "what it is on sale at, in dollars per node-hour" },
	{ "floor", COLUMN_RIGHT | COLUMN_WIDE, "what it is never on sale below, in dollars per node-hour" },
	{ "order", COLUMN_WIDE, "the order that has it on sale; 'nanopod cancel' withdraws it" },
	{ "proof", 0, "verified, unverified, expired or failed, by what was measured, where its type asks for it" },
	{ "tier", COLUMN_WIDE, "by the values that were measured" },
	{ "until", COLUMN_WIDE, "when the proof ends" },
	{ "failed", COLUMN_WIDE, "why it failed" },
	{ 0 },
};

static const char *service_state(const struct nanopod *np, const struct model_host *h)
{
	if (!h->drain || (h->state && strcmp(h->state, "up") != 0))
		return h->state;
	return h->drain > command_now(np) ? "draining" : "drained";
}

static int add_host(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_host h;
	char since[CELL_TEXT], until[CELL_TEXT], sold[CELL_TEXT], price[CELL_TEXT], floor[CELL_TEXT];
	int rc = wire_host(d, at, &h, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ h.name, h.id, h.sku.name ? h.sku.name : h.sku.id, service_state(l->np, &h),
				cell_time(l->np, h.down_since ? h.down_since : h.drain, since),
				h.down_reason ? h.down_reason : h.drain_reason, cell_time(l->np, h.sold_until, sold),
				cell_price(h.on_sale, 1, price), cell_price(h.floor, 1, floor), h.on_sale_order,
				h.proof_asked ? h.proof : NULL, h.tier, cell_time(l->np, h.proof_until, until),
				h.proof_reason });
	return rc;
}

int host_list(struct nanopod *np, const struct options *o, char **words)
{
	struct rows_list hosts = { .command = "host",
		.what = "the hosts",
		.none = "you have no hosts; 'nanopod host join URL' makes this machine one",
		.columns = host_list_columns,
		.add = add_host };
	struct buf path;
	int rc;

	(void)words;
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts", NULL, "");
	hosts.path = buf_text(&path);
	rc = rows_list(np, o, &hosts);
	buf_release(&path);
	return rc;
}

/* ---- Drain ----------------------------------------------------------------------------------------- */

int host_drain_ask(struct market_link *m, const struct options *o, const char *host, const struct host_drain_ask *ask,
	struct model_drain *out)
{
	struct buf body, path;
	struct json j;
	int rc;

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts/", host, "/drain");
	j = json_to(&body);
	json_begin_object(&j, NULL);
	if (ask->at)
		json_int(&j, "at", ask->at);
	if (ask->reason)
		json_text(&j, "reason", ask->reason);
	if (!ask->really)
		json_bool(&j, "dry_run", true);
	json_end(&j);
	if (j.error)
		command_nomem();
	rc = ask->really ? market_make(m, buf_text(&path), &body, buf_text(&body))
			 : market_send(m, "POST", buf_text(&path), &body, NULL);
	buf_release(&body);
	buf_release(&path);
	return rc ? rc : wire_drain(m->doc, WIRE_WHOLE, out, &m->fail);
}

bool host_drain_unknown(struct market_link *m, const struct options *o, const char *host)
{
	bool known = m->fail.code != REASON_NOT_FOUND;
	struct buf path;

	if (known)
		return false;
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts/", host, "");
	known = market_get(m, "%s", buf_text(&path)) != 0; /* the host is there, so only its drain is unknown */
	buf_release(&path);
	return !known;
}

/* A failure to change one host's service. */
static int service_fail(struct market_link *m, const struct options *o, bool drain, const char *host)
{
	if (host_drain_unknown(m, o, host))
		return print_fail(m->np, STATUS_FAILURE, "its operator updates nanopod-marketd",
			"cannot take hosts out of service: this market is too old for 'nanopod host drain'");
	return drain ? market_fail(m, "cannot take the host '%s' out of service", host)
		     : market_fail(m, "cannot put the host '%s' back into service", host);
}

/* Of several hosts one failed: which are done, and which were not tried. */
static void service_part(struct nanopod *np, char **words, char **failed)
{
	struct buf done, left;

	buf_init(&done, BODY_MAX);
	buf_init(&left, BODY_MAX);
	for (char **w = words; *w; w++)
		if (w != failed && buf_addf(w < failed ? &done : &left, " %s", *w))
			command_nomem();
	if (done.len)
		print_note(np, "done:%s", buf_text(&done));
	if (left.len)
		print_note(np, "not tried:%s", buf_text(&left));
	buf_release(&done);
	buf_release(&left);
}

static void drain_line(struct market_link *m, struct plan *p, const char *host, const struct model_drain *d)
{
	char until[CELL_TEXT], money[MONEY_TEXT];
	const char *sold = cell_time(m->np, d->sold_until, until);

	if (!d->leases)
		plan_add(p, host, "nothing is sold beyond");
	else if (!d->ends_leases)
		plan_add(p, host, "sold until %s; that stays, and you are paid for it", sold);
	else
		plan_add(p, host,
			"%" PRId64 " lease%s, sold until %s, end%s early: %s of your sales goes back to "
			"the buyers",
			d->leases, d->leases == 1 ? "" : "s", sold, d->leases == 1 ? "s" : "",
			money_text(d->refund, money));
}

/* Asks the market about each host, shows the plan, and asks the person. */
static int drain_plan(struct market_link *m, const struct options *o, char **words, const struct host_drain_ask *ask)
{
	char at[WHEN_TEXT], relative[WHEN_TEXT];
	struct model_drain d = { 0 };
	bool any = false;
	struct plan p;
	size_t n = 0;
	int rc = 0;

	while (words[n])
		n++;
	if (ask->at)
		plan_init(&p, "Take %s out of service at %s (%s)", n == 1 ? words[0] : "these hosts",
			when_local(ask->at, command_now(m->np), at),
			when_relative(ask->at, command_now(m->np), relative));
	else
		plan_init(&p, "Sell no more of %s from now on", n == 1 ? words[0] : "these hosts");
	for (; !rc && *words; words++) {
		rc = host_drain_ask(m, o, *words, ask, &d);
		if (rc)
			rc = service_fail(m, o, true, *words);
		else
			drain_line(m, &p, *words, &d);
		any = any || (d.leases && d.ends_leases);
	}
	plan_add(&p, "offers", "what is on sale from then on is withdrawn");
	if (any)
		plan_add(&p, "buyers", "they are told now; nodes that renew themselves move to other hosts");
	if (ask->reason)
		plan_add(&p, "reason", "'%s', which buyers see", ask->reason);
	plan_add(&p, "then", "'nanopod host undrain' puts a host back into service; then offer it again%s",
		any ? ", but for the time that buyers lose" : "");
	if (!rc)
		plan_show(m->np, &p);
	plan_release(&p);
	return rc ? rc : plan_agree(m->np, o, "Do it?");
}

static int drain_show(struct market_link *m, const struct options *o, char **words)
{
	struct listing l = { .np = m->np };
	struct buf path;
	int rc;

	l.rows = rows_new(m->np, o, host_list_columns, &rc);
	if (!l.rows)
		return rc;
	buf_init(&path, BODY_MAX);
	for (rc = 0; !rc && *words; words++) {
		buf_clear(&path);
		admin_path(&path, o, "/np/v1/hosts/", *words, "");
		rc = market_get(m, "%s", buf_text(&path));
		rc = rc ? rc : add_host(&l, m->doc, WIRE_WHOLE, &m->fail);
	}
	buf_release(&path);
	if (rc) {
		rows_end(l.rows);
		return market_fail(m, "cannot show the hosts");
	}
	return rows_end(l.rows);
}

int host_drain(struct nanopod *np, const struct options *o, char **words)
{
	struct host_drain_ask ask = { .reason = option_text(o, "reason") };
	struct market_link *m = NULL;
	struct model_drain d;
	bool explain;
	int rc;

	if (!rows_check(np, o, host_list_columns, &rc))
		return rc;
	rc = admin_time(np, o, "at", &ask.at);
	rc = rc ? rc : plan_can_ask(np, o);
	rc = rc ? rc : admin_begin(np, o, &m);
	if (rc)
		return rc;
	explain = m->explain;
	m->explain = false; /* --explain shows only what changes something */
	rc = drain_plan(m, o, words, &ask);
	m->explain = explain;
	ask.really = true;
	for (char **w = words; !rc && *w; w++)
		if (host_drain_ask(m, o, *w, &ask, &d)) {
			rc = service_fail(m, o, true, *w);
			service_part(np, words, w);
		}
	if (!rc)
		rc = drain_show(m, o, words);
	market_sign_out(m);
	return rc;
}

int host_undrain(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf path;
	int rc = 0;

	if (!rows_check(np, o, host_list_columns, &rc))
		return rc;
	rc = admin_begin(np, o, &m);
	buf_init(&path, BODY_MAX);
	for (char **w = words; !rc && *w; w++) {
		buf_clear(&path);
		admin_path(&path, o, "/np/v1/hosts/", *w, "/undrain");
		if (market_send(m, "POST", buf_text(&path), NULL, NULL)) {
			rc = service_fail(m, o, false, *w);
			service_part(np, words, w);
		}
	}
	if (!rc) {
		rc = drain_show(m, o, words);
		print_note(np,
			"'nanopod host offer HOST -p PRICE' sells a host again, but for time that was taken "
			"from a buyer");
	}
	buf_release(&path);
	market_sign_out(m);
	return rc;
}
