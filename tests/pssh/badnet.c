/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands and copies through a network that does anything, to real sshd: what is called a success is
 * one, byte by byte; every host has exactly one end with a cause; and all of it ends in time.
 */
#include "drive.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { HOSTS_MAX = 250, FILE_SIZE = 600000, INPUT_SIZE = 200000, PHASE_MS = 6000, TASK_MS = 10000 };
/* Four phases, a try, the task, its end with a grace, and much for a busy machine. */
enum { BOUND_MS = 4 * PHASE_MS + TASK_MS + 7000 + 40000 };

enum work { RUN, INPUT, TTY, PUT, GET, WORKS };

static const char *const work_names[] = { "run", "stdin", "tty", "put", "get" };
static const int statuses[] = { 7, 5, 9, 0, 0 };

struct one {
	enum work work;
	unsigned port;
	char fault[40];
	struct pssh_host *host;
	struct pssh_task *task;
};

static struct drive d;
static struct one ones[HOSTS_MAX];
static char input[INPUT_SIZE + 1], content[FILE_SIZE];
static unsigned succeeded[WORKS], ended;

static unsigned long number_of(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 10) : otherwise;
}

/* ---- The network ---- */

static pid_t net_start(unsigned long seed, const char *fault, unsigned hosts)
{
	char list[1000], seed_text[24], hosts_text[24], *rest = list;
	const char *argv[40] = { env("BADPROXY"), "ports", seed_text, fault, hosts_text };
	pid_t pid;
	FILE *f;

	unlink("ports");
	snprintf(list, sizeof list, "%s", env("BADNET_TARGETS"));
	snprintf(seed_text, sizeof seed_text, "%lu", seed);
	snprintf(hosts_text, sizeof hosts_text, "%u", hosts);
	for (int n = 5; n < 39 && (argv[n] = strsep(&rest, " "));)
		n += *argv[n] != '\0';
	for (int n = 5; n < 39; n++)
		if (argv[n] && !*argv[n])
			argv[n] = NULL;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execv(argv[0], (char **)(uintptr_t)argv);
		_exit(127);
	}
	for (int i = 0; i < 1000 && access("ports", R_OK); i++)
		poll(NULL, 0, 20);
	f = fopen("ports", "r");
	for (unsigned i = 0; i < hosts; i++)
		if (!f || fscanf(f, "%u %39s", &ones[i].port, ones[i].fault) != 2) {
			printf("Bail out! badproxy does not start\n");
			exit(99);
		}
	fclose(f);
	return pid;
}

/* ---- One host ---- */

static void file_write(const char *path, const char *data, size_t len)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		exit(99);
}

/* 1: it is there and right; 0: it is not there; -1: it is there and wrong. */
static int file_right(const char *path)
{
	static char found[FILE_SIZE + 1];
	FILE *f = fopen(path, "r");
	size_t len;

	if (!f)
		return 0;
	len = fread(found, 1, sizeof found, f);
	fclose(f);
	return len == FILE_SIZE && memcmp(found, content, FILE_SIZE) == 0 ? 1 : -1;
}

static void one_path(const struct one *o, char *room, size_t size)
{
	snprintf(room, size, "%s/%u", o->work == PUT ? "put" : "got", (unsigned)(o - ones));
}

