/* SPDX-License-Identifier: Apache-2.0 */
/* Known hosts, compared with what ssh-keygen says about the same file. */
#include "pssh/known/knownhosts.h"

#include <signal.h>
#include <sys/resource.h>

#include "../../lib/tap.h"
#include "../../lib/tool.h"
#include "base/buf.h"
#include "pssh/known/hosthash.h"
#include "pssh/pssh.h"

static const char *const answers[] = { "match", "mismatch", "unknown", "revoked", "authority only" };

/* Four host keys: text "type base64", and blob. */
enum { ED, ED2, EC, RSA, KEYS };

static struct sample {
	const char *kind, *bits, *file;
	char text[1024], fingerprint[128];
	uint8_t *blob;
	size_t len;
} keys[KEYS] = {
	{ .kind = "ed25519", .bits = "256", .file = "k1" }, { .kind = "ed25519", .bits = "256", .file = "k2" },
	{ .kind = "ecdsa", .bits = "256", .file = "k3" }, { .kind = "rsa", .bits = "2048", .file = "k4" },
};

static bool make_keys(void)
{
	for (int i = 0; i < KEYS; i++) {
		struct sample *s = &keys[i];
		struct knownhosts_pin pin;
		char pub[32], line[256] = "";
		struct buf b;

		snprintf(pub, sizeof pub, "%s.pub", s->file);
		if (tool_run("ssh-keygen", "-q", "-t", s->kind, "-b", s->bits, "-N", "", "-C", "", "-f", s->file) != 0)
			return false;
		buf_init(&b, 4096);
		buf_read_file(&b, pub);
		snprintf(s->text, sizeof s->text, "%.*s", (int)strcspn(buf_text(&b), "\n"), buf_text(&b));
		s->text[strlen(s->text) - (s->text[strlen(s->text) - 1] == ' ')] = '\0';
		buf_release(&b);
		if (tool_output(line, "ssh-keygen", "-l", "-f", pub) != 0 ||
		    sscanf(line, "%*d %127s", s->fingerprint) != 1 || knownhosts_pin_parse(s->text, &pin, NULL) != 0)
			return false;
		s->blob = pin.blob;
		s->len = pin.len;
	}
	return true;
}

static struct knownhosts *parse(const char *text)
{
	struct knownhosts *k = NULL;

	ok(knownhosts_new(&k) == 0 && knownhosts_parse(k, text, strlen(text), "kh") == 0, "a text is read");
	return k;
}

static void is_answer(struct knownhosts *k, const char *host, unsigned port, int key, enum knownhosts_answer want,
	unsigned line)
{
	struct knownhosts_found found = { 0 };

	is_int(knownhosts_check(k, host, port, keys[key].blob, keys[key].len, &found), 0, "'%s' port %u is looked up",
		host, port);
	is_str(answers[found.answer], answers[want], "it is a %s", answers[want]);
	is_int(found.line, line, "by line %u", line);
}

/* @1 … @4 stand for the keys. */
static char *fill(const char *text)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	for (; *text; text++) {
		if (*text == '@' && text[1] >= '1' && text[1] <= '4')
			buf_adds(&b, keys[*++text - '1'].text);
		else
			buf_addc(&b, *text);
	}
	return buf_steal(&b);
}

