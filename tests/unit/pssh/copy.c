/* SPDX-License-Identifier: Apache-2.0 */
/* Copies against a real sftp-server on a socketpair: no SSH, no port. */
#include <arpa/inet.h>
#include <sys/syscall.h>
#include <time.h>

#include "copyway.h"

/* ---- Plain ----------------------------------------------------------------------------- */

static void test_files(void)
{
	static const size_t sizes[] = { 0, 1, 32599, 32600, 32768, 100001, 3 * MB + 17 };
	struct way w = { .chunk = 5000 };
	struct fail f;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		make("src", sizes[i], (unsigned)i, 0640);
		is_int(put(&w, at("src"), "dst", 0, &f), 0, "put %zu bytes %s", sizes[i], f.text);
		ok(same("src", "dst"), "they arrive");
		is_int(get(&w, "dst", at("back"), 0, &f), 0, "get %zu bytes %s", sizes[i], f.text);
		ok(same("src", "back"), "they come back");
		shell("rm -f dst back");
	}
	make("src", 100, 1, 0751);
	put(&w, at("src"), "~/dst", 0, &f);
	is_int(mode_of("dst"), 0751 & ~022, "a new file has the source's mode less the host's mask");
	chmod(at("dst"), 0604);
	put(&w, at("src"), at("dst"), 0, &f);
	is_int(mode_of("dst"), 0604, "a file that is replaced keeps its mode");
	umask(027);
	get(&w, at("src"), at("back"), 0, &f);
	is_int(mode_of("back"), 0751 & ~027, "so has a file that was got");
	umask(022);
	chmod(at("back"), 0606);
	get(&w, at("src"), at("back"), 0, &f);
	is_int(mode_of("back"), 0606, "and one that is replaced here keeps its own");
	ok(no_parts(), "no temporary file is left");
	shell("rm -f dst back src");
}

static void test_names(void)
{
	struct way w = { 0 };
	struct fail f;
	char huge[256];

	make("src", 1000, 3, 0644);
	shell("mkdir d; ln -s dst link; ln -s d dlink; printf old >dst; mkfifo pipe");
	is_int(put(&w, at("src"), "d", 0, &f), 0, "a directory takes the file");
	ok(same("src", "d/src"), "under its own name");
	is_int(put(&w, at("src"), "dlink/", 0, &f), 0, "so does a link to one");
	is_int(put(&w, at("src"), "link", 0, &f), 0, "a link to a file is written through");
	ok(same("src", "dst") && shell("test -L link"), "and stays a link");
	is_int(get(&w, "src", at("d/"), 0, &f), 0, "a local directory takes the file too");
	is_int(put(&w, at("src"), "none/", 0, &f), 0, "a directory that is missing is made for a target with a slash");
	ok(same("src", "none/src") && no_parts(), "and takes it");
	is_int(put(&w, at("src"), "no/such/", 0, &f), PSSH_EREMOTE, "its parent is not");
	has_str(f.text, "'no/such' on the host: its parent is missing", "and is named: %s", f.text);
	is_int(put(&w, at("src"), "dst/", 0, &f), PSSH_EREMOTE, "a file with a slash is no directory");
	has_str(f.text, "'dst' on the host is not a directory", "and is named: %s", f.text);
	is_int(put(&w, at("src"), "no/such/x", 0, &f), PSSH_EREMOTE, "a missing parent");
	has_str(f.text, "'no/such/x'", "is named: %s", f.text);
	is_int(put(&w, at("src"), "pipe", 0, &f), PSSH_EREMOTE, "a pipe is no target: %s", f.text);
	is_int(put(&w, at("src"), "/dev/null", 0, &f), PSSH_EREMOTE, "nor is a device");
	is_int(get(&w, "src", at("no/such/x"), 0, &f), PSSH_ELOCAL, "a missing local parent");
	has_str(f.text, "no/such'", "is named: %s", f.text);
	is_int(get(&w, "absent", at("x"), 0, &f), PSSH_ENOENT, "a remote file that is not there");
	has_str(f.text, "'absent' on the host: no such file", "is named");
	is_int(get(&w, "pipe", at("x"), 0, &f), PSSH_EREMOTE, "a remote pipe is not read");
	is_int(get(&w, "d", at("x"), 0, &f), PSSH_EREMOTE, "a directory needs to be asked for");
	is_int(put(&w, at("d"), "x", 0, &f), PSSH_EINVAL, "here too");
	is_int(put(&w, at("absent"), "x", 0, &f), PSSH_ENOENT, "a local file that is not there");
	is_int(put(&w, at("src"), "~other/x", 0, &f), PSSH_EUNSUPPORTED, "other people's homes");
	memset(huge, 'n', 255);
	huge[255] = '\0';
	is_int(put(&w, at("src"), huge, 0, &f), 0, "the longest name: %s", f.text);
	is_int(get(&w, huge, at("d/"), PSSH_COPY_RESUME, &f), 0, "and back: %s", f.text);
	is_int(get(&w, "/proc/self/status", at("proc"), 0, &f), 0, "a file whose size is not known");
	ok(shell("grep -q ^Name: proc"), "is read to its end");
	is_int(get(&w, "src", at("new/"), 0, &f), 0, "a local directory with a slash is made");
	ok(same("src", "new/src") && no_parts(), "and takes it");
	shell("rm -rf d link dlink dst pipe n* proc src");
}

