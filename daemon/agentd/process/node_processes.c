/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/process/node_processes.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentd/os/proctree.h"
#include "base/str.h"

enum { WORDS_MAX = 16 * 1024 };

static const char mark_name[] = "NANOPOD_NODE=";

void process_mark(const struct node_spec *n, char *room, size_t size)
{
	snprintf(room, size, "%s-%s", n->setup->prefix, n->id);
}

struct search {
	const char *dir, *want;
	int sig;
	unsigned n;
};

static bool node_processes_is_first(const char *words, size_t len)
{
	const char *base = strrchr(words, '/');

	return len && strcmp(base ? base + 1 : words, "nanopod-node") == 0;
}

static void node_processes_look_first(void *arg, pid_t pid)
{
	struct search *s = arg;
	char words[WORDS_MAX];
	size_t len = process_read(pid, "cmdline", words, sizeof words);
	const char *dir = node_processes_is_first(words, len) ? process_after(words, len, "--node") : NULL;

	if (dir && strcmp(dir, s->dir) == 0) {
		s->n++;
		if (s->sig)
			kill(pid, s->sig);
	}
}

unsigned process_first(const struct node_spec *n, int sig)
{
	struct search s = { .dir = n->dir, .sig = sig };

	process_each(node_processes_look_first, &s);
	return s.n;
}

static void node_processes_look_marked(void *arg, pid_t pid)
{
	struct search *s = arg;
	char words[WORDS_MAX];
	size_t len = process_read(pid, "environ", words, sizeof words);

	if (process_has(words, len, s->want)) {
		s->n++;
		if (s->sig)
			kill(pid, s->sig);
	}
}

unsigned process_marked(const struct node_spec *n, int sig)
{
	char mark[128], want[160];
	struct search s = { .want = want, .sig = sig };

	process_mark(n, mark, sizeof mark);
	snprintf(want, sizeof want, "%s%s", mark_name, mark);
	process_each(node_processes_look_marked, &s);
	return s.n;
}

struct listing {
	const struct driver_setup *s;
	void (*found)(void *arg, const char *id);
	void *arg;
};

static void node_processes_look_any(void *arg, pid_t pid)
{
	struct listing *l = arg;
	char words[WORDS_MAX], nodes[PATH_MAX], mark[64];
	size_t len = process_read(pid, "cmdline", words, sizeof words);
	const char *dir = node_processes_is_first(words, len) ? process_after(words, len, "--node") : NULL;

	snprintf(nodes, sizeof nodes, "%s/nodes/", l->s->data);
	if (dir && str_starts(dir, nodes) && !strchr(dir + strlen(nodes), '/')) {
		l->found(l->arg, dir + strlen(nodes));
		return;
	}
	snprintf(mark, sizeof mark, "%s%s-", mark_name, l->s->prefix);
	len = process_read(pid, "environ", words, sizeof words);
	for (const char *p = words; p < words + len; p += strlen(p) + 1)
		if (str_starts(p, mark) && p[strlen(mark)] && !strchr(p, '/')) {
			l->found(l->arg, p + strlen(mark));
			return;
		}
}

void process_list(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg)
{
	struct listing l = { .s = s, .found = found, .arg = arg };

	process_each(node_processes_look_any, &l);
}

void process_last_line(const struct node_spec *n, char *room, size_t size)
{
	char path[PATH_MAX], text[1024], *line;
	ssize_t len = 0;
	int fd;

	snprintf(path, sizeof path, "%s/console", n->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		off_t end = lseek(fd, 0, SEEK_END),
		      from = end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0;

		len = pread(fd, text, sizeof text - 1, from);
		close(fd);
	}
	text[len > 0 ? len : 0] = '\0';
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	line = strrchr(text, '\n');
	snprintf(room, size, "%s", line ? line + 1 : len > 0 ? text : "its console is empty");
}
