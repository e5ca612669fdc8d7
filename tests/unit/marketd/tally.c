/* SPDX-License-Identifier: Apache-2.0 */
/* What fits on a machine, against a search that tries all ways to give out its GPUs; what strange inventories say. */
#include <jansson.h>

#include "marketd/api/tally.h"

#include "../../lib/tap.h"

enum { NODES = 5, GPUS = 3, ROUNDS = 20000 };

static unsigned random_at = 14;

static int any(int below)
{
	random_at = random_at * 1103515245 + 12345;
	return (int)(random_at >> 16) % below;
}

static void any_machine(struct capacity *has)
{
	static const char *const models[] = { "h100", "h200", "a100" };

	*has = (struct capacity){ .vcpus = any(8),
		.memory = any(20),
		.disk = any(20),
		.devices = any(8) != 0,
		.node_memory = any(3) };
	for (has->kinds = 0; has->kinds < (size_t)any(4); has->kinds++) {
		struct capacity_gpu *g = &has->gpus[has->kinds];

		snprintf(g->model, sizeof g->model, "%s", models[has->kinds]);
		snprintf(g->vendor, sizeof g->vendor, "nvidia");
		g->memory = 80 + 20 * any(3);
		g->count = 1 + any(GPUS);
	}
}

static struct promise any_promise(void)
{
	static const char *const models[] = { "", "H100", "h200", "a100" };
	struct promise p = { .vcpus = any(4), .memory = any(8), .disk = any(8), .gpus = any(GPUS + 1) };

	p.overcommit = p.vcpus ? 1 + any(4) : 0;
	if (p.gpus && any(2))
		snprintf(p.gpu_model, sizeof p.gpu_model, "%s", models[any(4)]);
	if (p.gpus && any(3) == 0)
		p.gpu_memory = 80 + 20 * any(3);
	return p;
}

static bool would_do(const struct capacity_gpu *g, const struct promise *p)
{
	return (!*p->gpu_model || strcasecmp(p->gpu_model, g->model) == 0) && g->memory >= p->gpu_memory;
}

/* Tries all ways to give each node its GPUs. */
static bool can_give(const struct capacity *has, int64_t *left, const struct promise *nodes, int count, int64_t got)
{
	if (count == 0)
		return true;
	if (got == nodes->gpus)
		return can_give(has, left, nodes + 1, count - 1, 0);
	for (size_t k = 0; has->devices && k < has->kinds; k++) {
		if (!left[k] || !would_do(&has->gpus[k], nodes))
			continue;
		left[k]--;
		if (can_give(has, left, nodes, count, got + 1))
			return true; /* what is left does not matter any more */
		left[k]++;
	}
	return false;
}

static bool all_fit(const struct capacity *has, const struct promise *nodes, int count)
{
	int64_t left[TALLY_KINDS], memory = 0, disk = 0, twelfths = 0;

	for (int i = 0; i < count; i++) {
		memory += nodes[i].memory ? nodes[i].memory + has->node_memory : 0;
		disk += nodes[i].disk;
		twelfths += nodes[i].overcommit ? 12 * nodes[i].vcpus / nodes[i].overcommit : 0;
	}
	for (size_t k = 0; k < has->kinds; k++)
		left[k] = has->gpus[k].count;
	return memory <= has->memory && disk <= has->disk && twelfths <= 12 * has->vcpus &&
		can_give(has, left, nodes, count, 0);
}

static void test_random(void)
{
	int wrong = 0, taken = 0, refused = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct promise nodes[NODES + 1];
		struct capacity has;
		struct tally r;
		int count = 0;

		any_machine(&has);
		tally_init(&r, &has);
		while (count < NODES) {
			bool fits, really;

			nodes[count] = any_promise();
			fits = tally_lacks(&r, &nodes[count]) == TALLY_PARTS;
			really = all_fit(&has, nodes, count + 1);
			wrong += fits != really;
			if (!fits) {
				refused++;
				break;
			}
			taken++;
			tally_take(&r, &nodes[count++], "x");
		}
	}
	is_int(wrong, 0, "a node is taken exactly where all of them fit");
	ok(taken > ROUNDS / 4 && refused > ROUNDS / 4, "(%d taken, %d refused)", taken, refused);
}

