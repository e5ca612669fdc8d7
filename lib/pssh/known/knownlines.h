/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of known-hosts files, and which of them are about a name. */
#ifndef PSSH_KNOWN_KNOWNLINES_H
#define PSSH_KNOWN_KNOWNLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

enum known_marker { KNOWN_KEY, KNOWN_AUTHORITY, KNOWN_REVOKED };

struct hosthash;

struct known_line {
	enum known_marker marker;
	const char *file;
	unsigned line;           /* 0: remembered, not read from a file */
	const char *type;
	uint8_t *blob;
	size_t len;
	char *patterns;          /* NULL: the table has its names, or its name is hashed */
	struct hosthash *hashed; /* NULL if it is not hashed, or once its name is known */
};

struct known_set {
	struct known_line **at;
	size_t count, cap;
};

struct knownlines {
	struct table names;      /* plain names, and hashed ones whose name is known */
	struct table words;      /* types and file names, each once; the value is a copy of the key */
	struct known_set all, patterns, hashed, hits;
	size_t broken;
	char first_broken[320];
};

void knownlines_init(struct knownlines *k);
void knownlines_release(struct knownlines *k);

/* Reads what it can and counts broken lines. 0 or PSSH_ENOMEM. */
int knownlines_parse(struct knownlines *k, const char *text, size_t len, const char *file);
int knownlines_add(struct knownlines *k, const char *name, const char *file, const uint8_t *blob, size_t len);

/* All lines about the name, which must be lower case. *out is valid until the next call. 0 or PSSH_ENOMEM. */
int knownlines_about(struct knownlines *k, const char *name, const struct known_set **out);

/* The blob has all strings of the key: a line cut short by a full disk must not count as another key. */
bool knownlines_whole(const uint8_t *blob, size_t len);

#endif
