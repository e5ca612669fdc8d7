/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that asks the same as another one before gets the same answer, without asking the person. Where the
 * same host asks again the answer was wrong, and the person is asked again.
 */
#include "cli/frame/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/str.h"
#include "base/table.h"
#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "cli/frame/terminal.h"

enum { ANSWER_MAX = 4096 };

struct question {
	struct list link;
	uint64_t id;
	char *key;       /* the text without the host's name */
	char *text;
	bool echo;
};

struct answer {
	char *text;      /* NULL: declined */
	uint64_t given;  /* how many answers came before it: the newest counts */
};

struct prompt {
	struct nanopod *np;
	int tty;
	struct list waiting;   /* the first is open where `open` */
	bool open;
	struct table answers;  /* key -> struct answer */
	struct table asked;    /* "host\nkey" -> number of the answer that it got */
	uint64_t given;
	struct buf typed;
};

int prompt_new(struct nanopod *np, struct prompt **out)
{
	struct prompt *p = calloc(1, sizeof *p);

	if (!p)
		return -ENOMEM;
	p->np = np;
	p->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	list_init(&p->waiting);
	table_init(&p->answers);
	table_init(&p->asked);
	buf_init(&p->typed, ANSWER_MAX);
	/* All room at once: growing would leave copies of a password in freed memory. */
	if (buf_reserve(&p->typed, ANSWER_MAX - 1) != 0) {
		prompt_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

static void answer_free(struct answer *a)
{
	if (a && a->text)
		explicit_bzero(a->text, strlen(a->text));
	if (a)
		free(a->text);
	free(a);
}

static void question_free(struct question *q)
{
	list_remove(&q->link);
	free(q->key);
	free(q->text);
	free(q);
}

static void forget_typed(struct prompt *p)
{
	if (p->typed.data)
		explicit_bzero(p->typed.data, p->typed.cap);
	buf_clear(&p->typed);
}

void prompt_free(struct prompt *p)
{
	size_t at = 0;
	void *value;

	if (!p)
		return;
	if (p->open)
		terminal_restore();
	while (!list_empty(&p->waiting))
		question_free(list_entry(list_first(&p->waiting), struct question, link));
	while (table_next(&p->answers, &at, NULL, &value))
		answer_free(value);
	table_release(&p->answers);
	table_release(&p->asked);
	forget_typed(p);
	buf_release(&p->typed);
	if (p->tty >= 0)
		close(p->tty);
	free(p);
}

bool prompt_possible(const struct prompt *p)
{
	return p->tty >= 0;
}

static void prompt_tell(const struct prompt *p, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t n = write(p->tty, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		left -= (size_t)n;
	}
}

/* Replaces the host's names by '*', so that the same question of many hosts is the same text. */
static char *prompt_key_of(const struct pssh_event *ev)
{
	const char *names[2] = { ev->host ? pssh_host_name(ev->host) : "",
		ev->host ? pssh_host_address(ev->host) : "" };
	struct buf b;

	buf_init(&b, 65536);
	for (const char *s = ev->text; *s;) {
		size_t n = 0;

		for (int i = 0; i < 2 && !n; i++)
			if (names[i] && *names[i] && str_starts(s, names[i]))
				n = strlen(names[i]);
		if (n ? buf_addc(&b, '*') : buf_addc(&b, *s))
			break;
		s += n ? n : 1;
	}
	return buf_steal(&b);
}

/* Copies a host's text without control characters, which could control the terminal. */
static char *prompt_harmless(const char *text)
{
	char *copy = strdup(text);

	for (char *s = copy; s && *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t')
			*s = '?';
	return copy;
}

static void ask_next(struct prompt *p)
{
	struct list *first = list_first(&p->waiting);

	if (p->open || !first)
		return;
	p->open = true;
	if (!list_entry(first, struct question, link)->echo)
		terminal_no_echo(p->tty);
	prompt_tell(p, list_entry(first, struct question, link)->text);
}

/* Number of the answer that this host got last for this question; 0: none yet. */
static uint64_t given_before(struct prompt *p, const struct pssh_event *ev, const char *key, uint64_t now)
{
	char *both;
	uint64_t last = 0;

	if (asprintf(&both, "%s\n%s", ev->host ? pssh_host_name(ev->host) : "", key) < 0)
		return 0;
	last = (uint64_t)(uintptr_t)table_get(&p->asked, both);
	if (table_set(&p->asked, both, (void *)(uintptr_t)now) != 0)
		last = 0;
	free(both);
	return last;
}

void prompt_add(struct prompt *p, struct pssh *fleet, const struct pssh_event *ev)
{
	struct question *q = NULL;
	char *key = prompt_key_of(ev);
	struct answer *known = key ? table_get(&p->answers, key) : NULL;
	uint64_t id = ev->prompt;

	if (p->tty < 0 || !key)
		goto decline;
	if (known && given_before(p, ev, key, known->given) != known->given) {
		free(key);
		pssh_answer(fleet, id, known->text);
		return;
	}
	if (!known)
		given_before(p, ev, key, p->given + 1);
	q = calloc(1, sizeof *q);
	if (!q)
		goto decline;
	*q = (struct question){ .id = id, .key = key, .text = prompt_harmless(ev->text), .echo = ev->echo };
	list_init(&q->link);
	if (!q->text) {
		question_free(q);
		key = NULL;
		goto decline;
	}
	list_append(&p->waiting, &q->link);
	ask_next(p);
	return;
decline:
	free(key);
	pssh_answer(fleet, id, NULL);
}

int prompt_fd(const struct prompt *p)
{
	return p->open ? p->tty : -1;
}

const char *prompt_text(const struct prompt *p)
{
	return p->open ? list_entry(list_first(&p->waiting), struct question, link)->text : NULL;
}

void prompt_redraw(const struct prompt *p)
{
	if (p->open)
		prompt_tell(p, prompt_text(p));
}

/* Answers the open question and all waiting ones with the same text. */
static void prompt_settle(struct prompt *p, struct pssh *fleet, const char *text)
{
	struct question *first = list_entry(list_first(&p->waiting), struct question, link);
	struct answer *a = calloc(1, sizeof *a);
	char *key = first->key;
	struct list *at, *tmp;

	first->key = NULL;
	if (!first->echo)
		prompt_tell(p, "\n");
	terminal_restore();
	p->open = false;
	list_each(at, tmp, &p->waiting) {
		struct question *q = list_entry(at, struct question, link);

		if (q != first && strcmp(q->key, key) != 0)
			continue;
		pssh_answer(fleet, q->id, text);
		question_free(q);
	}
	p->given++;
	if (a) {
		*a = (struct answer){ text ? strdup(text) : NULL, p->given };
		answer_free(table_get(&p->answers, key));
		if (table_set(&p->answers, key, a) != 0)
			answer_free(a);
	}
	free(key);
}

void prompt_step(struct prompt *p, struct pssh *fleet)
{
	ssize_t n = read(p->tty, p->typed.data + p->typed.len, ANSWER_MAX - 2 - p->typed.len);
	char *end;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		p->typed.len += (size_t)n;
		p->typed.data[p->typed.len] = '\0';
	}
	end = p->typed.len ? memchr(p->typed.data, '\n', p->typed.len) : NULL;
	if (n > 0 && !end && p->typed.len < ANSWER_MAX - 2)
		return;
	if (end)
		*end = '\0';
	prompt_settle(p, fleet, n > 0 ? p->typed.data : NULL);
	forget_typed(p);
	ask_next(p);
}

void prompt_decline(struct prompt *p, struct pssh *fleet)
{
	while (!list_empty(&p->waiting)) {
		p->open = true;
		prompt_settle(p, fleet, NULL);
	}
	forget_typed(p);
}

bool prompt_yes(struct prompt *p, const char *question, int *signal)
{
	struct pollfd fds[2] = { { .fd = p->tty, .events = POLLIN }, { .fd = signals_fd(), .events = POLLIN } };
	char line[64];
	ssize_t n;

	if (p->tty < 0)
		return false;
	for (;;) {
		prompt_tell(p, question);
		while (poll(fds, 2, -1) < 0 && errno == EINTR)
			;
		if (fds[1].revents && (*signal = signals_next()) == SIGWINCH) {
			*signal = 0;
			question = "";
			continue;
		}
		if (*signal) {
			prompt_tell(p, "\n");
			return false;
		}
		if (!fds[0].revents)
			continue;
		n = read(p->tty, line, sizeof line - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		line[n] = '\0';
		line[strcspn(line, "\r\n")] = '\0';
		if (strcasecmp(line, "yes") == 0 || strcasecmp(line, "y") == 0)
			return true;
		if (strcasecmp(line, "no") == 0 || strcasecmp(line, "n") == 0)
			return false;
		question = "Please type 'yes' or 'no': ";
	}
}

/* One line of the terminal; 0 where a signal came first. */
static ssize_t prompt_read_line(int tty, char *text, size_t most)
{
	struct pollfd fds[2] = { { .fd = tty, .events = POLLIN }, { .fd = signals_fd(), .events = POLLIN } };

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno == EINTR)
			continue;
		if (fds[1].revents && signals_next() != SIGWINCH)
			return 0;
		if (fds[0].revents)
			return read(tty, text, most);
	}
}

static int prompt_ask(const char *question, bool hidden, size_t most, char **out)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	char *text, *end;
	ssize_t n;

	if (tty < 0)
		return -ENOTTY;
	text = calloc(1, most + 1);
	if (!text)
		command_nomem();
	dprintf(tty, "%s", question);
	if (hidden)
		terminal_no_echo(tty);
	n = prompt_read_line(tty, text, most);
	if (hidden)
		terminal_restore();
	if (hidden || n <= 0)
		dprintf(tty, "\n");
	close(tty);
	/* Ctrl-D after some letters ends a line too. */
	end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	if (n > 0 && !end)
		end = text + n;
	if (!end) {
		explicit_bzero(text, most);
		free(text);
		return -EINTR;
	}
	*end = '\0';
	*out = text;
	return 0;
}

int prompt_hidden(const char *question, size_t most, char **out)
{
	return prompt_ask(question, true, most, out);
}

int prompt_shown(const char *question, size_t most, char **out)
{
	return prompt_ask(question, false, most, out);
}

void prompt_hidden_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}
