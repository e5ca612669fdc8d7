/* SPDX-License-Identifier: Apache-2.0 */
#include "driverpromise.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/ns/net.h"
#include "agentd/os/disk.h"
#include "agentd/os/spawn.h"
#include "base/clock.h"

#include "../lib/tap.h"

enum { RATE = 80, GROW_MS = 120000, TC_MS = 20000 };

static const int64_t promised = (int64_t)2 << 30;

static bool promise_is_tried(const struct way *w)
{
	return strcmp(w->d->name, "vm") == 0;
}

void promise_give(const struct way *w, struct one *o)
{
	int64_t room = 0;

	if (!promise_is_tried(w))
		return;
	o->n.disk = promised;
	o->n.disk_taken = disk_room(w->data, &room) == 0 && room > 2 * promised;
	o->n.network_mbps = geteuid() == 0 ? RATE : 0;
}

/* The number that the command prints in the node; -1: none. */
static int64_t promise_ask(const struct way *w, const struct one *o, const char *command)
{
	struct buf out;
	int64_t n = -1;

	buf_init(&out, WAY_TEXT);
	if (one_ssh(w, o, 0, command, &out) == 0)
		n = strtoll(buf_text(&out), NULL, 10);
	buf_release(&out);
	return n;
}

static int promise_rates(const struct one *o)
{
	const char *argv[] = { "tc", "-n", NULL, "qdisc", "show", NULL };
	struct net_names names;
	struct fail f = { 0 };
	struct buf out;
	int count = 0;

	net_names(&o->n, &names);
	argv[2] = names.hub;
	buf_init(&out, WAY_TEXT);
	if (spawn_run(&(struct spawn){ .argv = argv }, TC_MS, &out, &f))
		diag("tc: %s", f.text);
	for (const char *at = buf_text(&out); (at = strstr(at, "rate 80Mbit")); at++)
		count++;
	buf_release(&out);
	return count;
}

static void promise_refused(struct way *w, const struct one *o, struct promise_seen *out)
{
	struct fail f = { 0 };
	struct one other;

	one_init(&other, w, 5, "acct_d", 0);
	other.n.disk = o->n.disk;
	other.n.inodes = 1000 * 1000 * 1000;
	out->refused = w->d->create(&other.n, &f);
	snprintf(out->why, sizeof out->why, "%s", f.text);
	out->is = one_is(w, &other);
}

bool promise_look(struct way *w, struct one *o, struct promise_seen *out)
{
	int64_t until = clock_ms() + GROW_MS;
	char path[400];

	if (!promise_is_tried(w))
		return false;
	/* It grows while it boots. */
	while ((out->size = promise_ask(w, o, "df -B1 --output=size / | tail -n 1")) < promised && clock_ms() < until)
		poll(NULL, 0, 200);
	out->files = promise_ask(w, o, "df --output=itotal / | tail -n 1");
	snprintf(path, sizeof path, "%s/vm/disk.qcow2", o->dir);
	out->held = disk_held(path);
	out->rates = geteuid() == 0 ? promise_rates(o) : 0;
	promise_refused(w, o, out);
	return true;
}
