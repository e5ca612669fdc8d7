/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/auth.h"

#include <openssl/crypto.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "pssh/pssh_types.h"

enum { CANDIDATES = 64, ANSWERS = 8, TRIES = 3 };

/* A public key to offer: its private half is in a file or with the agent. */
struct candidate {
	struct key *key;              /* of a file; may be NULL */
	const struct agent_identity *identity;
	const uint8_t *blob;          /* what libssh2 is handed */
	size_t len;
	uint8_t *owned;               /* blob, where it is ours */
};

struct answer {
	char *prompt, *text;          /* text NULL: not known yet */
	bool echo;
};

enum auth_phase { AUTH_GATHER, AUTH_KEYS, AUTH_LIST, AUTH_KBDINT, AUTH_PASSWORD, AUTH_FAILED };

struct auth {
	struct link *link;
	struct keyring *kr;
	struct auth_want want;
	enum auth_phase phase;
	struct candidate candidates[CANDIDATES];
	size_t count, at;
	struct agent_sign_request sign;
	bool signing;
	bool declined;                /* no passphrase will come */
	unsigned wrong;               /* passphrases for this key */
	int sign_rc;                  /* why the last signature was not made */
	struct fail sign_fail;

	const char *methods;          /* what the server offers; libssh2's memory */
	bool can_kbdint, can_password;
	unsigned tries;
	char *password;
	bool password_used;           /* in this attempt of keyboard-interactive */
	struct answer answers[ANSWERS];
	size_t answer_count;
	bool met_unknown;             /* a prompt came that nobody was asked yet */

	enum { ASK_NOTHING, ASK_PASSPHRASE, ASK_PASSWORD, ASK_PROMPT } asking;
	char question[512];
	bool echo;
	struct buf tried, remarks;    /* for the error: what was refused, and what could not be tried */
};

static void auth_note(struct auth *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void auth_remark(struct auth *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What was offered and refused. */
static void auth_note(struct auth *a, const char *fmt, ...)
{
	va_list ap;

	if (a->tried.len)
		buf_adds(&a->tried, ", ");
	va_start(ap, fmt);
	buf_vaddf(&a->tried, fmt, ap);
	va_end(ap);
}

/* What could not be offered, and why. */
static void auth_remark(struct auth *a, const char *fmt, ...)
{
	va_list ap;

	if (a->remarks.len)
		buf_adds(&a->remarks, "; ");
	va_start(ap, fmt);
	buf_vaddf(&a->remarks, fmt, ap);
	va_end(ap);
}

int auth_new(struct link *l, struct keyring *kr, const struct auth_want *want, void *owner, struct auth **out)
{
	struct auth *a = calloc(1, sizeof *a);

	if (!a)
		return PSSH_ENOMEM;
	a->link = l;
	a->kr = kr;
	a->want = *want;
	a->tries = want->tries ? want->tries : TRIES;
	a->sign.owner = owner;
	list_init(&a->sign.link);
	buf_init(&a->tried, 1024);
	buf_init(&a->remarks, 1024);
	l->asker = a;
	*out = a;
	return 0;
}

static void auth_wipe(char **text)
{
	if (*text) {
		OPENSSL_cleanse(*text, strlen(*text));
		free(*text);
		*text = NULL;
	}
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	if (a->signing && a->want.agent)
		agent_sign_abandon(a->want.agent, &a->sign);
	for (size_t i = 0; i < a->count; i++)
		free(a->candidates[i].owned);
	for (size_t i = 0; i < a->answer_count; i++) {
		free(a->answers[i].prompt);
		auth_wipe(&a->answers[i].text);
	}
	auth_wipe(&a->password);
	buf_release(&a->tried);
	buf_release(&a->remarks);
	if (a->link->asker == a)
		a->link->asker = NULL;
	free(a);
}

/* ---- Keys ---- */

static void auth_offer(struct auth *a, struct key *key, const struct agent_identity *id, const uint8_t *blob,
	size_t len, uint8_t *owned)
{
	if (a->count == CANDIDATES) {
		free(owned);
		return;
	}
	a->candidates[a->count++] =
		(struct candidate){ .key = key, .identity = id, .blob = blob, .len = len, .owned = owned };
}

static void offer_identity(struct auth *a, const struct agent_identity *id, struct key *key)
{
	uint8_t *blob;
	size_t len;

	if (key_blob_for_auth(id->blob, id->len, &blob, &len, NULL) == 0)
		auth_offer(a, key, id, blob, len, blob);
}

static bool is_blob(const struct agent_identity *id, const uint8_t *blob, size_t len)
{
	return blob && id->len == len && memcmp(id->blob, blob, len) == 0;
}

static const struct agent_identity *held_by_agent(const struct agent_identity *ids, size_t n, const struct key *key)
{
	size_t len = 0;
	const uint8_t *blob = key_blob(key, &len);

	for (size_t i = 0; i < n; i++)
		if (is_blob(&ids[i], blob, len))
			return &ids[i];
	return NULL;
}

static bool is_offered(const struct auth *a, const struct agent_identity *id)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->candidates[i].identity == id)
			return true;
	return false;
}

