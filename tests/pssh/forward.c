/* SPDX-License-Identifier: Apache-2.0 */
/* The agent, forwarded to commands on real sshd, and what a host may not do with it. */
#include <errno.h>
#include <libssh2.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "light.h"

enum { MANY = 40 };

/* ssh-add ends in several ways where its agent hangs up. */
#define HAS "if ssh-add -l >/dev/null 2>&1; then echo has; else echo none; fi"

static struct drive d;
static unsigned warnings;
static char warned[512];

static void forward_log(void *arg, enum pssh_log_level level, const char *text)
{
	(void)arg;
	if (level != PSSH_LOG_WARN)
		return;
	warnings++;
	snprintf(warned, sizeof warned, "%s", text);
}

/* agent: it signs in by that one; NULL: by the key's file. */
static void fresh(const char *config, const char *agent)
{
	warnings = 0;
	if (!drive_start(&d) || pssh_set_log(d.p, PSSH_LOG_WARN, forward_log, NULL) != 0 ||
		pssh_set_agent(d.p, agent) != 0 || (!agent && pssh_add_identity(d.p, env("SSHD_KEY")) != 0) ||
		pssh_read_config(d.p, config) != 0)
		exit(99);
}

static struct seen *with(enum pssh_agent_forward how, struct pssh_host *h, const char *text)
{
	struct pssh_task *t = command(&d, text);

