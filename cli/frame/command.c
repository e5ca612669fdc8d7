/* SPDX-License-Identifier: Apache-2.0 */
/* A command before it runs: its name, its options, its usage line. */
#include "cli/frame/command.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/value.h"

static const struct option common[] = {
	{ "help", 'h', OPTION_FLAG, .help = "show this page", .section = "For every command" },
	{ "verbose", 'v', OPTION_FLAG, .help = "more messages on standard error; -vv: even more",
		.section = "For every command" },
	{ "color", 0, OPTION_OPTIONAL, "WHEN", .help = "colours; alone: always", .values = "auto|always|never",
		.complete = COMPLETE_VALUES, .setting = "color", .implied = "always", .section = "For every command" },
	{ "no-color", 0, OPTION_FLAG, .help = "no colours, as --color=never", .setting = "color", .implied = "never",
		.section = "For every command" },
	{ 0 },
};

static const struct option sources[] = {
	{ "config", 0, OPTION_STRING, "FILE", .help = "read settings from FILE instead of your own and the directory's",
		.complete = COMPLETE_FILE, .section = "For every command" },
	{ "profile", 0, OPTION_STRING, "NAME", .help = "profile of the settings to use", .complete = COMPLETE_PROFILE,
		.section = "For every command" },
	{ 0 },
};

static const struct option outermost[] = {
	{ "version", 'V', OPTION_FLAG, .help = "show the version", .section = "For every command" },
	{ 0 },
};

static const struct option output[] = {
	{ "output", 'o', OPTION_STRING, "FORMAT", .help = "output format",
		.values = "table|wide|json|jsonl|csv|name|yaml|text", .complete = COMPLETE_VALUES, .setting = "output",
		.section = "Output" },
	{ "template", 0, OPTION_STRING, "TEXT",
		.help = "print TEXT for each result; what --fields= lists may stand in braces: 'id: {id}'",
		.section = "Output" },
	{ 0 },
};

static const struct option rows[] = {
	{ "quiet", 'q', OPTION_FLAG, .help = "print names only, one per line", .section = "Output" },
	{ "fields", 0, OPTION_STRING, "LIST", .help = "fields to show, comma-separated; empty: list them",
		.may_lack = true, .section = "Output" },
	{ 0 },
};

static const struct option connect[] = {
	{ "user", 'l', OPTION_STRING, "NAME", .help = "user, for hosts without one", .setting = "user",
		.section = "Connection" },
	{ "port", 'p', OPTION_INT, "N", .min = 1, .max = 65535, .help = "port, for hosts without one",
		.setting = "port", .section = "Connection" },
	{ "identity", 'i', OPTION_LIST, "FILE", .help = "private key to offer; repeatable", .complete = COMPLETE_FILE,
		.setting = "identity", .section = "Connection" },
	{ "jump", 'J', OPTION_STRING, "HOSTS", .help = "jump hosts to go through: a,user@b:22",
		.complete = COMPLETE_HOSTS, .setting = "jump", .section = "Connection" },
	{ "ssh-config", 'F', OPTION_STRING, "FILE",
		.help = "ssh_config(5) file to follow, or none; default: ~/.ssh/config", .complete = COMPLETE_FILE,
		.setting = "ssh-config", .section = "Connection" },
	{ "known-hosts", 0, OPTION_STRING, "FILE",
		.help = "file of known host keys, or none; default: ~/.ssh/known_hosts", .complete = COMPLETE_FILE,
		.setting = "known-hosts", .section = "Connection" },
	{ "host-key", 0, OPTION_ENUM, .values = "ask|strict|accept-new", .help = "what to do about an unknown host key",
		.complete = COMPLETE_VALUES, .setting = "host-key", .section = "Connection" },
	{ "agent", 0, OPTION_STRING, "SOCKET", .help = "socket of the ssh agent, or none; default: SSH_AUTH_SOCK",
		.complete = COMPLETE_FILE, .setting = "agent", .section = "Connection" },
	{ "connect-timeout", 0, OPTION_DURATION, .help = "timeout for reaching a host (default 15s)",
		.setting = "connect-timeout", .section = "Connection" },
	{ "retry", 0, OPTION_INT, "N", .min = 0, .max = 100,
		.help = "how often to retry a connection that fails for a passing reason", .setting = "retry",
		.section = "Connection" },
	{ "keep", 0, OPTION_DURATION, .may_none = true,
		.help = "use connections that earlier commands kept, and keep these as long after their last use",
		.setting = "keep", .section = "Connection" },
	{ "no-keep", 0, OPTION_FLAG, .help = "use no kept connections and keep none, as --keep none", .setting = "keep",
		.implied = "none", .section = "Connection" },
	{ 0 },
};

