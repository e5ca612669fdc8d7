/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which lines of logs begin with a time, and those that only look like one. */
#include <string.h>
#include <time.h>

#include "cli/logs/logtime.h"
#include "../../lib/tap.h"

#define NOW ((int64_t)1795280400 * 1000000) /* 2026-11-21 17:00:00 UTC */

static void is_time(const char *line, int east, int64_t seconds, int64_t micros)
{
	int64_t us = -1;

	ok(logtime_read(line, strlen(line), NOW, east, &us) && us == seconds * 1000000 + micros, "%s", line);
	if (us != seconds * 1000000 + micros)
		diag("got %lld", (long long)us);
}

static void is_none(const char *line)
{
	int64_t us;

	ok(!logtime_read(line, strlen(line), NOW, 0, &us), "no time: '%s'", line);
}

int main(void)
{
	is_time("2026-11-21T16:59:00Z up", 0, 1795280340, 0);
	is_time("2026-11-21T16:59:00.250Z up", 3600, 1795280340, 250000);
	is_time("2026-11-21T17:59:00.5+01:00 up", 0, 1795280340, 500000);
	is_time("2026-11-21 17:59:00,007 +0100 up", 0, 1795280340, 7000);
	is_time("[2026-11-21T16:59:00.123456Z] up", 0, 1795280340, 123456);
	is_time("2026/11/21 16:59:00 nginx", 0, 1795280340, 0);
	is_time("2026-11-21 18:59:00 local", 7200, 1795280340, 0);
	is_time("<34>Nov 21 16:59:00 host sshd[1]: x", 0, 1795280340, 0);
	is_time("Nov 21 16:59:00 host sshd[1]: x", 0, 1795280340, 0);
	is_time("Nov  1 00:00:00 host x", 0, 1793491200, 0);
	is_time("Dec 31 23:59:59 last year", 0, 1767225599, 0);
	is_time("I1121 16:59:00.000001       1 main.go:1] x", 0, 1795280340, 1);
	is_time("[2026-11-21T16:59:00.123] error: slurmctld's", 0, 1795280340, 123000);
	is_time("time=\"2026-11-21T16:59:00Z\" level=info msg=\"k3s'\"", 3600, 1795280340, 0);
	is_time("ts=2026-11-21T16:59:00.5Z caller=main.go:1 level=warn", 0, 1795280340, 500000);
	is_time("2026-11-21T16:59:00.123456789Z a pod's", 0, 1795280340, 123456);
	is_none("time=then");
	is_none("");
	is_none("2026");
	is_none("2026-11-21");
	is_none("2026-13-21T16:59:00Z");
	is_none("2026-11-32T16:59:00Z");
	is_none("2026-11-21T24:59:00Z");
	is_none("Foo 21 16:59:00");
	is_none("Nov 21 16:59");
	is_none("plain words that begin otherwise");
	is_none("<34");
	return done();
}
