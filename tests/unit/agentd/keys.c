/* SPDX-License-Identifier: Apache-2.0 */
/* User data of buyers: which keys are installed, which are refused and why, and that nothing is dropped silently. */
#include "../../lib/tap.h"

#include "agentd/keyline.h"
#include "agentd/userdata.h"

#define ED25519 "AAAAC3NzaC1lZDI1NTE5AAAAICVXh6I8bGpbdwe6v7kAUSTOhAbgF6r7CXvA8Em+6T96"
#define ECDSA \
	"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBOuxy9O1G/IZHysO0VKsHrMGZDsTjbIovc3aqKB2fMFo/" \
	"arYI2gVcwR4ksAqvjD52W9zib+P/kccaFPy1Wu5s0w="

static void taken(const char *line, const char *want, const char *what)
{
	struct fail f = { 0 };
	struct buf out;

	buf_init(&out, 1 << 16);
	is_int(keyline_add(line, strlen(line), &out, &f), 0, "%s", what);
	is_str(buf_text(&out), want, "%s: as it is written down", what);
	buf_release(&out);
}

static void refused(const char *line, size_t len, const char *why, const char *what)
{
	struct fail f = { 0 };
	struct buf out;

	buf_init(&out, 1 << 16);
	ok(keyline_add(line, len, &out, &f) < 0 && out.len == 0, "refused: %s", what);
	has_str(f.text, why, "%s: it says why", what);
	buf_release(&out);
}

#define REFUSED(line, why, what) refused(line, strlen(line), why, what)

static void lines(void)
{
	taken("ssh-ed25519 " ED25519 " me@home", "ssh-ed25519 " ED25519 " me@home\n", "ed25519");
	taken("  ssh-ed25519 \t" ED25519 "\r\n", "ssh-ed25519 " ED25519 "\n", "blanks around it");
	taken("ecdsa-sha2-nistp256 " ECDSA, "ecdsa-sha2-nistp256 " ECDSA "\n", "ecdsa");
	REFUSED("command=\"id\" ssh-ed25519 " ED25519, "options", "an option");
	REFUSED("no-pty,from=\"*\" ssh-ed25519 " ED25519, "options", "options");
	REFUSED("ssh-ed25519 " ED25519 " a\nssh-ed25519 " ED25519, "newline", "two lines in one");
	REFUSED("ssh-ed25519 " ED25519 " a\x1b[2J", "control", "a character that moves a terminal");
	refused("ssh-ed25519 " ED25519 " a\0b", 12 + sizeof ED25519 + 3, "control", "a NUL");
	REFUSED("ssh-dss AAAAB3NzaC1kc3M=", "key type", "DSA");
	REFUSED("ssh-ed25519-cert-v01@openssh.com AAAA", "key type", "a certificate");
	REFUSED("ssh-ed25519 " ECDSA, "not such a key", "one type's key under another's name");
	REFUSED("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA==", "not such a key", "a key that is cut off");
	REFUSED("ssh-ed25519 !!!!", "not such a key", "no base64");
	REFUSED("ssh-ed25519", "not such a key", "nothing after the type");
	REFUSED("-----BEGIN OPENSSH PRIVATE KEY-----", "PRIVATE", "a private key");
	REFUSED("", "not a public key", "nothing");
	REFUSED("hello world", "key type", "words");
}

static void read_text(const char *text, struct userdata *u)
{
	userdata_read(text, strlen(text), u);
}

static void documents(void)
{
	struct userdata u;

	read_text("#cloud-config\nssh_authorized_keys:\n  - ssh-ed25519 " ED25519 " a\n  - ecdsa-sha2-nistp256 " ECDSA
		  "\n",
		&u);
	ok(u.key_count == 2 && !u.refused && !u.notes.len && !u.script.len, "two keys");
	is_str(buf_text(&u.keys), "ssh-ed25519 " ED25519 " a\necdsa-sha2-nistp256 " ECDSA "\n", "one a line");
	userdata_release(&u);

	read_text("#cloud-config\nssh_authorized_keys:\n  - command=\"x\" ssh-ed25519 " ED25519
		  "\n  - ssh-ed25519 " ED25519 "\n  - \"ssh-ed25519 " ED25519 "\\nssh-ed25519 AAAA\"\n",
		&u);
	ok(u.key_count == 1 && u.refused == 2, "bad ones are refused, and the good one is taken");
	has_str(buf_text(&u.notes), "key 1 is refused: options", "the first is named");
	has_str(buf_text(&u.notes), "key 3 is refused: it contains a newline", "and the one with a newline in it");
	userdata_release(&u);

	read_text("#cloud-config\npackages: [vim]\nssh_authorized_keys: []\nwrite_files: []\n", &u);
	has_str(buf_text(&u.notes), "'packages' is not supported", "what is not known is named");
	has_str(buf_text(&u.notes), "'write_files' is not supported", "all of it");
	userdata_release(&u);

	read_text("#cloud-config\nruncmd:\n  - echo hello > /tmp/x\n  - [touch, \"/tmp/a b\"]\n", &u);
	is_str(buf_text(&u.script), "#!/bin/sh\necho hello > /tmp/x\ntouch '/tmp/a b'\n", "runcmd becomes a script");
	userdata_release(&u);

	read_text("#!/bin/sh\necho hi\n", &u);
	is_str(buf_text(&u.script), "#!/bin/sh\necho hi\n", "a script is taken as it is");
	ok(!u.keys.len && !u.notes.len, "and nothing else");
	userdata_release(&u);

	read_text("#cloud-config\nssh_authorized_keys: &a [b]\n", &u);
	ok(u.refused && u.notes.len, "YAML that is not taken is said");
	userdata_release(&u);
	read_text("ssh-ed25519 " ED25519, &u);
	has_str(buf_text(&u.notes), "neither", "what is neither is said");
	userdata_release(&u);
	userdata_read("\x1f\x8b\b\0", 4, &u);
	has_str(buf_text(&u.notes), "is not text", "so is what is packed");
	userdata_release(&u);
	userdata_read("", 0, &u);
	ok(!u.keys.len && !u.notes.len && !u.refused, "nothing is nothing");
	userdata_release(&u);
	read_text("#cloud-config\n\"a\x1b[2Jb\": 1\n", &u);
	lacks_str(buf_text(&u.notes), "\x1b", "notes hold nothing that moves a terminal");
	userdata_release(&u);
}

int main(void)
{
	lines();
	documents();
	return done();
}
