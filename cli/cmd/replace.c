/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod replace: a new node in the place of a broken one, in the time that is already paid. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/trade/market_link.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodestart.h"
#include "cli/nodes/nodewait.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/trade/purchase.h"
#include "cli/frame/remember.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/order_args.h"

enum { BODY_MAX = 256 << 10, WAIT_MS = 5 * 60 * 1000 };

struct replacing {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct purchase purchase;
	struct nodes *nodes;
	const struct node *old;          /* NULL where an earlier command began it */
	char was[64], reservation[300];  /* of the old one: its id */
	char id[64], name[300];          /* of the new one */
	bool explain;
};

static const struct column columns[] = {
	{ "node", COLUMN_ID, "its name" },
	{ "id", 0, "the new one's id" },
	{ "replaced", 0, "the old one's id" },
	{ "reservation", 0, "the reservation of both" },
	{ "replayed", COLUMN_RAW | COLUMN_HIDDEN, "an earlier command did it" },
	{ 0 },
};

static int replace_find(struct replacing *r)
{
	const char *typed = option_argv(r->o)[0];
	int rc = nodes_load(r->m, NULL, false, &r->nodes);

	if (rc)
		return market_fail(r->m, "cannot look for '%.100s'", typed);
	r->old = nodes_find(r->nodes, typed);
	if (!r->old)
		return print_fail(r->np, STATUS_NOTFOUND,
			"'nanopod nodes --all' lists all your nodes; one that has ended cannot be replaced",
			"no running or pending node '%.100s'", typed);
	snprintf(r->was, sizeof r->was, "%s", r->old->id);
	snprintf(r->reservation, sizeof r->reservation, "%s", r->old->reservation);
	return 0;
}

static void replace_show_plan(const struct replacing *r)
{
	char room[NODESTART_TEXT];
	const char *why = node_why(r->old, room);
	struct plan p;

	plan_init(&p, "Replace '%s'", r->old->name);
	plan_add(&p, "node", "%s, %s%s%s", r->old->id, node_state_told(r->old), why ? ": " : "", why ? why : "");
	plan_add(&p, "reservation", "%s", r->old->reservation);
	plan_add(&p, "then",
		"it stops now, and everything on its disk is lost; a new node of the same type and image starts in its "
		"place");
	plan_add(&p, "cost", "nothing: the time is already paid");
	plan_show(r->np, &p);
	plan_release(&p);
}

/* The old node as the market lists it, with what it was started with. */
static int replace_ask(struct replacing *r, struct doc **out)
{
	struct buf text;
	int rc = market_get(r->m, "/v2/instances?id=%s&include=cloud_init_user_data", r->was);

	if (!rc && doc_count(r->m->doc) != 1)
		rc = fail_set(&r->m->fail, REASON_NOT_FOUND, "the market no longer lists it");
	if (rc)
		return rc;
	buf_init(&text, WIRE_BYTES_MAX);
	if (doc_show_at(r->m->doc, 0, &text))
		command_nomem();
	rc = doc_parse(buf_text(&text), text.len, out, &r->m->fail);
	buf_release(&text);
	return rc;
}

/* The request has to describe the new node: like the old one. */
static int put_body(struct replacing *r, struct buf *body)
{
	struct model_instance i;
	struct doc *d = NULL;
	const char *data;
	struct json j;
	int rc = replace_ask(r, &d);

	rc = rc ? rc : wire_instance(d, WIRE_WHOLE, &i, &r->m->fail);
	if (!rc && !i.image.id && !i.image.name)
		rc = fail_set(&r->m->fail, CLIENT_BAD_ANSWER, "the market does not say which image it has");
	if (!rc) {
		data = doc_text(d, "cloud_init_user_data");
		j = json_to(body);
		json_begin_object(&j, NULL);
		json_text(&j, "image", i.image.id ? i.image.id : i.image.name);
		json_text(&j, "name", i.name);
		if (data)
			json_text(&j, "cloud_init_user_data", data);
		json_end(&j);
		if (j.error)
			command_nomem();
	}
	doc_free(d);
	return rc;
}

/* The ids are on disk before the request leaves: a look by name would find the new node, which has the same name. */
static int replace_begin(struct replacing *r, const char *match)
{
	char *command;
	int rc;

	if (asprintf(&command, "nanopod replace %s", option_argv(r->o)[0]) < 0)
		command_nomem();
	rc = purchase_begin(&r->purchase, match, command, (int64_t)time(NULL));
	free(command);
	rc = rc ? rc : purchase_keep(&r->purchase, "was", r->was);
	return rc ? rc : purchase_keep(&r->purchase, "reservation", r->reservation);
}

static int replace_send(struct replacing *r)
{
	struct model_instance made;
	char path[160];
	struct buf body;
	int rc = 0;

	snprintf(path, sizeof path, "/v2/instances/%s/replace", r->was);
	buf_init(&body, BODY_MAX);
	if (!purchase_kept(&r->purchase, "replace.body"))
		rc = put_body(r, &body);
	r->m->explain = r->explain;
	rc = rc ? rc : purchase_post(&r->purchase, "replace", path, &body);
	buf_release(&body);
	rc = rc ? rc : wire_instance(r->m->doc, WIRE_WHOLE, &made, &r->m->fail);
	if (rc)
		return rc;
	snprintf(r->id, sizeof r->id, "%s", made.id);
	snprintf(r->name, sizeof r->name, "%s", made.name ? made.name : made.id);
	return 0;
}