/* ---- Trees ----------------------------------------------------------------------------- */

static void test_trees(void)
{
	struct way w = { 0 };
	struct fail f;

	shell("mkdir -p t/a/b/c t/empty t/a/' sp \"x\" '; i=0; while [ $i -lt 300 ]; do echo $i >t/a/f$i; i=$((i+1)); "
	      "done;"
	      "head -c 200000 /dev/urandom >t/a/b/c/big; echo x >t/a/' sp \"x\" '/'-n'; ln -s a/f1 t/link; mkdir -p "
	      "out/t2");
	is_int(put(&w, at("t"), "out", PSSH_COPY_RECURSIVE, &f), 0, "a tree goes into a directory %s", f.text);
	ok(shell("diff -r t out/t"), "and is the same there");
	is_int(put(&w, at("t/."), "out/t2", PSSH_COPY_RECURSIVE, &f), 0, "'.' has its name %s", f.text);
	ok(shell("diff -r t out/t2/t"), "and is the same there");
	is_int(put(&w, at("t"), "fresh", PSSH_COPY_RECURSIVE, &f), 0, "or takes a new name");
	ok(shell("diff -r t fresh"), "and is the same there");
	is_int(get(&w, "t/", at("back"), PSSH_COPY_RECURSIVE, &f), 0, "a tree comes back %s", f.text);
	ok(shell("diff -r t back"), "and is the same here");
	w.chunk = 700;
	is_int(get(&w, "t", at("back"), PSSH_COPY_RECURSIVE | PSSH_COPY_CHECKSUM, &f), 0,
		"into a directory, compared %s", f.text);
	ok(shell("diff -r t back/t"), "and is the same here");
	ok(no_parts(), "no temporary file is left");
	shell("rm -rf out back fresh");
	is_int(put(&w, at("t"), "out/", PSSH_COPY_RECURSIVE, &f), 0, "a slash means inside, made or not %s", f.text);
	is_int(get(&w, "t", at("back/"), PSSH_COPY_RECURSIVE, &f), 0, "in both directions %s", f.text);
	ok(shell("diff -r t out/t && diff -r t back/t"), "and is the same");
	shell("rm -rf out back");

	/* q/t/up/t is a plain directory below a link, and is q/t. */
	shell("mkdir q; mv t q/t; ln -s .. q/t/up; ln -s nowhere q/t/dangling; mkfifo q/t/pipe; ln -s ../../a "
	      "q/t/a/b/again");
	w = (struct way){ 0 };
	is_int(put(&w, at("q/t"), "out", PSSH_COPY_RECURSIVE, &f), PSSH_ELOCAL,
		"what cannot be copied is a failure at the end");
	has_str(f.text, "(and 3 more failed)", "and counted: %s", f.text);
	ok(shell("diff -q q/t/a/f7 out/a/f7 && diff -q q/t/a/b/c/big out/a/b/c/big"), "the rest arrives");
	w = (struct way){ 0 };
	is_int(get(&w, "q/t", at("back"), PSSH_COPY_RECURSIVE, &f), PSSH_EREMOTE, "the same from there");
	has_str(f.text, "(and 3 more failed)", "and counted: %s", f.text);
	ok(w.notes == 4, "each is told of");
	ok(shell("diff -q q/t/a/f7 back/a/f7 && diff -q q/t/a/b/c/big back/a/b/c/big"), "the rest arrives");
	shell("rm -rf out back q");

	shell("mkdir -p p/d p/e; echo 1 >p/d/f; chmod 705 p/d/f; touch -d @1000000001 p/d/f p/d; chmod 500 p/e; touch "
	      "-d @1000000007 p/e");
	is_int(put(&w, at("p"), "out", PSSH_COPY_RECURSIVE | PSSH_COPY_PRESERVE, &f), 0, "modes and times %s", f.text);
	ok(shell("test \"$(cd p; stat -c '%n %a %Y' d d/f e)\" = \"$(cd out; stat -c '%n %a %Y' d d/f e)\""),
		"are kept there");
	is_int(get(&w, "p", at("back"), PSSH_COPY_RECURSIVE | PSSH_COPY_PRESERVE, &f), 0, "and back %s", f.text);
	ok(shell("test \"$(cd p; stat -c '%n %a %Y' d d/f e)\" = \"$(cd back; stat -c '%n %a %Y' d d/f e)\""),
		"kept here");
	shell("echo x >file; mkdir -p tt/file; echo y >tt/g; mkdir dd; echo z >dd/file");
	is_int(put(&w, at("tt"), "file", PSSH_COPY_RECURSIVE, &f), PSSH_EREMOTE, "a tree onto a file: %s", f.text);
	is_int(put(&w, at("tt/."), "dd/../dd/file", PSSH_COPY_RECURSIVE, &f), PSSH_EREMOTE, "by another way: %s",
		f.text);
	shell("mkdir dd/tt; echo x >dd/tt/file");
	is_int(put(&w, at("tt"), "dd", PSSH_COPY_RECURSIVE, &f), PSSH_EREMOTE, "a directory onto a file: %s", f.text);
	ok(shell("diff -q tt/g dd/tt/g"), "the rest arrives");
	shell("chmod -R u+rwx .; rm -rf p out back tt dd file");
}