static void test_names(void)
{
	char *text = fill(
		"# a comment\n"
		"\n"
		"plain @1\n"
		"one,Two,[three]:2222 @1 and a comment\r\n"
		"\t*.wild.example,!not.wild.example @1\n"
		"10.0.?.1 @3\n"
		"[*.wild.example]:2200 @2\n"
		"multi @1\n"
		"multi @3\n"
		"multi @4\n"
		"[ported]:22 @1\n"
		"fe80::1 @1\n");
	struct knownhosts *k = parse(text);
	const char *first = "";
	size_t broken = knownhosts_broken(k, &first);

	is_int(broken, 0, "no line is broken %s", first);
	is_int(knownhosts_count(k), 10, "ten lines");
	is_answer(k, "plain", 22, ED, KNOWNHOSTS_MATCH, 3);
	is_answer(k, "PLAIN", 0, ED, KNOWNHOSTS_MATCH, 3);
	is_answer(k, "plain", 22, ED2, KNOWNHOSTS_MISMATCH, 3);
	is_answer(k, "plain", 22, EC, KNOWNHOSTS_MISMATCH, 3);
	is_answer(k, "plai", 22, ED, KNOWNHOSTS_UNKNOWN, 0);
	is_answer(k, "two", 22, ED, KNOWNHOSTS_MATCH, 4);
	is_answer(k, "three", 22, ED, KNOWNHOSTS_UNKNOWN, 0);
	is_answer(k, "three", 2222, ED, KNOWNHOSTS_MATCH, 4);
	is_answer(k, "a.wild.example", 22, ED, KNOWNHOSTS_MATCH, 5);
	is_answer(k, "not.wild.example", 22, ED, KNOWNHOSTS_UNKNOWN, 0);
	is_answer(k, "wild.example", 22, ED, KNOWNHOSTS_UNKNOWN, 0);
	is_answer(k, "10.0.7.1", 22, EC, KNOWNHOSTS_MATCH, 6);
	is_answer(k, "10.0.77.1", 22, EC, KNOWNHOSTS_UNKNOWN, 0);
	is_answer(k, "b.wild.example", 2200, ED2, KNOWNHOSTS_MATCH, 7);
	is_answer(k, "b.wild.example", 2200, ED, KNOWNHOSTS_MISMATCH, 7);
	is_answer(k, "multi", 22, RSA, KNOWNHOSTS_MATCH, 10);
	is_answer(k, "multi", 22, ED2, KNOWNHOSTS_MISMATCH, 8);
	is_answer(k, "fe80::1", 22, ED, KNOWNHOSTS_MATCH, 12);
	/* Like ssh: a key known without a port counts for every port, a different one does not. */
	is_answer(k, "plain", 2222, ED, KNOWNHOSTS_MATCH, 3);
	is_answer(k, "plain", 2222, ED2, KNOWNHOSTS_UNKNOWN, 0);
	knownhosts_free(k);
	free(text);
}

static void test_markers(void)
{
	char *text = fill(
		"@revoked * @2\n"
		"host @2\n"
		"host @1\n"
		"@cert-authority *.ca,auth @3\n"
		"@cert-authority both @3\n"
		"both @1\n"
		"@revoked gone @1\n"
		"@revoked [port]:2222 @1\n"
		"port @1\n");
	struct knownhosts *k = parse(text);

	is_answer(k, "host", 22, ED2, KNOWNHOSTS_REVOKED, 1);
	is_answer(k, "nobody", 2222, ED2, KNOWNHOSTS_REVOKED, 1);
	is_answer(k, "host", 22, ED, KNOWNHOSTS_MATCH, 3);
	is_answer(k, "x.ca", 22, ED, KNOWNHOSTS_CA_ONLY, 4);
	is_answer(k, "auth", 22, EC, KNOWNHOSTS_CA_ONLY, 4);
	is_answer(k, "both", 22, ED, KNOWNHOSTS_MATCH, 6);
	is_answer(k, "both", 22, EC, KNOWNHOSTS_MISMATCH, 6);
	is_answer(k, "gone", 22, ED, KNOWNHOSTS_REVOKED, 7);
	is_answer(k, "gone", 22, EC, KNOWNHOSTS_UNKNOWN, 0);
	is_answer(k, "port", 2222, ED, KNOWNHOSTS_REVOKED, 8);
	is_answer(k, "port", 2200, ED, KNOWNHOSTS_MATCH, 9);
	knownhosts_free(k);
	free(text);
}

