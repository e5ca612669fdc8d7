/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/logs/loglevel.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO, DEBUG, LEVEL_WORD = 10, LOOK_FOR_KEY = 512 };

static const struct {
	const char *word;
	int level;
} words[] = {
	{ "emerg", EMERG },
	{ "panic", EMERG },
	{ "alert", ALERT },
	{ "crit", CRIT },
	{ "critical", CRIT },
	{ "fatal", CRIT },
	{ "err", ERR },
	{ "error", ERR },
	{ "severe", ERR },
	{ "warn", WARNING },
	{ "warning", WARNING },
	{ "notice", NOTICE },
	{ "info", INFO },
	{ "debug", DEBUG },
	{ "debug2", DEBUG },
	{ "debug3", DEBUG },
	{ "debug4", DEBUG },
	{ "debug5", DEBUG },
	{ "trace", DEBUG },
	{ "verbose", DEBUG },
};

static int of_word(const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i].word) == len && strncasecmp(words[i].word, s, len) == 0)
			return words[i].level;
	return -1;
}

static int of_letter(char c)
{
	switch (c) {
	case 'F': case 'C': return CRIT;
	case 'E': return ERR;
	case 'W': return WARNING;
	case 'I': return INFO;
	case 'D': return DEBUG;
	default: return -1;
	}
}

static size_t word_length(const char *s, const char *end)
{
	const char *p = s;

	while (p < end && p - s <= LEVEL_WORD && isalnum((unsigned char)*p))
		p++;
	return (size_t)(p - s);
}

/* level=error, "level":"error", lvl=warn */
static int of_key(const char *s, const char *end)
{
	static const char *const keys[] = { "level=", "\"level\":", "lvl=", "severity=", "\"severity\":" };

	if (end - s > LOOK_FOR_KEY)
		end = s + LOOK_FOR_KEY;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const char *at = memmem(s, (size_t)(end - s), keys[i], strlen(keys[i]));

		if (!at)
			continue;
		at += strlen(keys[i]);
		while (at < end && (*at == '"' || *at == ' '))
			at++;
		return of_word(at, word_length(at, end));
	}
	return -1;
}

/* After a time any leading word counts; without a time only a clear one: "error: …", "[WARN] …". */
static int of_first_word(const char *s, const char *end, bool timed)
{
	bool bracket;
	size_t n;

	while (s < end && (*s == ' ' || *s == '\t' || *s == '-' || *s == '|'))
		s++;
	bracket = s < end && (*s == '[' || *s == '<');
	s += bracket;
	n = word_length(s, end);
	if (n == 1 && timed && s + 1 < end && s[1] == ' ')
		return of_letter(*s);
	return timed || bracket || (s + n < end && s[n] == ':') ? of_word(s, n) : -1;
}

int loglevel_read(const char *line, size_t len, size_t start)
{
	const char *end = line + len;
	int level;

	/* klog's letter stands before its digits: I1121 */
	if (start && strchr("IWEF", *line) && len > 5 && isdigit((unsigned char)line[1]) &&
		isdigit((unsigned char)line[4]))
		return of_letter(*line);
	/* "<3>" is syslog's own number */
	if (len > 2 && line[0] == '<' && isdigit((unsigned char)line[1])) {
		int n = 0;

		for (const char *p = line + 1; p < end && isdigit((unsigned char)*p) && n < 1000; p++)
			n = n * 10 + (*p - '0');
		return n & 7;
	}
	if (!start && len && isspace((unsigned char)*line))
		return -1;
	level = of_first_word(line + start, end, start > 0);
	return level >= 0 ? level : of_key(line + start, end);
}
