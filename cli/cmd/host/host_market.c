/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host status and offer: shows this machine beside what its market knows, and offers its time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/trade/tokenfile.h"
#include "market/money.h"

enum { STATUS_MS = 20 * 1000, BODY_MAX = 4096, ASKED_MAX = 32 };

/* ---- Status ------------------------------------------------------------------------------------ */

static const struct column columns[] = {
	{ "agent", COLUMN_ID, "name of the machine" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "state", COLUMN_STATE, "state on the market" },
	{ "health", 0, "ok, degraded, draining or unhealthy, as the machine reports" },
	{ "driver", 0, "driver that makes its nodes" },
	{ "nodes", COLUMN_RIGHT | COLUMN_RAW, "number of running nodes" },
	{ "seen", 0, "when the market heard of it last" },
	{ "left", 0,
		"what of the machine no type of its hosts promises yet; unchecked: the market does not know what it "
		"has" },
	{ "promised", COLUMN_WIDE, "what the types of its hosts promise" },
	{ "message", COLUMN_TEXT, "what is wrong, and how to fix it" },
	{ "here", COLUMN_RAW | COLUMN_HIDDEN, "answer of nanopod-agentd on this machine; null for other machines" },
	{ 0 },
};

struct shown {
	struct nanopod *np;
	struct rows *rows;
	struct buf local;          /* JSON of the agent here, or empty */
	const char *local_id;
	char *ids[ASKED_MAX]; /* machines that are asked one by one, as lists do not say what is promised */
	size_t count;         /* of all machines */
};

static int add_agent(void *arg, struct doc *d, long at, struct fail *f)
{
	struct shown *s = arg;
	char nodes[CELL_TEXT], seen[CELL_TEXT], left[HOST_ROOM], promised[HOST_ROOM];
	struct model_agent a;
	int rc = wire_agent(d, at, &a, f);
	bool here;

	if (rc)
		return rc;
	here = s->local_id && strcmp(s->local_id, a.id) == 0;
	rows_add(s->rows,
		(const char *[]){ a.name, a.id, a.state, a.health, a.driver, cell_int(a.nodes, nodes),
			cell_time(s->np, a.last_seen_at, seen),
			host_room_text(&a.left, left) ? left
				: at == WIRE_WHOLE    ? "unchecked"
						      : NULL,
			host_room_text(&a.promised, promised), a.message, here ? buf_text(&s->local) : "null" });
	return 0;
}

static int count_agent(void *arg, struct doc *d, long at, struct fail *f)
{
	struct shown *s = arg;
	struct model_agent a;
	int rc = wire_agent(d, at, &a, f);

	if (!rc && s->count < ASKED_MAX && !(s->ids[s->count] = strdup(a.id)))
		command_nomem();
	s->count += rc == 0;
	return rc;
}

/* One by one with what is promised of each; many of them as a list. */
static int add_agents(struct market_link *m, struct shown *s)
{
	int rc = market_each(m, "/np/v1/agents", count_agent, s);

	if (!rc && s->count > ASKED_MAX)
		rc = market_each(m, "/np/v1/agents", add_agent, s);
	for (size_t i = 0; i < s->count && i < ASKED_MAX; i++) {
		if (!rc && s->count <= ASKED_MAX) {
			rc = market_get(m, "/np/v1/agents/%s", s->ids[i]);
			rc = rc ? rc : add_agent(s, m->doc, WIRE_WHOLE, &m->fail);
		}
		free(s->ids[i]);
	}
	return rc;
}

/* Is anybody signed in? If not, only this machine can be shown. */
static bool signed_in(struct nanopod *np)
{
	const char *url = settings_text(np->settings, SETTING_ID_URL);
	char *token = NULL, *where = NULL;
	struct fail f = { 0 };
	bool there;

	if (!url)
		return false;
	if (strncmp(url, "unix:", 5) == 0)
		return true;
	there = token_find(np->settings, &token, &where, &f) == 0;
	token_free(token);
	free(where);
	return there;
}

/* The answer of this machine's agent; NULL where it is not installed or has not joined. */
static struct doc *ask_local(struct shown *s, const struct options *o)
{
	FILE *err = s->np->err, *quiet = fopen("/dev/null", "we");
	struct host_agentd a = { 0 };
	struct doc *d = NULL;
	bool failed = true;

