/* SPDX-License-Identifier: Apache-2.0 */
/* What verify measures and which faults it finds, on loopback and with stand-ins for GPUs and drivers. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "agentd/driver.h"
#include "agentd/machine/speed.h"
#include "agentd/machine/verify/verify_device.h"
#include "base/clock.h"
#include "market/challenge.h"
#include "market/claims.h"
#include "inventorytree.h"

#define CUDA "./tests/lib/.libs/fakecuda.so"
#define OPENCL "./tests/lib/.libs/fakeopencl.so"
#define BUS "sys/bus/pci/devices/"
#define NONCE "00112233445566778899aabbccddeeff"

static char root[1024], market[64];
static int status;

static int works(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	(void)s;
	(void)f;
	*holds = HOLDS_NETWORK | HOLDS_KERNEL;
	return 0;
}

static int does_not(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	(void)s;
	(void)holds;
	return fail_set(f, -ENOTSUP, "'qemu' is not installed");
}

static int hangs(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	(void)s;
	(void)holds;
	(void)f;
	while (pause() < 0)
		;
	return 0;
}

static const struct driver good = { .name = "good", .probe = works }, bad = { .name = "bad", .probe = does_not },
	silent = { .name = "silent", .probe = hangs };
static const struct driver *const both[] = { &good, &bad, NULL }, *const none[] = { &bad, NULL },
				  *const stuck[] = { &silent, NULL };

/* Whoever finds the market and connects to it must have given up root before. */
int __real_speed_round_trip(const char *where, int64_t deadline_ms, struct speed *out, struct fail *f);
int __wrap_speed_round_trip(const char *where, int64_t deadline_ms, struct speed *out, struct fail *f);

int __wrap_speed_round_trip(const char *where, int64_t deadline_ms, struct speed *out, struct fail *f)
{
	struct buf text;
	bool confined;

	buf_init(&text, 64 << 10);
	confined = buf_read_file(&text, "/proc/self/status") == 0 && strstr(buf_text(&text), "\nNoNewPrivs:\t1\n");
	buf_release(&text);
	return confined ? __real_speed_round_trip(where, deadline_ms, out, f)
			: fail_set(f, -EPERM, "it is not confined");
}

static int64_t deadline_of_last;

int __real_gpuchild_run(int (*work)(void *arg, int fd), void *arg, int64_t deadline_ms, struct buf *out,
	struct fail *f);
int __wrap_gpuchild_run(int (*work)(void *arg, int fd), void *arg, int64_t deadline_ms, struct buf *out,
	struct fail *f);

int __wrap_gpuchild_run(int (*work)(void *arg, int fd), void *arg, int64_t deadline_ms, struct buf *out, struct fail *f)
{
	deadline_of_last = deadline_ms;
	return __real_gpuchild_run(work, arg, deadline_ms, out, f);
}

/* Its JSON; status is its exit status. */
static json_t *verify(const struct verify_setup *s)
{
	struct claims c;
	struct buf text;
	json_t *d;

	buf_init(&text, CLAIMS_BYTES);
	if (verify_run(s, NULL, &c) || claims_write(&c, &text))
		exit(99);
	status = claims_number(&c, CLAIM_FAILED) ? 11 : 0;
	d = json_loads(buf_text(&text), 0, NULL);
	claims_release(&c);
	buf_release(&text);
	return d;
}

static const json_t *find(const json_t *d, const char *check)
{
	const json_t *list = json_object_get(d, "checks"), *o;
	size_t i;

	json_array_foreach(list, i, o)
		if (strcmp(json_string_value(json_object_get(o, "check")), check) == 0)
			return o;
	return NULL;
}

static const char *text_of(const json_t *d, const char *check, const char *key)
{
	const char *text = json_string_value(json_object_get(find(d, check), key));

	return text ? text : "";
}

static void is_result(const json_t *d, const char *check, const char *want, const char *part, const char *what)
{
	if (!ok(strcmp(text_of(d, check, "result"), want) == 0 && strstr(text_of(d, check, "text"), part), "%s", what))
		diag("%s is '%s', '%s'", check, text_of(d, check, "result"), text_of(d, check, "text"));
}

static int64_t number(const json_t *d, const char *check, const char *key)
{
	return json_integer_value(json_object_get(find(d, check), key));
}

/* A port that is free on loopback now. */
static unsigned free_port(int *keep)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 8) ||
		getsockname(fd, (struct sockaddr *)&a, &size))
		exit(99);
	if (keep)
		*keep = fd;
	else
		close(fd);
	return ntohs(a.sin_port);
}

