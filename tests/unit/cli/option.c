/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command line against one table with every kind of option. */
#include "../../lib/tap.h"

#include "cli/frame/action.h"
#include "cli/frame/command.h"
#include "cli/frame/option.h"

static const struct option own[] = {
	{ "all", 'a', OPTION_FLAG, .help = "all" },
	{ "verbose", 'v', OPTION_FLAG, .help = "more" },
	{ "fanout", 'f', OPTION_INT, "N", "64", "so many", .min = 1, .max = 100 },
	{ "delta", 'd', OPTION_INT, "N", NULL, "may be negative", .min = -9, .max = 9 },
	{ "limit", 0, OPTION_INT, "N", NULL, "or none", .min = 1, .max = 9, .may_none = true },
	{ "ceiling", 0, OPTION_SIZE, NULL, "1M", .help = "so large" },
	{ "timeout", 't', OPTION_DURATION, NULL, "90s", "so long", .may_none = true },
	{ "name", 'n', OPTION_STRING, "NAME", .help = "a name" },
	{ "hosts", 'w', OPTION_LIST, "HOSTS", .help = "hosts" },
	{ "policy", 0, OPTION_ENUM, NULL, "ask", "policy", .values = "ask|strict|accept-new" },
	{ "color", 0, OPTION_OPTIONAL, "WHEN", NULL, "colour", .values = "auto|always" },
	{ "fields", 0, OPTION_STRING, "LIST", NULL, "fields", .may_lack = true },
	{ 0 },
};
static const struct option shared[] = {
	{ "help", 'h', OPTION_FLAG, .help = "help" },
	{ "all", 'x', OPTION_STRING, .help = "hidden by the first table's" },
	{ 0 },
};
static const struct option *const tables[] = { own, shared, NULL };

static struct options *parse(bool stop, const char *line, struct fail *f)
{
	static char room[1024], *argv[64];
	struct options *o = NULL;
	char *rest = room;
	int argc = 0;

	snprintf(room, sizeof room, "%s", line);
	while (*line && (argv[argc] = strsep(&rest, " ")))
		argc++;
	return option_parse(tables, stop, argc, argv, &o, f) ? NULL : o;
}

static void good(void)
{
	struct options *o = parse(false,
		"one -avf8 --name=x=y -w a --hosts b,c two --timeout 1d12h --policy strict -d -5 -5", NULL);

	if (!ok(o, "long, short, clustered and positionals mix"))
		return;
	ok(option_given(o, "all") && option_count(o, "verbose") == 1, "flags in a cluster");
	is_int(option_int(o, "fanout"), 8, "the last letter of a cluster takes the rest as its argument");
	is_str(option_text(o, "name"), "x=y", "the first '=' parts name and value");
	is_int((intmax_t)option_count(o, "hosts"), 2, "a list is given twice");
	is_str(option_at(o, "hosts", 0), "a", "in order");
	is_str(option_at(o, "hosts", 1), "b,c", "commas are kept");
	ok(!option_at(o, "hosts", 2), "nothing past the end");
	is_int(option_ms(o, "timeout"), 36 * 3600 * 1000LL, "a duration");
	is_str(option_text(o, "policy"), "strict", "one of its words");
	is_int(option_int(o, "delta"), -5, "a negative number as an argument");
	is_int(option_argc(o), 3, "three words are left");
	is_str(option_argv(o)[2], "-5", "a negative number is a word where no option is called so");
	ok(!option_argv(o)[3], "the words end with NULL");
	is_int(option_split(o), -1, "there was no '--'");
	option_free(o);
}

static void defaults(void)
{
	struct options *o = parse(false, "", NULL);

	is_int(option_int(o, "fanout"), 64, "default of a number");
	is_int((intmax_t)option_bytes(o, "ceiling"), 1 << 20, "default of a size");
	is_int(option_ms(o, "timeout"), 90000, "default of a duration");
	is_str(option_text(o, "policy"), "ask", "default of a word");
	ok(!option_text(o, "name") && !option_given(o, "fanout"), "a default is not given");
	option_free(o);
	o = parse(false, "--limit none --timeout=none", NULL);
	is_int(option_int(o, "limit") + option_ms(o, "timeout"), 0, "none is 0");
	option_free(o);
	o = parse(false, "-f 1 -f 2", NULL);
	is_int(option_int(o, "fanout"), 2, "the last one counts");
	option_free(o);
}

