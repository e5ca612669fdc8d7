/* SPDX-License-Identifier: Apache-2.0 */
/* The time that is left, as the progress line tells it: it never grows while hosts hang. */
#include "../../lib/tap.h"

#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"

static const char *left_at(struct progress *p, int64_t passed)
{
	static char room[256];
	char *at;

	progress_text(p, p->began + passed, room, sizeof room);
	at = strstr(room, "about ");
	return at ? at : "";
}

/* The line of a command at the terminal's width; "TOO WIDE" where it takes the last column, too. */
static const char *line_at(const char *text, size_t columns)
{
	static char room[512];

	snprintf(room, sizeof room, "%s", text);
	progress_fit(room, columns);
	return print_width(room) < columns ? room : "TOO WIDE";
}

static const char *wait_at(const char *text, const char *tail, size_t columns)
{
	static char room[512];

	progress_join(text, tail, columns, room, sizeof room);
	return print_width(room) < columns ? room : "TOO WIDE";
}

static const char *screen_of(struct progress *p, size_t columns)
{
	char room[512];

	progress_text(p, p->began + 75000, room, sizeof room);
	return line_at(room, columns);
}

static void check_run(void)
{
	struct nanopod np = { 0 };
	struct progress p;

	progress_begin(&p, &np, 1000);
	is_str(screen_of(&p, 40), "connecting, 1:15", "before any host runs it");
	p.running = 128;
	p.done = 500;
	p.failed = 12;
	is_str(screen_of(&p, 40), "128 running, 500 of 1000 done", "run at 40 columns");
	is_str(screen_of(&p, 80), "128 running, 500 of 1000 done, 12 failed, 1:15, about 1:15 left", "at 80");
	is_str(screen_of(&p, 120), "128 running, 500 of 1000 done, 12 failed, 1:15, about 1:15 left", "at 120");
	is_str(screen_of(&p, 20), "128 running", "and at 20");
}

static void check_cp(void)
{
	struct nanopod np = { 0 };
	struct progress p;

	progress_begin(&p, &np, 8);
	p.bytes = true;
	p.running = 5;
	p.done = 3;
	p.size = 10ULL << 30;
	p.moved = p.size / 4;
	p.rate = 300ULL << 20;
	p.rate_at = p.began + 74000;
	p.rate_moved = 1;
	is_str(screen_of(&p, 40), "24% 2.5 GiB of 10.0 GiB, 300 MiB/s", "cp at 40 columns");
	is_str(screen_of(&p, 80), "24% 2.5 GiB of 10.0 GiB, 300 MiB/s, 5 running, 3 of 8 done, 0 failed, 1:15",
		"at 80");
	is_str(screen_of(&p, 120),
		"24% 2.5 GiB of 10.0 GiB, 300 MiB/s, 5 running, 3 of 8 done, 0 failed, 1:15, about 0:25 left",
		"at 120");
}

static void check_wait(void)
{
	const char *phase = "1 of 3 nodes running; training-2: waiting for its start time or a host";

	setenv("LC_ALL", "C", 1);
	is_str(wait_at(phase, ", 0:46", 40), "1 of 3 nodes running; training..., 0:46",
		"wait at 40 columns keeps its time");
	is_str(wait_at(phase, ", 0:46", 80),
		"1 of 3 nodes running; training-2: waiting for its start time or a host, 0:46", "at 80");
	is_str(wait_at(phase, " (in 41 s)", 120),
		"1 of 3 nodes running; training-2: waiting for its start time or a host (in 41 s)", "at 120");
	is_str(wait_at("\xe7\xaf\x80\xe7\x82\xb9\xe7\xaf\x80\xe7\x82\xb9\xe7\xaf\x80", ", 1 s", 14),
		"\xe7\xaf\x80\xe7\x82\xb9..., 1 s", "columns are counted, not bytes");
	is_str(wait_at(phase, ", 0:46", 5), "", "a terminal without room");
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
	check_run();
	check_cp();
	check_wait();
	return done();
}
