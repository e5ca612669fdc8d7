/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's library, good, silent, crashing and incomplete, played by tests/lib/fakenvml.c. */
#include <errno.h>

#include "../../lib/tap.h"
#include "agentd/machine/gpu.h"
#include "agentd/machine/nvml.h"
#include "base/clock.h"

#define FAKE "./tests/lib/.libs/fakenvml.so"
#define LACKS "./tests/lib/.libs/fakenvmllacks.so"

static struct nvml n;
static struct fail f;

static int ask(const char *mode, const char *library, int64_t deadline)
{
	memset(&n, 0x5a, sizeof n);
	memset(&f, 0, sizeof f);
	setenv("FAKE_NVML", mode, 1);
	return nvml_read(library, deadline, &n, &f);
}

int main(void)
{
	int64_t began;

	plan_none;
	is_int(ask("good", FAKE, 60000), 0, "a good one answers");
	is_int(n.count, 2, "two GPUs");
	is_str(n.driver, "550.127.05", "driver");
	is_str(n.gpus[0].address, "0000:01:00.0", "address");
	is_str(n.gpus[1].name, "NVIDIA GeForce RTX 4090", "name");
	is_str(n.gpus[1].uuid, "GPU-fake-1", "UUID");
	ok(n.gpus[0].memory == 24564LL << 20 && n.gpus[0].memory_used == (1LL << 30) - (64LL << 20),
		"memory, without what the driver keeps for itself");
	ok(n.gpus[0].temperature == 35000 && n.gpus[0].power == 21000, "temperature and power");
	ok(n.gpus[0].power_limit == 450000 && n.gpus[0].power_min == 10000 && n.gpus[0].power_max == 600000, "limits");
	ok(n.gpus[0].ecc == GPU_UNKNOWN && n.gpus[0].mig == GPU_UNKNOWN, "what it does not support is not known");
	ok(n.gpus[1].ecc == 1 && n.gpus[1].uncorrected == 3 && n.gpus[1].mig == 0, "what it does is");
	is_int(ask("total", FAKE, 60000), 0, "an older one answers");
	ok(n.gpus[0].memory_used == 1LL << 30, "and counts that as used");
	is_int(ask("lost", FAKE, 60000), 0, "one that lost a GPU answers");
	ok(n.count == 1 && n.lost == 1, "with the other");
	is_int(ask("absurd", FAKE, 60000), 0, "absurd numbers");
	ok(n.gpus[0].memory == GPU_UNKNOWN && n.gpus[0].temperature == GPU_UNKNOWN && n.gpus[0].power == GPU_UNKNOWN,
		"are not known");
	ok(n.count <= NVML_GPUS, "and four thousand million GPUs are not believed");
	is_int(ask("unset", FAKE, 60000), -EIO, "one whose driver is not loaded says so");
	has_str(f.text, "error 9", "with its number");

	began = clock_ms();
	is_int(ask("hang", FAKE, 300), -ETIMEDOUT, "one that hangs is killed");
	ok(clock_ms() - began < 30000, "in time");
	has_str(f.text, "no answer within 300 ms", "and said so");
	is_int(ask("crash", FAKE, 60000), -EIO, "one that crashes is not the agent's end");
	has_str(f.text, "crashed with signal 6", "and said so");
	is_int(ask("exit", FAKE, 60000), -EIO, "nor one that exits");
	is_int(ask("chatter", FAKE, 60000), 0, "what it prints is lost");
	is_int(ask("good", LACKS, 60000), -ENOSYS, "one that lacks a function is not used");
	has_str(f.text, "nvmlDeviceGetCount_v2", "which is named");
	is_int(ask("good", "./tests/lib/.libs/no-such-library.so", 60000), -ENOENT, "none");
	return done();
}
