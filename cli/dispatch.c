/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the command that the words name: finds it, parses, lays the flags over the settings, checks the output. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/frame/action.h"
#include "cli/frame/command.h"
#include "cli/inventory/hostbook.h"
#include "cli/nodes/node.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/reshape.h"
#include "cli/frame/settings.h"
#include "cli/frame/usage.h"
#include "cli/frame/value.h"

/* ---- Programs on PATH ------------------------------------------------------------------ */

/* nanopod-NAME in one of PATH's folders; malloc'd or NULL. Never looks in the current folder. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	char *found = NULL;

	if (strchr(name, '/') || !path)
		return NULL;
	while (*path) {
		size_t len = strcspn(path, ":");

		if (len && path[0] == '/') {
			if (asprintf(&found, "%.*s/nanopod-%s", (int)len, path, name) < 0)
				command_nomem();
			if (access(found, X_OK) == 0)
				return found;
			free(found);
		}
		path += len + (path[len] == ':');
	}
	return NULL;
}

/* What people type who come from other programs, and what does it here. */
struct habit {
	const char *command; /* NULL: of any */
	const char *word, *here;
};

static const struct habit habits[] = {
	{ NULL, "ps", "'nanopod nodes' lists your nodes, 'nanopod reservations' your reservations" },
	{ NULL, "list", "'nanopod reservations' lists your reservations, 'nanopod nodes' your nodes" },
	{ NULL, "rm", "'nanopod release RESERVATION' gives it back" },
	{ NULL, "exec",
		"'nanopod ssh NODE -- COMMAND' runs it on one host, 'nanopod run -w HOSTS -- COMMAND' on many" },
	{ NULL, "status", "'nanopod nodes' lists your nodes, 'nanopod local status' shows the local market" },
	{ NULL, "up", "'nanopod buy' buys nodes, 'nanopod local start' starts a market to try" },
	{ NULL, "create", "'nanopod buy' buys nodes" },
	{ NULL, "start", "'nanopod buy' buys nodes, 'nanopod local start' starts a market to try" },
	{ NULL, "stop", "'nanopod release NAME' gives nodes back, 'nanopod local stop' stops the local market" },
	{ NULL, "down", "'nanopod release NAME' gives nodes back, 'nanopod local stop' stops the local market" },
	{ NULL, "delete", "'nanopod release NAME' gives nodes back" },
	{ NULL, "terminate", "'nanopod release NAME' gives nodes back" },
	{ NULL, "instances", "'nanopod nodes' lists your nodes" },
	{ NULL, "clusters", "'nanopod provision list' lists your clusters" },
	{ NULL, "push", "'nanopod cp FILE HOST:PATH' copies" },
	{ NULL, "pull", "'nanopod cp HOST:PATH FILE' copies" },
	{ NULL, "scp", "'nanopod cp FILE HOST:PATH' copies" },
	{ NULL, "sftp", "'nanopod cp FILE HOST:PATH' copies" },
	{ NULL, "rsync", "'nanopod cp -r -u FOLDER HOST:PATH' copies what has changed" },
	{ NULL, "get", "'nanopod nodes' lists your nodes, 'nanopod reservations' your reservations" },
	{ NULL, "describe", "'nanopod show NAME' shows a reservation, node or order" },
	{ NULL, "auth", "'nanopod login' signs in, 'nanopod whoami' shows as whom" },
	{ NULL, "port-forward", "'nanopod tunnel NODE PORT' forwards a port" },
	{ NULL, "forward", "'nanopod tunnel NODE PORT' forwards a port" },
	{ NULL, "quote", "'nanopod price -t TYPE' shows prices" },
	{ NULL, "apply", "'nanopod provision FILE.yaml' makes a cluster" },
	{ NULL, "deploy", "'nanopod provision -r RESERVATION STACK' makes a cluster" },
	{ NULL, "kill", "'nanopod release NAME' gives nodes back" },
	{ NULL, "destroy", "'nanopod release NAME' gives nodes back" },
	{ NULL, "top", "'nanopod run -r RESERVATION --watch 2s -- nvidia-smi' repeats a command on its nodes" },
	{ "ssh", "-L", "'nanopod tunnel HOST HERE:HOST:PORT' forwards a port" },
	{ "ssh", "-R", "'nanopod tunnel HOST -R THERE:HOST:PORT' forwards a port back" },
	{ "ssh", "-D", "'nanopod tunnel HOST -D PORT' is a SOCKS proxy" },
	{ NULL, "--json", "'-o json' prints JSON" },
	{ NULL, "--format", "'-o json', '-o csv' and the like choose the format" },
	{ "buy", "--count", "'-n N' is the number of nodes" },
	{ "buy", "--gpus", "'-n N' is the number of nodes; 'nanopod types' shows the GPUs of each" },
	{ "run", "--sudo", "'--become' runs the command with sudo" },
	{ "logs", "--tail", "'-n N' prints the last N lines" },
	{ NULL, "-g", "'-w @GROUP' or '-r RESERVATION' chooses a group of hosts" },
	{ NULL, "-u", "'-l NAME' chooses the user, '--timeout 30s' limits a command" },
	{ NULL, "-L", "options are listed by '--help'; 'nanopod tunnel HOST HERE:HOST:PORT' forwards a port" },
};

