/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command is, what it gets, and which statuses it exits with. A command is one file in cli/cmd
 * with one `const struct command cmd_NAME`; only main.c names them all.
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
	X(STATUS_OK, 0, "ok", 0, "success") \
	X(STATUS_FAILURE, 1, "failure", 0, "any other failure") \
	X(STATUS_USAGE, 2, "usage", 0, "the command line or a setting is wrong; nothing was changed") \
	X(STATUS_NOTFOUND, 3, "not_found", 0, "not found") \
	X(STATUS_DENIED, 4, "denied", 0, "sign-in, key or permission is missing") \
	X(STATUS_CONFLICT, 5, "conflict", 0, "conflict, or wrong state") \
	X(STATUS_CAPACITY, 6, "no_capacity", 1, "no capacity, or the order was not filled (market commands)") \
	X(STATUS_FUNDS, 7, "funds", 0, "not enough funds, or a limit is reached (market commands)") \
	X(STATUS_UNREACHABLE, 8, "unreachable", 1, "unreachable or timed out; may be retried") \
	X(STATUS_WAITING, 9, "waiting", 1, "timed out while waiting; the work goes on (market commands)") \
	X(STATUS_PARTLY, 10, "partly", 0, "partly failed; the output has each result") \
	X(STATUS_CHECK, 11, "check_failed", 0, "a check failed") \
	X(STATUS_INT, 130, "interrupted", 1, "interrupted by Ctrl-C") \
	X(STATUS_PIPE, 141, "pipe", 0, "the reader of standard output closed it") \
	X(STATUS_TERM, 143, "terminated", 1, "terminated by a signal") \
	X(STATUS_TRANSPORT, 255, "transport", 1, "ssh, run or cp on one host: the connection failed")

enum status {
#define STATUS_X(name, status, code, retryable, text) name = status,
	STATUSES(STATUS_X)
#undef STATUS_X
};

/* ---- What a command gets ------------------------------------------------------------ */

/* X(name, text). The first one that a command lists is its default. */
#define FORMATS(X) \
	X(FORMAT_TABLE, "table") \
	X(FORMAT_WIDE, "wide") \
	X(FORMAT_JSON, "json") \
	X(FORMAT_JSONL, "jsonl") \
	X(FORMAT_CSV, "csv") \
	X(FORMAT_NAME, "name") \
	X(FORMAT_YAML, "yaml") /* a command runs with FORMAT_JSON or FORMAT_JSONL: "cli/frame/reshape.h" */ \
	X(FORMAT_TEXT, "text") /* only of run, cp and help: output as it is */

enum format {
#define FORMAT_X(name, text) name,
	FORMATS(FORMAT_X)
#undef FORMAT_X
};

struct command;
struct hostbook;
struct nodes;
struct reshape;
struct settings;

/* Commands that help shows together. */
struct command_group {
	const char *name;            /* "Market"; NULL ends the list */
	const struct command *first; /* the group goes on to the next group's */
};

struct nanopod {
	const struct command *const *commands; /* all of them, ends with NULL: for help, shell, completion */
	const struct command_group *groups;    /* of those, ends with { 0 } */
	struct settings *settings; /* "cli/frame/settings.h"; only flags and defaults with COMMAND_NO_SETTINGS */
	bool settings_loaded;                  /* files and environment are in it */
	struct fail settings_fail;             /* only with COMMAND_LENIENT; code 0 where all is well */
	FILE *out, *err;                       /* data; messages. command_run() flushes and checks out after run() */
	int out_failed; /* errno of what could not be written, where a message came after it; 0: none */
	bool tty_in, tty_out, tty_err;
	bool color_out, color_err;             /* each for itself; "cli/frame/print.h" has the colours */
	enum format format;                    /* from -o, NANOPOD_OUTPUT or a file; one that the command has */
	const struct command *running;         /* with these options */
	const struct options *typed;
	const char *account;                   /* --account of a command with COMMAND_ACCOUNT; NULL: one's own */
	const char *template;                  /* --template; NULL: none */
	struct reshape *shape;                 /* "cli/frame/reshape.h"; what makes YAML of the output, or NULL */
	bool errors_json;                      /* -o json or jsonl: errors come as one JSON object */
	int verbose;                           /* how many -v */
	int depth;                             /* nested command_run() calls: 2 in the shell */
	int64_t market_now;                    /* the Date of the market's last answer; 0: none; command_now() */
	struct nodes *nodes; /* "cli/nodes/node.h"; the nodes that the market listed; NULL: not asked yet */
	bool nodes_kept;     /* the market is away and a note said so: nodes, if any, are those that it told last */
	struct hostbook *hostbook; /* "cli/inventory/hostbook.h"; what --inventory named; NULL: nothing */
	bool hostbook_own;         /* this command's own --inventory, not that of the shell around it */
	int select_failed;   /* cli/remote/select.c: a status, after it said why a group cannot be used */
	char *ssh_lines;     /* lines of ssh_config that count before all files; NULL: none */
	void *shell;                           /* cmd/shell.c's own, NULL outside of it: connections that stay warm */
};

