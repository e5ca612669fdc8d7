/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in ring files: what was written is read again for as long as promised, whatever columns come and go. */
#include "marketd/series/ring.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "marketd/series/value16.h"

enum { BEGIN = 1795000200, DAY = 86400 }; /* BEGIN: a multiple of 5 minutes */

static char path[] = "ring.XXXXXX";

/* The test itself cannot go on. */
static __attribute__((format(printf, 1, 2), noreturn)) void ring_bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("Bail out! ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	unlink(path);
	exit(99);
}

static bool near(double a, double b)
{
	return isnan(a) ? isnan(b) : fabs(a - b) <= 0.001 * fabs(b) + 1e-9;
}

static void test_values(void)
{
	static const double some[] = { 1, 0.5, 1e-6, 37.4, 100, 1023, 65535, 80e9, 2e12 };
	unsigned worse = 0, unordered = 0;
	double last = -1;

	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		worse += !(fabs(value16_read(value16_of(some[i])) / some[i] - 1) < 0.0005);
	is_int(worse, 0, "numbers of all sizes are kept within 0.05 %%");
	is_int(value16_of(0), 0, "0 is 0");
	is_int(value16_of(-3), 0, "and so is what is below");
	ok(isnan(value16_read(value16_of(NAN))), "unknown stays unknown");
	ok(value16_read(value16_of(INFINITY)) > 8e12 && value16_read(value16_of(1e30)) > 8e12, "too much is the most");
	for (unsigned c = 0; c < VALUE16_UNKNOWN; c++) {
		double v = value16_read((uint16_t)c);

		unordered += v <= last || value16_of(v) != c;
		last = v;
	}
	is_int(unordered, 0, "a larger code is a larger number, and each number has its code");
}

static void put(int64_t time, struct ring_key key, double value)
{
	struct fail f;

	if (ring_put(path, time, &key, &value, 1, &f))
		ring_bail("%s", f.text);
}

static double read_one(struct ring_key key, int64_t from, int64_t step, double *largest)
{
	double mean = 0;
	struct fail f;

	if (ring_read(path, &key, 1, &(struct ring_span){ from, step, 1 }, &mean, largest, &f))
		ring_bail("%s", f.text);
	return mean;
}

static void test_one(void)
{
	static const struct ring_key heat = { 0, 3, 0 }, other = { 0, 4, 0 };
	double most;

	unlink(path);
	ok(isnan(read_one(heat, BEGIN, 10, &most)), "nothing is known where there is no file");
	put(BEGIN, heat, 40);
	put(BEGIN + 10, heat, 60);
	put(BEGIN + 25, heat, 50);
	ok(near(read_one(heat, BEGIN, 10, &most), 40) && near(most, 40), "a sample is read again");
	ok(near(read_one(heat, BEGIN + 20, 10, &most), 50), "under the 10 seconds that it was in");
	ok(near(read_one(heat, BEGIN, 60, &most), 50) && near(most, 60), "a minute has its mean and its largest");
	ok(isnan(read_one(heat, BEGIN + 30, 10, &most)), "what was not measured is not 0");
	ok(isnan(read_one(other, BEGIN, 10, &most)), "nor is what nobody measures");
	put(BEGIN + 20, other, 7);
	ok(near(read_one(heat, BEGIN + 20, 10, &most), 50) && near(read_one(other, BEGIN + 20, 10, &most), 7),
		"two things of the same 10 seconds may come apart");
	ok(near(read_one(heat, BEGIN, 300, &most), 50) && near(most, 60), "5 minutes are known before they are over");
	put(BEGIN + 300, heat, 10);
	ok(near(read_one(heat, BEGIN, 300, &most), 50) && near(most, 60), "and after");
	put(BEGIN + DAY, heat, 11);
	ok(isnan(read_one(heat, BEGIN, 10, &most)), "10 seconds are forgotten after a day");
	ok(near(read_one(heat, BEGIN, 300, &most), 50) && near(most, 60), "5 minutes are not");
	put(BEGIN + 90 * DAY, heat, 12);
	put(BEGIN + 89 * DAY, heat, 99);
	ok(near(read_one(heat, BEGIN + 90 * DAY, 10, &most), 12) && isnan(read_one(heat, BEGIN + 89 * DAY, 10, &most)),
		"what comes more than a day late takes nobody's place");
	ok(isnan(read_one(heat, BEGIN, 300, &most)), "but after 90 days");
	ok(near(read_one(heat, BEGIN + DAY, 300, &most), 11), "and not before");
}

