/* SPDX-License-Identifier: Apache-2.0 */
/* pssh_host_facts(): what a connection cost and what it agreed on. */
#include "drive.h"

static struct drive d;

static struct pssh_facts facts_of(const struct pssh_host *h)
{
	struct pssh_facts f;

	memset(&f, 0xff, sizeof f);
	if (pssh_host_facts(h, &f, sizeof f) != 0)
		diag("%s", pssh_error(d.p));
	return f;
}

static void check_before(struct pssh_host *h)
{
	struct pssh_facts f;

	memset(&f, 0xff, sizeof f);
	is_int(pssh_host_facts(h, &f, 8), PSSH_ENOENT, "a program that knows less of it");
	ok(f.connect_ms == 0 && f.handshake_ms == UINT32_MAX, "is told no more than it knows");
	is_int(pssh_host_facts(h, &f, sizeof f), PSSH_ENOENT, "before the first connection nothing is known");
	is_str(f.kex, "", "no algorithm");
	is_int((long long)f.bytes_in, 0, "no bytes");
}

static void check_ready(struct pssh_host *h)
{
	struct pssh_facts f, g;

	pssh_set_algorithms(d.p, PSSH_ALG_KEX, "ecdh-sha2-nistp256");
	pssh_set_algorithms(d.p, PSSH_ALG_CIPHER, "aes256-ctr");
	pssh_set_algorithms(d.p, PSSH_ALG_MAC, "hmac-sha2-512");
	ends(once(&d, h, "true"), "exit 0", "a command");
	f = facts_of(h);
	is_str(f.kex, "ecdh-sha2-nistp256", "the key exchange");
	is_str(f.hostkey, "ssh-ed25519", "the host key's type");
	is_str(f.cipher, "aes256-ctr", "the cipher");
	is_str(f.mac, "hmac-sha2-512", "the MAC");
	ok(f.bytes_in > 500 && f.bytes_out > 500, "a handshake's bytes each way (%d in, %d out)", (int)f.bytes_in,
		(int)f.bytes_out);

	ends(once(&d, h, "head -c 1000000 /dev/zero"), "exit 0", "a million bytes come");
	g = facts_of(h);
	ok(g.bytes_in - f.bytes_in >= 1000000 && g.bytes_in - f.bytes_in < 1200000, "and are counted (%d)",
		(int)(g.bytes_in - f.bytes_in));
	ok(g.bytes_out - f.bytes_out < 100000, "little went out (%d)", (int)(g.bytes_out - f.bytes_out));
	is_int(g.auth_ms, f.auth_ms, "the phases stand still");
	pssh_host_close(h);
	is_str(facts_of(h).kex, "ecdh-sha2-nistp256", "they are known after the end of the connection");
	is_int((long long)facts_of(h).bytes_in, (long long)g.bytes_in, "with its bytes");
}

/* The time of a slow server is that of its phase alone. */
static void check_phases(void)
{
	struct pssh_host *h = host(&d, "slow");
	char command_line[4096];
	struct pssh_facts f;
	int64_t begin = now_ms();

	snprintf(command_line, sizeof command_line, "sleep 0.5; exec %s", env("SSHD_PROXY"));
	pssh_host_set_proxy(h, command_line);
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	ends(once(&d, h, "true"), "exit 0", "a server that begins late");
	f = facts_of(h);
	ok(f.handshake_ms >= 490, "the handshake took at least as long (%u ms)", f.handshake_ms);
	ok(f.resolve_ms + f.connect_ms + f.handshake_ms + f.auth_ms <= now_ms() - begin + 4,
		"the phases do not overlap (%u %u %u %u)", f.resolve_ms, f.connect_ms, f.handshake_ms, f.auth_ms);
	ok(f.resolve_ms == 0, "no name was looked up (%u ms)", f.resolve_ms);
}

int main(void)
{
	struct pssh_host *h;

	if (!drive_start(&d))
		return 99;
	d.keep = false;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	h = host(&d, "n1");
	check_before(h);
	check_ready(h);
	check_phases();
	drive_end(&d, "facts");
	return done();
}
