/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that are killed or cancelled, whose files change, that fill the disk, or meet a bad server. */
#include "copyway.h"

#include <sys/mount.h>

#include "base/buf.h"

/* ---- Faults ---------------------------------------------------------------------------- */

static void test_resume(void)
{
	struct way w = { .kill_after = 20 * MB };
	struct fail f;

	make("src", 32 * MB + 5, 7, 0644);
	is_int(put(&w, at("src"), "dst", PSSH_COPY_RESUME, &f), PSSH_ECLOSED, "a put whose server is killed");
	ok(access(at("dst"), F_OK) != 0 && access(at(".dst.pssh-part"), F_OK) == 0, "leaves its part, not a torn file");
	w = (struct way){ 0 };
	is_int(put(&w, at("src"), "dst", PSSH_COPY_RESUME | PSSH_COPY_CHECKSUM, &f), 0, "continues: %s", f.text);
	ok(same("src", "dst") && w.sent < 24 * MB, "to an equal file, with %llu bytes sent",
		(unsigned long long)w.sent);
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
	is_int(get(&w, "src", at("back"), PSSH_COPY_RESUME | PSSH_COPY_CHECKSUM, &f), 0, "continues: %s", f.text);
	ok(same("src", "back") && w.got < 24 * MB, "to an equal file, with %llu bytes got", (unsigned long long)w.got);
	shell("head -c 20000000 src >.back.pssh-part; rm back");
	w = (struct way){ .no_exec = true };
	is_int(get(&w, "src", at("back"), PSSH_COPY_RESUME, &f), 0, "and where no command can be run %s", f.text);
	ok(same("src", "back") && w.got < 24 * MB, "with %llu bytes", (unsigned long long)w.got);
	shell("head -c 20000000 /dev/urandom >.back.pssh-part; rm back");
	is_int(get(&w, "src", at("back"), PSSH_COPY_RESUME | PSSH_COPY_SPARSE, &f), 0, "a part of another file %s",
		f.text);
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

static void die(const void *arg)
{
	(void)arg;
	raise(SIGKILL);
}

static void stay(const void *arg)
{
	(void)arg;
	pause();
}

/* Copies in a process of its own, which ends or is stopped on the way. */
static pid_t other_copy(struct way w, bool to, bool wait)
{
	pid_t pid = fork();
	struct fail f;

	if (pid == 0) {
		if (to)
			put(&w, at("src"), "dst", 0, &f);
		else
			get(&w, "src", at("back"), 0, &f);
		_exit(0);
	}
	if (wait)
		waitpid(pid, NULL, 0);
	return pid;
}

static bool parts_are(int n)
{
	char line[120];

	snprintf(line, sizeof line, "test $(find . -name '*.pssh-part' | wc -l) = %d", n);
	return shell(line);
}

static void test_leftovers(void)
{
	struct way w = { 0 };
	struct fail f;
	pid_t pid;

	make("src", 8 * MB, 7, 0644);
	other_copy((struct way){ .kill_after = 4 * MB }, true, true);
	ok(parts_are(1), "a put that is cut off leaves its part");
	other_copy((struct way){ .kill_after = 4 * MB }, true, true);
	ok(parts_are(1), "so does the next one, which removes that of the first");
	is_int(put(&w, at("src"), "dst", 0, &f), 0, "the next put %s", f.text);
	ok(same("src", "dst") && parts_are(0), "removes them");
	other_copy((struct way){ .act = die, .act_after = 4 * MB }, false, true);
	ok(parts_are(1), "a get that was killed leaves its part");
	w = (struct way){ 0 };
	is_int(get(&w, "src", at("back"), 0, &f), 0, "the next get %s", f.text);
	ok(same("src", "back") && parts_are(0), "removes it");

	pid = other_copy((struct way){ .act = stay, .act_after = 4 * MB }, true, false);
	for (int i = 0; i < 1000 && !parts_are(1); i++)
		poll(NULL, 0, 20);
	is_int(put(&w, at("src"), "dst", 0, &f), 0, "a put beside another that goes on %s", f.text);
	ok(parts_are(1), "leaves that one's part alone");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	shell("mkdir -p tree/sub to/tree/sub && echo 1 >tree/sub/x && mv .dst.*.pssh-part to/tree/sub/");
	is_int(put(&w, at("tree"), "to", PSSH_COPY_RECURSIVE, &f), 0, "a tree %s", f.text);
	ok(parts_are(0), "is cleared of them in each directory");
	shell("for d in . to; do for n in a b; do : >$d/.$n.000000010000010123456789.pssh-part; done;"
	      " touch -d '3 days ago' $d/.b.*; done; : >.src.pssh-part; : >.src.0123456789abcdef.pssh-part");
	is_int(put(&w, at("src"), "dst", 0, &f) + get(&w, "dst", at("to/back"), 0, &f), 0, "copies %s", f.text);
	ok(shell("test \"$(find . -name '*.pssh-part' | sort | tr '\\n' ' ')\" = "
		 "'./.a.000000010000010123456789.pssh-part ./.src.0123456789abcdef.pssh-part "
		 "./.src.pssh-part ./to/.a.000000010000010123456789.pssh-part '"),
		"remove what another machine left days ago, and neither newer ones nor what can be resumed");
	shell("find . -name '*.pssh-part' -delete; rm -rf src dst back tree to");
}

static void copy_beside(const void *arg)
{
	struct way w = { 0 };
	struct fail f;

	ok(shell("test $(find . -name '*.pssh-part' -mtime -1 | wc -l) = 1"),
		"it has no old time under its other name");
	is_int(put(&w, at(arg), "beside", 0, &f), 0, "another put into the directory %s", f.text);
	ok(parts_are(1), "leaves it alone");
}

/* The time of an old source makes no leftover of a copy that is about to get its name. */
static void test_preserved(void)
{
	struct way w = { .act = copy_beside, .arg = "src", .act_before = "posix-rename@" };
	struct fail f;

	make("src", MB, 7, 0644);
	shell("touch -d @1000000000 src");
	is_int(put(&w, at("src"), "dst", PSSH_COPY_PRESERVE, &f), 0, "a put of an old file that keeps its time %s",
		f.text);
	ok(!w.act && same("src", "dst") && no_parts(), "is complete");
	ok(shell("test $(stat -c %Y dst) = 1000000000"), "with the source's time");
	w = (struct way){ .old_server = true };
	is_int(put(&w, at("src"), "dst", PSSH_COPY_PRESERVE, &f), 0, "the same over it, on an old server %s", f.text);
	ok(no_parts() && shell("test $(stat -c %Y dst) = 1000000000"), "with the source's time");
	w = (struct way){ 0 };
	is_int(get(&w, "dst", at("back"), PSSH_COPY_PRESERVE, &f), 0, "a get of it %s", f.text);
	ok(same("src", "back") && shell("test $(stat -c %Y back) = 1000000000"), "too");
	shell("rm -f src dst back beside");
}

static void grow(const void *arg)
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
	w = (struct way){ .no_write = true };
	is_int(put(&w, at("src"), "dst2", 0, &f), PSSH_ECLOSED, "a server that dies of a write: %s", f.text);
	shell("rm -f .*.pssh-part src dst back");
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

/* ---- A hostile server ------------------------------------------------------------------ */

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

static struct copy *evil_get(const char *remote, unsigned flags)
{
	struct buf out;
	struct copy *c;
	struct fail f = { 0 };
	bool listed = false;

	buf_init(&out, 1 << 20);
	is_int(copy_new_get(remote, at("jail/in"), PSSH_COPY_RECURSIVE | flags, &c, &f), 0, "a get from a bad server");
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
				evil_answer(&out, p[4],
					(uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8],
					&listed);
			p += 4 + n;
		}
		copy_sent(c, len);
		if (out.len)
			copy_input(c, out.data, out.len, &f);
	}
	buf_release(&out);
	ok(copy_finished(c), "it ends");
	is_int(copy_result(c, &f), PSSH_EREMOTE, "as a failure: %s", f.text);
	return c;
}

