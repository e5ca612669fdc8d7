/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a fleet as any program would, through <pssh.h> only, and records what happens on each host of
 * each task. It checks every event against the header's promises; drive_end() reports the result.
 */
#ifndef TESTS_PSSH_DRIVE_H
#define TESTS_PSSH_DRIVE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pssh.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../lib/tap.h"

/* Inline: without optimizing, no other function that nobody calls is left out, and plugin.c links no libpssh. */
#define DRIVE_UNUSED inline __attribute__((unused))

enum { DRIVE_SEEN = 2048, DRIVE_PATIENCE_MS = 180000 };

/* One task on one host. */
struct seen {
	struct pssh_task *task;
	struct pssh_host *host;
	char *out, *err;              /* with a NUL after the end */
	size_t out_len, err_len;
	uint64_t dropped, changed;
	unsigned started, ends, retries, outputs, split;
	int type, status, cancelled;  /* of the end */
	char text[600];
};

struct drive {
	struct pssh *p;
	struct seen seen[DRIVE_SEEN];
	size_t count;
	unsigned up, down, done, prompts, writable, events, broken;
	uint64_t seq;
	bool keep;                    /* keep output, else only count it */
	const char *answer;           /* for each prompt; NULL: decline */
	bool hold_answers;            /* leave prompts open: see last_prompt */
	const char *const *answers;   /* one after another, instead of answer */
	uint64_t last_prompt;
	char question[600];
	int last_echo;
	struct pssh_host *last_down;
	char down_text[600];
};

static DRIVE_UNUSED int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static DRIVE_UNUSED const char *env(const char *name)
{
	const char *s = getenv(name);

	if (!s) {
		printf("Bail out! %s is not set: run the .t of this test\n", name);
		exit(99);
	}
	return s;
}

static DRIVE_UNUSED void drive_break(struct drive *d, const char *what, const struct pssh_event *ev)
{
	if (d->broken++ < 10)
		diag("promise broken: %s (event %d, host %s, '%s')", what, (int)ev->type,
			ev->host ? pssh_host_name(ev->host) : "-", ev->text);
}

static DRIVE_UNUSED struct seen *drive_seen(struct drive *d, const struct pssh_task *t, const struct pssh_host *h)
{
	static struct seen none;

	for (size_t i = d->count; i-- > 0;)
		if (d->seen[i].task == t && d->seen[i].host == h)
			return &d->seen[i];
	if (d->count == DRIVE_SEEN)
		return &none;
	d->seen[d->count] = (struct seen){ .task = (struct pssh_task *)t, .host = (struct pssh_host *)h };
	return &d->seen[d->count++];
}

static DRIVE_UNUSED void drive_keep(char **to, size_t *len, const struct pssh_event *ev)
{
	char *more = realloc(*to, *len + ev->len + 1);

	if (!more)
		exit(99);
	memcpy(more + *len, ev->data, ev->len);
	*len += ev->len;
	more[*len] = '\0';
	*to = more;
}

static DRIVE_UNUSED void drive_output(struct drive *d, struct seen *s, const struct pssh_event *ev)
{
	char **to = ev->type == PSSH_EV_STDOUT ? &s->out : &s->err;
	size_t *len = ev->type == PSSH_EV_STDOUT ? &s->out_len : &s->err_len;

	if (!s->started)
		drive_break(d, "output before the start", ev);
	if (s->ends)
		drive_break(d, "output after the end", ev);
	s->outputs++;
	s->dropped += ev->dropped;
	s->split += ev->len && ev->data[ev->len - 1] != '\n';
	if (d->keep)
		drive_keep(to, len, ev);
	else
		*len += ev->len;
}

/* One line for each file: type and mode, size, name. */
static DRIVE_UNUSED void drive_file(struct seen *s, const struct pssh_event *ev)
{
	char line[400];
	struct pssh_event as = { .data = line };

	as.len = (size_t)snprintf(line, sizeof line, "%o %llu %.300s\n", (unsigned)ev->status,
		(unsigned long long)ev->total, ev->text);
	drive_keep(&s->out, &s->out_len, &as);
	s->changed = ev->done;
}

static DRIVE_UNUSED void drive_over(struct drive *d, struct seen *s, const struct pssh_event *ev)
{
	if (s->ends++)
		drive_break(d, "a second end", ev);
	if (ev->type != PSSH_EV_ERROR && !s->started)
		drive_break(d, "an exit without a start", ev);
	if (ev->type == PSSH_EV_ERROR && (ev->status >= 0 || !*ev->text))
		drive_break(d, "an error without a code or a sentence", ev);
	s->type = ev->type;
	s->status = ev->status;
	s->cancelled = ev->cancelled;
	snprintf(s->text, sizeof s->text, "%s", ev->text);
}

