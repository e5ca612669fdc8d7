/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for keys and known hosts that are in memory, not in files. */
#include <stdio.h>
#include <string.h>

#include "pssh/entry.h"
#include "pssh/pssh.h"

int pssh_add_key(struct pssh *p, const void *text, size_t len, const char *passphrase)
{
	struct key *key;
	char name[32];
	int rc;

	snprintf(name, sizeof name, "memory key %u", p->memory_keys + 1);
	rc = key_parse(text, len, name, &key, &p->why);
	if (rc)
		return rc;
	if (passphrase && key_locked(key))
		rc = key_unlock(key, passphrase, &p->why);
	if (!rc && keyring_add(&p->shared.keyring, name, key) != 0)
		rc = entry_no_memory(p);
	if (rc) {
		key_free(key);
		return rc;
	}
	p->memory_keys++;
	return pssh_add_identity(p, name);
}

int pssh_add_signer(struct pssh *p, const char *public_key)
{
	struct key *key;
	char name[32];
	int rc;

	snprintf(name, sizeof name, "signer key %u", p->memory_keys + 1);
	rc = key_parse(public_key, strlen(public_key), name, &key, &p->why);
	if (rc)
		return rc;
	rc = key_set_signer(key, &p->why);
	if (!rc && keyring_add(&p->shared.keyring, name, key) != 0)
		rc = entry_no_memory(p);
	if (rc) {
		key_free(key);
		return rc;
	}
	p->memory_keys++;
	return pssh_add_identity(p, name);
}

/* 0, PSSH_ESYNTAX or PSSH_ENOMEM. */
static int check_lines(struct pssh *p, const char *text)
{
	struct knownhosts *k;
	const char *broken;
	int rc = knownhosts_new(&k);

	if (rc)
		return entry_no_memory(p);
	if (knownhosts_parse(k, text, strlen(text), "line") != 0)
		rc = entry_no_memory(p);
	else if (knownhosts_broken(k, &broken))
		rc = fail_set(&p->why, PSSH_ESYNTAX, "cannot understand the known hosts: %s", broken);
	knownhosts_free(k);
	return rc;
}

int pssh_add_known_hosts_text(struct pssh *p, const char *lines)
{
	size_t at = 0;
	void *known;
	int rc = check_lines(p, lines);

	if (rc)
		return rc;
	if (strings_add(&p->known_texts, &p->known_text_count, lines) != 0)
		return entry_no_memory(p);
	while (table_next(&p->known, &at, NULL, &known)) /* those that hosts have met already */
		if (knownhosts_parse(known, lines, strlen(lines), "memory") != 0)
			return entry_no_memory(p);
	return 0;
}
