/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shell commands that tests need, without a process. It writes output only as far as the client's
 * window goes, so a client that does not read holds a flood back.
 */
#include "lightshell.h"

#include <libssh/server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

enum { BLOCK = 32000, TURN = 8 * BLOCK, LINE = 80 };

static int begin(struct shell *sh, const char *command)
{
	if (sh->script || sh->fault == FAULT_REFUSE_EXEC)
		return 1;
	sh->kill = sh->fault == FAULT_CLOSE_EXEC;
	sh->script = strdup(command);
	if (!sh->script)
		return 1;
	sh->rest = sh->script;
	sh->state = SHELL_RUN;
	return 0;
}

static int on_exec(ssh_session s, ssh_channel ch, const char *command, void *arg)
{
	(void)s;
	(void)ch;
	return begin(arg, command);
}

static int on_shell(ssh_session s, ssh_channel ch, void *arg)
{
	(void)s;
	(void)ch;
	return begin(arg, "cat");
}

static int on_pty(ssh_session s, ssh_channel ch, const char *term, int x, int y, int px, int py, void *arg)
{
	(void)s, (void)ch, (void)term, (void)x, (void)y, (void)px, (void)py, (void)arg;
	return 0;
}

static int on_env(ssh_session s, ssh_channel ch, const char *name, const char *value, void *arg)
{
	(void)s, (void)ch, (void)name, (void)value, (void)arg;
	return 0;
}

static void on_signal(ssh_session s, ssh_channel ch, const char *name, void *arg)
{
	struct shell *sh = arg;

	(void)s;
	(void)ch;
	if (sh->fault == FAULT_DEAF || sh->state == SHELL_IDLE || sh->state == SHELL_ENDED)
		return;
	snprintf(sh->signal, sizeof sh->signal, "%s", name);
	sh->rest = NULL;
	sh->state = SHELL_RUN;
}

static void on_close(ssh_session s, ssh_channel ch, void *arg)
{
	struct shell *sh = arg;

	(void)s;
	(void)ch;
	sh->closed = true;
}

struct shell *shell_new(ssh_channel ch, struct loop *l, const char *address, enum fault fault)
{
	struct shell *sh = calloc(1, sizeof *sh);

	if (!sh)
		return NULL;
	list_init(&sh->link);
	sh->ch = ch;
	sh->loop = l;
	sh->address = address;
	sh->fault = fault;
	sh->cb.userdata = sh;
	if (fault != FAULT_HANG_EXEC) {
		sh->cb.channel_exec_request_function = on_exec;
		sh->cb.channel_shell_request_function = on_shell;
	}
	sh->cb.channel_pty_request_function = on_pty;
	sh->cb.channel_env_request_function = on_env;
	sh->cb.channel_signal_function = on_signal;
	sh->cb.channel_close_function = on_close;
	ssh_callbacks_init(&sh->cb);
	if (ssh_set_channel_callbacks(ch, &sh->cb) != SSH_OK) {
		free(sh);
		return NULL;
	}
	return sh;
}

void shell_free(struct shell *sh)
{
	list_remove(&sh->link);
	loop_timer_clear(sh->loop, &sh->timer);
	ssh_remove_channel_callbacks(sh->ch, &sh->cb);
	ssh_channel_free(sh->ch);
	ssh_channel_free(sh->agent);
	free(sh->script);
	free(sh->text);
	free(sh);
}

/* How many bytes the client took; 0: its window is full. */
static size_t put(struct shell *sh, const char *data, size_t n)
{
	uint32_t window = ssh_channel_window_size(sh->ch);
	int rc;

	if (n > window)
		n = window;
	if (!n)
		return 0;
	rc = sh->err ? ssh_channel_write_stderr(sh->ch, data, (uint32_t)n)
		: ssh_channel_write(sh->ch, data, (uint32_t)n);
	return rc > 0 ? (size_t)rc : 0;
}