static DRIVE_UNUSED void drive_ask(struct drive *d, const struct pssh_event *ev)
{
	const char *answer = d->answer;

	d->prompts++;
	d->last_prompt = ev->prompt;
	d->last_echo = ev->echo;
	snprintf(d->question, sizeof d->question, "%s", ev->text);
	if (d->hold_answers)
		return;
	if (d->answers && *d->answers)
		answer = *d->answers++;
	if (pssh_answer(d->p, d->last_prompt, answer) != 0)
		diag("the answer was not taken: %s", pssh_error(d->p));
}

static DRIVE_UNUSED void drive_take(struct drive *d, const struct pssh_event *ev)
{
	struct seen *s = ev->task && ev->host ? drive_seen(d, ev->task, ev->host) : NULL;

	d->events++;
	if (ev->seq <= d->seq)
		drive_break(d, "seq does not rise", ev);
	d->seq = ev->seq;
	if (!ev->text || !ev->data)
		drive_break(d, "a NULL text or data", ev);
	switch (ev->type) {
	case PSSH_EV_HOST_UP: d->up++; break;
	case PSSH_EV_HOST_DOWN:
		d->down++;
		d->last_down = ev->host;
		snprintf(d->down_text, sizeof d->down_text, "%s", ev->text);
		break;
	case PSSH_EV_RETRY: s->retries++; break;
	case PSSH_EV_STARTED:
		if (s->started++)
			drive_break(d, "started twice", ev);
		break;
	case PSSH_EV_STDOUT:
	case PSSH_EV_STDERR: drive_output(d, s, ev); break;
	case PSSH_EV_WRITABLE: d->writable++; break;
	case PSSH_EV_PROMPT: drive_ask(d, ev); break;
	case PSSH_EV_EXIT:
	case PSSH_EV_SIGNAL:
	case PSSH_EV_ERROR: drive_over(d, s, ev); break;
	case PSSH_EV_DONE:
		d->done++;
		if (pssh_task_left(ev->task))
			drive_break(d, "done with hosts left", ev);
		for (size_t i = 0; i < d->count; i++)
			if (d->seen[i].task == ev->task && d->seen[i].ends != 1)
				drive_break(d, "done, but a host has not ended once", ev);
		break;
	case PSSH_EV_PROGRESS: break;
	case PSSH_EV_SIGN:
	case PSSH_EV_HOSTKEY: /* as in drive_ask, but the test answers */
		d->prompts++;
		d->last_prompt = ev->prompt;
		snprintf(d->question, sizeof d->question, "%s", ev->text);
		break;
	case PSSH_EV_FILE:
		drive_file(s, ev);
		break;
	}
}

/* Pulls events for at most ms or until *counter reaches `least`. Returns whether it did. */
static DRIVE_UNUSED bool drive_until(struct drive *d, const unsigned *counter, unsigned least, int ms)
{
	int64_t end = now_ms() + ms;
	const struct pssh_event *ev;

	while (*counter < least) {
		int64_t left = end - now_ms();
		int rc = left > 0 ? pssh_wait(d->p, &ev, (int)left) : 0;

		if (rc < 0) {
			diag("pssh_wait: %s", pssh_error(d->p));
			return false;
		}
		if (rc == 1)
			drive_take(d, ev);
		else if (left <= 0)
			return false;
	}
	return true;
}

/* Pulls events until it has started, or ended without. */
static DRIVE_UNUSED void drive_begun(struct drive *d, const struct seen *s)
{
	for (int64_t end = now_ms() + DRIVE_PATIENCE_MS; !s->started && !s->ends && now_ms() < end;)
		drive_until(d, &s->started, 1, 20);
}

/* Pulls events for ms. */
static DRIVE_UNUSED void drive_for(struct drive *d, int ms)
{
	static const unsigned never;

	drive_until(d, &never, 1, ms);
}

/* Pulls events until so many more tasks are done. */
static DRIVE_UNUSED bool drive_done(struct drive *d, unsigned more)
{
	bool good = drive_until(d, &d->done, d->done + more, DRIVE_PATIENCE_MS);

	if (!good)
		diag("not done in time");
	return good;
}

/* Frees a task and its records, as a later task may get the same address. */
static DRIVE_UNUSED void drive_free(struct drive *d, struct pssh_task *t)
{
	pssh_task_free(t);
	for (size_t i = 0; i < d->count; i++)
		if (d->seen[i].task == t)
			d->seen[i].task = NULL;
}

