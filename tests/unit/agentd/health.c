/* SPDX-License-Identifier: Apache-2.0 */
/* What health finds: nothing on a healthy machine, and each fault with its fix. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/device/hosthealth.h"
#include "agentd/machine/health.h"
#include "agentd/machine/xid.h"
#include "agentd/machine/probe.h"
#include "inventorytree.h"

#define FAKE "./tests/lib/.libs/fakenvml.so"

static char root[1024];
static struct health_report r;

static const struct health_finding *find(const char *check)
{
	for (size_t i = 0; i < r.count; i++)
		if (strcmp(r.list[i].check, check) == 0)
			return &r.list[i];
	return NULL;
}

static void is_health(const char *check, enum health want, const char *part, const char *what)
{
	const struct health_finding *f = find(check);

	if (!ok(f && f->health == want && strstr(f->text, part) && *f->action, "%s", what))
		diag("found %zu, '%s' (%s) '%s'", r.count, f ? f->text : "nothing", f ? health_word(f->health) : "-",
			f ? f->action : "-");
}

static void look(const char *mode)
{
	setenv("FAKE_NVML", mode, 1);
	health_check(&(struct health_setup){ .root = root,
			     .nvml = FAKE,
			     .deadline_ms = strcmp(mode, "hang") == 0 ? 400 : 60000 },
		&r);
}

static void test_gpus(void)
{
	char message[600];
	struct buf b;

	tree_unpack("rtx4090x2", root, sizeof root);
	look("hang");
	is_int(r.health, HEALTH_OK, "a card that sleeps is well, eight lanes in a slot of eight too");
	tree_put(root, "sys/bus/pci/devices/0000:02:00.0/power/runtime_status", "active");
	tree_put(root, "sys/bus/pci/devices/0000:02:00.0/power_state", "D0");
	look("hang");
	is_int(r.health, HEALTH_UNHEALTHY, "no answer is unhealthy");
	is_health("nvml", HEALTH_UNHEALTHY, "does not answer", "and said so");
	look("crash");
	is_health("nvml", HEALTH_DRAINING, "crashed", "a crash");
	look("lost");
	is_health("nvml", HEALTH_UNHEALTHY, "cannot reach the GPU '0000:01:00.0'", "a GPU that is lost");
	ok(find("nvml") && strcmp(find("nvml")->gpu, "0000:01:00") == 0, "by its address");
	look("good");
	is_health("ecc", HEALTH_DEGRADED, "3 memory errors", "memory errors");
	is_int(r.health, HEALTH_DEGRADED, "are degraded");
	tree_put(root, "sys/bus/pci/devices/0000:01:00.0/current_link_width", "4");
	setenv("FAKE_NVML_HOT", "1", 1);
	look("good");
	unsetenv("FAKE_NVML_HOT");
	is_health("link", HEALTH_DEGRADED, "only 4 of 16 PCIe lanes", "a link that lost lanes");
	is_health("temperature", HEALTH_DEGRADED, "97 degrees", "heat");
	tree_put(root, "sys/bus/pci/devices/0000:01:00.0/driver", "-> ../drivers/nouveau");
	look("good");
	is_health("gpu", HEALTH_DEGRADED, "no driver for computing", "nouveau");
	health_message(&r, message, sizeof message);
	has_str(message, "; ", "a message with what to do");
	buf_init(&b, 65536);
	is_int(health_json(&r, &b), 0, "JSON");
	has_str(buf_text(&b), "{\"health\":\"degraded\",\"message\":\"", "begins with the worst");
	buf_release(&b);
	tree_remove(root);
}

/* Two days after the start. */
#define LOG_NOW (INT64_C(48) * 3600 * 1000000)

static void look_log(const char *text)
{
	char path[1100];

	tree_put(root, "log", text);
	snprintf(path, sizeof path, "%s/log", root);
	health_check(&(struct health_setup){ .root = root, .kmsg = path, .kmsg_now_us = LOG_NOW }, &r);
}