/* Tries all ways to cut GPUs, each into slices of one profile, and to give out whole ones. */
static bool slices_fit(const struct capacity *has, const int64_t need[2], int64_t whole, const int64_t left[2])
{
	if (need[0] <= 0 && need[1] <= 0 && whole <= 0)
		return true;
	for (size_t k = 0; k < has->kinds; k++) {
		const int64_t rest[2] = { left[0] - (k == 0), left[1] - (k == 1) };

		if (!left[k])
			continue;
		if (whole > 0 && slices_fit(has, need, whole - 1, rest))
			return true;
		for (size_t s = 0; s < has->gpus[k].slice_count; s++) {
			const int64_t less[2] = { need[0] - (s == 0 ? has->gpus[k].slices[s].count : 0),
				need[1] - (s == 1 ? has->gpus[k].slices[s].count : 0) };

			if (need[s] > 0 && slices_fit(has, less, whole, rest))
				return true;
		}
	}
	return false;
}

/* Whole GPUs and slices of two profiles: what is sold can always be made, and on GPUs of one kind all of it is sold. */
static void test_slices(void)
{
	static const char *const profiles[] = { "1g.10gb", "3g.40gb" };
	int sold_too_much = 0, held_back = 0, taken = 0, refused = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct capacity has = { .devices = true, .kinds = (size_t)(1 + any(2)) };
		int64_t need[2] = { 0 }, whole = 0, left[2] = { 0 };
		bool fits = true;
		struct tally r;

		for (size_t k = 0; k < has.kinds; k++) {
			struct capacity_gpu *g = &has.gpus[k];

			*g = (struct capacity_gpu){ .vendor = "nvidia", .model = "h100", .memory = (int64_t)k };
			g->count = left[k] = 1 + any(2);
			g->slice_count = (size_t)any(3);
			for (size_t s = 0; s < g->slice_count; s++) {
				snprintf(g->slices[s].profile, sizeof g->slices[s].profile, "%s", profiles[s]);
				g->slices[s].count = 1 + any(7);
			}
		}
		tally_init(&r, &has);
		for (int i = 0; i < 30 && fits; i++) {
			int what = any(5);
			struct promise p = { .gpus = 1 };
			bool can;

			if (what < 4)
				snprintf(p.gpu_slice, sizeof p.gpu_slice, "%s", profiles[what == 3]);
			need[what == 3] += what < 4;
			whole += what == 4;
			fits = tally_lacks(&r, &p) == TALLY_PARTS;
			can = slices_fit(&has, need, whole, left);
			sold_too_much += fits && !can;
			held_back += !fits && can && has.kinds == 1;
			taken += fits;
			refused += !fits;
			if (fits)
				tally_take(&r, &p, "x");
		}
	}
	is_int(sold_too_much, 0, "a slice that is sold can be made beside all others");
	is_int(held_back, 0, "and on GPUs of one kind each that can be made is sold");
	ok(taken > ROUNDS && refused > ROUNDS / 2, "(%d taken, %d refused)", taken, refused);
}

/* Whole GPUs and shares of one kind: shares of one size need as many GPUs as hold them. */
static void test_shares(void)
{
	int wrong = 0, taken = 0, refused = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct capacity has = { .devices = true, .kinds = 1, .shares = "nvidia" };
		int64_t shares[5] = { 0 }, whole = 0, need;
		struct tally r;

		has.gpus[0] = (struct capacity_gpu){ .vendor = "nvidia", .model = "h100", .count = 1 + any(4) };
		tally_init(&r, &has);
		for (int i = 0; i < 12; i++) {
			struct promise p = { .gpus = 1, .gpu_parts = any(2) ? 2 + any(3) : 0 };
			bool fits = tally_lacks(&r, &p) == TALLY_PARTS;

			if (!p.gpu_parts)
				whole++;
			else
				shares[p.gpu_parts]++;
			need = whole + (shares[2] + 1) / 2 + (shares[3] + 2) / 3 + (shares[4] + 3) / 4;
			wrong += fits != (need <= has.gpus[0].count);
			taken += fits;
			refused += !fits;
			if (!fits)
				break;
			tally_take(&r, &p, "x");
		}
	}
	is_int(wrong, 0, "a share is taken exactly where GPUs cut into shares of one size hold all");
	ok(taken > ROUNDS && refused > ROUNDS / 2, "(%d taken, %d refused)", taken, refused);
}

static void test_share_needs(void)
{
	struct capacity has = { .devices = true, .kinds = 1 };
	struct promise p = { .gpus = 1, .gpu_parts = 4 };

	has.gpus[0] = (struct capacity_gpu){ .vendor = "nvidia", .model = "h100", .count = 1 };
	is_int(tally_count(&has, &p), 0, "a machine that does not say that it shares GPUs shares none");
	snprintf(has.shares, sizeof has.shares, "amd");
	is_int(tally_count(&has, &p), 0, "nor does one that shares another vendor's");
	snprintf(has.shares, sizeof has.shares, "nvidia");
	is_int(tally_count(&has, &p), 4, "else four quarters are one");
}

