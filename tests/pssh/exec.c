/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on a real sshd: what goes in, what comes out, and how they end. */
#include "drive.h"

static struct drive d;

static void check_ends(struct pssh_host *h)
{
	static const int statuses[] = { 0, 1, 2, 7, 126, 127, 128, 129, 200, 254, 255 };
	static const char *const signals[] = { "HUP", "INT", "KILL", "TERM", "ABRT", "USR1" };
	char text[64], want[64];

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		snprintf(text, sizeof text, "exit %d", statuses[i]);
		ends(once(&d, h, text), text, "status %d arrives", statuses[i]);
	}
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		snprintf(text, sizeof text, "kill -%s $$", signals[i]);
		snprintf(want, sizeof want, "signal %s", signals[i]);
		ends(once(&d, h, text), want, "death by %s arrives", signals[i]);
	}
}

static void check_streams(struct pssh_host *h)
{
	struct seen *s = once(&d, h, "echo out; echo err >&2; exit 3");
	unsigned char all[256];
	bool same = true;

	ends(s, "exit 3", "a command with both streams");
	is_str(s->out, "out\n", "its stdout");
	is_str(s->err, "err\n", "its stderr");
	s = once(&d, h, "perl -e 'print pack(\"C*\", 0..255) x 1000'");
	is_int(s->out_len, 256000, "binary data arrives whole");
	for (size_t i = 0; i < sizeof all; i++)
		all[i] = (unsigned char)i;
	for (size_t i = 0; same && i < s->out_len; i++)
		same = (unsigned char)s->out[i] == all[i % 256];
	ok(same, "binary data arrives as it was");
	s = once(&d, h, "printf 'no newline'");
	is_str(s->out, "no newline", "a last line without its end comes out");
	s = once(&d, h, "cat; echo over");
	is_str(s->out, "over\n", "with no input there is end-of-file at once");
}

static void check_env_and_pty(struct pssh_host *h)
{
	struct pssh_task *t = command(&d,
		"printf '%s|' \"$PT_ONE\" \"$PT_TWO\"; tty >/dev/null 2>&1 && echo tty || echo none");
	struct seen *s;
	bool resized = false;

	is_int(pssh_task_set_env(t, "PT_ONE", "1 2"), 0, "a variable is set");
	is_int(pssh_task_set_env(t, "PT_TWO", "'\"$x"), 0, "and another");
	is_int(pssh_task_set_env(t, "A=B", "x"), PSSH_EINVAL, "a name with '=' is refused");
	pssh_task_add(t, h);
	pssh_task_start(t);
	is_int(pssh_task_set_env(t, "LATE", "x"), PSSH_EINVAL, "after the start it is too late");
	drive_done(&d, 1);
	is_str(drive_seen(&d, t, h)->out, "1 2|'\"$x|none\n", "variables arrive, and there is no terminal");

	t = command(&d,
		"echo $TERM; stty size; trap 'stty size; exit 9' WINCH; echo ready; while :; do sleep 0.05; done");
	pssh_task_set_pty(t, "vt220", 101, 33);
	pssh_task_open_input(t); /* after its end sshd has closed the terminal */
	pssh_task_add(t, h);
	is_int(pssh_task_resize(t, h, 9, 9), PSSH_ENOENT, "nothing to resize before the start");
	pssh_task_start(t);
	s = drive_seen(&d, t, h);
	for (int64_t end = now_ms() + DRIVE_PATIENCE_MS; !s->ends && now_ms() < end; drive_for(&d, 50)) {
		if (!resized && s->out && strstr(s->out, "ready")) {
			resized = true;
			is_int(pssh_task_resize(t, h, 120, 50), 0, "it is resized");
		}
	}
	ends(s, "exit 9", "a terminal's change of size arrives");
	has_str(s->out, "vt220\r\n33 101\r\n", "kind and size of the terminal");
	has_str(s->out, "50 120\r\n", "its new size");
	drive_until(&d, &d.done, d.done + 1, 5000);
}

/* Bytes that differ at every place. */
static char *pattern(size_t len)
{
	char *data = malloc(len);
	uint32_t x = 12345;

	for (size_t i = 0; data && i < len; i++) {
		x = x * 1664525u + 1013904223u;
		data[i] = (char)(x >> 24);
	}
	return data;
}

