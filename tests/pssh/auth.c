/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in: key files, passphrases, agents, certificates, passwords, and the sentence when nothing works. */
#include <libssh2.h>

#include "light.h"

#include <sys/socket.h>
#include <sys/un.h>

static struct drive d;

/* A new fleet that knows the server and offers only what the test adds. */
static struct pssh_host *fresh(const char *name)
{
	static const char *const names[] = { "n1", "n2", "n3", "n4", "n5" };
	struct pssh_host *h = NULL;

	drive_start(&d);
	pssh_read_config(d.p, env("AUTH_CONFIG"));
	for (size_t i = 0; i < 5; i++)
		if (strcmp(names[i], name) == 0)
			h = host(&d, name);
	return h;
}

static const char *authorized(void)
{
	static char path[400];

	snprintf(path, sizeof path, "%.350s/authorized_keys", env("SSHD_DIR"));
	return path;
}

static void append(const char *from, const char *to)
{
	char line[8192];
	FILE *in = fopen(from, "r"), *out = fopen(to, "a");

	while (in && out && fgets(line, sizeof line, in))
		fputs(line, out);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
}

/* Makes a key that the server accepts. */
static void make_key(const char *path, const char *type, const char *bits, const char *passphrase, const char *format)
{
	char pub[300];

	snprintf(pub, sizeof pub, "%.250s.pub", path);
	if (tool_run("ssh-keygen", "-q", "-t", type, "-b", bits, "-N", passphrase, "-m", format, "-f", path) != 0)
		diag("ssh-keygen does not make '%s'", path);
	append(pub, authorized());
}

static void check_files(void)
{
	static const struct { const char *path, *type, *bits, *format;
	} keys[] = {
		{ "k-ed25519", "ed25519", "256", "RFC4716" },
		{ "k-ecdsa256", "ecdsa", "256", "RFC4716" },
		{ "k-ecdsa521", "ecdsa", "521", "PEM" },
		{ "k-rsa", "rsa", "2048", "RFC4716" },
		{ "k-rsa-pem", "rsa", "2048", "PEM" },
		{ "k-rsa-pkcs8", "rsa", "2048", "PKCS8" },
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct pssh_host *h;

		make_key(keys[i].path, keys[i].type, keys[i].bits, "", keys[i].format);
		h = fresh("n1");
		pssh_add_identity(d.p, keys[i].path);
		ends(once(&d, h, "true"), "exit 0", "a key of type %s in format %s", keys[i].type, keys[i].format);
		drive_end(&d, keys[i].path);
	}
}

static void check_nothing_helps(void)
{
	struct pssh_host *h = fresh("n1");
	struct seen *s = once(&d, h, "true");

	ends(s, "PSSH_EAUTH", "without any key");
	has_str(s->text, "publickey", "the sentence says what the server accepts");
	has_str(s->text, "no key to try", "and that there was none");
	drive_end(&d, "no key");
	tool_run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "k-stranger");
	h = fresh("n1");
	pssh_add_identity(d.p, "k-stranger");
	pssh_add_identity(d.p, "k-missing");
	ends(s = once(&d, h, "true"), "PSSH_EAUTH", "with a key that the server does not know");
	has_str(s->text, "k-stranger", "the sentence says what was tried");
	is_int(s->retries, 0, "which is not tried again");
	drive_end(&d, "strange key");
}

static void check_passphrases(void)
{
	static const char *const wrong_then_right[] = { "wrong", "secret", NULL };
	struct pssh_host *h;
	struct pssh_task *t;

	make_key("k-locked", "ed25519", "256", "secret", "RFC4716");
	h = fresh("n1");
	pssh_add_identity(d.p, "k-locked");
	ends(once(&d, h, "true"), "PSSH_EAUTH", "a locked key where nobody may be asked");
	has_str(d.seen[0].text, "passphrase", "its sentence says why");
	drive_end(&d, "nobody asked");

	h = fresh("n1");
	pssh_add_identity(d.p, "k-locked");
	pssh_set_prompts(d.p, 1);
	pssh_set_deadline(d.p, PSSH_PHASE_AUTH, 5000);
	d.hold_answers = true;
	t = command(&d, "true");
	pssh_task_add(t, h);
	pssh_task_start(t);
	ok(drive_until(&d, &d.prompts, 1, DRIVE_PATIENCE_MS), "a person is asked");
	has_str(d.question, "k-locked", "for the key by its name");
	is_int(d.last_echo, 0, "without an echo");
	drive_for(&d, 6000);
	is_int(drive_seen(&d, t, h)->ends, 0, "who may think longer than the deadline of signing in");
	is_int(pssh_answer(d.p, d.last_prompt + 99, "x"), PSSH_ENOENT, "an answer to another question is refused");
	is_int(pssh_answer(d.p, d.last_prompt, "secret"), 0, "the answer is taken");
	is_int(pssh_answer(d.p, d.last_prompt, "secret"), PSSH_ENOENT, "but once");
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "exit 0", "and opens the key");
	drive_end(&d, "answered later");

	h = fresh("n1");
	pssh_add_identity(d.p, "k-locked");
	pssh_set_prompts(d.p, 1);
	ends(once(&d, h, "true"), "PSSH_EAUTH", "an answer that is declined");
	is_int(d.prompts, 1, "is not asked for again");
	drive_end(&d, "declined");

	h = fresh("n1");
	pssh_add_identity(d.p, "k-locked");
	pssh_set_prompts(d.p, 1);
	d.answers = wrong_then_right;
	ends(once(&d, h, "true"), "exit 0", "a wrong answer, then the right one");
	is_int(d.prompts, 2, "two questions");
	drive_end(&d, "wrong, right");
}

