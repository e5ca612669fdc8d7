/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/known/knownlines.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pssh/known/hosthash.h"
#include "pssh/pssh_types.h"
#include "pssh/keys/sshwire.h"

enum { BLOB_MAX = 16384, PATTERN_MAX = 1024, LINE_MAX_LEN = 64 << 10 };

/* A line about a name. */
struct mention {
	struct known_line *entry;
	struct mention *next;
};

/* What the table holds for a name: its lines, and how many of the hashed lines were tried. */
struct known_name {
	struct mention *first, **last;
	size_t tried;
};

/* ---- Memory ---------------------------------------------------------------------------- */

static int set_add(struct known_set *e, struct known_line *entry)
{
	if (e->count == e->cap) {
		size_t cap = e->cap ? e->cap * 2 : 16;
		struct known_line **at = realloc(e->at, cap * sizeof *at);

		if (!at)
			return PSSH_ENOMEM;
		e->at = at;
		e->cap = cap;
	}
	e->at[e->count++] = entry;
	return 0;
}

static void line_free(struct known_line *e)
{
	if (!e)
		return;
	free(e->blob);
	free(e->patterns);
	free(e->hashed);
	free(e);
}

/* A copy that lives as long as k; equal texts share one copy. */
static const char *knownlines_intern(struct knownlines *k, const char *text)
{
	char *copy = table_get(&k->words, text);

	if (copy)
		return copy;
	copy = strdup(text);
	if (copy && table_set(&k->words, text, copy) != 0) {
		free(copy);
		copy = NULL;
	}
	return copy;
}

static void name_free(struct known_name *name)
{
	while (name->first) {
		struct mention *next = name->first->next;

		free(name->first);
		name->first = next;
	}
	free(name);
}

void knownlines_init(struct knownlines *k)
{
	*k = (struct knownlines){ 0 };
	table_init(&k->names);
	table_init(&k->words);
}

void knownlines_release(struct knownlines *k)
{
	void *value;
	size_t at = 0;

	while (table_next(&k->names, &at, NULL, &value))
		name_free(value);
	for (at = 0; table_next(&k->words, &at, NULL, &value);)
		free(value);
	for (size_t i = 0; i < k->all.count; i++)
		line_free(k->all.at[i]);
	table_release(&k->names);
	table_release(&k->words);
	free(k->all.at);
	free(k->patterns.at);
	free(k->hashed.at);
	free(k->hits.at);
}

static struct known_name *name_get(struct knownlines *k, const char *text)
{
	struct known_name *name = table_get(&k->names, text);

	if (name)
		return name;
	name = calloc(1, sizeof *name);
	if (!name)
		return NULL;
	name->last = &name->first;
	if (table_set(&k->names, text, name) != 0) {
		free(name);
		return NULL;
	}
	return name;
}

static int name_add(struct known_name *name, struct known_line *entry)
{
	struct mention *line = calloc(1, sizeof *line);

	if (!line)
		return PSSH_ENOMEM;
	line->entry = entry;
	*name->last = line;
	name->last = &line->next;
	return 0;
}

/* ---- Reading --------------------------------------------------------------------------- */

static const char *knownlines_next_word(const char **at, const char *end, size_t *len)
{
	const char *p = *at, *start;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	start = p;
	while (p < end && *p != ' ' && *p != '\t')
		p++;
	*len = (size_t)(p - start);
	*at = p;
	return start;
}

static bool word_is(const char *word, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(word, text, len) == 0;
}

static void knownlines_lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

bool knownlines_whole(const uint8_t *blob, size_t len)
{
	struct sshwire w;
	size_t n;

	sshwire_init(&w, blob, len);
	while (w.left && !w.bad)
		sshwire_string(&w, &n);
	return !w.bad;
}

/* Reads "type base64"; the rest is a comment. NULL, or why it is no key; "": out of memory. */
static const char *knownlines_read_key(struct knownlines *k, struct known_line *e, const char *type, size_t type_len,
	const char *base, size_t base_len)
{
	char name[WIRE_TYPE_MAX];
	int rc;

	if (!base_len)
		return "the key is missing";
	rc = sshwire_base64(base, base_len, &e->blob, &e->len);
	if (rc == -ENOMEM)
		return "";
	if (rc || e->len > BLOB_MAX || !sshwire_blob_type(e->blob, e->len, name, sizeof name) ||
		!knownlines_whole(e->blob, e->len))
		return "the key is damaged";
	if (!word_is(type, type_len, name))
		return "the key has another type than the line says";
	e->type = knownlines_intern(k, name);
	return e->type ? NULL : "";
}

static int add_plain_names(struct knownlines *k, struct known_line *e, char *names)
{
	char *rest = names;

	for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ",")) {
		struct known_name *name;

		if (!*one)
			continue;
		name = name_get(k, one);
		if (!name || name_add(name, e) != 0)
			return PSSH_ENOMEM;
	}
	return 0;
}

/* k owns the entry from here on, even on failure. */
static const char *knownlines_read_names(struct knownlines *k, struct known_line *e, const char *names, size_t len)
{
	char *copy;
	int rc;

	if (*names == '|') {
		e->hashed = malloc(sizeof *e->hashed);
		if (!e->hashed)
			return "";
		if (!hosthash_parse(names, len, e->hashed))
			return "the hashed name is damaged";
		return set_add(&k->hashed, e) ? "" : NULL;
	}
	copy = strndup(names, len);
	if (!copy)
		return "";
	knownlines_lower(copy);
	if (strpbrk(copy, "*?!")) {
		e->patterns = copy;
		return set_add(&k->patterns, e) ? "" : NULL;
	}
	rc = add_plain_names(k, e, copy);
	free(copy);
	return rc ? "" : NULL;
}