	if (!quiet)
		return NULL;
	s->np->err = quiet;
	if (host_agentd_find(s->np, o, &a) == 0) {
		host_agentd_add(&a, "--json");
		host_agentd_add(&a, "status");
		failed = host_agentd_run(s->np, &a, NULL, &s->local, STATUS_MS, "cannot ask the agent here") != 0;
	}
	s->np->err = err;
	fclose(quiet);
	host_agentd_release(&a);
	if (!failed && doc_parse(buf_text(&s->local), s->local.len, &d, NULL))
		d = NULL;
	buf_clear(&s->local);
	if (d && doc_show(d, false, &s->local)) /* on one line, for jsonl */
		command_nomem();
	return d;
}

/* For people: first this machine's agent in its own words. */
static int show_local(struct nanopod *np, const struct options *o)
{
	struct host_agentd a;
	int rc = host_agentd_find(np, o, &a);

	if (rc)
		return rc;
	host_agentd_add(&a, "status");
	rc = host_agentd_run(np, &a, NULL, NULL, STATUS_MS, "cannot ask the agent here");
	host_agentd_release(&a);
	return rc;
}

static int show_market(struct shown *s, const struct options *o)
{
	struct market_link *m;
	int rc = market_sign_in(s->np, o, 0, &m), failed;
	bool none;

	rc = rc ? rc : market_need_ours(m, "host status");
	if (!rc)
		s->rows = rows_new(s->np, o, columns, &rc);
	if (s->rows) {
		failed = add_agents(m, s);
		none = rows_none(s->rows);
		rc = rows_end(s->rows);
		if (failed)
			rc = market_fail(m, "cannot list the machines");
		else if (none)
			print_note(s->np,
				"you have no machines in this market; 'nanopod host join URL' joins this one");
	}
	market_sign_out(m);
	return rc;
}

/* Nobody is signed in: the only row is this machine's. */
static int show_alone(struct shown *s, const struct options *o, const struct doc *d)
{
	int rc;

	if (!d)
		return print_fail(s->np, STATUS_NOTFOUND,
			"'nanopod host join URL' joins this machine, 'nanopod login' signs in to see yours",
			"no machine to show: this one has joined no market, and you are not signed in");
	s->rows = rows_new(s->np, o, columns, &rc);
	if (!s->rows)
		return rc;
	rows_add(s->rows,
		(const char *[]){ doc_text(d, "name"), doc_text(d, "agent"), doc_text(d, "state"),
			doc_text(d, "health"), doc_text(d, "driver"), NULL, NULL, NULL, NULL, doc_text(d, "message"),
			buf_text(&s->local) });
	return rows_end(s->rows);
}

int host_status(struct nanopod *np, const struct options *o, char **words)
{
	bool people = cell_for_people(np) && !option_given(o, "quiet") && !option_given(o, "fields"), known;
	struct shown s = { .np = np };
	struct doc *d = NULL;
	int rc;

	(void)words;
	if (!rows_check(np, o, columns, &rc))
		return rc;
	known = signed_in(np);
	buf_init(&s.local, HOST_SAID_MAX);
	d = ask_local(&s, o);
	s.local_id = d ? doc_text(d, "agent") : NULL;
	if (people && (d || !known))
		rc = show_local(np, o);
	if (!rc && known && people && d)
		fputc('\n', np->out);
	if (known)
		rc = show_market(&s, o);
	else if (!people)
		rc = show_alone(&s, o, d);
	doc_free(d);
	buf_release(&s.local);
	return rc;
}

/* ---- Offer --------------------------------------------------------------------------------------- */

/* What the host's type promises of each node, and what its machine has for nodes. Empty where nobody says. */
struct offered {
	char type[80], contract[SKU_CONTRACT], has[HOST_ROOM], left[HOST_ROOM];
};

static void look_at_offered(struct market_link *m, const struct options *o, const char *host, struct offered *out)
{
	char agent[CELL_TEXT] = "", id[CELL_TEXT] = "";
	struct skus skus = { 0 };
	const struct sku *sku;
	struct model_agent a;
	struct model_host h;
	struct fail f = { 0 };
	struct buf path;

	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/hosts/", host, "");
	if (market_get(m, "%s", buf_text(&path)) == 0 && wire_host(m->doc, WIRE_WHOLE, &h, &f) == 0) {
		snprintf(id, sizeof id, "%s", h.sku.id ? h.sku.id : "");
		snprintf(agent, sizeof agent, "%s", h.agent ? h.agent : "");
	}
	if (*id && skus_load(m, &skus) == 0) {
		sku = skus_by_id(&skus, id);
		if (sku)
			sku_contract(sku, out->contract);
		snprintf(out->type, sizeof out->type, "%s", sku && sku->alias ? sku->alias : id);
		skus_release(&skus);
	}
	if (*agent && market_get(m, "/np/v1/agents/%s", agent) == 0 && wire_agent(m->doc, WIRE_WHOLE, &a, &f) == 0) {
		host_room_text(&a.has, out->has);
		host_room_text(&a.left, out->left);
	}
	buf_release(&path);
}

