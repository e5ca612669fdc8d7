/* SPDX-License-Identifier: Apache-2.0 */
#include "market/money.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MICROS = 1000000, DECIMALS = 6, STEP = 60, CENT = 10000 }; /* STEP: a micro-dollar per minute is 60 per hour */

int money_add(int64_t a, int64_t b, int64_t *out)
{
	int64_t n;

	if (__builtin_add_overflow(a, b, &n))
		return -ERANGE;
	*out = n;
	return 0;
}

int money_mul(int64_t a, int64_t b, int64_t *out)
{
	int64_t n;

	if (__builtin_mul_overflow(a, b, &n))
		return -ERANGE;
	*out = n;
	return 0;
}

int money_cost(int64_t price, int64_t nodes, int64_t minutes, int64_t *out)
{
	int64_t n;

	if (price < 0 || nodes < 0 || minutes < 0)
		return -ERANGE;
	if (price == 0 || nodes == 0 || minutes == 0) /* 0 times anything fits */
		n = 0;
	else if (money_mul(nodes, minutes, &n) || money_mul(n, price, &n))
		return -ERANGE;
	*out = n;
	return 0;
}

/* ---- Reading --------------------------------------------------------------------------- */

static bool money_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct decimal {
	uint64_t micros;
	size_t places;  /* digits after the point; 0: no point */
	bool finer;     /* there were digits other than 0 after the sixth */
};

/* Digits, then optionally a point and digits, to the end of the text. */
static int read_decimal(const char *s, struct decimal *out)
{
	struct decimal d = { 0 };
	uint64_t scale = MICROS;

	if (!money_digit(*s))
		return -EINVAL;
	for (; money_digit(*s); s++)
		if (__builtin_mul_overflow(d.micros, 10u, &d.micros) ||
		    __builtin_add_overflow(d.micros, (uint64_t)(*s - '0'), &d.micros))
			return s[strspn(s, "0123456789.")] ? -EINVAL : -ERANGE;
	if (__builtin_mul_overflow(d.micros, (uint64_t)MICROS, &d.micros))
		return s[strspn(s, "0123456789.")] ? -EINVAL : -ERANGE;
	if (*s == '.') {
		for (s++; money_digit(*s); s++, d.places++) {
			scale /= 10;
			if (__builtin_add_overflow(d.micros, (uint64_t)(*s - '0') * scale, &d.micros))
				return -ERANGE;
			d.finer = d.finer || (!scale && *s != '0');
		}
		if (!d.places)
			return -EINVAL;
	}
	if (*s)
		return -EINVAL;
	if (d.micros > INT64_MAX)
		return -ERANGE;
	*out = d;
	return 0;
}

/* What a person types, with or without a dollar sign. */
static int money_read_typed(const char *text, struct decimal *d)
{
	int rc = read_decimal(text + (*text == '$'), d);

	return rc ? rc : d->places > DECIMALS ? -EDOM : 0;
}

int money_parse(const char *text, int64_t *micros, struct fail *f)
{
	struct decimal d;
	int rc = money_read_typed(text, &d);

	if (rc == -ERANGE)
		return fail_set(f, rc, "'%.60s' is too much money", text);
	if (rc == -EDOM)
		return fail_set(f, -EINVAL,
			"'%.60s' has more than six decimals: give dollars, such as 12, $12.50 or 0.000060", text);
	if (rc)
		return fail_set(f, rc, "'%.60s' is not an amount: give dollars, such as 12, $12.50 or 0.000060", text);
	*micros = (int64_t)d.micros;
	return 0;
}

int money_parse_wire(const char *text, bool negative, int64_t *micros)
{
	bool minus = negative && *text == '-';
	struct decimal d;
	int rc = read_decimal(text + minus, &d);

	if (rc)
		return rc;
	if (!d.places || d.places > DECIMALS)
		return -EINVAL;
	*micros = minus ? -(int64_t)d.micros : (int64_t)d.micros;
	return 0;
}

int price_parse_wire(const char *text, int64_t *price, bool *exact)
{
	struct decimal d;
	int rc = read_decimal(text, &d);

	if (rc)
		return rc;
	if (!d.places)
		return -EINVAL;
	if (exact)
		*exact = !d.finer && d.micros % STEP == 0;
	*price = (int64_t)((d.micros + STEP / 2) / STEP);
	return 0;
}