/* ---- A command ------------------------------------------------------------------------- */

struct example {
	const char *line; /* "nanopod run -w 'n[1-64]' -- uptime" */
	const char *what; /* "run uptime on 64 hosts" */
};

enum command_flags {
	COMMAND_STOP = 1,        /* options end at the first positional: the rest is another program's */
	COMMAND_HIDDEN = 2,      /* not in help nor in completion */
	COMMAND_NO_SETTINGS = 4, /* reads no settings file: works where they are broken */
	COMMAND_ROWS = 8,        /* prints rows: gets -q and --fields (cli/frame/rows.h) */
	COMMAND_LENIENT = 32,    /* runs with broken settings too; np->settings_fail says why they are */
	COMMAND_CONNECT = 16,    /* connects: gets --user --port --identity --jump --ssh-config … (settings) */
	COMMAND_MORE = 128,      /* the short page shows only its name */
	COMMAND_NODES = 256,     /* takes nodes of the market among its hosts: gets --url */
	COMMAND_STREAM = 512,    /* prints while things happen: YAML and templates come line by line */
	COMMAND_DROPIN = 1024,   /* argv[0] may name it: cli/dropin/ */
	COMMAND_MARKET = 64,     /* asks the market: gets --url and --explain (cli/trade/market_link.h) */
	COMMAND_ACCOUNT = 2048,  /* what it shows is an account's: gets --account, for operators; with COMMAND_MARKET */
};

/* After the words "host add" the next positional completes to this; the last row whose words fit counts. */
struct completion {
	const char *after; /* at most two words; { 0 } ends the list */
	enum complete complete;
	const char *values; /* of COMPLETE_VALUES, or beside accounts: "a|b|c" */
	bool more;          /* so do all that follow */
};

struct command {
	const char *name;
	const char *const *aliases;        /* ends with NULL; NULL where there are none */
	const char *args; /* what follows "nanopod NAME [options] " in the usage line; NULL, "": nothing */
	const char *summary;               /* one line with a verb, no full stop: "List nodes" */
	const struct example *examples;    /* ends with { 0 }; help leads with them */
	const char *description;           /* paragraphs separated by an empty line; help fills the lines */
	const char *positional;            /* what the words are: "HOSTS  names or ranges\nCOMMAND  …"; or NULL */
	const struct option *options;      /* its own, ends with { 0 }; the shared ones come by flags */
	const char *formats;               /* "table|wide|json": then it has -o; NULL: it has none */
	unsigned flags;
	int min_args, max_args;            /* of positionals; max -1: any number */
	enum complete complete_first, complete_rest; /* what positionals complete to */
	const char *first_values;                    /* of COMPLETE_VALUES, or beside commands: "a|b|c" */
	const struct completion *completions;        /* what they complete to after certain others, or NULL */
	int (*run)(struct nanopod *np, const struct options *o); /* an enum status, or a remote status */
};

/* By name or alias; NULL: no such command. */
const struct command *command_find(const struct nanopod *np, const char *name);

/* The command with the nearest name; NULL: none is near. */
const struct command *command_nearest(const struct nanopod *np, const char *name);

/* The option's values, which for -o are the command's formats. NULL: any. */
const char *command_values(const struct command *cmd, const struct option *row);

/*
 * The option tables that a command takes: its own, then the shared ones by its flags, ends with
 * NULL. cmd NULL: what may stand before the command's name.
 */
enum { COMMAND_TABLES = 10 };
void command_tables(const struct command *cmd, const struct option *tables[COMMAND_TABLES]);

/* The options of COMMAND_CONNECT. */
const struct option *command_connection(void);

/* "nanopod run [options] …" without a newline; free() it. */
char *command_usage(const struct command *cmd);

/*
 * Finds the command argv[0], parses the rest, lays the flags over the settings, runs it, flushes and checks
 * np->out, and removes the flags again. Prints what is wrong; returns the exit status. main() and the shell
 * call it. It is in dispatch.c, above everything that it prints with.
 */
int command_run(struct nanopod *np, int argc, char **argv);

/* What time it is, in Unix seconds: the market's where it answered, else this machine's. */
int64_t command_now(const struct nanopod *np);

/* Says "out of memory" and exits with STATUS_FAILURE. Only cli/ may give up so. */
_Noreturn void command_nomem(void);

#endif
