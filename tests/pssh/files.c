/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a host without local ones: what is there, and bytes from and to memory. */
#include <sys/stat.h>

#include "drive.h"

static struct drive d;
static char here[200], path[300];

static const char *at(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", here, name);
	return path;
}

static struct seen *run(int rc, struct pssh_task *t, const char *name)
{
	if (rc != 0 || pssh_task_add(t, host(&d, name)) != 0 || pssh_task_start(t) != 0) {
		printf("Bail out! %s\n", pssh_error(d.p));
		exit(99);
	}
	drive_done(&d, 1);
	return drive_seen(&d, t, host(&d, name));
}

static struct seen *look(int (*call)(struct pssh *p, const char *remote, struct pssh_task **out), const char *name)
{
	struct pssh_task *t = NULL;
	int rc = call(d.p, at(name), &t);

	return run(rc, t, "n1");
}

static struct seen *get(const char *name, size_t limit)
{
	struct pssh_task *t = NULL;
	int rc = pssh_get_data(d.p, at(name), limit, &t);

	return run(rc, t, "n1");
}

static void make(const char *name, size_t size, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	for (size_t i = 0; i < size; i++)
		if (write(fd, &"0123456789"[i % 10], 1) != 1)
			exit(99);
	if (fd < 0 || fchmod(fd, mode) != 0)
		exit(99);
	close(fd);
}

static void check_stat(void)
{
	struct seen *s;
	struct stat st;

	make("plain", 1234, 0640);
	stat("plain", &st);
	s = look(pssh_stat, "plain");
	ends(s, "exit 0", "a file is looked at");
	snprintf(path, sizeof path, "100640 1234 %s/plain\n", here);
	is_str(s->out, path, "its type, mode, size and name");
	is_int((long long)s->changed, (long long)st.st_mtime, "its time");
	if (symlink("plain", "link") != 0)
		exit(99);
	s = look(pssh_stat, "link");
	has_str(s->out, "100640 1234 ", "a link is followed");
	s = look(pssh_stat, "missing");
	ends(s, "PSSH_ENOENT", "what is not there");
	has_str(s->text, "/missing", "is named");
	s = look(pssh_stat, "plain/below");
	ok(s->type == PSSH_EV_ERROR, "what cannot be there, too (%s)", end_of(s));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_dir(void)
{
	enum { NAMES = 500 };
	char *lines[NAMES + 4], *line, *rest;
	struct seen *s;
	size_t n = 0;

	mkdir("dir", 0755);
	mkdir("dir/sub", 0750);
	make("dir/.hidden", 3, 0600);
	make("dir/..two", 0, 0600);
	if (chmod("dir/sub", 0750) != 0 || symlink("nowhere", "dir/lost") != 0)
		exit(99);
	s = look(pssh_read_dir, "dir");
	ends(s, "exit 0", "a directory");
	for (line = strtok_r(s->out, "\n", &rest); line && n < NAMES; line = strtok_r(NULL, "\n", &rest))
		lines[n++] = line;
	is_int((long long)n, 4, "has its names, without . and ..");
	qsort(lines, n, sizeof *lines, by_text);
	is_str(lines[0], "100600 0 ..two", "one with two dots");
	is_str(lines[1], "100600 3 .hidden", "a hidden one");
	has_str(lines[2], "120777 ", "a link is not followed");
	has_str(lines[3], "40750 ", "a directory in it");
	for (int i = 0; i < NAMES; i++) {
		char name[64];

		snprintf(name, sizeof name, "dir/sub/name-%04d", i);
		make(name, 0, 0600);
	}
	s = look(pssh_read_dir, "dir/sub");
	n = 0;
	for (char *c = s->out; c && (c = strchr(c, '\n')); c++)
		n++;
	is_int((long long)n, NAMES, "a directory that takes several answers");
	ends(look(pssh_read_dir, "none"), "PSSH_ENOENT", "one that is not there");
	s = look(pssh_read_dir, "plain");
	ok(s->type == PSSH_EV_ERROR, "a file is none (%s)", end_of(s));
}

static void check_get(void)
{
	struct seen *s;

	s = get("plain", 0);
	ends(s, "exit 0", "a file's bytes");
	is_int((long long)s->out_len, 1234, "are all there");
	is_int(s->outputs, 1, "in one event");
	ok(s->out && memcmp(s->out, "01234567890", 11) == 0 && s->out[1233] == '3', "in order");
	ends(get("plain", 1234), "exit 0", "as many as the limit");
	s = get("plain", 1233);
	ends(s, "PSSH_EREMOTE", "one more is refused");
	has_str(s->text, "more than 1233 bytes", "and the limit named");
	is_int((long long)s->out_len, 0, "without a part of it");
	make("large", 200000, 0600);
	s = get("large", 300000);
	ok(s->out_len == 200000 && s->out[199999] == '9' && s->out[100000] == '0', "a file of several answers");
	make("empty", 0, 0600);
	ends(get("empty", 0), "exit 0", "an empty file");
	ends(get("missing", 0), "PSSH_ENOENT", "one that is not there");
}

static void check_put(void)
{
	static char block[300000];
	struct pssh_task *t;
	struct seen *s;
	struct stat st;
	int fds = count_fds(), rc;

	memset(block, 'y', sizeof block);
	umask(0);
	rc = pssh_put_data(d.p, block, sizeof block, at("put"), 0640, &t);
	memset(block, 'z', sizeof block);
	s = run(rc, t, "n1");
	ends(s, "exit 0", "data are put");
	drive_free(&d, t);
	is_int(count_fds(), fds, "and leave no descriptor");
	ok(stat("put", &st) == 0 && st.st_size == sizeof block && (st.st_mode & 07777) == 0640,
		"they have their size and mode");
	s = get("put", 1 << 20);
	ok(s->out_len == sizeof block && s->out[0] == 'y' && !memchr(s->out, 'z', s->out_len),
		"and are what they were at the call");
	rc = pssh_put_data(d.p, "", 0, at("nothing"), 0600, &t);
	s = run(rc, t, "n1");
	ends(s, "exit 0", "no data");
	ok(stat("nothing", &st) == 0 && st.st_size == 0 && (st.st_mode & 07777) == 0600, "are an empty file");
	is_int(pssh_put_data(d.p, "x", 1, "dir/", 0600, &t), PSSH_EINVAL, "a directory is no target");
	is_int(pssh_put_data(d.p, "x", 1, "file", 04755, &t), PSSH_EINVAL, "special bits are refused");
	is_int(pssh_stat(d.p, "~other/x", &t), PSSH_EUNSUPPORTED, "another user's home is unknown");
	is_int(pssh_stat(d.p, "", &t), PSSH_EINVAL, "an empty path, too");
}

int main(void)
{
	if (!drive_start(&d) || !getcwd(here, sizeof here))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	check_stat();
	check_dir();
	check_get();
	check_put();
	drive_end(&d, "files");
	return done();
}
