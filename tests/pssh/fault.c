/* SPDX-License-Identifier: Apache-2.0 */
/* A server that fails in each phase: every host ends in time, with the right code. */
#include "light.h"

#include <sys/socket.h>

static struct drive d;
static struct light l;

/* Each fault has its own address: 127.30.0.N. */
static const struct {
	const char *fault, *want, *text;
	const char *command;
} cases[] = {
	{ "hang-banner", "PSSH_ETIMEOUT", "exchanging keys", "true" },
	{ "close-banner", "PSSH_ECLOSED", "closed", "true" },
	{ "reset-banner", "", "", "true" },
	{ "garbage-banner", "PSSH_EPROTO", "does not speak SSH", "true" },
	{ "old-banner", "", "", "true" },
	{ "slow-banner", "PSSH_ETIMEOUT", "exchanging keys", "true" },
	{ "flood-banner", "PSSH_EPROTO", "never stops sending", "true" },
	{ "hang-kex", "PSSH_ETIMEOUT", "exchanging keys", "true" },
	{ "close-kex", "PSSH_ECLOSED", "closed", "true" },
	{ "garbage-kex", "PSSH_EPROTO", "does not speak SSH", "true" },
	{ "wrong-key", "PSSH_EHOSTKEY", "SHA256:", "true" },
	{ "hang-auth", "PSSH_ETIMEOUT", "signing in", "true" },
	{ "close-auth", "PSSH_EAUTH", "closed the connection", "true" },
	{ "refuse-auth", "PSSH_EAUTH", "publickey", "true" },
	{ "hang-open", "PSSH_ETIMEOUT", "", "true" },
	{ "close-open", "PSSH_ECLOSED", "closed the connection", "true" },
	{ "refuse-open", "PSSH_EREFUSED", "", "true" },
	{ "hang-exec", "PSSH_ETIMEOUT", "", "true" },
	{ "close-exec", "PSSH_ECLOSED", "closed the connection", "true" },
	{ "refuse-exec", "PSSH_EREFUSED", "exec", "true" },
	{ "close-run", "PSSH_ECLOSED", "closed the connection", "echo before" },
	{ "no-exit-status", "PSSH_ECLOSED", "exit status", "echo before" },
	{ "no-close", "PSSH_ETIMEOUT", "", "echo before; exit 3" },
};

enum { CASES = sizeof cases / sizeof *cases };

static void start_server(void)
{
	static char faults[CASES][64], key[300];
	const char *options[60] = { "--authorized", key };
	size_t n = 2;

	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	for (size_t i = 0; i < CASES; i++) {
		snprintf(faults[i], sizeof faults[i], "%s@127.30.0.%zu", cases[i].fault, i + 1);
		options[n++] = "--fault";
		options[n++] = faults[i];
	}
	options[n++] = "--fault";
	options[n++] = "hang-banner@127.31.0.0/16";
	light_up(&l, "fault", options);
}

static struct pssh_host *fault_host(struct drive *to, size_t i)
{
	return light_host_number(to, &l, 30, (unsigned)i);
}

static void short_deadlines(struct pssh *p, unsigned ms)
{
	for (int phase = PSSH_PHASE_RESOLVE; phase <= PSSH_PHASE_AUTH; phase++)
		pssh_set_deadline(p, (enum pssh_phase)phase, ms);
}

static void check_phases(void)
{
	struct pssh_task *t[CASES];
	int64_t begin = now_ms();

	short_deadlines(d.p, 6000);
	pssh_set_deadline(d.p, PSSH_PHASE_TASK, 8000);
	for (size_t i = 0; i < CASES; i++) {
		t[i] = command(&d, cases[i].command);
		pssh_task_add(t[i], fault_host(&d, i));
		pssh_task_start(t[i]);
	}
	drive_until(&d, &d.done, CASES, DRIVE_PATIENCE_MS);
	is_int(d.done, CASES, "every fault ends (%d ms)", (int)(now_ms() - begin));
	for (size_t i = 0; i < CASES; i++) {
		struct seen *s = drive_seen(&d, t[i], fault_host(&d, i));

		diag("%s: %s: %s", cases[i].fault, end_of(s), s->text);
		if (*cases[i].want)
			ends(s, cases[i].want, "%s: what it ends with", cases[i].fault);
		else
			ok(s->ends == 1 && s->type == PSSH_EV_ERROR && s->status != PSSH_EAUTH,
				"%s: it ends with an error", cases[i].fault);
		if (*cases[i].text)
			has_str(s->text, cases[i].text, "%s: the sentence says so", cases[i].fault);
		if (strstr(cases[i].command, "before"))
			is_str(s->out, "before\n", "%s: what came before is not lost", cases[i].fault);
		if (s->type == PSSH_EV_ERROR)
			ok(*pssh_host_error(s->host), "%s: the host keeps a sentence", cases[i].fault);
	}
}

