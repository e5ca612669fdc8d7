/* SPDX-License-Identifier: Apache-2.0 */
/* For clusterlogs.h: steps whose last run failed, with the logs on this machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/table.h"
#include "cli/frame/command.h"
#include "cli/frame/flat.h"
#include "cli/provision/report/clusterlogs.h"
#include "cli/provision/report/runlog.h"

enum { TAIL_MAX = 256 * 1024, PATH_ROOM = 4096 };

static char *steplogs_copy_of(const char *text)
{
	char *copy = strdup(text ? text : "");

	if (!copy)
		command_nomem();
	return copy;
}

static void failed_free(struct clusterlogs_step *x)
{
	if (!x)
		return;
	free(x->node);
	free(x->step);
	free(x->log);
	free(x->text);
	free(x);
}

/* Takes the end of a step; the last one of each step counts. */
static void take_end(struct table *t, const char *line, size_t len)
{
	bool good = !memmem(line, len, "\"ok\":false", 10);
	struct clusterlogs_step *x;
	struct flat l;
	char *key;

	if (flat_parse(&l, line, len) != 0)
		return;
	if (flat_text(&l, "step") && flat_text(&l, "node") && flat_text(&l, "stack")) {
		if (asprintf(&key, "%s\t%s\t%s", flat_text(&l, "stack"), flat_text(&l, "step"), flat_text(&l, "node")) <
			0)
			command_nomem();
		failed_free(table_remove(t, key));
		if (!good) {
			x = calloc(1, sizeof *x);
			if (!x || asprintf(&x->step, "%s.%s", flat_text(&l, "stack"), flat_text(&l, "step")) < 0)
				command_nomem();
			x->node = steplogs_copy_of(flat_text(&l, "node"));
			x->log = steplogs_copy_of(flat_text(&l, "log"));
			x->text = steplogs_copy_of(flat_text(&l, "text"));
			if (table_set(t, key, x) != 0)
				command_nomem();
		}
		free(key);
	}
	flat_release(&l);
}

static void read_ends(const char *folder, struct table *t)
{
	char path[PATH_ROOM], *line = NULL;
	size_t size = 0;
	ssize_t len;
	FILE *f;

	if (snprintf(path, sizeof path, "%s/journal.jsonl", folder) >= (int)sizeof path)
		return;
	f = fopen(path, "re");
	while (f && (len = getline(&line, &size, f)) > 0)
		if (memmem(line, (size_t)len, "\"event\":\"end\"", 13))
			take_end(t, line, (size_t)len);
	free(line);
	if (f)
		fclose(f);
}

/* The start of the last so many lines. */
static size_t last_lines(const struct buf *b, long lines)
{
	size_t at = b->len;

	for (long n = 0; at && (lines < 0 || n < lines); n++)
		for (at--; at && b->data[at - 1] != '\n'; at--)
			;
	return at;
}

/* Reads its last lines. It opens the file by name alone, so that a journal cannot point outside this cluster's logs. */
static void show_log(const char *folder, struct clusterlogs_step *x, long lines, clusterlogs_line *fn, void *arg)
{
	const char *name = strrchr(x->log, '/');
	char path[PATH_ROOM];
	struct stat st;
	struct buf b;
	int fd;

	if (snprintf(path, sizeof path, "%s/logs/%s", folder, name ? name + 1 : x->log) >= (int)sizeof path)
		return;
	fd = *x->log ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	buf_init(&b, TAIL_MAX * 2);
	if (fd >= 0 && fstat(fd, &st) == 0) {
		x->us = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
		if (st.st_size > TAIL_MAX)
			lseek(fd, st.st_size - TAIL_MAX, SEEK_SET);
		if (buf_read_fd(&b, fd) == 0)
			for (size_t at = last_lines(&b, lines), len; at < b.len; at += len + 1) {
				len = strcspn(b.data + at, "\n");
				fn(arg, x, b.data + at, len);
			}
		close(fd);
	}
	buf_release(&b);
	if (*x->text)
		fn(arg, x, x->text, strlen(x->text));
}

static int steplogs_by_name(const void *a, const void *b)
{
	const struct clusterlogs_step *x = *(struct clusterlogs_step *const *)a,
				      *y = *(struct clusterlogs_step *const *)b;
	int order = strcmp(x->step, y->step);

	return order ? order : strcmp(x->node, y->node);
}

int clusterlogs_steps(const char *cluster, long lines, clusterlogs_line *fn, void *arg, struct fail *f)
{
	struct clusterlogs_step **list;
	char folder[PATH_ROOM];
	size_t at = 0, n = 0;
	const char *key;
	struct table t;
	void *value;
	int rc = runlog_folder(cluster, folder, sizeof folder, f);

	if (rc)
		return rc;
	table_init(&t);
	read_ends(folder, &t);
	list = calloc(t.count + 1, sizeof *list);
	if (!list)
		command_nomem();
	while (table_next(&t, &at, &key, &value))
		if (value)
			list[n++] = value;
	qsort(list, n, sizeof *list, steplogs_by_name);
	for (size_t i = 0; i < n; i++) {
		show_log(folder, list[i], lines, fn, arg);
		failed_free(list[i]);
	}
	free(list);
	table_release(&t);
	return 0;
}