/* command NULL: the word stands where a command should. NULL: nothing is known of it. */
static const char *habit_hint(const char *command, const char *word)
{
	for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
		if ((command != NULL) == (*habits[i].word == '-') && str_starts(word, habits[i].word) &&
			(command || !word[strlen(habits[i].word)]) &&
			(!habits[i].command || (command && strcmp(habits[i].command, command) == 0)))
			return habits[i].here;
	return NULL;
}

/* The option that the sentence "unknown option '-g'" is about. */
static const char *habit_of_refusal(const struct command *cmd, const char *sentence)
{
	const char *quote = strstr(sentence, "'-"), *next = quote;

	/* Of letters together the last quote names the one that is unknown. */
	while (next && quote[2] != '-') {
		quote = next;
		next = strstr(next + 1, "'-");
	}
	/* One letter means something else to commands without hosts. */
	if (!quote || (quote[2] != '-' && !(cmd->flags & COMMAND_CONNECT)))
		return NULL;
	return habit_hint(cmd->name, quote + 1);
}

static int run_program(struct nanopod *np, int argc, char **argv)
{
	const struct command *near = command_nearest(np, argv[0]);
	char *program = find_program(argv[0]);
	char hint[128];
	int rc;

	if (!program || np->shell) {
		free(program);
		if (habit_hint(NULL, argv[0]))
			snprintf(hint, sizeof hint, "%s", habit_hint(NULL, argv[0]));
		else if (near)
			snprintf(hint, sizeof hint, "did you mean 'nanopod %s'?", near->name);
		else
			snprintf(hint, sizeof hint, "'nanopod help' lists the commands");
		return print_fail(np, STATUS_USAGE, hint, "cannot run '%.60s': no such command", argv[0]);
	}
	(void)argc;
	argv[0] = program;
	signal(SIGPIPE, SIG_DFL); /* the program would inherit that it is ignored */
	execv(program, argv);
	rc = print_fail(np, STATUS_FAILURE, NULL, "cannot run '%s': %s", program, strerror(errno));
	free(program);
	return rc;
}

/* ---- Settings and what follows from them ----------------------------------------------- */

