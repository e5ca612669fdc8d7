/* SPDX-License-Identifier: Apache-2.0 */
/* Copies against a real sftp-server on a socketpair: no SSH, no port, and faults where we want them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "base/buf.h"
#include "pssh/copy.h"
#include "pssh/pssh.h"

enum { MB = 1 << 20 };

static char top[64], server[128];

static const char *find_server(void)
{
	static const char *const places[] = { "/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server",
		"/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server", "/usr/lib/sftp-server" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

/* ---- A peer, and the way to it --------------------------------------------------------- */

struct way {
	pid_t pid;
	int fd;
	/* Settings. */
	size_t chunk;            /* most bytes moved at once; 0: as many as come */
	bool no_exec, wrong_sum, old_server;
	uint64_t kill_after;     /* bytes of the copy; the server dies then */
	uint64_t cancel_after, act_after;
	void (*act)(void *arg);
	void *arg;
	rlim_t file_limit;
	/* What was seen. */
	uint64_t sent, got;
	unsigned commands, notes;
	char note[512];
};

static void way_open(struct way *w)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	w->pid = fork();
	if (w->pid == 0) {
		struct rlimit limit = { w->file_limit, w->file_limit };

		dup2(pair[1], 0);
		dup2(pair[1], 1);
		if (w->file_limit)
			setrlimit(RLIMIT_FSIZE, &limit);
		umask(022);
		execl(server, "sftp-server", "-d", top, (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	w->fd = pair[0];
	fcntl(w->fd, F_SETFL, O_NONBLOCK);
}

static void way_close(struct way *w)
{
	close(w->fd);
	waitpid(w->pid, NULL, 0);
}

static void run_command(struct way *w, struct copy *c, const char *command)
{
	char line[8192], out[256];
	FILE *p;
	size_t n = 0;
	int status = -1;

	w->commands++;
	if (!w->no_exec) {
		snprintf(line, sizeof line, "cd '%s' && %s", top, command);
		p = popen(line, "r");
		n = fread(out, 1, sizeof out, p);
		status = pclose(p);
		if (w->wrong_sum && n)
			out[0] = out[0] == '0' ? '1' : '0';
	}
	copy_checksum_result(c, status, out, n);
}

/* The extension's name is made another one: a server that has it not. */
static void make_old(char *data, size_t n)
{
	char *at = memmem(data, n, "posix-rename", 12);

	if (at)
		*at = 'x';
}

static bool way_read(struct way *w, struct copy *c)
{
	static char in[128 * 1024];
	size_t most = w->chunk ? 1 + (size_t)rand() % w->chunk : sizeof in;
	ssize_t n = read(w->fd, in, most);
	struct fail f;

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		copy_lost(c, PSSH_ECLOSED, "the connection was closed");
		return false;
	}
	if (w->old_server)
		make_old(in, (size_t)n);
	w->got += (size_t)n;
	copy_input(c, in, (size_t)n, &f);
	return true;
}

static bool way_write(struct way *w, struct copy *c)
{
	const char *data;
	size_t len;
	ssize_t n;

	copy_output(c, &data, &len);
	if (!len)
		return false;
	if (w->chunk && len > w->chunk)
		len = 1 + (size_t)rand() % w->chunk;
	n = send(w->fd, data, len, MSG_NOSIGNAL);
	if (n <= 0)
		return false;
	w->sent += (size_t)n;
	copy_sent(c, (size_t)n);
	return true;
}

static void way_faults(struct way *w, struct copy *c)
{
	struct copy_progress p;

	copy_progress(c, &p);
	if (w->kill_after && p.done >= w->kill_after) {
		w->kill_after = 0;
		kill(w->pid, SIGKILL);
	}
	if (w->cancel_after && p.done >= w->cancel_after) {
		w->cancel_after = 0;
		copy_cancel(c);
	}
	if (w->act && p.done >= w->act_after) {
		w->act(w->arg);
		w->act = NULL;
	}
}

/* To the end, or for too long. */
static int way_run(struct way *w, struct copy *c, struct fail *f)
{
	time_t end = time(NULL) + 60;

	*f = (struct fail){ 0 };
	while (!copy_finished(c) && time(NULL) < end) {
		bool moved = way_write(w, c);
		const char *command = copy_checksum_command(c);

		if (command)
			run_command(w, c, command);
		way_faults(w, c);
		moved |= way_read(w, c);
		if (!moved && !copy_finished(c) && !copy_busy(c)) {
			struct pollfd p = { .fd = w->fd, .events = POLLIN };
			const char *data;
			size_t len;

			copy_output(c, &data, &len);
			if (len)
				p.events |= POLLOUT;
			poll(&p, 1, 1000);
		}
	}
	if (!copy_finished(c))
		return fail_set(f, PSSH_ETIMEOUT, "the copy does not end");
	while (copy_note(c, f)) {
		w->notes++;
		snprintf(w->note, sizeof w->note, "%s", f->text);
	}
	*f = (struct fail){ 0 };
	return copy_result(c, f);
}

static int put(struct way *w, const char *local, const char *remote, unsigned flags, struct fail *f)
{
	struct copy_source *s;
	struct copy *c;
	int rc = copy_source_new(local, flags, &s, f);

	if (rc)
		return rc;
	rc = copy_new_put(s, remote, flags, &c, f);
	if (rc == 0) {
		way_open(w);
		rc = way_run(w, c, f);
		copy_free(c);
		way_close(w);
	}
	copy_source_free(s);
	return rc;
}

static int get(struct way *w, const char *remote, const char *local, unsigned flags, struct fail *f)
{
	struct copy *c;
	int rc = copy_new_get(remote, local, flags, &c, f);

	if (rc)
		return rc;
	way_open(w);
	rc = way_run(w, c, f);
	copy_free(c);
	way_close(w);
	return rc;
}

/* ---- Files ----------------------------------------------------------------------------- */

static char *at(const char *name)
{
	static char ring[8][512];
	static unsigned next;
	char *p = ring[next++ % 8];

	snprintf(p, sizeof ring[0], "%s/%s", top, name);
	return p;
}

static void make(const char *name, size_t len, unsigned seed, mode_t mode)
{
	static unsigned char block[65536];
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	uint64_t x = seed * 2654435761u + 1;

	for (size_t done = 0; done < len;) {
		size_t n = len - done < sizeof block ? len - done : sizeof block;

		for (size_t i = 0; i < n; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			block[i] = (unsigned char)(x >> 56);
		}
		if (write(fd, block, n) != (ssize_t)n)
			abort();
		done += n;
	}
	fchmod(fd, mode);
	close(fd);
}

static bool same(const char *a, const char *b)
{
	char line[1200];

	snprintf(line, sizeof line, "cmp -s '%s' '%s'", at(a), at(b));
	return system(line) == 0;
}

static bool shell(const char *command)
{
	char line[4096];

	snprintf(line, sizeof line, "cd '%s' && { %s; }", top, command);
	return system(line) == 0;
}

static bool no_parts(void)
{
	return shell("test -z \"$(find . -name '*.pssh-part')\"");
}

static mode_t mode_of(const char *name)
{
	struct stat st = { 0 };

	stat(at(name), &st);
	return st.st_mode & 07777;
}

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
	is_int(put(&w, at("src"), "none/", 0, &f), PSSH_EREMOTE, "a directory that is missing");
	has_str(f.text, "there is no directory 'none'", "is named");
	is_int(put(&w, at("src"), "no/such/x", 0, &f), PSSH_EREMOTE, "a missing parent");
	has_str(f.text, "'no/such/x'", "is named: %s", f.text);
	is_int(put(&w, at("src"), "pipe", 0, &f), PSSH_EREMOTE, "a pipe is no target: %s", f.text);
	is_int(put(&w, at("src"), "/dev/null", 0, &f), PSSH_EREMOTE, "nor is a device");
	is_int(get(&w, "src", at("no/such/x"), 0, &f), PSSH_ELOCAL, "a missing local parent");
	has_str(f.text, "no/such'", "is named: %s", f.text);
	is_int(get(&w, "absent", at("x"), 0, &f), PSSH_EREMOTE, "a remote file that is not there");
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

	shell("mkdir -p t/a/b/c t/empty t/a/' sp \"x\" '; i=0; while [ $i -lt 300 ]; do echo $i >t/a/f$i; i=$((i+1)); done;"
		"head -c 200000 /dev/urandom >t/a/b/c/big; echo x >t/a/' sp \"x\" '/'-n'; ln -s a/f1 t/link; mkdir -p out/t2");
	is_int(put(&w, at("t"), "out", PSSH_COPY_RECURSIVE, &f), 0, "a tree goes into a directory %s", f.text);
	ok(shell("diff -r t out/t"), "and is the same there");
	is_int(put(&w, at("t/."), "out/t2", PSSH_COPY_RECURSIVE, &f), 0, "'.' has its name %s", f.text);
	ok(shell("diff -r t out/t2/t"), "and is the same there");
	is_int(put(&w, at("t"), "fresh", PSSH_COPY_RECURSIVE, &f), 0, "or takes a new name");
	ok(shell("diff -r t fresh"), "and is the same there");
	is_int(get(&w, "t/", at("back"), PSSH_COPY_RECURSIVE, &f), 0, "a tree comes back %s", f.text);
	ok(shell("diff -r t back"), "and is the same here");
	w.chunk = 700;
	is_int(get(&w, "t", at("back"), PSSH_COPY_RECURSIVE | PSSH_COPY_CHECKSUM, &f), 0, "into a directory, compared %s", f.text);
	ok(shell("diff -r t back/t"), "and is the same here");
	ok(no_parts(), "no temporary file is left");
	shell("rm -rf out back fresh");

	/* q/t/up/t is a plain directory below a link, and is q/t. */
	shell("mkdir q; mv t q/t; ln -s .. q/t/up; ln -s nowhere q/t/dangling; mkfifo q/t/pipe; ln -s ../../a q/t/a/b/again");
	w = (struct way){ 0 };
	is_int(put(&w, at("q/t"), "out", PSSH_COPY_RECURSIVE, &f), PSSH_ELOCAL, "what cannot be copied is a failure at the end");
	has_str(f.text, "(and 3 more failed)", "and counted: %s", f.text);
	ok(shell("diff -q q/t/a/f7 out/a/f7 && diff -q q/t/a/b/c/big out/a/b/c/big"), "the rest arrives");
	w = (struct way){ 0 };
	is_int(get(&w, "q/t", at("back"), PSSH_COPY_RECURSIVE, &f), PSSH_EREMOTE, "the same from there");
	has_str(f.text, "(and 3 more failed)", "and counted: %s", f.text);
	ok(w.notes == 4, "each is told of");
	ok(shell("diff -q q/t/a/f7 back/a/f7 && diff -q q/t/a/b/c/big back/a/b/c/big"), "the rest arrives");
	shell("rm -rf out back q");

	shell("mkdir -p p/d p/e; echo 1 >p/d/f; chmod 705 p/d/f; touch -d @1000000001 p/d/f p/d; chmod 500 p/e; touch -d @1000000007 p/e");
	is_int(put(&w, at("p"), "out", PSSH_COPY_RECURSIVE | PSSH_COPY_PRESERVE, &f), 0, "modes and times %s", f.text);
	ok(shell("test \"$(cd p; stat -c '%n %a %Y' d d/f e)\" = \"$(cd out; stat -c '%n %a %Y' d d/f e)\""), "are kept there");
	is_int(get(&w, "p", at("back"), PSSH_COPY_RECURSIVE | PSSH_COPY_PRESERVE, &f), 0, "and back %s", f.text);
	ok(shell("test \"$(cd p; stat -c '%n %a %Y' d d/f e)\" = \"$(cd back; stat -c '%n %a %Y' d d/f e)\""), "kept here");
	shell("echo x >file; mkdir -p tt/file; echo y >tt/g; mkdir dd; echo z >dd/file");
	is_int(put(&w, at("tt"), "file", PSSH_COPY_RECURSIVE, &f), PSSH_EREMOTE, "a tree onto a file: %s", f.text);
	is_int(put(&w, at("tt/."), "dd/../dd/file", PSSH_COPY_RECURSIVE, &f), PSSH_EREMOTE, "by another way: %s", f.text);
	shell("mkdir dd/tt; echo x >dd/tt/file");
	is_int(put(&w, at("tt"), "dd", PSSH_COPY_RECURSIVE, &f), PSSH_EREMOTE, "a directory onto a file: %s", f.text);
	ok(shell("diff -q tt/g dd/tt/g"), "the rest arrives");
	shell("chmod -R u+rwx .; rm -rf p out back tt dd file");
}