static bool reads(const char *inventory, struct capacity *has)
{
	json_t *o = json_loads(inventory, 0, NULL);
	bool known = tally_capacity(o, has);

	json_decref(o);
	return known;
}

static void test_reading(void)
{
	struct promise vast = { .vcpus = INT64_MAX,
		.overcommit = 1,
		.memory = INT64_MAX,
		.disk = INT64_MAX,
		.gpus = INT64_MAX };
	struct capacity has;
	struct tally r;

	ok(!tally_capacity(NULL, &has) && !reads("{}", &has) && !reads("{\"capacity\":7}", &has), "no capacity");
	ok(reads("{\"capacity\":{\"vcpus\":-5,\"memory_bytes\":\"x\",\"disk_bytes\":1.5,\"devices\":1}}", &has) &&
			!has.vcpus && !has.memory && !has.disk && !has.devices && !has.kinds,
		"what is of another kind is nothing");
	ok(reads("{\"capacity\":{\"devices\":true,\"driver\":\"a\\u001bb\",\"gpus\":[{\"model\":\"x\",\"count\":3},"
		 "{\"model\":\"X\",\"count\":2},{\"model\":\"y\",\"count\":0},5]}}",
		   &has) &&
			has.kinds == 1 && has.gpus[0].count == 5,
		"equal GPUs are one kind");
	is_str(has.driver, "a?b", "a driver's name is a word");
	ok(reads("{\"capacity\":{\"no_gpus\":\"VT-d is\\u001b off\"}}", &has), "(a machine whose guests get no GPUs)");
	is_str(has.no_gpus, "VT-d is? off", "says why, in printable letters");
	ok(reads("{\"capacity\":{\"devices\":true,\"gpus\":[{\"model\":\"x\",\"count\":5}]}}", &has), "(another)");
	tally_init(&r, &has);
	tally_take(&r, &vast, "a");
	tally_take(&r, &vast, "b");
	ok(r.memory == INT64_MAX && r.cores == INT64_MAX && tally_lacks(&r, &vast) != TALLY_PARTS,
		"sums do not pass their end");
	has.gpus[0].memory = INT64_C(81559) << 20;
	is_int(tally_count(&has, &(struct promise){ .gpus = 1, .gpu_memory = INT64_C(80) << 30 }), 5,
		"a GPU of 80 GiB whose driver shows 79.6");
	is_int(tally_count(&has, &(struct promise){ .gpus = 1, .gpu_memory = INT64_C(94) << 30 }), 0, "is none of 94");
	is_int(tally_count(&has, &(struct promise){ .gpus = 2 }), 2, "five GPUs are two nodes of two");
}