/* ---- Many columns, beside a plain table ---- */

enum { THINGS = 90, STEPS = 400 };

static double table[STEPS][THINGS];
static unsigned random_at = 17;

static unsigned next_random(void)
{
	random_at = random_at * 1103515245 + 12345;
	return random_at >> 16 & 0x7fff;
}

static double table_mean(int thing, int step, int count, double *largest)
{
	double sum = 0;
	int n = 0;

	*largest = NAN;
	for (int i = step; i < step + count; i++)
		if (!isnan(table[i][thing])) {
			sum += table[i][thing];
			*largest = n++ && *largest > table[i][thing] ? *largest : table[i][thing];
		}
	return n ? sum / n : NAN;
}

static struct ring_key thing_key(int t)
{
	return (struct ring_key){ (uint64_t)t / 9 << 40, 1 + (uint32_t)t % 3, (uint32_t)t / 3 % 3 };
}

static void all_at_once(void)
{
	enum { COUNT = STEPS / 30 };
	struct ring_key keys[THINGS];
	double mean[THINGS * COUNT], most[THINGS * COUNT], largest;
	unsigned wrong = 0;
	struct fail f;

	for (int t = 0; t < THINGS; t++)
		keys[t] = thing_key(t);
	if (ring_read(path, keys, THINGS, &(struct ring_span){ BEGIN, 300, COUNT }, mean, most, &f))
		ring_bail("%s", f.text);
	for (int t = 0; t < THINGS; t++)
		for (int i = 0; i < COUNT; i++)
			wrong += !near(mean[t * COUNT + i], table_mean(t, i * 30, 30, &largest)) ||
				!near(most[t * COUNT + i], largest);
	is_int(wrong, 0, "all columns read at once have the same");
}

static void test_many(void)
{
	struct ring_key keys[THINGS];
	double values[THINGS], mean[STEPS], most[STEPS], expected;
	unsigned wrong = 0, asked = 0;
	struct fail f;

	unlink(path);
	for (int s = 0; s < STEPS; s++) {
		size_t n = 0;
		int things = 1 + s * THINGS / STEPS; /* their number grows, so columns are added, and rows moved */

		for (int t = 0; t < THINGS; t++)
			table[s][t] = NAN;
		for (int t = 0; t < things; t++)
			if (next_random() % 4) {
				keys[n] = thing_key(t);
				values[n++] = table[s][t] = next_random() % 1000;
			}
		for (size_t i = n; i > 1; i--) { /* in any order */
			size_t j = next_random() % i;
			struct ring_key k = keys[j];
			double v = values[j];

			keys[j] = keys[i - 1];
			values[j] = values[i - 1];
			keys[i - 1] = k;
			values[i - 1] = v;
		}
		if (ring_put(path, BEGIN + s * 10, keys, values, n, &f))
			ring_bail("%s", f.text);
	}
	for (int t = 0; t < THINGS; t++) {
		static const int steps[] = { 10, 60, 300 };
		struct ring_key key = thing_key(t);

		for (int k = 0; k < 3; k++) {
			int per = steps[k] / 10, count = STEPS / per;

			if (ring_read(path, &key, 1, &(struct ring_span){ BEGIN, steps[k], (size_t)count }, mean, most,
				    &f))
				ring_bail("%s", f.text);
			for (int i = 0; i < count; i++, asked++) {
				double largest, m = table_mean(t, i * per, per, &largest);

				expected = m;
				wrong += !near(mean[i], expected) || !near(most[i], largest);
			}
		}
	}
	all_at_once();
	ok(asked > 40000, "%u answers asked for", asked);
	is_int(wrong, 0, "each is as in a plain table");
}

