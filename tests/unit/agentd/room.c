/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine promises beside what it has: a disk counts as the file that holds it, who needs the room of nodes that
 * end waits for it, and who was sold no processors uses those that nobody was sold.
 */
#include "agentd/roster.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "agentd/os/disk.h"

static const int64_t gib = (int64_t)1 << 30;

static char folder[] = "/tmp/nanopod-room.XXXXXX";

struct machine {
	struct log log;
	struct driver_setup setup;
	struct room room;
	struct roster roster;
	struct roster_share share;
	struct work_host hosts[4];
	struct work_node nodes[4];
	struct work work;
};

static void machine_begin(struct machine *m, int64_t memory, int64_t disk)
{
	*m = (struct machine){ .log = { .level = LOG_ERROR - 1 },
		.setup = { .data = folder, .listen = "127.0.0.1", .first_port = 20000, .sysfs_root = "/nowhere" },
		.share = { .driver = "ns" } };
	m->room = (struct room){ .data = folder,
		.sysfs_root = "/nowhere",
		.log = &m->log,
		.capacity = { .vcpus = 4, .memory = memory, .disk = disk, .disk_files = disk } };
	m->roster = (struct roster){ .data = folder, .log = &m->log, .setup = &m->setup, .room = &m->room };
	m->work = (struct work){ .hosts = m->hosts, .nodes = m->nodes };
}

static void machine_end(struct machine *m)
{
	while (m->roster.count)
		if (roster_forget(&m->roster, m->roster.nodes[0]) != 0)
			break;
	roster_release(&m->roster);
	room_release(&m->room);
}

/* The market wants a host with a node of this size on it. */
static void machine_wants(struct machine *m, int i, struct contract c)
{
	struct work_host *h = &m->hosts[m->work.host_count++];
	struct work_node *n = &m->nodes[m->work.node_count++];

	*h = (struct work_host){ .contract = c };
	snprintf(h->id, sizeof h->id, "host_%d", i);
	*n = (struct work_node){ .contract = c, .end_at = 1000 };
	snprintf(n->id, sizeof n->id, "inst_%d", i);
	snprintf(n->name, sizeof n->name, "n%d", i);
	snprintf(n->host, sizeof n->host, "host_%d", i);
}

static struct node *machine_node(const struct machine *m, int i)
{
	char id[16];

	snprintf(id, sizeof id, "inst_%d", i);
	return roster_find(&m->roster, id);
}

static enum life machine_life(const struct machine *m, int i)
{
	const struct node *n = machine_node(m, i);

	return n ? n->life : LIFE_COUNT;
}

static void test_waits(void)
{
	const struct contract c = { .memory = 4 * gib };
	struct machine m;

	machine_begin(&m, 10 * gib, -1);
	machine_wants(&m, 1, c);
	machine_wants(&m, 2, c);
	roster_take(&m.roster, &m.work, &m.share, 1);
	ok(machine_life(&m, 1) == LIFE_PENDING && machine_life(&m, 2) == LIFE_PENDING, "two nodes fit");
	m.work.host_count = m.work.node_count = 1;
	machine_wants(&m, 3, c);
	roster_take(&m.roster, &m.work, &m.share, 1);
	ok(machine_life(&m, 3) == LIFE_COUNT, "a third waits for one that ends");
	machine_node(&m, 2)->life = LIFE_TERMINATED;
	roster_forget(&m.roster, machine_node(&m, 2));
	room_take(&m.room, &m.work, roster_has, &m.roster);
	m.room.capacity.memory = 10 * gib;
	roster_take(&m.roster, &m.work, &m.share, 1);
	ok(machine_life(&m, 3) == LIFE_PENDING, "and is made when that is gone");
	machine_wants(&m, 4, c);
	roster_take(&m.roster, &m.work, &m.share, 1);
	ok(machine_life(&m, 4) == LIFE_FAILED, "one for which nothing makes room fails at once");
	is_str(machine_node(&m, 4)->message,
		"this machine has no room for it: it needs 4096 MiB of memory, and 8192 MiB of 10240 are promised to "
		"other hosts",
		"and says why");
	machine_end(&m);
	/* What the driver cannot keep, or needs beside each node, nobody's end brings. */
	machine_begin(&m, 8 * gib, -1);
	m.room.terms = (struct driver_terms){ .node_memory = gib / 8, .no_rate = true };
	machine_wants(&m, 1, c);
	machine_wants(&m, 2, c);
	machine_wants(&m, 3, (struct contract){ .network_mbps = 10 });
	machine_wants(&m, 4, (struct contract){ .shared = 10 });
	roster_take(&m.roster, &m.work, &m.share, 1);
	ok(machine_life(&m, 1) == LIFE_PENDING && machine_life(&m, 2) == LIFE_FAILED,
		"one fails for which the driver's own memory is missing");
	ok(machine_life(&m, 4) == LIFE_FAILED, "and one that would share a folder which no node here can have");
	ok(machine_life(&m, 3) == LIFE_FAILED, "and one whose network nothing limits");
	machine_end(&m);
}

