/* SPDX-License-Identifier: Apache-2.0 */
/* The price of six hours: what most paid, whatever two accounts pay each other. */
#include <stdlib.h>

#include "marketd/api/np/price_week.h"
#include "../../lib/tap.h"

enum { ROUNDS = 2000 };

static double index_of(struct week_step *s)
{
	int64_t cost, minutes;

	return price_week_index(s, &cost, &minutes) ? (double)cost / (double)minutes : -1;
}

static void put(struct week_step *s, uint64_t buyer, uint64_t seller, int64_t price, int64_t minutes)
{
	if (price_week_add(s, buyer, seller, price, minutes))
		abort();
}

static void empty(struct week_step *s)
{
	free(s->pairs);
	*s = (struct week_step){ 0 };
}

static void test_few(void)
{
	struct week_step s = { 0 };

	ok(index_of(&s) == -1, "nobody traded: no price");
	put(&s, 1, 1, 900, 1000);
	ok(index_of(&s) == -1, "who buys from himself is nobody");
	put(&s, 1, 2, 100, 30);
	put(&s, 2, 1, 200, 10);
	ok(index_of(&s) == 125, "the mean of one pair, whoever sells");
	put(&s, 1, 3, 325, 40);
	ok(index_of(&s) == 225, "and of two");
	put(&s, 4, 3, 1000, 1);
	ok(index_of(&s) == 325, "of three, what the middle one paid");
	put(&s, 5, 6, INT64_MAX, 2);
	put(&s, 5, 6, 300, INT64_MAX / 300);
	put(&s, 5, 6, 300, INT64_MAX / 300);
	ok(index_of(&s) >= 125 && index_of(&s) <= 1000, "sums without room do no harm");
	empty(&s);
}

/* The rest pays 90 to 110. Two accounts pay each other anything, as often as they like. */
static void test_two(void)
{
	struct week_step s = { 0 };
	int led = 0, outside = 0;

	srand48(7);
	for (int i = 0; i < ROUNDS; i++) {
		int honest = 2 + (int)(lrand48() % 30), low = 110, high = 90;
		int64_t fake = lrand48() % 2 ? 1 : 1000000;

		for (int k = 0; k < honest; k++) {
			int price = 90 + (int)(lrand48() % 21);

			low = price < low ? price : low;
			high = price > high ? price : high;
			put(&s, (uint64_t)(10 + 2 * k), (uint64_t)(11 + 2 * k), price, 1 + lrand48() % 10000);
		}
		for (long k = lrand48() % 9; k >= 0; k--)
			put(&s, k % 2 ? 1 : 2, k % 2 ? 2 : 1, fake, 1 + lrand48() % 1000000000);
		led += index_of(&s) == (double)fake;
		outside += index_of(&s) < low || index_of(&s) > high;
		empty(&s);
	}
	is_int(led, 0, "two accounts never make the price");
	is_int(outside, 0, "it is between what others paid");
}

/* Without them it is the middle of what was paid. */
static void test_many(void)
{
	struct week_step s = { 0 };
	int below = 0;

	for (uint64_t k = 0; k < 10ULL * WEEK_PAIRS; k++)
		put(&s, 2 * k + 2, 2 * k + 3, 100 + (int64_t)(k % 100), 60);
	is_int(s.count, WEEK_PAIRS, "a bounded number of pairs is kept apart");
	ok(index_of(&s) >= 100 && index_of(&s) < 200, "and the price is what was paid");
	empty(&s);
	for (uint64_t k = 0; k < 99; k++)
		put(&s, 2 * k + 2, 2 * k + 3, 100 + (int64_t)k, 60);
	for (uint64_t k = 0; k < 99; k++)
		below += (double)(100 + k) < index_of(&s);
	is_int(below, 49, "half of them paid less, half more");
	empty(&s);
}

int main(void)
{
	test_few();
	test_two();
	test_many();
	return done();
}
