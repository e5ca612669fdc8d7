/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod shell: runs the same commands line by line over connections that stay open. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/cmd/candidates.h"
#include "cli/remote/connect.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"

enum { LONGEST_LINE = 1 << 20, HISTORY_LINES = 10000, PROMPT_NAMES = 40 };

struct candidates {
	char **words;
	size_t count, room;
};

struct shell {
	struct connect_warm warm; /* first: the connecting commands see np->shell as this */
	struct nanopod *np;
	bool interactive, leave;
	int last;                 /* exit status of the last line */
	char *prompt;
	char *history;            /* its file, or NULL */
	struct candidates candidates;
};

/* Commands of the shell only. */
static const char *const own[] = { "exit", "quit", "select", "-w", "help", "clear" };

/* readline's completion functions take no argument of ours: they find the shell here. */
static struct shell *current;

static const struct option options[] = {
	SELECT_OPTIONS,
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod shell -w 'n[1-64]'", "start with 64 hosts selected" },
	{ "printf 'uptime\\ndf -h /\\n' | nanopod shell -w @web", "read lines from a pipe" },
	{ 0 },
};

/* ---- The selection --------------------------------------------------------------------- */

static void shell_selected(struct shell *sh, const struct pssh_list *hosts)
{
	size_t count = pssh_list_count(hosts);
	const char **names = select_names(hosts);

	free(sh->warm.selection);
	free(sh->prompt);
	sh->warm.selection = NULL;
	sh->prompt = NULL;
	if (count) {
		char *shown = select_fold_names(names, count, PROMPT_NAMES);

		sh->warm.selection = select_fold_names(names, count, 0);
		if (asprintf(&sh->prompt, "nanopod %s> ", shown) < 0)
			command_nomem();
		free(shown);
	} else if (!(sh->prompt = strdup("nanopod> "))) {
		command_nomem();
	}
	free(names);
}

/* "+n5" adds, "-n5" removes, anything else is the new selection. */
static int change_selection(struct shell *sh, int argc, char **argv)
{
	struct pssh_list *hosts;
	bool keep = argc > 1 && (argv[1][0] == '+' || (argv[1][0] == '-' && argv[1][1]));
	int status = select_new(sh->np, &hosts);

	if (argc == 1) {
		fprintf(sh->np->out, "%s\n", sh->warm.selection ? sh->warm.selection : "");
		pssh_list_free(hosts);
		return STATUS_OK;
	}
	if (keep && sh->warm.selection)
		status = select_add(sh->np, hosts, sh->warm.selection);
	for (int i = 1; !status && i < argc; i++) {
		const char *w = argv[i];

		if (strcmp(w, "-") == 0)
			status = print_fail(sh->np, STATUS_USAGE, "'^FILE' reads them from a file",
				"the shell itself reads standard input");
		else if (strcmp(w, "none") == 0)
			continue;
		else if (w[0] == '-')
			status = select_drop(sh->np, hosts, w + 1);
		else
			status = select_add(sh->np, hosts, w[0] == '+' ? w + 1 : w);
	}
	if (!status)
		shell_selected(sh, hosts);
	pssh_list_free(hosts);
	return status;
}

/* ---- Lines ----------------------------------------------------------------------------- */

/*
 * Words as a POSIX shell reads them: blanks, quotes, backslashes; nothing is expanded. 0, or
 * -EINVAL with f. *argv and *room are malloc'd.
 */
static int shell_split(const char *line, int *argc, char ***argv, char **room, struct fail *f)
{
	char **words = calloc(strlen(line) / 2 + 3, sizeof *words), *text = malloc(strlen(line) + 1), *w = text;
	int n = 0;

	if (!words || !text)
		command_nomem();
	for (const char *s = line + strspn(line, " \t"); *s; s += strspn(s, " \t")) {
		char quote = 0;

		words[n++] = w;
		for (; *s && (quote || (*s != ' ' && *s != '\t')); s++) {
			if (quote ? *s == quote : *s == '\'' || *s == '"')
				quote = quote ? 0 : *s;
			else if (*s == '\\' && quote != '\'' && s[1] && (!quote || strchr("\"\\$`", s[1])))
				*w++ = *++s;
			else
				*w++ = *s;
		}
		*w++ = '\0';
		if (quote) {
			free(words);
			free(text);
			return fail_set(f, -EINVAL, "a quote (%c) is not closed", quote);
		}
	}
	*argc = n;
	*argv = words;
	*room = text;
	return 0;
}

