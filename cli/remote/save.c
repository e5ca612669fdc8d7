/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/table.h"
#include "cli/frame/flat.h"

enum { SMALL_FILE = 1 << 20, LONGEST_LINE = 64 << 20 };

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:@+,=[]";

char *save_file_name(const char *host, const char *suffix)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, 4096);
	for (const char *s = host; *s && !rc; s++) {
		/* Never a hidden file, ".." or a slash, whatever the host's name. */
		if (strchr(plain, *s) && !(s == host && (*s == '.' || *s == '-')))
			rc = buf_addc(&b, *s);
		else
			rc = buf_addf(&b, "%%%02X", (unsigned char)*s);
	}
	if (!rc)
		rc = buf_adds(&b, suffix);
	if (rc) {
		buf_release(&b);
		return NULL;
	}
	return buf_steal(&b);
}

static int save_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *save_host_name(const char *name, size_t len)
{
	char *out = calloc(1, len + 1), *w = out;

	for (size_t i = 0; out && i < len; i++) {
		if (name[i] == '%' && len - i > 2 && save_hex(name[i + 1]) >= 0 && save_hex(name[i + 2]) >= 0) {
			*w++ = (char)(save_hex(name[i + 1]) * 16 + save_hex(name[i + 2]));
			i += 2;
		} else {
			*w++ = name[i];
		}
	}
	return out;
}

/* Appends to a file or replaces it. Checks close() too: network file systems report errors late. */
static int write_file(struct save *s, const char *host, const char *suffix, int flags, const void *data, size_t len,
	struct fail *fail)
{
	char *name = save_file_name(host, suffix);
	const char *p = data;
	int fd, rc = 0;

	if (!name)
		return fail_set(fail, -ENOMEM, "out of memory");
	fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
	if (fd < 0)
		rc = -errno;
	while (!rc && len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno != EINTR)
			rc = -errno;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	if (fd >= 0 && close(fd) < 0 && !rc)
		rc = -errno;
	if (rc)
		fail_set(fail, rc, "cannot write '%s/%s': %s", s->path, name, strerror(-rc));
	free(name);
	return rc;
}

static int save_prepare(struct save *s, const char *host, struct fail *fail)
{
	char *name = save_file_name(host, ".status");
	int rc = 0;

	if (!name)
		return fail_set(fail, -ENOMEM, "out of memory");
	if (unlinkat(s->dir, name, 0) < 0 && errno != ENOENT)
		rc = fail_errno(fail, -errno, errno, "cannot replace '%s/%s'", s->path, name);
	free(name);
	if (!rc)
		rc = write_file(s, host, ".stdout", O_TRUNC, "", 0, fail);
	if (!rc)
		rc = write_file(s, host, ".stderr", O_TRUNC, "", 0, fail);
	return rc;
}

int save_open(struct save *s, const char *path, const struct fanout *f, const char *command, struct fail *fail)
{
	int rc = 0;

	s->path = strdup(path);
	if (!s->path)
		return fail_set(fail, -ENOMEM, "out of memory");
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		rc = fail_errno(fail, -errno, errno, "cannot make the directory '%s'", path);
	s->dir = rc ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!rc && s->dir < 0)
		rc = fail_errno(fail, -errno, errno, "cannot open the directory '%s'", path);
	for (size_t i = 0; !rc && i < f->count; i++)
		rc = save_prepare(s, f->hosts[i].name, fail);
	if (!rc)
		rc = write_file(s, "command", "", O_TRUNC, command, strlen(command), fail);
	if (rc)
		save_close(s);
	return rc;
}

void save_close(struct save *s)
{
	if (s->dir >= 0)
		close(s->dir);
	free(s->path);
	*s = (struct save){ .dir = -1 };
}

int save_data(struct save *s, const struct outcome *o, int is_stderr, const void *data, size_t len, struct fail *fail)
{
	return write_file(s, o->name, is_stderr ? ".stderr" : ".stdout", O_APPEND, data, len, fail);
}

int save_outcome(struct save *s, const struct outcome *o, struct fail *fail)
{
	struct buf b;
	int rc;

	buf_init(&b, 65536);
	if (o->state == OUTCOME_EXIT)
		rc = buf_addf(&b, "exit %d\n", o->status);
	else if (o->state == OUTCOME_SIGNAL)
		rc = buf_addf(&b, "signal %s\n", o->text);
	else
		rc = buf_addf(&b, "error %s %s\n", pssh_errname(o->status), o->text);
	if (rc)
		rc = fail_set(fail, rc, "out of memory");
	else
		rc = write_file(s, o->name, ".status", O_TRUNC, b.data, b.len, fail);
	buf_release(&b);
	return rc;
}

/* ---- Reading it back ------------------------------------------------------------------- */

static int save_add_host(struct pssh_list *into, const char *name, struct fail *fail)
{
	int rc = pssh_list_add(into, name);

	return rc ? fail_set(fail, -EINVAL, "'%s' is not a host name: %s", name, pssh_list_error(into)) : 0;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && memcmp(s + len - n, end, n) == 0;
}

