/* SPDX-License-Identifier: Apache-2.0 */
/* What the program does and decides itself: signatures, and unknown or changed host keys. decide.t makes the files. */
#include "../lib/tool.h"
#include "drive.h"

static char *read_all(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 65536);

	if (!f || !text) {
		printf("Bail out! cannot read '%s'\n", path);
		exit(99);
	}
	*len = fread(text, 1, 65535, f);
	fclose(f);
	return text;
}

/* Pulls events up to one of this type, which lives until the next call; NULL: there was none. */
static const struct pssh_event *next_of(struct drive *d, enum pssh_event_type type)
{
	int64_t end = now_ms() + DRIVE_PATIENCE_MS;
	const struct pssh_event *ev;

	while (now_ms() < end) {
		if (pssh_wait(d->p, &ev, 1000) != 1)
			continue;
		drive_take(d, ev);
		if (ev->type == type)
			return ev;
		if (ev->type == PSSH_EV_DONE)
			break;
	}
	diag("no event of type %d", (int)type);
	return NULL;
}

static struct pssh_task *begin(struct drive *d, struct pssh_host *h)
{
	struct pssh_task *t = command(d, "exit 7");

	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	return t;
}

/* ---- Signers --------------------------------------------------------------------------- */

static void sign_start(struct drive *d, const char *kind, char *line, size_t room)
{
	char path[64];
	size_t len;
	char *text;

	if (!drive_start(d) || pssh_read_config(d->p, "config") != 0)
		exit(99);
	pssh_set_hostkeys(d->p, PSSH_HOSTKEYS_ACCEPT_NEW);
	snprintf(path, sizeof path, "%s.pub", kind);
	text = read_all(path, &len);
	is_int(pssh_add_signer(d->p, text), 0, "%s: a public key is taken", kind);
	text[strcspn(text, "\n")] = '\0';
	snprintf(line, room, "%s", text);
	free(text);
}

/* What the token does: signs the event's data. */
static char *token_signs(const char *kind, const struct pssh_event *ev, size_t *len)
{
	char pem[64], hash[16], out[16] = "";
	FILE *f = fopen("to-sign", "w");

	snprintf(pem, sizeof pem, "%s.pem", kind);
	snprintf(hash, sizeof hash, "-sha%d", ev->status);
	if (!f || fwrite(ev->data, 1, ev->len, f) != ev->len || fclose(f) != 0)
		exit(99);
	unlink("signature");
	if (strcmp(kind, "ed25519") == 0)
		tool_output(out, "openssl", "pkeyutl", "-sign", "-rawin", "-inkey", pem, "-in", "to-sign", "-out",
			"signature");
	else
		tool_output(out, "openssl", "dgst", hash, "-sign", pem, "-out", "signature", "to-sign");
	return read_all("signature", len);
}

static void check_signer(const char *kind, int hash)
{
	struct drive d;
	struct pssh_host *h;
	struct pssh_task *t;
	const struct pssh_event *ev;
	char line[4096], *sig;
	size_t len;

	sign_start(&d, kind, line, sizeof line);
	h = host(&d, "n1");
	t = begin(&d, h);
	ev = next_of(&d, PSSH_EV_SIGN);
	if (ev) {
		char *known;

		is_int(pssh_host_known(h, &known), 0, "%s: a host that signs in tells what is known of it", kind);
		free(known);
		ok(ev->host == h && *ev->text && strncmp(ev->text, line, strlen(ev->text)) == 0,
			"%s: the event names host and key", kind);
		is_int(ev->status, hash, "%s: and the hash", kind);
		sig = token_signs(kind, ev, &len);
		is_int(pssh_answer(d.p, ev->prompt, "x"), PSSH_EINVAL, "%s: text is no answer", kind);
		is_int(pssh_answer_sign(d.p, ev->prompt, sig, kind[0] == 'r' ? 0 : 5), PSSH_EINVAL,
			"%s: nor is half a signature", kind);
		is_int(pssh_answer_sign(d.p, ev->prompt, sig, len), 0, "%s: the signature is taken", kind);
		is_int(pssh_answer_sign(d.p, ev->prompt, sig, len), PSSH_ENOENT, "%s: once", kind);
		free(sig);
		drive_done(&d, 1);
	}
	ends(drive_seen(&d, t, h), "exit 7", "%s: it signs in", kind);
	drive_end(&d, kind);
}

static void check_declined(void)
{
	struct drive d;
	struct pssh_host *h;
	struct pssh_task *t;
	const struct pssh_event *ev;
	char line[4096], zeros[64] = "";

	sign_start(&d, "ed25519", line, sizeof line);
	is_int(pssh_add_signer(d.p, "no key"), PSSH_ESYNTAX, "what is no key is refused");
	h = host(&d, "n1");
	t = begin(&d, h);
	ev = next_of(&d, PSSH_EV_SIGN);
	is_int(ev ? pssh_answer_sign(d.p, ev->prompt, NULL, 0) : -1, 0, "a program may decline");
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "PSSH_EAUTH", "the host fails");
	has_str(drive_seen(&d, t, h)->text, "'signer key 1' could not sign: the program declined", "and says why");
	t = begin(&d, h);
	ev = next_of(&d, PSSH_EV_SIGN);
	is_int(ev ? pssh_answer_sign(d.p, ev->prompt, zeros, sizeof zeros) : -1, 0, "another key's signature");
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "PSSH_EAUTH", "does not sign in");
	t = begin(&d, h);
	ev = next_of(&d, PSSH_EV_SIGN);
	if (ev) {
		const uint64_t prompt = ev->prompt;

		pssh_host_close(h);
		is_int(pssh_answer_sign(d.p, prompt, zeros, sizeof zeros), PSSH_ENOENT,
			"a host that was closed meanwhile asks no more");
		drive_done(&d, 1);
	}
	ends(drive_seen(&d, t, h), "PSSH_ECLOSED", "and has ended");
	drive_end(&d, "declined");
}

