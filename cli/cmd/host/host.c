/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host: for owners of machines: joins one to a market, verifies and offers it, shows its status. */
#include "cli/frame/action.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/print.h"

/* ---- What it does by itself --------------------------------------------------------------- */

/* Runs nanopod-agentd with the verb and its words, and prints its output unchanged. */
static int host_pass(struct nanopod *np, const struct options *o, const char *const *verb, char **words,
	const char *what)
{
	struct host_agentd a;
	int rc;

	if (np->format != FORMAT_TABLE && np->format != FORMAT_WIDE && np->format != FORMAT_JSON)
		return print_fail_field(np, STATUS_USAGE, "--output", "available: table and json",
			"%s: it has no such format", what ? what : "cannot print that");
	rc = host_agentd_find(np, o, &a);
	if (rc)
		return rc;
	if (np->format == FORMAT_JSON)
		host_agentd_add(&a, "--json");
	for (; *verb; verb++)
		host_agentd_add(&a, *verb);
	for (; words && *words; words++)
		host_agentd_add(&a, *words);
	rc = host_agentd_run(np, &a, NULL, NULL, 0, what);
	host_agentd_release(&a);
	return rc;
}

static int host_bom(struct nanopod *np, const struct options *o)
{
	const char *const verb[] = { "verify", "--bom", option_text(o, "bom"), NULL };
	int rc = host_pass(np, o, verb, NULL, "cannot compare this machine");

	return rc == STATUS_CHECK && np->format != FORMAT_JSON
		? print_fail(np, STATUS_CHECK, "see RESULT above", "this machine is not what '%s' says",
			  option_text(o, "bom"))
		: rc;
}

static int host_verify(struct nanopod *np, const struct options *o, char **words)
{
	const char *verb[8] = { "verify" };
	int n = 1, rc;

	(void)words;
	if (option_given(o, "check"))
		return host_check(np, o);
	if (option_given(o, "bom"))
		return host_bom(np, o);
	if (option_given(o, "nonce")) {
		verb[n++] = "--nonce";
		verb[n++] = option_text(o, "nonce");
	}
	if (option_given(o, "last"))
		verb[n++] = "--last";
	rc = host_pass(np, o, verb, NULL, "cannot verify this machine");
	return rc == STATUS_CHECK && np->format != FORMAT_JSON
		? print_fail(np, STATUS_CHECK, "see above how to fix each",
			  "this machine is not fit to be listed: a check failed")
		: rc;
}

static int host_inventory(struct nanopod *np, const struct options *o, char **words)
{
	(void)words;
	return host_pass(np, o, (const char *const[]){ "inventory", NULL }, NULL, "cannot list what this machine has");
}

static int host_drivers(struct nanopod *np, const struct options *o, char **words)
{
	(void)words;
	return host_pass(np, o, (const char *const[]){ "drivers", NULL }, NULL, "cannot try the drivers");
}

static int image_build(struct nanopod *np, const struct options *o, char **words)
{
	/* takes a while, so it shows progress */
	return host_pass(np, o, (const char *const[]){ "image", "build", NULL }, words,
		np->errors_json ? "cannot build the image" : NULL);
}

static int image_list(struct nanopod *np, const struct options *o, char **words)
{
	return host_pass(np, o, (const char *const[]){ "image", "list", NULL }, words, "cannot list the images");
}

static int image_remove(struct nanopod *np, const struct options *o, char **words)
{
	return host_pass(np, o, (const char *const[]){ "image", "remove", NULL }, words, "cannot remove the image");
}

/* ---- The command -------------------------------------------------------------------------- */

