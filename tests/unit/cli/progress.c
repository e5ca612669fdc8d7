/* SPDX-License-Identifier: Apache-2.0 */
/* The time that is left, as the progress line tells it: it never grows while hosts hang. */
#include "../../lib/tap.h"

#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/progress.h"

static const char *left_at(struct progress *p, int64_t passed)
{
	static char room[256];
	char *at;

	progress_text(p, p->began + passed, room, sizeof room);
	at = strstr(room, "about ");
	return at ? at : "";
}

int main(void)
{
	struct nanopod np = { 0 };
	struct progress p;

	progress_begin(&p, &np, 10);
	is_str(left_at(&p, 1000), "", "nobody knows before the first end");
	p.done = 5;
	is_str(left_at(&p, 20000), "about 0:20 left", "half of the hosts in 20 s");
	is_str(left_at(&p, 25000), "about 0:15 left", "the others hang: it counts down");
	is_str(left_at(&p, 39000), "about 1.9 s left", "on");
	is_str(left_at(&p, 45000), "", "overdue: it is not told");
	is_str(left_at(&p, 450000), "", "nor does it come back");
	p.done = 9;
	is_str(left_at(&p, 450000), "about 0:50 left", "before the next end");
	return done();
}