static void test_broken(void)
{
	char *text = fill(
		"good @1\n"
		"lonely\n"
		"host ssh-ed25519\n"
		"host ssh-ed25519 AAAA\n"
		"host ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHVy\n"
		"host ssh-ed25519 !!!!\n"
		"host ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIICDlZ9uCPu5BYn6yqy5JLgD3b/1vEYMYrBVDyEwHpV8\n"
		"@unknown host @1\n"
		"|1|short|hash @1\n"
		"|2|x|y @1\n"
		"host 1024 35 123456789\n"
		"@revoked\n"
		"last @1");
	struct knownhosts *k = parse(text);
	const char *first;

	is_int(knownhosts_broken(k, &first), 11, "all that is broken is counted");
	is_str(first, "kh:2: the key is missing", "and the first one named");
	is_answer(k, "good", 22, ED, KNOWNHOSTS_MATCH, 1);
	is_answer(k, "host", 22, ED, KNOWNHOSTS_UNKNOWN, 0);
	is_answer(k, "last", 22, ED, KNOWNHOSTS_MATCH, 13);
	knownhosts_free(k);
	free(text);
}

static void test_types(void)
{
	char *text = fill(
		"multi @4\nmulti @1\nmulti @1\n@revoked multi @3\n@cert-authority multi @3\n[multi]:2222 @2\n");
	struct knownhosts *k = parse(text);
	const char *types[8];

	is_int(knownhosts_types(k, "multi", 22, types, 8), 2, "two types are known");
	is_str(types[0], "ssh-rsa", "the first");
	is_str(types[1], "ssh-ed25519", "the second");
	is_int(knownhosts_types(k, "multi", 22, types, 1), 1, "no more than there is room for");
	is_int(knownhosts_types(k, "multi", 2222, types, 8), 1, "on its port only what is there");
	is_int(knownhosts_types(k, "multi", 2200, types, 8), 2, "on another what is known without");
	is_int(knownhosts_types(k, "other", 22, types, 8), 0, "none of a stranger");
	knownhosts_free(k);
	free(text);
}

/* ---- Against ssh-keygen ---------------------------------------------------------------- */

static struct knownhosts *load(const char *path)
{
	struct knownhosts *k = NULL;
	struct fail f = { 0 };

	if (!ok(knownhosts_new(&k) == 0 && knownhosts_add_file(k, path, &f) == 0, "'%s' is read %s", path, f.text))
		exit(1);
	return k;
}

static bool keygen_finds(const char *name, const char *path)
{
	return tool_run("ssh-keygen", "-F", name, "-f", path) == 0;
}

static void test_keygen(void)
{
	static const char *const names[] = { "plain", "one", "two", "x.wild", "[port]:2222", "wild", "none", "port" };
	char *text = fill("plain @1\none,two @1\n*.wild @1\n[port]:2222 @1\n");
	struct knownhosts *plain, *hashed;
	struct knownhosts_found found[2];
	struct buf b;

	tool_write("both", text, strlen(text), 0600);
	tool_write("hashed", text, strlen(text), 0600);
	ok(tool_run("ssh-keygen", "-q", "-H", "-f", "hashed") == 0, "ssh-keygen hashes a file");
	buf_init(&b, 1 << 20);
	buf_read_file(&b, "hashed");
	ok(strncmp(buf_text(&b), "|1|", 3) == 0, "it is hashed");
	buf_release(&b);
	plain = load("both");
	hashed = load("hashed");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char host[64];
		unsigned port = 22;

		if (sscanf(names[i], "[%63[^]]]:%u", host, &port) != 2)
			snprintf(host, sizeof host, "%s", names[i]);
		knownhosts_check(plain, host, port, keys[ED].blob, keys[ED].len, &found[0]);
		knownhosts_check(hashed, host, port, keys[ED].blob, keys[ED].len, &found[1]);
		is_int(found[0].answer == KNOWNHOSTS_MATCH, keygen_finds(names[i], "both"),
			"of '%s' we say what ssh-keygen says", names[i]);
		is_int(found[1].answer == KNOWNHOSTS_MATCH, keygen_finds(names[i], "hashed"), "hashed too");
		knownhosts_check(hashed, host, port, keys[ED].blob, keys[ED].len, &found[0]);
		ok(found[0].answer == found[1].answer, "and again");
	}
	ok(tool_run("ssh-keygen", "-R", "plain", "-f", "hashed") == 0, "ssh-keygen removes one");
	knownhosts_free(hashed);
	hashed = load("hashed");
	is_answer(hashed, "plain", 22, ED, KNOWNHOSTS_UNKNOWN, 0);
	knownhosts_free(plain);
	knownhosts_free(hashed);
	free(text);
}

