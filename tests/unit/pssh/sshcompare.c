/* SPDX-License-Identifier: Apache-2.0 */
/* lib/pssh/config/sshconfig.c gives the same answers as ssh -G for many configurations. */
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "base/buf.h"
#include "base/fail.h"
#include "pssh/config/sshconfig.h"

static char dir[] = "/tmp/nanopod-sshcompare-XXXXXX";

/* ---- Helpers --------------------------------------------------------------------------- */

static char *in_dir(const char *name)
{
	static char path[4][512];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static const char *put(const char *name, const char *text)
{
	const char *path = in_dir(name);
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
	chmod(path, 0600);
	return path;
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

/* The lines of `ssh -G` that begin with key, their values with commas between. */
static char *ssh_value(const char *dump, const char *key)
{
	struct buf b;
	size_t len = strlen(key);

	buf_init(&b, 1 << 20);
	for (const char *s = dump; *s; s += strcspn(s, "\n"), s += *s == '\n')
		if (strncmp(s, key, len) == 0 && s[len] == ' ')
			buf_addf(&b, "%s%.*s", b.len ? "," : "", (int)strcspn(s + len + 1, "\n"), s + len + 1);
	return buf_steal(&b);
}

static char *ssh_dump(const char *config, const char *host)
{
	char command[2048];
	struct buf b;
	FILE *p;

	snprintf(command, sizeof command, "ssh -G -F '%s' %s 2>/dev/null", config, host);
	p = popen(command, "r");
	if (!p)
		abort();
	buf_init(&b, 1 << 20);
	buf_read_fd(&b, fileno(p));
	if (pclose(p) != 0)
		buf_clear(&b);
	return buf_steal(&b);
}

/* Values that ssh prints as written; ours are expanded. */
static char *without_home(char *const *list, const char *between)
{
	const char *home = getenv("HOME");
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; list && list[i]; i++) {
		size_t len = strlen(home);
		bool in_home = between[0] == ',' && strncmp(list[i], home, len) == 0 && list[i][len] == '/';

		buf_addf(&b, "%s%s%s", b.len ? between : "", in_home ? "~" : "", list[i] + (in_home ? len : 0));
	}
	return buf_steal(&b);
}

static const char *strict_word(int strict)
{
	static const char *const words[] = { "false", "true", "ask", "accept-new" };

	return words[strict < 0 ? SSHCONFIG_STRICT_ASK : strict];
}

/* Same text; takes `theirs`. */
static bool same(const char *what, const char *ours, char *theirs)
{
	bool equal = strcmp(ours, theirs) == 0;

	if (!equal)
		diag("%s: '%s', ssh says '%s'", what, ours, theirs);
	free(theirs);
	return equal;
}

static bool same_number(const char *what, long ours, char *theirs)
{
	char text[32];

	snprintf(text, sizeof text, "%ld", ours);
	return same(what, text, theirs);
}

static bool same_flag(const char *what, int ours, int usual, char *theirs)
{
	return same(what, (ours < 0 ? usual : ours) ? "yes" : "no", theirs);
}

static bool agree(const struct sshconfig_answer *a, const char *dump)
{
	const char *user = getpwuid(getuid())->pw_name;
	char *ids = without_home(a->identity_files, ","), *known = without_home(a->user_known_hosts, " ");
	char *global = without_home(a->global_known_hosts, " "), *sent = without_home(a->send_env, ",");
	bool good = true;

	good &= same("hostname", a->hostname, ssh_value(dump, "hostname"));
	good &= same("user", a->user ? a->user : user, ssh_value(dump, "user"));
	good &= same_number("port", a->port ? a->port : 22, ssh_value(dump, "port"));
	good &= same("proxyjump", a->proxy_jump ? a->proxy_jump : "", ssh_value(dump, "proxyjump"));
	good &= same("stricthostkeychecking", strict_word(a->strict), ssh_value(dump, "stricthostkeychecking"));
	if (!a->proxy_jump && !strchr(a->proxy_command ? a->proxy_command : "", '%'))
		good &= same("proxycommand", a->proxy_command ? a->proxy_command : "", ssh_value(dump, "proxycommand"));
	if (a->identity_files && !a->identity_files[0])
		good &= same("identityfile", "none", ssh_value(dump, "identityfile"));
	else if (a->identity_files)
		good &= same("identityfile", ids, ssh_value(dump, "identityfile"));
	if (a->user_known_hosts && !a->user_known_hosts[0])
		good &= same("userknownhostsfile", "none", ssh_value(dump, "userknownhostsfile"));
	else if (a->user_known_hosts)
		good &= same("userknownhostsfile", known, ssh_value(dump, "userknownhostsfile"));
	if (a->global_known_hosts)
		good &= same("globalknownhostsfile", global, ssh_value(dump, "globalknownhostsfile"));
	good &= same("sendenv", sent, ssh_value(dump, "sendenv"));
	good &= same("hostkeyalias", a->host_key_alias ? a->host_key_alias : "", ssh_value(dump, "hostkeyalias"));
	good &= same("bindaddress", a->bind_address ? a->bind_address : "", ssh_value(dump, "bindaddress"));
	good &= same_flag("identitiesonly", a->identities_only, 0, ssh_value(dump, "identitiesonly"));
	good &= same_flag("batchmode", a->batch_mode, 0, ssh_value(dump, "batchmode"));
	good &= same_flag("passwordauthentication", a->password, 1, ssh_value(dump, "passwordauthentication"));
	good &= same_flag("kbdinteractiveauthentication", a->kbdint, 1,
		ssh_value(dump, "kbdinteractiveauthentication"));
	good &= same_flag("hashknownhosts", a->hash_known_hosts, 0, ssh_value(dump, "hashknownhosts"));
	good &= same_flag("compression", a->compression, 0, ssh_value(dump, "compression"));
	if (a->connect_timeout > 0)
		good &= same_number("connecttimeout", a->connect_timeout, ssh_value(dump, "connecttimeout"));
	if (a->server_alive_interval >= 0)
		good &= same_number("serveraliveinterval", a->server_alive_interval,
			ssh_value(dump, "serveraliveinterval"));
	free(ids);
	free(known);
	free(global);
	free(sent);
	return good;
}

/* For each word of `hosts`, ssh and the library give the same answer. */
static void compare(const char *text, const char *hosts)
{
	struct sshconfig *c = config_of(text);
	char *copy = strdup(hosts), *left = copy, *host;
	const char *path = in_dir("config");

	while (c && (host = strsep(&left, " ")) != NULL) {
		struct sshconfig_answer a;
		struct fail f = { 0 };
		char *dump = ssh_dump(path, host), *at = strchr(host, '@');
		int rc;

		if (at)
			*at++ = '\0';
		rc = sshconfig_find(c, at ? at : host, at ? host : NULL, 0, &a, &f);
		if (rc || !*dump) {
			ok(rc && !*dump, "'%s': both refuse (%s)", host, f.text);
		} else {
			bool good = agree(&a, dump);

			ok(good, "'%s' as ssh -G has it", at ? at : host);
			if (!good)
				diag("in: %s", text);
		}
		if (!rc)
			sshconfig_answer_release(&a);
		free(dump);
	}
	free(copy);
	sshconfig_free(c);
}

static const struct {
	const char *text, *hosts;
} cases[] = {
	{ "", "a A.Example.ORG 127.0.0.1 127.1 ::1 0:0::1 joe@a" },
	{ "Host a\n HostName a.example.org\n User alice\n Port 2222\nHost *\n User bob\n Port 22\n", "a b joe@a" },
	{ "User first\nHost a\nUser second\n", "a b" },
	{ "Host a b\n User ab\nHost b c\n Port 7\n", "a b c d" },
	{ "Host n*\n User n\nHost !n3 n?\n Port 9\nHost * !n4\n IdentityFile ~/.ssh/x\n", "n1 n3 n4 n44 m" },
	{ "Host n3\n Port 1\nHost n*\n Port 2\n User u\nHost n3\n User never\n", "n3 n4" },
	{ "HOST a\n\tuSeR = x\n  port=99\nIdentityFile=\"~/.ssh/with space\"\n", "a b" },
	{ "Host = a\nUser= x\nPort =8\n", "a" },
	{ "Host a # comment\n User x # comment\n# Host *\n   # User z\n", "a b comment" },
	{ "Host \"a\" 'b'\n User \"x y\"\n", "a b" },
	{ "\"Host\" a\n User q\n", "a b" },
	{ "Host a\r\n User x\r\n Port 7\r\n", "a" },
	{ "Host a\n IdentityFile /k1\n IdentityFile /k2\nHost *\n IdentityFile /k1\n IdentityFile /k3\n", "a b" },
	{ "IdentityFile none\n", "a" },
	{ "Host a\nIdentityFile none\nHost *\nIdentityFile /k\n", "b" },
	{ "Host a\n ProxyJump b\nHost c\n ProxyJump u@b:22,d:2222\nHost d\n ProxyJump none\nHost *\n ProxyJump z\n",
		"a c d e" },
	{ "Host a\n ProxyCommand none\nHost *\n ProxyJump z\n", "a b" },
	{ "Host a\n ProxyJump none\nHost *\n ProxyCommand nc x 22\n", "a b" },
	{ "ProxyCommand = nc  --proxy \"x y\" # not a comment\nProxyJump q\n", "a" },
	{ "ProxyJump q # comment\n", "a" },
	{ "UserKnownHostsFile /a ~/b \"/c d\"\nGlobalKnownHostsFile /g /h\n", "a" },
	{ "UserKnownHostsFile ~/.ssh/kh.%h.%n.%p.%r.%u.%i.%%\nHost a\nHostName B\nPort 5\nUser U\n", "a b" },
	{ "UserKnownHostsFile /x/%C /y/%L/%l /z/%k%d\nHost a\nHostName B\nHostKeyAlias Q\n", "a b" },
	{ "UserKnownHostsFile ${NANOPOD_TEST_A}/x\n", "a" },
	{ "UserKnownHostsFile ${NANOPOD_TEST_NONE}/x\n", "a" },
	{ "UserKnownHostsFile /x/%z\n", "a" },
	{ "UserKnownHostsFile none\n", "a" },
	{ "HostName %h.example.org\n", "a B" },
	{ "HostName x%%h\n", "a" },
	{ "HostName %n\n", "a" },
	{ "HostName ::0001\n", "a" },
	{ "StrictHostKeyChecking no\n", "a" },
	{ "StrictHostKeyChecking off\n", "a" },
	{ "StrictHostKeyChecking YES\n", "a" },
	{ "StrictHostKeyChecking accept-new\n", "a" },
	{ "Match all\n User x\n", "a" },
	{ "Match host a\n User x\nMatch host a,b\n Port 3\n", "a b A" },
	{ "Host a\n HostName real\nMatch host real\n User x\nMatch originalhost a\n Port 3\nMatch host a\n Port 4\n",
		"a real" },
	{ "Match host *.org,!x.org\n User x\n", "a.org x.org A.ORG b" },
	{ "Match user joe\n Port 3\nMatch !user joe\n Port 4\n", "a joe@a" },
	{ "Match host a user joe\n Port 3\n", "a joe@a joe@b" },
	{ "Host a\nUser joe\nMatch user joe\n Port 3\n", "a b" },
	{ "Match localuser root\n Port 3\nMatch localuser nobody\n Port 4\n", "a" },
	{ "Match host=a user=\"joe\"\n Port 3\n", "joe@a a" },
	{ "Match final host real\n Port 3\nHost a\n HostName real\n", "a real b" },
	{ "Match final all\n User late\nHost a\n User early\n", "a b" },
	{ "Match canonical\n Port 3\n", "a" },
	{ "Match !final host a\n Port 3\n", "a b" },
	{ "Host real\n Port 9\nHost a\n HostName Real\nMatch final\n User f\n", "a real" },
	{ "Match final\nIdentityFile /late\nHost *\nIdentityFile /early\n", "a" },
	{ "Match all # all\n Port 3\n", "a" },
	{ "ConnectTimeout 90\nServerAliveInterval 1m30\n", "a" },
	{ "ConnectTimeout none\nConnectTimeout 7\n", "a" },
	{ "IgnoreUnknown Use*,Foo\nUseKeychain yes\nfoo bar\nUser x\n", "a" },
	{ "SendEnv LANG LC_*\nSendEnv X -LC_*\n", "a" },
	{ "BatchMode yes\nIdentitiesOnly true\nPasswordAuthentication no\nChallengeResponseAuthentication no\n", "a" },
	{ "HashKnownHosts yes\nCompression yes\nBindAddress 127.0.0.1\nHostKeyAlias FOO\n", "a" },
	{ "Include inc1\n", "a" },
	{ "Include none-*.conf\nUser x\n", "a" },
	{ "User a\\ b\nPort 22\n", "x" },
	{ "ProxyJump none\nProxyCommand x\nProxyJump z\n", "a" },
	{ "ProxyJump none\nProxyJump z\n", "a" },
	{ "Host a\n\nHost\tb\n\tUser\tx\n", "a b" },
	{ "ControlMaster auto\nControlPath ~/.ssh/%C\nControlPersist 10m\nLogLevel ERROR\nUser x\n", "a" },
};

static void test_against_ssh(void)
{
	setenv("NANOPOD_TEST_A", "/from/env", 1);
	unsetenv("NANOPOD_TEST_NONE");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		compare(cases[i].text, cases[i].hosts);
}

static void test_includes(void)
{
	char text[4096];

	mkdir(in_dir("conf.d"), 0700);
	mkdir(in_dir("conf.d/sub.conf"), 0700);
	put("conf.d/1.conf", "Host a\n User one\nHost b\n Port 1\n");
	put("conf.d/2.conf", "Host *\n User two\n Port 2\n");
	put("always", "Port 77\n");
	snprintf(text, sizeof text, "Include %s/conf.d/*.conf\nHost *\n IdentityFile /k\n", dir);
	compare(text, "a b c");
	snprintf(text, sizeof text, "Host a\n Include %s/conf.d/1.conf %s/always\n User x\nHost *\n User y\n", dir,
		dir);
	compare(text, "a b c");
	snprintf(text, sizeof text, "Match user joe\nInclude %s/always\nHost *\nPort 5\n", dir);
	compare(text, "a joe@a");
	snprintf(text, sizeof text, "Host z\n Include %s/conf.d/2.conf\n Port 9\n", dir);
	compare(text, "a z");
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
	struct passwd *pw = getpwuid(getuid());

	plan_none;
	if (access("/usr/bin/ssh", X_OK) != 0)
		skip_all("no ssh here to compare with");
	if (!mkdtemp(dir) || !pw)
		return 99;
	setenv("HOME", pw->pw_dir, 1); /* ssh reads the password file instead */
	test_against_ssh();
	test_includes();
	clean_up();
	return done();
}