static void test_log(void)
{
	char *many = malloc(400 * 1000);
	size_t n = 0;

	tree_unpack("cpu-only", root, sizeof root);
	look_log("6,1,100,-;nothing of note\n");
	is_int(r.health, HEALTH_OK, "a log without any");
	look_log("4,2,200,-;NVRM: Xid (PCI:0000:19:00): 45, pid=77, Ch 00000008\n4,3,3,-;NVRM: Xid (PCI:0000:19:00): "
		 "13, Graphics\n");
	is_int(r.health, HEALTH_OK, "what programs did wrong is not the machine's fault");
	look_log("4,2,172800000000,-;NVRM: Xid (PCI:0000:19:00): 79, pid=77, GPU has fallen off the "
		 "bus.\n4,3,3,-;NVRM: Xid "
		 "(PCI:0000:19:00): 79, again");
	is_health("xid", HEALTH_UNHEALTHY, "Xid 79 of the GPU '0000:19:00'", "a GPU that fell off");
	is_int(r.count, 1, "is told once");
	look_log("NVRM: Xid (PCI:\nNVRM: Xid (PCI:x): \nNVRM: Xid (PCI:x): 99999999999, y\nNVRM: Xid (PCI:x) 79\n");
	is_int(r.count, 0, "bent messages are nothing");
	look_log("4,2,172700000000,-;NVRM: Xid (PCI:[77]: segfault at 0 ip 0 in x): 79, [7f]\n"
		 "4,3,172700000000,-;tenant said NVRM: Xid (PCI:0000:19:00): 79, pid=1\n");
	is_int(r.count, 0, "nor is what a tenant has the kernel print");
	look_log("4,2,172700000000,-;NVRM: Xid (PCI:0000:1a:00): 48, DBE\n"
		 "4,3,172700000001,-;x[7]: segfault in NVRM: loading NVIDIA\n");
	is_int(r.count, 1, "which takes none back either");
	for (int i = 0; i < 5000; i++)
		n += (size_t)snprintf(many + n, 70, "6,%d,1,-;a line that fills the log and says nothing at all\n", i);
	memset(many + n, 'x', 20000);
	snprintf(many + n + 20000, 200, "\n4,2,172700000000,-;NVRM: Xid (PCI:0000:1a:00): 48, pid=77, DBE\n");
	look_log(many);
	is_health("xid", HEALTH_UNHEALTHY, "Xid 48", "one behind a long log and an endless line");
	free(many);
	tree_remove(root);
}

/* The next tenant of a GPU does not hear of the one before. */
static void test_last_forgotten(const char *path)
{
	static const struct {
		const char *line, *what;
		int left;
	} ends[] = {
		{ "12,3,172000000000,-;nanopod-agentd: was reset: GPU 0000:1a:00.0\n", "what the agent reset", 1 },
		{ "4,3,172000000000,-;NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x1 (GPU "
		  "Reset Required) to 0x0 (None)\n",
			"what the driver calls well", 1 },
		{ "4,3,172000000000,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n", "a driver that starts", 0 },
	};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct xid_last last[2] = { 0 };
		char log[600];

		snprintf(log, sizeof log,
			"4,1,171000000000,-;NVRM: Xid (PCI:0000:1a:00): 13, Graphics Exception\n"
			"4,2,171000000001,-;NVRM: Xid (PCI:0000:1b:00): 31, MMU Fault\n%s",
			ends[i].line);
		tree_put(root, "log", log);
		is_int(xid_within_hour(path, LOG_NOW, last, 2), ends[i].left, "forgets its last Xid: %s", ends[i].what);
		ok(!ends[i].left || strcmp(last[0].gpu, "0000:1b:00") == 0, "and no other's");
	}
}

static void test_last(void)
{
	struct xid_last last[2];
	char path[1100];

	tree_unpack("cpu-only", root, sizeof root);
	tree_put(root, "log",
		"4,1,169000000000,-;NVRM: Xid (PCI:0000:19:00): 79, pid=1, older than an hour\n"
		"4,2,170000000000,-;NVRM: Xid (PCI:0000:1a:00): 48, DBE\n"
		"4,3,171000000000,-;NVRM: Xid (PCI:0000:1a:00): 13, Graphics Exception\n"
		"4,4,171000000001,-;x[7]: NVRM: Xid (PCI:0000:1b:00): 79, quoted\n"
		"4,5,172000000000,-;NVRM: Xid (PCI:0000:1c:00): 31, MMU Fault\n"
		"4,6,172000000001,-;NVRM: Xid (PCI:0000:1d:00): 31, there is no room for it\n");
	snprintf(path, sizeof path, "%s/log", root);
	is_int(xid_within_hour(path, LOG_NOW, last, 2), 2, "two GPUs had an Xid within the hour");
	is_str(last[0].gpu, "0000:1a:00", "one");
	is_int(last[0].number, 13, "its last one, though a program caused it");
	is_str(last[1].gpu, "0000:1c:00", "and another");
	is_int(xid_within_hour("/nonexistent/kmsg", LOG_NOW, last, 2), -ENOENT, "a log that is not there says nothing");
	test_last_forgotten(path);
	tree_remove(root);
}