/* ---- Ways -------------------------------------------------------------------------------- */

static void test_checksum(void)
{
	struct way w = { 0 };
	struct fail f;

	make("src", 3 * MB, 11, 0644);
	is_int(put(&w, at("src"), "dst", PSSH_COPY_CHECKSUM, &f), 0, "a put, compared by a command %s", f.text);
	is_int(w.commands, 1, "that ran once");
	is_int(get(&w, "src", at("back"), PSSH_COPY_CHECKSUM, &f), 0, "a get too %s", f.text);
	ok(same("src", "dst") && same("src", "back"), "and both are right");
	w = (struct way){ .no_exec = true };
	is_int(put(&w, at("src"), "dst", PSSH_COPY_CHECKSUM, &f), 0, "read back where there is no command %s", f.text);
	ok(w.got > 3 * MB, "all of it");
	is_int(get(&w, "src", at("back"), PSSH_COPY_CHECKSUM, &f), 0, "a get too %s", f.text);
	w = (struct way){ .wrong_sum = true };
	shell("echo old >dst; echo old >back");
	is_int(put(&w, at("src"), "dst", PSSH_COPY_CHECKSUM, &f), PSSH_ECHECKSUM, "a put that differs: %s", f.text);
	is_int(get(&w, "src", at("back"), PSSH_COPY_CHECKSUM, &f), PSSH_ECHECKSUM, "a get that differs: %s", f.text);
	ok(shell("grep -q old dst && grep -q old back") && no_parts(), "does not replace what was there");
	shell("rm -f src dst back");
}

static bool inode_is(const char *name, ino_t is)
{
	struct stat st = { 0 };

	return stat(at(name), &st) == 0 && st.st_ino == is;
}

