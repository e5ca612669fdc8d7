/* SPDX-License-Identifier: Apache-2.0 */
/* Programs run to their end or left behind: statuses, sentences, deadlines, descriptors, and what outlives whom. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agentd/os/spawn.h"
#include "base/clock.h"

#include "../../lib/tap.h"

static char folder[64];

static int sh(const char *script, int64_t ms, struct buf *out, struct fail *f)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	*f = (struct fail){ 0 };
	if (out)
		buf_clear(out);
	return spawn_run(&(struct spawn){ .argv = argv }, ms, out, f);
}

static bool wait_file(const char *path, off_t size)
{
	const struct timespec tick = { .tv_nsec = 10000000 };
	struct stat st;

	for (int i = 0; i < 6000; i++, nanosleep(&tick, NULL))
		if (stat(path, &st) == 0 && st.st_size >= size)
			return true;
	return false;
}

static bool wait_gone(pid_t pid)
{
	const struct timespec tick = { .tv_nsec = 10000000 };

	for (int i = 0; i < 6000; i++, nanosleep(&tick, NULL)) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (kill(pid, 0) != 0 && errno == ESRCH)
			return true;
	}
	return false;
}

static void test_ends(struct buf *out)
{
	struct fail f;

	is_int(sh("echo hello; echo not that >&2", 60000, out, &f), 0, "it ends well");
	is_str(buf_text(out), "hello\n", "standard output is told, and nothing else");
	is_int(sh("echo 'first line' >&2; echo 'no such disk' >&2; exit 3", 60000, NULL, &f), -EIO, "it ends with 3");
	has_str(f.text, "status 3", "the sentence says so");
	has_str(f.text, "no such disk", "and what it said last");
	is_int(sh("kill -SEGV $$", 60000, NULL, &f), -EIO, "a signal ends it");
	has_str(f.text, "signal 11", "the sentence names it");
	is_int(spawn_words(60000, &f, "no-such-program-here", "x", (char *)NULL), -ENOENT, "not installed");
	is_int(spawn_words(60000, &f, "true", (char *)NULL), 0, "words");
	ok(spawn_words(60000, &f, "sh", "-c", "test \"$0\" = 'a b' -a \"$1\" = '$HOME;*'", "a b", "$HOME;*",
		   (char *)NULL) == 0,
		"words are not split nor read");
	ok(spawn_words(60000, &f, "/etc/passwd", (char *)NULL) < 0, "what is no program does not start");
}

static void test_time(struct buf *out)
{
	int64_t begun = clock_ms();
	struct fail f;

	is_int(sh("sleep 90 & sleep 90", 300, NULL, &f), -ETIMEDOUT, "it takes too long");
	ok(clock_ms() - begun < 60000, "and is not waited for");
	has_str(f.text, "took longer", "the sentence says so");
	begun = clock_ms();
	is_int(sh("exec >&- 2>&-; sleep 90", 300, NULL, &f), -ETIMEDOUT, "nor does it help to close what it says");
	ok(clock_ms() - begun < 60000, "it is not waited for either");
	begun = clock_ms();
	is_int(sh("echo before; sleep 50 & exit 0", 60000, out, &f), 0, "it ends while a child of it holds its output");
	ok(clock_ms() - begun < 40000, "the child is not waited for");
	is_str(buf_text(out), "before\n", "what it said is there");
}

static void test_much(void)
{
	struct buf small, big;
	struct fail f;

	buf_init(&small, 1000);
	buf_init(&big, 4 << 20);
	is_int(sh("head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero >&2", 60000, &big, &f), 0,
		"much on both ends");
	is_int(big.len, 3000000, "all of it came");
	is_int(sh("head -c 100000 /dev/zero", 60000, &small, &f), -EFBIG,
		"more than there is room for is a failure, not a piece");
	is_int(sh("head -c 3000000 /dev/zero | tr '\\0' y >&2; echo the end >&2; exit 1", 60000, NULL, &f), -EIO,
		"it complains at length");
	has_str(f.text, "the end", "the last of it is told");
	buf_release(&small);
	buf_release(&big);
}

/* What a program gets: environment, descriptors, signals, folder, input. */
static void test_given(struct buf *out)
{
	const char *const env[] = { "COLOUR=blue", NULL }, *const list[] = { "ls", "/proc/self/fd", NULL };
	const char *const argv[] = { "sh", "-c", "echo $COLOUR $LC_ALL ${SECRET-none} $(pwd); cat", NULL };
	int fd = open("/dev/null", O_RDONLY), in[2];
	struct fail f = { 0 };
	sigset_t set, old;

	setenv("SECRET", "told", 1);
	ok(fd >= 0 && pipe(in) == 0 && write(in[1], "input\n", 6) == 6, "(a descriptor that is not closed, and input)");
	close(in[1]);
	buf_clear(out);
	is_int(spawn_run(&(struct spawn){ .argv = argv, .env = env, .dir = "/usr", .in = in[0] }, 60000, out, &f), 0,
		"with all that it can be given");
	is_str(buf_text(out), "blue C none /usr\ninput\n", "it has that, and nothing of ours");
	close(in[0]);
	buf_clear(out);
	spawn_run(&(struct spawn){ .argv = list }, 60000, out, &f);
	is_str(buf_text(out), "0\n1\n2\n3\n", "no descriptor of ours is open in it (3 is its own look at them)");
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	signal(SIGPIPE, SIG_IGN);
	sh("grep -E 'SigBlk|SigIgn' /proc/self/status", 60000, out, &f);
	sigprocmask(SIG_SETMASK, &old, NULL);
	/* 32 and 33 belong to the C library, which lets nobody change them: they are as they were for this test. */
	ok(strcmp(buf_text(out), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n") == 0 ||
			strcmp(buf_text(out), "SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n") == 0,
		"signals are as a program expects them");
	close(fd);
}

static void test_net(struct buf *out)
{
	const char *const argv[] = { "readlink", "/proc/self/ns/net", NULL };
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct fail f = { 0 };

	if (geteuid() != 0 || fd < 0) {
		skip("only root enters a network namespace");
		return;
	}
	buf_clear(out);
	is_int(spawn_run(&(struct spawn){ .argv = argv, .net = fd }, 60000, out, &f), 0,
		"in a network namespace by its descriptor");
	has_str(buf_text(out), "net:[", "it runs there");
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ok(spawn_run(&(struct spawn){ .argv = argv, .net = fd }, 60000, out, &f) < 0,
		"what is no namespace: it does not start");
	close(fd);
}

/* The agent's child is killed: the programs that it ran end with it, those that it left behind stay. */
static void test_outlive(void)
{
	char pids[100], log[100], line[300];
	const char *const argv[] = { "sh", "-c", line, NULL };
	pid_t child, ran = 0, left = 0;
	struct fail f = { 0 };
	FILE *file;

	snprintf(pids, sizeof pids, "%s/ran", folder);
	snprintf(log, sizeof log, "%s/log", folder);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		snprintf(line, sizeof line, "echo left; exec sleep 60");
		if (spawn_leave(&(struct spawn){ .argv = argv }, log, -1, &left, &f))
			_exit(1);
		snprintf(line, sizeof line, "echo %d $$ > %s; exec sleep 60", (int)left, pids);
		spawn_run(&(struct spawn){ .argv = argv }, 60000, NULL, &f);
		_exit(0);
	}
	ok(wait_file(pids, 4), "both run");
	file = fopen(pids, "r");
	ok(file && fscanf(file, "%d %d", &left, &ran) == 2, "and told who they are");
	if (file)
		fclose(file);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ok(ran > 1 && wait_gone(ran), "what was run ends with who ran it");
	ok(left > 1 && kill(left, 0) == 0, "what was left stays");
	ok(left > 1 && getsid(left) == left, "in a session of its own");
	ok(wait_file(log, 5), "and its log has what it said");
	if (left > 1)
		kill(left, SIGKILL);
	ok(left > 1 && wait_gone(left), "until somebody ends it");
}