static bool stream_has_colors(const struct nanopod *np, bool tty)
{
	const char *when = settings_text(np->settings, SETTING_ID_COLOR);
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (strcmp(when, "always") == 0)
		return true;
	/* A setting or flag is about this program, so it wins over NO_COLOR and TERM=dumb. */
	return strcmp(when, "never") != 0 && tty && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static void choose_colors(struct nanopod *np)
{
	np->color_out = stream_has_colors(np, np->tty_out);
	np->color_err = stream_has_colors(np, np->tty_err);
}

/* In the shell a line's flags win over those that the shell was started with. */
static enum settings_layer flag_layer(const struct nanopod *np)
{
	return np->depth > 1 ? LAYER_LINE : LAYER_FLAG;
}

/* A command without formats prints text. */
static int choose_format(struct nanopod *np, const struct command *cmd)
{
	static const char *const names[] = {
#define FORMAT_ROW(name, text) [name] = text,
		FORMATS(FORMAT_ROW)
#undef FORMAT_ROW
	};
	const char *wanted = settings_text(np->settings, SETTING_ID_OUTPUT), *word;
	struct fail why = { 0 };
	size_t at = 0, len;
	int rc = 0;

	np->errors_json = wanted && (strcmp(wanted, "json") == 0 || strcmp(wanted, "jsonl") == 0);
	np->format = FORMAT_TEXT;
	if (!cmd->formats)
		return 0;
	if (wanted)
		rc = value_enum(wanted, cmd->formats, &at, &why);
	if (rc && settings_layer(np->settings, SETTING_ID_OUTPUT) == flag_layer(np))
		return print_fail_field(np, STATUS_USAGE, "--output", NULL, "cannot print that way: %s", why.text);
	value_word(cmd->formats, rc ? 0 : at, &word, &len);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == len && memcmp(names[i], word, len) == 0)
			np->format = (enum format)i;
	return 0;
}

/* cmd: the command whose formats -o accepts; NULL: any. */
static int lay_flags(struct nanopod *np, const struct command *cmd, const struct options *o, struct fail *f)
{
	const struct option *row;
	const char *text;
	struct fail why = { 0 };
	size_t at;
	int rc = 0;

	for (size_t i = 0; option_typed(o, i, &row, &text) && !rc; i++) {
		char where[64];

		if (strcmp(row->name, "verbose") == 0)
			np->verbose++;
		if (!row->setting)
			continue;
		snprintf(where, sizeof where, "--%s", row->name);
		if (cmd && cmd->formats && strcmp(row->setting, "output") == 0 &&
			value_enum(text, cmd->formats, &at, &why))
			return fail_set(f, -EINVAL, "cannot print that way: %s", why.text);
		rc = settings_set(np->settings, (enum setting)settings_find(row->setting), flag_layer(np),
			!*text && row->implied ? row->implied : text, where, f);
	}
	return rc;
}

static const char *typed_text(const struct options *before, const struct options *o, const struct option *const *tables,
	const char *name)
{
	if (option_find(tables, name, strlen(name)) && option_given(o, name))
		return option_text(o, name);
	return option_text(before, name);
}

static int load_settings(struct nanopod *np, const struct command *cmd, const struct options *before,
	const struct options *o)
{
	const struct option *tables[COMMAND_TABLES];
	const char *warning;
	struct fail f = { 0 };

	if (cmd->flags & COMMAND_NO_SETTINGS || np->settings_loaded)
		return 0;
	command_tables(cmd, tables);
	if (settings_load(np->settings, typed_text(before, o, tables, "config"),
		    typed_text(before, o, tables, "profile"), &f) &&
		!(cmd->flags & COMMAND_LENIENT))
		return print_fail(np, STATUS_USAGE, NULL, "%s", f.text);
	np->settings_loaded = true;
	np->settings_fail = f;
	choose_colors(np);
	for (size_t i = 0; !(cmd->flags & COMMAND_LENIENT) && (warning = settings_warning(np->settings, i)); i++)
		print_warn(np, "%s", warning);
	return 0;
}

/* ---- Running --------------------------------------------------------------------------- */

/* Looks for -o json before parsing, so that even a parse error comes as JSON. */
static bool asks_json(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *text = strncmp(argv[i], "--output=", 9) == 0                                   ? argv[i] + 9
			: strncmp(argv[i], "-o", 2) == 0 && argv[i][2]                                     ? argv[i] + 2
			: (strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0) && i + 1 < argc ? argv[i + 1]
													   : "";

		if (strcmp(text, "json") == 0 || strcmp(text, "jsonl") == 0)
			return true;
	}
	return false;
}

/* As types are called: "-t" and the like are none, and such a word needs no quotes. */
static bool dispatch_may_be_type(const char *word)
{
	return isalnum((unsigned char)*word) &&
		!word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] &&
		strcmp(word, "help") != 0;
}

