/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host: for who owns the machine: it joins a market, is verified, offered and looked after. */
#include "cli/frame/action.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/print.h"

/* ---- What it does by itself --------------------------------------------------------------- */

/* The verb and its words, what it prints printed as it is. */
static int host_pass(struct nanopod *np, const struct options *o, const char *const *verb, char **words,
	const char *what)
{
	struct host_agentd a;
	int rc;

	if (np->format != FORMAT_TABLE && np->format != FORMAT_WIDE && np->format != FORMAT_JSON)
		return print_fail_field(np, STATUS_USAGE, "--output", "table and json are there",
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

static int host_verify(struct nanopod *np, const struct options *o, char **words)
{
	int rc;

	(void)words;
	rc = host_pass(np, o, (const char *const[]){ "verify", NULL }, NULL, "cannot verify this machine");
	return rc == STATUS_CHECK && np->format != FORMAT_JSON
		? print_fail(np, STATUS_CHECK, "what mends each is told above",
			  "this machine is not fit to be listed: a check failed")
		: rc;
}

static int host_inventory(struct nanopod *np, const struct options *o, char **words)
{
	(void)words;
	return host_pass(np, o, (const char *const[]){ "inventory", NULL }, NULL, "cannot tell what this machine has");
}

static int host_drivers(struct nanopod *np, const struct options *o, char **words)
{
	(void)words;
	return host_pass(np, o, (const char *const[]){ "drivers", NULL }, NULL, "cannot try the drivers");
}

static int image_build(struct nanopod *np, const struct options *o, char **words)
{
	/* it takes a while: progress is shown */
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
	{ "verify", "", 0, 0, host_verify },
	{ "offer", "HOST -p PRICE [--from TIME] [--until TIME]", 1, 1, host_offer },
	{ "inventory", "", 0, 0, host_inventory },
	{ "drivers", "", 0, 0, host_drivers },
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
	{ "name", 0, OPTION_STRING, "NAME", .help = "join: what the market calls it; not typed: its host name" },
	{ "type", 't', OPTION_STRING, "TYPE",
		.help = "join: the type of node it is; not typed: the market's that fits what was found",
		.complete = COMPLETE_TYPE },
	{ "nodes", 'n', OPTION_INT, "N", .fallback = "1", .min = 1, .max = 1024,
		.help = "join: as how many nodes it is sold" },
	{ "price", 'p', OPTION_STRING, "DOLLARS", .help = "offer: the least to take, in dollars per GPU-hour" },
	{ "per", 0, OPTION_ENUM, .values = "gpu|node", .fallback = "gpu", .complete = COMPLETE_VALUES,
		.help = "offer: what the hour of a price is of" },
	{ "from", 0, OPTION_STRING, "TIME", .help = "offer: from when on; not typed: now" },
	{ "until", 0, OPTION_STRING, "TIME", .help = "offer: until when; not typed: for ever" },
	{ "account", 0, OPTION_STRING, "ACCOUNT", .help = "offer, token: whose, for the operator" },
	{ "expires", 0, OPTION_STRING, "DURATION", .help = "token: how long it may be used, as 2h or 7d (24h)" },
	{ "data", 0, OPTION_STRING, "FOLDER", .help = "of nanopod-agentd; not typed: its own",
		.complete = COMPLETE_DIR },
	{ "sysfs-root", 0, OPTION_STRING, "FOLDER", .help = "look at the machine whose sys and proc are below it",
		.complete = COMPLETE_DIR },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is printed all the same" },
	{ "dry-run", 0, OPTION_FLAG, .help = "the plan only" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod host token", "where you are signed in: a token for one machine, and the line to type there" },
	{ "nanopod host join 'https://market.example#sha256//…'",
		"on the machine: what it has, what it is sold as, and it joins" },
	{ "nanopod host verify", "is it as good as it says? what mends what is not" },
	{ "nanopod host offer rack1-7 -p 1.90", "sell its time, from now on" },
	{ "nanopod host status", "what it does, and what the market says of all your machines" },
	{ 0 },
};

const struct command cmd_host = {
	.name = "host",
	.args = "[ACTION [ARGUMENT]]",
	.summary = "let this machine be sold: join, verify, offer",
	.examples = examples,
	.positional = "status            what the agent here does, and what the market says (also without a word)\n"
		      "token [NAME]      a token that lets one machine join, once; and the line to type there\n"
		      "join URL          tell what was found and what it is sold as, ask, and join\n"
		      "verify            measure disk, network, clock, SSH, drivers and GPUs; 11 where one fails\n"
		      "offer HOST        put its time on sale\n"
		      "inventory         what this machine has\n"
		      "drivers           which of them make nodes here, and why others do not\n"
		      "image build|list|remove [NAME]\n"
		      "                  the root images of nodes\n"
		      "leave             take the machine out of the market",
	.description = "For who owns the machine. 'nanopod-agentd' does the work: it is looked for beside nanopod, in "
		       "../sbin and on "
		       "PATH. 'token' and 'offer' ask the market and work from anywhere; all else is about the machine "
		       "that it is typed on.\n\n"
		       "The token goes to 'join' by NANOPOD_JOIN_TOKEN or standard input, or is asked for; never by an "
		       "option, where "
		       "others could see it. What follows # in the URL is the market's key: nothing else is believed.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.max_args = -1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "status|token|join|verify|offer|inventory|drivers|image|leave",
	.run = host_command,
};
