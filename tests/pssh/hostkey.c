/* SPDX-License-Identifier: Apache-2.0 */
/* Host keys: pins, files of known hosts, and learning new keys. */
#include "../lib/tool.h"
#include <libssh2.h>

#include "drive.h"

static struct drive d;

/* The server's public keys by kind, as "type base64". */
static const char *key_of(const char *kind)
{
	static char lines[4][2048]; /* one for each of a few calls in one expression */
	static unsigned turn;
	char path[600], *space, *line = lines[turn++ % 4];
	FILE *f;

	snprintf(path, sizeof path, "%.500s/%.40s.pub", env("KEYS"), kind);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof *lines, f)) {
		printf("Bail out! no '%s'\n", path);
		exit(99);
	}
	fclose(f);
	space = strchr(strchr(line, ' ') + 1, ' ');
	if (space)
		*space = '\0';
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static const char *fingerprint_of(const char *kind)
{
	static char outs[4][400];
	static unsigned turn;
	char path[600], (*out)[400] = &outs[turn++ % 4], *word;

	snprintf(path, sizeof path, "%.500s/%.40s.pub", env("KEYS"), kind);
	tool_output(*out, "ssh-keygen", "-l", "-E", "sha256", "-f", path);
	word = strstr(*out, "SHA256:");
	if (!word)
		return "";
	word[strcspn(word, " ")] = '\0';
	return word;
}

/* A fleet without known hosts, and a host of the server. */
static struct pssh_host *fresh(void)
{
	struct pssh_host *h;
	char address[64];

	drive_start(&d);
	pssh_add_identity(d.p, env("SSHD_KEY"));
	snprintf(address, sizeof address, "%.40s.1", env("SSHD_NET"));
	h = host(&d, address);
	pssh_host_set_port(h, (unsigned)strtoul(env("SSHD_PORT"), NULL, 10));
	return h;
}

static const char *name_in_file(void)
{
	static char name[80];

	snprintf(name, sizeof name, "[%.40s.1]:%.10s", env("SSHD_NET"), env("SSHD_PORT"));
	return name;
}

static void write_known(const char *path, const char *mark, const char *name, const char *key)
{
	char text[4096];
	int n = snprintf(text, sizeof text, "# known\n\nother.example %s\n%s%s %s\n", key_of("stranger"), mark, name,
		key);

	if (!tool_write(path, text, (size_t)n, 0600))
		exit(99);
}