static int replace_print(struct replacing *r)
{
	struct rows *rows;
	int rc;

	remember_one(REMEMBER_NODES, r->m->url, r->name, r->reservation);
	rows = rows_new(r->np, r->o, columns, &rc);
	if (!rows)
		return rc;
	rows_add(rows,
		(const char *[]){ r->name, r->id, r->was, r->reservation, r->purchase.replayed ? "true" : "false" });
	return rows_end(rows);
}

static int replace_wait(struct replacing *r)
{
	int64_t patience = order_args_wait(r->o, r->np->tty_err ? WAIT_MS : 0);
	const char *id = r->id;
	char hint[400];
	int rc, number = 0;

	if (!patience)
		return STATUS_OK;
	snprintf(hint, sizeof hint, "it continues to start; 'nanopod nodes -r %.200s' shows its state", r->reservation);
	rc = nodewait_by(r->m, NULL, &id, 1, 0, 0, patience, &number);
	return nodewait_told(r->m, rc, number, hint);
}

static int replace_carry_out(struct replacing *r)
{
	const char *typed = option_argv(r->o)[0];
	int rc = replace_send(r), waited;

	if (rc == MARKET_EXPLAINED)
		return STATUS_OK;
	if (rc && purchase_nothing_done(&r->purchase, rc)) {
		purchase_end(&r->purchase);
		return market_fail(r->m, "cannot replace '%.100s'", typed);
	}
	if (rc)
		return print_fail(r->np, purchase_status(rc),
			"run the same command again: it finds out and replaces nothing twice",
			"cannot tell whether '%.100s' was replaced: %s", typed, r->m->fail.text);
	if (r->purchase.resumed)
		print_note(r->np, "replayed: '%.100s' was replaced before", typed);
	waited = replace_wait(r);
	rc = purchase_told(&r->purchase, replace_print(r));
	return waited ? waited : rc;
}

/* True where an earlier command sent the request and got no answer. */
static bool replace_resume(struct replacing *r)
{
	if (!r->purchase.file)
		return false;
	if (!purchase_kept(&r->purchase, "reservation")) {
		purchase_end(&r->purchase);
		purchase_init(&r->purchase, r->m);
		return false;
	}
	snprintf(r->was, sizeof r->was, "%s", purchase_kept(&r->purchase, "was"));
	snprintf(r->reservation, sizeof r->reservation, "%s", purchase_kept(&r->purchase, "reservation"));
	if (purchase_kept(&r->purchase, "replace.body"))
		return true;
	purchase_end(&r->purchase); /* it was never sent */
	purchase_init(&r->purchase, r->m);
	return false;
}

static int replace_fresh(struct replacing *r, const char *match)
{
	int rc = replace_find(r);

	rc = rc ? rc : plan_can_ask(r->np, r->o);
	if (rc)
		return rc;
	replace_show_plan(r);
	rc = plan_agree(r->np, r->o, "Replace it?");
	if (rc)
		return rc;
	if (!r->explain && replace_begin(r, match))
		return print_fail(r->np, STATUS_FAILURE, NULL, "%s", r->m->fail.text);
	return replace_carry_out(r);
}

static int replace_go(struct replacing *r)
{
	struct buf match;
	int rc;

	purchase_init(&r->purchase, r->m);
	buf_init(&match, BODY_MAX);
	if (purchase_match(r->m, r->o, "replace", option_argv(r->o)[0], &match)) {
		rc = market_fail(r->m, "cannot replace");
	} else if (!r->explain && !option_given(r->o, "dry-run") &&
		purchase_find(&r->purchase, buf_text(&match), NULL)) {
		rc = print_fail(r->np, STATUS_FAILURE, NULL, "%s", r->m->fail.text);
	} else if (replace_resume(r)) {
		rc = plan_can_ask(r->np, r->o);
		if (!rc)
			print_note(r->np, "continues the unfinished replacement of '%.100s' by this command",
				option_argv(r->o)[0]);
		rc = rc ? rc : replace_carry_out(r);
	} else {
		rc = replace_fresh(r, buf_text(&match));
	}
	purchase_release(&r->purchase);
	buf_release(&match);
	return rc;
}

static int replace_command(struct nanopod *np, const struct options *o)
{
	struct replacing r = { .np = np, .o = o };
	int rc;

	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = order_args_check_wait(np, o);
	if (rc)
		return rc;
	if (signals_begin())
		command_nomem();
	rc = market_sign_in(np, o, 0, &r.m);
	if (!rc) {
		r.explain = r.m->explain;
		r.m->explain = false;
		rc = replace_go(&r);
	}
	nodes_free(r.nodes);
	market_sign_out(r.m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is still shown" },
	{ "dry-run", 0, OPTION_FLAG, .help = "show the plan only" },
	{ "wait", 0, OPTION_OPTIONAL, "DURATION",
		.help = "wait until the new node runs, up to 5m without a value; default on a terminal" },
	{ "no-wait", 0, OPTION_FLAG, .help = "do not wait for the new node" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod replace train-2", "replace a broken node" },
	{ "nanopod replace train-2 -y --wait && nanopod ssh train-2", "and log in" },
	{ 0 },
};

const struct command cmd_replace = {
	.name = "replace",
	.args = "NODE",
	.summary = "replace a broken node",
	.examples = examples,
	.description = "Stops the node, and everything on its disk is lost. A new node with the same name, type, "
		       "image and keys starts in the same reservation. It costs nothing: the time is already paid.\n\n"
		       "An idempotency key is on disk before the request leaves: after a lost connection the same "
		       "command sends the same request again, and nothing is replaced twice.",
	.positional = "NODE  its name or id",
	.options = options,
	.formats = "name|table|wide|json|jsonl|csv|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_NODE,
	.run = replace_command,
};