/* One answer unlocks the key for all who wait for it, whoever was asked. */
static void check_shared_question(void)
{
	struct pssh_task *t;
	unsigned good = 0;

	fresh("n1");
	pssh_add_identity(d.p, "k-locked");
	pssh_set_prompts(d.p, 1);
	d.answer = "secret";
	t = command(&d, "true");
	for (char name[] = "n1"; name[1] <= '5'; name[1]++)
		pssh_task_add(t, host(&d, name));
	pssh_task_start(t);
	drive_done(&d, 1);
	for (size_t i = 0; i < d.count; i++)
		good += strcmp(end_of(&d.seen[i]), "exit 0") == 0;
	is_int(good, 5, "one key for five hosts");
	is_int(d.prompts, 1, "is asked for once");
	drive_end(&d, "five hosts");

	/* The host that was asked goes away: the question must come for another one. */
	fresh("n1");
	pssh_add_identity(d.p, "k-locked");
	pssh_set_prompts(d.p, 1);
	d.hold_answers = true;
	t = command(&d, "true");
	for (char name[] = "n1"; name[1] <= '3'; name[1]++)
		pssh_task_add(t, host(&d, name));
	pssh_task_start(t);
	drive_until(&d, &d.prompts, 1, DRIVE_PATIENCE_MS);
	drive_for(&d, 1000);
	for (char name[] = "n1"; name[1] <= '2'; name[1]++)
		pssh_host_close(host(&d, name));
	for (int i = 0; i < 3000 && pssh_answer(d.p, d.last_prompt, "secret") != 0; i++)
		drive_for(&d, 20); /* the third may not be so far yet */
	drive_until(&d, &d.done, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, host(&d, "n3")), "exit 0", "the question outlives the host that asked first");
	drive_end(&d, "asker closed");
}

/* ---- Agents ---- */

static int listen_at(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof sa.sun_path, "%.100s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof sa) != 0 || listen(fd, 5) != 0)
		diag("cannot listen on '%s'", path);
	return fd;
}

static void check_agent(void)
{
	pid_t agent = tool_spawn((const char *const[]){ "ssh-agent", "-D", "-a", "agent.sock", NULL });
	struct pssh_host *h;
	int fd;

	for (int i = 0; i < 6000 && access("agent.sock", F_OK) != 0; i++)
		poll(NULL, 0, 10);
	setenv("SSH_AUTH_SOCK", "agent.sock", 1);
	make_key("k-agent", "ecdsa", "384", "", "RFC4716");
	tool_run("ssh-add", "-q", "k-stranger", "k-agent", "k-rsa");
	unsetenv("SSH_AUTH_SOCK");
	h = fresh("n1");
	is_int(pssh_set_agent(d.p, "agent.sock"), 0, "an agent is named");
	ends(once(&d, h, "true"), "exit 0", "its second key opens");
	ends(once(&d, host(&d, "n2"), "true"), "exit 0", "on another host too");
	drive_end(&d, "agent");
	h = fresh("n1");
	pssh_set_agent(d.p, "agent.sock");
	kill(agent, SIGSTOP);
	pssh_add_identity(d.p, "k-ed25519");
	pssh_set_deadline(d.p, PSSH_PHASE_AUTH, 3000);
	once(&d, h, "true");
	ok(d.seen[0].ends == 1, "an agent that hangs ends one way or the other (%s: %s)", end_of(&d.seen[0]),
		d.seen[0].text);
	drive_end(&d, "stopped agent");
	kill(agent, SIGCONT);
	tool_stop(agent);

	h = fresh("n1");
	pssh_set_agent(d.p, "agent.sock");
	pssh_add_identity(d.p, "k-ed25519");
	ends(once(&d, h, "true"), "exit 0", "where the agent is gone, files serve");
	drive_end(&d, "gone agent");

	fd = listen_at("silent.sock");
	h = fresh("n1");
	pssh_set_agent(d.p, "silent.sock");
	pssh_set_deadline(d.p, PSSH_PHASE_AUTH, 1500);
	once(&d, h, "true");
	ok(d.seen[0].ends == 1 && d.seen[0].type == PSSH_EV_ERROR, "an agent that never answers does not hold us (%s)",
		d.seen[0].text);
	drive_end(&d, "silent agent");
	close(fd);
}

