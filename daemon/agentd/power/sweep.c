/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agentd/machine/gpu_challenge.h"
#include "agentd/machine/gpuchild.h"
#include "agentd/power/device_part.h"
#include "agentd/power/power_devices.h"
#include "base/clock.h"

#define CUDA "libcuda.so.1"

enum { RUN_MS = 3000, RUNS_LEAST = 2, DEADLINE_MS = 120000, SETTLE_MS = 2000, PART = 4 };

/* ---- Putting limits back ------------------------------------------------------------------------ */

_Noreturn static void sweep_guard_child(const char *root, const struct power_device *list, size_t count, int fd)
{
	char byte;
	int bad = 0;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < count; i++)
		if (list[i].kind == POWER_GPU && list[i].way && list[i].enforced != POWER_UNKNOWN)
			bad |= list[i].way->set(root, &list[i], list[i].enforced, NULL);
	_exit(bad != 0);
}

int sweep_guard(const char *root, const struct power_device *list, size_t count, int lock, struct sweep_guard *out,
	struct fail *f)
{
	int ends[2];
	pid_t pid;

	(void)lock; /* the child has it too: the lock is held until both are gone */
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail_errno(f, -errno, errno, "cannot make a pipe");
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		sweep_guard_child(root, list, count, ends[0]);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return fail_errno(f, -errno, errno, "cannot start a process");
	}
	*out = (struct sweep_guard){ pid, ends[1] };
	return 0;
}

int sweep_end(struct sweep_guard *g)
{
	int status = 0;

	close(g->fd);
	while (waitpid(g->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -EIO;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* ---- Measuring ---------------------------------------------------------------------------------- */

struct sweep_work {
	const char *library; /* NULL: this machine's own */
	int index;
};

struct sweep_told {
	int64_t speed; /* 0: it failed */
	char why[200];
};

/* Runs long enough for the limit to count, and takes the last speed. */
static int sweep_measure_there(const struct sweep_work *w, struct sweep_told *t, struct fail *f)
{
	int64_t until = clock_ms() + RUN_MS;
	struct gpu_challenge got;
	struct cuda *c;
	int n = 0, rc;

	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	rc = gpu_challenge_open(w->library, &c, &n, f);
	if (rc)
		return rc;
	if (w->index >= n)
		return fail_set(f, -ENODEV, "CUDA sees %d GPUs", n);
	for (int i = 0; !rc && (i < RUNS_LEAST || clock_ms() < until); i++)
		rc = gpu_challenge_run(c, w->index, (uint64_t)clock_ms(), &got, f);
	t->speed = rc ? 0 : got.sums.value;
	gpu_challenge_close(c);
	return rc;
}

static int sweep_work_child(void *arg, int fd)
{
	struct sweep_told t = { .speed = 0 };
	struct fail f = { 0 };

	sweep_measure_there(arg, &t, &f);
	snprintf(t.why, sizeof t.why, "%.190s", f.text);
	return gpuchild_write(fd, &t, sizeof t);
}

static int sweep_measure(const char *root, int index, int64_t *speed, struct fail *f)
{
	char room[SYSFS_PATH];
	struct sweep_work w = { sysfs_library(root, CUDA, room), index };
	struct sweep_told t;
	struct buf told;
	int rc;

	if (w.library && !*w.library)
		return fail_set(f, -ENOTSUP, "CUDA is not there: apt-get install libcuda1 (the driver's version)");
	buf_init(&told, sizeof t + 1);
	rc = gpuchild_run(sweep_work_child, &w, DEADLINE_MS, &told, f);
	if (!rc && told.len != sizeof t)
		rc = fail_set(f, -EIO, "its answer is cut off");
	if (!rc) {
		memcpy(&t, told.data, sizeof t);
		t.why[sizeof t.why - 1] = '\0';
		*speed = t.speed;
		rc = t.speed > 0 ? 0 : fail_set(f, -EIO, "%s", t.why);
	}
	buf_release(&told);
	return rc;
}

/* Sets one limit and waits until it counts. */
static int sweep_set(const char *root, struct power_device *list, size_t count, struct power_device *d, int64_t limit,
	struct fail *f)
{
	int64_t ms = d->window_ms > SETTLE_MS ? d->window_ms : SETTLE_MS;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	int rc = d->way->set(root, d, limit, f);

	power_read(root, list, count);
	if (!rc && (d->enforced == POWER_UNKNOWN || d->enforced > limit + POWER_GRAIN))
		rc = fail_set(f, -EIO, "it does not take a limit of %lld W", (long long)(limit / 1000));
	while (!rc && nanosleep(&t, &t) != 0 && errno == EINTR)
		;
	return rc;
}

int sweep_gpu(const char *root, struct power_device *list, size_t count, size_t index, size_t steps,
	void (*said)(const struct power_device *d, const struct curve_point *p), struct curve *out, struct fail *f)
{
	struct power_device *d = &list[index];
	int64_t high = d->enforced / 1000 * 1000, low = d->least > high / PART ? d->least : high / PART;
	struct curve c = { .measured_at = time(NULL) };
	int cuda = 0, rc = 0;

	if (d->way != &power_nvml)
		return fail_set(f, -ENOTSUP, "only the speed of NVIDIA's GPUs can be measured");
	if (d->enforced == POWER_UNKNOWN || high - low < (int64_t)steps * POWER_GRAIN)
		return fail_set(f, -EIO, "its limits leave no room to measure: %s",
			*d->why ? d->why : "it is at its least");
	for (size_t i = 0; i < index; i++)
		cuda += list[i].way == &power_nvml;
	memcpy(c.address, d->address, sizeof c.address);
	memcpy(c.name, d->name, sizeof c.name);
	c.count = steps;
	for (size_t i = steps; !rc && i-- > 0;) { /* downwards: what is in force is never more than it was */
		struct curve_point *p = &c.points[i];

		p->limit = (low + (high - low) * (int64_t)i / (int64_t)(steps - 1)) / 1000 * 1000;
		rc = sweep_set(root, list, count, d, p->limit, f);
		rc = rc ? rc : sweep_measure(root, cuda, &p->speed, f);
		if (!rc)
			said(d, p);
	}
	if (!rc)
		*out = c;
	return rc;
}