int price_parse(const char *text, unsigned gpus, int64_t *price, struct fail *f)
{
	const char *unit = gpus ? "GPU-hour" : "node-hour";
	struct decimal d;
	uint64_t n, steps;
	int rc = money_read_typed(text, &d);

	if (rc == -EDOM)
		return fail_set(f, -EINVAL,
			"'%.60s' has more than six decimals: give dollars per %s, such as 2.10 or $2.10", text, unit);
	if (rc == -EINVAL)
		return fail_set(f, rc, "'%.60s' is not a price: give dollars per %s, such as 2.10 or $2.10", text,
			unit);
	if (rc || __builtin_mul_overflow(d.micros, gpus ? gpus : 1u, &n) || n > INT64_MAX)
		return fail_set(f, -ERANGE, "'%.60s' is too high a price", text);
	steps = n / STEP + (n % STEP >= STEP / 2);
	if (n && !steps)
		return fail_set(f, -ERANGE, "'%.60s' is below the smallest step, $0.00006 per node-hour", text);
	*price = (int64_t)steps;
	return 0;
}

/* ---- Writing --------------------------------------------------------------------------- */

static uint64_t money_magnitude(int64_t n)
{
	return n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
}

const char *money_wire(int64_t micros, char room[MONEY_TEXT])
{
	uint64_t n = money_magnitude(micros);

	snprintf(room, MONEY_TEXT, "%s%" PRIu64 ".%06" PRIu64, micros < 0 ? "-" : "", n / MICROS, n % MICROS);
	return room;
}

/* Removes zeros at the end, but keeps cents. */
static void money_trim(char *text)
{
	size_t len = strlen(text), least = (size_t)(strchr(text, '.') - text) + 3;

	while (len > least && text[len - 1] == '0')
		text[--len] = '\0';
}

const char *money_text(int64_t micros, char room[MONEY_TEXT])
{
	uint64_t n = money_magnitude(micros);
	char whole[MONEY_TEXT], *out = room;
	size_t len = (size_t)snprintf(whole, sizeof whole, "%" PRIu64, n / MICROS);

	if (micros < 0)
		*out++ = '-';
	*out++ = '$';
	for (size_t i = 0; i < len; i++) {
		*out++ = whole[i];
		if ((len - i) % 3 == 1 && i + 1 < len)
			*out++ = ',';
	}
	snprintf(out, (size_t)(room + MONEY_TEXT - out), ".%06" PRIu64, n % MICROS);
	money_trim(room);
	return room;
}

const char *money_cents(int64_t micros, char room[MONEY_TEXT])
{
	uint64_t n = money_magnitude(micros), part = n % CENT;

	if (n < CENT || n > INT64_MAX - CENT)
		return money_text(micros, room);
	n += part >= CENT / 2 ? CENT - part : 0 - part;
	return money_text(micros < 0 ? -(int64_t)n : (int64_t)n, room);
}

const char *price_wire(int64_t price, char room[MONEY_TEXT])
{
	uint64_t n = money_magnitude(price), part = n % MICROS * STEP;

	snprintf(room, MONEY_TEXT, "%s%" PRIu64 ".%06" PRIu64, price < 0 ? "-" : "", n / MICROS * STEP + part / MICROS,
		part % MICROS);
	return room;
}

/* Rounds n to the nearest multiple of unit; leaves it near INT64_MAX. */
static uint64_t money_nearest(uint64_t n, uint64_t unit)
{
	return n > INT64_MAX ? n : (n + unit / 2) / unit * unit;
}

/* The shortest text that reads back as a price within `off` steps. */
static const char *money_shortest(int64_t price, unsigned gpus, int64_t off, char room[MONEY_TEXT])
{
	uint64_t n = money_magnitude(price), by = gpus ? gpus : 1, micros, rest, short_one;
	char text[2 * MONEY_TEXT];
	int64_t back;

	/* n * 60 / by, to the nearest, without leaving 64 bits. */
	micros = n / by * STEP;
	rest = n % by * STEP;
	micros += (rest + by / 2) / by;
	for (uint64_t unit = 10000; unit > 0; unit /= 10) {
		short_one = money_nearest(micros, unit);
		snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, short_one / MICROS, short_one % MICROS);
		if (unit == 1 || (price_parse(text, gpus, &back, NULL) == 0 && llabs(back - (int64_t)n) <= off))
			break;
	}
	money_trim(text);
	snprintf(room, MONEY_TEXT, "%s%.30s", price < 0 ? "-" : "", text);
	return room;
}

const char *price_text(int64_t price, unsigned gpus, char room[MONEY_TEXT])
{
	return money_shortest(price, gpus, 0, room);
}

const char *price_about(int64_t price, unsigned gpus, char room[MONEY_TEXT])
{
	return money_shortest(price, gpus, 1, room);
}
