/* SPDX-License-Identifier: Apache-2.0 */
/* What is a share of a GPU, and what a slice. */
#include <stdio.h>
#include <string.h>

#include "market/share.h"

#include "../lib/tap.h"

/* "4", "1g.10gb", "-" */
static const char *read_as(const char *text)
{
	static char room[64];
	struct share s = { .parts = 99, .slice = "none" };

	if (!share_read(text, &s))
		return s.parts == 99 ? "-" : "touched";
	snprintf(room, sizeof room, "%.0u%s", s.parts, s.slice);
	return room;
}

int main(void)
{
	static const char *const wrong[] = { "", "1", "1/1", "1/17", "2/4", "1/-4", "1/4 ", "mig", "mig:", "mig:1g",
		"mig:0g.10gb", "mig:1g.0gb", "mig:1g.10gb+", "mig:1g.10gb+.all", "mig:1g.10gb+me.",
		"mig:1g.10gb+me..all", "mig:1G.10GB", "mig:12345g.10gb", "mig:1c.3g.20gb", "mig:1g.10gb me",
		"mig:1g.10gb+aaaaaaaaaaaaaaaaaaaaaaaa" };

	plan_none;
	is_str(read_as("1/4"), "4", "a quarter");
	is_str(read_as("1/16"), "16", "a sixteenth");
	is_str(read_as("mig:1g.10gb"), "1g.10gb", "a slice");
	is_str(read_as("mig:1g.24gb+me.all"), "1g.24gb+me.all", "one with an attribute");
	is_str(read_as("mig:1g.24gb-me+gfx"), "1g.24gb-me+gfx", "with two");
	is_str(read_as("mig:1g.10gb+aaaaaaaaaaaaaaaaaaaaaaa"), "1g.10gb+aaaaaaaaaaaaaaaaaaaaaaa", "the longest");
	is_str(read_as(NULL), "-", "none is neither");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		is_str(read_as(wrong[i]), "-", "'%s' is neither", wrong[i]);
	ok(share_is_slice("mig:x") && !share_is_slice("1/4") && !share_is_slice(NULL), "what is shown as a slice");
	return done();
}
