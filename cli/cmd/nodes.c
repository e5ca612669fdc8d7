/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod nodes: lists the account's nodes, with state and address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/trade/market_link.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodestart.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/frame/rows.h"
#include "cli/trade/reservation.h"
#include "market/when.h"

static const struct column columns[] = {
	{ "node", COLUMN_ID, "its name" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "reservation", 0, "its reservation" },
	{ "status", COLUMN_STATE, "pending, running, ended or failed" },
	{ "type", COLUMN_MINOR, "type of node" },
	{ "gpus", COLUMN_WIDE | COLUMN_RAW, "GPUs that its host gave it" },
	{ "zone", COLUMN_WIDE, "its zone" },
	{ "address", 0, "address for SSH" },
	{ "port", COLUMN_RIGHT | COLUMN_RAW | COLUMN_MINOR, "port for SSH" },
	{ "user", COLUMN_WIDE, "user for SSH" },
	{ "starts", COLUMN_WIDE, "when the time begins that a pending node waits for" },
	{ "ends", 0, "end of its time; early: its host goes out of service then" },
	{ "made", COLUMN_WIDE, "when it was created" },
	{ "message", COLUMN_WIDE | COLUMN_TEXT, "message of its host or the market" },
	{ "proof", COLUMN_WIDE, "of its host, where its type asks for it: verified, unverified, expired or failed" },
	{ "host_keys", COLUMN_RAW | COLUMN_HIDDEN, "its SSH host keys" },
	{ 0 },
};

static void put_keys(const struct node *n, struct buf *out)
{
	struct json j = json_to(out);

	buf_clear(out);
	json_begin_array(&j, NULL);
	for (size_t i = 0; i < n->key_count; i++)
		json_text(&j, NULL, n->keys[i]);
	json_end(&j);
	if (j.error)
		command_nomem();
}

/* Readable in a table and in CSV, a list in JSON. */
static const char *nodes_gpus(const struct nanopod *np, const struct node *n)
{
	return np->format == FORMAT_JSON || np->format == FORMAT_JSONL ? n->gpus_json : n->gpus;
}

/* When its time ends; people read at once that this is earlier than what was bought. */
static const char *nodes_end(struct nanopod *np, const struct node *n, char room[CELL_TEXT])
{
	const char *end = cell_time(np, n->end, room);
	size_t len = end ? strlen(room) : 0;

	if (end == room && n->ends_early && cell_for_people(np))
		snprintf(room + len, CELL_TEXT - len, " (early)");
	return end;
}

/* "pending (in 41s)": people see at once how long. */
static const char *nodes_status(const struct nanopod *np, const struct node *n, char room[CELL_TEXT])
{
	char left[WHEN_TEXT];
	int64_t ms = node_starts_in(n);

	if (!cell_for_people(np))
		return node_state(n);
	if (!ms)
		return node_state_told(n);
	snprintf(room, CELL_TEXT, "%s (%.40s)", node_state(n), when_relative((ms + 999) / 1000, 0, left));
	return room;
}

static void nodes_add_row(struct nanopod *np, struct rows *r, const struct node *n, struct buf *keys)
{
	char port[CELL_TEXT], starts[CELL_TEXT], ends[CELL_TEXT], made[CELL_TEXT], status[CELL_TEXT];

	put_keys(n, keys);
	rows_add(r,
		(const char *[]){ n->name, n->id, n->reservation, nodes_status(np, n, status), n->type,
			nodes_gpus(np, n), n->zone, n->hostname, n->hostname ? cell_int(n->port, port) : NULL, n->user,
			cell_time(np, n->start, starts), nodes_end(np, n, ends), cell_time(np, n->created, made),
			n->message && *n->message ? n->message : NULL, n->proof, buf_text(keys) });
}

static bool nodes_wanted(const struct options *o, const struct node *n)
{
	const char *type = option_text(o, "type"), *zone = option_text(o, "zone");
	bool named = option_argc(o) == 0;

	for (int i = 0; !named && i < option_argc(o); i++)
		named = strcmp(option_argv(o)[i], n->id) == 0 || str_glob(option_argv(o)[i], n->name);
	return named && (!type || (n->type && strcmp(n->type, type) == 0)) &&
		(!zone || (n->zone && strcmp(n->zone, zone) == 0));
}

static void nodes_remember(const struct market_link *m, const struct nodes *n)
{
	for (size_t i = n->count; i-- > 0;)
		if (node_lives(&n->list[i]))
			remember_one(REMEMBER_NODES, m->where, n->list[i].name, n->list[i].reservation);
}