/* Reads one line. NULL, or why it is broken; "": out of memory. */
static const char *knownlines_read_line(struct knownlines *k, const char *p, const char *end, const char *file,
	unsigned line)
{
	size_t len, type_len, base_len;
	const char *word = knownlines_next_word(&p, end, &len), *type, *base, *why;
	enum known_marker marker = KNOWN_KEY;
	struct known_line *e;

	if (!len || *word == '#')
		return NULL;
	if (end - word > LINE_MAX_LEN || memchr(word, 0, (size_t)(end - word)))
		return "this is not a line of text";
	if (*word == '@') {
		if (!word_is(word, len, "@cert-authority") && !word_is(word, len, "@revoked"))
			return "the marker is unknown";
		marker = word[1] == 'r' ? KNOWN_REVOKED : KNOWN_AUTHORITY;
		word = knownlines_next_word(&p, end, &len);
	}
	type = knownlines_next_word(&p, end, &type_len);
	base = knownlines_next_word(&p, end, &base_len);
	e = calloc(1, sizeof *e);
	if (!e)
		return "";
	*e = (struct known_line){ .marker = marker, .file = file, .line = line };
	why = knownlines_read_key(k, e, type, type_len, base, base_len);
	if (!why)
		why = set_add(&k->all, e) ? "" : NULL;
	if (why) {
		line_free(e);
		return why;
	}
	return knownlines_read_names(k, e, word, len);
}

/* Adds a line for a name that comes from no file. */
int knownlines_add(struct knownlines *k, const char *name, const char *file, const uint8_t *blob, size_t len)
{
	struct known_name *at = name_get(k, name);
	struct known_line *e = calloc(1, sizeof *e);
	char type[WIRE_TYPE_MAX];

	if (!at || !e || !sshwire_blob_type(blob, len, type, sizeof type))
		goto fail;
	e->file = knownlines_intern(k, file);
	e->type = knownlines_intern(k, type);
	e->blob = malloc(len);
	if (!e->file || !e->type || !e->blob || set_add(&k->all, e) != 0)
		goto fail;
	memcpy(e->blob, blob, len);
	e->len = len;
	return name_add(at, e);
fail:
	line_free(e);
	return PSSH_ENOMEM;
}

static void note_broken(struct knownlines *k, const char *file, unsigned line, const char *why)
{
	if (!k->broken++)
		snprintf(k->first_broken, sizeof k->first_broken, "%.200s:%u: %s", file, line, why);
}

int knownlines_parse(struct knownlines *k, const char *text, size_t len, const char *name)
{
	const char *stop = text + len, *file = knownlines_intern(k, name);

	if (!file)
		return PSSH_ENOMEM;
	for (unsigned line = 1; text < stop; line++) {
		const char *end = memchr(text, '\n', (size_t)(stop - text)), *next, *why;

		end = end ? end : stop;
		next = end < stop ? end + 1 : stop;
		if (end > text && end[-1] == '\r')
			end--;
		why = knownlines_read_line(k, text, end, file, line);
		if (why && !*why)
			return PSSH_ENOMEM;
		if (why)
			note_broken(k, file, line, why);
		text = next;
	}
	return 0;
}

/* ---- Looking up ------------------------------------------------------------------------ */

/* A '!' pattern that matches excludes the line. */
static bool patterns_match(const char *patterns, const char *name)
{
	char one[PATTERN_MAX];
	bool found = false;

	for (const char *p = patterns; *p;) {
		size_t len = strcspn(p, ",");
		bool not = *p == '!';

		if (len < sizeof one) {
			memcpy(one, p + not, len - not);
			one[len - not] = '\0';
			if (*one && str_glob(one, name)) {
				if (not)
					return false;
				found = true;
			}
		}
		p += len + (p[len] == ',');
	}
	return found;
}

/* Tries the name against the hashed lines that it was not tried against yet. A line has only one name. */
static int try_hashed(struct knownlines *k, const char *text)
{
	struct hosthash_name padded;
	struct known_name *name;
	int rc = 0;

	if (!k->hashed.count || !hosthash_name(text, &padded))
		return 0;
	name = name_get(k, text);
	if (!name)
		return PSSH_ENOMEM;
	for (; !rc && name->tried < k->hashed.count; name->tried++) {
		struct known_line *e = k->hashed.at[name->tried];

		if (!e->hashed || !hosthash_is(e->hashed, &padded))
			continue;
		rc = name_add(name, e);
		if (rc)
			break;
		free(e->hashed);
		e->hashed = NULL;
	}
	return rc;
}

/* Collects all lines about the name in k->hits. */
int knownlines_about(struct knownlines *k, const char *text, const struct known_set **out)
{
	struct known_name *name;
	int rc = try_hashed(k, text);

	k->hits.count = 0;
	name = table_get(&k->names, text);
	for (struct mention *l = name ? name->first : NULL; !rc && l; l = l->next)
		rc = set_add(&k->hits, l->entry);
	for (size_t i = 0; !rc && i < k->patterns.count; i++)
		if (patterns_match(k->patterns.at[i]->patterns, text))
			rc = set_add(&k->hits, k->patterns.at[i]);
	if (!rc)
		*out = &k->hits;
	return rc;
}
