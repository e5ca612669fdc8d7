/* SPDX-License-Identifier: Apache-2.0 */
/* How output is cut, what happens beyond the ceiling, and that memory stays bounded. */
#include "light.h"

enum { LINE = 80 };

static struct drive d;
static struct light l;

static struct pssh_task *task_on(struct pssh_host *h, const char *text, enum pssh_output mode, size_t ceiling,
	enum pssh_overflow policy)
{
	struct pssh_task *t = command(&d, text);

	is_int(pssh_task_set_output(t, mode, ceiling, policy), 0, "output is set for '%s'", text);
	pssh_task_add(t, h);
	pssh_task_start(t);
	return t;
}

/* The light server's output: byte i of it. */
static char expected(size_t i)
{
	return i % LINE == LINE - 1 ? '\n' : (char)('a' + i % LINE % 26);
}

static bool as_sent(const char *data, size_t len, size_t from)
{
	for (size_t i = 0; i < len; i++)
		if (data[i] != expected(from + i))
			return false;
	return true;
}

static void check_modes(struct pssh_host *h)
{
	enum { LEN = 3000000 };
	struct seen *s = drive_seen(&d, task_on(h, "yes-bytes 3000000", PSSH_OUTPUT_LINES, 0, 0), h);

	drive_done(&d, 1);
	ok(s->out_len == LEN && as_sent(s->out, LEN, 0), "lines: all of it, as it was");
	is_int(s->split, 0, "lines: no event ends within a line (%u events)", s->outputs);
	s = drive_seen(&d, task_on(h, "yes-bytes 3000001", PSSH_OUTPUT_LINES, 0, 0), h);
	drive_done(&d, 1);
	ok(s->out_len == LEN + 1 && s->split == 1, "lines: but for the last line, which has no end");
	s = drive_seen(&d, task_on(h, "yes-bytes 3000000", PSSH_OUTPUT_LINES, 10, 0), h);
	drive_done(&d, 1);
	ok(s->out_len == LEN && as_sent(s->out, LEN, 0), "a ceiling below a line's length loses nothing");
	s = drive_seen(&d, task_on(h, "yes-bytes 3000000", PSSH_OUTPUT_CHUNKS, 0, 0), h);
	drive_done(&d, 1);
	ok(s->out_len == LEN && as_sent(s->out, LEN, 0), "chunks: all of it, as it was");
	s = drive_seen(&d, task_on(h, "yes-stderr 3000000; echo x", PSSH_OUTPUT_CHUNKS, 0, 0), h);
	drive_done(&d, 1);
	ok(s->err_len == LEN && s->out_len == 2, "stderr alone fills nobody's window");
	drive_forget(&d);
}

static void check_gather(struct pssh_host *h)
{
	enum { LEN = 3000000, CEILING = 10000, LARGE = 20 << 20 };
	struct seen *s = drive_seen(&d, task_on(h, "yes-bytes 9000", PSSH_OUTPUT_GATHER, CEILING, PSSH_OVERFLOW_DROP),
		h);

	drive_done(&d, 1);
	ok(s->outputs == 1 && s->out_len == 9000 && s->dropped == 0, "gather: below the ceiling all in one event");
	s = drive_seen(&d, task_on(h, "yes-bytes 3000000", PSSH_OUTPUT_GATHER, CEILING, PSSH_OVERFLOW_DROP), h);
	drive_done(&d, 1);
	is_int(s->outputs, 1, "gather: one event above it, too");
	ok(s->out_len <= CEILING && s->out_len >= CEILING / 2, "no more than the ceiling is held (%zu)", s->out_len);
	is_int(s->dropped + s->out_len, LEN, "what was forgotten is counted");
	ok(as_sent(s->out, s->out_len, LEN - s->out_len), "the newest is what is kept");
	s = drive_seen(&d, task_on(h, "yes-bytes 20971520", PSSH_OUTPUT_GATHER, CEILING, PSSH_OVERFLOW_SPILL), h);
	drive_done(&d, 1);
	ok(s->outputs == 1 && s->dropped == 0 && s->out_len == LARGE && as_sent(s->out, LARGE, 0),
		"spilled: all of it, as it was");
	s = drive_seen(&d, task_on(h, "echo a; echo b >&2; echo c", PSSH_OUTPUT_GATHER, 0, 0), h);
	drive_done(&d, 1);
	is_str(s->out, "a\nc\n", "gathered stdout");
	is_str(s->err, "b\n", "gathered stderr");
	s = drive_seen(&d, task_on(h, "true", PSSH_OUTPUT_GATHER, 0, 0), h);
	drive_done(&d, 1);
	is_int(s->outputs, 0, "no event where there is no output");
	drive_forget(&d);
}