static void gather_file(struct auth *a, const char *path, const struct agent_identity *ids, size_t n)
{
	struct fail f = { 0 };
	struct key *key;
	const struct agent_identity *held;
	const uint8_t *blob;
	size_t len;
	int rc = keyring_get(a->kr, path, &key, &f);

	if (rc) {
		if (rc != PSSH_ENOENT)
			auth_remark(a, "%s", f.text);
		return;
	}
	if (*key_cert_note(key))
		auth_remark(a, "the certificate of '%s' is of no use: %s", path, key_cert_note(key));
	blob = key_cert_blob(key, &len);
	held = held_by_agent(ids, n, key);
	if (blob && (held || !key_public_only(key)))
		auth_offer(a, key, held, blob, len, NULL);
	if (held) {
		offer_identity(a, held, key);
		return;
	}
	blob = key_auth_blob(key, &len);
	if (!key_public_only(key))
		auth_offer(a, key, NULL, blob, blob ? len : 0, NULL);
}

/* The order of OpenSSH: named files that the agent holds too, the agent's others, other files. */
static int auth_rank_of(const struct candidate *c)
{
	return !c->identity ? 2 : c->key ? 0 : 1;
}

static void auth_rank(struct candidate *c, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct candidate x = c[i];
		size_t j = i;

		for (; j && auth_rank_of(&c[j - 1]) > auth_rank_of(&x); j--)
			c[j] = c[j - 1];
		c[j] = x;
	}
}

static int auth_gather(struct auth *a)
{
	const struct agent_identity *ids = NULL;
	size_t n = 0;

	if (!a->want.pubkey) {
		a->phase = AUTH_LIST;
		return 0;
	}
	if (a->want.agent) {
		if (agent_state(a->want.agent) == AGENT_ASKING)
			return PSSH_EAGAIN;
		if (agent_state(a->want.agent) == AGENT_LISTED)
			ids = agent_identities(a->want.agent, &n);
		else
			auth_remark(a, "the agent is of no use: %s", agent_error(a->want.agent));
	}
	for (char *const *path = a->want.identities; path && *path; path++)
		gather_file(a, *path, ids, n);
	for (size_t i = 0; i < n && !a->want.identities_only; i++)
		if (!is_offered(a, &ids[i]))
			offer_identity(a, &ids[i], NULL);
	auth_rank(a->candidates, a->count);
	a->phase = AUTH_KEYS;
	return 0;
}

static void auth_ask(struct auth *a, int what, bool echo)
{
	a->asking = what;
	a->echo = echo;
}

static void ask_passphrase(struct auth *a, const struct key *key)
{
	snprintf(a->question, sizeof a->question, "%spassphrase for key '%s': ", a->wrong ? "that was not it; " : "",
		key_path(key));
	auth_ask(a, ASK_PASSPHRASE, false);
}

