/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/stack_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"
#include "cli/provision/model/stack_value.h"
#include "cli/frame/value.h"

static char *stack_part_copy(const char *text)
{
	char *out = strdup(text);

	if (!out)
		command_nomem();
	return out;
}

static const struct conf *stack_part_value_of(const struct conf *map, const char *key)
{
	const struct conf *at = conf_get(map, key);

	return at && at->type != CONF_NULL ? at : NULL;
}

static int stack_part_check_text(struct stack_reading *r, const struct conf *at)
{
	struct fail why = { 0 };
	int rc = conf_expect(r->file, at, CONF_TEXT, r->f);

	if (!rc && stack_text_check(at->text, false, &why))
		rc = conf_fail(r->file, at, r->f, "the text %s", why.text);
	return rc;
}

int stack_get_text(struct stack_reading *r, const struct conf *map, const char *key, char **out)
{
	const struct conf *at = stack_part_value_of(map, key);
	int rc = at ? stack_part_check_text(r, at) : 0;

	if (at && !rc) {
		free(*out);
		*out = stack_part_copy(at->text);
	}
	return rc;
}

int stack_get_word(struct stack_reading *r, const struct conf *map, const char *key, char **out)
{
	const struct conf *at = stack_part_value_of(map, key);

	if (at && at->type == CONF_TEXT && !stack_word(at->text))
		return conf_fail(r->file, at, r->f, "'%.64s' is not a name: use letters, digits and '-'", at->text);
	return stack_get_text(r, map, key, out);
}

int stack_get_flag(struct stack_reading *r, const struct conf *map, const char *key, bool *out)
{
	const struct conf *at = stack_part_value_of(map, key);
	int rc = at ? conf_expect(r->file, at, CONF_TEXT, r->f) : 0;

	if (at && !rc && value_bool(at->text, out, NULL))
		rc = conf_fail(r->file, at, r->f, "'%.64s' is neither yes nor no", at->text);
	return rc;
}

int stack_get_number(struct stack_reading *r, const struct conf *map, const char *key, long max, unsigned *out)
{
	const struct conf *at = stack_part_value_of(map, key);
	int rc = at ? conf_expect(r->file, at, CONF_TEXT, r->f) : 0;
	struct fail why = { 0 };
	long n;

	if (!at || rc)
		return rc;
	if (value_int(at->text, 0, max, &n, &why))
		return conf_fail(r->file, at, r->f, "%s", why.text);
	*out = (unsigned)n;
	return 0;
}

int stack_get_words(struct stack_reading *r, const struct conf *map, const char *key, char ***out)
{
	const struct conf *at = stack_part_value_of(map, key);
	size_t count = at && at->type == CONF_LIST ? at->count : 1;
	char **words;
	int rc = 0;

	if (!at)
		return 0;
	if (at->type == CONF_MAP)
		return conf_expect(r->file, at, CONF_LIST, r->f);
	words = calloc(count + 1, sizeof *words);
	if (!words)
		command_nomem();
	for (size_t i = 0; i < count && !rc; i++) {
		const struct conf *item = at->type == CONF_LIST ? &at->items[i] : at;

		rc = stack_part_check_text(r, item);
		if (!rc)
			words[i] = stack_part_copy(item->text);
	}
	if (rc)
		stack_free_words(words);
	else
		*out = words;
	return rc;
}

int stack_unknown(struct stack_reading *r, const struct conf *at, const char *what, const char *typed,
	const char *const *words, size_t count)
{
	const char *near = stack_nearest(typed, words, count);

	if (near)
		return conf_fail(r->file, at, r->f, "unknown %s '%.64s'; did you mean '%s'?", what, typed, near);
	return conf_fail(r->file, at, r->f, "unknown %s '%.64s'", what, typed);
}