/* Endless floods from many hosts: memory stays bounded, and the quiet host is not delayed. */
static void check_floods(void)
{
	enum { HOSTS = 12 };
	struct pssh_task *t = command(&d, "flood"), *u = command(&d, "flood-stderr"), *v = command(&d, "flood"), *quiet;
	struct pssh_host *h = light_host(&d, &l, "127.20.1.1");
	long before = peak_kib();
	int64_t begin;

	d.keep = false;
	pssh_task_set_output(t, PSSH_OUTPUT_CHUNKS, 0, 0);
	pssh_task_set_output(u, PSSH_OUTPUT_LINES, 0, 0);
	pssh_task_set_output(v, PSSH_OUTPUT_GATHER, 65536, PSSH_OVERFLOW_DROP);
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(i % 3 == 0 ? t : i % 3 == 1 ? u : v, light_host_number(&d, &l, 21, i));
	pssh_task_start(t);
	pssh_task_start(u);
	pssh_task_start(v);
	ok(drive_until(&d, &d.events, 3000, DRIVE_PATIENCE_MS), "%d hosts flood", HOSTS);
	quiet = command(&d, "echo here");
	pssh_task_add(quiet, h);
	pssh_task_start(quiet);
	begin = now_ms();
	ok(drive_until(&d, &drive_seen(&d, quiet, h)->ends, 1, DRIVE_PATIENCE_MS),
		"a quiet host is heard among them (%d ms)", (int)(now_ms() - begin));
	poll(NULL, 0, 500); /* nobody pulls */
	drive_until(&d, &d.events, d.events + 1000, DRIVE_PATIENCE_MS);
	ok(peak_kib() - before < 120 * 1024, "memory is bounded (%ld MiB more)", (peak_kib() - before) / 1024);
	pssh_task_free(t);
	pssh_task_stop(u);
	ok(drive_until(&d, &d.done, d.done + 1, DRIVE_PATIENCE_MS), "those that are stopped end");
	pssh_task_free(u);
	pssh_task_free(v);
	d.count = 0;
	d.keep = true;
	begin = now_ms();
	ends(once(&d, light_host_number(&d, &l, 21, 0), "echo back"), "exit 0",
		"a host whose flood was freed serves again");
	ok(now_ms() - begin < DRIVE_PATIENCE_MS / 2, "and soon");
}

static void check_volume(struct pssh_host *h)
{
	struct seen *s;
	int64_t begin = now_ms();

	d.keep = false;
	s = drive_seen(&d, task_on(h, "yes-bytes 104857600", PSSH_OUTPUT_CHUNKS, 0, 0), h);
	drive_done(&d, 1);
	is_int(s->out_len, 104857600, "100 MB of one host (%d ms)", (int)(now_ms() - begin));
	ends(s, "exit 0", "and then its end");
	d.keep = true;
}

int main(void)
{
	char key[300];
	int fds;

	plan_none;
	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(&l, "light", (const char *const[]){ "--authorized", key, NULL });
	fds = count_fds();
	light_fleet(&d, &l);
	check_modes(light_host(&d, &l, "127.20.0.1"));
	check_gather(light_host(&d, &l, "127.20.0.1"));
	check_volume(light_host(&d, &l, "127.20.0.1"));
	check_floods();
	drive_end(&d, "output");
	is_int(count_fds(), fds, "no descriptor is left");
	light_down(&l);
	return done();
}
