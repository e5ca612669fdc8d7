/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of options serves parsing, --help, completion, the check of the man pages and
 * `nanopod help --json`. Abbreviated long names are refused: the next new option would break scripts.
 */
#ifndef CLI_FRAME_OPTION_H
#define CLI_FRAME_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum option_kind {
	OPTION_FLAG,     /* no argument; repeatable (-vv) */
	OPTION_INT,      /* whole number in [min, max] (both 0: any that is not negative) */
	OPTION_SIZE,     /* 64k, 1.5M, 2GiB: powers of 1024; a bare number is bytes */
	OPTION_DURATION, /* 90s, 1d12h, 1.5h; with may_none also "none", which is 0 */
	OPTION_STRING,   /* the last one counts */
	OPTION_LIST,     /* repeatable; each value stays as it is, commas too */
	OPTION_ENUM,     /* one of values */
	OPTION_OPTIONAL, /* --name or --name=VALUE; never takes the next word */
};

enum complete {
	COMPLETE_NONE,
	COMPLETE_VALUES, /* of an OPTION_ENUM */
	COMPLETE_FILE,
	COMPLETE_DIR,
	COMPLETE_HOSTS,     /* settings' groups, ssh_config, known_hosts */
	COMPLETE_HOST_PATH, /* host: or a local file (cp) */
	COMPLETE_GROUP,
	COMPLETE_COMMAND, /* of nanopod */
	COMPLETE_SETTING, /* a key of the settings */
	COMPLETE_PROGRAM, /* a command of the shell (run) */
	COMPLETE_PROFILE,
	COMPLETE_TYPE,    /* of a node; this and the next two from cli/frame/remember.h */
	COMPLETE_ACCOUNT, /* for operators; from remember.h, too */
	COMPLETE_ORDER,
	COMPLETE_RESERVATION,
	COMPLETE_NODE,          /* of the market */
	COMPLETE_HOLDING,       /* a reservation or a node */
	COMPLETE_CLUSTER,       /* that was provisioned from here */
	COMPLETE_STACK,         /* of provision */
	COMPLETE_CLUSTER_STACK, /* that, or a stack */
	COMPLETE_PROVISION,     /* that, a verb of values, or a file */
};

struct option {
	const char *name;       /* "fanout"; { 0 } ends a table */
	char letter;            /* 'f', or 0 */
	enum option_kind kind;
	const char *arg;        /* "N" as help shows it; NULL: by kind */
	const char *fallback;   /* default as text, parsed like a typed value; NULL: none */
	const char *help;       /* lower case, no full stop */
	const char *values;     /* OPTION_ENUM: "a|b|c" */
	enum complete complete;
	long min, max;          /* OPTION_INT */
	bool may_none;          /* OPTION_DURATION, OPTION_INT: "none" is 0 */
	bool may_lack;          /* the argument may be missing at the end or before another option: "" (--fields) */
	bool (*not_arg)(const char *word); /* may_lack: the word after it is no argument; NULL: options alone */
	const char *setting;    /* the setting that it overrides; the command reads the setting, not the option */
	const char *implied;    /* with a setting: what the option means without an argument (--no-color: "never") */
	const char *section;    /* heading in help; NULL: "Options" */
};

struct options;

/*
 * Parses argv[0 … argc-1] (without the command's name) by all tables (ends with NULL). stop: as
 * COMMAND_STOP. Does not copy the words. 0, or -EINVAL with f set.
 */
int option_parse(const struct option *const *tables, bool stop, int argc, char **argv,
	struct options **out, struct fail *f);
void option_free(struct options *o);

/* Positionals. */
int option_argc(const struct options *o);
char **option_argv(const struct options *o);      /* ends with NULL */

/*
 * The positionals from this one on as they were typed, for a command that passes them on: "--" stands where it stood
 * among them (`run -w n1 git checkout -- f`), but not before the first. Ends with NULL.
 */
char **option_words(const struct options *o, int from);

/* How many positionals stood before the first "--", which is none of them; -1 where there was none. */
int option_split(const struct options *o);

/* Was it typed? How often? A name that no table has is a bug, and aborts. */
bool option_given(const struct options *o, const char *name);
size_t option_count(const struct options *o, const char *name);

/* The last value typed, else the default, else NULL / 0. */
const char *option_text(const struct options *o, const char *name);
long option_int(const struct options *o, const char *name);
int64_t option_ms(const struct options *o, const char *name);      /* OPTION_DURATION */
uint64_t option_bytes(const struct options *o, const char *name);  /* OPTION_SIZE */
const char *option_at(const struct options *o, const char *name, size_t i); /* i-th typed, NULL past the end */

/* The i-th option typed, in order, with its text ("" for a flag); false past the end. */
bool option_typed(const struct options *o, size_t i, const struct option **row, const char **text);

/* The option that has this long name or letter in any of the tables; NULL. */
const struct option *option_find(const struct option *const *tables, const char *name, size_t len);
const struct option *option_find_letter(const struct option *const *tables, char letter);

bool option_takes_argument(const struct option *row);
const char *option_arg_name(const struct option *row); /* "N", "SIZE", "a|b" …; NULL for a flag */

#endif