static int read_one(int dir, const char *path, const char *name, struct buf *text, struct fail *fail)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC), rc = 0;

	buf_clear(text);
	if (fd < 0)
		return errno == ENOENT ? 0 : fail_errno(fail, -errno, errno, "cannot read '%s/%s'", path, name);
	rc = buf_read_fd(text, fd);
	close(fd);
	return rc ? fail_set(fail, rc, "cannot read '%s/%s': %s", path, name, strerror(-rc)) : 0;
}

static int save_by_name(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Every host has a .stdout; one without a .status of success failed. */
static int add_where_failed(int dir, const char *path, const char *name, struct pssh_list *into, struct fail *fail)
{
	size_t len = strlen(name);
	char *host, *status;
	struct buf text;
	int rc;

	if (!ends_with(name, len, ".stdout"))
		return 0;
	host = save_host_name(name, len - 7);
	status = host ? save_file_name(host, ".status") : NULL;
	buf_init(&text, SMALL_FILE);
	rc = status ? read_one(dir, path, status, &text, fail) : fail_set(fail, -ENOMEM, "out of memory");
	if (!rc && strcmp(buf_text(&text), "exit 0\n") != 0)
		rc = save_add_host(into, host, fail);
	buf_release(&text);
	free(status);
	free(host);
	return rc;
}

int save_failed(const char *path, struct pssh_list *into, char **command, struct fail *fail)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n, rc = 0, seen = 0;
	struct dirent **all;
	struct buf text;

	*command = NULL;
	if (dir < 0)
		return fail_errno(fail, -errno, errno, "cannot read '%s'", path);
	n = scandirat(dir, ".", &all, NULL, save_by_name);
	if (n < 0)
		rc = fail_errno(fail, -errno, errno, "cannot read '%s'", path);
	for (int i = 0; i < n; i++) {
		seen |= ends_with(all[i]->d_name, strlen(all[i]->d_name), ".stdout");
		if (!rc)
			rc = add_where_failed(dir, path, all[i]->d_name, into, fail);
		free(all[i]);
	}
	if (n >= 0)
		free(all);
	if (!rc && !seen)
		rc = fail_set(fail, -ENOENT, "'%s' holds no results of 'run --save'", path);
	buf_init(&text, SMALL_FILE);
	if (!rc)
		rc = read_one(dir, path, "command", &text, fail);
	if (!rc && text.len && !str_starts(text.data, "#"))
		*command = buf_steal(&text);
	buf_release(&text);
	close(dir);
	return rc;
}

struct seen {
	struct table hosts;   /* name -> (void *)1 failed or not ended, (void *)2 fine */
	struct buf order;     /* names in order, each with its NUL */
};

static int save_see(struct seen *seen, const struct flat *line)
{
	const char *host = flat_text(line, "host"), *type = flat_text(line, "type"),
		   *status = flat_text(line, "status");
	bool ok = type && strcmp(type, "exit") == 0 && status && strcmp(status, "0") == 0;

	if (!host || !type)
		return 0;
	if (!table_get(&seen->hosts, host) && buf_add(&seen->order, host, strlen(host) + 1) != 0)
		return -ENOMEM;
	return table_set(&seen->hosts, host, ok ? (void *)2 : (void *)1);
}

int save_failed_jsonl(int fd, struct pssh_list *into, struct fail *fail)
{
	struct seen seen = { 0 };
	FILE *in = fdopen(dup(fd), "r");
	char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t n;
	int rc = 0;

	buf_init(&seen.order, LONGEST_LINE);
	while (in && !rc && (n = getline(&line, &room, in)) > 0) {
		struct flat flat;

		number++;
		if (strspn(line, " \t\r\n") == (size_t)n)
			continue;
		rc = flat_parse(&flat, line, (size_t)n);
		if (rc == -EINVAL)
			fail_set(fail, rc, "line %zu of standard input is not a JSON object of 'run -o jsonl'", number);
		if (!rc) {
			rc = save_see(&seen, &flat);
			flat_release(&flat);
		}
		if (rc == -ENOMEM)
			fail_set(fail, rc, "out of memory");
	}
	if (!in || (!rc && ferror(in)))
		rc = fail_errno(fail, -errno, errno, "cannot read standard input");
	else if (!rc && !seen.order.len)
		rc = fail_set(fail, -ENOENT, "standard input holds no results of 'run -o jsonl'");
	for (size_t at = 0; !rc && at < seen.order.len; at += strlen(seen.order.data + at) + 1)
		if (table_get(&seen.hosts, seen.order.data + at) == (void *)1)
			rc = save_add_host(into, seen.order.data + at, fail);
	if (in)
		fclose(in);
	free(line);
	table_release(&seen.hosts);
	buf_release(&seen.order);
	return rc;
}
