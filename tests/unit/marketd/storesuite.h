/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the stores' suite share: which store it is, where the next one is made, its opening. */
#ifndef TESTS_STORESUITE_H
#define TESTS_STORESUITE_H

#include "../../lib/tap.h"
#include "../../lib/tool.h"
#include "storemake.h"

struct kind {
	const char *name;
	int (*open)(const char *where, struct store **out, struct fail *f);
	const char *place;         /* how the name of a new, empty one begins */
};

static const struct kind *kind;
static int place_number;
static struct fail f;

static const char *new_place(void)
{
	static char room[4][400];
	char *place = room[++place_number % 4];

	snprintf(place, sizeof room[0], "%s/%s-%d.db", tool_dir, kind->place, place_number);
	return place;
}

static struct store *open_at(const char *place)
{
	struct store *s = NULL;

	if (kind->open(place, &s, &f)) {
		diag("'%s' does not open: %s", place, f.text);
		exit(1);
	}
	return s;
}

static struct store *writer_at(const char *place)
{
	struct store *s = open_at(place);

	if (s->calls->fence(s, &f)) {
		diag("no lease: %s", f.text);
		exit(1);
	}
	return s;
}

#define CALL(s, call, ...) ((s)->calls->call((s), __VA_ARGS__))

#endif
