/* SPDX-License-Identifier: Apache-2.0 */
/* Passes questions of connections on to a person, and the answers back. */
#include <stdlib.h>

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

void question_pass_on(struct pssh_host *h)
{
	struct pssh *p = h->fleet;
	struct pssh_event ev = { .type = PSSH_EV_PROMPT, .host = h };
	const struct key *key = auth_locked_key(h->conn->auth);
	bool echo = false;
	const char *text = auth_question(h->conn->auth, &echo);
	struct list *pos, *tmp;
	struct prompt *pr;

	if (!text || h->conn->asked || (key && unlocker_has(p->shared.unlocker, key)))
		return;
	list_each (pos, tmp, &p->prompts_open) {
		struct conn *other = list_entry(pos, struct prompt, link)->host->conn;

		if (key && other->auth && auth_locked_key(other->auth) == key)
			return; /* one answer unlocks the key for all */
	}
	pr = calloc(1, sizeof *pr);
	if (!pr) {
		auth_answer(h->conn->auth, NULL);
		host_poke(h);
		return;
	}
	pr->id = ++p->next_prompt;
	pr->host = h;
	list_append(&p->prompts_open, &pr->link);
	h->conn->asked = true;
	ev.text = text;
	ev.echo = echo;
	ev.prompt = pr->id;
	events_add(&p->events, &ev);
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

int question_answer(struct pssh *p, uint64_t id, const char *text)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &p->prompts_open) {
		struct prompt *pr = list_entry(pos, struct prompt, link);
		struct pssh_host *h = pr->host;
		struct key *key;

		if (pr->id != id)
			continue;
		key = auth_locked_key(h->conn->auth);
		list_remove(&pr->link);
		free(pr);
		h->conn->asked = false;
		if (key)
			return answer_passphrase(p, key, text);
		h->typed = true;
		auth_answer(h->conn->auth, text);
		host_poke(h);
		return 0;
	}
	return fail_set(&p->why, PSSH_ENOENT, "that question is no longer open");
}
