/* SPDX-License-Identifier: Apache-2.0 */
/* lib/base/table.c, compared with a plain array. */
#include "base/table.h"

#include "../lib/tap.h"

enum { KEYS = 3000 };

static const char *key(int i)
{
	static char text[32];

	snprintf(text, sizeof text, "key%d", i);
	return text;
}

static void test_basics(void)
{
	struct table t;
	char name[] = "name";
	int one, two;

	table_init(&t);
	ok(!table_get(&t, "x"), "an empty table has nothing");
	ok(!table_remove(&t, "x"), "and gives nothing away");
	is_int(table_set(&t, name, &one), 0, "a key is set");
	name[0] = 'g';
	ok(table_get(&t, "name") == &one, "the key was copied");
	ok(!table_get(&t, "game"), "a key that was not set");
	is_int(table_set(&t, "name", &two), 0, "set again");
	ok(table_get(&t, "name") == &two && t.count == 1, "replaces");
	is_int(table_set(&t, "", &one), 0, "the empty text is a key too");
	ok(table_get(&t, "") == &one, "and is found");
	ok(table_remove(&t, "name") == &two && !table_get(&t, "name") && t.count == 1, "removed");
	table_release(&t);
	ok(!t.count && !t.cap && !table_get(&t, ""), "released: empty, and may be used again");
	is_int(table_set(&t, "a", &one), 0, "as here");
	table_release(&t);
}

/* After each of many random steps, the table equals the array. */
static void test_random(void)
{
	static char there[KEYS];
	struct table t;
	unsigned seed = 7;
	size_t at = 0, count = 0, walked = 0;
	const char *name;
	void *value;
	int wrong = 0;

	table_init(&t);
	for (int step = 0; step < 200000; step++) {
		int i;

		seed = seed * 1103515245 + 12345;
		i = (int)((seed >> 12) % KEYS);
		if ((seed >> 28) < 8) {
			wrong += table_set(&t, key(i), &there[i]) != 0;
			there[i] = 1;
		} else {
			wrong += (table_remove(&t, key(i)) != NULL) != there[i];
			there[i] = 0;
		}
		i = (i * 7 + 1) % KEYS;
		wrong += table_get(&t, key(i)) != (there[i] ? &there[i] : NULL);
	}
	is_int(wrong, 0, "200,000 random sets and removals");
	for (int i = 0; i < KEYS; i++) {
		wrong += table_get(&t, key(i)) != (there[i] ? &there[i] : NULL);
		count += there[i] != 0;
	}
	is_int(wrong, 0, "every key is where it should be");
	is_int(t.count, count, "and counted");
	while (table_next(&t, &at, &name, &value)) {
		walked++;
		wrong += table_get(&t, name) != value || there[(char *)value - there] != 1;
		there[(char *)value - there] = 2;
	}
	is_int(walked, count, "a walk meets as many");
	is_int(wrong, 0, "each once");
	at = 0;
	ok(table_next(&t, &at, NULL, NULL), "a walk may leave out what it does not want");
	table_release(&t);
}

int main(void)
{
	plan_none;
	test_basics();
	test_random();
	return done();
}
