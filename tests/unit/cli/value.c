/* SPDX-License-Identifier: Apache-2.0 */
/* Text into numbers, sizes, durations: what is taken, what is refused, what is never rounded. */
#include "../../lib/tap.h"

#include "cli/frame/value.h"

static void durations(void)
{
	static const struct { const char *text; int64_t ms;
	} good[] = {
		{ "90m", 5400000 },
		{ "24h", 86400000 },
		{ "1d12h", 129600000 },
		{ "2w", 1209600000 },
		{ "1.5h", 5400000 },
		{ "250ms", 250 },
		{ "1h30m", 5400000 },
		{ "0.5s", 500 },
		{ "1m30s", 90000 },
		{ "1s500ms", 1500 },
		{ "0h5m", 300000 },
	};
	static const char *const bad[] = {
		"",
		"90",
		"0",
		"0s",
		"-5m",
		"+5m",
		"5 m",
		"5mx",
		"m",
		"1.h",
		".5h",
		"1..5h",
		"1.5.5h",
		"1h1h",
		"1m1h",
		"1.0001s",
		"5M",
		"1e3s",
		"99999999999999999999w",
		"9999999w",
		"1h 30m",
		"inf",
		"nan",
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		int64_t ms = -1, again = -1;
		char room[64];

		is_int(value_duration(good[i].text, &ms, NULL) ? -1 : ms, good[i].ms, "'%s' is a duration",
			good[i].text);
		value_show_duration(ms, room, sizeof room);
		is_int(value_duration(room, &again, NULL) ? -1 : again, ms, "shown as '%s' it reads back", room);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct fail f = { 0 };
		int64_t ms = 77;

		ok(value_duration(bad[i], &ms, &f) < 0 && ms == 77, "'%s' is no duration, and nothing is changed",
			bad[i]);
		has_str(f.text, "try 90s", "and the forms are named");
	}
}

static void sizes(void)
{
	static const struct { const char *text; uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "64k", 65536 },
		{ "1.5M", 1572864 },
		{ "2GiB", 2147483648 },
		{ "1T", 1099511627776 },
		{ "10b", 10 },
		{ "3KB", 3072 },
	};
	static const char *const bad[] = { "", "k", "-1", "1.5", "1.0001k", "12q", "1kk", "1Gi", "1 k", "99999999999G",
		"18446744073709551616" };

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		uint64_t bytes = 1;

		is_int(value_size(good[i].text, &bytes, NULL), 0, "'%s' is a size", good[i].text);
		is_int((intmax_t)bytes, (intmax_t)good[i].bytes, "of so many bytes");
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		uint64_t bytes = 77;

		ok(value_size(bad[i], &bytes, NULL) < 0 && bytes == 77, "'%s' is none", bad[i]);
	}
}

static void others(void)
{
	struct fail f = { 0 };
	bool b = false;
	size_t at = 9;
	long n = 9;

	ok(value_int("12abc", 0, 100, &n, &f) < 0 && n == 9, "12abc is no number");
	ok(value_int("101", 0, 100, &n, &f) < 0, "too large");
	has_str(f.text, "between 0 and 100", "and it says what fits");
	ok(value_bool("yes", &b, NULL) == 0 && b && value_bool("0", &b, NULL) == 0 && !b, "truth has several names");
	ok(value_bool("maybe", &b, NULL) < 0, "maybe is not one");
	ok(value_enum("b", "a|b|c", &at, NULL) == 0 && at == 1, "a word by its place");
	ok(value_enum("", "a|b|c", &at, NULL) < 0 && value_enum("a|b", "a|b|c", &at, NULL) < 0,
		"parts of the list are no words");
}

int main(void)
{
	plan_none;
	durations();
	sizes();
	others();
	return done();
}
