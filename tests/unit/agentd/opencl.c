/* SPDX-License-Identifier: Apache-2.0 */
/* What verify finds out about GPUs by OpenCL: by a stand-in that lies, and by pocl where it is installed. */
#include <dlfcn.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/gpu.h"
#include "agentd/machine/verify/verify.h"
#include "base/clock.h"
#include "market/claims.h"
#include "inventorytree.h"

#define FAKE "./tests/lib/.libs/fakeopencl.so"
#define GPU "sys/bus/pci/devices/0000:03:00.0/"

static char root[1024];

static json_t *measure(const struct verify_setup *s)
{
	struct claims c;
	struct buf text;
	json_t *d;

	buf_init(&text, CLAIMS_BYTES);
	if (verify_run(s, NULL, &c) || claims_write(&c, &text))
		exit(99);
	d = json_loads(buf_text(&text), 0, NULL);
	claims_release(&c);
	buf_release(&text);
	return d;
}

/* The results of one verification, as one JSON. */
static json_t *verify(const char *library, const char *mode, int want)
{
	struct verify_setup s = { .root = root,
		.opencl = library,
		.cuda = "/nowhere",
		.deadline_ms = strcmp(mode, "hang") == 0 ? 1000 : 60000 };
	json_t *d;

	setenv("FAKE_OPENCL", mode, 1);
	d = measure(&s);
	is_int(json_is_true(json_object_get(d, "passed")) ? 0 : 11, want, "%s: status", mode);
	return d;
}

