/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of GPUs: never more than one GPU together, never beside a whole one; who holds more memory than bought is
 * warned, then ended; a share is sold again when nobody holds memory without one, and the GPU is reset after the last.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/device/gpu_holders.h"
#include "agentd/device/host_gpus.h"
#include "agentd/machine/inventory.h"
#include "agentd/machine/nvml_processes.h"
#include "base/clock.h"
#include "fakebus.h"

enum { MIB = 1 << 20, RESERVED = 64, BOUGHT = (24564 - RESERVED) / 4 }; /* of fakenvml */

static const char *const addresses[] = { "0000:01:00.0", "0000:02:00.0" };
static char data[600];
static unsigned parts = 4; /* of the contracts of nodes */

static int take(const char *root, const char *host, const char *node, struct fail *f)
{
	struct node_devices d = { 0 };
	int rc;

	node_folder(data, node, true);
	*f = (struct fail){ 0 };
	rc = host_gpus_take(data, root, &(struct host_taker){ .host = host, .node = node, .parts = parts }, &d, f);
	rc = rc ? rc : d.gpu_count != 1;
	devices_release(&d);
	return rc;
}

/* The processes that the library tells of: "GPU PID MIB" lines; and whose each is. */
static void holders(const char *root, const char *lines)
{
	tree_put(root, "state/processes", lines);
}

static bool remove_file(const char *root, const char *name)
{
	char path[700];

	snprintf(path, sizeof path, "%s/%s", root, name);
	return unlink(path) == 0;
}

static const char *comm = "train";

