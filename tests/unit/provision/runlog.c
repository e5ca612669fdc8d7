/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a cluster's runs: its owner's alone, one writer at a time, whole lines after a crash, no hostile names. */
#include "../../lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/provision/rollout/rollout.h"
#include "cli/provision/report/runlog.h"

static char home[] = "/tmp/nanopod-journal.XXXXXX", folder[PATH_MAX], path[PATH_MAX + 64];
static struct fail why;

static const char *in(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static unsigned mode(const char *name)
{
	struct stat st;

	return stat(in(name), &st) ? 0 : st.st_mode & 07777;
}

static void test_names(void)
{
	static const char *const bad[] = { "", "..", ".", "a/b", "-x", "a b", "a.b", "a\n", "../x", "\xc3\xa4",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct runlog *j;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(runlog_open(bad[i], &j, &why) == -EINVAL, "'%s' is refused", bad[i]);
}

static void test_kept(void)
{
	char members[2][8] = { "n1", "n2" }, *const list[] = { members[0], members[1] };
	struct buf text;
	struct runlog *j;
	char **names;

	buf_init(&text, 4096);
	ok(runlog_kept("train", &text, &why) == -ENOENT, "nothing is known at first");
	ok(runlog_open("train", &j, &why) == 0, "opened: %s", why.text);
	runlog_folder("train", folder, sizeof folder, &why);
	runlog_close(j);
	ok(access(folder, F_OK) < 0, "what only looked leaves no trace");
	ok(runlog_open("train", &j, &why) == 0 && runlog_keep(j, "cluster: train\n", 15, list, 2, &why) == 0,
		"kept: %s", why.text);
	is_int(mode("."), 0700, "the folder is its owner's alone");
	is_int(mode("cluster.yaml"), 0600, "and the file");
	is_int(mode("journal.jsonl"), 0600, "and the journal");
	runlog_close(j);
	ok(runlog_kept("train", &text, &why) == 0 && strcmp(buf_text(&text), "cluster: train\n") == 0, "reads back");
	buf_clear(&text);
	ok(runlog_members("train", &text, &why) == 0 && strcmp(buf_text(&text), "n1\nn2\n") == 0, "members too");
	names = runlog_clusters();
	ok(names[0] && strcmp(names[0], "train") == 0 && !names[1], "it is listed");
	free(names[0]);
	free(names);
	buf_release(&text);
}

static void test_lock(void)
{
	struct runlog *j, *other;
	char pid[32];

	ok(runlog_open("train", &j, &why) == 0, "one holds it");
	if (fork() == 0)
		_exit(runlog_open("train", &other, &why) == -EBUSY && strstr(why.text, "process") ? 0 : 1);
	int status = 1;
	wait(&status);
	is_int(status, 0, "another is refused");
	ok(runlog_open("train", &other, &why) == -EBUSY, "in the same process too");
	snprintf(pid, sizeof pid, "process %ld", (long)getpid());
	ok(strstr(why.text, pid) != NULL, "and told who: %s", why.text);
	runlog_close(j);
	ok(runlog_open("train", &j, &why) == 0, "free again");
	runlog_close(j);
}

static void test_lines(void)
{
	struct note n = { .kind = NOTE_END, .node = "n1\n", .stack = "s", .step = "t", .text = "why \"so\"", .ms = 5 };
	struct journal_run last;
	struct runlog *j;
	struct buf text;
	int fd;

	buf_init(&text, 65536);
	ok(!runlog_last("train", &last), "nothing was done yet");
	runlog_open("train", &j, &why);
	is_int(runlog_note(j, &n), 0, "a note");
	n.kind = NOTE_LOG;
	is_int(runlog_note(j, &n), 0, "a line of a program");
	is_int(runlog_ran(j, "apply", 10), 0, "and how it ended");
	runlog_close(j);
	fd = open(in("journal.jsonl"), O_WRONLY | O_APPEND);
	ok(write(fd, "{\"seq\":9,\"event\":\"run\",\"what\":\"rem", 34) == 34, "a crash in the middle of a line");
	close(fd);
	ok(runlog_last("train", &last) && strcmp(last.verb, "apply") == 0 && last.status == 10,
		"the torn line is not read");
	runlog_open("train", &j, &why);
	is_int(runlog_ran(j, "verify", 0), 0, "the next one");
	runlog_close(j);
	ok(runlog_last("train", &last) && strcmp(last.verb, "verify") == 0 && last.status == 0, "is whole");
	ok(buf_read_file(&text, in("journal.jsonl")) == 0 && strstr(buf_text(&text), "\"event\":\"end\"") &&
			strstr(buf_text(&text), "n1\\n") && !strstr(buf_text(&text), "\"log\""),
		"ends are kept, log lines are not");
	buf_release(&text);
}

static void test_logs(void)
{
	char log[PATH_MAX];
	struct runlog *j;
	int fd;

	runlog_open("train", &j, &why);
	fd = runlog_log(j, "slurm", "packages", "root@n1:22/../../x", log, sizeof log);
	ok(fd >= 0 && strstr(log, "/logs/slurm.packages.root@n1_22_.._.._x.log") != NULL,
		"a hostile node's log stays in its folder: %s", log);
	ok(write(fd, "old", 3) == 3, "written");
	close(fd);
	fd = runlog_log(j, "slurm", "packages", "root@n1:22/../../x", log, sizeof log);
	is_int(lseek(fd, 0, SEEK_END), 0, "the next run's begins empty");
	close(fd);
	ok(runlog_log(j, "..", "a", "b", log, sizeof log) < 0, "a name that begins with a dot is refused");
	runlog_close(j);
}

static void test_forget(void)
{
	struct runlog *j;

	runlog_open("train", &j, &why);
	is_int(runlog_forget(j, &why), 0, "forgotten: %s", why.text);
	runlog_close(j);
	ok(access(folder, F_OK) < 0, "its folder is gone");
	ok(runlog_open("train", &j, &why) == 0, "and can be made again");
	runlog_close(j);
}

int main(void)
{
	if (!mkdtemp(home))
		return 99;
	setenv("XDG_STATE_HOME", home, 1);
	test_names();
	test_kept();
	test_lock();
	test_lines();
	test_logs();
	test_forget();
	snprintf(path, sizeof path, "%s/nanopod/clusters", home);
	rmdir(path);
	snprintf(path, sizeof path, "%s/nanopod", home);
	rmdir(path);
	is_int(rmdir(home), 0, "nothing is left");
	return done();
}
