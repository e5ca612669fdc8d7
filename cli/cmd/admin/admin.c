/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin: commands for a market's operator. Sellers use those about hosts too. */
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/cmd/money/debt.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/trade/rows_list.h"
#include "cli/trade/scopes.h"
#include "market/money.h"

enum { BODY_MAX = 64 * 1024 };

/* ---- Accounts -------------------------------------------------------------------------- */

static const struct column account_columns[] = {
	{ "account", COLUMN_ID, "its name" },
	{ "id", COLUMN_MINOR, "its id" },
	{ "state", COLUMN_STATE, "open or suspended" },
	{ "available", COLUMN_RIGHT, "money that may be spent" },
	{ "available_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "held", COLUMN_RIGHT | COLUMN_WIDE, "reserved for open orders" },
	{ "escrow", COLUMN_RIGHT | COLUMN_WIDE, "paid for leases, not yet used" },
	{ "floor", COLUMN_RIGHT | COLUMN_MINOR, "lowest value of 'available'" },
	DEBT_COLUMNS(0),
	{ "created", COLUMN_WIDE, "when it was created" },
	{ 0 },
};

static int add_account(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_account a;
	struct model_debt debt;
	struct debt_cells owed;
	char free_text[CELL_TEXT], micros[CELL_TEXT], held[CELL_TEXT], escrow[CELL_TEXT], low[CELL_TEXT],
		made[CELL_TEXT];
	int rc = wire_account(d, at, &a, f);

	rc = rc ? rc : wire_debt(d, at, &debt, f);
	if (rc)
		return rc;
	listing_name(l, REMEMBER_ACCOUNTS, a.name);
	debt_fill(l->np, &debt, &owed);
	rows_add(l->rows,
		(const char *[]){ a.name, a.id, a.state, cell_money(l->np, a.balance.available, free_text),
			cell_micros(a.balance.available, micros), cell_money(l->np, a.balance.held, held),
			cell_money(l->np, a.balance.escrow, escrow), cell_money(l->np, a.balance.floor, low),
			owed.at[0], owed.at[1], owed.at[2], owed.at[3], cell_time(l->np, a.created_at, made) });
	return 0;
}

static int account_list(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list accounts = { "admin", "/np/v1/accounts", "the accounts", account_columns,
		add_account, "no accounts; 'nanopod admin account add NAME' adds one" };

	(void)words;
	return rows_list(np, o, &accounts);
}

/* --floor: typed as an amount below zero, sent as a negative one. NULL: not given. */
static int admin_read_floor(struct nanopod *np, const struct options *o, char room[MONEY_TEXT], const char **wire)
{
	const char *text = option_text(o, "floor");
	struct fail why = { 0 };
	int64_t micros;

	*wire = NULL;
	if (!text)
		return 0;
	if (money_parse(text, &micros, &why))
		return print_fail_field(np, STATUS_USAGE, "--floor", NULL, "cannot understand --floor: %s", why.text);
	*wire = money_wire(-micros, room);
	return 0;
}

static int account_add(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf body;
	struct json j;
	char room[MONEY_TEXT];
	const char *low;
	int rc = admin_read_floor(np, o, room, &low);

	buf_init(&body, BODY_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "name", words[0]);
	if (!rc && low)
		json_text(&j, "floor_dollars", low);
	if (option_given(o, "beneficiary"))
		json_text(&j, "beneficiary", option_text(o, "beneficiary"));
	json_end(&j);
	if (j.error)
		command_nomem();
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_make(m, "/np/v1/accounts", &body, words[0])
			? market_fail(m, "cannot create the account '%s'", words[0])
			: rows_one(m, o, account_columns, add_account, "the account");
	buf_release(&body);
	market_sign_out(m);
	return rc;
}

/* state, low: NULL leaves them; with both NULL it only shows the account. */
static int change_account(struct nanopod *np, const struct options *o, const char *name, const char *state,
	const char *low)
{
	struct market_link *m;
	struct buf body, path;
	struct json j;
	int rc = admin_begin(np, o, &m), failed;

	if (rc)
		return rc;
	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	if (state)
		json_text(&j, "state", state);
	if (low)
		json_text(&j, "floor_dollars", low);
	if ((state || low) && option_given(o, "reason"))
		json_text(&j, "reason", option_text(o, "reason"));
	json_end(&j);
	if (j.error || buf_adds(&path, "/np/v1/accounts/") || client_quote(&path, name))
		command_nomem();
	failed = state || low ? market_send(m, "PATCH", buf_text(&path), &body, NULL)
			      : market_get(m, "%s", buf_text(&path));
	rc = failed ? market_fail(m, "cannot %s the account '%s'", state || low ? "change" : "show", name)
		    : rows_one(m, o, account_columns, add_account, "the account");
	buf_release(&body);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

static int account_show(struct nanopod *np, const struct options *o, char **words)
{
	return change_account(np, o, words[0], NULL, NULL);
}

static int account_suspend(struct nanopod *np, const struct options *o, char **words)
{
	return change_account(np, o, words[0], "suspended", NULL);
}

static int account_open(struct nanopod *np, const struct options *o, char **words)
{
	return change_account(np, o, words[0], "open", NULL);
}

static int account_set(struct nanopod *np, const struct options *o, char **words)
{
	char room[MONEY_TEXT];
	const char *low;
	int rc = admin_read_floor(np, o, room, &low);

	if (!rc && !low)
		rc = print_fail_field(np, STATUS_USAGE, "--floor",
			"type '--floor 100' for a hundred dollars below zero",
			"cannot change the account '%s': --floor is required", words[0]);
	return rc ? rc : change_account(np, o, words[0], NULL, low);
}

/* ---- Money ----------------------------------------------------------------------------- */

static int show_credit(struct market_link *m, const char *account, int64_t micros)
{
	struct model_balance b;
	char amount[MONEY_TEXT], there[MONEY_TEXT];
	struct doc *d = m->doc;

	if (wire_credit(d, &b, &m->fail))
		return market_fail(m, "cannot show the balance of '%s'", account);
	if (m->np->format == FORMAT_JSON || m->np->format == FORMAT_JSONL) {
		struct buf text;

		buf_init(&text, BODY_MAX);
		if (doc_show(d, false, &text))
			command_nomem();
		fprintf(m->np->out, "%s\n", buf_text(&text));
		buf_release(&text);
		return STATUS_OK;
	}
	fprintf(m->np->out, "%s %s %s; %s is available\n", money_text(micros < 0 ? -micros : micros, amount),
		micros < 0 ? "taken from" : "to", account, money_text(b.available, there));
	return STATUS_OK;
}

/* reservation: the money is a refund for it; NULL: it is not. */
static int admin_give(struct nanopod *np, const struct options *o, const char *account, const char *reservation,
	const char *text)
{
	struct market_link *m = NULL;
	struct buf body, path;
	struct fail why = { 0 };
	struct json j;
	char room[MONEY_TEXT];
	int64_t micros;
	int rc;

	if (money_parse(text, &micros, &why) || !micros)
		return print_fail(np, STATUS_USAGE, NULL, "cannot %s '%s': %s", reservation ? "refund" : "credit",
			account, *why.text ? why.text : "the amount is zero");
	if (option_given(o, "take-back"))
		micros = -micros;
	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "amount_dollars", money_wire(micros, room));
	if (option_given(o, "reason"))
		json_text(&j, "reason", option_text(o, "reason"));
	if (reservation)
		json_text(&j, "reservation", reservation);
	json_end(&j);
	if (j.error || buf_adds(&path, "/np/v1/accounts/") || client_quote(&path, account) ||
		buf_adds(&path, "/credits"))
		command_nomem();
	rc = admin_begin(np, o, &m);
	if (!rc)
		rc = market_make(m, buf_text(&path), &body, buf_text(&body))
			? market_fail(m, "cannot %s '%s'", reservation ? "refund" : "credit", account)
			: show_credit(m, account, micros);
	buf_release(&body);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

static int admin_credit(struct nanopod *np, const struct options *o, char **words)
{
	return admin_give(np, o, words[0], NULL, words[1]);
}

static int admin_refund(struct nanopod *np, const struct options *o, char **words)
{
	if (!option_given(o, "reason") || !*option_text(o, "reason"))
		return print_fail_field(np, STATUS_USAGE, "--reason", "e.g. --reason 'host down on 14 October'",
			"a refund needs a reason, which the account sees");
	if (option_given(o, "take-back"))
		return print_fail_field(np, STATUS_USAGE, "--take-back", "'nanopod admin credit' takes money back",
			"a refund cannot be taken back by another one");
	return admin_give(np, o, words[0], words[1], words[2]);
}

static int admin_token(struct nanopod *np, const struct options *o, char **words)
{
	struct model_token_new want = { .name = words[1] };
	struct market_link *m = NULL;
	struct buf body, path;
	int rc = scopes_read(np, o, &want);

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	if (!rc && wire_put_token(&body, &want))
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot create the token '%s': its name is not valid text",
			words[1]);
	if (buf_adds(&path, "/np/v1/accounts/") || client_quote(&path, words[0]) || buf_adds(&path, "/tokens"))
		command_nomem();
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_make(m, buf_text(&path), &body, buf_text(&body))
			? market_fail(m, "cannot create a token for '%s'", words[0])
			: token_show_new(m, o);
	buf_release(&body);
	buf_release(&path);
	scopes_free(&want);
	market_sign_out(m);
	return rc;
}

/* ---- The command ----------------------------------------------------------------------- */

static const struct action actions[] = {
	{ "overview", "", 0, 0, admin_overview },
	{ "account list", "", 0, 0, account_list },
	{ "account add", "NAME [--floor AMOUNT] [--beneficiary ACCOUNT]", 1, 1, account_add },
	{ "account show", "ACCOUNT", 1, 1, account_show },
	{ "account suspend", "ACCOUNT [--reason TEXT]", 1, 1, account_suspend },
	{ "account open", "ACCOUNT [--reason TEXT]", 1, 1, account_open },
	{ "account set", "ACCOUNT --floor AMOUNT [--reason TEXT]", 1, 1, account_set },
	{ "credit", "ACCOUNT AMOUNT [--take-back] [--reason TEXT]", 2, 2, admin_credit },
	{ "refund", "ACCOUNT RESERVATION AMOUNT --reason TEXT", 3, 3, admin_refund },
	{ "token list", "[--account ACCOUNT]", 0, 0, admin_token_list },
	{ "token revoke", "ID...", 1, 100, admin_token_revoke },
	{ "token", "ACCOUNT NAME [--scope LIST] [--expires DURATION]", 2, 2, admin_token },
	{ "sku list", "", 0, 0, admin_sku_list },
	{ "sku add", "ALIAS --gpus N [--property KEY=VALUE]...", 1, 1, admin_sku_add },
	{ "sku set", "ALIAS [--alias NEW] [--property KEY=VALUE]...", 1, 1, admin_sku_set },
	{ "host list", "", 0, 0, admin_host_list },
	{ "host add", "NAME --type ALIAS [--from TIME] [--until TIME]", 1, 1, admin_host_add },
	{ "host down", "HOST [--reason TEXT]", 1, 1, admin_host_down },
	{ "host up", "HOST", 1, 1, admin_host_up },
	{ "host retire", "HOST...", 1, 1000, admin_host_retire },
	{ "offer", "HOST PRICE [--from TIME] [--until TIME]", 2, 2, admin_offer },
	{ "announce list", "", 0, 0, admin_announce_list },
	{ "announce end", "ID...", 1, 100, admin_announce_end },
	{ "announce", "TEXT [--account ACCOUNT] [--from TIME] [--until TIME]", 1, 1, admin_announce },
	{ "grant list", "[--account ACCOUNT]", 0, 0, admin_grant_list },
	{ "grant add", "ACCOUNT NAME AMOUNT --sponsor ACCOUNT [--until TIME]", 3, 3, admin_grant_add },
	{ "grant end", "ID...", 1, 100, admin_grant_end },
	{ "plan list", "", 0, 0, admin_plan_list },
	{ "plan create", "NAME --fee AMOUNT --seller ACCOUNT [--included AMOUNT] [--type ALIAS]", 1, 1,
		admin_plan_create },
	{ "plan set", "NAME [--fee AMOUNT] [--included AMOUNT] [--plan-state open|closed]", 1, 1, admin_plan_set },
	{ "payment list", "[--account ACCOUNT]", 0, 0, admin_payment_list },
	{ "payment claim", "PAYMENT ACCOUNT", 2, 2, admin_payment_claim },
	{ "payment dismiss", "PAYMENT", 1, 1, admin_payment_dismiss },
	{ "payout list", "[--account ACCOUNT]", 0, 0, admin_payout_list },
	{ "payout paid", "ID [REFERENCE] [--already-sent]", 1, 2, admin_payout_paid },
	{ "payout cancel", "ID", 1, 1, admin_payout_cancel },
	{ "payout failed", "ID --reason TEXT", 1, 1, admin_payout_failed },
	{ "facts", "ACCOUNT [NAME=VALUE]... [--until TIME]", 1, 65, admin_facts },
	{ "reputation", "ACCOUNT... --commits SOURCE [--until TIME] [--dry-run]", 1, 1000, admin_reputation },
	{ "meter check", "--to RECEIVER [--from TIME]", 0, 0, admin_meter_check },
	{ "meter", "--to RECEIVER [--watch] [--from TIME | --from-file SPOOL]", 0, 0, admin_meter },
	{ "policy set", "KEY=VALUE...", 1, 100, admin_policy_set },
	{ "policy", "", 0, 0, admin_policy },
	{ 0 },
};

static int admin_command(struct nanopod *np, const struct options *o)
{
	char **words = option_argv(o);
	bool watches = *words && (strcmp(*words, "overview") == 0 || (strcmp(*words, "meter") == 0 && !words[1]));

	if (*words && !watches && option_given(o, "watch"))
		return print_fail_field(np, STATUS_USAGE, "--watch", NULL,
			"only 'admin overview' and 'admin meter' have --watch");
	return action_run(np, o, "admin", actions, NULL);
}

static const struct option options[] = {
	{ "account", 0, OPTION_STRING, "ACCOUNT", .complete = COMPLETE_ACCOUNT,
		.help = "host, offer: account that owns the hosts, for the operator; token list, grant list, "
			"payment list, payout list: this one alone; announce: account that reads it, default: all do" },
	{ "floor", 0, OPTION_STRING, "AMOUNT", .help = "account: how far below zero the balance may go" },
	{ "beneficiary", 0, OPTION_STRING, "ACCOUNT",
		.help = "account add: beneficiary; accounts with the same one never trade with each other" },
	{ "take-back", 0, OPTION_FLAG, .help = "credit: take the amount out instead" },
	{ "scope", 0, OPTION_LIST, "LIST",
		.help = "token: scopes, comma-separated: read, trade, nodes, tokens, host, admin" },
	{ "expires", 0, OPTION_STRING, "DURATION", .help = "token: lifetime, or never (default 90d)" },
	{ "gpus", 0, OPTION_INT, "N", .min = 0, .max = 1024, .help = "sku add: accelerators of a node" },
	{ "property", 0, OPTION_LIST, "KEY=VALUE",
		.help = "sku: accelerator, form_factor, region, availability_zone, rdma_type, "
			"num_vcpus, memory, local_storage, supports_public_ipv4; also promised: gpu_vendor, "
			"gpu_memory, share, "
			"shared_storage, inodes, network_mbps, overcommit, features; and asked of hosts: verified, "
			"floor.CHECK, "
			"verify_hours, recheck_percent; repeatable" },
	{ "alias", 0, OPTION_STRING, "NEW", .help = "sku set: new alias" },
	{ "type", 't', OPTION_STRING, "ALIAS", .complete = COMPLETE_TYPE,
		.help = "host add: type of its nodes; plan create: type that it pays; default: all" },
	{ "from", 0, OPTION_STRING, "TIME",
		.help = "host add, offer, announce: start; default: now; meter: first usage to send, if nothing "
			"was sent before; default: all; meter check: default: this month" },
	{ "from-file", 0, OPTION_STRING, "SPOOL", .complete = COMPLETE_FILE,
		.help = "meter: what the file of 'nanopod-marketd gateway serve' says, instead of the ledger" },
	{ "until", 0, OPTION_STRING, "TIME",
		.help = "host add, offer, announce, grant, facts: end; default: none; reputation: until when the score "
			"counts; "
			"default: 90 days" },
	{ "sponsor", 0, OPTION_STRING, "ACCOUNT", .complete = COMPLETE_ACCOUNT,
		.help = "grant add: account that pays" },
	{ "fee", 0, OPTION_STRING, "AMOUNT", .help = "plan: what it costs a month" },
	{ "seller", 0, OPTION_STRING, "ACCOUNT", .complete = COMPLETE_ACCOUNT,
		.help = "plan create: account that gets the fee and pays what is included" },
	{ "included", 0, OPTION_STRING, "AMOUNT", .help = "plan: node time that it pays a month; default: none" },
	{ "rates", 0, OPTION_STRING, "AMOUNT",
		.help = "plan: what it pays a month, beyond that, of prices that the policy lowers" },
	{ "plan-state", 0, OPTION_ENUM, .values = "open|closed", .complete = COMPLETE_VALUES,
		.help = "plan: closed: it takes no new subscriptions" },
	{ "per", 0, OPTION_ENUM, .values = "gpu|node", .fallback = "gpu", .complete = COMPLETE_VALUES,
		.help = "offer: unit of PRICE per hour" },
	{ "severity", 0, OPTION_ENUM, .values = "info|warning|critical", .fallback = "info",
		.complete = COMPLETE_VALUES, .help = "announce: how grave it is" },
	{ "reason", 0, OPTION_STRING, "TEXT",
		.help = "host down: why; its buyers see it; credit, refund, payout failed, account suspend, "
			"open, set: why; the account sees it" },
	{ "yes", 'y', OPTION_FLAG, .help = "host down: do not ask; the plan is still printed" },
	{ "commits", 0, OPTION_LIST, "SOURCE",
		.help = "reputation: a clone, or JSON Lines of 'perceval git'; - is standard input; repeatable",
		.complete = COMPLETE_FILE },
	{ "already-sent", 0, OPTION_FLAG,
		.help = "payout paid: sent before the account owed, was suspended or cancelled it" },
	{ "dry-run", 0, OPTION_FLAG, .help = "host down: print only the plan; reputation: write nothing down" },
	{ "to", 0, OPTION_STRING, "RECEIVER", .help = "meter: lago:URL, or file:PATH for JSON Lines" },
	{ "key-file", 0, OPTION_STRING, "FILE", .complete = COMPLETE_FILE,
		.help = "meter: the receiver's API key; default: NANOPOD_METER_KEY" },
	{ "watch", 0, OPTION_FLAG, .help = "overview, meter: go on until a signal" },
	{ "every", 0, OPTION_DURATION, "DURATION", .fallback = "30s",
		.help = "overview, meter: from one look to the next" },
	{ "batch", 0, OPTION_INT, "N", .min = 2, .max = 100, .fallback = "100",
		.help = "meter: events in one request" },
	{ "state", 0, OPTION_STRING, "FILE", .complete = COMPLETE_FILE,
		.help = "meter: how far the receiver is; default: a file in ~/.local/state/nanopod/meter for each "
			"market, profile or spool, and receiver" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod admin overview", "accounts, hosts, what is sold, what the market earns, who is silent" },
	{ "nanopod admin account add alice && nanopod admin credit alice 100", "a new account with a hundred dollars" },
	{ "nanopod admin credit alice 12.50 --reason 'goodwill for 14 October'", "what she reads on her statement" },
	{ "nanopod admin refund alice train 5 --reason 'slow disk'",
		"money back for a reservation, on her statement as that" },
	{ "nanopod admin token alice laptop", "a token for her, shown once" },
	{ "nanopod admin sku add h100 --gpus 8 --property accelerator=h100 --property memory=2TiB", "a type of node" },
	{ "nanopod admin host add rack1-7 -t h100 --account alice", "a host of that type, for her to sell" },
	{ "nanopod admin offer rack1-7 2.10 --until 'tomorrow 09:00' --account alice",
		"sell its time, in dollars per GPU-hour" },
	{ "nanopod admin announce 'new disks on Sunday' --until 2026-12-06T20:00 --severity warning",
		"what all accounts read: in ls and buy once, in alerts, on the page" },
	{ "nanopod admin grant add alice study 500 --sponsor university",
		"money of one account pays for another, where the policy says so" },
	{ "nanopod admin plan create pro --fee 49 --included 60 --seller shop",
		"49 dollars a month pay 60 of node time" },
	{ "nanopod admin facts alice reputation_score=72 groups=student", "what the policy knows of her" },
	{ "nanopod admin reputation alice --commits /srv/git/project", "score her commits in a clone" },
	{ "nanopod admin meter --to lago:https://api.getlago.com --key-file lago.key --watch",
		"bill what accounts use by Lago, event by event" },
	{ "nanopod admin meter --from-file usage.jsonl --to lago:https://api.getlago.com --key-file lago.key",
		"the same for tokens that a gateway counted" },
	{ "nanopod admin policy set fee_bps=250", "the market takes 2.5 %" },
	{ 0 },
};

static const struct completion admin_completions[] = {
	{ "account", COMPLETE_VALUES, "list|add|show|suspend|open|set", false },
	{ "account show", COMPLETE_ACCOUNT, NULL, false },
	{ "account suspend", COMPLETE_ACCOUNT, NULL, false },
	{ "account open", COMPLETE_ACCOUNT, NULL, false },
	{ "account set", COMPLETE_ACCOUNT, NULL, false },
	{ "credit", COMPLETE_ACCOUNT, NULL, false },
	{ "refund", COMPLETE_ACCOUNT, NULL, false },
	{ "token", COMPLETE_ACCOUNT, "list|revoke", false },
	{ "sku", COMPLETE_VALUES, "list|add|set", false },
	{ "sku set", COMPLETE_TYPE, NULL, false },
	{ "host", COMPLETE_VALUES, "list|add|down|up|retire", false },
	{ "announce", COMPLETE_VALUES, "list|end", false },
	{ "grant", COMPLETE_VALUES, "list|add|end", false },
	{ "grant add", COMPLETE_ACCOUNT, NULL, false },
	{ "plan", COMPLETE_VALUES, "list|create|set", false },
	{ "payment", COMPLETE_VALUES, "list|claim", false },
	{ "payout", COMPLETE_VALUES, "list|paid|cancel|failed", false },
	{ "facts", COMPLETE_ACCOUNT, NULL, false },
	{ "reputation", COMPLETE_ACCOUNT, NULL, true },
	{ "meter", COMPLETE_VALUES, "check", false },
	{ "policy", COMPLETE_VALUES, "set", false },
	{ 0 },
};

const struct command cmd_admin = {
	.name = "admin",
	.args = "ACTION [ARGUMENT...]",
	.summary = "run a market: accounts, money, types of nodes, hosts",
	.examples = examples,
	.positional = "overview  the market on one screen\n"
		      "account   list, add, show, suspend, open, set\n"
		      "credit    ACCOUNT AMOUNT: put money in\n"
		      "refund    ACCOUNT RESERVATION AMOUNT: give money back, with a reason\n"
		      "token     ACCOUNT NAME: create a token for an account; list, revoke\n"
		      "sku       list, add, set: types of nodes\n"
		      "host      list, add, down, up, retire\n"
		      "offer     HOST PRICE: sell a host's time\n"
		      "announce  TEXT: say something to all accounts, or to one; list, end\n"
		      "grant     list, add, end: an account's money that pays for another's buys\n"
		      "plan      list, create, set: what accounts can pay a month, and what that pays for\n"
		      "payment   list: what a payment service took; claim PAYMENT ACCOUNT: whose it is\n"
		      "payout    list: what accounts ask to be paid out; paid, cancel, failed ID\n"
		      "facts     ACCOUNT [NAME=VALUE...]: what the market's policy knows of an account\n"
		      "reputation ACCOUNT...: score accounts by their commits\n"
		      "meter     send what was used and paid to Lago or a file, once each; check: compare\n"
		      "policy    show the rules; set KEY=VALUE...",
	.description = "The operator connects by the market's unix socket (--url unix:/path) or with a token of "
		       "scope admin. An owner of hosts with a token of scope host may use host and offer for "
		       "them.\n\nEach command that creates something writes an idempotency key to disk first: where "
		       "the connection is lost, repeat the command and it continues with the same request, so that "
		       "no credit is given twice.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "overview|account|credit|refund|token|sku|host|offer|announce|grant|plan|payment|payout|"
			"facts|"
			"reputation|meter|"
			"policy",
	.completions = admin_completions,
	.run = admin_command,
};