/* ---- Faults ---------------------------------------------------------------------------- */

static void test_resume(void)
{
	struct way w = { .kill_after = 20 * MB };
	struct fail f;

	make("src", 32 * MB + 5, 7, 0644);
	is_int(put(&w, at("src"), "dst", PSSH_COPY_RESUME, &f), PSSH_ECLOSED, "a put whose server is killed");
	ok(access(at("dst"), F_OK) != 0 && access(at(".dst.pssh-part"), F_OK) == 0, "leaves its part, not a torn file");
	w = (struct way){ 0 };
	is_int(put(&w, at("src"), "dst", PSSH_COPY_RESUME | PSSH_COPY_CHECKSUM, &f), 0, "is gone on with %s", f.text);
	ok(same("src", "dst") && w.sent < 24 * MB, "to an equal file, with %llu bytes sent", (unsigned long long)w.sent);
	ok(w.commands == 2 && no_parts(), "compared by commands");

	shell("head -c 20000000 src >.dst.pssh-part; rm dst");
	w = (struct way){ .no_exec = true };
	is_int(put(&w, at("src"), "dst", PSSH_COPY_RESUME, &f), 0, "and where no command can be run %s", f.text);
	ok(same("src", "dst") && w.sent < 24 * MB, "with %llu bytes", (unsigned long long)w.sent);

	shell("head -c 20000000 /dev/urandom >.dst.pssh-part; rm dst");
	w = (struct way){ 0 };
	is_int(put(&w, at("src"), "dst", PSSH_COPY_RESUME, &f), 0, "a part of another file %s", f.text);
	ok(same("src", "dst") && w.sent > 32 * MB, "is not built on");
	shell("cat src src >.dst.pssh-part");
	is_int(put(&w, at("src"), "dst", PSSH_COPY_RESUME, &f), 0, "nor one that is too long %s", f.text);
	ok(same("src", "dst"), "and nothing of it stays");

	w = (struct way){ .kill_after = 20 * MB };
	is_int(get(&w, "src", at("back"), PSSH_COPY_RESUME, &f), PSSH_ECLOSED, "a get whose server is killed");
	ok(access(at("back"), F_OK) != 0, "leaves no torn file");
	w = (struct way){ 0 };
	is_int(get(&w, "src", at("back"), PSSH_COPY_RESUME | PSSH_COPY_CHECKSUM, &f), 0, "is gone on with %s", f.text);
	ok(same("src", "back") && w.got < 24 * MB, "to an equal file, with %llu bytes got", (unsigned long long)w.got);
	shell("head -c 20000000 src >.back.pssh-part; rm back");
	w = (struct way){ .no_exec = true };
	is_int(get(&w, "src", at("back"), PSSH_COPY_RESUME, &f), 0, "and where no command can be run %s", f.text);
	ok(same("src", "back") && w.got < 24 * MB, "with %llu bytes", (unsigned long long)w.got);
	shell("head -c 20000000 /dev/urandom >.back.pssh-part; rm back");
	is_int(get(&w, "src", at("back"), PSSH_COPY_RESUME | PSSH_COPY_SPARSE, &f), 0, "a part of another file %s", f.text);
	ok(same("src", "back"), "is not built on");

	shell("echo precious >victim; ln -s victim .back.pssh-part; rm back");
	is_int(get(&w, "src", at("back"), PSSH_COPY_RESUME, &f), PSSH_ELOCAL, "a link at the temporary name");
	has_str(f.text, "not an earlier copy's", "is refused: %s", f.text);
	ok(shell("test \"$(cat victim)\" = precious"), "and not followed");
	shell("mv .back.pssh-part .dst.pssh-part; rm dst");
	is_int(put(&w, at("src"), "dst", PSSH_COPY_RESUME, &f), PSSH_EREMOTE, "nor there: %s", f.text);
	ok(shell("test \"$(cat victim)\" = precious"), "and not followed");

	shell("rm -f .dst.pssh-part");
	w = (struct way){ .kill_after = 5 * MB };
	is_int(get(&w, "src", at("back"), 0, &f), PSSH_ECLOSED, "killed without resume");
	ok(no_parts(), "the local part is removed");
	shell("rm -f .*.pssh-part src dst back victim");
}

