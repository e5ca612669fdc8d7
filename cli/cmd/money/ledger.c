/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod ledger: the account's statement, and the proof that nobody changed it. `verify` keeps the last row
 * and its hash, so that the next run proves that all earlier rows are still the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/frame/action.h"
#include "cli/frame/cell.h"
#include "cli/trade/market_link.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "base/kept.h"
#include "market/proof.h"

static const char path[] = "/np/v1/ledger?limit=1000";

/* ---- Listing --------------------------------------------------------------------------- */

static const struct column columns[] = {
	{ "row", COLUMN_ID, "its number: SEQ-N" },
	{ "at", COLUMN_MINOR, "when" },
	{ "book", 0, "the part of the account: available, held, escrow …" },
	{ "amount", COLUMN_RIGHT, "what came in or went out" },
	{ "balance", COLUMN_RIGHT, "balance of the book afterwards" },
	{ "amount_units", COLUMN_RAW | COLUMN_HIDDEN, "micro-dollars, or node-minutes where asset is not 0" },
	{ "balance_units", COLUMN_RAW | COLUMN_HIDDEN, "the same of the balance" },
	{ "asset", COLUMN_WIDE, "0 is money, else the number of a SKU" },
	{ "transfer", COLUMN_WIDE, "the postings of a transfer sum to zero" },
	{ "owner", COLUMN_WIDE, "number of the account or pool" },
	{ "subject", COLUMN_WIDE, "number of the order, lease or other cause" },
	{ "chain", COLUMN_HIDDEN, "its hash in the chain" },
	{ "reason", COLUMN_WIDE, "why the operator did it" },
	{ 0 },
};

struct list {
	struct nanopod *np;
	struct rows *rows;
};

static const char *ledger_units(const struct nanopod *np, const struct model_posting *p, int64_t n,
	char room[CELL_TEXT])
{
	if (!p->asset)
		return cell_money(np, n, room);
	snprintf(room, CELL_TEXT, cell_for_people(np) ? "%" PRId64 " min" : "%" PRId64, n);
	return room;
}

static int ledger_add_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct list *l = arg;
	struct model_posting p;
	char row[CELL_TEXT], when[CELL_TEXT], amount[CELL_TEXT], balance[CELL_TEXT], n[CELL_TEXT], m[CELL_TEXT];
	char asset[CELL_TEXT], transfer[CELL_TEXT], owner[CELL_TEXT], subject[CELL_TEXT], chain[2 * MODEL_CHAIN + 1];
	int rc = wire_posting(d, at, &p, f);

	if (rc)
		return rc;
	snprintf(row, sizeof row, "%" PRIu64 "-%" PRIu64, p.seq, p.n);
	snprintf(asset, sizeof asset, "%" PRIu64, p.asset);
	snprintf(transfer, sizeof transfer, "%" PRIu64, p.transfer);
	snprintf(owner, sizeof owner, "%" PRIu64, p.owner);
	snprintf(subject, sizeof subject, "%" PRIu64, p.subject);
	for (size_t i = 0; i < MODEL_CHAIN; i++)
		snprintf(chain + 2 * i, 3, "%02x", p.chain[i]);
	rows_add(l->rows,
		(const char *[]){ row, cell_time(l->np, p.at, when), p.book, ledger_units(l->np, &p, p.amount, amount),
			ledger_units(l->np, &p, p.balance, balance), cell_micros(p.amount, n),
			cell_micros(p.balance, m), asset, transfer, owner, subject, chain, p.reason });
	return 0;
}

static int ledger_list(struct nanopod *np, const struct options *o, char **words)
{
	struct list l = { .np = np };
	struct market_link *m;
	int rc, failed;

	(void)words;
	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "ledger list");
	if (!rc)
		l.rows = rows_new(np, o, columns, &rc);
	if (l.rows) {
		failed = market_each(m, path, ledger_add_row, &l);
		rc = rows_end(l.rows);
		if (failed)
			rc = market_fail(m, "cannot list the ledger");
	}
	market_sign_out(m);
	return rc;
}

/* ---- What was verified before ---------------------------------------------------------- */

struct head {
	char *path;
	bool known, met; /* known: a head was kept; met: its row is still there, unchanged */
	uint64_t seq, n;
	uint8_t chain[MODEL_CHAIN];
};

/* One file for each market and account. */
static char *head_path(const struct market_link *m)
{
	char *whole = NULL;
	struct buf name;

	buf_init(&name, 4096);
	if (!client_quote(&name, m->url) && !buf_adds(&name, "%20") &&
		!client_quote(&name, m->who.account_id ? m->who.account_id : "operator") && name.len <= NAME_MAX - 10)
		whole = kept_path("ledger/%s", buf_text(&name));
	buf_release(&name);
	return whole;
}

static void ledger_read_head(struct head *h)
{
	struct buf text;

	buf_init(&text, 4096);
	h->known = h->path && buf_read_file(&text, h->path) == 0 &&
		proof_parse_head(buf_text(&text), &h->seq, &h->n, h->chain) == 0;
	buf_release(&text);
}

