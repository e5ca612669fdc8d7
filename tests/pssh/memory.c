/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and known hosts that are in no file. The files here are made by memory.t. */
#include "drive.h"

static char *load(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 65536);

	if (!f || !text || !fread(text, 1, 65535, f))
		exit(99);
	fclose(f);
	return text;
}

static void start(struct drive *d)
{
	if (!drive_start(d) || pssh_read_config(d->p, "config") != 0)
		exit(99);
}

static void check_known(char *lines, const char *key)
{
	struct drive d;
	char two[65536 + 64];

	start(&d);
	is_int(pssh_add_key(d.p, key, strlen(key), NULL), 0, "a key");
	ends(once(&d, host(&d, "n1"), "true"), "PSSH_EHOSTNEW", "no host is known at first");
	snprintf(two, sizeof two, "%s\nn1 ssh-ed25519 broken\n", lines);
	is_int(pssh_add_known_hosts_text(d.p, two), PSSH_ESYNTAX, "a broken line is refused");
	has_str(pssh_error(d.p), "line:", "and named");
	ends(once(&d, host(&d, "n1"), "true"), "PSSH_EHOSTNEW", "with the lines beside it");
	is_int(pssh_add_known_hosts_text(d.p, lines), 0, "good lines");
	ends(once(&d, host(&d, "n1"), "exit 3"), "exit 3", "count for a host that was refused before");
	ends(once(&d, host(&d, "n2"), "exit 4"), "exit 4", "and for a new one");
	drive_end(&d, "known hosts");
}

static void check_keys(const char *lines, const char *key, const char *locked)
{
	struct drive d;

	start(&d);
	pssh_add_known_hosts_text(d.p, lines);
	ends(once(&d, host(&d, "n1"), "true"), "PSSH_EAUTH", "without a key nothing works");
	is_int(pssh_add_key(d.p, lines, strlen(lines), NULL) < 0, 1, "what is no key is refused");
	is_int(pssh_add_key(d.p, locked, strlen(locked), "wrong"), PSSH_EPASSPHRASE, "a wrong passphrase, too");
	has_str(pssh_error(d.p), "memory key 1", "the sentence names the key");
	is_int(pssh_add_key(d.p, locked, strlen(locked), "open sesame"), 0, "the right one opens it");
	ends(once(&d, host(&d, "n1"), "exit 5"), "exit 5", "and it signs in");
	drive_end(&d, "a locked key");

	start(&d);
	pssh_add_known_hosts_text(d.p, lines);
	pssh_set_prompts(d.p, 1);
	d.answer = "open sesame";
	is_int(pssh_add_key(d.p, locked, strlen(locked), NULL), 0, "a locked key without its passphrase");
	ends(once(&d, host(&d, "n2"), "exit 6"), "exit 6", "signs in");
	is_int(d.prompts, 1, "after a question");
	has_str(d.question, "'memory key 1'", "which names it");
	is_int(pssh_add_key(d.p, key, strlen(key), NULL), 0, "a second key");
	is_str(pssh_host_identity(host(&d, "n2"), 1), "memory key 2", "has the next number");
	drive_end(&d, "prompts");
}

int main(void)
{
	char *lines = load(env("SSHD_KNOWN")), *key = load(env("SSHD_KEY")), *locked = load("locked");

	check_known(lines, key);
	check_keys(lines, key, locked);
	free(lines);
	free(key);
	free(locked);
	return done();
}
