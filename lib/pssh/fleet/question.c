/* SPDX-License-Identifier: Apache-2.0 */
/* Passes questions of connections on to a person or the program, and the answers back. */
#include <stdlib.h>

#include "base/buf.h"
#include "pssh/fleet/fleet.h"

/* Steps the other connections: who waited for the same answer has to ask itself now. */
static void poke_others(struct pssh_host *h)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->fleet->host_list) {
		struct pssh_host *other = list_entry(pos, struct pssh_host, in_hosts);

		if (other != h && other->conn && other->conn->auth)
			host_poke(other);
	}
}

void question_forget(struct pssh_host *h)
{
	struct list *pos, *tmp;
	bool asked = false;

	list_each (pos, tmp, &h->fleet->prompts_open) {
		struct prompt *pr = list_entry(pos, struct prompt, link);

		if (pr->host == h) {
			list_remove(&pr->link);
			free(pr);
			asked = true;
		}
	}
	if (asked)
		poke_others(h);
}

/* Somebody has been asked for this key's passphrase, or it is being tried: one answer unlocks the key for all. */
static bool question_is_open(struct pssh *p, const struct key *key)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &p->prompts_open) {
		struct conn *other = list_entry(pos, struct prompt, link)->host->conn;

		if (other->auth && auth_locked_key(other->auth) == key)
			return true;
	}
	return unlocker_has(p->shared.unlocker, key);
}

/* Fills in the event but for its number. false: there is nothing to ask. key: room for the text of a key. */
static bool question_fill(struct pssh_host *h, enum question *kind, struct pssh_event *ev, struct buf *key)
{
	struct conn *c = h->conn;
	const uint8_t *blob = NULL;
	struct key *signer;
	bool echo = false;
	size_t len = 0;

	*kind = QUESTION_TEXT;
	ev->type = PSSH_EV_PROMPT;
	if (hostkey_doubtful(&c->doubt)) {
		*kind = QUESTION_HOSTKEY;
		ev->type = PSSH_EV_HOSTKEY;
		ev->status = c->doubt.why.code;
		ev->text = c->doubt.why.text;
		blob = conn_hostkey(c, &len);
		if (sshwire_add_key(key, blob, len) == 0) {
			ev->data = buf_text(key);
			ev->len = key->len;
		}
		return true;
	}
	if (!c->auth)
		return false;
	ev->data = auth_to_sign(c->auth, &ev->len, &signer);
	if (ev->data) {
		*kind = QUESTION_SIGN;
		ev->type = PSSH_EV_SIGN;
		ev->status = key_request_hash(signer, ev->data, ev->len);
		blob = key_blob(signer, &len);
		ev->text = sshwire_add_key(key, blob, len) == 0 ? buf_text(key) : "";
		return true;
	}
	ev->text = auth_question(c->auth, &echo);
	ev->echo = echo;
	return ev->text && !(auth_locked_key(c->auth) && question_is_open(h->fleet, auth_locked_key(c->auth)));
}

/* Nobody can be asked: no caller has heard of the host, or out of memory. */
static void question_drop(struct pssh_host *h, enum question kind)
{
	if (kind == QUESTION_HOSTKEY)
		hostkey_judge(&h->conn->doubt, PSSH_HOSTKEY_REFUSE, NULL);
	else if (kind == QUESTION_SIGN)
		auth_signed(h->conn->auth, NULL, 0, NULL);
	else
		auth_answer(h->conn->auth, NULL);
	host_poke(h);
}

void question_pass_on(struct pssh_host *h)
{
	struct pssh *p = h->fleet;
	struct pssh_event ev = { .host = h };
	enum question kind;
	struct prompt *pr = NULL;
	struct buf key;

	buf_init(&key, 1 << 16);
	if (!h->conn->asked && question_fill(h, &kind, &ev, &key)) {
		pr = h->stream ? NULL : calloc(1, sizeof *pr);
		if (pr) {
			pr->id = ev.prompt = ++p->next_prompt;
			pr->kind = kind;
			pr->host = h;
			list_append(&p->prompts_open, &pr->link);
			h->conn->asked = true;
			events_add(&p->events, &ev);
		} else {
			question_drop(h, kind);
		}
	}
	buf_release(&key);
}