/* A word beyond the last: where the command has -t and none was given, it may be a type. */
static int dispatch_extra(struct nanopod *np, const struct command *cmd, const struct options *o, const char *usage)
{
	const struct option *const tables[] = { cmd->options, NULL };
	const struct option *type = cmd->options ? option_find(tables, "type", 4) : NULL;
	const char *word = option_argv(o)[cmd->max_args];

	if (type && type->letter == 't' && !option_given(o, "type") && dispatch_may_be_type(word))
		return print_fail(np, STATUS_USAGE, NULL,
			"unexpected argument '%.60s' (did you mean -t %.60s?); usage: %s", word, word, usage);
	return print_fail(np, STATUS_USAGE, NULL, "unexpected argument '%.60s'; usage: %s", word, usage);
}

static int dispatch_check_count(struct nanopod *np, const struct command *cmd, const struct options *o)
{
	int n = option_argc(o);
	char *usage, room[ACTION_MISSING];
	int rc;

	if (n >= cmd->min_args && (cmd->max_args < 0 || n <= cmd->max_args))
		return 0;
	usage = command_usage(cmd);
	if (n < cmd->min_args)
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot run '%s': an argument is missing%s; usage: %s",
			cmd->name, action_missing(cmd->args, n, room), usage);
	else
		rc = dispatch_extra(np, cmd, o, usage);
	free(usage);
	return rc;
}

static bool dispatch_has_json(const struct command *cmd)
{
	struct fail why = { 0 };
	size_t at;

	return !(cmd->flags & COMMAND_STREAM) && value_enum("json", cmd->formats, &at, &why) == 0;
}

static int dispatch_run(struct nanopod *np, const struct command *cmd, const struct options *o)
{
	int rc = cmd->run(np, o);

	return rc == PLAN_SHOWN ? STATUS_OK : rc;
}

/* Runs it; for -o yaml and --template with its JSON, which is printed in that form. */
static int run_shaped(struct nanopod *np, const struct command *cmd, const struct options *before,
	const struct options *o)
{
	const struct option *tables[COMMAND_TABLES];
	struct reshape *shape;
	const char *template;
	int rc;

	command_tables(cmd, tables);
	template = cmd->formats ? typed_text(before, o, tables, "template") : NULL;
	if (template && (option_given(o, "output") || (cmd->flags & COMMAND_ROWS && option_given(o, "quiet"))))
		return print_fail_field(np, STATUS_USAGE, "--template", NULL,
			"--template is a format of its own: leave out -o and -q");
	if (!template && np->format == FORMAT_YAML && cmd->flags & COMMAND_ROWS && option_given(o, "quiet"))
		np->format = FORMAT_NAME;
	if (!template && np->format != FORMAT_YAML)
		return dispatch_run(np, cmd, o);
	np->format = dispatch_has_json(cmd) ? FORMAT_JSON : FORMAT_JSONL;
	if (np->shape) /* of the command that runs this one */
		return dispatch_run(np, cmd, o);
	shape = reshape_begin(np, template, np->format == FORMAT_JSONL);
	if (!shape)
		return STATUS_USAGE;
	np->template = template;
	rc = dispatch_run(np, cmd, o);
	np->template = NULL;
	return reshape_end(shape, rc);
}

static int run_parsed(struct nanopod *np, const struct command *cmd, const struct options *before,
	const struct options *o)
{
	struct fail f = { 0 };
	int rc;

	if (lay_flags(np, cmd, before, &f) || lay_flags(np, cmd, o, &f))
		return print_fail(np, STATUS_USAGE, NULL, "%s", f.text);
	choose_colors(np);
	if (option_given(o, "help") || option_given(before, "help")) {
		usage_command(np, cmd, np->out);
		return STATUS_OK;
	}
	rc = load_settings(np, cmd, before, o);
	rc = rc ? rc : choose_format(np, cmd);
	rc = rc ? rc : dispatch_check_count(np, cmd, o);
	np->account = cmd->flags & COMMAND_ACCOUNT ? option_text(o, "account") : NULL;
	return rc ? rc : run_shaped(np, cmd, before, o);
}

