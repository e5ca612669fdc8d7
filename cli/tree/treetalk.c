/* SPDX-License-Identifier: Apache-2.0 */
/* The lines to and from treenode.sh. A host may say anything: only what is checked here goes on to other hosts. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/tree/treepart.h"

enum { TALK_LONGEST = 4096, TALK_WORDS = 8, TALK_PAUSE_MS = 1000 };

static const char talk_digits[] = "0123456789";
static const char talk_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

void tree_line(char *room, size_t size, const char *data, size_t len)
{
	const char *end = memchr(data, '\n', len);
	size_t n = end ? (size_t)(end - data) : len;

	n = n < size ? n : size - 1;
	memcpy(room, data, n);
	room[n] = '\0';
}

void tree_say(struct tree_host *h, const char *fmt, ...)
{
	struct buf b;
	va_list ap;

	buf_init(&b, TALK_LONGEST);
	va_start(ap, fmt);
	if (buf_vaddf(&b, fmt, ap) != 0 || buf_addc(&b, '\n') != 0)
		command_nomem();
	va_end(ap);
	if (!h->ended)
		pssh_task_write(h->tree->f->task, h->o->host, b.data, b.len);
	buf_release(&b);
}

void tree_fail(struct tree_host *h, int code, const char *fmt, ...)
{
	va_list ap;

	if (h->text)
		return;
	va_start(ap, fmt);
	if (vasprintf(&h->text, fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	h->code = code;
	feed_stop(h);
	tree_say(h, "end");
	h->tree->dirty = true;
}

static bool talk_only(const char *text, const char *letters, const char *others)
{
	for (; *text; text++)
		if (!strchr(letters, *text) && !strchr(others, *text))
			return false;
	return true;
}

static char *talk_copy(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		command_nomem();
	return copy;
}

/* hello HAVE SAME KEYTYPE KEY ADDRESS FOLDER */
static bool hear_hello(struct tree_host *h, char **w, size_t count)
{
	struct tree_node *n = &h->tree->nodes[h->index];

	if (count != 7 || n->ready || !talk_only(w[1], talk_digits, "") || !talk_only(w[4], talk_letters, "+/=-") ||
		!talk_only(w[5], talk_letters, ".:-") || !talk_only(w[6], talk_letters, "/._-+@%,:") || *w[6] != '/')
		return false;
	if (strcmp(w[3], "ssh-ed25519") == 0) {
		if (asprintf(&h->key, "ssh-ed25519 %s", w[4]) < 0)
			command_nomem();
	} else {
		n->direct = true;
		snprintf(h->why, sizeof h->why, "it has no ssh client");
	}
	h->address = talk_copy(w[5]);
	h->dir = talk_copy(w[6]);
	n->ready = true;
	h->rate_at = h->moved_at = clock_ms();
	if (*w[2] == '1') {
		h->checking_old = n->busy = true;
		tree_say(h, "sum old");
	}
	tree_at(h, strtoull(w[1], NULL, 10));
	h->rate_have = n->have;
	return true;
}

/* No other parent at once: what ails this one may pass. */
static void talk_blame(struct tree_host *h, int parent, const char *why)
{
	tree_blame(&h->tree->nodes[h->index], parent);
	snprintf(h->why, sizeof h->why, "%s", why);
	h->pause_until = clock_ms() + TALK_PAUSE_MS;
}

/* The parent's answer: it accepts the child's key, or cannot. */
static void hear_allowed(struct tree_host *parent, size_t child, bool allowed)
{
	struct tree *t = parent->tree;
	struct tree_host *h = child < t->count ? &t->hosts[child] : NULL;
	struct pssh_host *to = parent->o->host;
	struct tree_node *n;

	if (h && allowed && h->wanted != parent->index && h->opened != parent->index)
		tree_say(parent, "deny %zu", child); /* it answered too late */
	if (!h || h->wanted != parent->index || h->ended || h->text)
		return;
	n = &t->nodes[child];
	h->wanted = TREE_NONE;
	n->busy = false;
	if (!allowed) {
		talk_blame(h, parent->index, "another host cannot write its authorized_keys");
		t->dirty = true;
		return;
	}
	if (h->opened >= 0 && h->opened != parent->index)
		tree_say(&t->hosts[h->opened], "deny %d", h->index);
	h->opened = h->last = n->parent = parent->index;
	h->pulling = false;
	h->moved_at = clock_ms();
	tree_say(h, "pull %d %s %u %s %s", parent->index, pssh_host_address(to), pssh_host_port(to), pssh_host_user(to),
		pssh_host_key(to));
}