static void is_merged(const char *known, const char *given, const char *want, const char *what)
{
	json_t *o = json_loads(given, 0, NULL), *merged = tally_merge(known, o);
	char *text = json_dumps(json_object_get(merged, "capacity"), JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

	is_str(text ? text : "", want, "%s", what);
	free(text);
	json_decref(merged);
	json_decref(o);
}

#define KNOWN "{\"capacity\":{\"disk_bytes\":3,\"gpus\":[{\"memory_bytes\":9,\"model\":\"h100\"}],\"vcpus\":2}}"
#define GPU "\"gpus\":[{\"memory_bytes\":9,\"model\":\"h100\"}]"

static void test_merging(void)
{
	is_merged(NULL, "{}", "", "an agent that never said what it has is not made to");
	is_merged(KNOWN, "{}", "{\"disk_bytes\":3," GPU ",\"vcpus\":2}", "a report without a capacity changes nothing");
	is_merged(KNOWN, "{\"capacity\":null}", "{\"disk_bytes\":3," GPU ",\"vcpus\":2}", "nor does null");
	is_merged(KNOWN, "{\"capacity\":{\"vcpus\":1,\"disk_bytes\":-1}}", "{\"disk_bytes\":3," GPU ",\"vcpus\":1}",
		"what is missing or unknown stays as it was");
	is_merged("{\"capacity\":{\"network\":false,\"node_memory_bytes\":5}}", "{\"capacity\":{\"vcpus\":1}}",
		"{\"network\":false,\"node_memory_bytes\":5,\"vcpus\":1}",
		"nor is a driver's need taken back by silence");
	is_merged("{\"capacity\":{\"network\":false,\"node_memory_bytes\":5}}",
		"{\"capacity\":{\"network\":true,\"node_memory_bytes\":0}}",
		"{\"network\":true,\"node_memory_bytes\":0}", "by another word it is");
	is_merged("{\"capacity\":{\"shares\":\"nvidia\"}}", "{\"capacity\":{\"vcpus\":1}}",
		"{\"shares\":\"nvidia\",\"vcpus\":1}", "a look that failed takes no shares back");
	is_merged("{\"capacity\":{\"shares\":\"nvidia\"}}", "{\"capacity\":{\"shares\":\"\"}}", "{\"shares\":\"\"}",
		"a driver that gives none does");
	is_merged(KNOWN, "{\"capacity\":{\"vcpus\":0,\"disk_bytes\":0,\"gpus\":[]}}",
		"{\"disk_bytes\":0,\"gpus\":[],\"vcpus\":0}", "none is not unknown");
	is_merged(KNOWN, "{\"capacity\":{\"gpus\":[{\"model\":\"H100\"},{\"model\":\"a100\"}]}}",
		"{\"disk_bytes\":3,\"gpus\":[{\"memory_bytes\":9,\"model\":\"H100\"},{\"model\":\"a100\"}],\"vcpus\":"
		"2}",
		"a GPU whose driver is silent has the memory that it had");
	is_merged("{\"capacity\":{\"gpus\":[{\"model\":\"h100\",\"slices\":[1]}]}}",
		"{\"capacity\":{\"gpus\":[{\"model\":\"h100\",\"slices\":[1]},{\"model\":\"h100\"}]}}",
		"{\"gpus\":[{\"model\":\"h100\",\"slices\":[1]},{\"model\":\"h100\",\"slices\":[1]}]}",
		"and the slices that all of its model had");
	is_merged("{\"capacity\":{\"gpus\":[{\"model\":\"h100\",\"slices\":[1]},{\"model\":\"h100\"}]}}",
		"{\"capacity\":{\"gpus\":[{\"model\":\"h100\",\"slices\":[1]},{\"model\":\"h100\"}]}}",
		"{\"gpus\":[{\"model\":\"h100\",\"slices\":[1]},{\"model\":\"h100\"}]}",
		"but none where another of its model never told any");
}

/* n GPUs, and how many of them have a memory. */
static size_t merges(size_t known, size_t given)
{
	json_t *before = json_array(), *now = json_array(), *o, *merged;
	size_t i, with = 0;
	char *text;

	for (i = 0; i < known; i++)
		json_array_append_new(before, json_pack("{s:s, s:i}", "model", "h100", "memory_bytes", 9));
	for (i = 0; i < given; i++)
		json_array_append_new(now, json_pack("{s:s}", "model", "h100"));
	before = json_pack("{s:{s:o}}", "capacity", "gpus", before);
	now = json_pack("{s:{s:o}}", "capacity", "gpus", now);
	text = json_dumps(before, 0);
	merged = tally_merge(text, now);
	json_array_foreach(json_object_get(json_object_get(merged, "capacity"), "gpus"), i, o)
		with += json_object_get(o, "memory_bytes") != NULL;
	free(text);
	json_decref(merged);
	json_decref(before);
	json_decref(now);
	return with;
}

/* Each with each would be 10^10. */
static void test_merging_many(void)
{
	is_int(merges(64, 64), 64, "64 GPUs have the memory that they had");
	is_int(merges(65, 1) + merges(1, 65), 0, "more are no machine's");
	is_int(merges(100000, 100000), 0, "and take no time");
}

/* Its part of a shared folder is of the machine's disk, as its own is, and not every machine has such folders. */
static void test_shared_folder(void)
{
	struct capacity has = { .disk = 100 };
	struct promise p = { .disk = 20, .shared = 30 };
	struct tally r;

	tally_init(&r, &has);
	ok(tally_lacks(&r, &p) == TALLY_SHARED, "nodes of this machine share no folder");
	has.shared = true;
	ok(tally_count(&has, &p) == 2, "two of 20 and 30 fit on a disk of 100");
	p.disk = 0;
	ok(tally_count(&has, &p) == 3, "three without a disk of their own");
	ok(reads("{\"capacity\":{\"disk_bytes\":9,\"shared_storage\":1}}", &has) && !has.shared,
		"only true says that nodes can share a folder");
	ok(reads("{\"capacity\":{\"disk_bytes\":9,\"shared_storage\":true}}", &has) && has.shared, "(it does)");
}

int main(void)
{
	test_shared_folder();
	test_merging();
	test_merging_many();
	test_random();
	test_shares();
	test_slices();
	test_share_needs();
	test_reading();
	return done();
}