static const struct option market_url[] = {
	{ "url", 0, OPTION_STRING, "URL", .help = "URL of the market: https://host, or unix:/path for its operator",
		.setting = "url", .section = "Market" },
	{ 0 },
};

static const struct option market[] = {
	{ "explain", 0, OPTION_FLAG, .help = "print the requests instead of sending them", .section = "Market" },
	{ 0 },
};

/* In one table with --explain: a command takes only so many tables. */
static const struct option market_of[] = {
	{ "account", 0, OPTION_STRING, "ACCOUNT", .help = "account to ask about, by name or id; for operators",
		.section = "Market", .complete = COMPLETE_ACCOUNT },
	{ "explain", 0, OPTION_FLAG, .help = "print the requests instead of sending them", .section = "Market" },
	{ 0 },
};

void command_tables(const struct command *cmd, const struct option *tables[COMMAND_TABLES])
{
	size_t n = 0;

	if (cmd && cmd->options)
		tables[n++] = cmd->options;
	if (cmd && cmd->flags & COMMAND_CONNECT)
		tables[n++] = connect;
	if (cmd && cmd->flags & (COMMAND_MARKET | COMMAND_NODES))
		tables[n++] = market_url;
	if (cmd && cmd->flags & COMMAND_MARKET)
		tables[n++] = cmd->flags & COMMAND_ACCOUNT ? market_of : market;
	if (!cmd)
		tables[n++] = outermost;
	if (!cmd || cmd->formats)
		tables[n++] = output;
	if (cmd && cmd->flags & COMMAND_ROWS)
		tables[n++] = rows;
	if (!cmd || !(cmd->flags & COMMAND_NO_SETTINGS))
		tables[n++] = sources;
	tables[n++] = common;
	tables[n] = NULL;
}

const struct option *command_connection(void)
{
	return connect;
}

const char *command_values(const struct command *cmd, const struct option *row)
{
	return cmd && cmd->formats && row->setting && strcmp(row->setting, "output") == 0 ? cmd->formats : row->values;
}

int64_t command_now(const struct nanopod *np)
{
	return np->market_now ? np->market_now : (int64_t)time(NULL);
}

_Noreturn void command_nomem(void)
{
	fputs("nanopod: out of memory\n", stderr);
	exit(STATUS_FAILURE);
}

const struct command *command_find(const struct nanopod *np, const char *name)
{
	for (const struct command *const *cmd = np->commands; *cmd; cmd++) {
		if (strcmp((*cmd)->name, name) == 0)
			return *cmd;
		for (const char *const *alias = (*cmd)->aliases; alias && *alias; alias++)
			if (strcmp(*alias, name) == 0)
				return *cmd;
	}
	return NULL;
}

const struct command *command_nearest(const struct nanopod *np, const char *name)
{
	const struct command *near = NULL;
	size_t far, best = SIZE_MAX;

	for (const struct command *const *cmd = np->commands; *cmd; cmd++) {
		if (!((*cmd)->flags & COMMAND_HIDDEN) && value_near(name, (*cmd)->name, &far) && far < best) {
			best = far;
			near = *cmd;
		}
	}
	return near;
}

char *command_usage(const struct command *cmd)
{
	const char *args = cmd->args ? cmd->args : "";
	char *line;

	if (asprintf(&line, "nanopod %s [options]%s%s", cmd->name, *args ? " " : "", args) < 0)
		command_nomem();
	return line;
}