/* Whose sign-in waits for this key. */
static bool question_waits(const struct pssh_host *h, const struct key *key)
{
	return h->conn && h->conn->auth && auth_locked_key(h->conn->auth) == key;
}

/* All who wait for the key go on, without it if declined. */
static void question_settle(struct pssh *p, const struct key *key, bool declined)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

		if (!question_waits(h, key))
			continue;
		if (declined)
			auth_answer(h->conn->auth, NULL);
		else if (!key_locked(key))
			auth_unlocked(h->conn->auth);
		question_forget(h);
		h->conn->asked = false;
		host_poke(h);
	}
}

void question_unlocked(struct pssh *p)
{
	struct unlocker *u = p->shared.unlocker;
	struct list *pos, *tmp;
	const struct key *key;
	int rc;

	unlocker_clear(u);
	while ((key = unlocker_next_done(u, &rc))) {
		bool spent = false;

		list_each (pos, tmp, &p->host_list) {
			struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

			if (rc && question_waits(h, key))
				spent |= auth_wrong(h->conn->auth);
		}
		question_settle(p, key, spent);
	}
}

/* The answer is a passphrase for the key, or declines. A person who has none for one host has none for the others. */
static int answer_passphrase(struct pssh *p, struct key *key, const char *text)
{
	int rc = text && *text ? unlocker_start(p->shared.unlocker, key, text) : 0;

	if (rc)
		fail_set(&p->why, rc, "cannot try the passphrase: %s", pssh_strerror(rc));
	if (rc || !text || !*text)
		question_settle(p, key, true);
	return rc;
}

/* 0; PSSH_ENOENT; or PSSH_EINVAL: it wants another kind of answer. */
static int question_find(struct pssh *p, uint64_t id, enum question kind, struct prompt **out)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &p->prompts_open) {
		struct prompt *pr = list_entry(pos, struct prompt, link);

		if (pr->id != id)
			continue;
		if (pr->kind != kind)
			return fail_set(&p->why, PSSH_EINVAL,
				"the event of that question names another call to answer it");
		*out = pr;
		return 0;
	}
	return fail_set(&p->why, PSSH_ENOENT, "that question is no longer open");
}

/* It is answered: its host goes on. */
static struct pssh_host *question_close(struct prompt *pr)
{
	struct pssh_host *h = pr->host;

	list_remove(&pr->link);
	free(pr);
	h->conn->asked = false;
	host_poke(h);
	return h;
}

int question_answer(struct pssh *p, uint64_t id, const char *text)
{
	struct prompt *pr = NULL;
	struct pssh_host *h;
	struct key *key;
	int rc = question_find(p, id, QUESTION_TEXT, &pr);

	if (rc)
		return rc;
	h = question_close(pr);
	key = auth_locked_key(h->conn->auth);
	if (key)
		return answer_passphrase(p, key, text);
	h->typed = true;
	auth_answer(h->conn->auth, text);
	return 0;
}

int question_sign(struct pssh *p, uint64_t id, const void *signature, size_t len)
{
	struct prompt *pr = NULL;
	int rc = question_find(p, id, QUESTION_SIGN, &pr);

	if (!rc)
		rc = auth_signed(pr->host->conn->auth, signature, len, &p->why);
	if (!rc)
		question_close(pr);
	return rc;
}

int question_hostkey(struct pssh *p, uint64_t id, enum pssh_hostkey_answer answer)
{
	struct prompt *pr = NULL;
	int rc = question_find(p, id, QUESTION_HOSTKEY, &pr);

	if (!rc)
		rc = hostkey_judge(&pr->host->conn->doubt, answer, &p->why);
	if (!rc)
		question_close(pr);
	return rc;
}