static struct verify_setup usual(void)
{
	return (struct verify_setup){ .root = root,
		.data = root,
		.market = market,
		.clock_known = true,
		.market_now = 1000,
		.local_now = 1001,
		.address = "127.0.0.1",
		.listen = "127.0.0.1",
		.first_port = free_port(NULL),
		.drivers = both,
		.disk_bytes = 2 << 20,
		.nvml = "",
		.opencl = "",
		.deadline_ms = 20000 };
}

static void test_good(void)
{
	struct verify_setup s = usual();
	json_t *d = verify(&s);
	char path[1100];
	DIR *dir;

	is_result(d, "disk read", "ok", "2 MiB", "the disk is read");
	ok(number(d, "disk write", "median") > 0 &&
			number(d, "disk write", "least") <= number(d, "disk write", "median") &&
			number(d, "disk write", "median") <= number(d, "disk write", "most") &&
			number(d, "disk write", "runs") == 3,
		"with the spread of three runs");
	is_result(d, "disk random", "ok", "4 KiB", "small reads at random places");
	ok(number(d, "disk random", "median") > 0 && number(d, "disk fsync", "median") > 0, "and the wait for a write");
	is_result(d, "network", "ok", "round trips to the market", "round trips to the market");
	ok(number(d, "network", "most") > 0, "measured");
	is_result(d, "clock", "ok", "within 1 s", "the clock");
	is_result(d, "ssh", "ok", "1 of 1 ports", "a port that is announced leads here");
	is_result(d, "driver good", "ok", "their own kernel", "a driver that works");
	is_result(d, "driver bad", "skipped", "'qemu' is not installed", "one that does not is no failure");
	is_result(d, "gpu", "skipped", "without accelerator", "no GPU");
	is_int(status, strcmp(text_of(d, "disk write", "result"), "ok") == 0 ? 0 : 11, "passed");
	ok(json_integer_value(json_object_get(d, "at")) > 0, "with its date");
	json_decref(d);
	snprintf(path, sizeof path, "%s", root);
	dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strstr(e->d_name, "verify"))
			ok(false, "'%s' is left behind", e->d_name);
	if (dir)
		closedir(dir);
}

/* Links as sysfs shows them: one card on half of its lanes, one card in a slot that has no more. */
static void test_links(void)
{
	struct verify_setup s = usual();
	json_t *d;

	s.data = s.market = NULL;
	s.drivers = NULL;
	tree_put(root, "sys/bus/pci/devices/0000:05:00.0/current_link_width", "8");
	tree_put(root, "sys/class/infiniband/mlx5_2/ports/1/state", "4: ACTIVE");
	d = verify(&s);
	is_int(status, 11, "a narrow link is no success");
	is_result(d, "pcie link", "failed", "0000:05:00.0 runs on 8 of 16 lanes", "a card on half of its lanes");
	is_str(text_of(d, "pcie link", "device"), "0000:05:00.0", "which one");
	is_int(number(d, "pcie link", "median"), 8, "and how many it has");
	is_result(d, "rdma", "ok", "roce 'mlx5_2' of ens10 is up, 400 Gb/sec", "RDMA that is up");
	json_decref(d);
	tree_put(root, "sys/bus/pci/devices/0000:05:00.0/current_link_width", "16");
	tree_put(root, "sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN");
	d = verify(&s);
	is_result(d, "pcie link", "ok", "PCIe 5 now, up to 5", "all lanes");
	is_result(d, "rdma", "skipped", "not up", "RDMA without a cable");
	json_decref(d);
}

static void test_bad(void)
{
	struct verify_setup s = usual();
	char gone[64];
	int64_t began;
	int held;
	json_t *d;

	s.local_now = 994;
	s.drivers = none;
	s.first_port = free_port(&held);
	snprintf(gone, sizeof gone, "http://127.0.0.1:%u", free_port(NULL));
	s.market = gone;
	s.data = "/nowhere/at/all";
	d = verify(&s);
	is_int(status, 11, "what fails is status 11");
	is_result(d, "clock", "failed", "6 s behind", "the clock");
	is_str(text_of(d, "clock", "mend"), "timedatectl set-ntp true", "and the command that mends it");
	is_result(d, "drivers", "failed", "cannot make nodes", "no driver");
	has_str(text_of(d, "drivers", "mend"), "nanopod host drivers", "and what to type");
	is_result(d, "network", "failed", "refused", "a market that is away");
	is_result(d, "disk write", "failed", "/nowhere", "a folder that is not there");
	is_result(d, "ssh", "ok", "0 of 1 ports", "a port that a node has already is left alone");
	ok(!json_is_true(json_object_get(d, "passed")), "not passed");
	json_decref(d);
	close(held);

	s = usual();
	s.listen = "127.0.0.2"; /* the announced address is 127.0.0.1, where nobody listens */
	s.drivers = stuck;
	s.deadline_ms = 5000;
	s.market = "unix:/run/market.sock";
	began = clock_ms();
	d = verify(&s);
	is_result(d, "ssh", "failed", "cannot reach port", "an address that leads elsewhere");
	has_str(text_of(d, "ssh", "mend"), "forwarding", "and what to do behind a router");
	is_result(d, "drivers", "failed", "no answer within", "a probe that hangs");
	is_result(d, "network", "skipped", "cannot measure to", "a market by a socket has no network");
	ok(clock_ms() - began < 60000, "in time");
	json_decref(d);
}