static const json_t *find(const json_t *d, const char *check)
{
	const json_t *list = json_object_get(d, "checks"), *o;
	size_t i;

	json_array_foreach(list, i, o) if (strcmp(json_string_value(json_object_get(o, "check")), check) == 0) return o;
	return NULL;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void says(const json_t *d, const char *check, const char *result, const char *part, const char *what)
{
	const json_t *o = find(d, check);

	if (!ok(strcmp(text_of(o, "result"), result) == 0 && strstr(text_of(o, "text"), part), "%s", what))
		diag("'%s': '%s'", text_of(o, "result"), text_of(o, "text"));
}

/* One run of the stand-in: what one check says. */
static void device(const char *mode, int want, const char *check, const char *result, const char *part,
	const char *what)
{
	json_t *d = verify(FAKE, mode, want);

	says(d, check, result, part, what);
	json_decref(d);
}

static void put_gpu(const char *vendor, const char *id, const char *driver, const char *memory)
{
	tree_put(root, GPU "vendor", vendor);
	tree_put(root, GPU "device", id);
	tree_put(root, GPU "class", "0x038000");
	tree_put(root, GPU "driver", driver);
	tree_put(root, GPU "power/runtime_status", "active");
	tree_put(root, GPU "power_state", "D0");
	tree_put(root, GPU "mem_info_vram_total", memory);
}

/* A card that is not in the table: it may be as slow as it likes. */
static void test_unknown(void)
{
	json_t *d;

	put_gpu("0x8086", "0xffff", "-> ../xe", "0");
	d = verify(FAKE, "good", 0);
	says(d, "opencl 0 memory", "ok", "(0000:03:00.0): filled 5 of 6 MiB", "filled and read back");
	says(d, "opencl 0 memory", "ok", "Fake? GPU", "its name is printable");
	says(d, "opencl 0 sums", "ok", "compared", "sums are compared");
	says(d, "opencl 0 download", "ok", "card's memory", "the link is measured");
	is_str(text_of(find(d, "opencl 0 sums"), "device"), "0000:03:00.0", "and which card it is");
	json_decref(d);
	device("nv", 0, "opencl 0 memory", "ok", "(0000:03:00.0)", "NVIDIA's address");
	device("amd", 0, "opencl 0 memory", "ok", "(0000:03:00.0)", "AMD's address");
	device("nameless", 0, "opencl 0 memory", "ok", "unmatched", "no address: measured, and said");
	device("elsewhere", 11, "opencl 0 memory", "failed", "at 0000:09:00.0, where the bus has no GPU",
		"a false address");
	device("cpu", 0, "opencl 0 memory", "ok", "counts as no GPU", "a processor");
	device("cpu", 0, "opencl", "skipped", "1 GPUs were not measured", "and the GPU is still missing");
	device("none", 0, "opencl", "skipped", "intel-opencl-icd", "no device: what to install");
	device("short", 11, "opencl 0 memory", "failed", "do not hold what was written",
		"half of the memory is missing");
	device("guess", 11, "opencl 0 memory", "failed", "does not hold what was written", "nothing is stored");
	device("wrong", 11, "opencl 0 memory", "failed", "wrong sums", "it cannot count");
	device("lazy", 11, "opencl 0 memory", "failed", "no memory is faster", "faster than can be");
	device("huge", 11, "opencl 0 memory", "failed", "cannot be", "more memory than can be");
	device("many", 11, "opencl", "failed", "claims 4000000000 devices", "more devices than can be");
	device("full", 11, "opencl 0 memory", "failed", "MiB are free", "memory that another holds");
	device("hang", 11, "opencl 0 memory", "failed", "no answer within", "it hangs");
	device("crash", 11, "opencl 0 memory", "failed", "crashed with signal 11", "it crashes");
}

/* An MI210 has 64 GiB, at 1638 GB/s. */
static void test_known(void)
{
	int64_t slowest, fastest;

	put_gpu("0x1002", "0x740f", "-> ../amdgpu", "68702699520");
	device("good", 11, "opencl 0 memory", "failed", "it has 6 MiB", "less memory than the bus says");
	put_gpu("0x1002", "0x740f", "-> ../amdgpu", "6291456");
	device("good", 11, "opencl 0 memory", "failed", "the memory of a mi210 does 1638 GB/s", "right, but too slow");
	ok(gpu_bandwidth("h100", &slowest, &fastest) && slowest < fastest, "a model's speed is known");
	ok(!gpu_bandwidth("none", &slowest, &fastest), "and not every one's");
}

static void test_nonce(void)
{
	struct verify_setup s = { .root = root, .opencl = FAKE, .nonce = "00ff", .deadline_ms = 60000 };
	char first[40];

	put_gpu("0x8086", "0xffff", "-> ../xe", "0");
	setenv("FAKE_OPENCL", "good", 1);
	for (int i = 0; i < 3; i++) {
		json_t *d;

		s.nonce = i < 2 ? "00ff" : "00fe";
		d = measure(&s);
		if (i == 0)
			snprintf(first, sizeof first, "%s", text_of(find(d, "opencl 0 sums"), "answer"));
		else if (i == 1)
			is_str(text_of(find(d, "opencl 0 sums"), "answer"), first, "one nonce, one answer");
		else
			ok(*first && strcmp(text_of(find(d, "opencl 0 sums"), "answer"), first) != 0,
				"another nonce, another answer");
		json_decref(d);
	}
}

/* pocl is a real OpenCL on the processor: apt-get install pocl-opencl-icd ocl-icd-libopencl1 */
static void test_pocl(void)
{
	void *there = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	json_t *d;
	const json_t *o;

	if (!there || access("/etc/OpenCL/vendors/pocl.icd", R_OK) != 0) {
		skip("no pocl: apt-get install pocl-opencl-icd ocl-icd-libopencl1");
		return;
	}
	d = verify("libOpenCL.so.1", "", 0);
	o = find(d, "opencl 0 memory");
	if (!ok(strstr(text_of(o, "text"), "counts as no GPU"), "pocl: a processor is challenged, and is no GPU"))
		diag("'%s'", text_of(o, "text"));
	is_str(text_of(find(d, "opencl 0 sums"), "result"), "ok", "pocl: its sums are right");
	json_decref(d);
}

int main(void)
{
	plan_none;
	tree_unpack("cpu-only", root, sizeof root);
	test_unknown();
	test_known();
	test_nonce();
	tree_remove(root);
	tree_unpack("cpu-only", root, sizeof root);
	test_pocl();
	tree_remove(root);
	return done();
}
