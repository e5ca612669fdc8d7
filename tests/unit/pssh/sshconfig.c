/* SPDX-License-Identifier: Apache-2.0 */
/* lib/pssh/config/sshconfig.c: values, refusals, hostile files, speed. sshcompare.c has what ssh says. */
#include "pssh/config/sshconfig.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "pssh/pssh.h"

static char dir[] = "/tmp/nanopod-sshconfig-XXXXXX";

/* ---- Helpers --------------------------------------------------------------------------- */

static char *in_dir(const char *name)
{
	static char path[4][512];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static const char *put_bytes(const char *name, const char *text, size_t len)
{
	const char *path = in_dir(name);
	FILE *file = fopen(path, "w");

	if (!file || fwrite(text, 1, len, file) != len || fclose(file) != 0)
		abort();
	chmod(path, 0600);
	return path;
}

static const char *put(const char *name, const char *text)
{
	return put_bytes(name, text, strlen(text));
}

static struct sshconfig *config_of(const char *text)
{
	struct sshconfig *c;
	struct fail f = { 0 };

	if (sshconfig_new(&c) != 0)
		abort();
	if (sshconfig_read(c, put("config", text), true, &f) != 0) {
		ok(0, "reads: %s", f.text);
		sshconfig_free(c);
		return NULL;
	}
	return c;
}

static struct sshconfig_answer answer_of(const char *text, const char *host)
{
	struct sshconfig *c = config_of(text);
	struct sshconfig_answer a = { 0 };
	struct fail f = { 0 };

	if (c && sshconfig_find(c, host, NULL, 0, &a, &f) != 0)
		ok(0, "answers: %s", f.text);
	free(a.warnings);
	a.warnings = NULL; /* they go with the configuration */
	sshconfig_free(c);
	return a;
}

static void refuse(const char *text, const char *part)
{
	struct sshconfig *c;
	struct fail f = { 0 };
	int rc;

	sshconfig_new(&c);
	rc = sshconfig_read(c, put("config", text), true, &f);
	is_int(rc, PSSH_ESYNTAX, "refuses: %.60s", text);
	has_str(f.text, part, "and says why: %s", f.text);
	sshconfig_free(c);
}

/* ---- By itself ------------------------------------------------------------------------- */

static void test_unset(void)
{
	struct sshconfig_answer a = answer_of("", "Some.Host");

	is_str(a.hostname, "some.host", "without a word the host is the alias");
	ok(!a.user && !a.proxy_jump && !a.proxy_command && !a.identity_agent && !a.kex, "texts not set are NULL");
	ok(!a.identity_files && !a.user_known_hosts && !a.send_env && !a.set_env, "lists not set are NULL");
	is_int(a.port, 0, "no port");
	ok(a.strict == SSHCONFIG_STRICT_UNSET && a.batch_mode == -1 && a.connect_timeout == -1 &&
		a.address_family == -1 && a.escape_char == -1 && a.request_tty == SSHCONFIG_TTY_UNSET,
		"numbers not set are -1");
	sshconfig_answer_release(&a);
}

static void test_values(void)
{
	struct sshconfig_answer a;

	setenv("SSH_AUTH_SOCK", "/the/agent", 1);
	setenv("NANOPOD_TEST_SOCK", "/other/agent", 1);
	a = answer_of(
		"IdentityAgent SSH_AUTH_SOCK\nAddressFamily inet6\nRequestTTY force\nEscapeChar ^A\n"
		"Ciphers +aes128-ctr\nKexAlgorithms ^curve25519-sha256\nSetEnv A=1 B=2 A=3\nSetEnv C=4\nForwardAgent "
		"yes\n"
		"RemoteCommand echo \"%n\" %%\nProxyCommand nc %h %p %r\nUser me\nConnectionAttempts 3\n"
		"PreferredAuthentications publickey\nBindInterface lo\nCertificateFile /c\nServerAliveCountMax 5\n"
		"NumberOfPasswordPrompts 1\nPubkeyAuthentication no\nTCPKeepAlive no\n",
		"h");
	is_str(a.identity_agent, "/the/agent", "IdentityAgent SSH_AUTH_SOCK is looked up");
	is_int(a.address_family, AF_INET6, "AddressFamily");
	is_int(a.request_tty, SSHCONFIG_TTY_FORCE, "RequestTTY");
	is_int(a.escape_char, 1, "EscapeChar");
	is_str(a.ciphers, "+aes128-ctr", "Ciphers are handed on raw");
	is_str(a.kex, "^curve25519-sha256", "KexAlgorithms too");
	ok(a.set_env && strcmp(a.set_env[0], "A=1") == 0 && strcmp(a.set_env[1], "B=2") == 0 && !a.set_env[2],
		"SetEnv: the first line, the first of a name");
	ok(a.forward_agent == 1 && !a.forward_agent_socket, "ForwardAgent yes");
	is_str(a.remote_command, "echo \"h\" %", "RemoteCommand is expanded");
	is_str(a.proxy_command, "nc h 22 me", "ProxyCommand too");
	ok(a.connection_attempts == 3 && a.server_alive_count_max == 5 && a.number_of_password_prompts == 1 &&
		a.pubkey == 0 && a.tcp_keepalive == 0, "numbers and flags");
	ok(a.certificate_files && strcmp(a.certificate_files[0], "/c") == 0, "CertificateFile");
	is_str(a.bind_interface, "lo", "BindInterface");
	is_str(a.preferred_authentications, "publickey", "PreferredAuthentications");
	sshconfig_answer_release(&a);

	a = answer_of("IdentityAgent $NANOPOD_TEST_SOCK\nForwardAgent /s/%r\nUser u\nEscapeChar none\n", "h");
	is_str(a.identity_agent, "/other/agent", "IdentityAgent $NAME");
	is_str(a.forward_agent_socket, "/s/u", "ForwardAgent PATH");
	is_int(a.forward_agent, 1, "means yes");
	is_int(a.escape_char, -2, "EscapeChar none");
	sshconfig_answer_release(&a);
	a = answer_of("IdentityAgent none\n", "h");
	is_str(a.identity_agent, "none", "IdentityAgent none is not the same as unset");
	sshconfig_answer_release(&a);
	if (getservbyname("ssh", "tcp")) { /* a bare system has no /etc/services */
		a = answer_of("Port ssh\n", "h");
		is_int(a.port, 22, "Port by the name of a service");
		sshconfig_answer_release(&a);
	}
}

static void test_given(void)
{
	struct sshconfig *c = config_of("Host a\nUser u\nPort 5\nIdentityFile /%r/%p\n");
	struct sshconfig_answer a;

	if (!c || sshconfig_find(c, "a", "given", 99, &a, NULL) != 0) {
		ok(0, "answers");
		return;
	}
	is_str(a.user, "given", "the user that came with the name wins");
	is_int(a.port, 99, "so does the port");
	is_str(a.identity_files[0], "/given/99", "and tokens see them");
	sshconfig_answer_release(&a);
	sshconfig_free(c);
}

static void test_several_files(void)
{
	struct sshconfig *c;
	struct sshconfig_answer a;
	struct fail f = { 0 };

	sshconfig_new(&c);
	is_int(sshconfig_read(c, put("one", "Host a\nUser one\n"), true, &f), 0, "first file");
	is_int(sshconfig_read(c, put("two", "Host *\nUser two\nPort 2\n"), false, &f), 0, "second file");
	is_int(sshconfig_find(c, "a", NULL, 0, &a, &f), 0, "answers");
	is_str(a.user, "one", "the first value wins over files");
	is_int(a.port, 2, "the second file adds");
	sshconfig_answer_release(&a);
	is_int(sshconfig_read(c, put("bad", "Host *\nPort 3\nNonsense\n"), true, &f), PSSH_ESYNTAX, "a bad third file");
	is_int(sshconfig_read(c, in_dir("missing"), true, &f), PSSH_ENOENT, "a missing file");
	has_str(f.text, "missing", "is named: %s", f.text);
	is_int(sshconfig_read(c, dir, true, &f), PSSH_ELOCAL, "a folder is no file");
	is_int(sshconfig_find(c, "b", NULL, 0, &a, &f), 0, "answers still");
	is_int(a.port, 2, "and nothing of the bad file is left");
	sshconfig_answer_release(&a);
	sshconfig_free(c);
}

/* Each variable costs every command a round trip, and a distribution's file names many. */
static void test_sent(void)
{
	struct sshconfig_answer a;
	struct sshconfig *c;
	struct fail f = { 0 };
	char text[600];

	sshconfig_new(&c);
	sshconfig_read(c, put("one", "Host a\nSendEnv MINE\n"), true, &f);
	put("three", "SendEnv ALSO_THEIRS\n");
	snprintf(text, sizeof text, "Include %s\nSendEnv LANG LC_*\nSetEnv SET=1\n", in_dir("three"));
	is_int(sshconfig_read(c, put("two", text), false, &f), 0, "the system's file");
	is_int(sshconfig_find(c, "a", NULL, 0, &a, &f), 0, "answers");
	ok(a.send_env && a.send_env[0] && !a.send_env[1], "only the user's own file says what is sent");
	is_str(a.send_env ? a.send_env[0] : NULL, "MINE", "which is this");
	ok(a.set_env && a.set_env[0], "what is set may be the system's");
	sshconfig_answer_release(&a);
	is_int(sshconfig_find(c, "b", NULL, 0, &a, &f), 0, "answers");
	ok(!a.send_env, "for another host nothing is sent");
	sshconfig_answer_release(&a);
	sshconfig_free(c);
}

static void test_refused(void)
{
	refuse("Host a\nHostNam b\n", "did you mean 'HostName'");
	refuse("Host a\nHostNam b\n", "line 2");
	refuse("UseKeychain yes\n", "unknown keyword 'UseKeychain'");
	refuse("Port\n", "'Port': needs a value");
	refuse("Port 0\n", "from 1 to 65535");
	refuse("Port 65536\n", "from 1 to 65535");
	refuse("Port 22 23\n", "more than one word");
	refuse("User \"x\n", "quote");
	refuse("Host \"\"\n", "empty word");
	refuse("BatchMode maybe\n", "'yes' or 'no'");
	refuse("StrictHostKeyChecking maybe\n", "accept-new");
	refuse("ConnectTimeout 5x\n", "a time");
	refuse("ConnectTimeout 99999999999999999999\n", "a time");
	refuse("SetEnv X\n", "NAME=value");
	refuse("UserKnownHostsFile none /x\n", "alone");
	refuse("Port nosuchservice\n", "a service");
	refuse("ProxyJump gw, web2\n", "blanks");
	refuse("ProxyJump gw ,web2\n", "blanks");
	refuse("ProxyJump a,,b\n", "'host', 'user@host:port'");
	refuse("Match\n", "needs a value");
	refuse("Match frobnicate x\n", "unknown criterion 'frobnicate'");
	refuse("Match host\n", "'host' needs a value");
	refuse("Match host x all y\n", "'all'");
	refuse("Match host \"x\n", "quote");
	refuse("Include \"x\n", "quote");
}

static void test_hostile(void)
{
	struct sshconfig *c;
	struct fail f = { 0 };
	char text[1024], *big;

	sshconfig_new(&c);
	is_int(sshconfig_read(c, put_bytes("nul", "Host a\nUser x\0y\n", 16), true, &f), PSSH_ESYNTAX, "a NUL byte");
	has_str(f.text, "line 2", "in line 2: %s", f.text);
	snprintf(text, sizeof text, "Include %s/loop\n", dir);
	is_int(sshconfig_read(c, put("loop", text), true, &f), PSSH_ESYNTAX, "a file that includes itself");
	has_str(f.text, "16 deep", "is stopped: %s", f.text);
	snprintf(text, sizeof text, "Include %s/deep.d/*\n", dir);
	mkdir(in_dir("deep.d"), 0700);
	put("deep.d/a", text);
	put("deep.d/b", text);
	is_int(sshconfig_read(c, in_dir("deep.d/a"), true, &f), PSSH_ESYNTAX,
		"two files that include each other twice");
	big = malloc(2 << 20);
	if (!big)
		abort();
	memset(big, 'x', 2 << 20);
	memcpy(big, "User ", 5);
	is_int(sshconfig_read(c, put_bytes("big", big, 2 << 20), true, &f), PSSH_ESYNTAX, "a line of 2 MiB");
	memset(big, '"', 1 << 19);
	is_int(sshconfig_read(c, put_bytes("big", big, 1 << 19), true, &f), PSSH_ESYNTAX, "a line of quotes");
	for (size_t i = 0; i < (1 << 19); i += 2)
		memcpy(big + i, "x ", 2);
	memcpy(big, "Host ", 5);
	is_int(sshconfig_read(c, put_bytes("big", big, 1 << 19), true, &f), PSSH_ESYNTAX, "262,144 words");
	free(big);
	put("loose", "User x\n");
	chmod(in_dir("loose"), 0666);
	snprintf(text, sizeof text, "Include %s/loose\n", dir);
	is_int(sshconfig_read(c, put("config", text), true, &f), PSSH_ELOCAL, "an included file that others may write");
	has_str(f.text, "others can write", "is refused: %s", f.text);
	sshconfig_free(c);
}

static void test_warnings(void)
{
	struct sshconfig *c = config_of("Host a\n LocalForward 1 x:2\n ForwardX11 no\nHost b\n ForwardX11 yes\n"
		"Match host c exec \"true\"\n User never\nHost *\n GSSAPIAuthentication yes\n ControlMaster auto\n");
	struct sshconfig_answer a, b;
	struct fail f;
	int all = 0;

	if (!c)
		return;
	for (struct sshconfig_warning *w = sshconfig_warnings(c); w; w = w->next)
		all++;
	is_int(all, 3, "three things cannot be honoured");
	sshconfig_find(c, "a", NULL, 0, &a, &f);
	sshconfig_find(c, "a", NULL, 0, &b, &f);
	ok(a.warning_count == 1 && a.warnings[0]->line == 2 && strcmp(a.warnings[0]->keyword, "LocalForward") == 0,
		"of these one is host a's");
	ok(b.warning_count == 1 && b.warnings[0] == a.warnings[0], "and is the same one each time");
	sshconfig_answer_release(&a);
	sshconfig_answer_release(&b);
	sshconfig_find(c, "c", NULL, 0, &a, &f);
	ok(a.warning_count == 1 && strcmp(a.warnings[0]->keyword, "Match exec") == 0 && !a.user,
		"Match exec is said, and does not match");
	sshconfig_answer_release(&a);
	sshconfig_find(c, "d", NULL, 0, &a, &f);
	is_int(a.warning_count, 0, "nothing to say of host d");
	sshconfig_answer_release(&a);
	sshconfig_free(c);
}

/* Debian 13's has lines for systemd's own hosts that cannot be honoured. */
static void test_debian(void)
{
	struct sshconfig_answer a;
	struct sshconfig *c;
	struct fail f = { 0 };

	if (access("/etc/ssh/ssh_config", R_OK) != 0) {
		skip("no /etc/ssh/ssh_config here");
		return;
	}
	sshconfig_new(&c);
	is_int(sshconfig_read(c, "/etc/ssh/ssh_config", false, &f), 0, "/etc/ssh/ssh_config reads: %s", f.text);
	is_int(sshconfig_find(c, "n1", NULL, 0, &a, &f), 0, "it has an answer for a host: %s", f.text);
	is_int(a.warning_count, 0, "and nothing to say of it");
	sshconfig_answer_release(&a);
	sshconfig_free(c);
}

static void test_speed(void)
{
	struct sshconfig *c;
	struct sshconfig_answer a;
	struct buf b;
	struct fail f = { 0 };
	int wrong = 0, ms;

	buf_init(&b, 1 << 24);
	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "Host node%d\n HostName 10.0.%d.%d\n User u%d\n", i, i / 250, i % 250 + 1, i);
	buf_adds(&b, "Host node*\n Port 2222\n IdentityFile ~/.ssh/%r\nHost *\n User nobody\n");
	sshconfig_new(&c);
	sshconfig_read(c, put_bytes("many", b.data, b.len), true, &f);
	ms = tap_cpu_ms();
	for (int i = 0; i < 10000; i++) {
		char name[32], user[32];

		snprintf(name, sizeof name, "node%d", i % 2000);
		snprintf(user, sizeof user, "u%d", i % 2000);
		wrong += sshconfig_find(c, name, NULL, 0, &a, &f) != 0 || a.port != 2222 ||
			strcmp(a.user, i % 2000 < 1000 ? user : "nobody") != 0;
		sshconfig_answer_release(&a);
	}
	is_int(wrong, 0, "10,000 answers out of 1,000 blocks");
	ms = tap_cpu_ms() - ms;
	ok(ms < 3000, "in %d ms of a processor", ms);
	sshconfig_free(c);
	buf_release(&b);
}

static void clean_up(void)
{
	char command[64];
	FILE *p;

	snprintf(command, sizeof command, "rm -r '%s'", dir);
	p = popen(command, "r");
	if (p)
		pclose(p);
}

int main(void)
{
	plan_none;
	if (!mkdtemp(dir))
		return 99;
	test_unset();
	test_values();
	test_given();
	test_several_files();
	test_sent();
	test_refused();
	test_hostile();
	test_warnings();
	test_debian();
	test_speed();
	clean_up();
	return done();
}
