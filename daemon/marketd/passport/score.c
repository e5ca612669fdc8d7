/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/passport/score.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* "33.53800". The policy compares it digit by digit, so it stays a text. */
static bool score_decimal(const char *text)
{
	size_t whole = strspn(text, "0123456789"), part;

	if (!whole || whole > 9 || strlen(text) >= SCORE_TEXT)
		return false;
	if (!text[whole])
		return true;
	part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
	return part && !text[whole + 1 + part];
}

/* "+02:00" in seconds; "Z" and "" are UTC. */
static bool score_zone(const char *text, int64_t *seconds)
{
	int hours, minutes, used = 0;

	*seconds = 0;
	if (!*text || strcmp(text, "Z") == 0)
		return true;
	if ((*text != '+' && *text != '-') || sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 ||
		used != 5 || text[6] || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
		return false;
	*seconds = (int64_t)(hours * 3600 + minutes * 60) * (*text == '-' ? -1 : 1);
	return true;
}

/* RFC 3339, as Python writes it: with a fraction or without. */
static bool score_time(const char *text, int64_t *out)
{
	struct tm at = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &at);
	int64_t zone;

	if (!end)
		return false;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	if (!score_zone(end, &zone))
		return false;
	*out = timegm(&at) - zone;
	return *out > 0;
}

static int score_members(const json_t *o, const char *address, struct score *s, struct fail *why)
{
	const char *whose = json_string_value(json_object_get(o, "address"));
	const json_t *score = json_object_get(o, "score"), *until = json_object_get(o, "expiration_timestamp");
	const json_t *error = json_object_get(o, "error");

	if (!whose || strcasecmp(whose, address) != 0)
		return fail_set(why, -EPROTO, "its answer is about another address");
	if (error && !json_is_null(error))
		return fail_set(why, -EPROTO, "it says that it failed");
	if (!score || (!json_is_null(score) && !json_is_string(score)))
		return fail_set(why, -EPROTO, "its answer has no score");
	if (json_is_string(score) &&
		(json_string_length(score) != strlen(json_string_value(score)) ||
			!score_decimal(json_string_value(score))))
		return fail_set(why, -EPROTO, "its score is no decimal from 0 on");
	if (until && !json_is_null(until) &&
		(!json_is_string(until) || !score_time(json_string_value(until), &s->expires)))
		return fail_set(why, -EPROTO, "the end of its score is no time");
	snprintf(s->text, sizeof s->text, "%s", json_is_string(score) ? json_string_value(score) : "");
	s->passing = json_is_true(json_object_get(o, "passing_score"));
	return 0;
}

int score_read(const char *body, size_t len, const char *address, struct score *out, struct fail *why)
{
	json_t *o = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	struct score s = { .text = "" };
	int rc = json_is_object(o) ? score_members(o, address, &s, why)
				   : fail_set(why, -EPROTO, "its answer is no JSON object");

	json_decref(o);
	if (!rc)
		*out = s;
	return rc;
}
