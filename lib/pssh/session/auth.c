/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/auth.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "pssh/pssh_types.h"
#include "pssh/session/offers.h"

enum { ANSWERS = 8, TRIES = 3, BY_HAND_MS = 1000 };

struct answer {
	char *prompt, *text;          /* text NULL: not answered yet */
	bool echo;
};

enum auth_phase { AUTH_GATHER, AUTH_KEYS, AUTH_LIST, AUTH_KBDINT, AUTH_PASSWORD, AUTH_FAILED };

struct auth {
	struct link *link;
	struct keyring *kr;
	struct auth_want want;
	enum auth_phase phase;
	struct offers offers;
	size_t at;                    /* the offer whose turn it is */
	struct agent_sign_request sign;
	bool by_hand;
	bool signing;
	bool refused;           /* the agent does not sign with this key; its file may */
	bool declined;          /* no passphrase or signature will come */
	uint8_t *to_sign, *sig; /* for a key whose private part the program has, and its answer */
	size_t to_sign_len, sig_len;
	unsigned wrong;               /* passphrases for this key */
	int sign_rc;                  /* why the last signature was not made */
	struct fail sign_fail, refusal;

	const char *methods;          /* what the server accepts; in libssh2's memory */
	bool can_kbdint, can_password;
	unsigned tries;
	char *password;
	bool password_used;           /* in this attempt of keyboard-interactive */
	struct answer answers[ANSWERS];
	size_t answer_count;
	bool met_unknown;             /* the server sent a prompt that no person has seen yet */

	enum { ASK_NOTHING, ASK_PASSPHRASE, ASK_PASSWORD, ASK_PROMPT, ASK_SIGNATURE } asking;
	char question[512];
	bool echo;
	struct buf tried;             /* for the error: what the server refused */
};