static void one_begin(struct one *o)
{
	unsigned i = (unsigned)(o - ones);
	char text[300], path[64], top[200], name[24];

	snprintf(name, sizeof name, "f%u", i);
	o->host = host(&d, name);
	pssh_host_set_address(o->host, "127.0.0.1");
	pssh_host_set_port(o->host, o->port);
	pssh_host_pin(o->host, env("BADNET_KEY"));
	if (!getcwd(top, sizeof top))
		exit(99);
	one_path(o, path, sizeof path);
	if (o->work == PUT) {
		snprintf(text, sizeof text, "%.200s/%.60s", top, path);
		pssh_put(d.p, "source", text, i % 2 ? PSSH_COPY_CHECKSUM : 0, &o->task);
	} else if (o->work == GET) {
		snprintf(text, sizeof text, "%.200s/source", top);
		pssh_get(d.p, text, path, i % 2 ? PSSH_COPY_CHECKSUM : 0, &o->task);
	} else if (o->work == RUN) {
		snprintf(text, sizeof text,
			"i=0; while [ $i -lt 4000 ]; do echo \"%u: $i\"; i=$((i + 1)); done; exit 7", i);
		o->task = command(&d, text);
	} else if (o->work == INPUT) {
		o->task = command(&d, "cat; exit 5");
		pssh_task_open_input(o->task);
	} else {
		snprintf(text, sizeof text, "test -t 0 && test -t 1 && echo tty %u; exit 9", i);
		o->task = command(&d, text);
		pssh_task_set_pty(o->task, "xterm", 80, 24);
	}
	pssh_task_add(o->task, o->host);
	pssh_task_start(o->task);
	if (o->work == INPUT && pssh_task_write(o->task, NULL, input, INPUT_SIZE) == 0)
		pssh_task_end_input(o->task, NULL);
}

static bool output_right(const struct one *o, const struct seen *s)
{
	static char want[100000];
	size_t len = 0;
	unsigned i = (unsigned)(o - ones);

	if (o->work == INPUT)
		return s->out_len == INPUT_SIZE && memcmp(s->out, input, INPUT_SIZE) == 0;
	if (o->work == TTY)
		len = (size_t)snprintf(want, sizeof want, "tty %u\r\n", i);
	for (unsigned n = 0; o->work == RUN && n < 4000; n++)
		len += (size_t)snprintf(want + len, sizeof want - len, "%u: %u\n", i, n);
	return s->out_len == len && memcmp(s->out, want, len) == 0;
}

static bool one_right(const struct one *o, const struct seen *s)
{
	bool copies = o->work == PUT || o->work == GET;
	char path[64];
	int there;

	if (s->ends != 1)
		return false;
	one_path(o, path, sizeof path);
	there = copies ? file_right(path) : 0;
	if (s->type == PSSH_EV_EXIT && !s->cancelled) {
		succeeded[o->work]++;
		return s->status == statuses[o->work] && (copies ? there == 1 : output_right(o, s));
	}
	/* A rename may have been done though its answer was lost; half a file may not have the name. */
	return there >= 0 && (*s->text || s->type != PSSH_EV_ERROR) && !strcasestr(s->text, "would block") &&
		!strcasestr(s->text, "transport read");
}

/* ---- Rounds ---- */

static void check_round(unsigned long seed, unsigned hosts)
{
	pid_t net = net_start(seed, "random", hosts);
	unsigned right = 0, done = 0;
	int64_t begin = now_ms();

	drive_start(&d);
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	for (int phase = PSSH_PHASE_RESOLVE; phase <= PSSH_PHASE_AUTH; phase++)
		pssh_set_deadline(d.p, (enum pssh_phase)phase, PHASE_MS);
	pssh_set_deadline(d.p, PSSH_PHASE_TASK, TASK_MS);
	for (unsigned i = 0; i < hosts; i++) {
		char path[64];

		ones[i].work = (enum work)((i + seed) % WORKS);
		one_path(&ones[i], path, sizeof path);
		unlink(path); /* of the round before */
		one_begin(&ones[i]);
	}
	drive_until(&d, &d.done, hosts, BOUND_MS);
	done = d.done;
	is_int(done, hosts, "seed %lu: every host ends (%d ms)", seed, (int)(now_ms() - begin));
	for (unsigned i = 0; i < hosts; i++) {
		const struct one *o = &ones[i];
		const struct seen *s = drive_seen(&d, o->task, o->host);

		ended += s->ends;
		if (one_right(o, s))
			right++;
		else
			diag("f%u: %s through %s: %s '%s', %zu bytes", i, work_names[o->work], o->fault, end_of(s),
				s->text, s->out_len);
		if (getenv("BADNET_ALL"))
			diag("f%u: %s, %s: %s '%s'", i, work_names[o->work], o->fault, end_of(s), s->text);
	}
	is_int(right, hosts, "seed %lu: every end is true", seed);
	kill(net, SIGTERM);
	waitpid(net, NULL, 0);
	drive_end(&d, "badnet");
}