static json_t *verify_cards(const char *mode, const char *opencl)
{
	struct verify_setup s = { .root = root,
		.nvml = "",
		.nonce = NONCE,
		.cuda = CUDA,
		.opencl = opencl,
		.deadline_ms = strcmp(mode, "hang") == 0 ? 5000 : 60000 };

	setenv("FAKE_CUDA", mode, 1);
	return verify(&s);
}

static void gpu(const char *mode, int want, const char *check, const char *result, const char *part, const char *what)
{
	json_t *d = verify_cards(mode, "");

	is_int(status, want, "%s: status", mode);
	is_result(d, check, result, part, what);
	json_decref(d);
}

/* A card of NVIDIA that is in no table, so that it may have as little memory as it likes, and that as slow. */
static void put_card(int bus)
{
	static const char *const files[][2] = { { "vendor", "0x10de" }, { "device", "0xffff" }, { "class", "0x030200" },
		{ "driver", "-> ../nvidia" }, { "power/runtime_status", "active" }, { "power_state", "D0" } };
	char path[100];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, BUS "0000:%02x:00.0/%s", bus, files[i][0]);
		tree_put(root, path, files[i][1]);
	}
}

/* What the market asks of a claim that it counts. */
static void is_answer(const json_t *d, const char *check, const char *address)
{
	const char *said = text_of(d, check, "answer");
	uint64_t rounds = strtoull(said, NULL, 10);
	char want[40];

	ok(rounds >= CHALLENGE_ROUNDS_LEAST && rounds <= CHALLENGE_ROUNDS_MOST, "%s: as many rounds as count", check);
	snprintf(want, sizeof want, "%" PRIu64 ":%016" PRIx64, rounds,
		challenge_answer(challenge_seed(NONCE, address), rounds));
	is_str(said, want, "%s: it answers the nonce", check);
	is_str(text_of(d, check, "device"), address, "%s: as the bus writes its address", check);
}

static void test_gpus(void)
{
	json_t *d;

	gpu("good", 11, "gpu 0 memory", "failed", "it has 6 MiB, the bus and its driver say 24576",
		"a card that is less than its id says");
	gpu("good", 11, "gpu 1 memory", "failed", "it has 6 MiB", "one that sleeps is woken");
	put_card(1);
	put_card(2);
	gpu("good", 0, "gpu 1 memory", "ok", "Fake? RTX (0000:02:00.0): filled 5 of 6 MiB",
		"memory is filled and read back");
	d = verify_cards("good", "");
	is_result(d, "gpu 0 sums", "ok", "64-bit", "sums are compared");
	is_answer(d, "gpu 0 sums", "0000:01:00.0");
	is_answer(d, "gpu 1 sums", "0000:02:00.0");
	has_str(text_of(d, "gpu 1 sums", "method"), "CUDA: ", "by which library");
	ok(number(d, "gpu 1 read", "median") > 0 && number(d, "gpu 1 upload", "median") > 0 &&
			number(d, "gpu 1 download", "median") > 0,
		"its memory is read, and its link measured");
	json_decref(d);
	gpu("elsewhere", 11, "gpu 0 memory", "failed", "0000:ee:00.0, where the bus has no GPU", "an address of none");
	gpu("short", 11, "gpu 0 memory", "failed", "do not hold what was written", "memory that is not there");
	gpu("guess", 11, "gpu 0 memory", "failed", "does not hold what was written", "memory that only says so");
	gpu("wrong", 11, "gpu 0 memory", "failed", "wrong sums", "sums that are wrong");
	gpu("busy", 11, "gpu 0 memory", "failed", "only 2 of its 6 MiB", "memory that another holds");
	gpu("refuse", 11, "gpu 0 memory", "failed", "error 218", "a program that is refused");
	gpu("none", 11, "gpu", "failed", "error 100", "a driver that finds nothing");
	d = verify_cards("hang", "");
	is_result(d, "gpu 0 memory", "failed", "no answer within", "a GPU that hangs");
	is_result(d, "gpu 1 memory", "ok", "filled 5 of 6 MiB", "costs only its own result");
	json_decref(d);
	tree_put(root, BUS "0000:02:00.0/driver", "-> ../nouveau");
	gpu("good", 11, "gpu driver", "failed", "('0000:02:00.0')", "one without a driver that computes");
	put_card(2);
}