static void grow(void *arg)
{
	shell(arg);
}

static void test_changes(void)
{
	struct way w = { .act = grow, .arg = "echo more >>src", .act_after = MB };
	struct fail f;

	make("src", 16 * MB, 9, 0644);
	is_int(put(&w, at("src"), "dst", 0, &f), 0, "a file that grows is copied as it was %s", f.text);
	ok(shell("cmp -s -n 16777216 src dst && test $(stat -c %s dst) = 16777216"), "to its old size");
	has_str(w.note, "grew", "and it is said: %s", w.note);
	w = (struct way){ .act = grow, .arg = "sleep 1.1; echo more >>src", .act_after = MB };
	is_int(get(&w, "src", at("back"), 0, &f), 0, "the same of a get %s", f.text);
	has_str(w.note, "grew", "and it is said: %s", w.note);
	w = (struct way){ .act = grow, .arg = "truncate -s 9000000 src", .act_after = MB };
	is_int(put(&w, at("src"), "dst", 0, &f), PSSH_ELOCAL, "a file that shrinks: %s", f.text);
	w = (struct way){ .act = grow, .arg = "truncate -s 5000000 src", .act_after = MB };
	is_int(get(&w, "src", at("back"), 0, &f), PSSH_EREMOTE, "of a get: %s", f.text);
	w = (struct way){ .act = grow, .arg = "touch -d @1000000000 src", .act_after = MB };
	is_int(put(&w, at("src"), "dst", 0, &f), PSSH_ELOCAL, "a file that is written to: %s", f.text);
	w = (struct way){ .act = grow, .arg = "touch -d @1000000009 src", .act_after = MB };
	is_int(get(&w, "src", at("back"), 0, &f), PSSH_EREMOTE, "of a get: %s", f.text);
	ok(shell("test $(stat -c %s dst) = 16777216") && no_parts(), "what was there before stays, and nothing else");
	w = (struct way){ .cancel_after = MB };
	is_int(put(&w, at("src"), "dst2", 0, &f), PSSH_ECANCEL, "a cancelled put");
	ok(no_parts() && access(at("dst2"), F_OK) != 0, "leaves nothing");
	w = (struct way){ .cancel_after = MB };
	is_int(get(&w, "src", at("back2"), 0, &f), PSSH_ECANCEL, "a cancelled get");
	ok(no_parts() && access(at("back2"), F_OK) != 0, "leaves nothing");
	w = (struct way){ .file_limit = 2 * MB };
	is_int(put(&w, at("src"), "dst2", 0, &f), PSSH_ECLOSED, "a server that dies of its limit: %s", f.text);
	shell("rm -f .*.pssh-part src dst back");
}

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