/* ---- What does not end well ---- */

static void test_churn(void)
{
	static const struct ring_key stays = { 1, 1, 0 };
	unsigned refused = 0;
	double most;
	struct fail f;

	unlink(path);
	for (uint64_t i = 0; i < 3 * RING_COLUMNS_MAX; i += 512) { /* each thing lives a month */
		struct ring_key keys[513] = { stays };
		double values[513] = { (double)i };

		for (uint64_t k = 0; k < 512; k++) {
			keys[k + 1] = (struct ring_key){ 1000 + i + k, 1, 0 };
			values[k + 1] = 5;
		}
		refused += ring_put(path, BEGIN + (int64_t)(i / 512) * 30 * DAY, keys, values, 513, &f) != 0;
	}
	is_int(refused, 0, "things that are gone for 90 days make room for others");
	ok(near(read_one(stays, BEGIN + (3 * RING_COLUMNS_MAX / 512 - 1) * 30L * DAY, 10, &most),
		   3 * RING_COLUMNS_MAX - 512),
		"and what stays is still known");
}

static void test_full(void)
{
	enum { MANY = RING_COLUMNS_MAX - 8 };
	struct ring_key *keys = calloc(MANY, sizeof *keys);
	double *values = calloc(MANY, sizeof *values), most;
	struct fail f = { 0 };

	if (!keys || !values)
		ring_bail("out of memory");
	for (uint32_t i = 0; i < MANY; i++)
		keys[i] = (struct ring_key){ 7, 1, i };
	unlink(path);
	is_int(ring_put(path, BEGIN, keys, values, MANY, &f), 0, "as many columns as there may be");
	for (uint32_t i = 0; i < MANY; i++)
		keys[i].id = 8;
	ok(ring_put(path, BEGIN + 10, keys, values, MANY, &f) < 0, "twice as many at once are refused");
	has_str(f.text, "No space left", "with the reason");
	ok(near(read_one((struct ring_key){ 7, 1, 5 }, BEGIN, 10, &most), 0), "and what was there stays");
	free(keys);
	free(values);
}

static void test_broken(void)
{
	static const struct ring_key heat = { 0, 3, 0 };
	static const char *const heads[] = { "", "n", "npring1\n", "npring1\n\xff\xff\xff\xff\xff\xff\xff\xff",
		"npring1\n\x20\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0", "SQLite format 3" };
	unsigned bad = 0;
	double most;

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (fd < 0 || write(fd, heads[i], i == 4 ? 24 : strlen(heads[i])) < 0 || close(fd) < 0)
			ring_bail("cannot write '%s'", path);
		bad += !isnan(read_one(heat, BEGIN, 10, &most));
		put(BEGIN, heat, 40);
		bad += !near(read_one(heat, BEGIN, 10, &most), 40);
	}
	is_int(bad, 0, "a file that is none of ours begins anew");
}

static void test_size(void)
{
	static const struct ring_key heat = { 0, 3, 0 };
	struct stat a, b;
	off_t most;

	unlink(path);
	for (int i = 0; i < 3 * RING_ROWS; i += 7)
		put(BEGIN + (int64_t)i * 10, heat, i);
	if (stat(path, &a) < 0)
		ring_bail("no '%s'", path);
	for (int d = 0; d < 400; d++)
		put(BEGIN + (int64_t)d * DAY, heat, d);
	if (stat(path, &b) < 0)
		ring_bail("no '%s'", path);
	most = 32 * 16 + 24 + (4 + 2 * 32) * RING_ROWS + (4 + 4 * 32) * (off_t)RING_COARSE_ROWS;
	ok(a.st_size <= most && b.st_size <= most, "more than a year does not make the file larger than its 90 days");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		ring_bail("cannot make '%s'", path);
	close(fd);
	test_values();
	test_one();
	test_many();
	test_churn();
	test_full();
	test_broken();
	test_size();
	unlink(path);
	return done();
}