/* Signs in by an agent that refuses, again where it took so long that somebody might have said no. */
static struct seen *once_refused(const char *identity, const char *answer, int tries)
{
	for (;;) {
		struct pssh_host *h = fresh("n1");
		struct seen *s;

		pssh_set_agent(d.p, "refuse.sock");
		pssh_add_identity(d.p, identity);
		pssh_set_prompts(d.p, answer != NULL);
		d.answer = answer;
		s = once(&d, h, "true");
		if (strcmp(end_of(s), "exit 0") == 0 || strstr(s->text, "passphrase") || --tries <= 0)
			return s;
		drive_end(&d, "a refusal that took long");
	}
}

/*
 * The agent lists a key and refuses at once to sign with it, as for one with ssh-add -h that may not go to the host:
 * ssh hears of no such key, so the file serves. Where somebody had the time to say no, it does not.
 */
static void check_agent_refuses(void)
{
	FILE *f = fopen("askpass", "w");
	struct seen *s;
	pid_t agent;

	fputs("#!/bin/sh\nif [ -f slow ]; then sleep 1.2; fi\nexit 1\n", f);
	fclose(f);
	chmod("askpass", 0700);
	setenv("SSH_ASKPASS", "./askpass", 1);
	setenv("SSH_ASKPASS_REQUIRE", "force", 1);
	agent = tool_spawn((const char *const[]){ "ssh-agent", "-D", "-a", "refuse.sock", NULL });
	for (int i = 0; i < 6000 && access("refuse.sock", F_OK) != 0; i++)
		poll(NULL, 0, 10);
	unsetenv("SSH_ASKPASS");
	unsetenv("SSH_ASKPASS_REQUIRE");
	make_key("k-refused", "ed25519", "256", "", "RFC4716");
	make_key("k-shut", "ecdsa", "256", "", "RFC4716");
	setenv("SSH_AUTH_SOCK", "refuse.sock", 1);
	tool_run("ssh-add", "-q", "-c", "k-refused", "k-shut");
	unsetenv("SSH_AUTH_SOCK");
	tool_run("ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", "k-shut");

	ends(once_refused("k-refused", NULL, 5), "exit 0",
		"a key that the agent refuses to sign with: its file serves");
	drive_end(&d, "refused");
	ends(s = once_refused("k-shut", NULL, 5), "PSSH_EAUTH", "but not a locked one where nobody may be asked");
	has_str(s->text, "agent refused to sign", "the sentence says what the agent did: %s", s->text);
	has_str(s->text, "locked by a passphrase", "and what the file needs");
	drive_end(&d, "refused, locked");
	ends(once_refused("k-shut", "secret", 5), "exit 0", "a locked one opens by its passphrase");
	is_int(d.prompts, 1, "asked for once");
	drive_end(&d, "refused, unlocked");

	close(open("slow", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	ends(s = once_refused("k-refused", NULL, 1), "PSSH_EAUTH", "a key that somebody may have refused is not used");
	has_str(s->text, "agent refused to sign", "for that reason: %s", s->text);
	drive_end(&d, "refused by hand");
	unlink("slow");
	unlink("k-refused");
	ends(s = once_refused("k-refused", NULL, 1), "PSSH_EAUTH",
		"nor is there one whose file has the public part alone");
	has_str(s->text, "agent refused to sign", "for that reason: %s", s->text);
	drive_end(&d, "refused, public");
	tool_stop(agent);
}

/* A key and its certificate, which is not in authorized_keys. */
static void make_certificate(const char *name, const char *type)
{
	char pub[64];

	snprintf(pub, sizeof pub, "%.50s.pub", name);
	tool_run("ssh-keygen", "-q", "-t", type, "-N", "", "-f", name);
	tool_run("ssh-keygen", "-q", "-s", env("AUTH_CA"), "-I", "test", "-n", env("SSHD_USER"), "-V", "+1h", pub);
}

static void check_certificate(const char *type)
{
	struct pssh_host *h;
	struct seen *s;
	char name[32];

	snprintf(name, sizeof name, "k-cert-%.20s", type);
	make_certificate(name, type);
	h = fresh("n1");
	pssh_add_identity(d.p, name);
	s = once(&d, h, "true");
	if (strcmp(type, "ecdsa") == 0 || libssh2_version(0x010b00))
		ends(s, "exit 0", "a certificate of %s", type);
	else
		has_str(s->text, "1.11 or later can", "a certificate of %s: why libssh2 %s does not use it", type,
			libssh2_version(0));
	drive_end(&d, name);
}

/* One that only the agent has, of a type that libssh2 before 1.11 cannot use. */
static void check_agent_certificate(void)
{
	pid_t agent = tool_spawn((const char *const[]){ "ssh-agent", "-D", "-a", "cert.sock", NULL });
	struct pssh_host *h;
	struct seen *s;

	for (int i = 0; i < 6000 && access("cert.sock", F_OK) != 0; i++)
		poll(NULL, 0, 10);
	make_certificate("k-certed", "ed25519");
	setenv("SSH_AUTH_SOCK", "cert.sock", 1);
	tool_run("ssh-add", "-q", "k-certed");
	unsetenv("SSH_AUTH_SOCK");
	h = fresh("n1");
	pssh_set_agent(d.p, "cert.sock");
	s = once(&d, h, "true");
	if (libssh2_version(0x010b00))
		ends(s, "exit 0", "an ed25519 certificate of the agent");
	else
		has_str(s->text, "of the agent: ", "why an ed25519 certificate of the agent is not used: %s", s->text);
	drive_end(&d, "agent's certificate");
	tool_stop(agent);
}

/* A server that takes nothing that libssh2 knows. */
static void check_gssapi(void)
{
	struct pssh_host *h = fresh("n1");
	char proxy[1000];
	struct seen *s;

	snprintf(proxy, sizeof proxy, "%.900s -o PubkeyAuthentication=no -o GSSAPIAuthentication=yes",
		env("SSHD_PROXY"));
	pssh_host_set_proxy(h, proxy);
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	s = once(&d, h, "true");
	ends(s, "PSSH_EAUTH", "a server that takes GSSAPI alone");
	if (strstr(s->text, "gssapi-with-mic"))
		has_str(s->text, "libssh2 cannot do", "the sentence says who cannot: %s", s->text);
	drive_end(&d, "gssapi");
}

static void check_password(void)
{
	static const char *const answers[] = { "wrong", "open sesame", NULL };
	struct light l;
	struct pssh_host *h;

	if (access(env("LIGHTSSHD"), X_OK) != 0) {
		skip("lightsshd is not built (libssh is not installed)");
		return;
	}
	light_up(&l, "password", (const char *const[]){ "--password", "open sesame", NULL });
	light_fleet(&d, &l);
	h = light_host(&d, &l, "127.50.0.1");
	ends(once(&d, h, "true"), "PSSH_EAUTH", "a password where nobody may be asked");
	has_str(d.seen[0].text, "password", "the sentence says that the server takes one");
	pssh_set_prompts(d.p, 1);
	d.answers = answers;
	ends(once(&d, h, "true"), "exit 0", "a wrong password, then the right one");
	is_int(d.prompts, 2, "two questions");
	has_str(d.question, "127.50.0.1", "which name the host");
	h = light_host(&d, &l, "127.50.0.2");
	d.answers = NULL;
	d.answer = "never right";
	d.prompts = 0;
	ends(once(&d, h, "true"), "PSSH_EAUTH", "never the right password");
	is_int(d.prompts, 3, "three questions");
	h = light_host(&d, &l, "127.50.0.3");
	d.answer = NULL;
	d.prompts = 0;
	ends(once(&d, h, "true"), "PSSH_EAUTH", "a password that is declined");
	is_int(d.prompts, 1, "is not asked for again");
	drive_end(&d, "password");
	light_down(&l);
}

/* A real sshd with PAM, if root can give it its own configuration. */
static void check_kbdint(void)
{
	static const char *const answers[] = { "wrong", "from pam", NULL };
	struct pssh_host *h;

	if (!getenv("PAM_CONFIG")) {
		skip("PAM cannot be set up here");
		return;
	}
	drive_start(&d);
	pssh_read_config(d.p, env("PAM_CONFIG"));
	pssh_set_prompts(d.p, 1);
	h = host(&d, "p1");
	d.answers = answers;
	ends(once(&d, h, "true"), "exit 0", "keyboard-interactive: a wrong answer, then the right one");
	ok(d.prompts == 2, "%u questions, the last '%s'", d.prompts, d.question);
	drive_end(&d, "keyboard-interactive");
}

int main(void)
{
	int fds;

	plan_none;
	fds = count_fds();
	check_files();
	check_nothing_helps();
	check_passphrases();
	check_shared_question();
	check_agent();
	check_agent_refuses();
	check_certificate("ecdsa");
	check_certificate("ed25519");
	check_certificate("rsa");
	check_agent_certificate();
	check_gssapi();
	check_password();
	check_kbdint();
	is_int(count_fds(), fds, "no descriptor is left");
	return done();
}
