/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of several logs come out by time, in each log's own order, and no flood takes all memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/logs/logmerge.h"
#include "../../lib/tap.h"

static void add(struct logmerge *m, size_t source, int64_t us, int64_t came, const char *text)
{
	if (logmerge_add(m, source, us, 1000, came, -1, text, strlen(text)))
		abort();
}

static const char *all(struct logmerge *m, int64_t before)
{
	static char said[256];
	struct logline l;
	size_t n = 0;

	said[0] = '\0';
	while (logmerge_next(m, before, &l)) {
		n += (size_t)snprintf(said + n, sizeof said - n, "%s", l.text);
		free(l.text);
	}
	return said;
}

static void order(void)
{
	struct logmerge *m;

	logmerge_new(3, &m);
	add(m, 0, 10, 1, "a");
	add(m, 0, 30, 1, "c");
	add(m, 1, 20, 2, "b");
	add(m, 2, 30, 2, "d");
	add(m, 1, 40, 2, "e");
	is_str(all(m, INT64_MAX), "abcde", "by time, then by coming");
	add(m, 0, 35, 3, "f");
	add(m, 0, 5, 3, "g");
	add(m, 0, 36, 3, "h");
	is_str(all(m, INT64_MAX), "fgh", "a clock that was set back changes no order within a source");
	add(m, 1, 50, 4, "i");
	add(m, 1, 0, 4, "j");
	add(m, 2, 51, 4, "k");
	is_str(all(m, INT64_MAX), "ijk", "a line without a time stays with the one before it");
	logmerge_free(m);
}

static void holding(void)
{
	struct logmerge *m;

	logmerge_new(2, &m);
	add(m, 0, 100, 50, "late");
	is_str(all(m, 49), "", "it waits for older ones");
	add(m, 1, 90, 60, "early ");
	is_str(all(m, 55), "", "an older one that came later has to wait too");
	is_str(all(m, 60), "early late", "and then both leave in order");
	ok(logmerge_count(m) == 0, "none is left");
	add(m, 0, 1, 1, "freed with it");
	logmerge_free(m);
}

static void flood(void)
{
	enum { SIZE = 1 << 20 };
	char *big = calloc(1, SIZE + 1);
	struct logmerge *m;
	struct logline l;
	int left = 0;

	memset(big, 'x', SIZE);
	logmerge_new(1, &m);
	for (int i = 0; i < 70; i++)
		add(m, 0, i + 1, 100, big);
	while (logmerge_next(m, 0, &l)) {
		free(l.text);
		left++;
	}
	ok(left == 6 && logmerge_count(m) == 64, "beyond 64 MiB the oldest leave early (%d)", left);
	ok(logmerge_overflowed(m), "and that is told");
	logmerge_free(m);
	free(big);
}

int main(void)
{
	order();
	holding();
	flood();
	return done();
}