/* The network fails in each packet of a short command in turn, the last ones too. */
static void check_places(const char *fault)
{
	enum { PLACES = 64 };
	pid_t net = net_start(1, fault, PLACES);
	unsigned right = 0;

	drive_start(&d);
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	pssh_set_deadline(d.p, PSSH_PHASE_TASK, TASK_MS);
	for (unsigned i = 0; i < PLACES; i++) {
		ones[i].work = TTY;
		one_begin(&ones[i]);
	}
	drive_until(&d, &d.done, PLACES, BOUND_MS);
	for (unsigned i = 0; i < PLACES; i++) {
		const struct seen *s = drive_seen(&d, ones[i].task, ones[i].host);

		right += one_right(&ones[i], s);
		if (getenv("BADNET_ALL") || !one_right(&ones[i], s))
			diag("f%u: %s: %s '%s'", i, ones[i].fault, end_of(s), s->text);
	}
	is_int(right, PLACES, "%s: every end is true, and a person understands it", fault);
	kill(net, SIGTERM);
	waitpid(net, NULL, 0);
	drive_end(&d, fault);
}

/* A network that only takes its time: everything succeeds. */
static void check_patient(const char *fault)
{
	pid_t net = net_start(1, fault, 2 * WORKS);
	unsigned before = 0, after = 0, right = 0;

	drive_start(&d);
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	for (unsigned i = 0; i < 2 * WORKS; i++) {
		char path[64];

		before += i < WORKS ? succeeded[i] : 0;
		ones[i].work = (enum work)(i % WORKS);
		one_path(&ones[i], path, sizeof path);
		unlink(path);
		one_begin(&ones[i]);
	}
	drive_until(&d, &d.done, 2 * WORKS, BOUND_MS);
	for (unsigned i = 0; i < 2 * WORKS; i++) {
		const struct seen *s = drive_seen(&d, ones[i].task, ones[i].host);
		bool good = one_right(&ones[i], s);

		right += good;
		if (!good || s->type != PSSH_EV_EXIT)
			diag("f%u: %s: %s '%s'", i, work_names[ones[i].work], end_of(s), s->text);
	}
	for (unsigned w = 0; w < WORKS; w++)
		after += succeeded[w];
	is_int(right, 2 * WORKS, "%s: every end is true", fault);
	is_int(after - before, 2 * WORKS, "%s: and a success", fault);
	kill(net, SIGTERM);
	waitpid(net, NULL, 0);
	drive_end(&d, fault);
}

int main(void)
{
	unsigned hosts = (unsigned)number_of("BADNET_HOSTS", 15);
	unsigned long seed = number_of("BADNET_SEED", 1), rounds = number_of("BADNET_ROUNDS", 2);
	static const char *const patient[] = { "none", "delay", "accept", "dribble" };
	unsigned all = 0;
	int fds;

	plan_none;
	for (size_t i = 0; i < INPUT_SIZE; i++)
		input[i] = i % 61 == 60 ? '\n' : (char)('a' + (i * i / 7) % 26);
	for (size_t i = 0; i < FILE_SIZE; i++)
		content[i] = (char)((i * 2654435761u) >> 11);
	file_write("source", content, FILE_SIZE);
	if (mkdir("put", 0700) || mkdir("got", 0700))
		exit(99);
	hosts = hosts < HOSTS_MAX ? hosts : HOSTS_MAX;
	fds = count_fds();
	check_places("cut@1800+12");
	check_places("flip@1800+12");
	for (size_t i = 0; i < sizeof patient / sizeof *patient; i++)
		check_patient(patient[i]);
	memset(succeeded, 0, sizeof succeeded);
	for (unsigned long r = 0; r < rounds; r++)
		check_round(seed + r, hosts);
	for (unsigned w = 0; w < WORKS; w++) {
		diag("%s: %u successes, each with the right content", work_names[w], succeeded[w]);
		all += succeeded[w];
	}
	ok(all > 0, "some of it succeeded (%u of %u)", all, ended);
	is_int(count_fds(), fds, "no descriptor is left");
	return done();
}
