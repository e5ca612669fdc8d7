/* SPDX-License-Identifier: Apache-2.0 */
/* Money and prices: what is taken, what is refused, and that no sum goes round the end. */
#include <errno.h>

#include "../lib/tap.h"
#include "market/money.h"

static void typed(void)
{
	static const struct { const char *text; int64_t micros;
	} good[] = {
		{ "12", 12000000 },
		{ "$12.50", 12500000 },
		{ "0.000001", 1 },
		{ "0", 0 },
		{ "007.5", 7500000 },
		{ "$0", 0 },
		{ "9223372036854.775807", INT64_MAX },
	};
	static const char *const bad[] = { "", "$", "12abc", "-1", "+1", "1.", ".5", "1,000", " 1", "1 ", "1e3", "0x10",
		"$$1", "1.0000000", "nan", "1.2.3", "99999999999999999999999999x" };
	struct fail f;
	int64_t n;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		n = -1;
		ok(money_parse(good[i].text, &n, NULL) == 0 && n == good[i].micros, "'%s' is %" PRId64, good[i].text,
			n);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		n = 77;
		f = (struct fail){ 0 };
		ok(money_parse(bad[i], &n, &f) == -EINVAL && n == 77 && *f.text, "'%s' is refused: %s", bad[i], f.text);
	}
	n = 77;
	is_int(money_parse("9223372036854.775808", &n, NULL), -ERANGE, "one more than there is room for");
	is_int(money_parse("99999999999999999999", &n, NULL), -ERANGE, "far more");
	is_int(money_parse("18446744073710", &n, NULL), -ERANGE, "what would come round in 64 bits");
	is_int(n, 77, "nothing is written where it is refused");
	has_str((money_parse("12abc", &n, &f), f.text), "12abc", "the sentence has what was typed");
}

static void wire(void)
{
	static const int64_t round[] = { 0, 1, -1, 12500000, INT64_MAX, -INT64_MAX, 999999, -1000000 };
	char room[MONEY_TEXT];
	int64_t n;

	for (size_t i = 0; i < sizeof round / sizeof *round; i++) {
		n = 5;
		ok(money_parse_wire(money_wire(round[i], room), true, &n) == 0 && n == round[i], "%s comes back", room);
	}
	is_str(money_wire(-12500000, room), "-12.500000", "six places");
	is_str(money_wire(INT64_MIN, room), "-9223372036854.775808", "the smallest of all is written too");
	is_int(money_parse_wire("-1.000000", false, &n), -EINVAL, "negative only where it may be");
	is_int(money_parse_wire("1", true, &n), -EINVAL, "without a point");
	is_int(money_parse_wire("1.0000001", true, &n), -EINVAL, "finer than a micro-dollar");
	is_int(money_parse_wire("--1.0", true, &n), -EINVAL, "two signs");
	is_str(money_text(1234500000, room), "$1,234.50", "for people");
	is_str(money_text(-60, room), "-$0.00006", "more than cents where there is more");
	is_str(money_cents(998944999, room), "$998.94", "to the nearest cent");
	is_str(money_cents(-998945000, room), "-$998.95", "below zero too");
	is_str(money_cents(83300, room), "$0.08", "of little");
	is_str(money_cents(9999, room), "$0.009999", "less than a cent is not nothing");
	is_str(money_cents(INT64_MIN, room), "-$9,223,372,036,854.775808", "the least");
	is_str(money_text(INT64_MAX, room), "$9,223,372,036,854.775807", "the largest");
	is_str(money_text(999000000, room), "$999.00", "no comma before the first digit");
}

static void prices(void)
{
	char room[MONEY_TEXT];
	struct fail f;
	int64_t p = 0;
	bool exact = false;

	ok(price_parse_wire("14.940000", &p, &exact) == 0 && p == 249000 && exact, "a price on the grid");
	is_str(price_wire(p, room), "14.940000", "and back");
	ok(price_parse_wire("0.000090", &p, &exact) == 0 && p == 2 && !exact, "half a step goes up, and says so");
	ok(price_parse_wire("0.000089", &p, &exact) == 0 && p == 1 && !exact, "less goes down");
	ok(price_parse_wire("0.0000600000000", &p, &exact) == 0 && p == 1 && exact,
		"zeros beyond the sixth place are nothing");
	ok(price_parse_wire("0.0000600000001", &p, &exact) == 0 && p == 1 && !exact,
		"anything else there is not exact");
	is_int(price_parse_wire("5", &p, &exact), -EINVAL, "a price on the wire has a point");
	is_int(price_parse_wire("-1.0", &p, &exact), -EINVAL, "and is not negative");
	ok(price_parse("2.10", 8, &p, &f) == 0 && p == 280000, "2.10 per GPU-hour, 8 of them: %" PRId64, p);
	is_str(price_text(p, 8, room), "2.10", "and back");
	is_str(price_text(p, 0, room), "16.80", "per node-hour");
	ok(price_parse("0.000010", 7, &p, NULL) == 0 && p == 1, "to the nearest step, down (1.17)");
	ok(price_parse("0.000015", 6, &p, NULL) == 0 && p == 2, "and up (1.5)");
	is_int(price_parse("0.000001", 1, &p, &f), -ERANGE, "less than half a step is no price");
	ok(price_parse("2.20", 8, &p, NULL) == 0 && p == 293333, "2.20 is between two steps with 8 GPUs");
	is_str(price_text(p, 8, room), "2.20", "and is shown as it was typed");
	is_str(price_text(p + 1, 8, room), "2.200005", "the step above it is not");
	is_str(price_about(p + 1, 8, room), "2.20", "but about that");
	is_str(price_about(p + 2, 8, room), "2.20001", "two steps are told");
	is_int(price_parse("12abc", 8, &p, &f), -EINVAL, "12abc is not a price");
	has_str(f.text, "GPU-hour", "the sentence says the unit");
	is_int(price_parse("9000000000000", 1024, &p, &f), -ERANGE, "a price that times the GPUs does not fit");
	is_str(price_wire(INT64_MAX, room), "553402322211286.548420",
		"the largest price is written without going round");
	is_str(price_text(1, 7, room), "0.00001", "as short as reads back the same");
}

static void sums(void)
{
	int64_t n = 7;

	ok(money_add(INT64_MAX, 1, &n) == -ERANGE && n == 7, "a sum too large is refused");
	ok(money_add(INT64_MIN, -1, &n) == -ERANGE && n == 7, "and one too small");
	ok(money_mul(INT64_MAX / 2, 3, &n) == -ERANGE && n == 7, "a product too large");
	ok(money_cost(249000, 2, 1440, &n) == 0 && n == 717120000, "two nodes for a day");
	ok(money_cost(INT64_MAX, 0, INT64_MAX, &n) == 0 && n == 0, "nothing times anything is nothing");
	ok(money_cost(1, INT64_MAX, 2, &n) == -ERANGE, "node-minutes that do not fit");
	is_int(money_cost(-1, 1, 1, &n), -ERANGE, "no negative price");
}

int main(void)
{
	typed();
	wire();
	prices();
	sums();
	return done();
}
