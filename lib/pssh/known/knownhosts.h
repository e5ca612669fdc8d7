/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of known host keys, as sshd(8) describes them: names, patterns, [host]:port, hashed names,
 * @revoked and @cert-authority. Looking up a plain name costs the same for any number of lines. Also
 * pins: a key, or its fingerprint, that the caller already knows.
 */
#ifndef PSSH_KNOWN_KNOWNHOSTS_H
#define PSSH_KNOWN_KNOWNHOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "pssh/keys/sshwire.h"

struct knownhosts;

enum knownhosts_answer {
	KNOWNHOSTS_MATCH,
	KNOWNHOSTS_MISMATCH,  /* other keys are known for the host, but not this one */
	KNOWNHOSTS_UNKNOWN,
	KNOWNHOSTS_REVOKED,
	KNOWNHOSTS_CA_ONLY,   /* only an authority is known, and libssh2 supports no host certificates */
};

/* Where the answer comes from, and the key there (for a mismatch the known one); empty for unknown. */
struct knownhosts_found {
	enum knownhosts_answer answer;
	const char *file;     /* lives as long as the knownhosts; "" for one remembered without a file */
	unsigned line;
	const char *type;     /* "ssh-ed25519" */
	char fingerprint[WIRE_FINGERPRINT];
};

int knownhosts_new(struct knownhosts **out);
void knownhosts_free(struct knownhosts *k);

/* A file that does not exist counts as empty. Skips and counts broken lines. */
int knownhosts_add_file(struct knownhosts *k, const char *path, struct fail *f);
int knownhosts_parse(struct knownhosts *k, const char *text, size_t len, const char *name); /* 0 or PSSH_ENOMEM */
size_t knownhosts_count(const struct knownhosts *k);
size_t knownhosts_broken(const struct knownhosts *k, const char **first); /* first: "file:line: why" */

/* host: without brackets, in any case. port: 22 or 0 for the plain name. 0 or PSSH_ENOMEM. */
int knownhosts_check(struct knownhosts *k, const char *host, unsigned port,
	const uint8_t *blob, size_t len, struct knownhosts_found *out);

/* The types of the host's known keys, each once, without revoked keys and authorities. Returns how many. */
size_t knownhosts_types(struct knownhosts *k, const char *host, unsigned port, const char **types, size_t max);

/* Adds the lines that decide about a host, as lines about the name and port `as`. 0 or PSSH_ENOMEM. */
int knownhosts_write(struct knownhosts *k, const char *host, unsigned port, const char *as, unsigned as_port,
	struct buf *out);

/*
 * Remembers a key and appends it to the first file added; hashes the name if asked. Creates a missing
 * directory (0700) and file (0600). If it cannot write the file, it still remembers the key.
 */
int knownhosts_remember(struct knownhosts *k, const char *host, unsigned port,
	const uint8_t *blob, size_t len, bool hashed, struct fail *f);

struct knownhosts_pin {
	uint8_t *blob;        /* NULL: only the fingerprint is known */
	size_t len;
	char fingerprint[WIRE_FINGERPRINT];
};

/* "ssh-ed25519 AAAA…" (a comment may follow) or "SHA256:…". */
int knownhosts_pin_parse(const char *text, struct knownhosts_pin *out, struct fail *f);
bool knownhosts_pin_match(const struct knownhosts_pin *pin, const uint8_t *blob, size_t len);
void knownhosts_pin_release(struct knownhosts_pin *pin);

#endif
