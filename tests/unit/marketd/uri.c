/* SPDX-License-Identifier: Apache-2.0 */
/* Targets of requests, good and bad; and the buckets that count who asks too often. */
#include <errno.h>

#include "marketd/http/limit.h"
#include "marketd/http/uri.h"

#include "../../lib/tap.h"

static void good(const char *raw, const char *path, const char *query)
{
	struct uri u = { 0 };
	char told[512] = "";
	size_t at = 0;

	if (!ok(uri_parse(raw, &u) == 0, "'%s' is taken", raw))
		return;
	is_str(u.path, path, "its path");
	for (size_t i = 0; i < u.query_count; i++)
		at += (size_t)snprintf(told + at, sizeof told - at, "%s=%s;", u.query[i].name, u.query[i].value);
	is_str(told, query, "its query");
	uri_release(&u);
}

static void bad(const char *raw, int rc)
{
	struct uri u = { 0 };

	is_int(uri_parse(raw, &u), rc, "'%.60s' is refused", raw);
	ok(!u.room, "and nothing is made");
}

static void test_uri(void)
{
	char text[9100];

	good("/", "/", "");
	good("/v2/pools/sfc:pool:a:default:b", "/v2/pools/sfc:pool:a:default:b", "");
	good("/v2/pools?limit=5&tag=a%3Db&tag=c", "/v2/pools", "limit=5;tag=a=b;tag=c;");
	good("/a?x&y=&&z=1=2", "/a", "x=;y=;z=1=2;");
	good("/a?q=a+b%2Bc", "/a", "q=a b+c;");
	good("/%C3%A9?%C3%A9=%E2%82%AC", "/\xc3\xa9", "\xc3\xa9=\xe2\x82\xac;");
	good("/a+b", "/a+b", "");
	bad("", -EINVAL);
	bad("v2", -EINVAL);
	bad("http://x/", -EINVAL);
	bad("*", -EINVAL);
	bad("/a%", -EINVAL);
	bad("/a%2", -EINVAL);
	bad("/a%zz", -EINVAL);
	bad("/a%00b", -EINVAL);
	bad("/a%2fb", -EINVAL);
	bad("/a%0ab", -EINVAL);
	bad("/a#b", -EINVAL);
	bad("/?a=%ff", -EINVAL);
	bad("/?a=%c0%af", -EINVAL);
	bad("/?a=%ed%a0%80", -EINVAL);
	bad("/?a=%f4%90%80%80", -EINVAL);
	bad("/?a=%e2%82", -EINVAL);
	memset(text, 'a', sizeof text);
	text[0] = '/';
	text[4200] = '\0';
	bad(text, -E2BIG);
	text[4200] = 'a';
	text[10] = '?';
	text[9000] = '\0';
	bad(text, -E2BIG);
	memset(text, '&', 300);
	for (int i = 2; i < 200; i += 2)
		text[i] = 'a';
	memcpy(text, "/?", 2);
	text[200] = '\0';
	bad(text, -E2BIG);
}

static void test_limit(void)
{
	struct limit *l;
	int retry = 0, took = 0;

	if (limit_new(&l, 10, 20) != 0)
		return;
	for (int i = 0; i < 50; i++)
		took += limit_take(l, 7, 1000, &retry);
	is_int(took, 20, "a burst is taken, and no more");
	ok(retry >= 1, "and when to come back is told (%d s)", retry);
	took = 0;
	for (int i = 0; i < 50; i++)
		took += limit_take(l, 7, 1500, &retry);
	is_int(took, 5, "half a second later, half of a second's share");
	ok(limit_take(l, 8, 1500, &retry), "another key has its own");
	took = 0;
	for (int i = 0; i < 50; i++)
		took += limit_take(l, 7, 1000000, &retry);
	is_int(took, 20, "a long pause gives one burst");
	took = 0;
	for (int i = 0; i < 50; i++)
		took += limit_take(l, 7, 999000, &retry);
	is_int(took, 0, "a clock that goes back gives none");
	for (uint64_t key = 100; key < 100000; key++)
		limit_take(l, key, 1000000, &retry);
	ok(limit_take(l, 100, 1000000, &retry), "a hundred thousand keys fit, if not all are remembered");
	limit_free(l);
	if (limit_new(&l, -1, -2) != 0)
		return;
	took = 0;
	for (int i = 0; i < 50; i++)
		took += limit_take(l, 7, 1000, &retry);
	is_int(took, 50, "where there is no limit, all is taken");
	limit_free(l);
}

int main(void)
{
	test_uri();
	test_limit();
	return done();
}