/* Killed between fork and setting the death signal: many times, at any moment. */
static void test_orphans(void)
{
	char pids[100], line[200];
	const char *const argv[] = { "sh", "-c", line, NULL };
	unsigned alive = 0;
	struct fail f = { 0 };

	snprintf(pids, sizeof pids, "%s/orphans", folder);
	snprintf(line, sizeof line, "echo $$ >> %s; exec sleep 60", pids);
	for (int i = 0; i < 60; i++) {
		const struct timespec ts = { .tv_nsec = i * 40000 };
		pid_t child = fork();

		if (child == 0) {
			spawn_run(&(struct spawn){ .argv = argv }, 60000, NULL, &f);
			_exit(0);
		}
		nanosleep(&ts, NULL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	FILE *file = fopen(pids, "r");
	int pid;

	while (file && fscanf(file, "%d", &pid) == 1)
		alive += !wait_gone(pid);
	if (file)
		fclose(file);
	is_int(alive, 0, "of 60 that were killed while they began nothing lives on");
}

static int refuse(void *arg)
{
	return *(int *)arg;
}

static void test_leave(void)
{
	const char *const argv[] = { "sh", "-c", "cat <&3; echo and >&2; ls /proc/self/fd | tr '\\n' ' '", NULL };
	char log[100], text[200] = "";
	int in[2], code = -EPERM;
	struct fail f = { 0 };
	struct stat st;
	pid_t pid = 0;
	FILE *file;

	snprintf(log, sizeof log, "%s/leave", folder);
	ok(pipe(in) == 0 && write(in[1], "kept\n", 5) == 5, "(something to keep)");
	close(in[1]);
	is_int(spawn_leave(&(struct spawn){ .argv = argv }, log, in[0], &pid, &f), 0,
		"left behind with one descriptor");
	ok(pid > 0 && waitpid(pid, NULL, 0) == pid, "it ended");
	file = fopen(log, "r");
	ok(file && fread(text, 1, sizeof text - 1, file) > 0, "it said something");
	if (file)
		fclose(file);
	is_str(text, "kept\nand\n0 1 2 3 4 ", "it had descriptor 3, and no other (4 is its own look at them)");
	ok(stat(log, &st) == 0 && (st.st_mode & 0777) == 0600, "its log is for nobody else");
	is_int(spawn_leave(&(struct spawn){ .argv = argv, .prepare = refuse, .arg = &code }, log, -1, &pid, &f), -EPERM,
		"what is not prepared does not start");
	is_int(spawn_leave(&(struct spawn){ .argv = (const char *const[]){ "no-such-program", NULL } }, log, -1, &pid,
		       &f),
		-ENOENT, "nor what is not there");
	close(in[0]);
}

int main(void)
{
	struct buf out;
	char room[100];

	plan_none;
	snprintf(folder, sizeof folder, "/tmp/nanopod-spawn.XXXXXX");
	if (!mkdtemp(folder))
		skip_all("no folder in /tmp");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	buf_init(&out, 1 << 20);
	ok(spawn_find("sh", room, sizeof room), "sh is found");
	ok(!spawn_find("no-such-program-here", room, sizeof room), "what is not there is not");
	test_ends(&out);
	test_time(&out);
	test_much();
	test_given(&out);
	test_net(&out);
	test_leave();
	test_outlive();
	test_orphans();
	buf_release(&out);
	snprintf(room, sizeof room, "%s", folder);
	spawn_words(60000, NULL, "rm", "-rf", room, (char *)NULL);
	return done();
}