static void test_full(void)
{
	struct way w = { 0 };
	struct fail f;

	make("src", 4 * MB, 13, 0644);
	mkdir(at("small"), 0700);
	if (geteuid() != 0 || mount("tmpfs", at("small"), "tmpfs", 0, "size=1m,mode=755")) {
		skip("only root can make a small file system");
		return;
	}
	is_int(put(&w, at("src"), "small/x", 0, &f), PSSH_EREMOTE, "a full disk there");
	has_str(f.text, "no space left on the disk", "is called so: %s", f.text);
	is_int(get(&w, "src", at("small/x"), 0, &f), PSSH_ELOCAL, "a full disk here");
	has_str(f.text, "No space left", "is called so: %s", f.text);
	ok(no_parts(), "nothing is left");
	mount(NULL, at("small"), NULL, MS_REMOUNT | MS_RDONLY, "size=1m");
	is_int(put(&w, at("src"), "small/x", 0, &f), PSSH_EREMOTE, "a disk that cannot be written");
	has_str(f.text, "read-only", "is called so: %s", f.text);
	umount(at("small"));
	shell("rm -rf small src");
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

/* ---- A server that means harm ---------------------------------------------------------- */

static size_t word(char *p, uint32_t v)
{
	p[0] = (char)(v >> 24);
	p[1] = (char)(v >> 16);
	p[2] = (char)(v >> 8);
	p[3] = (char)v;
	return 4;
}

static void text(struct buf *b, const char *s)
{
	char n[4];

	buf_add(b, n, word(n, (uint32_t)strlen(s)));
	buf_adds(b, s);
}

static void number(struct buf *b, uint32_t v)
{
	char n[4];

	buf_add(b, n, word(n, v));
}

/* Answers one request as a directory full of bad names would. */
static void evil_answer(struct buf *out, unsigned type, uint32_t id, bool *listed)
{
	static const char *const names[] = { "..", "../evil", "a/b", "", "/etc/evil", "ok", "esc\033[2J" };
	struct buf b;

	buf_init(&b, 65536);
	buf_addc(&b, type == 17 || type == 8 ? 105 : type == 11 || type == 3 ? 102 : 101);
	if (type == 16 || (type == 12 && !*listed))
		b.data[0] = 104;
	number(&b, id);
	if (type == 17 || type == 8) {
		number(&b, 4);
		number(&b, type == 17 ? 040755 : 0100644);
	} else if (type == 11 || type == 3) {
		text(&b, "h");
	} else if (type == 16) {
		number(&b, 1);
		text(&b, "/real");
		text(&b, "");
		number(&b, 0);
	} else if (type == 12 && !*listed) {
		*listed = true;
		number(&b, sizeof names / sizeof *names);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			text(&b, names[i]);
			text(&b, "");
			number(&b, 4);
			number(&b, 0100644);
		}
	} else {
		number(&b, type == 4 ? 0 : 1); /* fine, or end of file */
	}
	number(out, (uint32_t)b.len);
	buf_add(out, b.data, b.len);
	buf_release(&b);
}