static int sign_by_agent(struct auth *a, const struct candidate *c, const unsigned char *data, size_t len)
{
	char algorithm[64] = "";
	int rc;

	if (!a->signing) {
		const uint8_t *blob = c->identity->blob;
		size_t blob_len = c->identity->len;

		/* A certificate of a file, whose key the agent holds, is signed for by that key. */
		key_request_algorithm(data, len, algorithm, sizeof algorithm);
		rc = agent_sign(a->want.agent, &a->sign, blob, blob_len, data, len, agent_flags(algorithm),
			&a->sign_fail);
		a->signing = rc == 0;
		return rc ? rc : PSSH_EAGAIN;
	}
	if (!a->sign.done)
		return PSSH_EAGAIN;
	a->signing = false;
	if (a->sign.rc)
		return fail_set(&a->sign_fail, a->sign.rc, "%s", a->sign.text);
	return 0;
}

/* libssh2's sign callback: it may be called again and again until it has an answer. */
static int auth_sign(LIBSSH2_SESSION *session, unsigned char **sig, size_t *sig_len, const unsigned char *data,
	size_t len, void **abstract)
{
	struct auth *a = *abstract;
	const struct candidate *c = &a->candidates[a->at];
	int rc;

	(void)session; /* its allocator is malloc: we give it none of its own */
	if (c->identity) {
		rc = sign_by_agent(a, c, data, len);
		if (rc == 0) {
			*sig = a->sign.sig;
			*sig_len = a->sign.sig_len;
			a->sign.sig = NULL;
		}
	} else if (key_locked(c->key)) {
		rc = PSSH_EAGAIN;
		if (a->declined || !a->want.interactive)
			rc = fail_set(&a->sign_fail, PSSH_EPASSPHRASE, "it is locked by a passphrase");
		else
			ask_passphrase(a, c->key);
	} else {
		rc = key_sign(c->key, NULL, data, len, sig, sig_len, &a->sign_fail);
	}
	a->sign_rc = rc == PSSH_EAGAIN ? 0 : rc;
	return rc == PSSH_EAGAIN ? LIBSSH2_ERROR_EAGAIN : rc ? LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED : 0;
}

static void note_candidate(struct auth *a, const struct candidate *c)
{
	const char *what = c->key ? key_path(c->key) : c->identity->comment;

	if (a->sign_rc == PSSH_EPASSPHRASE)
		auth_remark(a, "'%s' is locked by a passphrase", what);
	else if (a->sign_rc)
		auth_remark(a, "'%s' could not sign: %s", what, a->sign_fail.text);
	else
		auth_note(a, "%s'%s'", c->identity ? "agent key " : "", what);
	a->sign_rc = 0;
}

static void next_key(struct auth *a)
{
	a->at++;
	a->declined = false;
	a->wrong = 0;
}

static int auth_lost(struct auth *a, int rc, struct fail *f)
{
	if (rc != LIBSSH2_ERROR_SOCKET_DISCONNECT && rc != LIBSSH2_ERROR_SOCKET_RECV && rc != LIBSSH2_ERROR_SOCKET_SEND)
		return fail_set(f, link_code(rc), "cannot sign in as '%s': %s", a->want.user, link_error(a->link));
	return fail_set(f, a->tried.len ? PSSH_EAUTH : PSSH_ECLOSED,
		"cannot sign in as '%s': the server closed the connection%s%s%s", a->want.user,
		a->tried.len ? " after " : "", buf_text(&a->tried),
		a->at > 4 ? "; too many keys: name one with an identity file and identities-only" : "");
}

static int try_key(struct auth *a, struct fail *f)
{
	struct candidate *c = &a->candidates[a->at];
	void *abstract = a;
	int rc;

	if (a->at == a->count) {
		a->phase = AUTH_LIST;
		return 0;
	}
	if (!c->blob) { /* an old encrypted format: nothing is known before it is unlocked */
		c->blob = key_auth_blob(c->key, &c->len);
		if (!c->blob) {
			if (a->declined || !a->want.interactive) {
				auth_remark(a, "'%s' is locked by a passphrase", key_path(c->key));
				next_key(a);
				return 0;
			}
			ask_passphrase(a, c->key);
			return PSSH_EAGAIN;
		}
	}
	rc = libssh2_userauth_publickey(a->link->session, a->want.user, c->blob, c->len, auth_sign, &abstract);
	if (rc == LIBSSH2_ERROR_EAGAIN)
		return PSSH_EAGAIN;
	if (rc == 0)
		return 1;
	note_candidate(a, c);
	if (rc != LIBSSH2_ERROR_AUTHENTICATION_FAILED && rc != LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED)
		return auth_lost(a, rc, f);
	next_key(a);
	return 0;
}

