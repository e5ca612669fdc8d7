/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command is, what it is handed, and what it may answer. A command is one file in cli/cmd
 * with one `const struct command cmd_NAME`; main.c alone names them all. Includes are written
 * from the top of the tree: "cli/frame/command.h".
 */
#ifndef CLI_FRAME_COMMAND_H
#define CLI_FRAME_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fail.h"
#include "cli/frame/option.h"

/* ---- Exit statuses --------------------------------------------------------------------- */

/* X(name, status, code in JSON errors, retryable, text) */
#define STATUSES(X) \
	X(STATUS_OK, 0, "ok", 0, "everything that was asked for is done") \
	X(STATUS_FAILURE, 1, "failure", 0, "failure that no other status names") \
	X(STATUS_USAGE, 2, "usage", 0, "the command line or a setting cannot be understood; nothing was done") \
	X(STATUS_NOTFOUND, 3, "not_found", 0, "what was named does not exist") \
	X(STATUS_DENIED, 4, "denied", 0, "sign-in, key or permission is missing") \
	X(STATUS_CONFLICT, 5, "conflict", 0, "conflict, or the wrong state for it") \
	X(STATUS_CAPACITY, 6, "no_capacity", 1, "no capacity, or the order was not filled (market commands)") \
	X(STATUS_FUNDS, 7, "funds", 0, "not enough funds, or a limit is reached (market commands)") \
	X(STATUS_UNREACHABLE, 8, "unreachable", 1, "unreachable or timed out; may be repeated") \
	X(STATUS_WAITING, 9, "waiting", 1, "--wait ran out; the work goes on (market commands)") \
	X(STATUS_PARTLY, 10, "partly", 0, "done for some only; the output has each one's result") \
	X(STATUS_CHECK, 11, "check_failed", 0, "a check failed") \
	X(STATUS_INT, 130, "interrupted", 1, "interrupted by Ctrl-C") \
	X(STATUS_PIPE, 141, "pipe", 0, "the reader of standard output went away") \
	X(STATUS_TERM, 143, "terminated", 1, "terminated by a signal") \
	X(STATUS_TRANSPORT, 255, "transport", 1, "ssh, run or cp on one host: the connection failed")

enum status {
#define STATUS_X(name, status, code, retryable, text) name = status,
	STATUSES(STATUS_X)
#undef STATUS_X
};

/* ---- What a command is handed ---------------------------------------------------------- */

/* X(name, text). The first one that a command lists is its own default. */
#define FORMATS(X) \
	X(FORMAT_TABLE, "table") \
	X(FORMAT_WIDE, "wide") \
	X(FORMAT_JSON, "json") \
	X(FORMAT_JSONL, "jsonl") \
	X(FORMAT_CSV, "csv") \
	X(FORMAT_NAME, "name") \
	X(FORMAT_TEXT, "text") /* what only run, cp and help have: output as it is */

enum format {
#define FORMAT_X(name, text) name,
	FORMATS(FORMAT_X)
#undef FORMAT_X
};

struct command;
struct nodes;
struct settings;

struct nanopod {
	const struct command *const *commands; /* all of them, ends with NULL: for help, shell, completion */
	struct settings *settings; /* "cli/frame/settings.h"; only flags and defaults with COMMAND_NO_SETTINGS */
	bool settings_loaded;                  /* files and environment are in it */
	struct fail settings_fail;             /* only with COMMAND_LENIENT; code 0 where all is well */
	FILE *out, *err;                       /* data; all else. out is checked and flushed after run() */
	bool tty_in, tty_out, tty_err;
	bool color_out, color_err;             /* judged apart; "cli/frame/print.h" has the colours */
	enum format format;                    /* what -o, NANOPOD_OUTPUT or a file said and the command can do */
	bool errors_json;                      /* errors as one JSON object: -o json or jsonl */
	int verbose;                           /* how many -v */
	int depth;                             /* how many command_run() are under way: 2 in the shell */
	struct nodes *nodes; /* "cli/nodes/node.h"; what the market told this command of them, NULL: not asked */
	int select_failed;   /* cli/remote/select.c: a status, where it was said why a group cannot be had */
	void *shell;                           /* cmd/shell.c's own, NULL outside of it: connections that stay warm */
};

/* ---- A command ------------------------------------------------------------------------- */

struct example {
	const char *line; /* "nanopod run -w 'n[1-64]' -- uptime" */
	const char *what; /* "run uptime on 64 hosts" */
};

enum command_flags {
	COMMAND_STOP = 1,         /* options end at the first positional: the rest belongs to someone else */
	COMMAND_HIDDEN = 2,       /* not in help nor in completion */
	COMMAND_NO_SETTINGS = 4,  /* command_run reads no settings file: works where they are broken */
	COMMAND_ROWS = 8,         /* prints rows: gets -q and --fields (cli/frame/rows.h) */
	COMMAND_LENIENT = 32,     /* runs with broken settings too: np->settings_fail says what is wrong */
	COMMAND_CONNECT = 16,     /* connects: gets --user --port --identity --jump --ssh-config … (settings) */
	COMMAND_MORE = 128,       /* the short page has no room for more than its name */
	COMMAND_NODES = 256,      /* takes nodes of the market among its hosts: gets --url */
	COMMAND_MARKET = 64,      /* asks the market: gets --url and --explain (cli/trade/market_link.h) */
};

struct command {
	const char *name;
	const char *const *aliases;        /* ends with NULL; NULL where there are none */
	const char *args; /* what follows "nanopod NAME [options] " in the usage line; "" for nothing */
	const char *summary;               /* one line, no full stop */
	const struct example *examples;    /* ends with { 0 }; help leads with them */
	const char *description;           /* paragraphs parted by an empty line; filled by help */
	const char *positional;            /* what the words are: "HOSTS  names or ranges\nCOMMAND  …"; or NULL */
	const struct option *options;      /* its own, ends with { 0 }; the shared ones come by flags */
	const char *formats;               /* "table|wide|json": gets -o; NULL: has no -o */
	unsigned flags;
	int min_args, max_args;            /* of positionals; max -1: any number */
	enum complete complete_first, complete_rest; /* what positionals complete to */
	const char *first_values;          /* where complete_first is COMPLETE_VALUES: "a|b|c" */
	int (*run)(struct nanopod *np, const struct options *o); /* an enum status, or a remote status */
};

/* Name or alias; NULL where there is none. */
const struct command *command_find(const struct nanopod *np, const char *name);

/* The command whose name is nearest, not too far; NULL. */
const struct command *command_nearest(const struct nanopod *np, const char *name);

/* Its values for this option: those of -o are the command's own formats. NULL: any. */
const char *command_values(const struct command *cmd, const struct option *row);

/*
 * The option tables that a command takes: its own, then the shared ones by its flags, ends with
 * NULL. cmd NULL: what may stand before the command's name.
 */
enum { COMMAND_TABLES = 10 };
void command_tables(const struct command *cmd, const struct option *tables[COMMAND_TABLES]);

/* "nanopod run [options] …" without a newline; free() it. */
char *command_usage(const struct command *cmd);

/*
 * Finds argv[0], parses the rest, lays the flags over the settings, runs it, flushes np->out and
 * checks it, takes the flags off again. main() and the shell come in here. Prints what is wrong.
 * In dispatch.c, above all that it prints with.
 */
int command_run(struct nanopod *np, int argc, char **argv);

/* For cli/ only: says so and exits with STATUS_FAILURE. */
_Noreturn void command_nomem(void);

#endif