static void process_of(const char *root, pid_t pid, const char *group)
{
	char path[64], text[256];

	snprintf(path, sizeof path, "proc/%d/cgroup", (int)pid);
	snprintf(text, sizeof text, "5:cpu:/user\n4:memory:%s", group);
	tree_put(root, path, text);
	snprintf(path, sizeof path, "proc/%d/comm", (int)pid);
	tree_put(root, path, comm);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Which GPU each host has a share of, by name: "h0=0 h1=0 h4=1". */
static const char *given(void)
{
	static char text[600];
	char hosts[16][32];
	json_t *list = host_gpus_json(data, NULL), *gpu;
	size_t i, n = 0;

	json_array_foreach(list, i, gpu)
	{
		const char *host = json_string_value(json_object_get(gpu, "host"));
		const char *address = json_string_value(json_object_get(gpu, "address"));

		if (*host && n < 16)
			snprintf(hosts[n++], sizeof hosts[0], "%.16s=%d", host, strcmp(address, addresses[1]) == 0);
	}
	json_decref(list);
	qsort(hosts, n, sizeof hosts[0], by_name);
	text[0] = '\0';
	for (i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", hosts[i]);
	return text;
}

/* Hosts h0, h1, … with a quarter of a GPU each. */
static void quarters(struct host_want *hosts, size_t count)
{
	static char names[9][24];

	for (size_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof names[i], "h%zu", i);
		hosts[i] =
			(struct host_want){ .host = names[i], .vendor = "nvidia", .model = "", .count = 1, .parts = 4 };
	}
}

/* ---- Who gets which -------------------------------------------------------------------------- */

static void test_fix(const char *root)
{
	struct host_want hosts[10];
	struct fail f = { 0 };

	quarters(hosts, 9);
	is_int(host_gpus_fix(data, root, hosts, 4, &f), 0, "four quarters (%s)", f.text);
	is_str(given(), "h0=0 h1=0 h2=0 h3=0", "are one GPU");
	is_int(host_gpus_promised(data), 1, "and count as one");
	hosts[9] = (struct host_want){ .host = "whole", .vendor = "", .model = "", .count = 2 };
	is_int(host_gpus_fix(data, root, hosts + 9, 1, &f), 0, "nobody has one: two whole GPUs (%s)", f.text);
	is_str(given(), "whole=0 whole=1", "are the same ones, whole");
	hosts[9].count = 1;
	is_int(host_gpus_fix(data, root, hosts + 9, 1, &f), 0, "one is promised now (%s)", f.text);
	is_int(host_gpus_promised(data), 2, "a host keeps what it has");
	hosts[9].count = 2;
	is_int(host_gpus_fix(data, root, hosts, 9, &f), -ENODEV, "nine quarters are more than two GPUs");
	has_str(f.text, "'h8' was promised 1/4 of a GPU, and this machine has none", "and say so");
	is_str(given(), "h0=0 h1=0 h2=0 h3=0 h4=1 h5=1 h6=1 h7=1", "the first eight have theirs");
	hosts[1].parts = 2;
	hosts[2] = hosts[9];
	hosts[2].count = 1;
	is_int(host_gpus_fix(data, root, hosts, 3, &f), -ENODEV, "a quarter, a half, and a whole one");
	has_str(f.text, "'whole' was promised 1 GPU, and this machine has none for it", "are three GPUs");
	is_str(given(), "h0=0 h1=1", "no GPU has shares of two sizes, or is whole beside shares");
	is_int(host_gpus_promised(data), 2, "the hosts have two: the one that lacks its GPU is not sold");
	hosts[8].vendor = "amd";
	is_int(host_gpus_fix(data, root, hosts + 8, 1, &f), -ENODEV, "another vendor's has no shares");
	hosts[1].parts = 4;
	hosts[2] = hosts[3];
	is_int(host_gpus_fix(data, root, hosts, 3, &f), 0, "(three quarters)");
	is_str(given(), "h0=0 h1=0 h3=0", "(of one GPU)");
}

/* Shares of two models are on two GPUs, although one GPU has as many. */
static void test_models(const char *root)
{
	struct host_want hosts[3];
	struct fail f = { 0 };

	tree_put(root, "sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/device", "0x2330");
	quarters(hosts, 3);
	hosts[0].model = "rtx4090";
	hosts[1].model = "h100";
	is_int(host_gpus_fix(data, root, hosts, 2, &f), 0, "quarters of two models (%s)", f.text);
	is_str(given(), "h0=0 h1=1", "are of two GPUs");
	is_int(host_gpus_promised(data), 2, "and count as two");
	hosts[2].parts = 2;
	hosts[2].model = "a100";
	is_int(host_gpus_fix(data, root, hosts, 3, &f), -ENODEV, "and one that is not there");
	is_int(host_gpus_promised(data), 2, "does not count");
	tree_put(root, "sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/device", "0x2684");
	remove_file(root, "agent/gpus.json");
}

/* Hosts left, and what stays lies on more GPUs than it needs: the market counts only as many as hold it. */
static void test_scattered(const char *root)
{
	struct host_want hosts[8], left[3];
	struct fail f = { 0 };

	quarters(hosts, 8);
	left[0] = hosts[0];
	left[1] = hosts[4];
	left[2] = (struct host_want){ .host = "whole", .vendor = "", .model = "", .count = 1 };
	is_int(host_gpus_fix(data, root, hosts, 8, &f), 0, "(eight quarters: %s)", f.text);
	is_int(host_gpus_fix(data, root, left, 2, &f), 0, "(two stay: %s)", f.text);
	is_str(given(), "h0=0 h4=1", "(on two GPUs)");
	is_int(take(root, "h0", "inst_s", &f), 0, "(one has a node: %s)", f.text);
	is_int(host_gpus_fix(data, root, left, 3, &f), 0, "a whole GPU is sold beside them (%s)", f.text);
	is_str(given(), "h0=0 h4=0 whole=1", "the share without a node moved for it");
	is_int(host_gpus_fix(data, root, left, 2, &f), 0, "(the whole one goes)");
	is_int(host_gpus_fix(data, root, hosts, 8, &f), 0, "(others come)");
	left[1] = hosts[7];
	is_int(host_gpus_fix(data, root, left, 2, &f), 0, "(and go)");
	is_int(take(root, "h7", "inst_t", &f), 0, "(both have nodes: %s)", f.text);
	is_int(host_gpus_fix(data, root, left, 3, &f), -ENODEV, "nothing moves under a node");
	has_str(f.text,
		"'whole' was promised 1 GPU, and this machine has none for it: nodes have shares of the GPU at 0000:0",
		"and the machine says what it lacks, and why");
	is_str(given(), "h0=0 h7=1", "each keeps its share");
	node_folder(data, "inst_s", false);
	node_folder(data, "inst_t", false);
	remove_file(root, "agent/gpus.json");
}

/* A type that promised a quarter promises a whole GPU, and its old node still ends. */
static void test_other_parts(struct bus *b)
{
	const char *root = b->root;
	struct host_want host = { .host = "h0", .vendor = "nvidia", .model = "", .count = 1, .parts = 4 };
	struct fail f = { 0 };

	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "(a quarter: %s)", f.text);
	is_int(take(root, "h0", "inst_q", &f), 0, "(with a node: %s)", f.text);
	host.parts = parts = 0;
	host_gpus_fix(data, root, &host, 1, &f);
	node_folder(data, "inst_q", false);
	is_int(take(root, "h0", "inst_r", &f), -EBUSY,
		"a node that is promised a whole GPU does not start with a share");
	has_str(f.text, "still has a share of the GPU at 0000:01:00.0", "and says so");
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "the host has a whole one once that ended (%s)", f.text);
	is_int(take(root, "h0", "inst_r", &f), 0, "and then the node, too (%s)", f.text);
	is_int(host_gpus_give_back(data, root, "inst_r", &f), 0, "(it goes)");
	node_folder(data, "inst_r", false);
	parts = 4;
	bus_has_reset(b, addresses[0]);
	remove_file(root, "agent/gpus.json");
}