static void auth_note(struct auth *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Notes what the server refused. */
static void auth_note(struct auth *a, const char *fmt, ...)
{
	va_list ap;

	if (a->tried.len)
		buf_adds(&a->tried, ", ");
	va_start(ap, fmt);
	buf_vaddf(&a->tried, fmt, ap);
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
	offers_init(&a->offers);
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
	offers_release(&a->offers);
	for (size_t i = 0; i < a->answer_count; i++) {
		free(a->answers[i].prompt);
		auth_wipe(&a->answers[i].text);
	}
	auth_wipe(&a->password);
	buf_release(&a->tried);
	free(a->to_sign);
	free(a->sig);
	if (a->link->asker == a)
		a->link->asker = NULL;
	free(a);
}

/* ---- Keys ---- */

static int auth_gather(struct auth *a)
{
	if (!a->want.pubkey) {
		a->phase = AUTH_LIST;
		return 0;
	}
	if (a->want.agent && agent_state(a->want.agent) == AGENT_ASKING)
		return PSSH_EAGAIN;
	offers_gather(&a->offers, a->kr, a->want.identities, a->want.agent, a->want.identities_only);
	a->phase = AUTH_KEYS;
	return 0;
}

static void auth_ask(struct auth *a, int what, bool echo)
{
	assert(a->asking == ASK_NOTHING);
	a->asking = what;
	a->echo = echo;
}

static void ask_passphrase(struct auth *a, const struct key *key)
{
	snprintf(a->question, sizeof a->question, "%spassphrase for key '%s': ", a->wrong ? "wrong passphrase; " : "",
		key_path(key));
	auth_ask(a, ASK_PASSPHRASE, false);
}

static int sign_by_agent(struct auth *a, const struct offer *c, const unsigned char *data, size_t len)
{
	char algorithm[64] = "";
	int rc;

	if (!a->signing) {
		const uint8_t *blob = c->identity->blob;
		size_t blob_len = c->identity->len;

		/* For the certificate of a file whose key the agent holds, that key signs. */
		key_request_algorithm(data, len, algorithm, sizeof algorithm);
		a->sign.took_ms = 0;
		rc = agent_sign(a->want.agent, &a->sign, blob, blob_len, data, len, agent_flags(algorithm),
			&a->sign_fail);
		a->signing = rc == 0;
		return rc ? rc : PSSH_EAGAIN;
	}
	if (!a->sign.done)
		return PSSH_EAGAIN;
	a->signing = false;
	a->by_hand |= a->sign.took_ms >= BY_HAND_MS;
	if (a->sign.rc)
		return fail_set(&a->sign_fail, a->sign.rc, "%s", a->sign.text);
	return 0;
}

static int sign_by_program(struct auth *a, const unsigned char *data, size_t len)
{
	if (a->declined)
		return fail_set(&a->sign_fail, PSSH_ECANCEL, "the program declined");
	if (a->sig)
		return 0;
	free(a->to_sign);
	a->to_sign = malloc(len);
	if (!a->to_sign)
		return fail_set(&a->sign_fail, PSSH_ENOMEM, "out of memory");
	memcpy(a->to_sign, data, len);
	a->to_sign_len = len;
	*a->question = '\0';
	auth_ask(a, ASK_SIGNATURE, false);
	return PSSH_EAGAIN;
}

static int sign_by_key(struct auth *a, const struct key *key, const unsigned char *data, size_t len,
	unsigned char **sig, size_t *sig_len)
{
	if (key_is_signer(key)) {
		int rc = sign_by_program(a, data, len);

		if (rc == 0) {
			*sig = a->sig;
			*sig_len = a->sig_len;
			a->sig = NULL;
		}
		return rc;
	}
	if (!key_locked(key))
		return key_sign(key, NULL, data, len, sig, sig_len, &a->sign_fail);
	if (a->declined || !a->want.interactive)
		return fail_set(&a->sign_fail, PSSH_EPASSPHRASE, "it is locked by a passphrase");
	ask_passphrase(a, key);
	return PSSH_EAGAIN;
}

/*
 * An agent may list a key that it does not sign with, as one of ssh-add -h: ssh hears of no such key there and takes
 * the file. A refusal that took longer may be a person's.
 */
static bool key_signs_instead(struct auth *a, const struct offer *c)
{
	if (!c->key || key_public_only(c->key) || a->sign.took_ms >= BY_HAND_MS)
		return false;
	a->refusal = a->sign_fail;
	return true;
}

/* libssh2's sign callback; libssh2 calls it again until it returns something other than EAGAIN. */
static int auth_sign(LIBSSH2_SESSION *session, unsigned char **sig, size_t *sig_len, const unsigned char *data,
	size_t len, void **abstract)
{
	struct auth *a = *abstract;
	const struct offer *c = &a->offers.list[a->at];
	int rc = 0;

	assert(a->phase == AUTH_KEYS && a->at < a->offers.count);
	(void)session; /* the signature comes from malloc, which is the allocator of our sessions too */
	if (c->identity && !a->refused) {
		rc = sign_by_agent(a, c, data, len);
		if (rc == 0) {
			*sig = a->sign.sig;
			*sig_len = a->sign.sig_len;
			a->sign.sig = NULL;
		}
		a->refused = rc && rc != PSSH_EAGAIN && key_signs_instead(a, c);
	}
	if (a->refused || !c->identity)
		rc = sign_by_key(a, c->key, data, len, sig, sig_len);
	a->sign_rc = rc == PSSH_EAGAIN ? 0 : rc;
	return rc == PSSH_EAGAIN ? LIBSSH2_ERROR_EAGAIN : rc ? LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED : 0;
}

static void note_offer(struct auth *a, const struct offer *c)
{
	const char *what = c->key ? key_path(c->key) : c->identity->comment;

	if (a->sign_rc == PSSH_EPASSPHRASE && a->refused)
		offers_remark(&a->offers, "'%s' is locked by a passphrase, and %s", what, a->refusal.text);
	else if (a->sign_rc == PSSH_EPASSPHRASE)
		offers_remark(&a->offers, "'%s' is locked by a passphrase", what);
	else if (a->sign_rc)
		offers_remark(&a->offers, "'%s' could not sign: %s", what, a->sign_fail.text);
	else
		auth_note(a, "%s'%s'", c->identity ? "agent key " : "", what);
	a->sign_rc = 0;
}

static void next_key(struct auth *a)
{
	a->at++;
	a->declined = a->refused = false;
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
	struct offer *c = &a->offers.list[a->at];
	void *abstract = a;
	int rc;

	if (a->at == a->offers.count) {
		a->phase = AUTH_LIST;
		return 0;
	}
	if (!c->blob) { /* an old encrypted format hides even the public part until it is unlocked */
		c->blob = key_auth_blob(c->key, &c->len);
		if (!c->blob) {
			if (a->declined || !a->want.interactive) {
				offers_remark(&a->offers, "'%s' is locked by a passphrase", key_path(c->key));
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
	note_offer(a, c);
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
	if (!echo && !a->password_used && a->password) { /* the usual question: the password */
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

/* Asks the person the first prompt that has no answer yet; false: none. */
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

/* Whether one of the methods is one that this library knows. */
static bool auth_possible(const char *methods)
{
	return !methods || strstr(methods, "publickey") || strstr(methods, "password") ||
		strstr(methods, "keyboard-interactive");
}

static int auth_give_up(struct auth *a, struct fail *f)
{
	if (!auth_possible(a->methods))
		return fail_set(f, PSSH_EAUTH, "cannot sign in as '%s': the server accepts %s, which libssh2 cannot do",
			a->want.user, a->methods);
	return fail_set(f, PSSH_EAUTH, "cannot sign in as '%s': the server accepts %s; %s%s%s%s", a->want.user,
		a->methods ? a->methods : "nothing",
		a->tried.len             ? "tried "
			: a->offers.remarks.len ? ""
					 : "no key to try",
		buf_text(&a->tried), a->tried.len && a->offers.remarks.len ? "; " : "", buf_text(&a->offers.remarks));
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

bool auth_by_hand(const struct auth *a)
{
	return a->by_hand;
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

struct key *auth_locked_key(const struct auth *a)
{
	return a->asking == ASK_PASSPHRASE ? a->offers.list[a->at].key : NULL;
}

void auth_unlocked(struct auth *a)
{
	if (a->asking == ASK_PASSPHRASE)
		a->asking = ASK_NOTHING;
}

const void *auth_to_sign(const struct auth *a, size_t *len, struct key **key)
{
	if (a->asking != ASK_SIGNATURE)
		return NULL;
	*key = a->offers.list[a->at].key;
	*len = a->to_sign_len;
	return a->to_sign;
}

int auth_signed(struct auth *a, const void *signature, size_t len, struct fail *f)
{
	int rc = signature ? key_signature(a->offers.list[a->at].key, signature, len, &a->sig, &a->sig_len, f) : 0;

	if (rc)
		return rc;
	a->declined = !signature;
	a->by_hand = true;
	a->asking = ASK_NOTHING;
	return 0;
}

bool auth_wrong(struct auth *a)
{
	const struct key *key = auth_locked_key(a);

	if (!key)
		return false;
	a->wrong++;
	auth_unlocked(a);
	ask_passphrase(a, key);
	return a->wrong >= TRIES;
}

void auth_answer(struct auth *a, const char *text)
{
	int what = a->asking;

	a->asking = ASK_NOTHING;
	if (what == ASK_PASSPHRASE) {
		a->declined = true;
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
