/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of power: supplies, what the owner set, budgets, and the devices of other machines' trees. */
#include <errno.h>

#include "agentd/power/budget.h"
#include "agentd/power/curve.h"
#include "agentd/power/power_devices.h"
#include "inventorytree.h"

#define FAKE "tests/lib/.libs/fakenvml.so"
#define CARD "sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon2"
#define ZONE "sys/class/powercap/intel-rapl:0"

static char root[1024];
static struct power_device list[POWER_DEVICES];
static size_t count;
static struct fail f;

/* ---- Supplies ---------------------------------------------------------------------------------- */

static void supply_refused(const char *text)
{
	struct supply s = { .rated = 7 };

	ok(supply_parse(text, &s, &f) == -EINVAL && s.rated == 7, "'%s' is no supply", text);
}

static void test_supply(void)
{
	static const char *const all[] = { "white", "gold", "titanium:1600W", "gold:1.6kW", "20=87,50=90,100=87:1600",
		"10=40,11=95,100=30:1000W", "100=90" };
	static const char *const none[] = { "", ":", "gold:", "golden", "gold:0", "gold:1W2", "20=101", "50=90,20=87",
		"20=87,", "20", "=", "gold,20=87", "0=50", "gold:99999999999999999999", "20=87:-1", "1=2" };
	struct supply s;
	int64_t n;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		bool rises = supply_parse(all[i], &s, &f) == 0, inverse = true;
		int64_t last = 0;

		for (int64_t w = 0; rises && w <= (s.rated ? s.rated : 3000000); w += 997) {
			int64_t wall = supply_wall(&s, w);

			rises = wall >= last && wall >= w;
			inverse = inverse && supply_wall(&s, supply_behind(&s, wall)) <= wall &&
				supply_behind(&s, wall) >= w;
			last = wall;
		}
		ok(rises, "%s: more behind it is never less at the wall", all[i]);
		ok(inverse, "and back again");
	}
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		supply_refused(none[i]);
	supply_parse("gold", &s, &f);
	is_int(supply_behind(&s, 1440000), 1252800, "gold without its rating: its worst, 87 %%, of 1,440 W");
	supply_parse("gold:1600W", &s, &f);
	is_int(supply_wall(&s, 800000), 888889, "half of its rating: 90 %%");
	ok(supply_wall(&s, 1600001) == SUPPLY_TOO_MUCH, "and never more than its rating");
	ok(supply_watts("1.4kW", &n) == 0 && n == 1400000 && supply_watts("0.5", &n) && supply_watts("5 W", &n) &&
			supply_watts("1e9", &n) && supply_watts("99999999999999999999W", &n) && n == 1400000,
		"watts are read strictly");
}

/* ---- The file ------------------------------------------------------------------------------------ */

static void test_envelope(void)
{
	char folder[] = "/tmp/nanopod-power.XXXXXX", path[64];
	struct envelope e = { .wall = 1440000,
		.reserve = 250000,
		.gpu_count = 1,
		.gpus = { { "0000:01:00.0", 450000 } } },
			got;

	if (!mkdtemp(folder))
		exit(99);
	supply_parse("gold:1600W", &e.supply, &f);
	is_int(envelope_load(folder, &got, &f), -ENOENT, "nothing is set");
	ok(!envelope_there(folder), "and that is seen");
	is_int(envelope_save(folder, &e, &f), 0, "settings are kept");
	is_int(envelope_load(folder, &got, &f), 0, "and read back");
	ok(got.wall == e.wall && got.reserve == e.reserve && got.cpu == 0 && got.supply.rated == 1600000 &&
			envelope_cap(&got, "0000:01:00.0") == 450000 && envelope_cap(&got, "0000:02:00.0") == 0,
		"as they were");
	snprintf(path, sizeof path, "%s/power.json", folder);
	tree_put(folder, "power.json", "{\"envelope_watts\": 1440, \"psu\": \"gold\"}");
	is_int(envelope_load(folder, &got, &f), 0, "the least that is needed");
	tree_put(folder, "power.json", "{\"envelope_watts\": -1440, \"psu\": \"gold\"}");
	is_int(envelope_load(folder, &got, &f), -EINVAL, "a damaged one is refused");
	has_str(f.text, "nanopod host power set", "with what to type");
	ok(envelope_there(folder), "and is there all the same");
	unlink(path);
	rmdir(folder);
}

