/* SPDX-License-Identifier: Apache-2.0 */
/* Past bugs, each with the smallest case that showed it. Run as a proxy command, this program is a slow link. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "drive.h"

static struct drive d;

static void fresh(void)
{
	if (!drive_start(&d) || pssh_read_config(d.p, env("SSHD_CONFIG")) != 0)
		exit(99);
}

/* ---- A link that takes less than we write ------------------------------------------------ */

static bool pass_on(int to, const char *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(to, data + at, len - at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/* Sends `rate` bytes a second to the server; passes back its bytes at once. */
static int slow_link(const char *address, const char *port, const char *rate)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)strtol(port, NULL, 10)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char block[16384];
	ssize_t n;

	if (inet_pton(AF_INET, address, &sa.sin_addr) != 1 || connect(fd, (struct sockaddr *)&sa, sizeof sa) != 0)
		return 1;
	if (fork() == 0) {
		while ((n = read(fd, block, sizeof block)) > 0 && pass_on(1, block, (size_t)n))
			;
		_exit(0);
	}
	close(1);
	while ((n = read(0, block, sizeof block)) > 0 && pass_on(fd, block, (size_t)n))
		poll(NULL, 0, (int)((int64_t)n * 1000 / strtol(rate, NULL, 10)));
	shutdown(fd, SHUT_WR);
	return 0;
}

static struct pssh_host *slow_host(const char *name, unsigned rate)
{
	struct pssh_host *h = host(&d, name);
	char self[500], text[600];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		exit(99);
	self[n] = '\0';
	snprintf(text, sizeof text, "exec '%s' slow %%h %%p %u", self, rate);
	pssh_host_set_proxy(h, text);
	return h;
}

/* Bytes that differ at every place. */
static void pattern(char *data, size_t len)
{
	uint32_t x = 777;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		data[i] = (char)(x >> 24);
	}
}

static void check_both_ways(void)
{
	enum { LEN = 4 << 20, PIECE = 1 << 16 };
	char *data = malloc(LEN);
	struct pssh_host *h;
	struct pssh_task *t;
	struct seen *s;
	size_t at = 0;
	int rc = 0;

	if (!data)
		exit(99);
	pattern(data, LEN);
	fresh();
	h = slow_host("n1", 8000000);
	t = command(&d, "cat");
	pssh_task_open_input(t);
	pssh_task_set_output(t, PSSH_OUTPUT_CHUNKS, 0, PSSH_OVERFLOW_DROP);
	pssh_task_add(t, h);
	pssh_task_start(t);
	while (at < LEN && (rc = pssh_task_write(t, NULL, data + at, PIECE)) != PSSH_EINVAL) {
		if (!rc)
			at += PIECE;
		else if (!drive_until(&d, &d.writable, d.writable + 1, 20000))
			break;
	}
	is_int(at, LEN, "a slow link takes 4 MB while they come back");
	pssh_task_end_input(t, NULL);
	drive_done(&d, 1);
	s = drive_seen(&d, t, h);
	ends(s, "exit 0", "both ways at once");
	ok(s->out_len == LEN && memcmp(s->out, data, LEN) == 0, "all of it comes back (%zu)", s->out_len);
	free(data);
	drive_end(&d, "both ways");
}

static void check_stop_upload(void)
{
	static char zeros[60000];
	int64_t until;
	struct pssh_host *h;
	struct pssh_task *t;
	size_t took = 0;

	fresh();
	h = slow_host("n1", 2000000);
	t = command(&d, "cat >/dev/null");
	pssh_task_open_input(t);
	pssh_task_add(t, h);
	pssh_task_start(t);
	for (until = now_ms() + DRIVE_PATIENCE_MS; took < 2500000 && now_ms() < until;)
		if (pssh_task_write(t, NULL, zeros, sizeof zeros) == 0)
			took += sizeof zeros;
		else
			drive_until(&d, &d.writable, d.writable + 1, 1000);
	ok(took >= 2500000, "an upload runs");
	pssh_task_stop(t);
	ok(drive_until(&d, &d.done, 1, DRIVE_PATIENCE_MS), "it is stopped half way");
	ends(drive_seen(&d, t, h), "PSSH_ECANCEL", "as cancelled");
	t = command(&d, "echo on");
	pssh_task_add(t, h);
	pssh_task_start(t);
	ok(drive_until(&d, &d.done, 2, DRIVE_PATIENCE_MS), "the next command on that connection ends");
	ends(drive_seen(&d, t, h), "exit 0", "well");
	is_int(d.up, 1, "the connection is still the first");
	drive_end(&d, "a stopped upload");
}

/* ---- Jump hosts -------------------------------------------------------------------------- */

/* A port that answers nobody, for its queue is full. */
static unsigned hole(int fds[5])
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof sa;

	for (int i = 0; i < 5; i++)
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(fds[0], (struct sockaddr *)&sa, sizeof sa) != 0 || listen(fds[0], 0) != 0 ||
		getsockname(fds[0], (struct sockaddr *)&sa, &len) != 0)
		exit(99);
	for (int i = 1; i < 5; i++)
		if (connect(fds[i], (struct sockaddr *)&sa, sizeof sa) != 0 && errno != EINPROGRESS)
			exit(99);
	return ntohs(sa.sin_port);
}