static void test_update(void)
{
	unsigned update = PSSH_COPY_UPDATE | PSSH_COPY_RECURSIVE;
	struct way w = { 0 };
	struct stat there, here;
	struct fail f;

	shell("mkdir -p t/d; echo one >t/a; echo two >t/d/b; ln -s a t/l; touch -d @1000000001.7 t/a t/d/b");
	is_int(put(&w, at("t"), "out", update, &f), 0, "a first put %s", f.text);
	is_int(get(&w, "t", at("back"), update, &f), 0, "a first get %s", f.text);
	is_int(get(&w, "t/a", at("one"), PSSH_COPY_UPDATE, &f), 0, "of a file %s", f.text);
	ok(shell("test $(stat -c %Y out/a) = 1000000001 -a $(stat -c %Y back/d/b) = 1000000001"), "keep times");
	stat(at("out/a"), &there);
	stat(at("back/a"), &here);
	w = (struct way){ 0 };
	is_int(put(&w, at("t/a"), "out/a", PSSH_COPY_UPDATE, &f), 0, "a second put %s", f.text);
	is_int(get(&w, "t/a", at("back/a"), PSSH_COPY_UPDATE, &f), 0, "a second get %s", f.text);
	ok(inode_is("out/a", there.st_ino) && inode_is("back/a", here.st_ino), "leaves them alone");
	chmod(at("t/a"), 0741);
	is_int(put(&w, at("t/a"), "out/a", PSSH_COPY_UPDATE | PSSH_COPY_PRESERVE, &f), 0, "only the mode differs");
	is_int(get(&w, "t/a", at("back/a"), PSSH_COPY_UPDATE | PSSH_COPY_PRESERVE, &f), 0, "both ways");
	ok(inode_is("out/a", there.st_ino) && inode_is("back/a", here.st_ino), "they are left alone");
	ok(mode_of("out/a") == 0741 && mode_of("back/a") == 0741, "and have the mode");
	shell("echo 1 >t/a; touch -d @1000000001 t/a");
	is_int(put(&w, at("t/a"), "out/a", PSSH_COPY_UPDATE, &f), 0, "another size, the same time");
	is_int(get(&w, "t/a", at("back/a"), PSSH_COPY_UPDATE, &f), 0, "both ways");
	ok(same("t/a", "out/a") && same("t/a", "back/a"), "is copied");
	shell("echo 2 >t/a; touch -d @1000000002 t/a");
	is_int(put(&w, at("t/a"), "out/a", PSSH_COPY_UPDATE, &f), 0, "the same size, another time");
	is_int(get(&w, "t/a", at("back/a"), PSSH_COPY_UPDATE, &f), 0, "both ways");
	ok(same("t/a", "out/a") && same("t/a", "back/a"), "is copied");
	is_int(put(&w, at("t/a"), "out/d", PSSH_COPY_UPDATE, &f), 0, "a directory is never the same as a file");
	ok(same("t/a", "out/d/a") && no_parts(), "it takes the file");
	shell("rm -rf t out back one");
}

static void test_sparse(void)
{
	struct way w = { 0 };
	struct fail f;

	shell("truncate -s 100M src; printf x | dd of=src bs=1 seek=5000000 conv=notrunc status=none;"
		"printf y | dd of=src bs=1 seek=50000000 conv=notrunc status=none");
	is_int(put(&w, at("src"), "dst", PSSH_COPY_SPARSE | PSSH_COPY_CHECKSUM, &f), 0, "a sparse put %s", f.text);
	ok(same("src", "dst") && w.sent < 200000, "sends %llu bytes", (unsigned long long)w.sent);
	ok(shell("test $(stat -c %b dst) -lt 1000"), "and makes holes");
	is_int(get(&w, "src", at("back"), PSSH_COPY_SPARSE, &f), 0, "a sparse get %s", f.text);
	ok(same("src", "back") && shell("test $(stat -c %b back) -lt 1000"), "makes holes");
	w.chunk = 3000;
	make("odd", 300001, 4, 0644);
	shell("head -c 50001 /dev/zero >>odd; head -c 1 src >>odd");
	is_int(get(&w, "odd", at("back"), PSSH_COPY_SPARSE, &f), 0, "zeros here and there %s", f.text);
	ok(same("odd", "back"), "are the same");
	shell("rm -f src dst back odd");
}

static void test_old_server(void)
{
	struct way w = { .old_server = true };
	struct fail f;

	make("src", 1000, 15, 0644);
	shell("echo old >dst");
	is_int(put(&w, at("src"), "dst", 0, &f), 0, "a server that cannot replace %s", f.text);
	ok(same("src", "dst") && no_parts(), "gets the file");
	shell("rm -f src dst");
}