static const struct action actions[] = {
	{ "status", "", 0, 0, host_status },
	{ "token", "[NAME] [--expires DURATION]", 0, 1, host_token },
	{ "join", "URL [--name NAME] [--type TYPE] [--nodes N]", 1, 1, host_join },
	{ "verify", "[--nonce HEX] [--last] [--check FILE] [--bom FILE]", 0, 0, host_verify },
	{ "offer", "HOST -p PRICE [--from TIME] [--until TIME] [--hours HH:MM-HH:MM]", 1, 1, host_offer },
	{ "price", "HOST... -p PRICE [--type TYPE]", 0, 1000, host_price },
	{ "floor", "HOST... -p PRICE|none [--type TYPE]", 0, 1000, host_floor },
	{ "volumes", "MACHINE --max SIZE [-p PRICE]", 1, 1, host_volumes },
	{ "list", "", 0, 0, host_list },
	{ "drain", "HOST... [--at TIME] [--reason TEXT]", 1, 1000, host_drain },
	{ "undrain", "HOST...", 1, 1000, host_undrain },
	{ "inventory", "", 0, 0, host_inventory },
	{ "drivers", "", 0, 0, host_drivers },
	{ "power show", "", 0, 0, host_power_show },
	{ "power plan", "--envelope WATTS [--psu CLASS] [--price-kwh DOLLARS]", 0, 0, host_power_plan },
	{ "power set", "--envelope WATTS [--psu CLASS] [--reserve WATTS] [--gpu N=WATTS]", 0, 0, host_power_set },
	{ "power sweep", "[GPU]", 0, 1, host_power_sweep },
	{ "image build", "[NAME]", 0, 1, image_build },
	{ "image list", "", 0, 0, image_list },
	{ "image remove", "NAME", 1, 1, image_remove },
	{ "leave", "", 0, 0, host_leave },
	{ 0 },
};

static int host_command(struct nanopod *np, const struct options *o)
{
	return action_run(np, o, "host", actions, "status");
}

static const struct option options[] = {
	{ "name", 0, OPTION_STRING, "NAME", .help = "join: name of the machine; default: its host name" },
	{ "type", 't', OPTION_STRING, "TYPE",
		.help = "join: type of its nodes, default: the one that matches what was found; price, floor: all your "
			"hosts of it",
		.complete = COMPLETE_TYPE },
	{ "nodes", 'n', OPTION_INT, "N", .fallback = "1", .min = 1, .max = 1024,
		.help = "join: number of nodes that it is sold as" },
	{ "price", 'p', OPTION_STRING, "DOLLARS",
		.help = "offer, price, floor: minimum price, in dollars per GPU-hour; volumes: per GiB and month" },
	{ "max", 0, OPTION_STRING, "SIZE", .help = "volumes: room for all of them, e.g. 500G; 0: none" },
	{ "per", 0, OPTION_ENUM, .values = "gpu|node", .fallback = "gpu", .complete = COMPLETE_VALUES,
		.help = "offer, price, floor: unit of the price per hour" },
	{ "from", 0, OPTION_STRING, "TIME", .help = "offer: start; default: now" },
	{ "until", 0, OPTION_STRING, "TIME", .help = "offer: end; default: none" },
	{ "hours", 0, OPTION_STRING, "HH:MM-HH:MM",
		.help = "offer: only these hours of each day, in local time; until: default in 7 days" },
	{ "at", 0, OPTION_STRING, "TIME", .help = "drain: what is sold ends then; default: sell no more from now on" },
	{ "reason", 0, OPTION_STRING, "TEXT", .help = "drain: why; buyers whose time ends early see it" },
	{ "account", 0, OPTION_STRING, "ACCOUNT",
		.help = "drain, list, offer, price, floor, token: account, for the operator" },
	{ "expires", 0, OPTION_STRING, "DURATION", .help = "token: lifetime, e.g. 2h or 7d (default 24h)" },
	{ "nonce", 0, OPTION_STRING, "HEX",
		.help = "verify: number that the signed answer is for; default: a random one" },
	{ "bom", 0, OPTION_STRING, "FILE", .help = "verify: compare this machine with a bill of materials in YAML",
		.complete = COMPLETE_FILE },
	{ "last", 0, OPTION_FLAG, .help = "verify: show the latest results, measure nothing" },
	{ "check", 0, OPTION_STRING, "FILE", .help = "verify: check who signed these results of another machine",
		.complete = COMPLETE_FILE },
	{ "key", 0, OPTION_STRING, "KEY", .help = "verify --check: the agent's public key, in base64" },
	{ "envelope", 0, OPTION_STRING, "WATTS",
		.help = "power: what the machine may draw at the wall, e.g. 1440W; none: keep no limits" },
	{ "psu", 0, OPTION_STRING, "CLASS",
		.help = "power: supply's 80 PLUS class, with its rating if known: gold:1600W; default: white" },
	{ "reserve", 0, OPTION_STRING, "WATTS", .help = "power: for board, memory, disks, fans; default: 100W" },
	{ "cpu", 0, OPTION_STRING, "WATTS", .help = "power: limit of the processors; default: as they have it" },
	{ "gpu", 0, OPTION_LIST, "N=WATTS", .help = "power: most for one GPU, e.g. 0=450W; repeatable" },
	{ "price-kwh", 0, OPTION_STRING, "DOLLARS", .help = "power plan: price of electricity, e.g. 0.30" },
	{ "data", 0, OPTION_STRING, "FOLDER", .help = "data folder of nanopod-agentd; default: its own",
		.complete = COMPLETE_DIR },
	{ "sysfs-root", 0, OPTION_STRING, "FOLDER",
		.help = "look at the machine whose sys and proc are below this folder", .complete = COMPLETE_DIR },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is still printed" },
	{ "dry-run", 0, OPTION_FLAG, .help = "print only the plan" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod host token",
		"where you are signed in: create a token for one machine, and print the line to type there" },
	{ "nanopod host join 'https://market.example#sha256//…'",
		"on the machine: show what it has and how it is sold, then join" },
	{ "nanopod host verify", "check that the machine is as good as it says, and how to fix it" },
	{ "nanopod host verify --check rack1.json", "check what another machine measured, and who signed it" },
	{ "nanopod host offer rack1-7 -p 1.90", "sell its time, from now on" },
	{ "nanopod host offer rack1-7 -p 0.90 --hours 22:00-06:00 -y",
		"sell the nights of the next 7 days; a timer that repeats it adds those that come" },
	{ "nanopod host price rack1-7 rack1-8 -p 2.10",
		"ask for another price from now on; what is sold stays sold at its price" },
	{ "nanopod host power set --envelope 1440W --psu gold:1600W",
		"keep a home node within what its circuit bears" },
	{ "nanopod host drain rack1-7 --at 2026-12-01T06:00 --reason 'new fans'",
		"take it out of service then: buyers hear of it now, and later time is refunded" },
	{ "nanopod host status", "show this machine and all your machines as the market sees them" },
	{ 0 },
};

