/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keys/keyring.h"

#include <stdlib.h>

#include "pssh/pssh_types.h"

struct keyring_slot {
	struct key *key;
	struct fail why;
};

void keyring_init(struct keyring *kr)
{
	*kr = (struct keyring){ 0 };
	table_init(&kr->keys);
	table_init(&kr->agents);
}

void keyring_release(struct keyring *kr)
{
	size_t at = 0;
	void *value;

	while (table_next(&kr->keys, &at, NULL, &value)) {
		struct keyring_slot *slot = value;

		key_free(slot->key);
		free(slot);
	}
	table_release(&kr->keys);
	at = 0;
	while (table_next(&kr->agents, &at, NULL, &value)) {
		struct keyring_agent *held = value;

		agent_free(held->agent);
		free(held);
	}
	table_release(&kr->agents);
	kr->agent = NULL;
}

int keyring_find_agent(struct keyring *kr, struct loop *loop, int kind, const char *path, struct agent **out,
	struct fail *f)
{
	struct keyring_agent *held = table_get(&kr->agents, path);
	int rc;

	if (!held) {
		held = calloc(1, sizeof *held);
		if (!held)
			return fail_set(f, PSSH_ENOMEM, "out of memory");
		rc = agent_new(loop, kind, path, &held->agent, f);
		if (!rc && table_set(&kr->agents, path, held) != 0) {
			agent_free(held->agent);
			rc = fail_set(f, PSSH_ENOMEM, "out of memory");
		}
		if (rc) {
			free(held);
			return rc;
		}
	}
	*out = held->agent;
	return 0;
}

struct keyring_agent *keyring_agent_of(const struct keyring *kr, const struct loop_watch *w, const struct loop_timer *t)
{
	size_t at = 0;
	void *value;

	while (table_next(&kr->agents, &at, NULL, &value)) {
		struct keyring_agent *held = value;

		if ((w && agent_watch(held->agent) == w) || (t && agent_timer(held->agent) == t))
			return held;
	}
	return NULL;
}

/* NULL: out of memory. */
static struct keyring_slot *keyring_slot_new(struct keyring *kr, const char *name)
{
	struct keyring_slot *slot = calloc(1, sizeof *slot);

	if (slot && table_set(&kr->keys, name, slot) == 0)
		return slot;
	free(slot);
	return NULL;
}

int keyring_add(struct keyring *kr, const char *name, struct key *key)
{
	struct keyring_slot *slot = keyring_slot_new(kr, name);

	if (!slot)
		return PSSH_ENOMEM;
	slot->key = key;
	return 0;
}

int keyring_get(struct keyring *kr, const char *path, struct key **out, struct fail *f)
{
	struct keyring_slot *slot = table_get(&kr->keys, path);

	if (!slot) {
		slot = keyring_slot_new(kr, path);
		if (!slot)
			return fail_set(f, PSSH_ENOMEM, "out of memory");
		slot->why.code = key_load(path, &slot->key, &slot->why);
	}
	if (!slot->key)
		return fail_set(f, slot->why.code, "%s", slot->why.text);
	*out = slot->key;
	return 0;
}