/* Hosts that are only on sale had the room first. */
static void test_way(void)
{
	const struct contract c = { .memory = 4 * gib };
	char cores[NODE_CORES];
	struct machine m;

	machine_begin(&m, 10 * gib, -1);
	ok(room_place(&m.room, "host_1", &c, roster_has, &m.roster, cores, NULL) == 0 &&
			room_place(&m.room, "host_2", &c, roster_has, &m.roster, cores, NULL) == 0,
		"two hosts have the machine");
	machine_wants(&m, 3, c);
	machine_wants(&m, 4, c);
	machine_wants(&m, 1, c);
	roster_take(&m.roster, &m.work, &m.share, 1);
	ok(machine_life(&m, 3) == LIFE_PENDING && machine_life(&m, 4) == LIFE_PENDING,
		"nodes on other hosts come first");
	ok(machine_life(&m, 1) == LIFE_FAILED, "but no node gives way to another");
	machine_end(&m);
}

static void test_disks(void)
{
	static const int64_t inodes[] = { 0, 5 * 1000 * 1000 };

	for (size_t i = 0; i < sizeof inodes / sizeof *inodes; i++) {
		const struct contract c = { .disk = gib, .inodes = inodes[i] };
		int64_t file = disk_file_size(c.disk, c.inodes);

		for (int less = 0; less < 2; less++) {
			struct machine m;

			machine_begin(&m, -1, 2 * file - less);
			machine_wants(&m, 1, c);
			machine_wants(&m, 2, c);
			roster_take(&m.roster, &m.work, &m.share, 1);
			ok(machine_life(&m, 1) == LIFE_PENDING, "a disk fits, %lld files", (long long)c.inodes);
			ok(machine_life(&m, 2) == (less ? LIFE_FAILED : LIFE_PENDING),
				"another one %s, whose file takes %lld MiB", less ? "does not" : "does",
				(long long)(file >> 20));
			machine_end(&m);
		}
	}
}

static void test_rest(void)
{
	struct machine m;

	machine_begin(&m, -1, -1);
	machine_wants(&m, 1, (struct contract){ .memory = gib });
	machine_wants(&m, 2, (struct contract){ .vcpus = 1 });
	snprintf(m.share.cores, sizeof m.share.cores, "0-3");
	m.share.cpu_milli = 1500;
	roster_take(&m.roster, &m.work, &m.share, 1);
	is_str(machine_node(&m, 1)->cores, "0-3", "who was sold no processors has the rest");
	ok(machine_node(&m, 1)->cpu_milli == 1500, "with a quota");
	ok(!roster_take(&m.roster, &m.work, &m.share, 1), "as long as that is the same");
	snprintf(m.share.cores, sizeof m.share.cores, "2-3");
	ok(roster_take(&m.roster, &m.work, &m.share, 1), "another promise changes it");
	is_str(machine_node(&m, 1)->cores, "2-3", "to what is left then");
	is_str(machine_node(&m, 2)->cores, "", "not who was sold some");
	m.share.cores[0] = '\0';
	m.share.none_left = true;
	ok(!roster_take(&m.roster, &m.work, &m.share, 1), "when the last ones are sold");
	is_str(machine_node(&m, 1)->cores, "2-3", "it keeps to those that it had");
	m.share.none_left = false;
	ok(roster_take(&m.roster, &m.work, &m.share, 1) && !*machine_node(&m, 1)->cores, "and its end too");
	machine_end(&m);
}

int main(void)
{
	char path[64];

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/nodes", folder);
	mkdir(path, 0700);
	test_waits();
	test_way();
	test_disks();
	test_rest();
	rmdir(path);
	snprintf(path, sizeof path, "%s/room.json", folder);
	unlink(path);
	ok(rmdir(folder) == 0, "(nothing is left)");
	return done();
}