const struct command cmd_host = {
	.name = "host",
	.args = "[ACTION [ARGUMENT]]",
	.summary = "offer this machine on a market: join, verify, offer",
	.examples = examples,
	.positional =
		"status            show this machine's agent and your machines on the market (the default)\n"
		"token [NAME]      create a token that lets one machine join, once; print the line to type there\n"
		"join URL          show what was found and how it is sold, ask, and join\n"
		"verify            measure disk, network, clock, SSH, drivers, GPUs; exits 11 where one fails\n"
		"offer HOST        offer its time for sale\n"
		"price HOST        change the price of what it has on sale\n"
		"floor HOST        set the price below which it is never on sale\n"
		"volumes MACHINE   let room of its disk to buyers, for data that outlives nodes\n"
		"list              list your hosts: state, sold until when, price\n"
		"drain HOST        sell no more of it, from now on or from --at on, after a plan\n"
		"undrain HOST      put it back into service\n"
		"inventory         list what this machine has\n"
		"drivers           list drivers that work here, and why others do not\n"
		"power show|plan|set|sweep\n"
		"                  show what it draws and may draw; plan or set limits that fit the wall; measure\n"
		"                  what limits cost in speed\n"
		"image build|list|remove [NAME]\n"
		"                  manage the root images of nodes\n"
		"leave             remove the machine from the market",
	.description = "For owners of machines. 'nanopod-agentd' does the work: nanopod looks for it beside itself, "
		       "in ../sbin and on PATH. 'token', 'offer', 'price', 'floor', 'volumes', 'list', 'drain' and "
		       "'undrain' only "
		       "need the "
		       "market and work from anywhere; everything else is about the machine that you type it "
		       "on.\n\n'join' takes the token from "
		       "NANOPOD_JOIN_TOKEN or standard input, or asks for it; never from an option, where others "
		       "could see it. What follows # in the URL is the market's key: nanopod trusts nothing else.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "status|token|join|verify|offer|price|floor|volumes|list|drain|undrain|inventory|drivers|power|"
			"image|leave",
	.run = host_command,
};
