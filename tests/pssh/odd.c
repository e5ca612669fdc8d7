/* SPDX-License-Identifier: Apache-2.0 */
/* Copies to and from what is no plain file: each fails with a clear sentence or follows a link, and harms nothing. */
#include <sys/stat.h>

#include "drive.h"

static struct drive d;
static char here[200], path[300];

static const char *at(const char *name)
{
	if (*name == '/')
		snprintf(path, sizeof path, "%s", name);
	else
		snprintf(path, sizeof path, "%s/%s", here, name);
	return path;
}

static struct seen *run(int rc, struct pssh_task *t)
{
	if (rc != 0 || pssh_task_add(t, host(&d, "n1")) != 0 || pssh_task_start(t) != 0) {
		printf("Bail out! %s\n", pssh_error(d.p));
		exit(99);
	}
	drive_done(&d, 1);
	return drive_seen(&d, t, host(&d, "n1"));
}

static struct seen *put(const char *name)
{
	struct pssh_task *t = NULL;
	int rc = pssh_put(d.p, "plain", at(name), 0, &t);

	return run(rc, t);
}

static struct seen *put_data(const char *name)
{
	struct pssh_task *t = NULL;
	int rc = pssh_put_data(d.p, "data", 4, at(name), 0600, &t);

	return run(rc, t);
}

static struct seen *get(const char *name, const char *local)
{
	struct pssh_task *t = NULL;
	int rc = pssh_get(d.p, at(name), local, 0, &t);

	return run(rc, t);
}

static struct seen *get_data(const char *name)
{
	struct pssh_task *t = NULL;
	int rc = pssh_get_data(d.p, at(name), 0, &t);

	return run(rc, t);
}

static mode_t kind(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

static int names_in(const char *dir)
{
	DIR *list = opendir(dir);
	int n = 0;

	while (list && readdir(list))
		n++;
	if (list)
		closedir(list);
	return n - 2;
}

static const char *text_of(const char *name)
{
	static char text[64];
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(99);
	close(fd);
}

static void make_all(void)
{
	write_file("plain", "plain");
	write_file("other", "other");
	if (mkdir("dir", 0755) || mkfifo("fifo", 0600) || symlink("new", "to-new") || symlink("no/such", "to-none") ||
		symlink("other", "to-other") || symlink("dir", "to-dir") || symlink("loop", "loop"))
		exit(99);
}

static void refused(struct seen *s, const char *says, const char *what)
{
	ends(s, "PSSH_EREMOTE", "%s", what);
	has_str(s->text, says, "which says why");
}

static void check_put(void)
{
	/* Root may write everywhere but where the kernel says what there is. */
	const char *closed = geteuid() == 0 ? "/sys/plain" : "closed/plain";

	refused(put_data("dir"), "is a directory; data need the path of a file", "data to a directory");
	refused(put_data("to-dir"), "is a directory", "data to a link to one");
	is_int(names_in("dir"), 0, "nothing is in it");
	refused(put("fifo"), "neither a file nor a directory", "a pipe is no target");
	refused(put_data("fifo"), "neither a file nor a directory", "nor is it for data");
	is_int(kind("fifo"), S_IFIFO, "it stays one");
	refused(put("/dev/null"), "neither a file nor a directory", "a device is none");
	is_int(kind("/dev/null"), S_IFCHR, "and stays one");
	ends(put("to-other"), "exit 0", "a link to a file");
	is_str(text_of("other"), "plain", "the file is replaced");
	is_int(kind("to-other"), S_IFLNK, "the link stays");
	ends(put_data("to-new"), "exit 0", "a link to a file that does not exist");
	is_str(text_of("new"), "data", "makes the file");
	is_int(kind("to-new"), S_IFLNK, "and stays a link");
	refused(put("to-none"), "is a link that leads nowhere", "a link that leads nowhere");
	is_int(kind("to-none"), S_IFLNK, "stays, too");
	ok(put("loop")->type == PSSH_EV_ERROR, "a link to itself");
	is_int(kind("loop"), S_IFLNK, "stays, too");
	if (geteuid() != 0 && mkdir("closed", 0500))
		exit(99);
	refused(put(closed), "permission denied", "a directory without the right to write");
	refused(put_data(closed), "permission denied", "also for data");
	refused(put("none/plain"), "there is no such directory", "a directory that does not exist");
	ends(put("plain/below"), "PSSH_EREMOTE", "a file is no directory");
	is_str(text_of("plain"), "plain", "and stays one");
}

static void check_get(void)
{
	struct seen *s;

	refused(get_data("dir"), "is a directory", "data of a directory");
	refused(get_data("fifo"), "is not a plain file", "of a pipe");
	refused(get_data("/dev/zero"), "is not a plain file", "of a device");
	ends(get_data("to-other"), "exit 0", "of a link to a file");
	ends(get_data("to-none"), "PSSH_ENOENT", "of one that leads nowhere");
	ok(get_data("/proc/self/status")->out_len > 100, "a file without a size has bytes");
	refused(get("fifo", "got"), "neither a file nor a directory", "a pipe is not copied");
	refused(get("/dev/zero", "got"), "neither a file nor a directory", "a device, neither");
	ok(get("to-none", "got")->type == PSSH_EV_ERROR, "nor a link that leads nowhere");
	is_int(kind("got"), 0, "nothing is made here");
	s = get("plain", "fifo");
	ends(s, "PSSH_ELOCAL", "to a pipe here");
	has_str(s->text, "is not a plain file", "which says why");
	is_int(kind("fifo"), S_IFIFO, "it stays one");
	s = get("plain", "/dev/null");
	ends(s, "PSSH_ELOCAL", "to a device here");
	is_int(kind("/dev/null"), S_IFCHR, "it stays one");
	write_file("other", "old");
	ends(get("plain", "to-other"), "exit 0", "to a link here");
	is_str(text_of("other"), "plain", "the file is replaced");
	is_int(kind("to-other"), S_IFLNK, "the link stays");
	unlink("new");
	ends(get("plain", "to-new"), "exit 0", "to a link to a file that does not exist");
	is_str(text_of("new"), "plain", "makes the file");
	is_int(kind("to-new"), S_IFLNK, "and stays a link");
	ok(get("plain", "to-none")->type == PSSH_EV_ERROR, "to a link that leads nowhere");
	is_int(kind("to-none"), S_IFLNK, "stays, too");
	s = get("plain", "loop");
	ends(s, "PSSH_ELOCAL", "to a link to itself");
	has_str(s->text, "leads nowhere", "which says why");
	is_int(kind("loop"), S_IFLNK, "it stays, too");
}

int main(void)
{
	if (!drive_start(&d) || !getcwd(here, sizeof here))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	make_all();
	check_put();
	check_get();
	drive_end(&d, "odd");
	return done();
}