static void host_market_show_plan(struct market_link *m, const struct offered *it, const char *name, int64_t price,
	unsigned gpus, int64_t from, int64_t until, const struct host_hours *hours)
{
	char rate[PLAN_RATE], a[CELL_TEXT], b[CELL_TEXT], c[CELL_TEXT], d[CELL_TEXT];
	int64_t bps = m->about.policy.fee_bps;
	const char *start = cell_time(m->np, hours->count ? hours->list[0].start : from, a);
	const char *end = cell_time(m->np, hours->count ? hours->list[0].end : until, b);
	struct plan p;

	plan_init(&p, "Offer the time of '%s'", name);
	if (*it->contract)
		plan_add(&p, "promise", "%s, as type '%s' has it", it->contract, it->type);
	if (*it->has)
		plan_add(&p, "machine", "%s for nodes", it->has);
	if (*it->has)
		plan_add(&p, "left", "%s beside its hosts", it->left);
	if (hours->count == 1)
		plan_add(&p, "window", "from %s until %s", start, end);
	else if (hours->count)
		plan_add(&p, "windows", "%zu: the first from %s until %s, the last from %s until %s", hours->count,
			start, end, cell_time(m->np, hours->list[hours->count - 1].start, c),
			cell_time(m->np, hours->list[hours->count - 1].end, d));
	else
		plan_add(&p, "window", "from %s until %s", start ? start : "now", end ? end : "you withdraw it");
	plan_add(&p, "price", "at least %s, also in parts", plan_rate(price, gpus, rate));
	if (bps)
		plan_add(&p, "fee", "the market takes %d.%02d %% of sales", (int)(bps / 100), (int)(bps % 100));
	plan_add(&p, "refund", "you must deliver what is sold: buyers get back time in which the machine is away");
	plan_add(&p, "then", "'nanopod cancel ID' withdraws what is not yet sold");
	plan_show(m->np, &p);
	plan_release(&p);
}

int host_offer(struct nanopod *np, const struct options *o, char **words)
{
	char *both[] = { words[0], (char *)(uintptr_t)option_text(o, "price"), NULL };
	struct market_link *m = NULL;
	struct fail why = { 0 };
	int64_t from, until, price = 0;
	struct offered it = { "", "", "", "" };
	struct host_hours windows = { .count = 0 };
	struct hours hours;
	unsigned gpus = 0;
	bool explain;
	int rc = admin_time(np, o, "from", &from);

	rc = rc ? rc : admin_time(np, o, "until", &until);
	rc = rc ? rc : host_hours_read(np, o, &hours);
	if (!rc && !both[1])
		rc = print_fail_field(np, STATUS_USAGE, "--price", "'nanopod price' shows what such time costs now",
			"--price is required, e.g. -p 1.90");
	if (!rc && price_parse(both[1], 1, &price, &why)) /* before asking anybody */
		rc = print_fail_field(np, STATUS_USAGE, "--price", NULL, "cannot offer '%s': %s", words[0], why.text);
	rc = rc ? rc : plan_can_ask(np, o);
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc) {
		explain = m->explain;
		m->explain = false; /* --explain shows only the offer's request */
		rc = admin_gpus(m, o, "offer", words[0], &gpus);
		if (!rc)
			look_at_offered(m, o, words[0], &it);
		if (!rc && option_text(o, "hours"))
			rc = host_hours_plan(m, &hours, from, until, &windows);
		m->explain = explain;
	}
	if (!rc && price_parse(both[1], gpus, &price, &why))
		rc = print_fail_field(np, STATUS_USAGE, "--price", NULL, "cannot offer '%s': %s", words[0], why.text);
	if (!rc) {
		host_market_show_plan(m, &it, words[0], price, gpus, from, until, &windows);
		rc = plan_agree(np, o, "Offer it?");
		if (!rc && windows.count)
			rc = host_hours_offer(m, o, words[0], price, gpus, &windows);
		else if (!rc)
			rc = admin_place(m, o, both, gpus, from, until);
	}
	market_sign_out(m);
	return rc;
}