static void test_evil(void)
{
	struct buf out;
	struct copy *c;
	struct fail f = { 0 };
	bool listed = false;

	buf_init(&out, 1 << 20);
	mkdir(at("jail"), 0700);
	is_int(copy_new_get("dir", at("jail/in"), PSSH_COPY_RECURSIVE, &c, &f), 0, "a get from a bad server");
	for (unsigned round = 0; round < 1000 && !copy_finished(c); round++) {
		const unsigned char *p;
		const char *data;
		size_t len;

		copy_output(c, &data, &len);
		buf_clear(&out);
		for (p = (const unsigned char *)data; len && p < (const unsigned char *)data + len;) {
			uint32_t n = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];

			if (p[4] == 1)
				buf_add(&out, "\0\0\0\5\2\0\0\0\3", 9);
			else
				evil_answer(&out, p[4], (uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8], &listed);
			p += 4 + n;
		}
		copy_sent(c, len);
		if (out.len)
			copy_input(c, out.data, out.len, &f);
	}
	ok(copy_finished(c), "it ends");
	is_int(copy_result(c, &f), PSSH_EREMOTE, "as a failure: %s", f.text);
	ok(shell("test \"$(find jail -type f | wc -l)\" = 2 && test -f jail/in/ok && ! test -e evil && ! test -e jail/evil"),
		"nothing was written outside");
	copy_free(c);
	c = NULL;
	is_int(copy_new_get("x", at("jail/x"), 0, &c, &f), 0, "a server that talks nonsense");
	is_int(copy_input(c, "SSH-2.0-garbage, or a shell's greeting\n", 39, &f), PSSH_EPROTO, "is found out: %s", f.text);
	ok(copy_finished(c), "and it is over");
	copy_free(c);
	buf_release(&out);
	shell("rm -rf jail");
}

int main(void)
{
	const char *found = find_server();

	if (!found)
		skip_all("no sftp-server (Debian: openssh-sftp-server)");
	snprintf(server, sizeof server, "%s", found);
	snprintf(top, sizeof top, "/tmp/copy-test-XXXXXX");
	if (!mkdtemp(top))
		return 1;
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	test_files();
	test_names();
	test_trees();
	test_resume();
	test_changes();
	test_checksum();
	test_sparse();
	test_full();
	test_old_server();
	test_shared();
	test_evil();
	shell("chmod -R u+rwx . && rm -rf \"$PWD\"");
	return done();
}
