/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that offer few algorithms: a session, or a sentence that names kind, offers and the way out. */
#include <libssh2.h>

#include "drive.h"

static struct drive d;

/* A fleet and a host whose sshd has one more line of configuration. */
static struct pssh_host *restricted(const char *line)
{
	struct pssh_host *h;
	char proxy[2000];

	drive_start(&d);
	pssh_add_identity(d.p, env("SSHD_KEY"));
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	h = host(&d, "h");
	snprintf(proxy, sizeof proxy, "%.900s -o '%.200s'", env("SSHD_PROXY"), line);
	pssh_host_set_proxy(h, proxy);
	return h;
}

/* Whether a session comes about where only that is asked for: newer libssh2 is built without SHA-1. */
static bool has(const char *line, enum pssh_algorithm kind, const char *name)
{
	struct pssh_host *h = restricted(line);
	bool got;

	pssh_set_algorithms(d.p, kind, name);
	got = once(&d, h, "true")->type == PSSH_EV_EXIT;
	drive_end(&d, line);
	return got;
}

/* The sentence names a way that leads somewhere. */
static void check_way(const char *text, bool there, const char *way, const char *line)
{
	if (there)
		has_str(text, way, "%s: the way out", line);
	else
		ok(!strstr(text, "permits that"), "%s: no way out where libssh2 has none", line);
}

/* Whether this libssh2 is at least the one that the way out names. */
static bool named_version_is_here(const char *way)
{
	return (strstr(way, "libssh2 1.11.1 has ") && libssh2_version(0x010b01)) ||
		(strstr(way, "libssh2 1.11 has ") && libssh2_version(0x010b00));
}

/* What this libssh2 has, it uses; else the sentence has all words. */
static void try_server(const char *line, const char *kind, const char *theirs, const char *ours, const char *way)
{
	bool sha1 = strcmp(theirs, "diffie-hellman-group14-sha1, libssh2 ") == 0;
	bool there = !sha1 || has(line, PSSH_ALG_KEX, "diffie-hellman-group14-sha1");
	struct seen *s = once(&d, restricted(line), "true");
	char want[200];

	if (s->type == PSSH_EV_EXIT || named_version_is_here(way)) {
		ends(s, "exit 0", "%s: libssh2 %s has it", line, libssh2_version(0));
	} else {
		ends(s, "PSSH_EALGORITHM", "%s", line);
		snprintf(want, sizeof want, "no %s in common with 'h' (SSH-2.0-", kind);
		has_str(s->text, want, "%s: the kind and the server", line);
		snprintf(want, sizeof want, "it offers %s", theirs);
		has_str(s->text, want, "%s: what it offers", line);
		has_str(s->text, ours, "%s: what we offer", line);
		check_way(s->text, there, way, line);
	}
	drive_end(&d, line);
}

static void check_kinds(void)
{
	struct seen *s;
	bool there;

	try_server("Ciphers=chacha20-poly1305@openssh.com", "cipher", "chacha20-poly1305@openssh.com, libssh2 ",
		"aes128-ctr", "; libssh2 1.11.1 has chacha20-poly1305@openssh.com");
	try_server("Ciphers=aes256-gcm@openssh.com", "cipher", "aes256-gcm@openssh.com, libssh2 ", "aes128-ctr",
		"; libssh2 1.11 has aes256-gcm@openssh.com");
	try_server("Ciphers=aes128-cbc", "cipher", "aes128-cbc, libssh2 ", "aes128-ctr",
		"; 'Ciphers +aes128-cbc' in ssh_config permits that");
	try_server("MACs=hmac-sha2-256-etm@openssh.com", "MAC", "hmac-sha2-256-etm@openssh.com, libssh2 ",
		"hmac-sha2-256", "; libssh2 1.11 has hmac-sha2-256-etm@openssh.com");
	try_server("KexAlgorithms=sntrup761x25519-sha512@openssh.com", "key exchange",
		"sntrup761x25519-sha512@openssh.com, libssh2 ", "curve25519-sha256", "");
	try_server("KexAlgorithms=diffie-hellman-group14-sha1", "key exchange", "diffie-hellman-group14-sha1, libssh2 ",
		"curve25519-sha256", "; 'KexAlgorithms +diffie-hellman-group14-sha1' in ssh_config permits that");
	try_server("HostKeyAlgorithms=rsa-sha2-512", "host key algorithm", "rsa-sha2-512, libssh2 ", "ssh-ed25519",
		"; libssh2 1.11 has rsa-sha2-512");
	there = has("HostKeyAlgorithms=ssh-rsa", PSSH_ALG_HOSTKEY, "ssh-rsa");
	s = once(&d, restricted("HostKeyAlgorithms=ssh-rsa"), "true");
	ends(s, "PSSH_EALGORITHM", "RSA by SHA-1 is not taken unasked");
	check_way(s->text, there, "'HostKeyAlgorithms +ssh-rsa' in ssh_config permits that", "ssh-rsa");
	drive_end(&d, "ssh-rsa");
}

static void check_several(void)
{
	struct pssh_host *h;
	struct seen *s;

	h = restricted("Ciphers=aes128-ctr' -o 'MACs=hmac-sha2-512");
	pssh_set_algorithms(d.p, PSSH_ALG_CIPHER, "aes256-ctr");
	pssh_set_algorithms(d.p, PSSH_ALG_MAC, "hmac-sha2-256");
	s = once(&d, h, "true");
	ends(s, "PSSH_EALGORITHM", "two kinds at once");
	has_str(s->text, "no cipher in common with 'h'", "the first");
	has_str(s->text, "; no MAC either: it offers hmac-sha2-512, libssh2 ", "and the second are told");
	drive_end(&d, "two kinds");

	h = restricted("Ciphers=aes128-ctr' -o 'MACs=hmac-sha2-512");
	pssh_set_algorithms(d.p, PSSH_ALG_CIPHER, "aes256-ctr,aes256-gcm@openssh.com"); /* in libssh2 1.11 */
	pssh_set_algorithms(d.p, PSSH_ALG_MAC, "hmac-sha2-256");
	s = once(&d, h, "true");
	has_str(s->text, "; no MAC either: ", "a cipher that would need none, and that they have not, hides no MAC");
	drive_end(&d, "a sealed cipher");
}

int main(void)
{
	int fds;

	plan_none;
	fds = count_fds();
	check_kinds();
	check_several();
	is_int(count_fds(), fds, "no descriptor is left");
	return done();
}