#define NEW "4,7,172000000000,-;NVRM: Xid (PCI:0000:19:00): "
#define OLD "4,7,86000000000,-;NVRM: Xid (PCI:0000:19:00): "

#define RESET(priority, gpu) priority ",8,86000000001,-;nanopod-agentd: was reset: GPU " gpu "\n"

/* An Xid is an event with a time. */
static void test_log_times(void)
{
	tree_unpack("cpu-only", root, sizeof root);
	look_log(OLD "79, pid=1, GPU has fallen off the bus.\n");
	is_health("xid", HEALTH_UNHEALTHY, "Xid 79", "a GPU that fell off does not come back by time");
	look_log(OLD "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)\n");
	is_health("xid", HEALTH_DRAINING, "wants it reset", "nor one that wants a reset");
	look_log(OLD "63, a row\n");
	is_int(r.health, HEALTH_OK, "what is mild is over after a day");
	look_log(OLD "79, pid=1\n" RESET("12", "0000:19:00.0"));
	is_int(r.health, HEALTH_OK, "a GPU that the agent reset is well");
	look_log(OLD "79, pid=1\n" RESET("12", "0000:1a:00.0"));
	is_health("xid", HEALTH_UNHEALTHY, "Xid 79", "another one's reset is none of it");
	look_log(OLD "79, pid=1\n" RESET("4", "0000:19:00.0") "NVRM: nanopod-agentd: was reset: GPU 0000:19:00.0\n");
	is_health("xid", HEALTH_UNHEALTHY, "Xid 79", "nor is what the kernel quotes of a program");
	look_log(RESET("12", "0000:19:00.0") OLD "79, pid=1\n");
	is_health("xid", HEALTH_UNHEALTHY, "Xid 79", "nor a reset before it");
	look_log(OLD "79, pid=1\n" NEW "79, pid=1\n");
	is_health("xid", HEALTH_UNHEALTHY, "UTC: the GPU fell", "what came back is not, and says when");
	look_log(NEW "79, pid=1\n4,8,172100000000,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54\n");
	is_int(r.health, HEALTH_OK, "a driver that was loaded again begins anew");
	look_log(NEW "119, pid=1\n" NEW
		     "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)\n");
	is_health("xid", HEALTH_UNHEALTHY, "Xid 119", "a GPU that wants a reset");
	look_log(NEW "119, pid=1\n4,7,172000000000,-;NVRM: Xid (PCI:0000:1a:00): 64, x\n" NEW
		     "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)\n");
	is_int(r.count, 1, "had one");
	is_health("xid", HEALTH_DRAINING, "Xid 64 of the GPU '0000:1a:00'", "the other GPU had none");
	for (int n = 144; n <= 150; n++) {
		char line[200];

		snprintf(line, sizeof line, NEW "%d, NVLink\n", n);
		look_log(line);
		if (r.health != HEALTH_DRAINING)
			break;
	}
	is_int(r.health, HEALTH_DRAINING, "all kinds of NVLink errors are known");
	look_log(NEW "31, MMU\n" NEW "43, stopped\n" NEW "13, x\n" NEW "45, x\n");
	is_int(r.health, HEALTH_OK, "programs' own are not the machine's");
	look_log(NEW "94, contained\n" NEW "109, switch\n" NEW "154, wants a reset\n");
	is_int(r.health, HEALTH_DRAINING, "what a program may cause, or what hit it alone, only keeps new nodes away");
	look_log(NEW "48, DBE\n");
	is_int(r.health, HEALTH_UNHEALTHY, "memory that cannot be corrected is the machine's fault");
	tree_remove(root);
}