/* Writes everything to h (NULL: to every host), waiting for room when the input is full. */
static bool write_all(struct pssh_task *t, struct pssh_host *h, const char *data, size_t len, unsigned *waits)
{
	size_t at = 0;

	while (at < len) {
		size_t n = len - at < 60000 ? len - at : 60000;
		int rc = pssh_task_write(t, h, data + at, n);

		if (rc == PSSH_EAGAIN) {
			++*waits;
			if (!drive_until(&d, &d.writable, d.writable + 1, 20000))
				return false;
			continue;
		}
		if (rc)
			return false;
		at += n;
	}
	return pssh_task_end_input(t, h) == 0;
}

static void check_large_input(void)
{
	static const char *const names[] = { "n1", "n2", "n3" };
	enum { LEN = 8 << 20 };
	char *data = pattern(LEN);
	struct pssh_task *t = command(&d, "cat");
	unsigned waits = 0;

	pssh_task_open_input(t);
	pssh_task_set_output(t, PSSH_OUTPUT_CHUNKS, 0, PSSH_OVERFLOW_DROP);
	for (size_t i = 0; i < 3; i++)
		pssh_task_add(t, host(&d, names[i]));
	pssh_task_start(t);
	ok(write_all(t, NULL, data, LEN, &waits), "8 MB of input are taken for three hosts");
	ok(waits > 0, "the writer was held back (%u times)", waits);
	is_int(pssh_task_add(t, host(&d, "late")), PSSH_EINVAL, "a host that comes now would miss its beginning");
	drive_done(&d, 1);
	for (size_t i = 0; i < 3; i++) {
		struct seen *s = drive_seen(&d, t, host(&d, names[i]));

		ends(s, "exit 0", "%s ends well", names[i]);
		ok(s->out_len == LEN && memcmp(s->out, data, LEN) == 0, "%s gives back what it was given", names[i]);
	}
	free(data);
	drive_forget(&d);
}

static void check_own_input(void)
{
	enum { LEN = 3 << 20 };
	char *data;
	unsigned waits = 0;
	struct pssh_task *t = command(&d, "cat"), *u;
	struct pssh_host *a = host(&d, "n1"), *b = host(&d, "n2");

	is_int(pssh_task_write(t, NULL, "x", 1), PSSH_EINVAL, "input that was not opened takes nothing");
	pssh_task_open_input(t);
	pssh_task_add(t, a);
	pssh_task_add(t, b);
	pssh_task_start(t);
	is_int(pssh_task_write(t, a, "for a\n", 6), 0, "input for one host");
	is_int(pssh_task_write(t, b, "for b\n", 6), 0, "other input for another");
	is_int(pssh_task_write(t, host(&d, "n3"), "x", 1), PSSH_ENOENT, "a host that is not in the task takes none");
	pssh_task_end_input(t, a);
	is_int(pssh_task_write(t, a, "x", 1), PSSH_EINVAL, "after its end it takes none");
	drive_until(&d, &drive_seen(&d, t, a)->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, a), "exit 0", "the one whose input ended is over");
	is_int(drive_seen(&d, t, b)->ends, 0, "the other still waits");
	pssh_task_end_input(t, b);
	drive_done(&d, 1);
	is_str(drive_seen(&d, t, a)->out, "for a\n", "what one got");
	is_str(drive_seen(&d, t, b)->out, "for b\n", "what the other got");

	/* More than the library keeps at once, for one host. */
	t = command(&d, "cat");
	pssh_task_open_input(t);
	pssh_task_add(t, a);
	pssh_task_start(t);
	data = pattern(LEN);
	ok(write_all(t, a, data, LEN, &waits) && waits > 0, "3 MB for one host alone (held back %u times)", waits);
	drive_done(&d, 1);
	ok(drive_seen(&d, t, a)->out_len == LEN && memcmp(drive_seen(&d, t, a)->out, data, LEN) == 0,
		"come back as they were");
	free(data);

	/* Written before the start, to a command that does not read it all. */
	u = command(&d, "head -c 3; exec 0<&-; sleep 0.1");
	pssh_task_open_input(u);
	pssh_task_add(u, a);
	for (int i = 0; i < 10; i++)
		pssh_task_write(u, NULL, "abcdefgh", 8);
	pssh_task_end_input(u, NULL);
	pssh_task_start(u);
	drive_done(&d, 1);
	ends(drive_seen(&d, u, a), "exit 0", "input that is not read harms nobody");
	is_str(drive_seen(&d, u, a)->out, "abc", "what was read of it");
}

