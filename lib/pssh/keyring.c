/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keyring.h"

#include <stdlib.h>

#include "pssh/pssh.h"

struct keyring_slot {
	struct key *key;
	struct fail why;
};

void keyring_init(struct keyring *kr)
{
	*kr = (struct keyring){ 0 };
	table_init(&kr->keys);
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
	agent_free(kr->agent);
	kr->agent = NULL;
}

int keyring_get(struct keyring *kr, const char *path, struct key **out, struct fail *f)
{
	struct keyring_slot *slot = table_get(&kr->keys, path);

	if (!slot) {
		slot = calloc(1, sizeof *slot);
		if (!slot || table_set(&kr->keys, path, slot) != 0) {
			free(slot);
			return fail_set(f, PSSH_ENOMEM, "out of memory");
		}
		slot->why.code = key_load(path, &slot->key, &slot->why);
	}
	if (!slot->key)
		return fail_set(f, slot->why.code, "%s", slot->why.text);
	*out = slot->key;
	return 0;
}