/* A finding costs that host its lease whose GPU it is about, and no other. */
static void test_hosts(void)
{
	json_t *gpus = json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s}, n]", "address", "0000:19:00.0", "host", "host_a",
		"address", "0000:1A:00.0", "host", "host_b", "address", "0000:1b:00.0");
	const struct hosthealth_gpus of = { .list = gpus }, unknown = { 0 },
				     whole = { .all = true, .list = json_array() };
	const struct health_finding *worst;

	tree_unpack("cpu-only", root, sizeof root);
	look_log(NEW "79, x\n");
	is_int(host_health(&r, &whole, "host_c", &worst), HEALTH_UNHEALTHY,
		"a host that is the whole machine has all GPUs");
	ok(host_health(&r, &of, "host_a", &worst) == HEALTH_UNHEALTHY && strcmp(worst->gpu, "0000:19:00") == 0,
		"a host has the health of its GPUs");
	ok(host_health(&r, &of, "host_b", &worst) == HEALTH_OK && !worst, "not of those of another");
	ok(host_health(&r, &of, "host_c", &worst) == HEALTH_OK && !worst, "nor has one without GPUs");
	ok(host_health(&r, &unknown, "host_a", &worst) == HEALTH_DRAINING && worst,
		"where nobody knows whose a GPU is, nobody is refunded");
	ok(host_holds_gpu(gpus, "host_b", "0000:1a:00") && !host_holds_gpu(gpus, "host_b", "0000:1a:01") &&
			!host_holds_gpu(gpus, "host_b", "0000:1a:0") && !host_holds_gpu(NULL, "host_b", "0000:1a:00"),
		"a GPU is named with or without its function");
	health_check(&(struct health_setup){ .root = root, .data = "/nowhere/at/all" }, &r);
	is_int(r.health, HEALTH_UNHEALTHY, "a disk that is gone makes the machine unhealthy");
	is_int(host_health(&r, &of, "host_a", &worst), HEALTH_DRAINING, "and refunds nobody, as a tenant may fill it");
	has_str(worst->text, "/nowhere/at/all", "but says why");
	r.count = 0;
	ok(host_health(&r, &of, "host_a", &worst) == HEALTH_OK && !worst, "all is well without any finding");
	health_found(&r, HEALTH_UNHEALTHY, "nvml", "", "", "no answer");
	is_int(host_health(&r, &of, "host_a", &worst), HEALTH_DRAINING,
		"GPUs that do not answer are those of hosts with GPUs");
	is_int(host_health(&r, &of, "host_c", &worst), HEALTH_OK, "and of no others");
	tree_remove(root);
	json_decref((json_t *)whole.list);
	json_decref(gpus);
}

/* A card that is gone reads as ones, though no message says so. */
static void test_bus(void)
{
	tree_unpack("rtx4090x2", root, sizeof root);
	tree_put(root, "sys/bus/pci/devices/0000:01:00.0/config", "\336\020\204\046");
	look("good");
	ok(!find("bus"), "a card that answers on the bus");
	tree_put(root, "sys/bus/pci/devices/0000:01:00.0/config", "\377\377\377\377");
	look("good");
	is_health("bus", HEALTH_UNHEALTHY, "'0000:01:00.0'", "one that does not");
	tree_remove(root);
}

static void test_probe(void)
{
	int zero = open("/dev/zero", O_RDWR | O_CLOEXEC), full = open("/dev/full", O_RDWR | O_CLOEXEC);
	int file = open("probed", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct health_report report = { 0 };

	is_int(probe_disk(file, 1 << 20), 0, "a disk that keeps what is written");
	is_int(probe_disk(zero, 1 << 20), -EIO, "one that does not");
	is_int(probe_disk(full, 1 << 20), -ENOSPC, "one that takes nothing");
	close(file);
	close(zero);
	close(full);
	unlink("probed");
	probe_run(".", false, &report);
	ok(!probe_failed(&report) && access("probe.tmp", F_OK) != 0, "a probe leaves nothing behind");
	mkdir("probe.tmp", 0700);
	probe_run(".", false, &report);
	ok(probe_failed(&report) && report.health == HEALTH_DRAINING, "a folder that takes no file fails it");
	rmdir("probe.tmp");
}

static void look_clock(int64_t off)
{
	health_check(&(struct health_setup){ .root = root,
			     .clock_known = true,
			     .market_now = 1000000,
			     .local_now = 1000000 + off },
		&r);
}

static void test_clock_and_disk(void)
{
	tree_unpack("cpu-only", root, sizeof root);
	look_clock(-5);
	is_int(r.health, HEALTH_OK, "five seconds are well");
	look_clock(-6);
	is_health("clock", HEALTH_DEGRADED, "6 s behind", "six are not");
	look_clock(61);
	is_health("clock", HEALTH_DRAINING, "61 s ahead of", "a minute is worse");
	health_check(&(struct health_setup){ .root = root, .data = "/nowhere/at/all" }, &r);
	is_health("disk", HEALTH_UNHEALTHY, "cannot inspect the folder", "a folder that is not there");
	health_check(&(struct health_setup){ .root = root, .data = root }, &r);
	ok(r.count <= 1, "one that is there");
	tree_remove(root);
}

int main(void)
{
	plan_none;
	test_gpus();
	test_log();
	test_last();
	test_log_times();
	test_hosts();
	test_bus();
	test_probe();
	test_clock_and_disk();
	return done();
}
