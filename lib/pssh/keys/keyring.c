/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keys/keyring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "pssh/keys/sshwire.h"
#include "pssh/pssh_types.h"

struct keyring_slot {
	struct key *key;
	struct fail why;
	bool loaded;
	char *facts;    /* NULL: nobody asked */
	int64_t looked; /* when they were found; clock_ms() */
};

/* Hosts that connect together ask together. */
enum { KEYRING_FRESH_MS = 1000 };

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
		free(slot->facts);
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
	slot->loaded = true;
	return 0;
}

/* malloc'd; NULL: out of memory. */
static char *keyring_look(const char *path)
{
	static const char *const beside[] = { "", ".pub", "-cert.pub" };
	struct buf b;
	int rc = 0;

	buf_init(&b, 4096);
	for (size_t i = 0; i < sizeof beside / sizeof *beside && !rc; i++) {
		struct stat st = { 0 };
		char *name;

		if (asprintf(&name, "%s%s", path, beside[i]) < 0) {
			rc = PSSH_ENOMEM;
			break;
		}
		if (stat(name, &st) == 0)
			rc = buf_addf(&b, "%llu %llu %lld.%ld %lld", (unsigned long long)st.st_dev,
				(unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec,
				(long long)st.st_size);
		rc = rc ? rc : buf_addc(&b, ',');
		free(name);
	}
	if (rc)
		buf_release(&b);
	return b.data;
}

static void keyring_load(struct keyring_slot *slot, const char *path)
{
	char *before = keyring_look(path);

	slot->why.code = key_load(path, &slot->key, &slot->why);
	slot->loaded = true;
	free(slot->facts);
	slot->facts = keyring_look(path);
	/* Replaced in this moment: nobody knows which one was read. */
	if (before && slot->facts && strcmp(before, slot->facts) != 0) {
		free(slot->facts);
		if (asprintf(&slot->facts, "%s or not, as %d read it", before, (int)getpid()) < 0)
			slot->facts = NULL;
	}
	free(before);
}

/* A key in memory: names of those are the same in every program. malloc'd; NULL: it is not known yet. */
static char *keyring_public(const struct key *key)
{
	size_t len = 0;
	const uint8_t *blob = key ? key_blob(key, &len) : NULL;
	struct buf b;

	buf_init(&b, 1 << 16);
	if (!blob || sshwire_add_key(&b, blob, len) != 0)
		buf_release(&b);
	return b.data;
}

int keyring_facts(struct keyring *kr, const char *path, const char **out)
{
	struct keyring_slot *slot = table_get(&kr->keys, path);
	int64_t now = clock_ms();

	if (!slot)
		slot = keyring_slot_new(kr, path);
	if (!slot)
		return PSSH_ENOMEM;
	if (!slot->loaded && (!slot->facts || now - slot->looked > KEYRING_FRESH_MS)) {
		free(slot->facts);
		slot->facts = keyring_look(path);
		slot->looked = now;
	}
	if (slot->loaded && !slot->facts)
		slot->facts = keyring_public(slot->key);
	*out = slot->facts;
	return *out ? 0 : PSSH_ENOENT;
}

int keyring_get(struct keyring *kr, const char *path, struct key **out, struct fail *f)
{
	struct keyring_slot *slot = table_get(&kr->keys, path);

	if (!slot)
		slot = keyring_slot_new(kr, path);
	if (!slot)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	if (!slot->loaded)
		keyring_load(slot, path);
	if (!slot->key)
		return fail_set(f, slot->why.code, "%s", slot->why.text);
	*out = slot->key;
	return 0;
}