static void ends(void)
{
	struct options *o = parse(false, "a -- -a --nonsense", NULL);

	is_int(option_argc(o), 3, "after '--' all are words");
	is_int(option_split(o), 1, "and it is known where it stood");
	option_free(o);
	o = parse(true, "-a cmd -v --nonsense -- x -- y", NULL);
	ok(o && option_given(o, "all") && !option_given(o, "verbose"), "options end at the first word where asked to");
	is_int(option_argc(o), 6, "only the first '--' is taken out");
	is_int(option_split(o), 3, "its place is known");
	is_str(option_argv(o)[4], "--", "the second is a word");
	is_str(option_words(o, 1)[2], "--", "whoever passes the words on has the first one, too");
	is_str(option_words(o, 1)[3], "x", "in its place");
	is_str(option_words(o, 3)[0], "x", "but not before the first word");
	option_free(o);
	o = parse(false, "--color --fields", NULL);
	is_str(option_text(o, "color"), "", "an optional argument may be left out");
	is_str(option_text(o, "fields"), "", "and so may one that may lack at the end");
	option_free(o);
	o = parse(false, "--color always --fields -a", NULL);
	is_int(option_argc(o), 1, "an optional argument never takes the next word");
	ok(option_given(o, "all"), "what may lack does not take an option");
	option_free(o);
	o = parse(false, "--fields a,b -", NULL);
	is_str(option_text(o, "fields"), "a,b", "what may lack takes a word");
	is_str(option_argv(o)[0], "-", "'-' is a word");
	option_free(o);
}

static void bad(void)
{
	static const struct { const char *line, *why;
	} cases[] = {
		{ "--fanot 3", "cannot understand '--fanot': no such option (did you mean '--fanout'?)" },
		{ "--fan 3", "cannot understand '--fan': no such option (did you mean '--fanout'?)" },
		{ "--zzzzzz", "cannot understand '--zzzzzz': no such option" },
		{ "-az", "cannot understand '-az': no option '-z'" },
		{ "--all=yes", "--all takes no argument" },
		{ "--fanout", "--fanout requires an argument (N)" },
		{ "-n", "-n requires an argument (NAME)" },
		{ "-f 12x", "cannot use '--fanout': '12x' is not a whole number" },
		{ "-f 0", "cannot use '--fanout': '0' is not between 1 and 100" },
		{ "-f 99999999999999999999", "cannot use '--fanout': '99999999999999999999' is not between 1 and 100" },
		{ "--limit=", "cannot use '--limit': '' is not a whole number" },
		{ "--policy strikt",
			"cannot use '--policy': 'strikt' is not one of ask|strict|accept-new; did you mean 'strict'?" },
		{ "--color=pink", "cannot use '--color': 'pink' is not one of auto|always" },
		{ "-t 90", "cannot use '--timeout': '90' has no unit: try 90s, 15m, 1.5h, 1d12h or 2w" },
		{ "--ceiling 12q", "cannot use '--ceiling': '12q' is not a size: try 4096, 64k, 1.5M or 2GiB" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fail f = { 0 };
		struct options *o = parse(false, cases[i].line, &f);

		ok(!o, "'%s' is refused", cases[i].line);
		is_str(f.text, cases[i].why, "'%s' is explained", cases[i].line);
		option_free(o);
	}
}

/* A command whose author named no arguments. */
static void no_args(void)
{
	static const struct command none = { .name = "none" };
	char room[ACTION_MISSING] = "x", *usage = command_usage(&none);

	is_str(usage, "nanopod none [options]", "a usage line without arguments");
	is_str(action_missing(none.args, 0, room), "", "of which none is missing");
	free(usage);
}

int main(void)
{
	plan_none;
	good();
	defaults();
	ends();
	bad();
	no_args();
	is_str(option_arg_name(option_find(tables, "policy", 6)), "ask|strict|accept-new", "an enum shows its words");
	ok(option_find_letter(tables, 'h') == &shared[0], "letters are found in every table");
	return done();
}