static bool names_one(const struct nodes *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (strcmp(n->list[i].id, name) == 0 || strcmp(n->list[i].name, name) == 0)
			return true;
	return false;
}

/* A name that no node has, and no pattern, is a mistake. */
static int nodes_no_such(struct nanopod *np, const struct options *o, const struct nodes *n, const char *name)
{
	const char *hint = "'nanopod nodes --all' lists all nodes, also ended ones";
	char of[300];

	if (strcmp(name, "list") == 0 || strcmp(name, "ls") == 0)
		hint = "'nanopod nodes' alone lists your nodes";
	for (size_t i = 0; i < n->count; i++) {
		if (!n->list[i].reservation || strcmp(n->list[i].reservation, name) != 0)
			continue;
		snprintf(of, sizeof of, "it is a reservation: 'nanopod nodes -r %.200s' lists its nodes", name);
		hint = of;
		break;
	}
	return print_fail_field(np, STATUS_NOTFOUND, "NODE", hint, "you have no %s '%.100s'",
		option_given(o, "all") ? "node" : "running or pending node", name);
}

static int nodes_print(struct nanopod *np, const struct options *o, const struct nodes *n)
{
	size_t shown = 0;
	struct rows *r;
	struct buf keys;
	int rc;

	r = rows_new(np, o, columns, &rc);
	if (!r)
		return rc;
	buf_init(&keys, 1 << 20);
	for (size_t i = 0; i < n->count; i++)
		if (nodes_wanted(o, &n->list[i])) {
			nodes_add_row(np, r, &n->list[i], &keys);
			shown++;
		}
	rc = rows_end(r);
	buf_release(&keys);
	for (int i = 0; !rc && i < option_argc(o); i++)
		if (!strpbrk(option_argv(o)[i], "*?[") && !names_one(n, option_argv(o)[i]))
			return nodes_no_such(np, o, n, option_argv(o)[i]);
	if (!rc && !shown && n->count && cell_for_people(np) && !option_given(o, "quiet"))
		print_note(np, "no node matches; 'nanopod nodes -o wide' shows type and zone of each");
	else if (!rc && !shown && cell_for_people(np) && !option_given(o, "quiet"))
		print_note(np, "%s",
			option_given(o, "all") ? "no nodes"
					       : "no running or pending nodes; '--all' lists ended ones too");
	return rc;
}

static int nodes_command(struct nanopod *np, const struct options *o)
{
	const char *reservation = option_text(o, "reservation");
	struct market_link *m;
	struct nodes *n = NULL;
	int rc;

	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	rc = nodes_load(m, reservation, option_given(o, "all"), &n);
	if (rc == REASON_NOT_FOUND && reservation)
		rc = reservation_missing(m, reservation, "--reservation");
	else if (rc)
		rc = market_fail(m, "cannot list your nodes");
	else
		nodes_remember(m, n);
	if (!rc && n)
		rc = nodes_print(np, o, n);
	nodes_free(n);
	market_sign_out(m);
	return rc;
}

static const struct option options[] = {
	{ "reservation", 'r', OPTION_STRING, "RESERVATION", .help = "list only nodes of this reservation",
		.complete = COMPLETE_RESERVATION },
	{ "all", 'a', OPTION_FLAG, .help = "list ended and failed nodes too" },
	{ "type", 0, OPTION_STRING, "TYPE", .help = "list only nodes of this type", .complete = COMPLETE_TYPE },
	{ "zone", 0, OPTION_STRING, "ZONE", .help = "list only nodes in this zone" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod nodes", "running and pending nodes" },
	{ "nanopod nodes -r train -o wide", "nodes of one reservation, with GPUs and messages of their hosts" },
	{ "nanopod nodes 'train-*' --all -o json", "by name, ended ones too" },
	{ 0 },
};

const struct command cmd_nodes = {
	.name = "nodes",
	.args = "[NODE...]",
	.summary = "list your nodes",
	.examples = examples,
	.description = "'nanopod ssh NODE', 'nanopod run -r RESERVATION -- COMMAND', 'nanopod cp', 'nanopod tunnel' "
		       "and 'nanopod logs' reach nodes by these names. The market vouches for their host keys, so "
		       "nanopod does not ask about them.",
	.positional = "NODE  only these: names, patterns like 'train-*', ids",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = -1,
	.complete_first = COMPLETE_NODE,
	.complete_rest = COMPLETE_NODE,
	.run = nodes_command,
};
