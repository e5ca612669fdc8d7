/* SPDX-License-Identifier: Apache-2.0 */
/* Groups by their path: makes, enters, counts, kills and removes them in every hierarchy alike. */
#include "agentd/os/cgroup_part.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

enum {
	MOUNTS_MAX = 4 << 20,
	PIDS_TEXT = 1 << 20,
	PIDS_MAX = 4096,
	TEXT_MAX = 4096,
	REMOVE_MS = 3000,
	LATE_MS = 500,
	PAUSE_MS = 10
};

/* ---- The hierarchies ----------------------------------------------------------------------- */

/* Is word one of the comma-separated words? */
static bool cgroup_path_among(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

/* A v2 hierarchy names its controllers in a file; the file of the top group names them all. */
static void look_v2(struct cgroup_tree *t)
{
	char path[CGROUP_PATH], *word, *rest;
	struct buf b;

	t->v2 = true;
	buf_init(&b, TEXT_MAX);
	snprintf(path, sizeof path, "%s/cgroup.controllers", t->at);
	if (buf_read_file(&b, path) == 0)
		for (rest = b.data; rest && (word = strsep(&rest, " \n"));) {
			t->cpu |= strcmp(word, "cpu") == 0;
			t->memory |= strcmp(word, "memory") == 0;
			t->pids |= strcmp(word, "pids") == 0;
			t->cpuset |= strcmp(word, "cpuset") == 0;
			t->io |= strcmp(word, "io") == 0;
		}
	buf_release(&b);
}

static void look_v1(struct cgroup_tree *t, const char *options)
{
	t->cpu = cgroup_path_among(options, "cpu");
	t->memory = cgroup_path_among(options, "memory");
	t->pids = cgroup_path_among(options, "pids");
	t->cpuset = cgroup_path_among(options, "cpuset");
	t->io = cgroup_path_among(options, "blkio");
	t->devices = cgroup_path_among(options, "devices");
}

static void cgroup_add_tree(struct cgroup_trees *out, const char *at, const char *type, const char *options)
{
	struct cgroup_tree *t = &out->tree[out->count];

	if (out->count == CGROUP_TREES || strlen(at) >= sizeof t->at || access(at, W_OK) != 0)
		return;
	*t = (struct cgroup_tree){ 0 };
	snprintf(t->at, sizeof t->at, "%s", at);
	if (strcmp(type, "cgroup2") == 0)
		look_v2(t);
	else
		look_v1(t, options);
	out->count++;
}

void cgroup_trees_in(struct cgroup_trees *out, const char *mounts)
{
	char *copy = strdup(mounts), *line, *rest = copy;

	out->count = 0;
	while (rest && (line = strsep(&rest, "\n"))) {
		char *word[4] = { NULL };

		for (size_t i = 0; i < 4 && line; i++)
			word[i] = strsep(&line, " ");
		if (word[3] && (strcmp(word[2], "cgroup") == 0 || strcmp(word[2], "cgroup2") == 0))
			cgroup_add_tree(out, word[1], word[2], word[3]);
	}
	free(copy);
}

void cgroup_trees(struct cgroup_trees *out)
{
	struct buf b;

	buf_init(&b, MOUNTS_MAX);
	out->count = 0;
	if (buf_read_file(&b, "/proc/self/mounts") == 0)
		cgroup_trees_in(out, buf_text(&b));
	buf_release(&b);
}

/* ---- One group ------------------------------------------------------------------------------ */

bool cgroup_has(const struct cgroup_tree *t, const char *group, const char *file)
{
	char path[CGROUP_PATH];

	snprintf(path, sizeof path, "%s/%s/%s", t->at, group, file);
	return access(path, F_OK) == 0;
}

int cgroup_write(const struct cgroup_tree *t, const char *group, const char *file, const char *text)
{
	char path[CGROUP_PATH];
	ssize_t n;
	int fd, error;

	snprintf(path, sizeof path, "%s/%s/%s", t->at, group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	error = errno;
	close(fd);
	return n < 0 ? -error : 0;
}

/* A new cpuset of v1 takes no process until it has its parent's CPUs and memory nodes. */
static int cgroup_fill_cpuset(const struct cgroup_tree *t, const char *group)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.mems" };
	char above[CGROUP_PATH], path[CGROUP_PATH + 16];
	int rc = 0;

	snprintf(above, sizeof above, "%s/%s", t->at, group);
	*strrchr(above, '/') = '\0';
	for (size_t i = 0; !rc && i < 2; i++) {
		struct buf b;

		buf_init(&b, TEXT_MAX);
		snprintf(path, sizeof path, "%s/%s", above, files[i]);
		rc = buf_read_file(&b, path);
		if (!rc)
			rc = cgroup_write(t, group, files[i], buf_text(&b));
		buf_release(&b);
	}
	return rc;
}

int cgroup_path_make(const struct cgroup_trees *trees, const char *group, struct fail *f)
{
	char path[CGROUP_PATH];

	for (size_t i = 0; i < trees->count; i++) {
		const struct cgroup_tree *t = &trees->tree[i];
		int rc;

		snprintf(path, sizeof path, "%s/%s", t->at, group);
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return fail_errno(f, -errno, errno, "cannot make the control group '%s'", path);
		rc = t->cpuset && !t->v2 ? cgroup_fill_cpuset(t, group) : 0;
		if (rc)
			return fail_errno(f, rc, -rc, "cannot prepare the control group '%s'", path);
	}
	return 0;
}

int cgroup_path_enter(const char *group)
{
	struct cgroup_trees trees;

	cgroup_trees(&trees);
	for (size_t i = 0; i < trees.count; i++) {
		int rc = cgroup_write(&trees.tree[i], group, "cgroup.procs", "0");

		if (rc)
			return rc;
	}
	return trees.count ? 0 : -ENOENT;
}

/* ---- Its processes -------------------------------------------------------------------------- */

struct count {
	pid_t *pids;
	size_t max, n;
};

static void count_here(int dir, struct count *c)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	struct buf b;

	buf_init(&b, PIDS_TEXT);
	if (fd >= 0 && buf_read_fd(&b, fd) == 0) {
		char *rest = b.data, *line;

		while (rest && (line = strsep(&rest, "\n")))
			if (*line) {
				if (c->n < c->max)
					c->pids[c->n] = (pid_t)strtol(line, NULL, 10);
				c->n++;
			}
	}
	buf_release(&b);
	if (fd >= 0)
		close(fd);
}

