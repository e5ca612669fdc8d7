/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/stack_value.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/frame/value.h"

const char *stack_type_name(enum stack_type type)
{
	static const char *const names[] = {
#define STACK_X(name, word) [name] = word,
		STACK_TYPES(STACK_X)
#undef STACK_X
	};

	return names[type];
}

static char *stack_value_copy(const char *text)
{
	char *out = strdup(text);

	if (!out)
		command_nomem();
	return out;
}

int stack_text_check(const char *text, bool lines, struct fail *f)
{
	const unsigned char *p = (const unsigned char *)text;

	if (strlen(text) > STACK_VALUE_MAX)
		return fail_set(f, -EINVAL, "is longer than %d bytes", STACK_VALUE_MAX);
	for (; *p; p++) {
		if (lines && (*p == '\n' || *p == '\t'))
			continue;
		/* Control characters above 127 are 0xc2 and 0x80 … 0x9f in UTF-8. */
		if (*p < ' ' || *p == 127 || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
			return fail_set(f, -EINVAL, "has a control byte (%d) in it", *p == 0xc2 ? p[1] : *p);
	}
	return 0;
}

static int stack_value_take_words(const char *text, char **out)
{
	struct buf b;

	buf_init(&b, STACK_VALUE_MAX + 1);
	while (*(text += strspn(text, " ,"))) {
		size_t len = strcspn(text, " ,");

		if ((b.len && buf_addc(&b, ' ')) || buf_add(&b, text, len))
			command_nomem();
		text += len;
	}
	*out = stack_value_copy(buf_text(&b));
	buf_release(&b);
	return 0;
}

static int take_enum(const struct stack_setting *s, const char *text, char **out, struct fail *f)
{
	const char *word;
	size_t at, len;
	int rc = value_enum(text, s->values, &at, f);

	if (rc || !value_word(s->values, at, &word, &len))
		return rc ? rc : -EINVAL;
	*out = strndup(word, len);
	if (!*out)
		command_nomem();
	return 0;
}

int stack_value(const struct stack_setting *s, const char *text, char **out, struct fail *f)
{
	struct fail why = { 0 };
	char room[32];
	bool yes;
	long n;

	if (stack_text_check(text, s->type == STACK_TEXT, &why))
		return fail_set(f, -EINVAL, "'%s' %s", s->key, why.text);
	switch (s->type) {
	case STACK_FLAG:
		if (value_bool(text, &yes, NULL))
			return fail_set(f, -EINVAL, "'%.64s' is neither yes nor no", text);
		*out = stack_value_copy(yes ? "yes" : "no");
		return 0;
	case STACK_NUMBER:
		if (*text && value_int(text, LONG_MIN, LONG_MAX, &n, f))
			return -EINVAL;
		snprintf(room, sizeof room, "%ld", *text ? n : 0);
		*out = stack_value_copy(*text ? room : "");
		return 0;
	case STACK_WORDS:
		return stack_value_take_words(text, out);
	case STACK_ENUM:
		return take_enum(s, text, out, f);
	case STACK_MAP:
		if (*text)
			return fail_set(f, -EINVAL, "'%.64s' is not a map: expected '%s: {name: value}'", text, s->key);
		break;
	default:
		break;
	}
	*out = stack_value_copy(text);
	return 0;
}