static const char help[] =
	"  COMMAND…            run it on the selected hosts (also: run [options] -- COMMAND)\n"
	"  select HOSTS…       choose hosts; +HOSTS adds, -HOSTS removes, none clears (also: -w HOSTS)\n"
	"  hosts, cp, ssh …    nanopod's own commands; 'cp FILE :/dir/' copies to the selected hosts\n"
	"  !COMMAND            run a command on this machine\n"
	"  clear               clear the screen\n"
	"  help [COMMAND]      show this, or the help of a command\n"
	"  exit                end (also: Ctrl-D)\n"
	"To run a host's command with the name of one of nanopod's, type 'run -- NAME'.\n";

static int local_command(struct shell *sh, const char *text)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int status = STATUS_FAILURE;
	pid_t pid;

	fflush(sh->np->out);
	sigaction(SIGINT, &ignore, &before);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &before, NULL);
		signal(SIGPIPE, SIG_DFL);
		execl("/bin/sh", "sh", "-c", text, (char *)NULL);
		_exit(127);
	}
	if (pid > 0) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	sigaction(SIGINT, &before, NULL);
	return status;
}

/* Sends plain text to the hosts unchanged: the remote shell handles quotes and pipes. */
static int on_selection(struct shell *sh, char *line)
{
	char name[] = "run", parted[] = "--", *argv[] = { name, parted, line, NULL };

	return command_run(sh->np, 3, argv);
}

static int shell_words(struct shell *sh, int argc, char **argv)
{
	if (strcmp(argv[0], "exit") == 0 || strcmp(argv[0], "quit") == 0) {
		sh->leave = true;
		return sh->last;
	}
	if (strcmp(argv[0], "select") == 0)
		return change_selection(sh, argc, argv);
	if (strcmp(argv[0], "-w") == 0)
		return change_selection(sh, argc, argv);
	if (strcmp(argv[0], "clear") == 0) {
		if (sh->np->tty_out)
			fputs("\033[H\033[2J", sh->np->out);
		return STATUS_OK;
	}
	if (strcmp(argv[0], "help") == 0 && argc == 1) {
		fputs(help, sh->np->out);
		return STATUS_OK;
	}
	if (strcmp(argv[0], "shell") == 0)
		return print_fail(sh->np, STATUS_USAGE, NULL, "this is already the shell");
	return command_run(sh->np, argc, argv);
}

static bool is_ours(const struct shell *sh, const char *name)
{
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strcmp(own[i], name) == 0)
			return true;
	return command_find(sh->np, name) != NULL;
}

static int do_line(struct shell *sh, char *line)
{
	struct fail f = { 0 };
	char **argv, *room, *first;
	int argc, status;
	size_t n;

	line += strspn(line, " \t");
	n = strlen(line);
	while (n && strchr(" \t\r\n", line[n - 1]))
		line[--n] = '\0';
	if (!n || line[0] == '#')
		return sh->last;
	if (line[0] == '!')
		return local_command(sh, line + 1);
	first = strndup(line, strcspn(line, " \t"));
	if (!first)
		command_nomem();
	if (!is_ours(sh, first)) {
		if (strcmp(first, "cd") == 0 && !strpbrk(line, ";&|"))
			print_note(sh->np, "each line runs in a new shell: write 'cd DIR && COMMAND' on one line");
		free(first);
		return on_selection(sh, line);
	}
	free(first);
	if (shell_split(line, &argc, &argv, &room, &f) != 0)
		return print_fail(sh->np, STATUS_USAGE, NULL, "%s", f.text);
	status = shell_words(sh, argc, argv);
	free(argv);
	free(room);
	return status;
}

