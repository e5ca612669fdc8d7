/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/offers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/pssh_types.h"

void offers_init(struct offers *o)
{
	*o = (struct offers){ .count = 0 };
	buf_init(&o->remarks, 1024);
}

void offers_release(struct offers *o)
{
	for (size_t i = 0; i < o->count; i++)
		free(o->list[i].owned);
	o->count = 0;
	buf_release(&o->remarks);
}

void offers_remark(struct offers *o, const char *fmt, ...)
{
	va_list ap;

	if (o->remarks.len)
		buf_adds(&o->remarks, "; ");
	va_start(ap, fmt);
	buf_vaddf(&o->remarks, fmt, ap);
	va_end(ap);
}

/* Takes `owned` over. */
static void offers_add(struct offers *o, const struct offer *offer)
{
	if (o->count == OFFERS_MAX)
		free(offer->owned);
	else
		o->list[o->count++] = *offer;
}

static void offer_identity(struct offers *o, const struct agent_identity *id, struct key *key)
{
	struct fail f = { 0 };
	uint8_t *blob;
	size_t len;

	if (key_blob_for_auth(id->blob, id->len, &blob, &len, &f) != 0)
		offers_remark(o, "cannot use '%s' of the agent: %s", id->comment, f.text);
	else
		offers_add(o, &(struct offer){ .key = key, .identity = id, .blob = blob, .len = len, .owned = blob });
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

static bool is_offered(const struct offers *o, const struct agent_identity *id)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->list[i].identity == id)
			return true;
	return false;
}

static void offer_file(struct offers *o, struct keyring *kr, const char *path, const struct agent_identity *ids,
	size_t n)
{
	struct fail f = { 0 };
	struct key *key;
	const struct agent_identity *held;
	const uint8_t *blob;
	size_t len;
	int rc = keyring_get(kr, path, &key, &f);

	if (rc) {
		if (rc != PSSH_ENOENT)
			offers_remark(o, "%s", f.text);
		return;
	}
	if (*key_cert_note(key))
		offers_remark(o, "cannot use the certificate of '%s': %s", path, key_cert_note(key));
	blob = key_cert_blob(key, &len);
	held = held_by_agent(ids, n, key);
	if (blob && (held || !key_public_only(key)))
		offers_add(o, &(struct offer){ .key = key, .identity = held, .blob = blob, .len = len });
	if (held) {
		offer_identity(o, held, key);
		return;
	}
	blob = key_auth_blob(key, &len);
	if (!key_public_only(key))
		offers_add(o, &(struct offer){ .key = key, .blob = blob, .len = blob ? len : 0 });
}

/* OpenSSH's order: named files that the agent holds too, the agent's other keys, other files. */
static int offer_rank(const struct offer *offer)
{
	return !offer->identity ? 2 : offer->key ? 0 : 1;
}

/* Keeps the order of those of one rank. */
static void offers_sort(struct offer *list, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct offer x = list[i];
		size_t j = i;

		for (; j && offer_rank(&list[j - 1]) > offer_rank(&x); j--)
			list[j] = list[j - 1];
		list[j] = x;
	}
}

void offers_gather(struct offers *o, struct keyring *kr, char *const *identities, struct agent *agent,
	bool identities_only)
{
	const struct agent_identity *ids = NULL;
	size_t n = 0;

	assert(o->count == 0);
	assert(!agent || agent_state(agent) != AGENT_ASKING);
	if (agent && agent_state(agent) == AGENT_LISTED)
		ids = agent_identities(agent, &n);
	else if (agent)
		offers_remark(o, "cannot use the agent: %s", agent_error(agent));
	for (; identities && *identities; identities++)
		offer_file(o, kr, *identities, ids, n);
	for (size_t i = 0; i < n && !identities_only; i++)
		if (!is_offered(o, &ids[i]))
			offer_identity(o, &ids[i], NULL);
	offers_sort(o->list, o->count);
}
