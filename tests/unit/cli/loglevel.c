/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which lines of logs say how bad they are. */
#include <string.h>

#include "cli/logs/loglevel.h"
#include "cli/logs/logtime.h"
#include "../../lib/tap.h"

static void is_level(const char *line, int want)
{
	int64_t us;
	size_t len = strlen(line);
	int got = loglevel_read(line, len, logtime_parse(line, len, (int64_t)1795280400 * 1000000, 0, &us));

	ok(got == want, "%d: '%s'", want, line);
	if (got != want)
		diag("got %d", got);
}

int main(void)
{
	is_level("[2026-11-21T10:00:00.123] error: Node n3 not responding", 3);
	is_level("[2026-11-21T10:00:00.123] fatal: cannot find cgroup plugin", 2);
	is_level("[2026-11-21T10:00:00.123] debug2: x", 7);
	is_level("[2026-11-21T10:00:00.123] slurmctld version 22.05.8 started", -1);
	is_level("I1121 10:00:00.123456       1 main.go:1] x", 6);
	is_level("W1121 10:00:00.123456       1 main.go:1] x", 4);
	is_level("E1121 10:00:00.123456       1 main.go:1] x", 3);
	is_level("F1121 10:00:00.123456       1 main.go:1] x", 2);
	is_level("time=\"2026-11-21T10:00:00Z\" level=error msg=\"no\"", 3);
	is_level("time=\"2026-11-21T10:00:00Z\" level=warning msg=\"error: no\"", 4);
	is_level("ts=2026-11-21T10:00:00Z caller=x level=debug", 7);
	is_level("{\"level\":\"warn\",\"ts\":\"2026-11-21T10:00:00Z\"}", 4);
	is_level("2026-11-21 10:00:00 +0000 Error:     munged's", 3);
	is_level("2026-11-21 10:00:00,123\tWARNING ray's", 4);
	is_level("[2026-11-21 10:00:00,123 E 12 12] raylet's", 3);
	is_level("2026-11-21T10:00:00Z errors were seen", -1);
	is_level("<3>Nov 21 10:00:00 host x: y", 3);
	is_level("<30>x", 6);
	is_level("slurmstepd: x", -1);
	is_level("error: without a time", 3);
	is_level("[WARN] without a time", 4);
	is_level("error without a mark", -1);
	is_level("  error: belongs to the one before", -1);
	is_level("", -1);
	is_level("Info", -1);
	return done();
}