/* Fills a block with lines of LINE bytes, continuing where the last block stopped. */
static void fill(struct shell *sh)
{
	static char lines[BLOCK + LINE];
	size_t turn = 0;

	if (!lines[0])
		for (size_t i = 0; i < sizeof lines; i++)
			lines[i] = i % LINE == LINE - 1 ? '\n' : (char)('a' + i % LINE % 26);
	while (sh->left != 0 && turn < TURN) {
		size_t n = sh->left < 0 || sh->left > BLOCK ? BLOCK : (size_t)sh->left;

		n = put(sh, lines + sh->column, n);
		if (!n)
			return;
		turn += n;
		sh->column = (sh->column + (long long)n) % LINE;
		if (sh->left > 0)
			sh->left -= (long long)n;
	}
	if (sh->left == 0)
		sh->state = SHELL_RUN;
}

/* Copies input to output, no more than the client's window takes. True: there may be more. */
static bool cat(struct shell *sh)
{
	char block[BLOCK];
	size_t turn = 0;

	while (turn < TURN) {
		uint32_t n = ssh_channel_window_size(sh->ch);
		int got;

		if (n > sizeof block)
			n = sizeof block;
		got = n ? ssh_channel_read_nonblocking(sh->ch, block, n, 0) : 0;
		if (got <= 0)
			break;
		turn += put(sh, block, (size_t)got);
	}
	if (turn == 0 && ssh_channel_is_eof(sh->ch) && ssh_channel_poll(sh->ch, 0) <= 0)
		sh->state = SHELL_RUN;
	return turn >= TURN;
}

static void say(struct shell *sh, const char *text, const char *tail)
{
	size_t cap = strlen(text) + strlen(tail) + 1;
	char *s = realloc(sh->text, sh->text_len + cap);

	if (!s)
		return;
	sh->text = s;
	sh->text_len += (size_t)snprintf(s + sh->text_len, cap, "%s%s", text, tail);
}

/* True once the client has answered. */
static bool agent(struct shell *sh)
{
	int rc = sh->agent ? ssh_channel_open_auth_agent(sh->agent) : SSH_ERROR;

	if (rc == SSH_AGAIN)
		return false;
	say(sh, rc == SSH_OK ? "opened" : "refused", "\n");
	sh->state = SHELL_RUN;
	return true;
}

static void fill_begin(struct shell *sh, const char *arg, bool err)
{
	long n = 0;

	sh->err = err;
	sh->left = arg && str_to_long(arg, 0, __LONG_MAX__, &n) == 0 ? n : -1;
	sh->state = SHELL_FILL;
}

static void run(struct shell *sh, const char *name, const char *arg)
{
	long n = 0;

	sh->status = 0;
	sh->err = false;
	if (strcmp(name, "true") == 0 || !*name) {
		return;
	} else if (strcmp(name, "false") == 0) {
		sh->status = 1;
	} else if (strcmp(name, "exit") == 0) {
		if (*arg && str_to_long(arg, 0, 255, &n) != 0)
			n = 2;
		sh->status = (int)n;
		sh->rest = NULL;
	} else if (strcmp(name, "echo") == 0) {
		say(sh, arg, "\n");
	} else if (strcmp(name, "hostname") == 0) {
		say(sh, sh->address, "\n");
	} else if (strcmp(name, "cat") == 0) {
		sh->state = SHELL_CAT;
	} else if (strcmp(name, "agent") == 0) {
		sh->agent = sh->agent ? sh->agent : ssh_channel_new(ssh_channel_get_session(sh->ch));
		sh->state = SHELL_AGENT;
	} else if (strcmp(name, "hang") == 0) {
		sh->state = SHELL_HANG;
	} else if (strcmp(name, "sleep") == 0 && str_to_long(arg, 0, 86400, &n) == 0) {
		sh->woken = false;
		if (loop_timer_set(sh->loop, &sh->timer, clock_ms() + n * 1000) == 0)
			sh->state = SHELL_SLEEP;
	} else if (strcmp(name, "yes-bytes") == 0 || strcmp(name, "yes-stderr") == 0) {
		fill_begin(sh, arg, name[4] == 's');
	} else if (strcmp(name, "flood") == 0 || strcmp(name, "flood-stderr") == 0) {
		fill_begin(sh, NULL, name[5] == '-');
	} else if (strcmp(name, "signal") == 0) {
		snprintf(sh->signal, sizeof sh->signal, "%s", arg);
		sh->rest = NULL;
	} else {
		sh->err = true;
		say(sh, name, ": not found\n");
		sh->status = 127;
	}
}