	if (pssh_task_set_agent_forward(t, how) != 0 || pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	drive_done(&d, 1);
	return drive_seen(&d, t, h);
}

static void check_calls(bool possible)
{
	struct pssh_task *t;

	fresh(env("FORWARD_CONFIG"), env("FORWARD_ALL"));
	t = command(&d, "true");
	is_int(pssh_task_set_agent_forward(t, 3), PSSH_EINVAL, "there is no fourth way");
	is_int(pssh_task_set_agent_forward(t, PSSH_FORWARD_NO), 0, "no");
	is_int(pssh_task_set_agent_forward(t, PSSH_FORWARD_CONFIGURED), 0, "as configured");
	is_int(pssh_task_set_agent_forward(t, PSSH_FORWARD_YES), possible ? 0 : PSSH_EUNSUPPORTED, "yes");
	if (!possible)
		is_str(pssh_error(d.p), "libpssh does not forward agents", "is refused where libssh2 cannot do it");
	pssh_task_free(t);
	if (pssh_put(d.p, env("FORWARD_CONFIG"), "x", 0, &t) != 0)
		exit(99);
	is_int(pssh_task_set_agent_forward(t, PSSH_FORWARD_YES), PSSH_EINVAL, "a copy has no use for it");
	pssh_task_free(t);
	ends(with(PSSH_FORWARD_CONFIGURED, host(&d, "n1"), "test -z \"$SSH_AUTH_SOCK\""), "exit 0", "not configured");
	drive_end(&d, "calls");
}

static void check_use(void)
{
	char hop[900];
	struct seen *s;

	fresh(env("FORWARD_CONFIG"), env("FORWARD_ALL"));
	snprintf(hop, sizeof hop, "ssh -F '%s' n2 echo there", env("FORWARD_HOP"));
	ends(once(&d, host(&d, "n3"), hop), "exit 255", "without the agent there is no second hop");
	ends(once(&d, host(&d, "n3"), "test -z \"$SSH_AUTH_SOCK\""), "exit 0", "nor a socket");
	s = with(PSSH_FORWARD_YES, host(&d, "n1"), "ssh-add -l");
	ends(s, "exit 0", "with it a command lists the keys");
	has_str(s->out, env("FORWARD_PRINT"), "those of the agent here");
	s = with(PSSH_FORWARD_YES, host(&d, "n1"), hop);
	ends(s, "exit 0", "another one on the same connection goes on to a second host");
	is_str(s->out, "there\n", "and runs there");
	is_int(d.up, 2, "a connection for each host");
	ends(with(PSSH_FORWARD_YES, host(&d, "n1"), "ssh-add -D"), "exit 1", "a host cannot remove keys");
	ends(with(PSSH_FORWARD_YES, host(&d, "n1"), "ssh-add -x </dev/null"), "exit 1", "nor lock the agent");
	ends(with(PSSH_FORWARD_YES, host(&d, "n1"), "ssh-add -l"), "exit 0", "so it still has them");
	is_str(once(&d, host(&d, "n1"), HAS)->out, "none\n", "a later command without it cannot use it");
	ends(once(&d, host(&d, "n1"), hop), "exit 255", "nor sign in by it");
	is_int(d.down, 0, "and the connection lasts");
	is_int((long)warnings, 0, "nothing to warn of");
	drive_end(&d, "use");
}

/* A process that its command leaves behind. */
static void check_left(void)
{
	struct pssh_task *t;
	struct pssh_host *h;
	char text[900];

	fresh(env("FORWARD_CONFIG"), env("FORWARD_ALL"));
	h = host(&d, "n1");
	snprintf(text, sizeof text, "cd '%s'; mkfifo go; (read x <go; " HAS " >said) >/dev/null 2>&1 &", env("TMP"));
	ends(with(PSSH_FORWARD_YES, h, text), "exit 0", "a command leaves a process");
	snprintf(text, sizeof text, "cd '%s'; echo >go; while [ ! -s said ]; do sleep 0.05; done; cat said",
		env("TMP"));
	t = command(&d, text);
	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	drive_done(&d, 1);
	is_str(drive_seen(&d, t, h)->out, "none\n", "which cannot use the agent any more");
	is_int(d.down, 0, "and does not end the connection");
	drive_end(&d, "left");
}

static void check_many(void)
{
	struct pssh_host *hosts[MANY];
	struct pssh_task *t[2];
	int fds;
	char name[16];
	unsigned good = 0;

	fresh(env("FORWARD_CONFIG"), env("FORWARD_ALL"));
	fds = count_fds();
	for (int n = 0; n < 2; n++) {
		t[n] = command(&d, "ssh-add -l & ssh-add -l & ssh-add -l & wait");
		pssh_task_set_agent_forward(t[n], PSSH_FORWARD_YES);
		for (int i = 0; i < MANY; i++) {
			snprintf(name, sizeof name, "n%d", i + 1);
			hosts[i] = host(&d, name);
			pssh_task_add(t[n], hosts[i]);
		}
	}
	if (pssh_task_start(t[0]) != 0 || pssh_task_start(t[1]) != 0)
		exit(99);
	drive_done(&d, 2);
	for (int n = 0; n < 2; n++) {
		for (int i = 0; i < MANY; i++) {
			const char *at = drive_seen(&d, t[n], hosts[i])->out;
			int found = 0;

			while (at && (at = strstr(at, env("FORWARD_PRINT")))) {
				at++;
				found++;
			}
			good += found == 3;
		}
	}
	is_int((long)good, 2 * MANY, "many hosts at once, with several programs each");
	for (int i = 0; i < MANY; i++)
		pssh_host_close(hosts[i]);
	for (int i = 0; i < 3000 && count_fds() > fds + 1; i++)
		drive_for(&d, 20);
	ok(count_fds() <= fds + 1, "no descriptor is left");
	drive_end(&d, "many");
}

static void check_death(void)
{
	struct pssh_task *t;
	struct pssh_host *h;
	struct seen *s;

	fresh(env("FORWARD_CONFIG"), NULL);
	if (pssh_set_agent(d.p, env("FORWARD_SHORT")) != 0)
		exit(99);
	h = host(&d, "n1");
	t = command(&d, HAS "; read x; " HAS);
	pssh_task_set_agent_forward(t, PSSH_FORWARD_YES);
	if (pssh_task_open_input(t) != 0 || pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	s = drive_seen(&d, t, h);
	drive_until(&d, &s->outputs, 1, DRIVE_PATIENCE_MS);
	kill((pid_t)strtol(env("FORWARD_SHORT_PID"), NULL, 10), SIGKILL);
	pssh_task_write(t, NULL, "\n", 1);
	pssh_task_end_input(t, NULL);
	drive_done(&d, 1);
	is_str(s->out, "has\nnone\n", "the agent dies, and the command goes on without");
	ends(s, "exit 0", "to its end");
	ends(once(&d, h, "true"), "exit 0", "so does the connection");
	drive_end(&d, "death");
}

static void check_settings(void)
{
	static const struct {
		const char *text, *says, *what;
	} cases[] = {
		{ "ForwardAgent yes", "has\n", "ForwardAgent yes" },
		{ "ForwardAgent no", "", "ForwardAgent no" },
		{ "ForwardAgent $FORWARD_ALL\nIdentityAgent none", "has\n", "ForwardAgent and an agent of its own" },
		{ "ForwardAgent /nowhere/agent", "none\n", "one that is not there" },
		{ "ForwardAgent yes\nIdentityAgent none", "", "no agent" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		FILE *f = fopen("settings", "w");
		struct seen *s;

		if (!f ||
			fprintf(f, "%s\nIdentityFile %s\nInclude %s\n", cases[i].text, env("SSHD_KEY"),
				env("FORWARD_CONFIG")) < 0 ||
			fclose(f) != 0)
			exit(99);
		fresh("settings", env("FORWARD_ALL"));
		s = with(PSSH_FORWARD_CONFIGURED, host(&d, "n1"), "[ -z \"$SSH_AUTH_SOCK\" ] || " HAS);
		is_str(s->out ? s->out : "", cases[i].says, "%s", cases[i].what);
		ends(once(&d, host(&d, "n2"), "test -z \"$SSH_AUTH_SOCK\""), "exit 0", "%s: not unasked",
			cases[i].what);
		drive_end(&d, cases[i].what);
	}
}

static void check_refusals(void)
{
	fresh(env("FORWARD_REFUSES"), env("FORWARD_ALL"));
	ends(with(PSSH_FORWARD_YES, host(&d, "r1"), "ssh-add -l"), "exit 2", "a server that forwards no agent");
	is_int((long)warnings, 1, "is warned of");
	has_str(warned, "AllowAgentForwarding", "by the setting's name");
	drive_end(&d, "refused");
	fresh(env("FORWARD_CONFIG"), NULL);
	ends(with(PSSH_FORWARD_YES, host(&d, "n1"), "test -z \"$SSH_AUTH_SOCK\""), "exit 0", "no agent here");
	has_str(warned, "no agent to forward", "is said");
	drive_end(&d, "none");
}

/* The key may be used from here for n2 alone: neither for n1, nor from there. */
static void check_bound(void)
{
	char hop[900];
	struct seen *s;

	if (!*env("FORWARD_BOUND")) {
		skip("this ssh-add knows no constraints by host");
		return;
	}
	if (!drive_start(&d) || pssh_set_agent(d.p, env("FORWARD_BOUND")) != 0 ||
		pssh_add_identity(d.p, env("FORWARD_OTHER")) != 0 || pssh_read_config(d.p, env("FORWARD_CONFIG")) != 0)
		exit(99);
	snprintf(hop, sizeof hop, "ssh-add -l; ssh -F '%s' n2 echo there", env("FORWARD_HOP"));
	s = with(PSSH_FORWARD_YES, host(&d, "n1"), hop);
	ends(s, "exit 255", "a key that is for another host alone cannot be used through this one");
	if (s->out && strstr(s->out, "there"))
		diag("its output: %s", s->out);
	drive_end(&d, "bound");
}

/* An agent whose queue is full for a while. */
static void check_busy(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = "busy" };
	static const char none[] = { 0, 0, 0, 5, 12, 0, 0, 0, 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), first, second, got = -1;
	char asked[5] = "";
	struct pssh_host *h;
	struct pssh_task *t;
	FILE *f = fopen("settings", "w");

	first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	second = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&sa, sizeof sa) != 0 || listen(fd, 0) != 0 ||
		connect(first, (struct sockaddr *)&sa, sizeof sa) != 0 || !f ||
		fprintf(f, "ForwardAgent %s/busy\nInclude %s\n", env("TMP"), env("FORWARD_CONFIG")) < 0 ||
		fclose(f) != 0)
		exit(99);
	ok(connect(second, (struct sockaddr *)&sa, sizeof sa) != 0 && errno == EAGAIN, "(its queue is full)");
	close(second);
	fresh("settings", env("FORWARD_ALL"));
	h = host(&d, "n1");
	t = command(&d, "echo; ssh-add -l");
	pssh_task_set_agent_forward(t, PSSH_FORWARD_CONFIGURED);
	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	drive_until(&d, &drive_seen(&d, t, h)->outputs, 1, DRIVE_PATIENCE_MS);
	drive_for(&d, 300); /* any time will do: it has called, or will */
	close(accept(fd, NULL, NULL));
	close(first);
	for (int i = 0; i < 3000 && got < 0; i++) {
		drive_for(&d, 10);
		got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	for (int i = 0; i < 3000 && got >= 0 && recv(got, asked, 5, MSG_PEEK) != 5; i++)
		drive_for(&d, 10);
	is_int(asked[4], 11, "it is called again, and asked");
	(void)!write(got, none, sizeof none);
	drive_done(&d, 1);
	has_str(drive_seen(&d, t, h)->out, "has no identities", "and its answer arrives");
	close(got);
	close(fd);
	unlink("busy");
	drive_end(&d, "busy");
}

static size_t forward_kept(void)
{
	struct pssh_kept *list = NULL;
	size_t count = 0, silent = 1;

	/* A keeper that gets no processor for a while does not answer. */
	for (int i = 0; i < 30 && !count && silent; i++) {
		if (pssh_keep_list(d.p, &list, &count, &silent) != 0)
			exit(99);
		free(list);
	}
	return count;
}

static void keeping(const char *name, enum pssh_agent_forward how, const char *text, const char *end)
{
	fresh(env("FORWARD_CONFIG"), env("FORWARD_ALL"));
	if (pssh_set_keep(d.p, "kept", 600) != 0)
		exit(99);
	ends(with(how, host(&d, name), text), end, "%s: %s", name, text);
	drive_end(&d, "keeping");
}

static void check_keeper(void)
{
	struct pssh_kept *list = NULL;
	size_t count, silent;

	keeping("n1", PSSH_FORWARD_YES, "ssh-add -l", "exit 0");
	fresh(env("FORWARD_CONFIG"), env("FORWARD_ALL"));
	pssh_set_keep(d.p, "kept", 600);
	is_int((long)forward_kept(), 0, "a connection over which an agent was forwarded is not kept");
	pssh_set_keep(d.p, NULL, 0);
	drive_end(&d, "kept");
	keeping("n1", PSSH_FORWARD_NO, "true", "exit 0");
	keeping("n1", PSSH_FORWARD_YES, "ssh-add -l", "exit 0");
	fresh(env("FORWARD_CONFIG"), env("FORWARD_ALL"));
	pssh_set_keep(d.p, "kept", 600);
	is_int((long)forward_kept(), 1, "one that is kept is not used for it, and stays");
	if (pssh_keep_stop(d.p, &list, &count, &silent) != 0)
		exit(99);
	free(list);
	pssh_set_keep(d.p, NULL, 0);
	drive_end(&d, "stop");
}

/* A fleet that takes the kept connection, with ForwardAgent in its configuration. */
static void lent_begin(void)
{
	FILE *f = fopen("settings", "w");

	if (!f || fprintf(f, "ForwardAgent yes\nInclude %s\n", env("FORWARD_CONFIG")) < 0 || fclose(f) != 0)
		exit(99);
	fresh("settings", env("FORWARD_ALL"));
	pssh_set_keep(d.p, "kept", 600);
}

static void lent_end(void)
{
	struct pssh_kept *list = NULL;
	size_t count, silent;

	drive_end(&d, "lent");
	fresh(env("FORWARD_CONFIG"), env("FORWARD_ALL"));
	pssh_set_keep(d.p, "kept", 600);
	pssh_keep_stop(d.p, &list, &count, &silent);
	free(list);
	pssh_set_keep(d.p, NULL, 0);
	drive_end(&d, "stopped");
}

/* Others use the kept connection when a command wants the agent. */
static void check_lent(void)
{
	struct pssh_host *h, *behind, *jump = NULL;
	struct pssh_task *before, *t;
	const struct pssh_event *ev;

	keeping("n1", PSSH_FORWARD_NO, "true", "exit 0");
	lent_begin();
	h = host(&d, "n1");
	before = command(&d, "echo; read x");
	t = command(&d, HAS);
	pssh_task_set_agent_forward(t, PSSH_FORWARD_CONFIGURED);
	if (pssh_task_open_input(before) != 0 || pssh_task_add(before, h) != 0 || pssh_task_start(before) != 0)
		exit(99);
	drive_until(&d, &drive_seen(&d, before, h)->outputs, 1, DRIVE_PATIENCE_MS);
	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0) /* not before: none is borrowed for it */
		exit(99);
	drive_for(&d, 100); /* any time will do: it waits */
	pssh_task_write(before, NULL, "\n", 1);
	pssh_task_end_input(before, NULL);
	drive_done(&d, 2);
	ends(drive_seen(&d, before, h), "exit 0", "another command ends on a kept connection");
	is_str(drive_seen(&d, t, h)->out, "has\n", "and one that waited for that has the agent");
	lent_end();

