/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/report/runlog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "base/kept.h"
#include "cli/provision/report/note.h"
#include "cli/frame/value.h"
#include "conf/conf.h"

enum { NAME_BYTES = 63, LINE_BYTES = 1 << 20, KEPT_BYTES = 1 << 20, MEMBERS_BYTES = 4 << 20, TAIL_BYTES = 64 * 1024 };

struct runlog {
	char folder[PATH_MAX];
	int lock, lines;
	uint64_t seq;
	bool kept;
	struct buf line;
};

/* ---- Where ----------------------------------------------------------------------------- */

int runlog_check_name(const char *cluster, struct fail *f)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
	size_t len = strlen(cluster);

	if (len && len <= NAME_BYTES && cluster[0] != '-' && strspn(cluster, letters) == len)
		return 0;
	return fail_set(f, -EINVAL,
		"'%.80s' cannot name a cluster: use letters, digits and '-', at most %d, no '-' at the start", cluster,
		NAME_BYTES);
}

/* The folder of all clusters; ends with '/'. malloc'd, or NULL. */
static char *root_folder(void)
{
	return kept_path("clusters/");
}

int runlog_folder(const char *cluster, char *room, size_t size, struct fail *f)
{
	char *root;
	int rc = runlog_check_name(cluster, f), n;

	if (rc)
		return rc;
	root = root_folder();
	if (!root)
		return fail_set(f, -ENOENT, "cannot save anything of '%s': no home folder", cluster);
	n = snprintf(room, size, "%s%s", root, cluster);
	free(root);
	return n < 0 || (size_t)n >= size
		? fail_set(f, -ENAMETOOLONG, "cannot save anything of '%s': the path is too long", cluster)
		: 0;
}

/* Writes the path into room; one that is too long becomes "", which no open() accepts. */
static const char *runlog_path_in(const char *folder, const char *name, char room[PATH_MAX])
{
	if (snprintf(room, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
		room[0] = '\0';
	return room;
}

/* ---- One at a time ------------------------------------------------------------------------ */

static long lock_holder(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	long pid = 0;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return str_to_long(text, 1, INT_MAX, &pid) == 0 ? pid : 0;
}

/* runlog_forget() may have removed the file between opening and locking it. */
static bool is_still(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int runlog_take_lock(const char *cluster, const char *path, int *out, struct fail *f)
{
	char text[32];
	long pid;
	int fd, n;

	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return fail_errno(f, -errno, errno, "cannot write '%s'", path);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			int code = errno;

			pid = lock_holder(fd);
			close(fd);
			if (code != EWOULDBLOCK)
				return fail_errno(f, -code, code, "cannot lock '%s'", path);
			return fail_set(f, -EBUSY, "another nanopod (process %ld) is working on '%s'", pid, cluster);
		}
		if (is_still(fd, path))
			break;
		close(fd);
		if (access(path, F_OK) < 0 && errno != ENOENT)
			return fail_errno(f, -errno, errno, "cannot write '%s'", path);
		if (file_folders(path) != 0)
			return fail_set(f, -EIO, "cannot create the folder of '%s'", path);
	}
	n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n) {
		n = errno;
		close(fd);
		return fail_errno(f, -n, n, "cannot write '%s'", path);
	}
	*out = fd;
	return 0;
}

/* ---- Lines -------------------------------------------------------------------------------- */

/* Ends a line that a crash cut off, so that the next line is complete. */
static int open_lines(const char *path, struct fail *f)
{
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	char last;

	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot write '%s'", path);
	if (fstat(fd, &st) == 0 && st.st_size && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n' &&
		file_write(fd, "\n", 1)) {
		close(fd);
		return fail_set(f, -EIO, "cannot write '%s'", path);
	}
	return fd;
}

int runlog_open(const char *cluster, struct runlog **out, struct fail *f)
{
	struct runlog *j = calloc(1, sizeof *j);
	char path[PATH_MAX];
	int rc;

	if (!j)
		command_nomem();
	buf_init(&j->line, LINE_BYTES);
	j->lock = j->lines = -1;
	rc = runlog_folder(cluster, j->folder, sizeof j->folder, f);
	if (!rc) {
		rc = file_folders(runlog_path_in(j->folder, "logs/x", path));
		rc = rc ? fail_errno(f, rc, -rc, "cannot create the folder '%s'", j->folder) : 0;
	}
	rc = rc ? rc : runlog_take_lock(cluster, runlog_path_in(j->folder, "lock", path), &j->lock, f);
	if (!rc) {
		j->kept = access(runlog_path_in(j->folder, "cluster.yaml", path), F_OK) == 0;
		j->lines = open_lines(runlog_path_in(j->folder, "journal.jsonl", path), f);
		rc = j->lines < 0 ? j->lines : 0;
	}
	if (rc) {
		if (j->lock >= 0)
			close(j->lock);
		buf_release(&j->line);
		free(j);
		return rc;
	}
	*out = j;
	return 0;
}

