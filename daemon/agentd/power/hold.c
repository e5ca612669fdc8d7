/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "agentd/os/gpu_turn.h"
#include "agentd/os/statefile.h"
#include "agentd/power/change.h"
#include "agentd/power/power_devices.h"
#include "base/clock.h"

enum { LOCK_STEP_MS = 50, LOCK_MS = 10000, TURN_MS = 120000 };

static void hold_sleep(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

int hold_lock(const char *data, int64_t wait_ms, int *out, struct fail *f)
{
	int64_t until = clock_ms() + wait_ms;
	char path[STATEFILE_PATH];
	int fd = -1;

	if (statefile_path(path, data, "power.lock", NULL) == 0)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (clock_ms() >= until) {
			close(fd);
			return fail_set(f, -EBUSY,
				"another process changes or measures power limits; wait for its end");
		}
		hold_sleep(LOCK_STEP_MS);
	}
	*out = fd;
	return 0;
}

static int hold_all_there(const struct hold *h, struct fail *f)
{
	for (size_t i = 0; i < h->e.gpu_count; i++) {
		bool there = false;

		for (size_t k = 0; k < h->count; k++)
			there = there || strcmp(h->list[k].address, h->e.gpus[i].address) == 0;
		if (!there)
			return fail_set(f, -ENODEV,
				"the GPU '%s' is gone; restart the machine, or type 'nanopod host power set --envelope "
				"%lldW' to plan without it",
				h->e.gpus[i].address, (long long)(h->e.wall / 1000));
	}
	return 0;
}

int hold_plan(struct hold *h, struct fail *f)
{
	int rc;

	h->count = power_find(h->root, h->list);
	rc = hold_all_there(h, f);
	return rc ? rc : budget_plan(&h->e, h->list, h->count, &h->b, f);
}

/* ---- The ways of the change, on real devices --------------------------------------------------- */

static int hold_read(void *arg, struct power_device *list, size_t count)
{
	const struct hold *h = arg;

	power_read(h->root, list, count);
	return 0;
}

static int hold_set(void *arg, struct power_device *d, int64_t milliwatts, struct fail *f)
{
	const struct hold *h = arg;

	return d->way->set(h->root, d, milliwatts, f);
}

static int hold_wait(void *arg, int64_t ms)
{
	(void)arg;
	hold_sleep(ms);
	return 0;
}

int hold_change(struct hold *h, struct fail *f)
{
	const struct change_ways ways = { h, hold_read, hold_set, hold_wait };

	return change_make(&ways, &h->e, h->list, h->count, f);
}

int hold_apply(struct hold *h, struct fail *f)
{
	int lock = -1, turn = -1, rc = hold_lock(h->data, LOCK_MS, &lock, f);

	rc = rc ? rc : envelope_load(h->data, &h->e, f);
	rc = rc ? rc : gpu_turn_look(h->data, TURN_MS, &turn, f);
	rc = rc ? rc : hold_plan(h, f);
	rc = rc ? rc : hold_change(h, f);
	if (turn >= 0)
		close(turn);
	if (lock >= 0)
		close(lock);
	return rc;
}
