/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/passport/siwe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

#define SIWE_WANTS " wants you to sign in with your Ethereum account:"

int siwe_write(const struct siwe *s, struct buf *out)
{
	char issued[32], expires[32];
	struct tm at;

	strftime(issued, sizeof issued, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&s->issued, &at));
	strftime(expires, sizeof expires, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&s->expires, &at));
	return buf_addf(out,
		"%s" SIWE_WANTS "\n%s\n\n%s%s\nURI: %s\nVersion: 1\nChain ID: %" PRId64
		"\nNonce: %s\nIssued At: %s\nExpiration Time: %s",
		s->domain, s->address, s->statement, *s->statement ? "\n" : "", s->uri, s->chain, s->nonce, issued,
		expires);
}

/* ---- Reading ---------------------------------------------------------------------------- */

struct siwe_lines {
	char text[SIWE_TEXT_MAX + 1];
	char *next; /* NULL: there are no more */
};

static int siwe_split(const char *text, size_t len, struct siwe_lines *l, struct fail *why)
{
	if (len && text[len - 1] == '\n')
		len--;
	if (!len || len > SIWE_TEXT_MAX)
		return fail_set(why, -EINVAL, "the text has %zu bytes; the market's has up to %d", len, SIWE_TEXT_MAX);
	for (size_t i = 0; i < len; i++)
		if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
			return fail_set(why, -EINVAL, "the text has bytes that are none of the market's");
	memcpy(l->text, text, len);
	l->text[len] = '\0';
	l->next = l->text;
	return 0;
}

/* NULL: it has another beginning or end, or is too long. */
static bool siwe_take(struct siwe_lines *l, const char *begin, const char *end, char *out, size_t size)
{
	char *line = l->next ? strsep(&l->next, "\n") : NULL;
	size_t len = line ? strlen(line) : 0, head = strlen(begin), tail = strlen(end);

	if (!line || len < head + tail || len - head - tail >= size || memcmp(line, begin, head) != 0 ||
		memcmp(line + len - tail, end, tail) != 0)
		return false;
	memcpy(out, line + head, len - head - tail);
	out[len - head - tail] = '\0';
	return true;
}

static bool siwe_time(struct siwe_lines *l, const char *begin, int64_t *out)
{
	char text[32], again[32];
	struct tm at = { 0 };
	const char *end;
	time_t made;

	if (!siwe_take(l, begin, "", text, sizeof text))
		return false;
	end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &at);
	if (!end || *end)
		return false;
	made = timegm(&at);
	strftime(again, sizeof again, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&made, &at));
	*out = made;
	return strcmp(again, text) == 0; /* one way of writing each: no 31st of February, no short year */
}

static bool siwe_number(struct siwe_lines *l, const char *begin, int64_t *out)
{
	char text[24];
	long n;

	if (!siwe_take(l, begin, "", text, sizeof text) || text[strspn(text, "0123456789")] || *text == '0' ||
		str_to_long(text, 1, 1L << 53, &n))
		return false;
	*out = n;
	return true;
}

static bool siwe_nonce(struct siwe_lines *l, char out[SIWE_NONCE])
{
	return siwe_take(l, "Nonce: ", "", out, SIWE_NONCE) && strlen(out) >= 8 &&
		!out[strspn(out, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

int siwe_read(const char *text, size_t len, struct siwe *out, struct fail *why)
{
	struct siwe s = { .chain = 0 };
	struct siwe_lines l;
	char none[2];
	const char *bad = NULL;
	int rc = siwe_split(text, len, &l, why);

	if (rc)
		return rc;
	if (!siwe_take(&l, "", SIWE_WANTS, s.domain, sizeof s.domain) || !*s.domain)
		bad = "its first line";
	else if (!siwe_take(&l, "", "", s.address, sizeof s.address) || !siwe_take(&l, "", "", none, 1))
		bad = "the line of its address";
	else if (!siwe_take(&l, "", "", s.statement, sizeof s.statement) ||
		(*s.statement && !siwe_take(&l, "", "", none, 1)))
		bad = "its statement";
	else if (!siwe_take(&l, "URI: ", "", s.uri, sizeof s.uri) || !*s.uri)
		bad = "'URI:'";
	else if (!siwe_take(&l, "Version: 1", "", none, 1))
		bad = "'Version:'";
	else if (!siwe_number(&l, "Chain ID: ", &s.chain))
		bad = "'Chain ID:'";
	else if (!siwe_nonce(&l, s.nonce))
		bad = "'Nonce:'";
	else if (!siwe_time(&l, "Issued At: ", &s.issued))
		bad = "'Issued At:'";
	else if (!siwe_time(&l, "Expiration Time: ", &s.expires))
		bad = "'Expiration Time:'";
	else if (l.next)
		bad = "its end";
	if (bad)
		return fail_set(why, -EINVAL, "the text is not as the market made it: look at %s", bad);
	*out = s;
	return 0;
}

int siwe_same(const struct siwe *given, const struct siwe *s, struct fail *why)
{
	if (strcmp(given->domain, s->domain) != 0)
		return fail_set(why, -EINVAL, "the text was signed for '%.100s', not for this market, '%.100s'",
			s->domain, given->domain);
	if (strcmp(given->address, s->address) != 0)
		return fail_set(why, -EINVAL, "the text names the address '%.60s'; it was made for '%.60s'", s->address,
			given->address);
	if (strcmp(given->nonce, s->nonce) != 0)
		return fail_set(why, -EINVAL, "the text has another nonce");
	if (given->issued != s->issued || given->expires != s->expires)
		return fail_set(why, -EINVAL, "the text has other times than the market wrote");
	if (strcmp(given->statement, s->statement) != 0 || strcmp(given->uri, s->uri) != 0 || given->chain != s->chain)
		return fail_set(why, -EINVAL, "the text says something else than the market wrote");
	return 0;
}