/* ---- readline -------------------------------------------------------------------------- */

static void add_candidate(struct candidates *c, const char *word)
{
	if (c->count + 2 > c->room) {
		c->room = c->room * 2 + 16;
		c->words = reallocarray(c->words, c->room, sizeof *c->words);
	}
	if (!c->words || !(c->words[c->count] = strdup(word)))
		command_nomem();
	c->words[++c->count] = NULL;
}

static void shell_found(void *arg, const char *word, const char *text)
{
	(void)text;
	add_candidate(arg, word);
	/* No blank where the word continues. */
	if (*word && strchr(":/=", word[strlen(word) - 1]))
		rl_completion_append_character = '\0';
}

static char *next_candidate(const char *text, int state)
{
	struct candidates *c = &current->candidates;

	(void)text;
	return (size_t)state < c->count ? strdup(c->words[state]) : NULL;
}

static void forget_candidates(struct candidates *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->words[i]);
	free(c->words);
	*c = (struct candidates){ 0 };
}

static void shell_add_own(struct candidates *c, const char *text)
{
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (str_starts(own[i], text))
			add_candidate(c, own[i]);
}

/* The words up to the cursor; the last one is being typed. */
static char **shell_complete(const char *text, int start, int end)
{
	static char hosts[] = "hosts";
	struct candidates *c = &current->candidates;
	char *before = strndup(rl_line_buffer, (size_t)start), **argv, *room;
	enum candidates_rest rest = CANDIDATES_FILES;
	struct fail f;
	int argc;

	(void)end;
	forget_candidates(c);
	rl_attempted_completion_over = 1;
	if (before && shell_split(before, &argc, &argv, &room, &f) == 0) {
		argv[argc] = strdup(text);
		if (!argv[argc])
			command_nomem();
		if (argc == 1 && (strcmp(argv[0], "select") == 0 || strcmp(argv[0], "-w") == 0))
			argv[0] = hosts;
		if (argc == 0)
			shell_add_own(c, text);
		if (argc == 0 || is_ours(current, argv[0]))
			rest = candidates_find(current->np, argv, argc + 1, shell_found, c);
		free(argv[argc]);
		free(argv);
		free(room);
	}
	free(before);
	if (rest == CANDIDATES_FILES || rest == CANDIDATES_DIRS)
		rl_attempted_completion_over = c->count > 0;
	return rl_completion_matches(text, next_candidate);
}

/* Ctrl-C at the prompt starts a new line, as in a shell. */
static int shell_interrupted(void)
{
	if (!signals_next())
		return 0;
	fputs("^C\n", stdout);
	rl_replace_line("", 0);
	rl_on_new_line();
	rl_redisplay();
	return 0;
}

static void make_parents(const char *path)
{
	char *copy = strdup(path);

	for (char *s = copy ? strchr(copy + 1, '/') : NULL; s; s = strchr(s + 1, '/')) {
		*s = '\0';
		mkdir(copy, 0700);
		*s = '/';
	}
	free(copy);
}

/* Commands may contain secrets, so only this user may read the file. */
static void open_history(struct shell *sh)
{
	const char *path = settings_none(sh->np->settings, SETTING_ID_HISTORY)
		? NULL
		: settings_text(sh->np->settings, SETTING_ID_HISTORY);
	int fd;

	using_history();
	stifle_history(HISTORY_LINES);
	if (!path)
		return;
	make_parents(path);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fchmod(fd, 0600) < 0) {
		print_warn(sh->np, "cannot keep the history in '%s': %s", path, strerror(errno));
	} else {
		read_history(path);
		sh->history = strdup(path);
	}
	if (fd >= 0)
		close(fd);
}