/* ---- Budgets --------------------------------------------------------------------------------------- */

static const struct power_way way = { .name = "test" };

static void gpu(size_t i, int64_t least, int64_t usual, bool idle)
{
	list[i] = (struct power_device){ .kind = POWER_GPU,
		.way = &way,
		.number = (unsigned)i,
		.least = least * 1000,
		.most = usual * 1000,
		.usual = usual * 1000,
		.enforced = usual * 1000,
		.idle = idle };
	snprintf(list[i].address, sizeof list[i].address, "0000:%02x:00.0", (unsigned)(i + 1) & 0xff);
	snprintf(list[i].name, sizeof list[i].name, "card");
}

static void test_budget(void)
{
	struct envelope e = { .wall = 1440000, .reserve = 250000 };
	struct budget b;

	supply_parse("gold:1600W", &e.supply, &f);
	gpu(0, 150, 575, false);
	gpu(1, 150, 575, false);
	is_int(budget_plan(&e, list, 2, &b, &f), 0, "two cards of 575 W on 1,440 W");
	ok(list[0].target == list[1].target && list[0].target == 505000, "get the same, in whole watts");
	ok(b.wall <= e.wall && supply_wall(&e.supply, b.given + 4 * 1000) > e.wall, "and nearly all that is there");
	ok(!budget_fits(&e, list, 2, NULL, 0), "their defaults do not fit");
	list[0].idle = true;
	budget_plan(&e, list, 2, &b, &f);
	ok(list[1].target == 575000 && list[0].target < 575000 && list[0].target > 150000, "who pays comes first");
	gpu(2, 100, 300, true);
	list[0].idle = list[1].idle = false;
	budget_plan(&e, list, 3, &b, &f);
	ok(list[2].target == 100000 && list[0].target > 400000, "an idle one has its least, and its headroom moves");
	e.gpu_count = 1;
	e.gpus[0] = (struct envelope_gpu){ "0000:01:00.0", 300000 };
	budget_plan(&e, list, 2, &b, &f);
	ok(list[0].target == 300000 && list[1].target == 575000, "a cap holds, and leaves the rest to others");
	e.gpus[0].cap = 100000;
	is_int(budget_plan(&e, list, 2, &b, &f), -ERANGE, "a cap below its least is refused");
	has_str(f.text, "gpu 0 (card) takes limits from 150 to 575 W, not 100 W", "by numbers");
	e.gpu_count = 0;
	e.wall = 500000;
	is_int(budget_plan(&e, list, 2, &b, &f), -ENOSPC, "two of 150 W and the reserve do not fit 500 W");
	has_str(f.text, "need 620 W at the wall, not 500 W; use '--envelope 620W'", "and it says what would");
	e.wall = 620000;
	is_int(budget_plan(&e, list, 2, &b, &f), 0, "which does");
	list[1].way = NULL;
	list[1].fixed = POWER_UNKNOWN;
	is_int(budget_plan(&e, list, 2, &b, &f), -ENODATA, "one without a limit");
	has_str(f.text, "'--gpu 1=WATTS'", "has to be told");
}

/* ---- Devices ----------------------------------------------------------------------------------------- */

static void look(void)
{
	count = power_find(root, list);
}

static int set(size_t i, int64_t milliwatts)
{
	int rc = list[i].way->set(root, &list[i], milliwatts, &f);

	power_read(root, list, count);
	return rc;
}

static void test_amdgpu(void)
{
	tree_unpack("mi300x8", root, sizeof root);
	look();
	is_int(count, 9, "eight GPUs and a processor");
	ok(list[0].way == &power_amdgpu && list[0].enforced == 750000 && list[0].most == 750000 &&
			list[0].draw == 137000,
		"amdgpu: limit and draw");
	is_int(list[0].least, 187500, "a driver that takes 0 is not believed");
	is_int(set(0, 500000), 0, "a lower limit is set");
	ok(list[0].enforced == 500000 && list[1].enforced == 750000, "and read back, on that card alone");
	is_int(set(0, 0), -ERANGE, "0 is never written");
	ok(list[0].enforced == 500000, "and changed nothing");
	tree_put(root, "sys/bus/pci/devices/0000:05:00.0/hwmon/hwmon4/power1_cap", "99999999999999999999999");
	power_read(root, list, count);
	ok(list[0].enforced == POWER_UNKNOWN && *list[0].why, "an absurd limit is none");
	tree_put(root, "sys/bus/pci/devices/0000:05:00.0/hwmon/hwmon4/power1_cap", "-5");
	power_read(root, list, count);
	ok(list[0].enforced == POWER_UNKNOWN, "nor is a negative one");
	ok(list[8].kind == POWER_CPU && !list[8].way && list[8].fixed == 400000, "the processor counts by its threads");
	tree_remove(root);
}

