/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSH splits keywords and Match lines in one way, and values in another; both are here. */
#include "pssh/config/sshword.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

char *sshword_cut(char **s)
{
	char *word = *s, *p = strpbrk(word, SSHWORD_SPACE "\"="), *close;
	bool equals;

	if (!p) {
		*s = word + strlen(word);
		return word;
	}
	if (*p == '"') {
		close = strchr(p + 1, '"');
		if (!close)
			return NULL;
		*close = '\0';
		memmove(p, p + 1, (size_t)(close - p));
		*s = close + 1 + strspn(close + 1, SSHWORD_SPACE);
		return word;
	}
	equals = *p == '=';
	*p++ = '\0';
	p += strspn(p, SSHWORD_SPACE);
	if (!equals && *p == '=')
		p += 1 + strspn(p + 1, SSHWORD_SPACE);
	*s = p;
	return word;
}

const char *sshword_unquote(const char *s, char *to)
{
	char quote = 0;

	for (; *s && (quote || (*s != ' ' && *s != '\t')); s++) {
		if (*s == '\\' && (s[1] == '\'' || s[1] == '"' || s[1] == '\\' || (!quote && s[1] == ' ')))
			*to++ = *++s;
		else if (!quote && (*s == '"' || *s == '\''))
			quote = *s;
		else if (quote && *s == quote)
			quote = 0;
		else
			*to++ = *s;
	}
	*to = '\0';
	return quote ? NULL : s;
}

int sshword_match(const char *text, const char *patterns, bool lower)
{
	char one[1024];
	int got = 0;

	while (*patterns) {
		bool negated = *patterns == '!';
		size_t len;

		patterns += negated;
		len = strcspn(patterns, ",");
		if (len >= sizeof one - 1)
			return 0;
		for (size_t i = 0; i < len; i++)
			one[i] = lower ? (char)tolower((unsigned char)patterns[i]) : patterns[i];
		one[len] = '\0';
		if (str_glob(one, text)) {
			if (negated)
				return -1;
			got = 1;
		}
		patterns += len + (patterns[len] == ',');
	}
	return got;
}