/* ended PARENT STATUS TEXT…: this host's ssh to a parent. */
static void hear_ended(struct tree_host *h, char **w, size_t count, const char *rest)
{
	struct tree *t = h->tree;
	struct tree_node *n = &t->nodes[h->index];
	int parent = count > 2 ? (int)strtol(w[1], NULL, 10) : TREE_NONE;

	if (parent < 0 || parent != n->parent || h->stopping)
		return;
	if (h->opened == parent)
		tree_say(&t->hosts[parent], "deny %d", h->index);
	h->opened = TREE_NONE;
	n->parent = TREE_NONE;
	t->dirty = true;
	/* A parent that died is not to blame. */
	if (n->have < t->size && t->nodes[parent].ready)
		talk_blame(h, parent, *rest ? rest : "the connection ended");
}

/* from PARENT HAVE: this host's ssh to a parent begins. */
static void hear_from(struct tree_host *h, char **w)
{
	if (h->stopping || strtol(w[1], NULL, 10) != h->tree->nodes[h->index].parent)
		return;
	h->pulling = true;
	if (strtoull(w[2], NULL, 10) < h->tree->size)
		tree_have(h, strtoull(w[2], NULL, 10));
}

/* stopped HAVE: it takes from nobody. */
static void hear_stopped(struct tree_host *h, char **w)
{
	struct tree *t = h->tree;
	struct tree_node *n = &t->nodes[h->index];

	if (!h->stopping)
		return;
	h->stopping = n->busy = false;
	if (h->opened >= 0)
		tree_say(&t->hosts[h->opened], "deny %d", h->index);
	h->opened = n->parent = TREE_NONE;
	t->dirty = true;
	tree_at(h, strtoull(w[1], NULL, 10));
}

static void hear_sum(struct tree_host *h, char **w, size_t count)
{
	if (count != 3 || strlen(w[2]) >= sizeof h->sum)
		return;
	snprintf(h->sum, sizeof h->sum, "%s", w[2]);
	tree_check(h);
}

/* rest: what follows the first three words. */
static void hear_words(struct tree_host *h, char **w, size_t count, const char *rest)
{
	const char *verb = w[0];

	if (strcmp(verb, "at") == 0 && count == 2)
		tree_at(h, strtoull(w[1], NULL, 10));
	else if (strcmp(verb, "hello") == 0 && !hear_hello(h, w, count))
		tree_fail(h, PSSH_EREMOTE, "the host's shell answers what nanopod does not understand");
	else if (count == 2 && (strcmp(verb, "allowed") == 0 || strcmp(verb, "refused") == 0))
		hear_allowed(h, strtoull(w[1], NULL, 10), *verb == 'a');
	else if (count == 3 && strcmp(verb, "from") == 0)
		hear_from(h, w);
	else if (count == 2 && strcmp(verb, "stopped") == 0)
		hear_stopped(h, w);
	else if (strcmp(verb, "ended") == 0)
		hear_ended(h, w, count, rest);
	else if (strcmp(verb, "sum") == 0)
		hear_sum(h, w, count);
	else if (strcmp(verb, "landed") == 0)
		h->landed = h->tree->dirty = true;
}

static void hear_line(struct tree_host *h, char *line)
{
	char *w[TALK_WORDS] = { 0 }, *whole = talk_copy(line), *save = NULL;
	const char *rest = line;
	size_t count = 0;

	for (char *at = strtok_r(whole, " ", &save); at && count < TALK_WORDS; at = strtok_r(NULL, " ", &save))
		w[count++] = at;
	for (int i = 0; i < 3; i++)
		rest += strcspn(rest, " "), rest += *rest == ' ';
	if (count && strcmp(w[0], "fail") == 0)
		tree_fail(h, PSSH_EREMOTE, "%s", line + 4 + strspn(line + 4, " "));
	else if (count)
		hear_words(h, w, count, rest);
	free(whole);
}

/* Whole lines, as the task's output mode promises. */
void tree_hear(struct tree_host *h, const char *data, size_t len)
{
	char line[TALK_LONGEST];

	while (len) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) + 1 : len;

		tree_line(line, sizeof line, data, n);
		hear_line(h, line);
		data += n;
		len -= n;
	}
}
