/* SPDX-License-Identifier: Apache-2.0 */
/* Output that is held back: all of it comes, no faster than allowed, in a file of bounded space; nobody dies of it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agentd/os/throttle.h"
#include "base/clock.h"

#include "../../lib/tap.h"

enum { MIB = 1 << 20, PIECE = 64 * 1024 };

static char path[64];

static int fresh_file(void)
{
	return open(path, O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static char byte_at(long at)
{
	return (char)('a' + at / 7 % 26);
}

/* A program that writes so many bytes, byte_at() each; returns once it and the child that moves them have ended. */
static int64_t run_writer(const struct throttle *t, long bytes)
{
	int64_t from = clock_ms();
	int fd = fresh_file();
	pid_t pid = fork();

	if (pid == 0) {
		char piece[1000];

		if (throttle_output(fd, t) != 0)
			_exit(9);
		for (long at = 0; at < bytes;) {
			long n = bytes - at < 1000 ? bytes - at : 1000;

			for (long i = 0; i < n; i++)
				piece[i] = byte_at(at + i);
			if (write(fd, piece, (size_t)n) != n)
				_exit(8);
			at += n;
		}
		_exit(0);
	}
	close(fd);
	for (int status; waitpid(-1, &status, 0) > 0;)
		if (status)
			return -1;
	return errno == ECHILD ? clock_ms() - from : -1;
}

/* The first place from `at` on that is not what was written, or the file's size. */
static long first_wrong(long at)
{
	FILE *f = fopen(path, "r");
	int c;

	if (!f || fseek(f, at, SEEK_SET) != 0)
		return -1;
	while ((c = getc(f)) != EOF && (char)c == byte_at(at))
		at++;
	fclose(f);
	return at;
}

static void test_passes(void)
{
	const struct throttle t = { .burst = 1 << 30, .rate = 1 << 30, .most = 1 << 30, .kept = MIB };

	ok(run_writer(&t, 3 * MIB + 17) >= 0, "a program writes, and the child that moves it ends after it");
	is_int(first_wrong(0), 3 * MIB + 17, "all of it is there, in its order");
}

static void test_rate(void)
{
	const struct throttle t = { .burst = MIB / 4, .rate = MIB, .most = 1 << 30, .kept = MIB };
	int64_t ms = run_writer(&t, MIB);

	ok(ms >= 700, "a burst passes at once, the rest at its rate: %lld ms for three quarters of a second",
		(long long)ms);
	is_int(first_wrong(0), MIB, "nothing is lost by that");
	ms = run_writer(&(const struct throttle){ .burst = MIB, .rate = 1, .most = 1 << 30, .kept = MIB }, MIB);
	is_int(first_wrong(0), MIB, "a burst waits for nothing (%lld ms)", (long long)ms);
}

static void test_space(void)
{
	const struct throttle t = { .burst = 1 << 30, .rate = 1 << 30, .most = MIB, .kept = MIB / 4 };
	struct stat st = { 0 };

	ok(run_writer(&t, 8 * MIB) >= 0 && stat(path, &st) == 0, "a program writes more than its file may hold");
	is_int(st.st_size, 8 * MIB, "the file has its size");
	ok((long)st.st_blocks * 512 <= MIB + PIECE, "and no more space than it may: %ld KiB", (long)st.st_blocks / 2);
	is_int(first_wrong(8 * MIB - MIB / 4), 8 * MIB, "its end is there");
}

static pid_t only_child(void)
{
	char list[64];
	FILE *f;
	int pid = 0;

	snprintf(list, sizeof list, "/proc/self/task/%d/children", (int)getpid());
	f = fopen(list, "r");
	if (!f || fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static void test_killed(void)
{
	const struct throttle t = { .burst = 1 << 30, .rate = 1 << 30, .most = 1 << 30, .kept = MIB };
	static char piece[PIECE];
	int fd = fresh_file();
	pid_t mover;

	is_int(throttle_output(fd, &t), 0, "an output is held back");
	mover = only_child();
	ok(mover > 0 && kill(mover, SIGKILL) == 0 && waitpid(mover, NULL, 0) == mover, "(and its child killed)");
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, piece, sizeof piece) > 0)
		;
	is_int(errno, EAGAIN, "who writes then would wait, and is not killed for it");
	close(fd);
}

int main(void)
{
	plan_none;
	snprintf(path, sizeof path, "/tmp/nanopod-throttle.XXXXXX");
	close(mkstemp(path));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	is_int(throttle_output(-1, &(const struct throttle){ .rate = 1 }), -EBADF, "no descriptor, no child");
	test_passes();
	test_rate();
	test_space();
	test_killed();
	unlink(path);
	return done();
}