static int runlog_append(struct runlog *j, bool sync)
{
	int rc = file_write(j->lines, buf_text(&j->line), j->line.len);

	return rc ? rc : sync && fdatasync(j->lines) < 0 ? -errno : 0;
}

int runlog_note(struct runlog *j, const struct note *n)
{
	int rc;

	if (n->kind == NOTE_TICK || n->kind == NOTE_LOG || n->kind == NOTE_WAITS)
		return 0;
	buf_clear(&j->line);
	rc = note_line(n, ++j->seq, &j->line);
	return rc ? rc : runlog_append(j, n->kind == NOTE_END || n->kind == NOTE_BEGIN);
}

int runlog_ran(struct runlog *j, const char *verb, int status)
{
	struct json o = json_to(&j->line);
	char room[40];
	int rc;

	buf_clear(&j->line);
	json_begin_object(&o, NULL);
	json_int(&o, "seq", (int64_t)++j->seq);
	json_text(&o, "time", note_time(room));
	json_text(&o, "event", "run");
	json_text(&o, "what", verb);
	json_int(&o, "status", status);
	json_end(&o);
	rc = o.error ? o.error : buf_addc(&j->line, '\n');
	return rc ? rc : runlog_append(j, true);
}

static const char *runlog_text_of(const struct conf *map, const char *key)
{
	const struct conf *c = conf_get(map, key);

	return c && c->type == CONF_TEXT ? c->text : "";
}

static bool read_run(const char *line, size_t len, struct journal_run *out)
{
	struct conf_file *file;
	long status;
	bool is = false;

	if (!memmem(line, len, "\"run\"", 5) || conf_parse("journal", line, len, &file, NULL))
		return false;
	if (strcmp(runlog_text_of(&file->root, "event"), "run") == 0 &&
		str_to_long(runlog_text_of(&file->root, "status"), 0, 255, &status) == 0) {
		snprintf(out->verb, sizeof out->verb, "%.20s", runlog_text_of(&file->root, "what"));
		snprintf(out->time, sizeof out->time, "%.36s", runlog_text_of(&file->root, "time"));
		out->status = (int)status;
		is = true;
	}
	conf_free(file);
	return is;
}