/* ---- Remembering ----------------------------------------------------------------------- */

static bool file_is(const char *path, const char *want)
{
	struct buf b;
	bool same;

	buf_init(&b, 1 << 20);
	buf_read_file(&b, path);
	same = strcmp(buf_text(&b), want) == 0;
	if (!same)
		diag("it is: %s", buf_text(&b));
	buf_release(&b);
	return same;
}

static int remember(struct knownhosts *k, const char *host, unsigned port, int key, bool hashed, struct fail *f)
{
	return knownhosts_remember(k, host, port, keys[key].blob, keys[key].len, hashed, f);
}

static void test_remember(void)
{
	struct knownhosts *k = load("new/.ssh/known_hosts"), *again;
	struct fail f = { 0 };
	struct stat st;
	char *want;

	mkdir("new", 0755);
	is_int(remember(k, "First", 22, ED, false, &f), 0, "a key is remembered %s", f.text);
	is_answer(k, "first", 22, ED, KNOWNHOSTS_MATCH, 0);
	is_int(remember(k, "first", 22, ED, false, &f), 0, "and once more");
	is_int(remember(k, "second", 2222, EC, false, &f), 0, "another on a port");
	want = fill("first @1\n[second]:2222 @3\n");
	ok(file_is("new/.ssh/known_hosts", want), "the file is as it must be");
	free(want);
	ok(stat("new/.ssh", &st) == 0 && (st.st_mode & 0777) == 0700, "the folder is its owner's");
	ok(stat("new/.ssh/known_hosts", &st) == 0 && (st.st_mode & 0777) == 0600, "the file is its owner's");
	is_int(remember(k, "third", 2222, RSA, true, &f), 0, "a hashed one");
	ok(keygen_finds("[third]:2222", "new/.ssh/known_hosts"), "which ssh-keygen finds");
	ok(tool_run("grep", "-q", "third", "new/.ssh/known_hosts") == 1, "though it cannot be read");
	again = load("new/.ssh/known_hosts");
	is_answer(again, "first", 22, ED, KNOWNHOSTS_MATCH, 1);
	is_answer(again, "second", 2222, EC, KNOWNHOSTS_MATCH, 2);
	is_answer(again, "third", 2222, RSA, KNOWNHOSTS_MATCH, 3);
	knownhosts_free(again);
	knownhosts_free(k);

	want = fill("host @1");
	tool_write("cut", want, strlen(want), 0600);
	free(want);
	k = load("cut");
	is_int(remember(k, "next", 22, ED2, false, &f), 0, "a file whose last line has no end");
	want = fill("host @1\nnext @2\n");
	ok(file_is("cut", want), "gets it");
	free(want);
	knownhosts_free(k);
}

