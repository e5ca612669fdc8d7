/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine shows of one setup of a driver: all that carries its prefix or is in its folder. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/proctree.h"
#include "agentd/os/spawn.h"
#include "driverway.h"

enum { WORDS = 64 * 1024, DEEP = 4 };

static void add(struct buf *out, const char *kind, const char *text)
{
	if (buf_addf(out, "%s %s\n", kind, text))
		exit(99);
}

struct looking {
	const struct way *w;
	struct buf *out;
	const char *dir;
	pid_t pid;
	int64_t ms;
};

static bool named(const char *words, size_t len, const char *part)
{
	return memmem(words, len, part, strlen(part)) != NULL;
}

static void process(void *arg, pid_t pid)
{
	struct looking *l = arg;
	char words[WORDS], mark[64];
	size_t len = process_read(pid, "cmdline", words, sizeof words);

	snprintf(mark, sizeof mark, "NANOPOD_NODE=%s-", l->w->prefix);
	if (named(words, len, l->w->data) || named(words, len, l->w->prefix)) {
		for (size_t i = 0; i < len; i++)
			words[i] = words[i] ? words[i] : ' ';
		add(l->out, "process", words);
	} else if (named(words, process_read(pid, "environ", words, sizeof words), mark)) {
		add(l->out, "process marked", mark);
	}
}

static void names_below(const struct way *w, const char *dir, int depth, const char *kind, struct buf *out)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[PATH_MAX];

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (strstr(e->d_name, w->prefix))
			add(out, kind, path);
		else if (depth > 0 && e->d_type == DT_DIR)
			names_below(w, path, depth - 1, kind, out);
	}
	if (d)
		closedir(d);
}

static void lines_with(const struct way *w, const char *text, const char *kind, struct buf *out)
{
	char line[4096];

	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		snprintf(line, sizeof line, "%.*s", (int)strcspn(p, "\n"), p);
		if (strstr(line, w->prefix) || strstr(line, w->data))
			add(out, kind, line);
	}
}

static void said_by(const struct way *w, const char *const argv[], const char *kind, struct buf *out)
{
	struct buf b;

	buf_init(&b, 8 << 20);
	if (spawn_run(&(struct spawn){ .argv = argv }, 60000, &b, NULL) == 0)
		lines_with(w, buf_text(&b), kind, out);
	buf_release(&b);
}

static void files(const struct way *w, struct buf *out)
{
	char path[PATH_MAX / 2], below[PATH_MAX];
	struct dirent *e, *in;
	DIR *d, *node;

	snprintf(path, sizeof path, "%s/nodes", w->data);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		snprintf(below, sizeof below, "%s/%s", path, e->d_name);
		node = e->d_name[0] == '.' ? NULL : opendir(below);
		while (node && (in = readdir(node)))
			if (in->d_name[0] != '.' && strcmp(in->d_name, "node.json") != 0 &&
				strcmp(in->d_name, "lock") != 0)
				add(out, e->d_name, in->d_name);
		if (node)
			closedir(node);
	}
	if (d)
		closedir(d);
}

static void loops(const struct way *w, struct buf *out)
{
	DIR *d = opendir("/sys/block");
	struct dirent *e;
	char path[PATH_MAX];
	struct buf b;

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof path, "/sys/block/%s/loop/backing_file", e->d_name);
		buf_init(&b, PATH_MAX);
		if (strncmp(e->d_name, "loop", 4) == 0 && buf_read_file(&b, path) == 0)
			lines_with(w, buf_text(&b), "loop device", out);
		buf_release(&b);
	}
	if (d)
		closedir(d);
}

void way_picture(const struct way *w, struct buf *out)
{
	static const char *const links[] = { "ip", "-o", "link", NULL },
				 *const spaces[] = { "ip", "netns", "list", NULL };
	static const char *const rules[] = { "nft", "list", "ruleset", NULL };
	struct looking l = { .w = w, .out = out };
	struct buf b;

	process_each(process, &l);
	buf_init(&b, 8 << 20);
	if (buf_read_file(&b, "/proc/self/mounts") == 0)
		lines_with(w, buf_text(&b), "mount", out);
	buf_release(&b);
	said_by(w, links, "interface", out);
	said_by(w, spaces, "network namespace", out);
	said_by(w, rules, "rule", out);
	names_below(w, "/sys/fs/cgroup", 2, "control group", out);
	names_below(w, "/run", DEEP, "runtime file", out);
	loops(w, out);
	files(w, out);
	buf_init(&b, 1 << 20);
	if (getenv("NANOPOD_TEST_KEYS") && buf_read_file(&b, getenv("NANOPOD_TEST_KEYS")) == 0)
		add(out, "keys of this machine", buf_text(&b));
	buf_release(&b);
}

/* ---- One process -------------------------------------------------------------------------------------------- */

static void sleeper(void *arg, pid_t pid)
{
	struct looking *l = arg;
	char words[WORDS];
	size_t len = process_read(pid, "cmdline", words, sizeof words);

	if (len && strcmp(words, "sleep") == 0 && process_has(words, len, l->dir))
		l->pid = pid;
}

pid_t way_sleeper(const char *text)
{
	struct looking l = { .dir = text };

	process_each(sleeper, &l);
	return l.pid;
}

static void used(void *arg, pid_t pid)
{
	struct looking *l = arg;
	char words[WORDS];
	unsigned long long user, system;
	const char *end;

	size_t len = process_read(pid, "cmdline", words, sizeof words);

	if (!len || !memmem(words, len, l->dir, strlen(l->dir)) || !process_read(pid, "stat", words, sizeof words))
		return;
	end = strrchr(words, ')');
	if (end && sscanf(end + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &user, &system) == 2)
		l->ms += (int64_t)(user + system) * 1000 / sysconf(_SC_CLK_TCK);
}

int64_t way_used_ms(const struct one *o)
{
	struct looking l = { .dir = o->n.id }; /* only its name identifies a virtual machine's process */

	process_each(used, &l);
	return l.ms;
}
