/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/run/run_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/frame/print.h"
#include "cli/frame/value.h"
#include "cli/remote/select.h"

enum { WATCH_EVERY_MS = 2000 };

const struct option run_options[] = {
	SELECT_OPTIONS,
	{ .name = "failed-from",
		.kind = OPTION_STRING,
		.arg = "DIR|-",
		.complete = COMPLETE_DIR,
		.help = "run only on hosts that failed in a --save DIR, or in 'run -o jsonl' on standard input" },
	{ .name = "gather",
		.letter = 'b',
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "show the output at the end, once for all hosts with the same" },
	{ .name = "diff",
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "like --gather, but show of smaller groups only the difference from the largest" },
	{ .name = "in-order",
		.letter = 'L',
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "print each host's output together, in the order of the hosts" },
	{ .name = "watch",
		.kind = OPTION_OPTIONAL,
		.arg = "DURATION",
		.section = "Output",
		.help = "repeat the command (every 2s without a value) and show its output on one screen; keys change "
			"the view" },
	{ .name = "no-label",
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "print output unchanged, without the hosts' names" },
	{ .name = "quiet",
		.letter = 'q',
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "print no output of the hosts, only failures" },
	{ .name = "save",
		.kind = OPTION_STRING,
		.arg = "DIR",
		.complete = COMPLETE_DIR,
		.section = "Output",
		.help = "keep each host's output in DIR/HOST.stdout, .stderr and .status" },
	{ .name = "become",
		.kind = OPTION_FLAG,
		.section = "Input",
		.help = "run the command as root by sudo; asks for a password once, where a host wants one" },
	{ .name = "become-user",
		.kind = OPTION_STRING,
		.arg = "USER",
		.section = "Input",
		.help = "the same as another user" },
	{ .name = "become-password-file",
		.kind = OPTION_STRING,
		.arg = "FILE",
		.complete = COMPLETE_FILE,
		.section = "Input",
		.help = "read sudo's password from this file, which you alone may read, or from a pipe" },
	{ .name = "env",
		.kind = OPTION_LIST,
		.arg = "NAME[=VALUE]",
		.section = "Input",
		.help = "set a variable for the command, without VALUE as it is here; repeatable" },
	{ .name = "stdin",
		.kind = OPTION_FLAG,
		.section = "Input",
		.help = "send standard input to the command on every host" },
	{ .name = "script",
		.letter = 's',
		.kind = OPTION_STRING,
		.arg = "FILE",
		.complete = COMPLETE_FILE,
		.section = "Input",
		.help = "run this local script; the words are its arguments" },
	{ .name = "tty",
		.letter = 't',
		.kind = OPTION_FLAG,
		.section = "Input",
		.help = "run the command in a terminal" },
	{ .name = "fanout",
		.letter = 'f',
		.kind = OPTION_INT,
		.arg = "N",
		.min = 1,
		.max = 65536,
		.setting = "fanout",
		.help = "run on N hosts at a time (default: on all, opening 128 connections at a time)" },
	{ .name = "pick",
		.kind = OPTION_INT,
		.arg = "N",
		.min = 1,
		.max = 1000000,
		.help = "run on N of the hosts, at random, and say which" },
	{ .name = "dry-run",
		.kind = OPTION_FLAG,
		.help = "print the hosts and each one's command, and connect to none" },
	{ .name = "batch",
		.kind = OPTION_STRING,
		.arg = "N|N%",
		.help = "run on so many hosts, then on the next ones once all of these ended" },
	{ .name = "pause", .kind = OPTION_DURATION, .help = "with --batch: wait so long before the next batch" },
	{ .name = "max-fail",
		.kind = OPTION_STRING,
		.arg = "N|N%",
		.help = "begin on no further host once more than N failed (0: one)" },
	{ .name = "timeout",
		.kind = OPTION_DURATION,
		.may_none = true,
		.setting = "timeout",
		.help = "timeout for the command on each host" },
	{ .name = "via",
		.kind = OPTION_LIST,
		.arg = "GATEWAYS",
		.complete = COMPLETE_HOSTS,
		.help = "let these hosts connect to the others, each to an even share; repeatable" },
	{ .name = "forward-agent",
		.letter = 'A',
		.kind = OPTION_FLAG,
		.help = "forward the local agent to the hosts; with --via to the gateways alone" },
	{ .name = "largest",
		.letter = 'S',
		.kind = OPTION_FLAG,
		.help = "exit with the largest exit status of all hosts" },
	{ 0 },
};