static char *slurp(const char *path)
{
	static char text[8192];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* libssh2 before 1.11 cannot check an rsa key by SHA-2, and sshd shows it no other way. */
static bool checks_rsa(void)
{
	return libssh2_version(0x010b00) != NULL;
}

static void rsa_was_shown(struct pssh_host *h, const char *what)
{
	ends(&d.seen[0], "exit 0", "%s", what);
	is_str(pssh_host_fingerprint(h), fingerprint_of("rsa"), "%s: it is what the server shows", what);
}

static void check_pins(void)
{
	struct pssh_host *h = fresh();
	struct seen *s;

	pssh_host_pin(h, key_of("ed25519"));
	ends(once(&d, h, "true"), "exit 0", "a pinned key");
	is_str(pssh_host_fingerprint(h), fingerprint_of("ed25519"), "the host tells its fingerprint");
	drive_end(&d, "pin");
	h = fresh();
	pssh_host_pin(h, fingerprint_of("ed25519"));
	ends(once(&d, h, "true"), "exit 0", "a pinned fingerprint");
	drive_end(&d, "fingerprint");
	h = fresh();
	pssh_host_pin(h, key_of("stranger"));
	pssh_host_pin(h, key_of("ed25519"));
	ends(once(&d, h, "true"), "exit 0", "the second of two pins");
	drive_end(&d, "two pins");
	h = fresh();
	pssh_host_pin(h, key_of("ecdsa"));
	ends(once(&d, h, "true"), "exit 0",
		"the pinned one of several keys that the server has is what it is asked for");
	is_str(pssh_host_fingerprint(h), fingerprint_of("ecdsa"), "and what it shows");
	drive_end(&d, "ecdsa pin");
	h = fresh();
	pssh_host_pin(h, key_of("rsa"));
	s = once(&d, h, "true");
	if (checks_rsa())
		rsa_was_shown(h, "a pinned rsa key");
	else
		has_str(s->text, "pin the ed25519 key", "a pinned rsa key that libssh2 cannot check");
	drive_end(&d, "rsa pin");
	h = fresh();
	pssh_host_pin(h, key_of("stranger"));
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	ends(s = once(&d, h, "true"), "PSSH_EHOSTKEY", "another key than the pinned one");
	has_str(s->text, fingerprint_of("stranger"), "the sentence has the known fingerprint");
	has_str(s->text, fingerprint_of("ed25519"), "and the shown one");
	is_int(s->retries, 0, "it is not tried again");
	drive_end(&d, "wrong pin");
}

static void try_known(const char *what, const char *want, const char *kind)
{
	struct pssh_host *h = fresh();

	pssh_add_known_hosts(d.p, "known");
	ends(once(&d, h, "true"), want, "%s", what);
	if (kind)
		is_str(pssh_host_fingerprint(h), fingerprint_of(kind), "%s: it is the %s key", what, kind);
}

static void check_files(void)
{
	struct pssh_host *h;
	char pattern[80];

	write_known("known", "", name_in_file(), key_of("ed25519"));
	try_known("a name with its port", "exit 0", "ed25519");
	drive_end(&d, "port");
	tool_run("ssh-keygen", "-q", "-H", "-f", "known");
	ok(strstr(slurp("known"), "|1|") && !strstr(slurp("known"), name_in_file()), "the file is hashed");
	try_known("a hashed name", "exit 0", "ed25519");
	drive_end(&d, "hashed");
	snprintf(pattern, sizeof pattern, "[%.30s.?]:%.8s", env("SSHD_NET"), env("SSHD_PORT"));
	write_known("known", "", pattern, key_of("ed25519"));
	try_known("a pattern", "exit 0", "ed25519");
	drive_end(&d, "pattern");
	write_known("known", "", name_in_file(), key_of("ecdsa"));
	try_known("only an ecdsa key is known", "exit 0", "ecdsa");
	drive_end(&d, "ecdsa");
	write_known("known", "", name_in_file(), key_of("rsa"));
	h = fresh();
	pssh_add_known_hosts(d.p, "known");
	once(&d, h, "true");
	if (checks_rsa())
		rsa_was_shown(h, "only an rsa key is known");
	else
		has_str(d.seen[0].text, "ssh -o UpdateHostKeys=yes -p ",
			"only an rsa key is known: the sentence has the way out");
	drive_end(&d, "rsa");
	write_known("known", "@revoked ", name_in_file(), key_of("ed25519"));
	try_known("a revoked key", "PSSH_EREVOKED", NULL);
	drive_end(&d, "revoked");
	write_known("known", "", name_in_file(), key_of("stranger"));
	try_known("another key than the known one", "PSSH_EHOSTKEY", NULL);
	has_str(d.seen[0].text, "known:4", "the sentence names file and line");
	has_str(d.seen[0].text, name_in_file(), "and the name that is in it");
	has_str(d.seen[0].text, fingerprint_of("stranger"), "the known fingerprint");
	has_str(d.seen[0].text, fingerprint_of("ed25519"), "and the shown one");
	drive_end(&d, "mismatch");
	write_known("known", "", "elsewhere.example", key_of("ed25519"));
	try_known("a host that is not known", "PSSH_EHOSTNEW", NULL);
	has_str(d.seen[0].text, fingerprint_of("ed25519"), "the sentence has its fingerprint");
	drive_end(&d, "unknown");
}

static void check_learning(void)
{
	struct pssh_host *h;
	struct pssh_task *t;
	char before[8192];

	unlink("new");
	h = fresh();
	pssh_add_known_hosts(d.p, "new");
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	ends(once(&d, h, "true"), "exit 0", "a new host is taken where that is wanted");
	has_str(slurp("new"), name_in_file(), "and written down");
	has_str(slurp("new"), key_of("ed25519"), "with its key");
	pssh_host_close(h);
	ends(once(&d, h, "true"), "exit 0", "the next time it is known");
	is_int(lines_of(slurp("new")), 1, "and not written down again");
	drive_end(&d, "accept new");
	h = fresh();
	pssh_add_known_hosts(d.p, "new");
	ends(once(&d, h, "true"), "exit 0", "nor is it new to a strict fleet");
	drive_end(&d, "strict after");

	write_known("known", "", name_in_file(), key_of("stranger"));
	snprintf(before, sizeof before, "%s", slurp("known"));
	h = fresh();
	pssh_add_known_hosts(d.p, "known");
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	ends(once(&d, h, "true"), "PSSH_EHOSTKEY", "a changed key is never taken");
	is_str(slurp("known"), before, "and nothing is written");
	drive_end(&d, "changed");

	h = fresh();
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	ends(once(&d, h, "true"), "exit 0", "without a file it is taken for this fleet");
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_STRICT);
	pssh_host_close(h);
	ends(once(&d, h, "true"), "exit 0", "and remembered by it");
	drive_end(&d, "no file");

	unlink("new");
	h = fresh();
	t = command(&d, "true");
	pssh_add_known_hosts(d.p, "new");
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	pssh_task_add(t, h);
	for (char address[64] = "", i = '2'; i <= '4'; i++) {
		struct pssh_host *more;

		snprintf(address, sizeof address, "%.40s.%c", env("SSHD_NET"), i);
		more = host(&d, address);
		pssh_host_set_port(more, (unsigned)strtoul(env("SSHD_PORT"), NULL, 10));
		pssh_task_add(t, more);
	}
	pssh_task_start(t);
	drive_done(&d, 1);
	is_int(lines_of(slurp("new")), 4, "four new hosts at once: four lines");
	drive_end(&d, "four new");
}

int main(void)
{
	int fds;

	plan_none;
	fds = count_fds();
	check_pins();
	check_files();
	check_learning();
	is_int(count_fds(), fds, "no descriptor is left");
	return done();
}
