/* SPDX-License-Identifier: Apache-2.0 */
/* What --allow-net takes; and who shares a network: nodes of one pool, and old nodes, which know no pool. */
#include "agentd/os/opening.h"

#include "agentd/step_child.h"

#include "../../lib/tap.h"

static const struct {
	const char *text, *want; /* NULL: refused */
	bool possible;
} openings[] = {
	{ "192.168.1.5", "192.168.1.5/32", true },
	{ "192.168.1.5/24", "192.168.1.0/24", true },
	{ "192.168.1.5:2049", "192.168.1.5/32:2049", true },
	{ "10.0.0.0/8:65535", "10.0.0.0/8:65535", true },
	{ "0.0.0.0/0", "0.0.0.0/0", false },
	{ "255.255.255.255/1", "128.0.0.0/1", false },
	{ "11.0.0.0/7", "10.0.0.0/7", false },
	{ "127.0.0.1", "127.0.0.1/32", false },
	{ "169.254.169.254:80", "169.254.169.254/32:80", false },
	{ "10.88.3.4", "10.88.3.4/32", false },
	{ "10.0.2.0/25", "10.0.2.0/25", false },
	{ "224.0.0.1", "224.0.0.1/32", false },
	{ "", NULL, false },
	{ "192.168.1", NULL, false },
	{ "192.168.1.5/33", NULL, false },
	{ "192.168.1.5/", NULL, false },
	{ "192.168.1.5:0", NULL, false },
	{ "192.168.1.5:65536", NULL, false },
	{ "192.168.1.5:", NULL, false },
	{ "192.168.1.5:22/24", NULL, false },
	{ "fd00::1", NULL, false },
	{ "router.example", NULL, false },
	{ "192.168.1.5/-1", NULL, false },
	{ "192.168.1.5 lookup main proto 88 to 1.1.1.1", NULL, false },
};

int main(void)
{
	struct driver_setup s = { .data = "/tmp" };
	struct step_child h;
	struct node n = { .id = "inst_1", .tenant = "acct_1" };

	for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
		struct opening o = { .net = 1 };
		bool read = opening_read(openings[i].text, &o);
		char text[OPENING_TEXT] = "";

		if (!openings[i].want) {
			ok(!read && o.net == 1, "'%s' is refused", openings[i].text);
			continue;
		}
		if (read)
			opening_text(&o, text);
		is_str(text, openings[i].want, "'%s'", openings[i].text);
		ok(opening_is_possible(&o) == openings[i].possible, "which can%s be opened",
			openings[i].possible ? "" : "not");
	}
	is_int(step_child_init(&h, &n, NULL, &s), 0, "a node whose journal knows no pool");
	is_str(h.spec.tenant, "acct_1", "stays in its account's network");
	snprintf(n.pool, sizeof n.pool, "pool_1");
	step_child_init(&h, &n, NULL, &s);
	is_str(h.spec.tenant, "acct_1/pool_1", "one with a pool is in the pool's");
	snprintf(n.network, sizeof n.network, "pool_0");
	step_child_init(&h, &n, NULL, &s);
	is_str(h.spec.tenant, "acct_1/pool_0", "one of a request that made several pools is in the request's");
	return done();
}