static void test_intel(void)
{
	tree_unpack("arc-a770x2", root, sizeof root);
	look();
	is_int(count, 3, "two cards and a processor; its own graphics do not count");
	ok(list[0].way == &power_intel && list[0].enforced == 190000 && list[0].most == 228000 &&
			list[0].least == 57000,
		"Intel: limits");
	is_int(list[0].window_ms, 2000, "its average: two seconds, where it tells none");
	tree_put(root, CARD "/power1_max_interval", "28000");
	tree_put(root, CARD "/power1_max", "0");
	power_read(root, list, count);
	is_int(list[0].window_ms, 28000, "or what it tells");
	is_int(list[0].enforced, 228000, "no limit counts as all that it can draw");
	tree_put(root, CARD "/power1_crit", "300000000");
	power_read(root, list, count);
	is_int(list[0].enforced, 300000, "which may be more than its rating");
	is_int(set(0, 150000), 0, "a limit is set");
	is_int(list[0].enforced, 150000, "and read back");
	is_int(set(0, 0), -ERANGE, "0 would switch it off, and is never written");
	is_int(set(0, 500), -ERANGE, "nor what rounds to it");
	is_int(list[0].enforced, 150000, "the limit holds");
	tree_remove(root);
}

static void test_rapl(void)
{
	tree_unpack("cpu-only", root, sizeof root);
	tree_put(root, ZONE "/name", "package-0");
	tree_put(root, ZONE "/energy_uj", "262143000000");
	tree_put(root, ZONE "/max_energy_range_uj", "262143328850");
	look();
	ok(count == 1 && !list[0].way && list[0].fixed >= 65000, "AMD's zones have no limit: it counts by its threads");
	tree_put(root, ZONE "/constraint_0_power_limit_uw", "125000000");
	tree_put(root, ZONE "/constraint_0_max_power_uw", "125000000");
	tree_put(root, ZONE "/constraint_0_time_window_us", "27983872");
	tree_put(root, ZONE "/constraint_1_power_limit_uw", "241000000");
	tree_put(root, "sys/class/powercap/intel-rapl:0:0/name", "core");
	tree_put(root, "sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw", "1");
	tree_put(root, "sys/class/powercap/intel-rapl:1/name", "psys");
	tree_put(root, "sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw", "1");
	look();
	ok(count == 1 && list[0].way == &power_rapl, "a socket is one device; its parts and psys are none");
	is_int(list[0].enforced, 241000, "the higher of its limits counts");
	is_int(list[0].window_ms, 27983, "with its window");
	is_int(set(0, 95000), 0, "a limit is set");
	is_int(list[0].enforced, 95000, "on both");
	is_int(set(0, 126000), -ERANGE, "more than the socket takes is refused");
	is_str(f.text, "a limit of 126 W is more than the 125 W that 'package-0' takes", "in words");
	is_int(list[0].enforced, 95000, "and nothing is written");
	list[0].energy_us -= 1000 * 1000;
	tree_put(root, ZONE "/energy_uj", "1000000"); /* it went round: 1,328,850 uJ in a second and a little */
	power_read(root, list, count);
	ok(list[0].draw > 900 && list[0].draw < 1329, "its draw is energy over time, past the counter's end");
	tree_remove(root);
}