static void write_head(struct nanopod *np, struct head *h, const struct proof *p)
{
	char room[PROOF_TEXT];
	int rc = h->path ? file_folders(h->path) : -ENOENT;

	proof_head(p, room);
	rc = rc ? rc : file_replace(h->path, room, strlen(room), 0600);
	if (rc)
		print_warn(np, "cannot keep the verified head: cannot write '%s'",
			h->path ? h->path : "~/.local/state/nanopod");
}

/* ---- Verifying ------------------------------------------------------------------------- */

struct check {
	struct proof proof;
	struct head head;
	struct fail why; /* what is wrong with the ledger */
	bool bad;
};

static int check_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct check *c = arg;
	struct model_posting p;
	int rc = wire_posting(d, at, &p, f);

	if (rc)
		return rc;
	rc = proof_add(&c->proof, &p, &c->why);
	if (rc == -ENOMEM)
		command_nomem();
	c->bad = rc != 0;
	if (!rc && c->head.known && p.seq == c->head.seq && p.n == c->head.n) {
		c->head.met = memcmp(p.chain, c->head.chain, MODEL_CHAIN) == 0;
		c->bad = !c->head.met;
		if (c->bad)
			fail_set(&c->why, -EBADMSG,
				"row %" PRIu64 "-%" PRIu64
				" differs from the last verification: it or a row before it was changed",
				p.seq, p.n);
	}
	return c->bad; /* 1 ends the list */
}

static const struct column verdict[] = {
	{ "verified", COLUMN_RAW | COLUMN_STATE, "true: every row follows from the one before" },
	{ "rows", COLUMN_RAW, "number of rows" },
	{ "head", COLUMN_ID, "the last row and its hash, which the next run expects" },
	{ "since_last_time", COLUMN_STATE, "unchanged, or first: nothing was verified before" },
	{ 0 },
};

static int say_verdict(struct nanopod *np, const struct options *o, struct check *c)
{
	char count[CELL_TEXT], head[PROOF_TEXT];
	struct rows *r;
	int rc;

	if (!c->bad && c->head.known && !c->head.met) {
		c->bad = true;
		fail_set(&c->why, -EBADMSG, "row %" PRIu64 "-%" PRIu64 ", which was verified before, is gone",
			c->head.seq, c->head.n);
	}
	if (c->bad)
		return print_fail(np, STATUS_CHECK,
			"save the output of 'nanopod ledger list -o json' and ask the operator of the market",
			"the ledger is wrong: %s (%" PRIu64 " rows before it are right)", c->why.text, c->proof.count);
	if (c->proof.count)
		write_head(np, &c->head, &c->proof);
	r = rows_new(np, o, verdict, &rc);
	if (!r)
		return rc;
	rows_add(r,
		(const char *[]){ "true", cell_int((int64_t)c->proof.count, count), proof_head(&c->proof, head),
			c->head.known ? "unchanged" : "first" });
	return rows_end(r);
}

static int ledger_verify(struct nanopod *np, const struct options *o, char **words)
{
	struct check c = { 0 };
	struct market_link *m;
	int rc;

	(void)words;
	if (!rows_check(np, o, verdict, &rc))
		return rc;
	proof_init(&c.proof);
	rc = market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "ledger verify");
	if (!rc && market_whoami(m))
		rc = market_fail(m, "cannot verify the ledger");
	if (!rc && !m->explain) {
		c.head.path = head_path(m);
		ledger_read_head(&c.head);
		rc = market_each(m, path, check_row, &c) ? market_fail(m, "cannot verify the ledger")
							 : say_verdict(np, o, &c);
	}
	proof_release(&c.proof);
	free(c.head.path);
	market_sign_out(m);
	return rc;
}

static const struct action actions[] = {
	{ "list", "", 0, 0, ledger_list },
	{ "verify", "", 0, 0, ledger_verify },
	{ 0 },
};

static int ledger_command(struct nanopod *np, const struct options *o)
{
	return action_run(np, o, "ledger", actions, "list");
}

static const struct example examples[] = {
	{ "nanopod ledger", "list every posting, oldest first, with the balance afterwards" },
	{ "nanopod ledger verify", "prove that nothing was changed, left out or miscounted" },
	{ "nanopod ledger list -o csv >statement.csv", "for a spreadsheet" },
	{ 0 },
};

const struct command cmd_ledger = {
	.name = "ledger",
	.args = "[list | verify]",
	.summary = "list and verify the postings of the account",
	.examples = examples,
	.positional = "list    list every posting (default)\n"
		      "verify  recompute the hash chain and the balances",
	.description = "The market books double entries and never changes one. Each row has the SHA-256 of its "
		       "contents and of the row before: 'verify' recomputes all hashes and all balances from the "
		       "rows. It names the first wrong row and exits with 11. It keeps the last verified row in "
		       "~/.local/state/nanopod/ledger, and the next run proves that all rows before it are "
		       "unchanged.",
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "list|verify",
	.run = ledger_command,
};