/* One silent target holds up only itself: the others get another connection to the jump host. */
static void check_lane(void)
{
	struct pssh_host *silent, *live[3];
	struct pssh_task *t;
	char spec[64];
	int fds[5];

	fresh();
	pssh_set_deadline(d.p, PSSH_PHASE_CONNECT, 15000);
	snprintf(spec, sizeof spec, "127.0.0.1:%u", hole(fds));
	t = command(&d, "true");
	silent = host(&d, spec);
	pssh_host_set_jump(silent, "n2");
	pssh_task_add(t, silent);
	for (int i = 0; i < 3; i++) {
		live[i] = host(&d, i == 0 ? "n1" : i == 1 ? "n3" : "root@n1");
		pssh_host_set_jump(live[i], "n2");
		pssh_task_add(t, live[i]);
	}
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, silent)->ends, 1, DRIVE_PATIENCE_MS);
	for (int i = 0; i < 3; i++)
		ends(drive_seen(&d, t, live[i]), "exit 0",
			"beside a silent target: the others were there before it was given up");
	ends(drive_seen(&d, t, silent), "PSSH_ETIMEOUT", "and it is given up in time");
	for (int i = 0; i < 5; i++)
		close(fds[i]);
	drive_end(&d, "a silent target behind a jump host");
}

/* The jump host still dials for an abandoned target; its late answer must not go to the next one. */
static void check_given_up(bool answers)
{
	const char *what = answers ? "late yes" : "late no";
	char spec[64], at[64];
	struct pssh_host *h;
	struct pssh_task *t;
	struct seen *s;
	int fds[5], c;

	fresh();
	pssh_set_deadline(d.p, PSSH_PHASE_CONNECT, 4000);
	ends(once(&d, host(&d, "n2"), "true"), "exit 0", "%s: a jump host is up", what);
	snprintf(spec, sizeof spec, "127.0.0.1:%u", hole(fds));
	h = host(&d, spec);
	pssh_host_set_jump(h, "n2");
	ends(once(&d, h, "true"), "PSSH_ETIMEOUT", "%s: a silent target behind it is given up", what);
	h = host(&d, "n3");
	pssh_host_set_jump(h, "n2");
	t = command(&d, "echo $SSH_CONNECTION");
	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_for(&d, 300);
	while (answers && (c = accept(fds[0], NULL, NULL)) >= 0)
		close(c);
	for (int i = answers; i < 5; i++)
		close(fds[i]);
	s = drive_seen(&d, t, h);
	drive_until(&d, &s->ends, 1, DRIVE_PATIENCE_MS);
	ends(s, "exit 0", "%s: the next target through it is reached", what);
	snprintf(at, sizeof at, " %s ", pssh_host_address(h));
	has_str(s->out ? s->out : "", at, "%s: at its own address", what);
	if (answers)
		close(fds[0]);
	drive_end(&d, what);
}

static void check_reason(void)
{
	struct pssh_host *h;
	struct seen *s;

	fresh();
	pssh_set_retries(d.p, 2, 50, 50);
	h = host(&d, "n1");
	pssh_host_set_jump(h, "127.0.0.1:1");
	s = once(&d, h, "true");
	ends(s, "PSSH_EPROXY", "a jump host that refuses");
	has_str(s->text, "'127.0.0.1' port 1", "the rider's sentence names it");
	has_str(s->text, "refused", "and its reason");
	drive_end(&d, "reason");
}

/* ---- Idle, stopped, cancelled ------------------------------------------------------------ */

static int64_t cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* Ten times 100 ms: each returns in time, and nothing is computed meanwhile. */
static void idle(const char *what)
{
	const struct pssh_event *ev;
	int64_t begin = now_ms(), cpu = cpu_ms(), wall;

	for (int i = 0; i < 10; i++)
		if (pssh_wait(d.p, &ev, 100) == 1)
			drive_take(&d, ev);
	wall = now_ms() - begin;
	cpu = cpu_ms() - cpu;
	ok(wall < 30000, "%s: pssh_wait returns in time (%d ms)", what, (int)wall);
	ok(cpu < 300, "%s: it sleeps meanwhile (%d ms of processor time)", what, (int)cpu);
}

static void check_idle(void)
{
	struct pssh_task *t;
	struct pssh_host *h;

	fresh();
	h = host(&d, "n1");
	if (pssh_tunnel(d.p, "127.0.0.1:0", "127.0.0.1:1", &t) != 0)
		exit(99);
	pssh_task_add(t, h);
	pssh_task_start(t);
	ok(drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS), "a tunnel listens");
	idle("a tunnel");
	drive_end(&d, "idle tunnel");

	fresh();
	h = host(&d, "n1");
	t = command(&d, "true");
	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_for(&d, 10);
	pssh_task_stop(t);
	drive_until(&d, &d.done, 1, 5000);
	drive_until(&d, &d.up, 1, 500);
	idle("a stopped task's host");
	drive_end(&d, "idle host");
}