	keeping("n1", PSSH_FORWARD_NO, "true", "exit 0");
	lent_begin();
	behind = host(&d, "n2");
	pssh_host_set_jump(behind, "n1");
	t = command(&d, "true");
	if (pssh_task_add(t, behind) != 0 || pssh_task_start(t) != 0)
		exit(99);
	while (!jump && pssh_wait(d.p, &ev, DRIVE_PATIENCE_MS) == 1) {
		jump = ev->type == PSSH_EV_HOST_UP ? ev->host : NULL;
		drive_take(&d, ev);
	}
	drive_done(&d, 1);
	ends(drive_seen(&d, t, behind), "exit 0", "a host behind a kept jump host");
	ends(with(PSSH_FORWARD_CONFIGURED, jump, "test -z \"$SSH_AUTH_SOCK\""), "exit 0",
		"over which a command runs without the agent");
	lent_end();
}

static void check_hostile(void)
{
	struct light l;
	struct seen *s;
	char key[320];

	if (access(env("LIGHTSSHD"), X_OK) != 0) {
		skip("lightsshd is not built (libssh is not installed)");
		return;
	}
	snprintf(key, sizeof key, "%.300s.pub", env("SSHD_KEY"));
	light_up(&l, "hostile", (const char *const[]){ "--authorized", key, NULL });
	light_fleet(&d, &l);
	pssh_set_agent(d.p, env("FORWARD_ALL"));
	s = once(&d, light_host_number(&d, &l, 41, 1), "agent; echo after");
	ends(s, "exit 0", "a server that asks for the agent unasked");
	is_str(s->out, "refused\nafter\n", "does not get it");
	drive_end(&d, "hostile");
	light_down(&l);
}

int main(void)
{
	bool possible = libssh2_version(0x010b00) != NULL;

	check_calls(possible);
	if (!possible)
		return done();
	check_use();
	check_left();
	check_many();
	check_death();
	check_settings();
	check_refusals();
	check_bound();
	check_busy();
	check_keeper();
	check_lent();
	check_hostile();
	return done();
}