const struct example run_examples[] = {
	{ "nanopod run -w 'n[1-64]' -- uptime", "on 64 hosts at once, each line with its host's name" },
	{ "nanopod run -w 'n[1-64]' -b -- uname -r", "hosts with the same output are shown once" },
	{ "nanopod run -r train -- nvidia-smi", "on every node of a reservation" },
	{ "nanopod run -w @gpu --diff -- cat /etc/hosts", "only what differs from most hosts" },
	{ "nanopod run -w 'n[1-64]' -f 1 -- systemctl restart web", "one host after the other" },
	{ "nanopod run -w 'n[1-64]' --batch 25% --pause 30s --max-fail 2 -- ./deploy",
		"a quarter at a time, and no further once 3 failed" },
	{ "nanopod run -w 'n[1-64]' --become -- apt-get -y upgrade", "as root, by sudo" },
	{ "nanopod run -w 'n[1-9]' --script setup.sh -- --fast", "a local script, with an argument" },
	{ "nanopod run -w 'n[1-9]' -- 'cp /srv/{host}.conf /etc/app.conf'", "each host with its own name" },
	{ "tar c etc | nanopod run -w 'n[1-9]' --stdin -- tar x -C /", "standard input for every host" },
	{ "nanopod run -w 'n[1-64]' --save out -- make check", "keep each host's output in out/" },
	{ "nanopod run --via 'gw[1-8]' -w 'h[1-10000]' -- uptime", "more hosts than one machine can hold" },
	{ "nanopod run -w 'n[1-64]' --watch -- nvidia-smi -L", "again and again, on one screen" },
	{ "nanopod run --failed-from out", "the same command again, only where it failed" },
	{ 0 },
};

int run_options_every(struct nanopod *np, const char *text, int64_t *ms)
{
	struct fail f = { 0 };

	*ms = WATCH_EVERY_MS;
	if (text && *text && value_duration(text, ms, &f) != 0)
		return print_fail_field(np, STATUS_USAGE, "--watch", NULL, "--watch: %s", f.text);
	return STATUS_OK;
}

/* The screen shows all hosts, again and again. */
static int run_check_watch(struct nanopod *np, const struct options *o)
{
	static const char *const others[] = { "stdin", "tty", "via", "save", "batch", "max-fail", "diff", "in-order",
		"no-label", "quiet", "dry-run" };
	char field[16];
	int64_t ms;

	if (!option_given(o, "watch"))
		return STATUS_OK;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (!option_given(o, others[i]))
			continue;
		snprintf(field, sizeof field, "--%s", others[i]);
		return print_fail_field(np, STATUS_USAGE, field, NULL, "--watch and --%s exclude each other",
			others[i]);
	}
	if (np->format == FORMAT_JSON || np->format == FORMAT_JSONL || !np->tty_out)
		return print_fail_field(np, STATUS_USAGE, "--watch", "run the command in a loop of your shell",
			"--watch shows a screen, so standard output has to be a terminal");
	return run_options_every(np, option_text(o, "watch"), &ms);
}

/* "bash", "/bin/sh" */
static bool run_is_shell(const char *word)
{
	static const char *const names[] = { "sh", "bash", "dash", "zsh", "ksh" };
	const char *slash = strrchr(word, '/');

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(slash ? slash + 1 : word, names[i]) == 0)
			return true;
	return false;
}

void run_options_warn_shell(struct nanopod *np, char *const *words)
{
	static const char quotes[] = "'\"";
	size_t i = 0;

	while (words[i] && (strcmp(words[i], "sudo") == 0 || strcmp(words[i], "exec") == 0))
		i++;
	if (!words[i] || !words[i + 1] || !words[i + 2] || !run_is_shell(words[i]) || *words[i + 1] != '-' ||
		words[i + 1][strlen(words[i + 1]) - 1] != 'c' || strchr(quotes, *words[i + 2]) ||
		!strpbrk(words[i + 2], " \t\n"))
		return;
	print_warn(np,
		"words are joined by spaces, so '%.60s %.20s' there runs only '%.*s'; leave out '%.60s %.20s', or "
		"quote "
		"all of it as one word: -- \"%.60s %.20s '…'\"",
		words[i], words[i + 1], (int)strcspn(words[i + 2], " \t\n"), words[i + 2], words[i], words[i + 1],
		words[i], words[i + 1]);
}