/* ---- What a person knows ---- */

static int list_methods(struct auth *a, struct fail *f)
{
	a->methods = libssh2_userauth_list(a->link->session, a->want.user, (unsigned)strlen(a->want.user));
	if (!a->methods) {
		int rc = libssh2_session_last_errno(a->link->session);

		if (libssh2_userauth_authenticated(a->link->session))
			return 1;
		return rc == LIBSSH2_ERROR_EAGAIN ? PSSH_EAGAIN : auth_lost(a, rc, f);
	}
	a->can_kbdint = a->want.interactive && a->want.kbdint && strstr(a->methods, "keyboard-interactive");
	a->can_password = a->want.interactive && a->want.password && strstr(a->methods, "password");
	a->phase = a->can_kbdint ? AUTH_KBDINT : a->can_password ? AUTH_PASSWORD : AUTH_FAILED;
	return 0;
}

static void ask_password(struct auth *a)
{
	snprintf(a->question, sizeof a->question, "%s@%s's password: ", a->want.user, a->want.host);
	auth_ask(a, ASK_PASSWORD, false);
}

static char *known_answer(struct auth *a, const char *prompt, size_t len, bool echo)
{
	for (size_t i = 0; i < a->answer_count; i++)
		if (strlen(a->answers[i].prompt) == len && memcmp(a->answers[i].prompt, prompt, len) == 0)
			return a->answers[i].text;
	if (!echo && !a->password_used && a->password) { /* the question that everybody asks */
		a->password_used = true;
		return a->password;
	}
	a->met_unknown = true;
	if (a->answer_count < ANSWERS) {
		char *copy = strndup(prompt, len);

		if (copy)
			a->answers[a->answer_count++] = (struct answer){ .prompt = copy, .echo = echo };
	}
	return NULL;
}

static void auth_respond(const char *name, int name_len, const char *instruction, int instruction_len, int count,
	const LIBSSH2_USERAUTH_KBDINT_PROMPT *prompts, LIBSSH2_USERAUTH_KBDINT_RESPONSE *responses, void **abstract)
{
	struct link *l = *abstract;
	struct auth *a = l->asker;

	(void)name, (void)name_len, (void)instruction, (void)instruction_len;
	for (int i = 0; i < count; i++) {
		char *known = a ? known_answer(a, (const char *)prompts[i].text, prompts[i].length, prompts[i].echo)
				: NULL;

		responses[i].text = strdup(known ? known : "");
		responses[i].length = responses[i].text ? (unsigned)strlen(responses[i].text) : 0;
	}
}

/* A prompt that came and has no answer yet goes to the person next. */
static bool ask_unanswered(struct auth *a)
{
	for (size_t i = 0; i < a->answer_count; i++) {
		if (!a->answers[i].text) {
			snprintf(a->question, sizeof a->question, "(%s@%s) %s", a->want.user, a->want.host,
				a->answers[i].prompt);
			auth_ask(a, ASK_PROMPT, a->answers[i].echo);
			return true;
		}
	}
	return false;
}

static int try_kbdint(struct auth *a, struct fail *f)
{
	int rc;

	if (ask_unanswered(a))
		return PSSH_EAGAIN;
	if (!a->password && !a->answer_count) {
		ask_password(a);
		return PSSH_EAGAIN;
	}
	rc = libssh2_userauth_keyboard_interactive_ex(a->link->session, a->want.user, (unsigned)strlen(a->want.user),
		auth_respond);
	if (rc == LIBSSH2_ERROR_EAGAIN)
		return PSSH_EAGAIN;
	a->password_used = false;
	if (rc == 0)
		return 1;
	if (rc != LIBSSH2_ERROR_AUTHENTICATION_FAILED)
		return auth_lost(a, rc, f);
	if (a->met_unknown) {
		a->met_unknown = false;
		return 0;
	}
	auth_wipe(&a->password);
	for (size_t i = 0; i < a->answer_count; i++)
		auth_wipe(&a->answers[i].text);
	if (--a->tries == 0) {
		auth_note(a, "keyboard-interactive");
		a->phase = AUTH_FAILED;
	}
	return 0;
}