/* A folder still to visit, with its depth below the first one. */
struct step {
	size_t level;
	char *name;
};

struct path {
	struct step *steps;
	size_t count, cap;
};

static int cgroup_path_push(struct path *p, size_t level, const char *name)
{
	char *copy = strdup(name);

	if (copy && p->count == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 16;
		struct step *more = reallocarray(p->steps, cap, sizeof *more);

		if (!more) {
			free(copy);
			return -ENOMEM;
		}
		p->steps = more;
		p->cap = cap;
	}
	if (!copy)
		return -ENOMEM;
	p->steps[p->count++] = (struct step){ level, copy };
	return 0;
}

static void path_release(struct path *p)
{
	while (p->count)
		free(p->steps[--p->count].name);
	free(p->steps);
}

/*
 * Replaces *dir by the folder after it. A node nests its groups as deep as it likes: at most two folders are open at
 * any time.
 */
static int cgroup_path_go(int *dir, const char *name)
{
	int next = openat(*dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (next < 0)
		return -errno;
	close(*dir);
	*dir = next;
	return 0;
}

/* most 1: only the first folder. */
static int push_folders(int dir, size_t level, size_t most, struct path *to)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!d) {
		rc = -errno;
		if (copy >= 0)
			close(copy);
		return rc;
	}
	while (!rc && most && (e = readdir(d)))
		if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
			rc = cgroup_path_push(to, level, e->d_name);
			most--;
		}
	closedir(d);
	return rc;
}

/* Counts in dir, which it takes over, and in all below. Not 0: groups came and went, so some may be missing. */
static int count_all(int dir, struct count *c)
{
	struct path left = { 0 };
	size_t level = 0;
	int rc;

	count_here(dir, c);
	rc = push_folders(dir, 1, SIZE_MAX, &left);
	while (!rc && left.count) {
		struct step s = left.steps[--left.count];

		for (; !rc && level >= s.level; level--)
			rc = cgroup_path_go(&dir, "..");
		rc = rc ? rc : cgroup_path_go(&dir, s.name);
		free(s.name);
		if (rc == -ENOENT) { /* removed a moment ago */
			rc = 0;
			continue;
		}
		if (rc)
			break;
		level++;
		count_here(dir, c);
		rc = push_folders(dir, level + 1, SIZE_MAX, &left);
	}
	path_release(&left);
	close(dir);
	return rc;
}

/* Removes all below dir, which it takes over, by always removing the deepest first folder until none is left. */
static void cgroup_path_remove_all(int dir)
{
	struct path at = { 0 };
	bool moves = true;

	while (moves) {
		size_t had = at.count;

		moves = push_folders(dir, 0, 1, &at) == 0;
		if (moves && at.count > had)
			moves = cgroup_path_go(&dir, at.steps[at.count - 1].name) == 0;
		else if (moves && at.count) {
			char *name = at.steps[--at.count].name;

			moves = cgroup_path_go(&dir, "..") == 0 && unlinkat(dir, name, AT_REMOVEDIR) == 0;
			free(name);
		} else
			break;
	}
	path_release(&at);
	close(dir);
}