static void test_take(const char *root)
{
	struct fail f;
	json_t *list;
	char *said, path[700];

	snprintf(path, sizeof path, "%s/gpus.lock", data);
	setenv("FAKE_NVML_LOCK", path, 1);
	setenv("FAKE_NVML", "blind", 1);
	is_int(take(root, "h0", "inst_a", &f), -ENODEV, "where nobody can watch memory, nobody gets a share");
	has_str(f.text, "nobody can see who holds memory of the GPU at 0000:01:00.0", "and is told");
	setenv("FAKE_NVML", "good", 1);
	is_int(take(root, "h0", "inst_a", &f), 0, "a node has a share (%s)", f.text);
	is_int(take(root, "h1", "inst_b", &f), 0, "and another of the same GPU (%s)", f.text);
	is_int(take(root, "h1", "inst_c", &f), -EBUSY, "but not of the same share");
	unsetenv("FAKE_NVML_LOCK");
	snprintf(path, sizeof path, "%s/state/locked", root);
	ok(access(path, F_OK) != 0, "nobody waits for the list of GPUs while the library is asked");
	list = host_gpus_report(data, "inst_a");
	said = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);
	is_str(said, "[{\"count\":1,\"memory_bytes\":6422528000,\"model\":\"rtx4090\",\"share\":\"1/4\"}]",
		"the market is told how much it is");
	free(said);
	json_decref(list);
}

/* ---- While they run --------------------------------------------------------------------------- */

static size_t watch(const char *root, const struct gpu_excess *before, size_t count, int64_t grace,
	struct gpu_excess *out)
{
	struct fail f = { 0 };
	struct buf found;
	size_t n;