static void check_no_dialling(void)
{
	struct pssh_task *t;

	fresh();
	pssh_set_window(d.p, 1, 0);
	t = command(&d, "true");
	for (const char *const *name = (const char *const[]){ "n1", "n2", "n3", NULL }; *name; name++)
		pssh_task_add(t, host(&d, *name));
	pssh_task_start(t);
	drive_for(&d, 1);
	pssh_task_stop(t);
	ok(drive_until(&d, &d.done, 1, 5000), "a task is stopped while hosts wait for the window");
	/* If they were still in the queue, they would go before this one. */
	ends(once(&d, host(&d, "n1"), "true"), "exit 0", "the first goes on for another task");
	drive_for(&d, 300);
	is_int(d.up, 1, "no other was dialled");
	drive_end(&d, "no dialling");
}

/* A process with this marker, behind "ready-" once it is as it will be; with `deaf` it ignores TERM. */
static struct pssh_task *marked(const char *marker, bool deaf)
{
	char text[300];

	snprintf(text, sizeof text, "exec perl -e '%s $0 = \"ready-@ARGV\"; sleep 1000 while 1' %s",
		deaf ? "$SIG{TERM} = \"IGNORE\";" : "", marker);
	return command(&d, text);
}

static void begin(struct pssh_task *t, struct pssh_host *h)
{
	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS);
}

static void check_two_cancelled(void)
{
	char marker[2][64];
	struct pssh_task *t[2];
	struct pssh_host *h;

	fresh();
	h = host(&d, "n1");
	for (int i = 0; i < 2; i++) {
		snprintf(marker[i], sizeof marker[i], "pssh-two-%d-%d-", i, (int)getpid());
		t[i] = marked(marker[i], false);
		begin(t[i], h);
		is_int(wait_marked(marker[i], 1, DRIVE_PATIENCE_MS), 1, "command %d runs", i + 1);
	}
	for (int i = 0; i < 2; i++)
		pssh_task_cancel(t[i], "TERM", 20000);
	ok(drive_until(&d, &d.done, 2, DRIVE_PATIENCE_MS), "two tasks cancelled at once on one host end");
	for (int i = 0; i < 2; i++) {
		ends(drive_seen(&d, t[i], h), "signal TERM", "number %d by the signal", i + 1);
		is_int(wait_marked(marker[i], 0, DRIVE_PATIENCE_MS), 0, "nothing of it is left");
	}
	drive_end(&d, "two cancelled");
}

/* One command exits while the script looks for the other's processes: it must still find the right one. */
static void check_one_ends_meanwhile(void)
{
	enum { ROUNDS = 6 };
	struct pssh_host *h;

	fresh();
	h = host(&d, "n1");
	for (int i = 0; i < ROUNDS; i++) {
		bool deaf = i % 2;
		struct pssh_task *own = command(&d, "cat"), *t;
		char marker[64], ready[80];

		snprintf(marker, sizeof marker, "pssh-meanwhile-%d-%d-", i, (int)getpid());
		t = marked(marker, deaf);
		pssh_task_open_input(own);
		/* The older one ends in some rounds, the younger one in others. */
		begin(i / 2 % 2 ? t : own, h);
		begin(i / 2 % 2 ? own : t, h);
		snprintf(ready, sizeof ready, "ready-%s", marker);
		wait_marked(ready, 1, DRIVE_PATIENCE_MS);
		pssh_task_cancel(t, "TERM", deaf ? 500 : 20000);
		if (i >= 4)
			drive_for(&d, 20 * (i - 3));
		pssh_task_end_input(own, NULL);
		drive_until(&d, &drive_seen(&d, own, h)->ends, 1, DRIVE_PATIENCE_MS);
		drive_until(&d, &drive_seen(&d, t, h)->ends, 1, DRIVE_PATIENCE_MS);
		ends(drive_seen(&d, own, h), "exit 0", "one ends by itself");
		ends(drive_seen(&d, t, h), deaf ? "signal KILL" : "signal TERM", "the other by the signal");
		is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "nothing of it is left");
	}
	is_int(d.up, 1, "all that on one connection");
	drive_end(&d, "one ends meanwhile");
}

int main(int argc, char **argv)
{
	int fds;

	if (argc == 5 && strcmp(argv[1], "slow") == 0)
		return slow_link(argv[2], argv[3], argv[4]);
	plan_none;
	alarm(1000); /* ends a pssh_wait that never returns */
	fds = count_fds();
	check_both_ways();
	check_stop_upload();
	check_lane();
	check_given_up(false);
	check_given_up(true);
	check_reason();
	check_idle();
	check_no_dialling();
	check_two_cancelled();
	check_one_ends_meanwhile();
	is_int(count_fds(), fds, "no descriptor is left");
	return done();
}