static void test_nvml(void)
{
	char state[1100], from[1100], to[1200];

	tree_unpack("rtx4090x2", root, sizeof root);
	snprintf(state, sizeof state, "%s/state", root);
	mkdir(state, 0700);
	setenv("FAKE_NVML", "good", 1);
	setenv("FAKE_NVML_STATE", state, 1);
	look();
	ok(count == 3 && list[0].way == &power_nvml && list[0].enforced == POWER_UNKNOWN && *list[0].why,
		"without NVIDIA's library nothing is known of its limits");
	snprintf(from, sizeof from, "%s/" FAKE, getenv("abs_top_builddir") ? getenv("abs_top_builddir") : ".");
	tree_put(root, "lib/", "");
	snprintf(to, sizeof to, "%s/lib/libnvidia-ml.so.1", root);
	if (symlink(from, to))
		exit(99);
	look();
	ok(list[0].enforced == 450000 && list[0].usual == 450000 && list[0].least == 10000 && list[0].most == 600000 &&
			list[0].draw == 21000,
		"NVIDIA: limits and draw");
	is_int(set(1, 300000), 0, "a limit is set");
	ok(list[0].enforced == 450000 && list[1].enforced == 300000, "and read back, on that card alone");
	snprintf(to, sizeof to, "%s/1.persistent", state);
	ok(access(to, F_OK) == 0, "which keeps it when nobody uses the card");
	snprintf(to, sizeof to, "%s/0.persistent", state);
	ok(access(to, F_OK) != 0, "the other's persistence is left as it is");
	setenv("FAKE_NVML", "norights", 1);
	is_int(set(0, 300000), -EPERM, "not by anybody");
	has_str(f.text, "root alone", "and that is said");
	setenv("FAKE_NVML", "ignores", 1);
	ok(set(0, 300000) == 0 && list[0].enforced == 450000, "what is ignored is seen by reading back");
	setenv("FAKE_NVML", "lost", 1);
	power_read(root, list, count);
	ok(list[0].enforced == POWER_UNKNOWN && list[1].enforced == 300000,
		"one that is gone is not known, the other is");
	setenv("FAKE_NVML", "crash", 1);
	power_read(root, list, count);
	ok(list[1].enforced == POWER_UNKNOWN && strstr(list[1].why, "crashed"),
		"a library that crashes takes nobody along");
	unsetenv("FAKE_NVML");
	unsetenv("FAKE_NVML_STATE");
	tree_remove(root);
}

/* ---- What was measured ------------------------------------------------------------------------------- */

static void test_curve(void)
{
	static const char text[] = "{\"gpus\": [{\"address\": \"0000:01:00.0\", \"name\": \"card\", \"measured_at\": 5,"
				   "\"points\": [{\"watts\": 100, \"speed\": 500}, {\"watts\": 200, \"speed\": 900},"
				   "{\"watts\": 300, \"speed\": 1000}]}]}";
	static const char *const none[] = { "", "[]", "{}", "{\"gpus\": 1}", "{\"gpus\": [1]}",
		"{\"gpus\": [{\"address\": \"a\", \"measured_at\": 1, \"points\": []}]}",
		"{\"gpus\": [{\"address\": \"a\", \"measured_at\": 1, \"points\": [{\"watts\": 5, \"speed\": 0}]}]}",
		"{\"gpus\": [{\"address\": \"a\", \"measured_at\": 1, \"points\": [{\"watts\": 5, \"speed\": 1},"
		"{\"watts\": 5, \"speed\": 1}]}]}" };
	static struct curves c;
	int64_t at = 0;

	gpu(0, 100, 300, false);
	is_int(curve_parse(text, strlen(text), &c, &f), 0, "a measured card");
	ok(curve_speed(&c, &list[0], 200000, &at) == 900 && at == 5, "its speed at a limit that was measured");
	is_int(curve_speed(&c, &list[0], 150000, &at), 700, "between two");
	is_int(curve_speed(&c, &list[0], 500000, &at), 1000, "above all: no faster");
	is_int(curve_speed(&c, &list[0], 99000, &at), -1, "below all: not known");
	snprintf(list[0].name, sizeof list[0].name, "another");
	is_int(curve_speed(&c, &list[0], 200000, &at), -1, "another card in its place is not known");
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		ok(curve_parse(none[i], strlen(none[i]), &c, &f) == -EINVAL && c.count == 0, "'%.30s' has no curves",
			none[i]);
}

int main(void)
{
	plan_none;
	test_supply();
	test_envelope();
	test_budget();
	test_amdgpu();
	test_intel();
	test_rapl();
	test_nvml();
	test_curve();
	return done();
}