	buf_init(&found, 1 << 20);
	is_int(gpu_holders_watch(data, root, before, count, grace, &found, &f), 0, "a look (%s)", f.text);
	n = found.len / sizeof *out;
	if (n)
		memcpy(out, found.data, sizeof *out);
	buf_release(&found);
	return n;
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static void test_watch(const char *root)
{
	pid_t small = sleeper(), large = sleeper(), other = sleeper();
	struct gpu_excess x = { .since_ms = 0 }, old;
	char lines[200];
	int status = 0;

	process_of(root, small, "/np-n-inst_a/node/system.slice/ssh.service");
	process_of(root, large, "/np-n-inst_a/node/np-n-inst_b");
	process_of(root, other, "/np-n-inst_b/node");
	snprintf(lines, sizeof lines, "0 %d 100\n0 %d %d\n0 %d %d", small, large, BOUGHT - 100, other, BOUGHT);
	holders(root, lines);
	is_int(watch(root, NULL, 0, 0, &x), 0, "as much as bought is nobody's business");
	snprintf(lines, sizeof lines, "1 %d 9000\n0 %d 100\n0 %d %d\n0 %d %d", small, small, large, BOUGHT - 99, other,
		BOUGHT);
	holders(root, lines);
	is_int(watch(root, NULL, 0, 60000, &x), 1, "all processes of a node count, however they were started");
	is_str(x.node, "inst_a", "for the node above them, whatever a group of its own is called");
	ok(x.holds == (BOUGHT + 1) * (int64_t)MIB && x.may == BOUGHT * (int64_t)MIB, "both sizes are known");
	is_int(x.ended, 0, "at first nothing ends");
	old = x;
	is_int(watch(root, &old, 1, 60000, &x), 1, "nor for a while");
	ok(x.since_ms == old.since_ms && !x.ended, "which is counted from the first look");
	old.since_ms = clock_ms() - 1000;
	is_int(watch(root, &old, 1, 1000, &x), 1, "then");
	is_int(x.ended, large, "its largest process ends");
	is_str(x.name, "train", "named");
	if (!x.ended)
		kill(large, SIGTERM);
	is_int(waitpid(large, &status, 0), large, "it ended");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "by SIGKILL");
	ok(x.since_ms > old.since_ms + 500, "and the rest has time again");
	is_int(waitpid(small, NULL, WNOHANG) + waitpid(other, NULL, WNOHANG), 0, "no other process ended");
	kill(small, SIGKILL);
	kill(other, SIGKILL);
	waitpid(small, NULL, 0);
	waitpid(other, NULL, 0);
}

/* Of two GPUs with shares one does not tell who holds its memory: only that one is not watched. */
static void test_watch_one_blind(const char *root)
{
	struct host_want hosts[8];
	struct gpu_excess x[2] = { { .since_ms = 0 } }, old = { .since_ms = 1 };
	struct fail f = { 0 };
	struct buf found;
	pid_t greedy = sleeper();
	char lines[200];
	int status;

	quarters(hosts, 8);
	is_int(host_gpus_fix(data, root, hosts, 8, &f), 0, "(two GPUs with shares: %s)", f.text);
	holders(root, "");
	is_int(take(root, "h0", "inst_x", &f) + take(root, "h4", "inst_y", &f), 0, "(with a node each: %s)", f.text);
	process_of(root, greedy, "/np-n-inst_y/node");
	process_of(root, 4711, "/np-n-inst_x/node");
	snprintf(lines, sizeof lines, "0 4711 -1\n1 %d %d", greedy, BOUGHT + 1);
	holders(root, lines);
	snprintf(old.node, sizeof old.node, "inst_x");
	snprintf(old.address, sizeof old.address, "%s", addresses[0]);
	buf_init(&found, 1 << 20);
	is_int(gpu_holders_watch(data, root, &old, 1, 0, &found, &f), -ENOTSUP, "a GPU that does not tell");
	has_str(f.text, "does not tell how much memory a process holds of the GPU at 0000:01:00.0", "is named");
	is_int(found.len, sizeof x, "both nodes have an excess");
	if (found.len == sizeof x)
		memcpy(x, found.data, sizeof x);
	ok(strcmp(x[0].node, "inst_x") == 0 && x[0].since_ms == 1 && !x[0].ended,
		"what cannot be seen stays as it was");
	ok(strcmp(x[1].node, "inst_y") == 0 && x[1].ended == greedy, "but the other GPU is watched, to the end");
	if (!x[1].ended)
		kill(greedy, SIGTERM);
	is_int(waitpid(greedy, &status, 0), greedy, "(which came)");
	buf_release(&found);
	node_folder(data, "inst_x", false);
	node_folder(data, "inst_y", false);
	holders(root, "");
	remove_file(root, "agent/gpus.json");
}