static int run_command(struct nanopod *np, const struct command *cmd, const struct options *before, int argc,
	char **argv)
{
	const struct option *tables[COMMAND_TABLES];
	struct hostbook *outer_book = np->hostbook;
	bool outer_own = np->hostbook_own;
	const struct command *outer_running = np->running;
	const struct options *outer_typed = np->typed;
	const char *outer_account = np->account;
	struct nodes *outer = np->nodes;
	struct options *o = NULL;
	struct fail f = { 0 };
	char hint[128];
	int rc;

	command_tables(cmd, tables);
	if (option_parse(tables, cmd->flags & COMMAND_STOP, argc - 1, argv + 1, &o, &f)) {
		snprintf(hint, sizeof hint, "'nanopod %s --help' lists its options", cmd->name);
		return print_fail(np, STATUS_USAGE,
			habit_of_refusal(cmd, f.text) ? habit_of_refusal(cmd, f.text) : hint, "%s", f.text);
	}
	np->nodes = NULL;
	np->nodes_kept = false;
	np->hostbook_own = false;
	np->running = cmd;
	np->typed = o;
	rc = run_parsed(np, cmd, before, o);
	np->running = outer_running;
	np->typed = outer_typed;
	np->account = outer_account;
	option_free(o);
	nodes_free(np->nodes);
	np->nodes = outer;
	if (np->hostbook_own)
		hostbook_free(np->hostbook);
	np->hostbook = outer_book;
	np->hostbook_own = outer_own;
	free(np->ssh_lines);
	np->ssh_lines = NULL;
	return rc;
}

/* No command: a page about all of them. */
static int run_nothing(struct nanopod *np, const struct options *o)
{
	struct fail f = { 0 };

	if (lay_flags(np, NULL, o, &f))
		return print_fail(np, STATUS_USAGE, NULL, "%s", f.text);
	choose_colors(np);
	if (option_given(o, "help"))
		usage_overview(np, np->out);
	else
		usage_short(np, np->out);
	return STATUS_OK;
}

/* For "nanopod -w n1 …": an option of a command in front of its name. */
static const char *early_hint(const struct nanopod *np, int argc, char **argv)
{
	const struct command *run = command_find(np, "run");
	const struct option *const tables[] = { run ? run->options : NULL, NULL };
	const char *word = argc ? argv[0] : "", *name = word + 2;

	if (!run || word[0] != '-' || !word[1])
		return "'nanopod help' lists the commands";
	if (word[1] == 'w' || str_starts(word, "--hosts"))
		return "did you mean 'nanopod run -w HOSTS -- COMMAND'?";
	if (word[1] == '-' ? !option_find(tables, name, strcspn(name, "=")) : !option_find_letter(tables, word[1]))
		return "'nanopod help' lists the commands";
	return "a command's options come after its name: 'nanopod run -w HOSTS -- COMMAND'";
}

int command_run(struct nanopod *np, int argc, char **argv)
{
	const struct option *tables[COMMAND_TABLES];
	const struct command *cmd;
	struct options *before = NULL;
	struct fail f = { 0 };
	int rc, words, verbose = np->verbose;
	char **rest;

	np->depth++;
	np->errors_json = asks_json(argc, argv);
	choose_colors(np);
	command_tables(NULL, tables);
	if (option_parse(tables, true, argc, argv, &before, &f)) {
		np->depth--;
		return print_fail(np, STATUS_USAGE, early_hint(np, argc, argv), "%s", f.text);
	}
	words = option_argc(before);
	/* A later "--" belongs to the command, which parses again. */
	rest = argv + argc - words - (option_split(before) > 0);
	words = (int)(argv + argc - rest);
	cmd = words ? command_find(np, *rest) : NULL;
	if (option_given(before, "version"))
		rc = run_command(np, command_find(np, "version"), before, 1, argv + argc);
	else if (cmd)
		rc = run_command(np, cmd, before, words, rest);
	else if (words)
		rc = run_program(np, words, rest);
	else
		rc = run_nothing(np, before);
	option_free(before);
	settings_clear(np->settings, flag_layer(np));
	np->depth--;
	np->verbose = verbose;
	return print_finish(np, rc);
}