static void test_remember_not(void)
{
	static const char *const names[] = { "", "a b", "a,b", "a*", "a?", "!a", "|1|x", "a\nb", "#a", "@a" };
	struct knownhosts *k = NULL;
	struct fail f = { 0 };

	ok(knownhosts_new(&k) == 0, "without any file");
	is_int(remember(k, "host", 22, ED, false, &f), 0, "a key is remembered all the same");
	is_answer(k, "host", 22, ED, KNOWNHOSTS_MATCH, 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		is_int(remember(k, names[i], 22, ED, false, &f), PSSH_EINVAL, "not for the name '%s'", names[i]);
	is_int(knownhosts_remember(k, "host", 22, (const uint8_t *)"x", 1, false, &f), PSSH_EINVAL,
		"nor what is no key");
	knownhosts_free(k);

	k = load("no/such/folder/known_hosts");
	is_int(remember(k, "host", 22, ED, false, &f), PSSH_ELOCAL, "a file that cannot be written");
	has_str(f.text, "'no/such/folder/known_hosts'", "is named");
	is_answer(k, "host", 22, ED, KNOWNHOSTS_MATCH, 0);
	knownhosts_free(k);

	k = load("/dev/null");
	is_int(remember(k, "host", 22, ED, false, &f), 0, "/dev/null takes all");
	knownhosts_free(k);
	k = NULL;
	mkfifo("pipe", 0600);
	ok(knownhosts_new(&k) == 0, "a pipe");
	is_int(knownhosts_add_file(k, "pipe", &f), PSSH_ELOCAL, "is no file of known hosts");
	is_int(knownhosts_add_file(k, ".", &f), PSSH_ELOCAL, "nor is a folder");
	knownhosts_free(k);
}

/* A disk that fills up in the middle of a line. */
static void test_full_disk(void)
{
	char *text = fill("host @1\n");
	struct rlimit limit = { .rlim_cur = strlen(text) + 30, .rlim_max = RLIM_INFINITY };
	struct fail f = { 0 };
	int status = -1;
	pid_t pid;

	tool_write("full", text, strlen(text), 0600);
	pid = fork();
	if (pid == 0) {
		struct knownhosts *k = NULL;
		int rc;

		signal(SIGXFSZ, SIG_IGN);
		if (knownhosts_new(&k) != 0 || knownhosts_add_file(k, "full", &f) != 0 ||
			setrlimit(RLIMIT_FSIZE, &limit) != 0)
			_exit(2);
		rc = remember(k, "next", 22, ED2, false, &f);
		knownhosts_free(k);
		_exit(rc == PSSH_ELOCAL ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "half a line cannot be written");
	ok(file_is("full", text), "and is taken back");
	free(text);
}

/* Several processes that append at once. */
static void test_crowd(void)
{
	enum { PROCESSES = 8, EACH = 50 };
	struct knownhosts *k;
	size_t missing = 0, broken;
	const char *first = "";

	tool_write("crowd", "", 0, 0600);
	for (int p = 0; p < PROCESSES; p++) {
		if (fork() != 0)
			continue;
		knownhosts_new(&k);
		knownhosts_add_file(k, "crowd", NULL);
		for (int i = 0; i < EACH; i++) {
			char host[32];

			snprintf(host, sizeof host, "p%d-%d", p, i);
			remember(k, host, 22, i % KEYS, i % 2, NULL);
		}
		knownhosts_free(k);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	k = load("crowd");
	broken = knownhosts_broken(k, &first);
	is_int(broken, 0, "%d processes that write at once break no line %s", PROCESSES, first);
	is_int(knownhosts_count(k), PROCESSES * EACH, "and lose none");
	for (int p = 0; p < PROCESSES; p++) {
		for (int i = 0; i < EACH; i++) {
			struct knownhosts_found found;
			char host[32];

			snprintf(host, sizeof host, "p%d-%d", p, i);
			knownhosts_check(k, host, 22, keys[i % KEYS].blob, keys[i % KEYS].len, &found);
			missing += found.answer != KNOWNHOSTS_MATCH;
		}
	}
	is_int(missing, 0, "each is found again");
	knownhosts_free(k);
}

/* ---- Pins ------------------------------------------------------------------------------ */

static void test_pins(void)
{
	static const char *const bad[] = { "", "SHA256:", "SHA256:abc", "MD5:00", "ssh-ed25519", "ssh-ed25519 AAAA",
		"hello there", "SHA256:!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!", "ssh-ed25519 AAAA\nssh-rsa BBBB" };
	struct knownhosts_pin pin;
	struct fail f = { 0 };
	char out[WIRE_FINGERPRINT], text[1200];

	for (int i = 0; i < KEYS; i++) {
		sshwire_fingerprint(keys[i].blob, keys[i].len, out);
		is_str(out, keys[i].fingerprint, "our fingerprint of '%s' is that of ssh-keygen", keys[i].file);
		is_int(knownhosts_pin_parse(keys[i].fingerprint, &pin, &f), 0, "it can be a pin");
		for (int j = 0; j < KEYS; j++)
			is_int(knownhosts_pin_match(&pin, keys[j].blob, keys[j].len), i == j, "which fits key %d: %d",
				j, i == j);
		knownhosts_pin_release(&pin);
		snprintf(text, sizeof text, "%s some comment", keys[i].text);
		is_int(knownhosts_pin_parse(text, &pin, &f), 0, "and so can the key");
		is_str(pin.fingerprint, keys[i].fingerprint, "its fingerprint is there too");
		for (int j = 0; j < KEYS; j++)
			is_int(knownhosts_pin_match(&pin, keys[j].blob, keys[j].len), i == j, "which fits key %d: %d",
				j, i == j);
		knownhosts_pin_release(&pin);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		is_int(knownhosts_pin_parse(bad[i], &pin, &f), PSSH_ESYNTAX, "'%s' is no pin", bad[i]);
}

/* ---- Many ------------------------------------------------------------------------------ */

static void test_many(bool hashed, int64_t limit_ms)
{
	enum { MANY = 10000 };
	struct knownhosts *k = NULL;
	struct buf b;
	size_t wrong = 0;
	int64_t start;

	buf_init(&b, 16 << 20);
	for (int i = 0; i < MANY; i++) {
		char host[32];

		snprintf(host, sizeof host, "node%05d", i);
		if (hashed)
			hosthash_add(&b, host);
		else
			buf_adds(&b, host);
		buf_addf(&b, " %s\n", keys[i % 2].text);
	}
	start = tap_cpu_ms();
	ok(knownhosts_new(&k) == 0 && knownhosts_parse(k, b.data, b.len, "many") == 0, "%d lines are read", MANY);
	diag("in %lld ms", (long long)(tap_cpu_ms() - start));
	start = tap_cpu_ms();
	for (int i = 0; i < MANY; i += hashed ? 20 : 1) {
		struct knownhosts_found found;
		char host[32];

		snprintf(host, sizeof host, "node%05d", i);
		knownhosts_check(k, host, 22, keys[i % 2].blob, keys[i % 2].len, &found);
		wrong += found.answer != KNOWNHOSTS_MATCH || found.line != (unsigned)i + 1;
	}
	start = tap_cpu_ms() - start;
	is_int(wrong, 0, "all that are looked up are found");
	ok(start < limit_ms, "in time");
	diag("%d lookups in %lld ms", hashed ? MANY / 20 : MANY, (long long)start);
	knownhosts_free(k);
	buf_release(&b);
}

int main(void)
{
	plan_none;
	if (!tool_begin() || !make_keys())
		skip_all("ssh-keygen does not work here");
	test_names();
	test_markers();
	test_broken();
	test_types();
	test_keygen();
	test_remember();
	test_remember_not();
	test_full_disk();
	test_crowd();
	test_pins();
	/* Takes milliseconds to a second; allow a hundred times as long for load and sanitizers. */
	test_many(false, 2000);
	test_many(true, 60000);
	for (int i = 0; i < KEYS; i++)
		free(keys[i].blob);
	tool_end();
	return done();
}