/* A command that stops reading early must still end. */
static void check_closed_input(struct pssh_host *h)
{
	enum { LEN = 4 << 20 };
	char *data = pattern(LEN);
	struct pssh_task *t = command(&d, "head -c 10 >/dev/null; exit 5");
	unsigned waits = 0;
	size_t at = 0;

	pssh_task_open_input(t);
	pssh_task_add(t, h);
	pssh_task_start(t);
	while (!drive_seen(&d, t, h)->ends && at < LEN && waits < 1000) {
		int rc = pssh_task_write(t, NULL, data + at, 65536);

		at += rc ? 0 : 65536;
		waits += rc != 0;
		drive_for(&d, rc ? 10 : 0);
	}
	pssh_task_end_input(t, NULL);
	drive_until(&d, &drive_seen(&d, t, h)->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, h), "exit 5", "a command that leaves before its input ends");
	drive_until(&d, &d.done, d.done + (pssh_task_left(t) != 0), 1000);
	drive_free(&d, t);
	free(data);
}

static void touch(const char *name)
{
	close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* More at once than a server's usual ten channels, on one connection. */
static void check_many_at_once(struct pssh_host *h)
{
	struct pssh_task *t[25];
	char here[1024], text[1200], want[64];
	unsigned good = 0, up = d.up, most = 0;

	/* The first wait for each other, so that starting them may take long. */
	unlink("go");
	if (!getcwd(here, sizeof here))
		exit(99);
	for (size_t i = 0; i < 25; i++) {
		snprintf(text, sizeof text, "until [ -e %s/go ]; do sleep 0.05; done; sleep 1; echo %zu; exit %zu",
			here, i, i);
		t[i] = command(&d, text);
		pssh_task_add(t[i], h);
		pssh_task_start(t[i]);
	}
	for (unsigned before = d.done;
		d.done < before + 25 && drive_until(&d, &d.events, d.events + 1, DRIVE_PATIENCE_MS);) {
		unsigned now = 0;

		for (size_t i = 0; i < 25; i++)
			now += drive_seen(&d, t[i], h)->started - drive_seen(&d, t[i], h)->ends;
		most = now > most ? now : most;
		if (most >= 5 && access("go", F_OK) != 0)
			touch("go");
	}
	for (size_t i = 0; i < 25; i++) {
		struct seen *s = drive_seen(&d, t[i], h);

		snprintf(text, sizeof text, "exit %zu", i);
		snprintf(want, sizeof want, "%zu\n", i);
		good += strcmp(end_of(s), text) == 0 && s->out && strcmp(s->out, want) == 0;
	}
	is_int(good, 25, "25 tasks at once on one connection");
	is_int(d.up, up, "without another connection");
	ok(most >= 5 && most <= 10, "%u of them side by side", most);
}

static void check_login_shell(struct pssh_host *h)
{
	struct pssh_task *t = command(&d, NULL);

	pssh_task_open_input(t);
	pssh_task_add(t, h);
	pssh_task_start(t);
	pssh_task_write(t, NULL, "echo in a shell\nexit 4\n", 23);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "exit 4", "a login shell");
	has_str(drive_seen(&d, t, h)->out, "in a shell", "does what it is told");
}

/* The next task notices a connection that died unseen, and still runs. */
static void check_dead_idle(struct pssh_host *h)
{
	unsigned up = d.up;
	char here[1024], text[1300];

	if (!getcwd(here, sizeof here))
		exit(99);
	snprintf(text, sizeof text,
		"P=$PPID; (cd %s; until [ -e die ]; do sleep 0.05; done; kill -9 $P; "
		"while kill -0 $P; do sleep 0.05; done; : >dead) >/dev/null 2>&1 </dev/null &",
		here);
	unlink("dead");
	unlink("die");
	once(&d, h, text);
	touch("die");
	for (int i = 0; i < DRIVE_PATIENCE_MS / 20 && access("dead", F_OK) != 0; i++)
		poll(NULL, 0, 20);
	ends(once(&d, h, "echo again"), "exit 0", "a task on a connection that died meanwhile");
	is_int(d.up, up + 1, "gets a new one");
}

int main(void)
{
	struct pssh_host *h;
	int fds;

	plan_none;
	fds = count_fds();
	drive_start(&d);
	is_int(pssh_read_config(d.p, env("SSHD_CONFIG")), 0, "the configuration is read");
	h = host(&d, "n1");
	check_ends(h);
	check_streams(h);
	check_env_and_pty(h);
	check_login_shell(h);
	check_many_at_once(h);
	is_int(d.up, 1, "all of it over one connection");
	check_large_input();
	check_own_input();
	check_closed_input(h);
	is_int(d.up, 3, "and one for each other host");
	check_dead_idle(h);
	drive_end(&d, "exec");
	is_int(count_fds(), fds, "no descriptor is left");
	return done();
}
