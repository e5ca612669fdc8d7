/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the machine itself: disk, clock, the way to the market, drivers that can make nodes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "agentd/driver.h"
#include "agentd/machine/speed.h"
#include "agentd/machine/verify/verify_part.h"
#include "agentd/os/confine.h"

enum { DISK_LEAST = 50, MEGA = 1000 * 1000, CLOCK_MOST = 5, CONNECT_MS = 5000, FAR = 500 * 1000 };

static const int64_t usual_bytes = 256 << 20, least_bytes = 16 << 20;

static void verify_judge_disk(struct claim *r, const struct speed *s, bool direct, int64_t bytes)
{
	verify_put(r, s, MEGA, "MB/s");
	snprintf(r->method, sizeof r->method, "one file in sequence, 1 MiB at a time, with fdatasync%s",
		direct ? ", O_DIRECT" : "");
	if (r->value < DISK_LEAST)
		verify_fail(r, "put '--data' on a faster disk", "an offer needs at least %d MB/s", DISK_LEAST);
	else
		verify_say(r, "%" PRId64 " MiB, %s", bytes >> 20,
			direct ? "past the page cache" : "through the page cache: no O_DIRECT on this file system");
}

/* Nobody sells these, so none is too slow; a database or a build feels them more than large files. */
static void verify_disk_small(const struct verify_setup *s, int64_t bytes, struct claim *list, int *count)
{
	struct claim *r = verify_begin(list, count, "disk random");
	struct speed reads, sync;
	struct fail why = { 0 };
	bool direct;

	if (speed_disk_small(s->data, bytes, &reads, &sync, &direct, &why)) {
		verify_fail(r, "make '--data' a folder that this user can write to", "%s", why.text);
		return;
	}
	verify_put(r, &reads, 1, "reads/s");
	verify_say(r, "4 KiB at random places, one after the other");
	snprintf(r->method, sizeof r->method, "half a second a run, in %" PRId64 " MiB%s", bytes >> 20,
		direct ? ", O_DIRECT" : ", through the page cache");
	r = verify_begin(list, count, "disk fsync");
	verify_put(r, &sync, 1, "us");
	verify_say(r, "until 4 KiB are safe on the disk");
	snprintf(r->method, sizeof r->method, "the median of 30 writes with fdatasync a run");
}

void verify_disk(const struct verify_setup *s, struct claim *list, int *count)
{
	int64_t bytes = s->disk_bytes > 0 ? s->disk_bytes : usual_bytes;
	struct claim *r = verify_begin(list, count, "disk write");
	struct speed write, read;
	struct fail why = { 0 };
	struct statvfs v;
	bool direct;

	if (!s->data) {
		verify_skip(r, "no folder given");
		return;
	}
	if (statvfs(s->data, &v) == 0 && (int64_t)((uint64_t)v.f_bavail * v.f_frsize / 10) < bytes)
		bytes = (int64_t)((uint64_t)v.f_bavail * v.f_frsize / 10);
	if (bytes < least_bytes && s->disk_bytes <= 0) {
		verify_fail(r, "free disk space: 'nanopod host image list' shows images that could go",
			"not enough free space in '%s' to measure with", s->data);
		return;
	}
	if (speed_disk(s->data, bytes, &write, &read, &direct, &why)) {
		verify_fail(r, "make '--data' a folder that this user can write to", "%s", why.text);
		return;
	}
	verify_judge_disk(r, &write, direct, bytes);
	verify_judge_disk(verify_begin(list, count, "disk read"), &read, direct, bytes);
	verify_disk_small(s, bytes, list, count);
}

void verify_network(const struct verify_setup *s, struct claim *list, int *count)
{
	struct claim *r = verify_begin(list, count, "network");
	struct fail why = { 0 };
	struct speed trip;
	int rc;

	if (!s->market) {
		verify_skip(r, "this machine has not joined a market");
		return;
	}
	if (confine(&why)) { /* it is about to meet the network, in a process of its own */
		verify_fail(r, "man nanopod-agentd, under PRIVILEGES", "%s", why.text);
		return;
	}
	rc = speed_round_trip(s->market, CONNECT_MS, &trip, &why);
	if (rc == -ENOTSUP) {
		verify_skip(r, "%s", why.text);
		return;
	}
	if (rc) {
		verify_fail(r, "check DNS, route and firewall for HTTPS to the market", "%s", why.text);
		return;
	}
	verify_put(r, &trip, 1, "us");
	snprintf(r->method, sizeof r->method, "TCP connections to the market");
	if (trip.value > FAR)
		verify_fail(r, "use a nearer market, or a better line",
			"round trips to the market take longer than half a second");
	else
		verify_say(r, "round trips to the market");
}

void verify_clock(const struct verify_setup *s, struct claim *list, int *count)
{
	struct claim *r = verify_begin(list, count, "clock");
	long long off = (long long)(s->local_now - s->market_now);

	if (!s->clock_known)
		verify_skip(r, "the market did not tell its time");
	else if (llabs(off) > CLOCK_MOST)
		verify_fail(r, "timedatectl set-ntp true", "it is %lld s %s the market's", llabs(off),
			off > 0 ? "ahead of" : "behind");
	else
		verify_say(r, "within %lld s of the market's", llabs(off));
}

void verify_drivers(const struct verify_setup *s, struct claim *list, int *count)
{
	int works = 0;

	for (size_t i = 0; s->drivers && s->drivers[i]; i++) {
		const struct driver *d = s->drivers[i];
		struct fail why = { 0 };
		struct claim *r;
		unsigned holds = 0;
		char name[48];

		snprintf(name, sizeof name, "driver %.24s", d->name);
		r = verify_begin(list, count, name);
		if (d->probe(s->driver_setup, &holds, &why)) {
			verify_skip(r, "does not work here: %s", why.text);
			continue;
		}
		verify_say(r, "works%s%s%s%s", *why.text ? ": " : "", why.text,
			holds & HOLDS_NETWORK ? ", nodes have their own network" : "",
			holds & HOLDS_KERNEL ? " and their own kernel" : "");
		works++;
	}
	if (s->drivers && !works)
		verify_fail(verify_begin(list, count, "drivers"),
			"'nanopod host drivers' shows what each of them needs",
			"no driver works here: this machine cannot make nodes");
}
