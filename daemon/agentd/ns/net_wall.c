/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall between a hub's nodes and the provider's own network. slirp4netns connects as the machine itself, so the hub
 * must not route to it what is private or the machine's own: rules of routing in the hub, which nodes cannot change,
 * decide it for each packet. Nodes have no other way out, and none at all for IPv6.
 *
 * Table 88 has what is closed unless it is opened; table 89, in the middle of the openings, what an opened network that
 * contains it does not open: this machine's own addresses, and what can never be opened.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentd/ns/net.h"
#include "agentd/ns/net_part.h"
#include "agentd/os/opening.h"
#include "agentd/os/spawn.h"
#include "base/file.h"

enum { WALL_MAX = 4 << 20, WALL_PORTS = 2 };

/* Every network that is not the internet's (RFC 6890), but for those that are only written in examples. */
static const char *const walled[] = { "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
	"172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4" };

static const char *const wall_protocols[WALL_PORTS] = { "udp", "tcp" };

/*
 * Made once in a hub: nodes reach each other and the resolver's port 53, and table 88 is asked before all others. Those
 * are protocol 89; openings (protocol 88) come between and can change without a moment in which the wall is down.
 */
static void wall_found(struct buf *b)
{
	buf_addf(b,
		"rule flush protocol 89\nrule add pref 300 lookup 88 protocol 89\n"
		"rule add pref 100 to " NET_GATEWAY "/%d lookup main protocol 89\n",
		NET_BITS);
	for (int i = 0; i < WALL_PORTS; i++)
		buf_addf(b, "rule add pref %d to " NET_RESOLVER " ipproto %s dport 53 lookup main protocol 89\n",
			110 + i, wall_protocols[i]);
	for (size_t i = 0; i < sizeof walled / sizeof *walled; i++)
		buf_addf(b, "route replace prohibit %s table 88\n", walled[i]);
}

/* An opening for one address opens it even if it is this machine's own; one for a network does not. */
static void wall_open(struct buf *b, const struct driver_setup *s, bool one, unsigned *pref)
{
	for (size_t i = 0; i < s->open_count; i++) {
		struct opening o = s->open[i];
		char text[OPENING_TEXT];
		unsigned port = o.port;

		if ((o.bits == OPENING_ADDRESS) != one)
			continue;
		o.port = 0;
		opening_text(&o, text);
		if (!port)
			buf_addf(b, "rule add pref %u to %s lookup main protocol 88\n", (*pref)++, text);
		for (int k = 0; port && k < WALL_PORTS; k++)
			buf_addf(b, "rule add pref %u to %s ipproto %s dport %u lookup main protocol 88\n", (*pref)++,
				text, wall_protocols[k], port);
	}
}

/* What this machine answers to, public addresses too: "local 203.0.113.5 dev eth0 …", "broadcast …". */
static int wall_own(struct buf *b, struct fail *f)
{
	const char *argv[] = { "ip", "-4", "route", "show", "table", "all", NULL };
	char kind[16], to[OPENING_TEXT];
	struct buf routes;
	int rc;

	buf_init(&routes, WALL_MAX);
	rc = spawn_run(&(struct spawn){ .argv = argv }, NET_COMMAND_MS, &routes, f);
	for (const char *at = buf_text(&routes); !rc && at; at = strchr(at, '\n')) {
		struct opening o;

		at += *at == '\n';
		if (sscanf(at, "%15s %31s", kind, to) != 2 ||
			(strcmp(kind, "local") != 0 && strcmp(kind, "broadcast") != 0) || !opening_read(to, &o))
			continue;
		opening_text(&o, to);
		rc = buf_addf(b, "route replace prohibit %s table 88\nroute replace prohibit %s table 89\n", to, to);
		if (rc)
			fail_errno(f, rc, -rc, "cannot list this machine's addresses");
	}
	buf_release(&routes);
	return rc;
}

/* In this order nothing is open for a moment that should be closed. */
static int wall_want(struct buf *b, const struct driver_setup *s, struct fail *f)
{
	unsigned pref = 120;
	int rc;

	buf_adds(b, "rule flush protocol 88\n");
	for (size_t i = 0; opening_never[i]; i++)
		buf_addf(b, "route replace prohibit %s table 89\n", opening_never[i]);
	rc = wall_own(b, f);
	wall_open(b, s, true, &pref);
	buf_addf(b, "rule add pref %u lookup 89 protocol 88\n", pref++);
	wall_open(b, s, false, &pref);
	return rc;
}

int net_wall_probe(const char *hub, struct fail *f)
{
	struct buf lines;
	int rc;

	buf_init(&lines, WALL_MAX);
	wall_found(&lines);
	rc = net_batch(hub, &lines, f);
	buf_release(&lines);
	return rc;
}

static void wall_path(char room[NET_PATH], const struct driver_setup *s, const char *hub)
{
	snprintf(room, NET_PATH, "%s/%s.wall", s->data, hub);
}

void net_wall_forget(const struct driver_setup *s, const char *hub)
{
	char path[NET_PATH];

	wall_path(path, s, hub);
	unlink(path);
}

/* The file says what the hub has. An address that the machine had once stays closed as long as the hub exists. */
int net_wall(const struct driver_setup *s, const char *hub, struct fail *f)
{
	struct buf want, was, lines;
	char path[NET_PATH];
	int rc;

	wall_path(path, s, hub);
	buf_init(&want, WALL_MAX);
	buf_init(&was, WALL_MAX);
	buf_init(&lines, WALL_MAX);
	rc = wall_want(&want, s, f);
	if (buf_read_file(&was, path) != 0)
		buf_clear(&was);
	if (!rc && (was.len != want.len || memcmp(buf_text(&was), buf_text(&want), want.len) != 0)) {
		if (!was.len)
			wall_found(&lines);
		buf_add(&lines, buf_text(&want), want.len);
		rc = net_batch(hub, &lines, f);
		if (!rc && (rc = file_replace(path, buf_text(&want), want.len, 0600)) != 0)
			fail_errno(f, rc, -rc, "cannot write '%s'", path);
	}
	buf_release(&want);
	buf_release(&was);
	buf_release(&lines);
	return rc;
}
