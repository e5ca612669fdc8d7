/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/nonces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct nonce {
	uint64_t agent, generation;
	int64_t at;
	char text[NONCE_TEXT];
};

struct nonces {
	struct nonce *list;
	size_t count, cap;
	struct recheck *asked;
	size_t asked_count, asked_cap;
};

void nonces_free(struct nonces *n)
{
	if (!n)
		return;
	free(n->list);
	free(n->asked);
	free(n);
}

static int nonces_room(void **list, size_t count, size_t *cap, size_t size)
{
	void *more;

	if (count < *cap)
		return 0;
	more = reallocarray(*list, *cap ? 2 * *cap : 16, size);
	if (!more)
		return -ENOMEM;
	*list = more;
	*cap = *cap ? 2 * *cap : 16;
	return 0;
}

static struct nonce *nonces_find(struct nonces *n, uint64_t agent)
{
	for (size_t i = 0; n && i < n->count; i++)
		if (n->list[i].agent == agent)
			return &n->list[i];
	return NULL;
}

static void nonces_drop_old(struct nonces *n, int64_t now)
{
	for (size_t i = n->count; i-- > 0;)
		if (now - n->list[i].at > NONCE_SECONDS)
			n->list[i] = n->list[--n->count];
}

int nonces_give(struct nonces **n, uint64_t agent, uint64_t generation, int64_t now, char room[NONCE_TEXT])
{
	uint8_t bytes[NONCE_TEXT / 2];
	struct nonce *one;
	void *list;

	if (!*n && !(*n = calloc(1, sizeof **n)))
		return -ENOMEM;
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return -EIO;
	nonces_drop_old(*n, now);
	one = nonces_find(*n, agent);
	list = (*n)->list;
	if (!one && nonces_room(&list, (*n)->count, &(*n)->cap, sizeof *one))
		return -ENOMEM;
	(*n)->list = list;
	if (!one)
		one = &(*n)->list[(*n)->count++];
	*one = (struct nonce){ .agent = agent, .generation = generation, .at = now };
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(one->text + 2 * i, 3, "%02x", bytes[i]);
	memcpy(room, one->text, NONCE_TEXT);
	return 0;
}

bool nonces_take(struct nonces *n, uint64_t agent, uint64_t generation, int64_t now, char room[NONCE_TEXT],
	int64_t *since)
{
	struct nonce *one = nonces_find(n, agent);
	bool good = one && one->generation == generation && now - one->at <= NONCE_SECONDS;

	if (good) {
		memcpy(room, one->text, NONCE_TEXT);
		*since = one->at;
	}
	if (one)
		*one = n->list[--n->count];
	return good;
}

/* ---- Checked again ----------------------------------------------------------------------------- */

int nonces_recheck(struct nonces **n, const struct recheck *add)
{
	void *list;

	if (!*n && !(*n = calloc(1, sizeof **n)))
		return -ENOMEM;
	if (nonces_rechecked(*n, add->host))
		return 0;
	list = (*n)->asked;
	if (nonces_room(&list, (*n)->asked_count, &(*n)->asked_cap, sizeof *add))
		return -ENOMEM;
	(*n)->asked = list;
	(*n)->asked[(*n)->asked_count++] = *add;
	return 0;
}

const struct recheck *nonces_rechecked(const struct nonces *n, uint64_t host)
{
	for (size_t i = 0; n && i < n->asked_count; i++)
		if (n->asked[i].host == host)
			return &n->asked[i];
	return NULL;
}

const struct recheck *nonces_answered(const struct nonces *n, uint64_t host, int64_t given)
{
	const struct recheck *r = nonces_rechecked(n, host);

	return r && given >= r->asked ? r : NULL;
}

void nonces_missed(struct nonces *n, uint64_t host, const char *why)
{
	for (size_t i = 0; n && i < n->asked_count; i++)
		if (n->asked[i].host == host)
			snprintf(n->asked[i].why, sizeof n->asked[i].why, "%s", why);
}

void nonces_checked(struct nonces *n, uint64_t host)
{
	for (size_t i = 0; n && i < n->asked_count; i++)
		if (n->asked[i].host == host) {
			n->asked[i] = n->asked[--n->asked_count];
			return;
		}
}

void nonces_minute(struct nonces *n)
{
	for (size_t i = 0; n && i < n->asked_count; i++)
		n->asked[i].left--;
}

bool nonces_overdue(const struct nonces *n, struct recheck *out)
{
	for (size_t i = 0; n && i < n->asked_count; i++)
		if (n->asked[i].left <= 0) {
			*out = n->asked[i];
			return true;
		}
	return false;
}

uint32_t nonces_chance(uint32_t below)
{
	uint32_t x = 0;

	return getrandom(&x, sizeof x, 0) == (ssize_t)sizeof x ? x % below : 0;
}
