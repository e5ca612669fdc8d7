/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of files of known host keys, and which of them are about a name. */
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
	unsigned line;           /* 0: remembered, not read */
	const char *type;
	uint8_t *blob;
	size_t len;
	char *patterns;          /* NULL: its names are in the table, or it is hashed */
	struct hosthash *hashed; /* NULL where it is not, or when its name was found out */
};

struct known_set {
	struct known_line **at;
	size_t count, cap;
};

struct knownlines {
	struct table names;      /* of plain names, and hashed ones found out */
	struct table words;      /* types and names of files, each once; the value is a copy of the key */
	struct known_set all, patterns, hashed, hits;
	size_t broken;
	char first_broken[320];
};

void knownlines_init(struct knownlines *k);
void knownlines_release(struct knownlines *k);

/* Reads what it can, counts what is broken. 0 or PSSH_ENOMEM. */
int knownlines_parse(struct knownlines *k, const char *text, size_t len, const char *file);
int knownlines_add(struct knownlines *k, const char *name, const char *file, const uint8_t *blob, size_t len);

/* All lines about the name, which is in small letters. *out is good until the next call. 0 or PSSH_ENOMEM. */
int knownlines_about(struct knownlines *k, const char *name, const struct known_set **out);

/* All strings of the key are there: one cut short by a full disk must not make a new key. */
bool knownlines_whole(const uint8_t *blob, size_t len);

#endif