static void test_library(const char *root)
{
	struct nvml_processes *n = calloc(1, sizeof *n);
	struct fail f = { 0 };
	int64_t memory = 0;

	holders(root, "0 11 100\n0 12 5\n1 11 7");
	is_int(nvml_processes_read(root, n, &f), 0, "the library tells (%s)", f.text);
	is_int(n->count, 3, "a process is once in the list for each GPU");
	ok(n->list[0].pid == 11 && n->list[0].bytes == 100 * (int64_t)MIB, "with what it holds, not twice that");
	is_int(nvml_processes_of(n, addresses[0], &memory, &f), 0, "of this GPU, too (%s)", f.text);
	ok(memory == (24564 - RESERVED) * (int64_t)MIB, "with its memory, less what the driver keeps");
	setenv("FAKE_NVML", "total", 1);
	is_int(nvml_processes_read(root, n, &f), 0, "an older library (%s)", f.text);
	ok(nvml_processes_of(n, addresses[0], &memory, &f) == 0 && memory == 24564 * (int64_t)MIB, "tells all of it");
	setenv("FAKE_NVML", "good", 1);
	holders(root, "0 11 100\n0 12 -1\n1 11 7");
	is_int(nvml_processes_read(root, n, &f), 0, "a GPU that does not tell how much one holds (%s)", f.text);
	is_int(nvml_processes_of(n, addresses[0], &memory, &f), -ENOTSUP, "is no help");
	has_str(f.text, "does not tell how much memory a process holds of the GPU at 0000:01:00.0", "and says so");
	ok(!strstr(f.text, "12"), "without the process: a reason that changes each time is told each time");
	ok(n->count == 1 && strcmp(n->list[0].address, addresses[1]) == 0 &&
			nvml_processes_of(n, addresses[1], &memory, &f) == 0,
		"the other GPU tells all the same");
	is_int(nvml_processes_of(n, "0000:03:00.0", &memory, &f), -ENODEV, "one that the library does not know");
	has_str(f.text, "does not reach the GPU at 0000:03:00.0", "is named");
	is_int(nvml_processes_read("/nonexistent", n, &f), -ENOENT, "none is there");
	holders(root, "");
	free(n);
}

static bool tells(const char *root, bool shares, const char *what)
{
	const struct inventory_setup setup = { .root = root, .nvml = "", .driver = "ns", .shares = shares };
	struct inventory *v;
	struct buf text;
	bool has;

	buf_init(&text, 1 << 20);
	has = inventory_read(&setup, &v) == 0 && inventory_json(v, &text) == 0 && strstr(buf_text(&text), what);
	free(v);
	buf_release(&text);
	return has;
}

static void test_told(const char *root)
{
	ok(!tells(root, true, "\"shares\":"), "a GPU that sleeps is not woken, so nothing is told of shares");
	tree_put(root, "sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/power/runtime_status", "active");
	tree_put(root, "sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/power_state", "D0");
	ok(tells(root, true, "\"shares\":\"nvidia\""), "the market is told that this machine shares GPUs");
	ok(tells(root, false, "\"shares\":\"\""), "or that its driver of nodes cannot");
	tree_put(root, "state/down", "");
	ok(!tells(root, true, "\"shares\":"), "a look that failed says neither");
	remove_file(root, "state/down");
}

/* ---- Between tenants -------------------------------------------------------------------------- */

