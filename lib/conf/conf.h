/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads YAML into a small tree of texts, lists and maps. Each keeps its place in the file, so that
 * every error can name file, line and column. Only what a settings file needs: no anchors, no
 * aliases, no tags, one document, and ceilings on size, depth and number of values.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stddef.h>

#include "base/fail.h"

enum { CONF_BYTES_MAX = 1 << 20, CONF_DEPTH_MAX = 16, CONF_VALUES_MAX = 100000 };

enum conf_type { CONF_NULL, CONF_TEXT, CONF_LIST, CONF_MAP };

struct conf {
	enum conf_type type;
	char *key;              /* NULL unless this is a map's member */
	char *text;             /* CONF_TEXT: never NULL, without NUL bytes */
	struct conf *items;     /* of a list or map, in the file's order */
	size_t count;
	unsigned line, column;  /* from 1; for a map's member, of its key */
	unsigned value_line;    /* where the value itself starts */
	unsigned end_line;      /* the last line of the value */
	int flow;               /* written as [a, b] or {a: b} */
	int plain;              /* CONF_TEXT: written without quotes */
};

struct conf_file {
	char *name;
	struct conf root;       /* a map; empty if the file is */
};

/* 0; -errno if the file cannot be read (-ENOENT too); -EINVAL if its text is wrong. */
int conf_read(const char *path, struct conf_file **out, struct fail *f);
int conf_parse(const char *name, const char *text, size_t len, struct conf_file **out, struct fail *f);
void conf_free(struct conf_file *file);

/* The map's member of that name, or NULL. */
const struct conf *conf_get(const struct conf *map, const char *key);

/* -EINVAL if the map has a key that is not in keys (ends with NULL); the error names the nearest. */
int conf_known(const struct conf_file *file, const struct conf *map, const char *const *keys, struct fail *f);

/* -EINVAL if the value has another type: "expected a list, not a text". */
int conf_expect(const struct conf_file *file, const struct conf *value, enum conf_type type, struct fail *f);

/* "cannot read 'FILE': line 3, column 5: …"; returns -EINVAL. */
int conf_fail(const struct conf_file *file, const struct conf *at, struct fail *f, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