static void no_work(const struct device_task *t, struct device_told *told)
{
	(void)t;
	(void)told;
}

/* A machine with many GPUs: starting them takes long, and so does each that hangs. */
static void test_time(void)
{
	static const struct device_library l = { "CUDA", "gpu", no_work };
	struct verify_setup s = { .deadline_ms = 60000, .nonce = NONCE };
	struct claim list[VERIFY_EACH];
	struct device_told told;
	struct inventory *v;
	int count = 0;

	memset(list, 0, sizeof list);
	verify_device_list(&l, &s, &told);
	is_int(deadline_of_last, 60000, "listing them may take as long as any other check");
	ok(inventory_read(&(struct inventory_setup){ .root = root, .nvml = "" }, &v) == 0, "(inventory)");
	told.count = 1;
	told.list[0] = (struct device){ .name = "Fake", .is_gpu = true };
	s.ends_ms = clock_ms() + 59000;
	verify_device_all(&l, &s, v, &told, list, &count);
	is_int(count, 1, "a GPU that could hang beyond the time of all");
	ok(list[0].is == CLAIM_FAILED && strcmp(list[0].check, "gpu 0 memory") == 0, "fails at once");
	has_str(list[0].text, "took the time of all", "and says why");
	free(v);
}

/* The driver stops a GPU that nobody has open: that is so between any two children. */
static void test_kept(void)
{
	struct verify_setup s = { .root = root, .nvml = "", .cuda = CUDA, .opencl = "", .deadline_ms = 20000 };
	char path[1200];
	json_t *d;

	tree_put(root, "dev/", "");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/dev/nvidia%d", root, i);
		if (mkfifo(path, 0600))
			exit(99);
	}
	gpu("good", 0, "gpu 1 memory", "ok", "filled 5 of 6 MiB", "an open that hangs delays nothing");
	snprintf(path, sizeof path, "%s/dev", root);
	setenv("FAKE_CUDA_KEPT", path, 1);
	d = verify(&s);
	is_result(d, "gpu 0 memory", "ok", "filled 5 of 6 MiB", "all GPUs are open while one is challenged");
	is_result(d, "gpu 1 memory", "ok", "filled 5 of 6 MiB", "and while the next one is");
	json_decref(d);
	s.within_ms = 1;
	d = verify(&s);
	is_result(d, "gpu", "failed", "took the time of all", "all of a verification has its time");
	json_decref(d);
	unsetenv("FAKE_CUDA_KEPT");
}

/* OpenCL shows one of three cards: CUDA measures the others, and no card is measured twice. */
static void test_both(void)
{
	json_t *d;

	put_card(3);
	setenv("FAKE_CUDA_GPUS", "3", 1);
	setenv("FAKE_OPENCL", "nv", 1);
	d = verify_cards("good", OPENCL);
	is_int(status, 0, "two libraries: passed");
	is_answer(d, "opencl 0 sums", "0000:03:00.0");
	is_answer(d, "gpu 0 sums", "0000:01:00.0");
	is_answer(d, "gpu 1 sums", "0000:02:00.0");
	ok(!find(d, "gpu 2 sums"), "the third is not measured again");
	json_decref(d);
}

/* As many as a market counts of one machine, and one more. Their results fit in what it takes: 64 KiB. */
static void test_many(void)
{
	char *text;
	json_t *d;

	for (int bus = 3; bus <= 33; bus++)
		put_card(bus);
	setenv("FAKE_CUDA_GPUS", "33", 1);
	d = verify_cards("good", "");
	is_int(status, 0, "33 GPUs: passed");
	is_answer(d, "gpu 31 sums", "0000:20:00.0");
	text = json_dumps(d, JSON_COMPACT);
	if (!ok(strlen(text) < 48 << 10, "and what they take leaves room for their links, and for the rest"))
		diag("%zu bytes", strlen(text));
	free(text);
	json_decref(d);
}

int main(void)
{
	int server;

	plan_none;
	snprintf(market, sizeof market, "http://127.0.0.1:%u/", free_port(&server));
	tree_unpack("cpu-only", root, sizeof root);
	test_good();
	test_bad();
	tree_remove(root);
	tree_unpack("mi300x8", root, sizeof root);
	test_links();
	tree_remove(root);
	tree_unpack("rtx4090x2", root, sizeof root);
	test_gpus();
	test_time();
	test_kept();
	test_both();
	test_many();
	tree_remove(root);
	close(server);
	return done();
}