static DRIVE_UNUSED bool drive_start(struct drive *d)
{
	const char *kept = getenv("DRIVE_KEEP"); /* a folder: the test runs over connections that were kept there */

	*d = (struct drive){ .keep = true };
	return pssh_new(&d->p) == 0 && (!kept || pssh_set_keep(d->p, kept, 600) == 0);
}

static DRIVE_UNUSED void drive_forget(struct drive *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->seen[i].out);
		free(d->seen[i].err);
	}
	d->count = 0;
}

static DRIVE_UNUSED void drive_end(struct drive *d, const char *what)
{
	is_int(d->broken, 0, "%s: events kept their promises", what);
	pssh_free(d->p);
	drive_forget(d);
}

/* ---- Shorthand: a failure here ends the whole test -------------------------------------- */

static DRIVE_UNUSED struct pssh_host *host(struct drive *d, const char *spec)
{
	struct pssh_host *h = NULL;

	if (pssh_host(d->p, spec, &h) != 0) {
		printf("Bail out! %s\n", pssh_error(d->p));
		exit(99);
	}
	return h;
}

static DRIVE_UNUSED struct pssh_task *command(struct drive *d, const char *text)
{
	struct pssh_task *t = NULL;

	if (pssh_exec(d->p, text, &t) != 0)
		exit(99);
	return t;
}

/* Runs a command on one host to its end. */
static DRIVE_UNUSED struct seen *once(struct drive *d, struct pssh_host *h, const char *text)
{
	struct pssh_task *t = command(d, text);

	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	drive_done(d, 1);
	return drive_seen(d, t, h);
}

/* Every sign of an end in one word: "exit 3", "signal TERM", "PSSH_EAUTH", "nothing". */
static DRIVE_UNUSED const char *end_of(const struct seen *s)
{
	static char room[64];

	if (!s->ends)
		return "nothing";
	if (s->type == PSSH_EV_EXIT)
		snprintf(room, sizeof room, "exit %d", s->status);
	else if (s->type == PSSH_EV_SIGNAL)
		snprintf(room, sizeof room, "signal %.40s", s->text);
	else
		return pssh_errname(s->status);
	return room;
}

#define ends(s, want, ...) (is_str(end_of(s), (want), __VA_ARGS__) || (diag("its text: %s", (s)->text), false))

/* How many descriptors this process has. */
static DRIVE_UNUSED int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* The same, once it is what it was before: a thread that looks up a name keeps its descriptors until it has. */
static DRIVE_UNUSED int count_fds_again(int before)
{
	const struct timespec tick = { .tv_nsec = 10000000 };
	int n = count_fds();

	for (int i = 0; i < 3000 && n != before; i++, n = count_fds())
		nanosleep(&tick, NULL);
	return n;
}

/* How many processes have the marker in their command line, without this test's own; *pid is one of them. */
static DRIVE_UNUSED int find_marked(const char *marker, long *pid)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;
	int n = 0;

	while (dir && (de = readdir(dir))) {
		char path[300], line[4096];
		ssize_t len;
		int fd;

		if (de->d_name[0] < '0' || de->d_name[0] > '9' || strtol(de->d_name, NULL, 10) == getpid())
			continue;
		snprintf(path, sizeof path, "/proc/%s/cmdline", de->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		len = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
		if (fd >= 0)
			close(fd);
		if (len > 0 && memmem(line, (size_t)len, marker, strlen(marker))) {
			*pid = strtol(de->d_name, NULL, 10);
			n++;
		}
	}
	if (dir)
		closedir(dir);
	return n;
}

static DRIVE_UNUSED void kill_marked(const char *marker)
{
	long pid;

	for (int i = 0; i < 1000 && find_marked(marker, &pid); i++)
		if (kill((pid_t)pid, SIGKILL) == 0)
			poll(NULL, 0, 5);
}

static DRIVE_UNUSED int count_marked(const char *marker)
{
	long pid;

	return find_marked(marker, &pid);
}

/* Waits up to ms until so many exist. Returns how many do. */
static DRIVE_UNUSED int wait_marked(const char *marker, int want, int ms)
{
	int64_t end = now_ms() + ms;
	int n;

	while ((n = count_marked(marker)) != want && now_ms() < end)
		poll(NULL, 0, 20);
	return n;
}

/* The peak memory so far, in KiB. */
static DRIVE_UNUSED long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

#endif
