/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/proctree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

enum { TREE_MAX = 32768 };

void process_each(void (*seen)(void *arg, pid_t pid), void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	long pid;

	while (d && (e = readdir(d)))
		if (str_to_long(e->d_name, 1, 1L << 30, &pid) == 0 && pid != getpid())
			seen(arg, (pid_t)pid);
	if (d)
		closedir(d);
}

size_t process_read(pid_t pid, const char *what, char *room, size_t size)
{
	char path[64];
	size_t len = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && len < size - 1 && (n = read(fd, room + len, size - 1 - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		close(fd);
	room[len] = '\0';
	return len;
}

const char *process_after(const char *words, size_t len, const char *word)
{
	for (const char *p = words; p < words + len; p += strlen(p) + 1)
		if (strcmp(p, word) == 0)
			return p + strlen(p) + 1 < words + len ? p + strlen(p) + 1 : "";
	return NULL;
}

bool process_has(const char *words, size_t len, const char *word)
{
	return process_after(words, len, word) != NULL;
}

/* ---- Descendants ------------------------------------------------------------------------------------ */

struct tree {
	pid_t root;
	unsigned long long since;
	size_t n;
	struct { pid_t pid, parent; bool below; } all[TREE_MAX];
};

/* A process' parent and its start time (field 22 of "stat"); -1 where it has ended. */
static pid_t parent_of(pid_t pid, unsigned long long *began)
{
	char text[1024];
	const char *end;
	char state;
	int parent;

	if (!process_read(pid, "stat", text, sizeof text))
		return -1;
	end = strrchr(text, ')');
	return end && sscanf(end + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
		&state, &parent, began) == 3 && state != 'Z' ? parent : -1;
}

static void proctree_add(void *arg, pid_t pid)
{
	struct tree *t = arg;
	unsigned long long began = 0;
	pid_t parent = parent_of(pid, &began);

	if (parent > 0 && t->n < TREE_MAX) {
		t->all[t->n].pid = pid;
		t->all[t->n].parent = parent;
		t->all[t->n++].below = parent == t->root && began >= t->since;
	}
}

static bool is_below(const struct tree *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->all[i].pid == pid)
			return t->all[i].below;
	return false;
}

unsigned process_signal_from(pid_t root, unsigned long long since, int sig)
{
	struct tree *t = calloc(1, sizeof *t);
	unsigned n = 0;

	if (!t)
		return 0;
	t->root = root;
	t->since = since;
	process_each(proctree_add, t);
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < t->n; i++)
			if (!t->all[i].below && is_below(t, t->all[i].parent))
				more = t->all[i].below = true;
	}
	for (size_t i = 0; i < t->n; i++)
		if (t->all[i].below && ++n)
			kill(t->all[i].pid, sig);
	free(t);
	return n;
}

unsigned process_signal_below(int sig)
{
	return process_signal_from(getpid(), 0, sig);
}