static void test_evil(void)
{
	struct copy *c;
	struct fail f = { 0 };

	mkdir(at("jail"), 0700);
	c = evil_get("dir", 0);
	ok(shell("test \"$(find jail -type f | wc -l)\" = 2 && test -f jail/in/ok && ! test -e evil && ! test -e "
		 "jail/evil"),
		"nothing was written outside");
	copy_free(c);
	shell("rm -rf jail/in");
	c = evil_get("dir/*", PSSH_COPY_GLOB);
	ok(shell("test \"$(find jail | LC_ALL=C sort | tr -d '\\033' | paste -sd ' ')\" = "
		 "'jail jail/in jail/in/esc[2J jail/in/ok' && ! test -e evil"),
		"nor what a pattern matches");
	while (copy_note(c, &f))
		ok(!strchr(f.text, '\033'), "no control character is shown: %s", f.text);
	copy_free(c);
	c = NULL;
	is_int(copy_new_get("x", at("jail/x"), 0, &c, &f), 0, "a server that talks nonsense");
	is_int(copy_input(c, "SSH-2.0-garbage, or a shell's greeting\n", 39, &f), PSSH_EPROTO, "is found out: %s",
		f.text);
	ok(copy_finished(c), "and it is over");
	copy_free(c);
	shell("rm -rf jail");
}