/* One source, many hosts at once. */
static void test_shared(void)
{
	enum { HOSTS = 20 };
	struct copy_source *s;
	struct copy *c[HOSTS];
	struct way w[HOSTS] = { 0 };
	struct fail f;
	unsigned left = HOSTS, good = 0;
	time_t end = time(NULL) + 60;

	make("src", 2 * MB, 17, 0644);
	is_int(copy_source_new(at("src"), 0, &s, &f), 0, "one source");
	for (unsigned i = 0; i < HOSTS; i++) {
		char name[32];

		snprintf(name, sizeof name, "dst%u", i);
		copy_new_put(s, name, PSSH_COPY_CHECKSUM, &c[i], &f);
		way_open(&w[i]);
	}
	while (left && time(NULL) < end) {
		left = 0;
		for (unsigned i = 0; i < HOSTS; i++) {
			const char *command = copy_checksum_command(c[i]);

			if (command)
				run_command(&w[i], c[i], command);
			way_write(&w[i], c[i]);
			if (!copy_finished(c[i]))
				way_read(&w[i], c[i]);
			left += !copy_finished(c[i]);
		}
	}
	for (unsigned i = 0; i < HOSTS; i++) {
		char name[32];

		snprintf(name, sizeof name, "dst%u", i);
		good += copy_result(c[i], &f) == 0 && same("src", name);
		copy_free(c[i]);
		way_close(&w[i]);
	}
	is_int(good, HOSTS, "all hosts have it");
	copy_source_free(s);
	shell("rm -f src dst*");
}

static uint32_t request_word(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return ntohl(v);
}

/* By requests to read: they are of type 5 and end with a length. */
static uint64_t bytes_asked(const char *data, size_t len)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i += 4 + request_word(data + i))
		sum += data[i + 4] == 5 ? request_word(data + i + request_word(data + i)) : 0;
	return sum;
}

/* A way has a time of its own, in nanoseconds: a busy machine looks like a slow way. 0: the machine's. */
static int64_t way_ns;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!way_ns || clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ts);
	*ts = (struct timespec){ .tv_sec = way_ns / 1000000000, .tv_nsec = way_ns % 1000000000 };
	return 0;
}

/* All that comes, a byte in a nanosecond; of a slow way so many bytes at most, and then nothing until the next look. */
static void read_ahead(struct way *w, struct copy *c, bool slow)
{
	do {
		uint64_t before = w->got;

		way_read(w, c);
		way_ns += (int64_t)(w->got - before);
	} while (!slow && !copy_finished(c) && poll(&(struct pollfd){ .fd = w->fd, .events = POLLIN }, 1, 50) > 0);
}

/* The most MiB outstanding of a file from a server whose answers take so long. */
static int asked_ahead(int ms, bool slow)
{
	struct way w = { 0 };
	struct copy_progress got = { 0 };
	uint64_t asked = 0, most = 0;
	struct fail f;
	struct copy *c;
	size_t len;

	if (copy_new_get(at("src"), at("dst"), 0, &c, &f))
		abort();
	way_open(&w);
	way_ns = 1;
	for (const char *data; !copy_finished(c); read_ahead(&w, c, slow)) {
		for (copy_output(c, &data, &len); len; copy_output(c, &data, &len)) {
			asked += bytes_asked(data, len);
			if (send(w.fd, data, len, MSG_NOSIGNAL) != (ssize_t)len)
				abort();
			copy_sent(c, len);
		}
		copy_progress(c, &got);
		most = asked - got.done > most ? asked - got.done : most;
		way_ns += ms * 1000000L + 10000;
		poll(&(struct pollfd){ .fd = w.fd, .events = POLLIN }, 1, 10000);
	}
	way_ns = 0;
	copy_free(c);
	way_close(&w);
	shell("rm -f dst*");
	return (int)(most / MB);
}

/*
 * Where an answer takes a while because the way is long, more is asked for. Where it does because the way is full or
 * the host busy, more would only wait there.
 */
static void test_ahead(void)
{
	static const struct {
		int ms, most;
		bool slow;
		const char *what;
	} ways[] = {
		{ 20, 8, false, "so many MiB of a far server are asked for at once" },
		{ 0, 2, false, "of a near one" },
		{ 6, 2, true, "and of one that is near and busy" },
	};

	shell("truncate -s 48M src");
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		int most = 0;

		/* Where this machine stops for long, one answer comes with the next. */
		for (int tries = 0; tries < 20 && most != ways[i].most; tries++)
			most = asked_ahead(ways[i].ms, ways[i].slow);
		is_int(most, ways[i].most, "%s", ways[i].what);
	}
	shell("rm -f src");
}

int main(void)
{
	if (!way_begin())
		return 1;
	test_files();
	test_names();
	test_trees();
	test_checksum();
	test_update();
	test_sparse();
	test_old_server();
	test_shared();
	test_ahead();
	return way_end();
}