static void shell_remember(struct shell *sh, const char *line)
{
	HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1) : NULL;

	/* As in a shell, does not keep a line that begins with a blank or repeats the last one. */
	if (!*line || *line == ' ' || (last && strcmp(last->line, line) == 0))
		return;
	add_history(line);
	if (sh->history && append_history(1, sh->history) == 0)
		history_truncate_file(sh->history, HISTORY_LINES);
}

static void shell_interactive(struct shell *sh)
{
	char *line;

	rl_readline_name = "nanopod";
	rl_attempted_completion_function = shell_complete;
	rl_completer_word_break_characters = " \t";
	rl_completer_quote_characters = "'\"";
	rl_catch_signals = 0;
	rl_event_hook = shell_interrupted;
	open_history(sh);
	fprintf(sh->np->err, "'help' lists what you can type, Ctrl-D ends the shell\n");
	while (!sh->leave && signals_begin() == 0) {
		fflush(sh->np->out);
		line = readline(sh->prompt);
		signals_end();
		if (!line)
			break;
		shell_remember(sh, line);
		sh->last = do_line(sh, line);
		free(line);
	}
	if (!sh->leave)
		fputc('\n', sh->np->err);
	free(sh->history);
}

/* Lines from a pipe or a file. The status is that of the last line that failed. */
static int shell_scripted(struct shell *sh)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int worst = STATUS_OK;

	while (!sh->leave && (n = getline(&line, &room, stdin)) > 0) {
		if (n > LONGEST_LINE) {
			worst = print_fail(sh->np, STATUS_USAGE, NULL, "a line is longer than %d bytes", LONGEST_LINE);
			break;
		}
		sh->last = do_line(sh, line);
		if (sh->last)
			worst = sh->last;
		if (sh->last == STATUS_INT || sh->last == STATUS_TERM || sh->last == STATUS_PIPE)
			break;
	}
	free(line);
	return worst;
}

static int shell_run(struct nanopod *np, const struct options *o)
{
	struct shell sh = { .np = np, .interactive = np->tty_in };
	struct pssh_list *hosts;
	bool given;
	int status = select_new(np, &hosts);

	if (select_uses_stdin(o))
		status = print_fail_field(np, STATUS_USAGE, "--hosts", "'^FILE' reads them from a file",
			"the shell itself reads standard input");
	if (!status)
		status = select_options(np, o, hosts, &given);
	if (!status) {
		shell_selected(&sh, hosts);
		current = &sh;
		np->shell = &sh;
		if (sh.interactive)
			shell_interactive(&sh);
		else
			status = shell_scripted(&sh);
		np->shell = NULL;
		current = NULL;
	}
	for (size_t i = 0; i < sizeof sh.warm.kept / sizeof *sh.warm.kept; i++)
		connect_free(sh.warm.kept[i]);
	forget_candidates(&sh.candidates);
	pssh_list_free(hosts);
	free(sh.warm.selection);
	free(sh.prompt);
	return sh.interactive && !status ? sh.last : status;
}

const struct command cmd_shell = {
	.name = "shell",
	.args = "",
	.summary = "run commands line by line over connections that stay open",
	.examples = examples,
	.description = "A line is a command for the selected hosts, or one of nanopod's own: 'select HOSTS' chooses "
		       "hosts, 'run', 'cp', 'ssh' and 'hosts' are the commands of that name, 'help' lists the rest. "
		       "The prompt shows the selection.\n\nConnections stay open from line to line; lost ones are "
		       "made again. Ctrl-C stops the running command, not the shell. Where standard input is not a "
		       "terminal, it reads lines from there without a prompt, and the exit status is that of the "
		       "last line that failed.",
	.positional = NULL,
	.options = options,
	.formats = NULL,
	.flags = COMMAND_MORE | COMMAND_CONNECT | COMMAND_NODES,
	.min_args = 0,
	.max_args = 0,
	.complete_first = COMPLETE_NONE,
	.complete_rest = COMPLETE_NONE,
	.run = shell_run,
};