static void mark_ending(const char *node)
{
	json_t *j, *gpu;
	char path[700];
	size_t i;

	snprintf(path, sizeof path, "%s/gpus.json", data);
	j = json_load_file(path, 0, NULL);
	json_array_foreach(json_object_get(j, "gpus"), i,
		gpu) if (strcmp(json_string_value(json_object_get(gpu, "node")), node) == 0)
		json_object_set_new(gpu, "ending", json_true());
	json_dump_file(j, path, 0);
	json_decref(j);
}

static void test_between(struct bus *b)
{
	struct fail f = { 0 };
	char text[300];
	pid_t child;

	setenv("FAKE_NVML_LOCK", b->lock, 1);
	process_of(b->root, 4711, "/np-n-inst_b/node");
	process_of(b->root, 4712, "/np-n-inst_d/node");
	process_of(b->root, 4713, "/user.slice");
	holders(b->root, "0 4711 100");
	is_int(host_gpus_give_back(data, b->root, "inst_a", &f), 0, "a node ends beside another (%s)", f.text);
	node_folder(data, "inst_a", false);
	unsetenv("FAKE_NVML_LOCK");
	ok(!bus_has_reset(b, addresses[0]), "whose GPU is not reset under it");
	ok(remove_file(b->root, "state/locked"), "nor is any, while the library looks who holds memory");
	is_int(take(b->root, "h0", "inst_d", &f), 0, "the next node has the share (%s)", f.text);
	holders(b->root, "0 4711 100\n0 4712 1");
	is_int(host_gpus_give_back(data, b->root, "inst_d", &f), 0, "where a process of nobody still holds memory");
	is_int(take(b->root, "h0", "inst_e", &f), -ENODEV, "the share is kept back");
	has_str(f.text, "the process 4712 (train) still holds memory of the GPU at 0000:01:00.0", "and says why");
	ok(host_gpus_problem(data, text, sizeof text), "its owner is told");
	is_int(host_gpus_release(data, addresses[0], &f), 0, "and releases it");
	holders(b->root, "0 4711 100\n0 4713 1");
	is_int(take(b->root, "h0", "inst_e", &f), 0, "(it is had: %s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_e", &f), 0, "where a process of this machine holds memory");
	is_int(take(b->root, "h0", "inst_e", &f), -ENODEV, "the share is kept back, too");
	is_int(host_gpus_release(data, addresses[0], &f), 0, "(released)");
	comm = "\033\377x";
	process_of(b->root, 4713, "/user.slice");
	is_int(take(b->root, "h0", "inst_e", &f), 0, "(it is had: %s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_e", &f), 0, "where that process has a name that is no text");
	is_int(take(b->root, "h0", "inst_e", &f), -ENODEV, "the share is kept back all the same");
	has_str(f.text, "the process 4713 (??x) still holds", "and the reason is text");
	is_int(host_gpus_release(data, addresses[0], &f), 0, "(released)");
	holders(b->root, "0 4711 100");
	is_int(take(b->root, "h0", "inst_e", &f), 0, "then it is had (%s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_e", &f), 0, "(it goes)");

	mark_ending("inst_b"); /* as the reset of the last node leaves it for its time */
	child = fork();
	if (child == 0) {
		poll(NULL, 0, 300);
		_exit(host_gpus_give_back(data, b->root, "inst_b", NULL) != 0);
	}
	is_int(take(b->root, "h3", "inst_f", &f), 0, "a node that comes while the GPU is reset waits (%s)", f.text);
	ok(bus_has_reset(b, addresses[0]), "until it was");
	ok(remove_file(b->root, "turns/0000:01:00.0"), "while nobody could look");
	waitpid(child, NULL, 0);
	node_folder(data, "inst_f", false);
	is_int(take(b->root, "h3", "inst_g", &f), 0, "a node that vanished gives its share back (%s)", f.text);
	ok(bus_has_reset(b, addresses[0]), "and the GPU is reset, since nobody shares it");
}