static int open_group(const struct cgroup_tree *t, const char *group)
{
	char path[CGROUP_PATH];

	snprintf(path, sizeof path, "%s/%s", t->at, group);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/*
 * A process killed half way into its groups is in some hierarchies and not in others, so the first hierarchy that
 * has any processes counts.
 */
static int pids_of(const char *group, struct count *out)
{
	struct cgroup_trees trees;
	int first = 0;

	cgroup_trees(&trees);
	out->n = 0;
	for (size_t i = 0; i < trees.count && !out->n; i++) {
		int dir = open_group(&trees.tree[i], group), rc = dir < 0 ? 0 : count_all(dir, out);

		first = first ? first : rc;
	}
	return first;
}

size_t cgroup_path_pids(const char *group, pid_t *pids, size_t max)
{
	struct count c = { .pids = pids, .max = max };

	pids_of(group, &c);
	return c.n;
}

static void cgroup_pause_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
}

/* The kernel kills all of a group at once, also what forks meanwhile: v2, since Linux 5.14. */
static void cgroup_kill_whole(const char *group)
{
	struct cgroup_trees trees;

	cgroup_trees(&trees);
	for (size_t i = 0; i < trees.count; i++)
		if (trees.tree[i].v2 && cgroup_has(&trees.tree[i], group, "cgroup.kill"))
			cgroup_write(&trees.tree[i], group, "cgroup.kill", "1");
}

/* Does this process belong to the group, or to one below it, in some hierarchy? */
static bool cgroup_member(const char *group, pid_t pid)
{
	char path[64], *rest, *line;
	size_t len = strlen(group);
	bool member = false;
	struct buf b;

	buf_init(&b, PIDS_TEXT);
	snprintf(path, sizeof path, "/proc/%ld/cgroup", (long)pid);
	if (buf_read_file(&b, path) == 0)
		for (rest = b.data; !member && rest && (line = strsep(&rest, "\n"));) {
			const char *at = strchr(line, ':');

			at = at ? strchr(at + 1, ':') : NULL;
			/* Where this program has a namespace of control groups, paths begin at its root. */
			for (at = at ? strstr(at, group) : NULL; at && !member; at = strstr(at + 1, group))
				member = at[-1] == '/' && (at[len] == '\0' || at[len] == '/');
		}
	buf_release(&b);
	return member;
}

void cgroup_path_kill_one(const char *group, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool old = fd < 0 && errno == ENOSYS; /* before Linux 5.3 */

	if ((fd >= 0 || old) && cgroup_member(group, pid)) {
		if (old)
			kill(pid, SIGKILL);
		else
			syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	}
	if (fd >= 0)
		close(fd);
}

int cgroup_path_kill(const char *group, int64_t deadline_ms, struct fail *f)
{
	int64_t until = clock_ms() + deadline_ms;
	struct count c = { .pids = calloc(PIDS_MAX, sizeof *c.pids), .max = PIDS_MAX };
	int rc;

	if (!c.pids)
		return fail_set(f, -ENOMEM, "out of memory");
	while ((rc = pids_of(group, &c)) != 0 || c.n > 0) {
		cgroup_kill_whole(group);
		for (size_t i = 0; i < c.n && i < PIDS_MAX; i++)
			if (c.pids[i] > 1)
				cgroup_path_kill_one(group, c.pids[i]);
		if (clock_ms() >= until)
			break;
		cgroup_pause_a_little();
	}
	free(c.pids);
	if (rc && !c.n)
		return fail_errno(f, rc, -rc, "cannot see all processes of '%s'", group);
	return c.n ? fail_set(f, -ETIMEDOUT, "%zu processes of '%s' were killed but have not ended", c.n, group)
		   : 0;
}

int cgroup_path_remove(const char *group, struct fail *f)
{
	int64_t until = clock_ms() + REMOVE_MS;
	struct cgroup_trees trees;
	char path[CGROUP_PATH];

	cgroup_trees(&trees);
	for (size_t i = 0; i < trees.count; i++) {
		snprintf(path, sizeof path, "%s/%s", trees.tree[i].at, group);
		for (;;) {
			int dir = open_group(&trees.tree[i], group);

			if (dir >= 0)
				cgroup_path_remove_all(dir);
			if (dir < 0 || rmdir(path) == 0 || errno == ENOENT)
				break;
			if (clock_ms() >= until)
				return fail_errno(f, -errno, errno, "cannot remove the control group '%s'", path);
			/* A program may have entered as all others ended, because its starter was killed meanwhile. */
			cgroup_path_kill(group, LATE_MS, NULL);
			cgroup_pause_a_little();
		}
	}
	return 0;
}