/* A stream of a put, up to the handle of the file: its next step is to send. */
static void begin_stream(struct way *w, struct copy_stream *s)
{
	char in[4096];
	const char *data;
	struct fail f;
	size_t len;

	way_open(w);
	for (int answers = 0; answers < 2; answers++) { /* the version, the handle */
		ssize_t n;

		copy_stream_output(s, &data, &len);
		if (!len || send(w->fd, data, len, MSG_NOSIGNAL) != (ssize_t)len)
			abort();
		copy_stream_sent(s, len);
		poll(&(struct pollfd){ .fd = w->fd, .events = POLLIN }, 1, 20000);
		n = read(w->fd, in, sizeof in);
		if (n <= 0 || copy_stream_input(s, in, (size_t)n, &f) != 0)
			abort();
	}
}

static void test_stream(void)
{
	struct way first = { 0 }, second = { 0 };
	struct copy_source *source;
	struct copy_stream *s;
	struct copy *c;
	struct fail f;
	const char *data;
	size_t len;

	shell("truncate -s 32M src");
	if (copy_source_new(at("src"), 0, &source, &f) || copy_new_put(source, at("dst"), 0, &c, &f))
		abort();
	copy_set_streams(c, 2);
	way_open(&first);
	while (first.sent < MB) {
		way_read(&first, c);
		if (!way_write(&first, c))
			poll(&(struct pollfd){ .fd = first.fd, .events = POLLIN }, 1, 10);
	}
	if (copy_stream_new(c, &s) != 0)
		abort();
	begin_stream(&second, s);
	if (truncate(at("src"), 0) != 0)
		abort();
	copy_stream_woke(c);
	copy_stream_output(s, &data, &len);
	is_int((long)len, 0, "a stream that cannot read its file sends nothing");
	ok(copy_stream_woke(c), "and wakes the first channel, which ends the copy");
	copy_stream_end(s);
	copy_free(c);
	copy_source_free(source);
	way_close(&first);
	way_close(&second);
	shell("rm -f src dst .dst*");
}

int main(void)
{
	if (!way_begin())
		return 1;
	test_resume();
	test_leftovers();
	test_preserved();
	test_changes();
	test_full();
	test_evil();
	test_stream();
	return way_end();
}
