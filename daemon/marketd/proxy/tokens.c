/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/proxy/tokens.h"

#include <string.h>

enum { TOKEN_BYTES = 4, TOKENS_MOST = 1000000000, TEXT_DEPTH = 8 };

/* Bytes of all texts in it. */
static int64_t tokens_bytes(const json_t *value, int depth)
{
	int64_t sum = 0;
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_string(value))
		return (int64_t)json_string_length(value);
	if (depth == TEXT_DEPTH)
		return 0;
	if (json_is_array(value)) {
		json_array_foreach(value, i, item) sum += json_is_integer(item) ? TOKEN_BYTES
										: tokens_bytes(item, depth + 1);
	} else if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, item) if (strcmp(key, "image_url") != 0 &&
			strcmp(key, "input_audio") != 0) sum += tokens_bytes(item, depth + 1);
	}
	return sum;
}

static int64_t tokens_of_bytes(int64_t bytes)
{
	return (bytes + TOKEN_BYTES - 1) / TOKEN_BYTES;
}

void tokens_asked(struct tokens *t, const json_t *request)
{
	static const char *const members[] = { "messages", "prompt", "input", "tools" };
	int64_t bytes = 0;

	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		bytes += tokens_bytes(json_object_get(request, members[i]), 0);
	t->asked = tokens_of_bytes(bytes);
}

static bool tokens_count(const json_t *usage, const char *name, int64_t *out)
{
	const json_t *value = json_object_get(usage, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > TOKENS_MOST)
		return false;
	*out = json_integer_value(value);
	return true;
}

/* Numbers that cannot be true count as none. */
static bool tokens_usage(struct tokens *t, const json_t *usage)
{
	int64_t prompt, completion = 0;

	if (!json_is_object(usage))
		return false;
	if (!tokens_count(usage, "prompt_tokens", &prompt) ||
		(json_object_get(usage, "completion_tokens") && !tokens_count(usage, "completion_tokens", &completion)))
		return false;
	t->prompt = prompt;
	t->completion = completion;
	t->total = prompt + completion;
	t->stated = true;
	return true;
}

static const json_t *tokens_text(const json_t *choice)
{
	const json_t *delta = json_object_get(choice, "delta"), *message = json_object_get(choice, "message");

	return delta ? delta : message ? message : json_object_get(choice, "text");
}

enum tokens_chunk tokens_chunk(struct tokens *t, const json_t *chunk)
{
	const json_t *choices = json_object_get(chunk, "choices");
	json_t *choice;
	size_t i;
	bool usage = tokens_usage(t, json_object_get(chunk, "usage"));

	json_array_foreach(choices, i, choice)
	{
		const json_t *text = tokens_text(choice), *role = json_object_get(text, "role");

		t->pieces += tokens_bytes(text, 0) > (role ? tokens_bytes(role, 0) : 0);
	}
	if (json_object_get(chunk, "error"))
		return TOKENS_ERROR;
	return usage && json_array_size(choices) == 0 ? TOKENS_USAGE_ALONE : TOKENS_TEXT;
}

void tokens_whole(struct tokens *t, const json_t *answer)
{
	const json_t *choices = json_object_get(answer, "choices");
	json_t *choice;
	size_t i;

	tokens_usage(t, json_object_get(answer, "usage"));
	json_array_foreach(choices, i, choice) t->bytes += tokens_bytes(tokens_text(choice), 0);
}

void tokens_settle(struct tokens *t, bool served)
{
	if (t->stated)
		return;
	t->prompt = served ? t->asked : 0;
	t->completion = t->pieces + tokens_of_bytes(t->bytes);
	t->total = t->prompt + t->completion;
}