/* ---- Host keys ------------------------------------------------------------------------- */

static struct pssh_host *doubt_start(struct drive *d, const char *known)
{
	if (!drive_start(d) || pssh_read_config(d->p, "config") != 0)
		exit(99);
	pssh_add_identity(d->p, env("SSHD_KEY"));
	pssh_set_hostkeys(d->p, PSSH_HOSTKEYS_ASK);
	pssh_add_known_hosts(d->p, "learnt");
	if (known)
		is_int(pssh_add_known_hosts_text(d->p, known), 0, "known hosts");
	return host(d, "n1");
}

/* Answers the next question about a key. NULL: there was none; else the task. */
static struct pssh_task *judge(struct drive *d, struct pssh_host *h, int status, enum pssh_hostkey_answer answer,
	int want)
{
	struct pssh_task *t = begin(d, h);
	const struct pssh_event *ev = next_of(d, PSSH_EV_HOSTKEY);
	char key[2048];

	if (!ev)
		return t;
	is_int(ev->status, status, "a key in doubt: %s", pssh_errname(ev->status));
	has_str(ev->text, pssh_host_fingerprint(h), "the event's sentence has its fingerprint");
	snprintf(key, sizeof key, "%.*s", (int)ev->len, ev->data);
	is_int(pssh_answer_hostkey(d->p, ev->prompt, answer), want, "the answer is %s", want ? "refused" : "taken");
	if (want)
		is_int(pssh_answer_hostkey(d->p, ev->prompt, PSSH_HOSTKEY_ACCEPT), 0, "the question stays open");
	drive_done(d, 1);
	if (answer != PSSH_HOSTKEY_REFUSE)
		is_str(pssh_host_key(h), key, "the event had the key");
	return t;
}

static bool is_learnt(void)
{
	struct stat st;

	return stat("learnt", &st) == 0 && st.st_size > 0;
}

static void check_unknown(void)
{
	struct drive d;
	struct pssh_host *h = doubt_start(&d, NULL);
	struct pssh_task *t = judge(&d, h, PSSH_EHOSTNEW, PSSH_HOSTKEY_REFUSE, 0);

	ends(drive_seen(&d, t, h), "PSSH_EHOSTNEW", "a refused host fails");
	t = judge(&d, h, PSSH_EHOSTNEW, PSSH_HOSTKEY_ACCEPT, 0);
	ends(drive_seen(&d, t, h), "exit 7", "an accepted one works");
	ok(!is_learnt(), "and is not written down");
	pssh_host_close(h);
	t = judge(&d, h, PSSH_EHOSTNEW, PSSH_HOSTKEY_REMEMBER, 0);
	ends(drive_seen(&d, t, h), "exit 7", "nor remembered: the next connection asks again");
	ok(is_learnt(), "a key to remember is written down");
	pssh_host_close(h);
	is_int(d.prompts, 3, "there were three questions");
	ends(once(&d, h, "exit 4"), "exit 4", "and later connections do not ask");
	is_int(d.prompts, 3, "at all");
	drive_end(&d, "unknown");
	unlink("learnt");
}

static void check_changed(void)
{
	struct drive d;
	struct pssh_host *h;
	struct pssh_task *t;
	size_t len;
	char line[4096], *key = read_all("ed25519.pub", &len);
	const char *names = "n1,*";

	snprintf(line, sizeof line, "%s %.3000s\n", names, key);
	h = doubt_start(&d, line);
	t = judge(&d, h, PSSH_EHOSTKEY, PSSH_HOSTKEY_REFUSE, 0);
	ends(drive_seen(&d, t, h), "PSSH_EHOSTKEY", "a changed key is refused");
	t = judge(&d, h, PSSH_EHOSTKEY, PSSH_HOSTKEY_REMEMBER, PSSH_EINVAL);
	ends(drive_seen(&d, t, h), "exit 7", "or accepted for one connection");
	ok(!is_learnt(), "and never written down");
	pssh_host_pin(h, "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
	pssh_host_close(h);
	ends(once(&d, h, "true"), "PSSH_EHOSTKEY", "a host with a pin is not asked about");
	is_int(d.prompts, 2, "as the pin decides");
	drive_end(&d, "changed");
	free(key);
}

int main(void)
{
	plan_none;
	check_signer("ed25519", 0);
	check_signer("rsa", 512);
	check_signer("ecdsa", 256);
	check_declined();
	check_unknown();
	check_changed();
	return done();
}