bool run_options_become(const struct options *o)
{
	return option_given(o, "become") || option_given(o, "become-user");
}

/* sudo's password and the command share the channel, so nothing else may be in it. */
static int run_check_become(struct nanopod *np, const struct options *o)
{
	static const struct {
		const char *other, *hint;
	} rows[] = {
		{ "stdin", "copy the data with 'nanopod cp' first" },
		{ "tty", "'nanopod ssh -t HOST sudo COMMAND' has a terminal" },
		{ "via", NULL },
	};
	char field[16];

	if (option_given(o, "become-password-file") && !run_options_become(o))
		return print_fail_field(np, STATUS_USAGE, "--become-password-file", "add --become",
			"without --become nothing asks for a password");
	for (size_t i = 0; run_options_become(o) && i < sizeof rows / sizeof *rows; i++) {
		if (!option_given(o, rows[i].other))
			continue;
		snprintf(field, sizeof field, "--%s", rows[i].other);
		return print_fail_field(np, STATUS_USAGE, field, rows[i].hint, "--become and --%s exclude each other",
			rows[i].other);
	}
	return STATUS_OK;
}

int run_options_check(struct nanopod *np, const struct options *o)
{
	const char *from = option_text(o, "failed-from");
	bool names = select_uses_stdin(o) || (from && strcmp(from, "-") == 0);
	bool gather = option_given(o, "gather") || option_given(o, "diff");
	int status;

	if (option_given(o, "stdin") && names)
		return print_fail_field(np, STATUS_USAGE, "--stdin", "put the hosts into a file for --hosts-file",
			"standard input cannot hold both the hosts and the commands' input");
	if (from && select_given(o))
		return print_fail_field(np, STATUS_USAGE, "--failed-from", "use --exclude to leave hosts out",
			"--failed-from names the hosts: leave out --hosts");
	if (gather && (np->format == FORMAT_JSON || np->format == FORMAT_JSONL))
		return print_fail_field(np, STATUS_USAGE, "--gather", NULL,
			"--gather is for people, -o json for programs: choose one");
	if (option_given(o, "in-order") && (gather || np->format == FORMAT_JSON || np->format == FORMAT_JSONL))
		return print_fail_field(np, STATUS_USAGE, "--in-order", NULL,
			"--in-order prints lines: leave out --gather, --diff and -o json");
	if (option_given(o, "tty") && option_given(o, "stdin"))
		return print_fail_field(np, STATUS_USAGE, "--tty", NULL,
			"a command with a terminal cannot read --stdin");
	if (option_given(o, "via") && option_given(o, "stdin"))
		return print_fail_field(np, STATUS_USAGE, "--via", "'--script FILE' sends a script through gateways",
			"--stdin does not go through gateways");
	if (option_given(o, "tty") && option_given(o, "script"))
		return print_fail_field(np, STATUS_USAGE, "--tty", "copy the script with 'nanopod cp' and run it there",
			"a script cannot be sent through a terminal");
	if (option_given(o, "pause") && !option_given(o, "batch"))
		return print_fail_field(np, STATUS_USAGE, "--pause", "'--batch 1' runs on one host after the other",
			"--pause is between the batches of --batch");
	if (option_given(o, "via") && (option_given(o, "batch") || option_given(o, "max-fail")))
		return print_fail_field(np, STATUS_USAGE, "--via", NULL,
			"--batch and --max-fail do not go through gateways");
	status = run_check_watch(np, o);
	return status ? status : run_check_become(np, o);
}

int run_options_rolling(struct nanopod *np, const struct options *o, struct rolling *out)
{
	static const char *const names[] = { "batch", "max-fail" };
	struct rolling_share *shares[] = { &out->batch, &out->max_fail };
	struct fail f = { 0 };
	char field[16];

	for (int i = 0; i < 2; i++) {
		if (!option_given(o, names[i]) ||
			rolling_share_read(option_text(o, names[i]), i == 1, shares[i], &f) == 0)
			continue;
		snprintf(field, sizeof field, "--%s", names[i]);
		return print_fail_field(np, STATUS_USAGE, field, NULL, "--%s: %s", names[i], f.text);
	}
	out->pause_ms = option_ms(o, "pause");
	return STATUS_OK;
}
