/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a node may send and receive: token buckets in the hub, where the node cannot reach them. What it sends
 * passes through an interface of its own (ifb), since only what leaves an interface can wait.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agentd/ns/net.h"
#include "agentd/ns/net_part.h"
#include "agentd/os/spawn.h"

enum { LINES_MAX = 4096, LEAST_BURST = 32768, LATENCY_MS = 50 };

/* A bucket of 10 ms: with a smaller one fast rates are not reached. */
static int64_t net_rate_burst(int64_t mbps)
{
	int64_t burst = mbps * 1000 * 1000 / 8 / 100;

	return burst < LEAST_BURST ? LEAST_BURST : burst;
}

static int net_rate_tc(const char *hub, const struct buf *lines, struct fail *f)
{
	const char *argv[] = { "tc", "-n", hub, "-batch", "-", NULL };
	int fd = memfd_create("tc", MFD_CLOEXEC), rc;

	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot pass commands to 'tc'");
	if (write(fd, buf_text(lines), lines->len) != (ssize_t)lines->len || lseek(fd, 0, SEEK_SET) != 0)
		rc = fail_errno(f, -EIO, errno, "cannot pass commands to 'tc'");
	else
		rc = spawn_run(&(struct spawn){ .argv = argv, .in = fd }, NET_COMMAND_MS, NULL, f);
	close(fd);
	return rc;
}

/* The port is new, so it has no rule yet. The ifb of the slot's last node may still be there. */
int net_rate(const struct node_spec *n, struct fail *f)
{
	struct net_names names;
	struct buf b;
	int rc;

	if (!n->network_mbps)
		return 0;
	net_names(n, &names);
	spawn_words(NET_COMMAND_MS, NULL, "ip", "-n", names.hub, "link", "del", names.sends, NULL);
	buf_init(&b, LINES_MAX);
	buf_addf(&b, "link add %s type ifb\nlink set %s up\n", names.sends, names.sends);
	rc = net_batch(names.hub, &b, f);
	buf_clear(&b);
	buf_addf(&b, "qdisc add dev %s root tbf rate %lldmbit burst %lld latency %dms\n", names.port,
		(long long)n->network_mbps, (long long)net_rate_burst(n->network_mbps), LATENCY_MS);
	buf_addf(&b, "qdisc add dev %s root tbf rate %lldmbit burst %lld latency %dms\n", names.sends,
		(long long)n->network_mbps, (long long)net_rate_burst(n->network_mbps), LATENCY_MS);
	buf_addf(&b,
		"qdisc add dev %s ingress\nfilter add dev %s parent ffff: protocol all u32 match u32 0 0 action mirred "
		"egress redirect dev %s\n",
		names.port, names.port, names.sends);
	rc = rc ? rc : net_rate_tc(names.hub, &b, f);
	buf_release(&b);
	return rc;
}