/* Starts the next command of the script. */
static void next(struct shell *sh)
{
	char *line = strsep(&sh->rest, ";"), *end, *arg;
	bool err = false;

	line += strspn(line, " \t\n");
	end = line + strlen(line);
	while (end > line && strchr(" \t\n", end[-1]))
		*--end = '\0';
	if (end - line > 3 && strcmp(end - 3, ">&2") == 0) {
		err = true;
		for (end -= 3; end > line && end[-1] == ' '; end--)
			;
		*end = '\0';
	}
	arg = line + strcspn(line, " \t");
	if (*arg) {
		*arg++ = '\0';
		arg += strspn(arg, " \t");
	}
	run(sh, line, arg);
	sh->err |= err;
}

static void finish(struct shell *sh)
{
	sh->state = SHELL_ENDED;
	if (sh->fault == FAULT_CLOSE_RUN) {
		sh->kill = true;
		return;
	}
	if (sh->fault != FAULT_NO_EXIT_STATUS) {
		if (*sh->signal)
			ssh_channel_request_send_exit_signal(sh->ch, sh->signal, 0, "", "");
		else
			ssh_channel_request_send_exit_status(sh->ch, sh->status);
	}
	ssh_channel_send_eof(sh->ch);
	if (sh->fault != FAULT_NO_CLOSE)
		ssh_channel_close(sh->ch);
}

static void drain_text(struct shell *sh)
{
	size_t n = put(sh, sh->text, sh->text_len);

	sh->text_len -= n;
	memmove(sh->text, sh->text + n, sh->text_len);
}

bool shell_hungry(const struct shell *sh)
{
	if (sh->closed || sh->kill || sh->state == SHELL_RUN)
		return true;
	if (!ssh_channel_window_size(sh->ch))
		return false;
	return sh->text_len || sh->state == SHELL_FILL || (sh->state == SHELL_CAT && ssh_channel_poll(sh->ch, 0) != 0);
}

enum shell_step shell_step(struct shell *sh)
{
	bool more;

	for (;;) {
		if (sh->closed)
			return SHELL_GONE;
		if (sh->kill)
			return SHELL_KILL;
		if (sh->text_len) {
			drain_text(sh);
			if (sh->text_len)
				return ssh_channel_window_size(sh->ch) ? SHELL_WRITES : SHELL_WAITS;
			continue;
		}
		switch (sh->state) {
		case SHELL_RUN:
			if (sh->rest)
				next(sh);
			else
				finish(sh);
			continue;
		case SHELL_FILL:
			fill(sh);
			if (sh->state == SHELL_FILL)
				return ssh_channel_window_size(sh->ch) ? SHELL_WRITES : SHELL_WAITS;
			continue;
		case SHELL_CAT:
			more = cat(sh);
			if (sh->state == SHELL_CAT)
				return more ? SHELL_WRITES : SHELL_WAITS;
			continue;
		case SHELL_SLEEP:
			if (!sh->woken)
				return SHELL_WAITS;
			sh->state = SHELL_RUN;
			continue;
		case SHELL_AGENT:
			if (agent(sh))
				continue;
			return SHELL_WAITS;
		case SHELL_IDLE:
		case SHELL_HANG:
		case SHELL_ENDED:
			return SHELL_WAITS;
		}
	}
}
