/* SPDX-License-Identifier: Apache-2.0 */
/* Names and addresses of nodes: unique on a machine, and short enough. */
#include "agentd/ns/net.h"

#include <stdlib.h>

#include "../../lib/tap.h"

enum { SLOTS = 4096 };

static struct net_names names[SLOTS];

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct net_names *)a)->address, ((const struct net_names *)b)->address);
}

static void test_slots(const struct driver_setup *s)
{
	size_t equal = 0, long_names = 0, edges = 0;

	for (unsigned i = 0; i < SLOTS; i++) {
		unsigned c, d;

		net_names(&(struct node_spec){ .setup = s, .tenant = "acct_1", .slot = i }, &names[i]);
		long_names += strlen(names[i].port) > 15 || strlen(names[i].inner) > 15 ||
			strcmp(names[i].port, names[i].inner) == 0 ||
			strncmp(names[i].port, s->prefix, strlen(s->prefix)) != 0;
		edges += sscanf(names[i].address, "10.88.%u.%u", &c, &d) != 2 || c < 1 || c > 254 || d < 2 || d > 254;
	}
	is_str(names[0].address, "10.88.1.2", "the first slot's address");
	qsort(names, SLOTS, sizeof *names, by_address);
	for (unsigned i = 1; i < SLOTS; i++)
		equal += strcmp(names[i - 1].address, names[i].address) == 0 ||
			strcmp(names[i - 1].mac, names[i].mac) == 0 || strcmp(names[i - 1].port, names[i].port) == 0;
	ok(equal == 0, "4096 slots, as many addresses, interfaces and macs");
	ok(long_names == 0, "interfaces begin with the prefix and fit into the kernel's 15 letters");
	ok(edges == 0, "no address is the gateway's or a broadcast");
}

int main(void)
{
	struct driver_setup s = { .data = "/tmp", .prefix = "abcdefgh", .listen = "127.0.0.1" };
	struct node_spec n = { .setup = &s, .tenant = "acct_1", .slot = 4095 },
			 other = { .setup = &s, .tenant = "acct_2", .slot = 4094 };
	struct net_names a, b;

	test_slots(&s);
	net_names(&n, &a);
	net_names(&other, &b);
	ok(strcmp(a.hub, b.hub) != 0, "tenants have hubs of their own");
	other.tenant = "acct_1";
	net_names(&other, &b);
	is_str(a.hub, b.hub, "nodes of one tenant share theirs");
	s.prefix = "abcdefgx";
	net_names(&n, &b);
	ok(strcmp(a.hub, b.hub) != 0, "agents of one machine share none");
	ok(!strstr(net_resolv(&s), "nameserver"), "no uplink, no name server");
	return done();
}