/* Reads backwards from the end, complete lines only: a crash may have cut the last one. */
bool runlog_last(const char *cluster, struct journal_run *out)
{
	char folder[PATH_MAX], path[PATH_MAX], *text;
	struct stat st;
	ssize_t n = 0;
	bool found = false;
	int fd;

	if (runlog_folder(cluster, folder, sizeof folder, NULL))
		return false;
	fd = open(runlog_path_in(folder, "journal.jsonl", path), O_RDONLY | O_CLOEXEC);
	text = malloc(TAIL_BYTES);
	if (!text)
		command_nomem();
	if (fd >= 0 && fstat(fd, &st) == 0)
		n = pread(fd, text, TAIL_BYTES, st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
	if (fd >= 0)
		close(fd);
	for (char *end = n > 0 ? memrchr(text, '\n', (size_t)n) : NULL; end && !found;) {
		char *before = memrchr(text, '\n', (size_t)(end - text)), *from = before ? before + 1 : text;

		found = read_run(from, (size_t)(end - from), out);
		end = before;
	}
	free(text);
	return found;
}

/* ---- Logs ---------------------------------------------------------------------------------- */

/* A host may be "user@host:22" or "::1": replaces characters that do not belong in a file name by '_'. */
static void runlog_plain(char *name)
{
	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@", *c))
			*c = '_';
}

int runlog_log(struct runlog *j, const char *stack, const char *step, const char *node, char *room, size_t size)
{
	char name[NAME_MAX + 1];
	int n = snprintf(name, sizeof name, "%s.%s.%s.log", stack, step, node), fd;

	if (n < 0 || (size_t)n >= sizeof name || *name == '.')
		return -ENAMETOOLONG;
	runlog_plain(name);
	n = snprintf(room, size, "%s/logs/%s", j->folder, name);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	fd = open(room, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

void runlog_drop_log(const struct runlog *j, const char *path)
{
	if (!j->kept)
		unlink(path);
}

/* ---- What was applied ------------------------------------------------------------------------ */

int runlog_keep(struct runlog *j, const char *text, size_t len, char *const *members, size_t count, struct fail *f)
{
	char path[PATH_MAX];
	struct buf lines;
	int rc = 0;

	buf_init(&lines, MEMBERS_BYTES);
	for (size_t i = 0; i < count && !rc; i++)
		rc = buf_addf(&lines, "%s\n", members[i]);
	rc = rc ? rc : file_replace(runlog_path_in(j->folder, "members", path), buf_text(&lines), lines.len, 0600);
	rc = rc ? rc : file_replace(runlog_path_in(j->folder, "cluster.yaml", path), text, len, 0600);
	buf_release(&lines);
	j->kept |= !rc;
	return rc ? fail_errno(f, rc, -rc, "cannot save the cluster file in '%s'", j->folder) : 0;
}

static int read_kept(const char *cluster, const char *name, struct buf *out, struct fail *f)
{
	char folder[PATH_MAX], path[PATH_MAX];
	int rc = runlog_folder(cluster, folder, sizeof folder, f);

	rc = rc ? rc : buf_read_file(out, runlog_path_in(folder, name, path));
	if (rc == -ENOENT)
		return fail_set(f, rc, "no cluster '%s' is known here", cluster);
	return rc ? fail_errno(f, rc, -rc, "cannot read the saved files of '%s'", cluster) : 0;
}

int runlog_kept(const char *cluster, struct buf *out, struct fail *f)
{
	return read_kept(cluster, "cluster.yaml", out, f);
}

int runlog_members(const char *cluster, struct buf *out, struct fail *f)
{
	return read_kept(cluster, "members", out, f);
}

static int runlog_by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

char **runlog_clusters(void)
{
	char *root = root_folder(), **names = calloc(1, sizeof *names), path[PATH_MAX];
	DIR *d = root ? opendir(root) : NULL;
	struct dirent *e;
	size_t n = 0;

	if (!names)
		command_nomem();
	while (d && (e = readdir(d))) {
		if (runlog_check_name(e->d_name, NULL) ||
			snprintf(path, sizeof path, "%s%s/cluster.yaml", root, e->d_name) >= PATH_MAX ||
			access(path, F_OK) < 0)
			continue;
		names = reallocarray(names, n + 2, sizeof *names);
		if (!names || !(names[n] = strdup(e->d_name)))
			command_nomem();
		names[++n] = NULL;
	}
	if (d)
		closedir(d);
	free(root);
	qsort(names, n, sizeof *names, runlog_by_name);
	return names;
}

char *runlog_near(const char *typed)
{
	char **names = runlog_clusters(), *near = NULL;
	size_t far, best = SIZE_MAX;

	for (char **n = names; *n; n++) {
		if (value_near(typed, *n, &far) && far < best) {
			best = far;
			free(near);
			near = *n;
		} else {
			free(*n);
		}
	}
	free(names);
	return near;
}

/* ---- The end ----------------------------------------------------------------------------------- */

/* Removes plain files only; anything else that somebody put there stays, and so does the folder. */
static int empty_folder(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	return rmdir(folder) < 0 ? -errno : 0;
}

/* Removes the lock file too, so a nanopod that waits for the lock checks afterwards that its file still exists. */
int runlog_forget(struct runlog *j, struct fail *f)
{
	char path[PATH_MAX];
	int rc;

	rc = empty_folder(runlog_path_in(j->folder, "logs", path));
	rc = rc ? rc : empty_folder(j->folder);
	j->kept = true; /* nothing left to tidy up */
	return rc ? fail_errno(f, rc, -rc, "cannot remove the folder '%s'", j->folder) : 0;
}

/* Merely looking at nodes leaves no folder, unless a log says what went wrong. */
static void runlog_tidy(struct runlog *j)
{
	char path[PATH_MAX];

	if (j->kept || j->lock < 0)
		return;
	if (rmdir(runlog_path_in(j->folder, "logs", path)) == 0)
		(void)empty_folder(j->folder);
}

void runlog_close(struct runlog *j)
{
	if (!j)
		return;
	runlog_tidy(j);
	if (j->lines >= 0)
		close(j->lines);
	if (j->lock >= 0)
		close(j->lock);
	buf_release(&j->line);
	free(j);
}
