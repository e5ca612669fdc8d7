/* SPDX-License-Identifier: Apache-2.0 */
/* Which algorithms a connection agreed on, and the warning where the server has a better key exchange. */
#include "drive.h"

#define BETTER "sntrup761x25519-sha512@openssh.com"

static struct drive d;
static char heard[4096];
static unsigned warned;

static void hear(void *arg, enum pssh_log_level level, const char *text)
{
	size_t len = strlen(heard);

	(void)arg;
	warned += level == PSSH_LOG_WARN;
	snprintf(heard + len, sizeof heard - len, "%s\n", text);
}

/* A fleet that warns if it is to, and knows one more line of configuration. */
static void fresh(int warn, const char *line)
{
	FILE *f = fopen("more", "w");

	if (!f || fprintf(f, "%s\n", line) < 0 || fclose(f) != 0)
		exit(99);
	heard[0] = '\0';
	warned = 0;
	drive_start(&d);
	pssh_read_config(d.p, "more");
	pssh_add_identity(d.p, env("SSHD_KEY"));
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	pssh_set_log(d.p, PSSH_LOG_INFO, hear, NULL);
	pssh_set_warn_weak(d.p, warn);
}

static struct pssh_host *offering(const char *name, const char *exchanges)
{
	struct pssh_host *h = host(&d, name);
	char proxy[2000];

	snprintf(proxy, sizeof proxy, "%.900s -o KexAlgorithms=%.200s", env("SSHD_PROXY"), exchanges);
	pssh_host_set_proxy(h, proxy);
	return h;
}

static void check_agreed(void)
{
	struct pssh_facts facts;
	struct pssh_host *h;

	fresh(1, "");
	h = offering("plain", "ecdh-sha2-nistp384");
	pssh_set_algorithms(d.p, PSSH_ALG_CIPHER, "aes192-ctr");
	pssh_set_algorithms(d.p, PSSH_ALG_MAC, "hmac-sha2-512");
	ends(once(&d, h, "true"), "exit 0", "a server without a better exchange");
	is_int(pssh_host_facts(h, &facts, sizeof facts), 0, "it tells");
	is_str(facts.kex, "ecdh-sha2-nistp384", "the key exchange");
	is_str(facts.hostkey, "ssh-ed25519", "the host key's algorithm");
	is_str(facts.cipher, "aes192-ctr", "the cipher");
	is_str(facts.mac, "hmac-sha2-512", "the MAC");
	has_str(heard,
		"'plain': key exchange ecdh-sha2-nistp384, host key ssh-ed25519, cipher aes192-ctr, MAC hmac-sha2-512",
		"the log has all four");
	is_int(warned, 0, "no warning: the server has nothing better");
	drive_end(&d, "agreed");
}

static void check_warning(void)
{
	struct pssh_facts facts;
	struct pssh_host *h;

	fresh(1, "");
	h = offering("one", BETTER ",curve25519-sha256");
	ends(once(&d, h, "true"), "exit 0", "a server with a better exchange");
	ends(once(&d, offering("two", BETTER ",curve25519-sha256"), "true"), "exit 0", "and another one");
	is_int(pssh_host_facts(h, &facts, sizeof facts), 0, "(the first tells what it agreed on)");
	if (strncmp(facts.kex, "sntrup", 6) == 0) {
		is_int(warned, 0, "this libssh2 has it and prefers it");
	} else {
		is_int(warned, 1, "one warning for both");
		has_str(heard, "the connection to 'one'", "it names the host");
		has_str(heard, " lacks sntrup761x25519-sha512 (", "and the exchange");
		has_str(heard, "--openssh", "and the way out");
	}
	drive_end(&d, "warning");

	fresh(0, "");
	ends(once(&d, offering("one", BETTER ",curve25519-sha256"), "true"), "exit 0",
		"a fleet that was not told to warn");
	is_int(warned, 0, "does not");
	drive_end(&d, "not asked");

	fresh(1, "WarnWeakCrypto no-pq-kex");
	ends(once(&d, offering("one", BETTER ",curve25519-sha256"), "true"), "exit 0", "WarnWeakCrypto no-pq-kex");
	is_int(warned, 0, "no warning");
	drive_end(&d, "excluded");
}

int main(void)
{
	plan_none;
	check_agreed();
	check_warning();
	return done();
}