/* One silent host among many: the others end long before its deadline. */
static void check_one_dead(void)
{
	enum { HOSTS = 200 };
	struct drive e;
	struct pssh_task *t;
	struct pssh_host *dead;
	unsigned good = 0;

	light_fleet(&e, &l);
	short_deadlines(e.p, 30000); /* 200 connections take seconds where the machine is busy */
	t = command(&e, "hostname");
	dead = light_host(&e, &l, "127.31.0.1");
	pssh_task_add(t, dead);
	for (unsigned i = 1; i < HOSTS; i++)
		pssh_task_add(t, light_host_number(&e, &l, 32, i));
	pssh_task_start(t);
	while (pssh_task_left(t) > 1 && drive_until(&e, &e.events, e.events + 1, 60000))
		;
	for (size_t i = 0; i < e.count; i++)
		good += strcmp(end_of(&e.seen[i]), "exit 0") == 0;
	is_int(good, HOSTS - 1, "199 of 200 hosts are done");
	is_int(drive_seen(&e, t, dead)->ends, 0, "without waiting for the dead one, which has not ended yet");
	drive_until(&e, &e.done, 1, 120000);
	ends(drive_seen(&e, t, dead), "PSSH_ETIMEOUT", "the dead one ends at its deadline");
	drive_end(&e, "one dead");
}

/* Frees the fleet while a host is in any phase. */
static void check_free_anywhere(void)
{
	int fds = count_fds();

	for (int ms = 0; ms <= 120; ms += 20) {
		struct drive e;
		struct pssh_task *t;

		light_fleet(&e, &l);
		t = command(&e, "flood");
		for (size_t i = 0; i < CASES; i++)
			pssh_task_add(t, fault_host(&e, i));
		pssh_task_start(t);
		drive_for(&e, ms);
		pssh_free(e.p);
		drive_forget(&e);
	}
	is_int(count_fds(), fds, "a fleet that is freed in the middle leaves no descriptor");
}

/* A port where nobody listens, a name that does not exist, the server killed under a running command. */
static void check_unreachable(void)
{
	struct pssh_host *h = host(&d, "127.33.0.1"), *none = host(&d, "name.invalid");
	struct light own;
	struct pssh_task *t;
	struct seen *s;
	char key[300];

	pssh_host_set_port(h, 1);
	ends(s = once(&d, h, "true"), "PSSH_ECONNECT", "nobody listens");
	has_str(s->text, "127.33.0.1", "the sentence names the address");
	ends(s = once(&d, none, "true"), "PSSH_ERESOLVE", "a name that does not exist");
	has_str(s->text, "name.invalid", "the sentence names the name");

	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(&own, "mortal", (const char *const[]){ "--authorized", key, NULL });
	pssh_add_known_hosts(d.p, own.known);
	h = light_host(&d, &own, "127.34.0.1");
	t = command(&d, "yes-bytes 100000; hang");
	pssh_task_add(t, h);
	pssh_task_start(t);
	s = drive_seen(&d, t, h);
	for (int i = 0; i < 3000 && s->out_len < 100000; i++)
		drive_for(&d, 20);
	kill(own.pid, SIGKILL);
	ok(drive_until(&d, &s->ends, 1, DRIVE_PATIENCE_MS), "the end of the server is noticed");
	ends(s, "PSSH_ECLOSED", "a connection lost during a command");
	is_int(s->out_len, 100000, "what came before is not lost");
	light_down(&own);
}

int main(void)
{
	int fds;

	plan_none;
	start_server();
	fds = count_fds();
	light_fleet(&d, &l);
	check_phases();
	check_unreachable();
	drive_end(&d, "fault");
	check_one_dead();
	check_free_anywhere();
	is_int(count_fds(), fds, "no descriptor is left");
	light_down(&l);
	return done();
}