static int try_password(struct auth *a, struct fail *f)
{
	int rc;

	if (!a->password) {
		ask_password(a);
		return PSSH_EAGAIN;
	}
	rc = libssh2_userauth_password_ex(a->link->session, a->want.user, (unsigned)strlen(a->want.user),
		a->password, (unsigned)strlen(a->password), NULL);
	if (rc == LIBSSH2_ERROR_EAGAIN)
		return PSSH_EAGAIN;
	if (rc == 0)
		return 1;
	if (rc != LIBSSH2_ERROR_AUTHENTICATION_FAILED && rc != LIBSSH2_ERROR_PASSWORD_EXPIRED)
		return auth_lost(a, rc, f);
	auth_wipe(&a->password);
	if (--a->tries == 0) {
		auth_note(a, "password");
		a->phase = AUTH_FAILED;
	}
	return 0;
}

static int auth_give_up(struct auth *a, struct fail *f)
{
	return fail_set(f, PSSH_EAUTH, "cannot sign in as '%s': the server accepts %s; %s%s%s%s", a->want.user,
		a->methods ? a->methods : "nothing",
		a->tried.len             ? "tried "
			: a->remarks.len ? ""
					 : "there was no key to try",
		buf_text(&a->tried), a->tried.len && a->remarks.len ? "; " : "", buf_text(&a->remarks));
}

int auth_step(struct auth *a, struct fail *f)
{
	for (;;) {
		int rc = 0;

		if (a->asking != ASK_NOTHING)
			return PSSH_EAGAIN;
		switch (a->phase) {
		case AUTH_GATHER:
			rc = auth_gather(a);
			break;
		case AUTH_KEYS:
			rc = try_key(a, f);
			break;
		case AUTH_LIST:
			rc = list_methods(a, f);
			break;
		case AUTH_KBDINT:
			rc = try_kbdint(a, f);
			break;
		case AUTH_PASSWORD:
			rc = try_password(a, f);
			break;
		case AUTH_FAILED:
			return auth_give_up(a, f);
		}
		if (rc)
			return rc == 1 ? 0 : rc;
	}
}

bool auth_outside(const struct auth *a)
{
	return a->asking != ASK_NOTHING || a->phase == AUTH_GATHER || (a->signing && !a->sign.done);
}

const char *auth_question(const struct auth *a, bool *echo)
{
	if (a->asking == ASK_NOTHING)
		return NULL;
	*echo = a->echo;
	return a->question;
}

const struct key *auth_locked_key(const struct auth *a)
{
	return a->asking == ASK_PASSPHRASE ? a->candidates[a->at].key : NULL;
}

void auth_unlocked(struct auth *a)
{
	if (a->asking == ASK_PASSPHRASE)
		a->asking = ASK_NOTHING;
}

void auth_answer(struct auth *a, const char *text)
{
	int what = a->asking;
	struct fail f = { 0 };

	a->asking = ASK_NOTHING;
	if (what == ASK_PASSPHRASE) {
		struct key *key = a->candidates[a->at].key;

		if (!text || !*text || (key_locked(key) && key_unlock(key, text, &f) != 0 && ++a->wrong == TRIES))
			a->declined = true;
		else if (key_locked(key))
			ask_passphrase(a, key);
	} else if (what == ASK_PASSWORD || what == ASK_PROMPT) {
		if (!text) {
			a->phase = AUTH_FAILED;
			return;
		}
		if (what == ASK_PASSWORD)
			a->password = strdup(text);
		for (size_t i = 0; what == ASK_PROMPT && i < a->answer_count; i++) {
			if (!a->answers[i].text) {
				a->answers[i].text = strdup(text);
				break;
			}
		}
	}
}