/* The driver does not answer for a moment, as while another GPU is reset. */
static void test_failed_look(struct bus *b)
{
	struct fail f = { 0 };
	pid_t child;

	holders(b->root, "");
	is_int(take(b->root, "h0", "inst_k", &f), 0, "(a node: %s)", f.text);
	tree_put(b->root, "state/down", "");
	child = fork();
	if (child == 0) {
		poll(NULL, 0, 1000);
		remove_file(b->root, "state/down");
		_exit(0);
	}
	is_int(host_gpus_give_back(data, b->root, "inst_k", &f), 0, "after a look that failed (%s)", f.text);
	waitpid(child, NULL, 0);
	node_folder(data, "inst_k", false);
	is_int(take(b->root, "h0", "inst_l", &f), 0, "another follows, and the share is had (%s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_l", &f), 0, "(it goes)");
	node_folder(data, "inst_l", false);
}

/* Waits until the node has begun to give its share back, as another process does. */
static bool is_leaving(const char *node)
{
	bool leaving = false;

	for (int64_t until = clock_ms() + 60000; !leaving && clock_ms() < until; poll(NULL, 0, 10)) {
		json_t *list = host_gpus_json(data, NULL), *gpu;
		size_t i;

		json_array_foreach(list, i, gpu) leaving = leaving ||
			(strcmp(json_string_value(json_object_get(gpu, "node")), node) == 0 &&
				json_is_true(json_object_get(gpu, "leaving")));
		json_decref(list);
	}
	return leaving;
}

/* Leases end at the same minute: while the first of two nodes looks who holds memory, the last one begins to end. */
static void test_together(struct bus *b)
{
	int status = -1;
	struct fail f;
	pid_t child;

	is_int(take(b->root, "h0", "inst_h", &f), 0, "two nodes (%s)", f.text);
	tree_put(b->root, "state/down", "");
	child = fork();
	if (child == 0)
		_exit(host_gpus_give_back(data, b->root, "inst_h", NULL) != 0);
	ok(is_leaving("inst_h"), "that end together:");
	is_int(host_gpus_give_back(data, b->root, "inst_g", &f), 0, "the last one to begin (%s)", f.text);
	ok(bus_has_reset(b, addresses[0]), "resets the GPU");
	remove_file(b->root, "state/down");
	ok(waitpid(child, &status, 0) == child && status == 0, "the other one ends, too");
	node_folder(data, "inst_g", false);
	node_folder(data, "inst_h", false);
	is_int(take(b->root, "h0", "inst_i", &f), 0, "and its share is had again (%s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_i", &f), 0, "(it goes)");
	ok(bus_has_reset(b, addresses[0]), "(and was alone)");
	node_folder(data, "inst_i", false);
}

int main(void)
{
	char root[512], path[900], to[600], turn[700];
	struct bus b = { .root = root, .lock = turn };

	plan_none;
	tree_unpack("rtx4090x2", root, sizeof root);
	snprintf(data, sizeof data, "%s/agent", root);
	mkdir(data, 0700);
	snprintf(turn, sizeof turn, "%s/gpus.turn", data);
	snprintf(path, sizeof path, "-> %s/tests/lib/.libs/fakenvml.so", getcwd(to, sizeof to));
	tree_put(root, "lib/libnvidia-ml.so.1", path);
	holders(root, "");
	snprintf(path, sizeof path, "%s/state", root);
	setenv("FAKE_NVML_STATE", path, 1);
	bus_driver(&b, "nvidia");
	bus_file(&b, "sys/bus/pci/drivers_probe");
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "sys/bus/pci/devices/%s/reset", addresses[i]);
		bus_file(&b, path);
		bus_drives(root, addresses[i], "nvidia");
	}
	bus_begin(&b, "nvidia");
	setenv("FAKE_NVML", "good", 1);
	test_library(root);
	test_watch_one_blind(root);
	test_models(root);
	test_scattered(root);
	test_other_parts(&b);
	test_fix(root);
	test_take(root);
	test_watch(root);
	test_between(&b);
	test_failed_look(&b);
	test_together(&b);
	test_told(root);
	bus_end(&b);
	tree_remove(root);
	return done();
}
