/* SPDX-License-Identifier: Apache-2.0 */
/* Who opens NVIDIA's GPUs to look waits for resets, and these for him; no look waits in the agent's main process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agentd/machine/inventory.h"
#include "agentd/os/gpu_turn.h"
#include "agentd/power/envelope.h"
#include "agentd/powercheck.h"
#include "agentd/selfcheck.h"
#include "agentd/verbs/verbs.h"
#include "base/clock.h"
#include "inventorytree.h"

static char root[512], data[600], locked[1000];

/* In whose turn the machine was looked at; these run in a child of the agent. */
int __real_inventory_read(const struct inventory_setup *s, struct inventory **out);
int __wrap_inventory_read(const struct inventory_setup *s, struct inventory **out);
void __wrap_health_check(const struct health_setup *s, struct health_report *out);

static bool in_turn(void)
{
	int fd = gpu_turn(data, LOCK_EX, 0, NULL);

	if (fd >= 0)
		close(fd);
	return fd == -EBUSY;
}

int __wrap_inventory_read(const struct inventory_setup *s, struct inventory **out)
{
	struct inventory_setup blind = *s;
	int rc;

	blind.nvml = "";
	blind.shares = false;
	rc = __real_inventory_read(&blind, out);
	if (!rc)
		inventory_note(*out, "%s", in_turn() ? "in turn" : "at any time");
	return rc;
}

void __wrap_health_check(const struct health_setup *s, struct health_report *out)
{
	if (!s->nvml)
		health_found(out, HEALTH_UNHEALTHY, "nvml", "0000:01:00.0", "", "lost, %s",
			in_turn() ? "in turn" : "at any time");
	health_found(out, HEALTH_DEGRADED, s->nvml ? "disk" : "ecc", "", "", "%s", s->nvml ? "small" : "flips");
}

static void turns(void)
{
	int first = gpu_turn(data, LOCK_SH, 0, NULL), second = gpu_turn(data, LOCK_SH, 0, NULL), none = 7;
	struct fail f = { 0 };

	ok(first >= 0 && second >= 0, "several may look together");
	is_int(gpu_turn(data, LOCK_EX, 0, &f), -EBUSY, "nobody resets meanwhile (%s)", f.text);
	close(first);
	is_int(gpu_turn(data, LOCK_EX, 0, &f), -EBUSY, "before the last one is done");
	close(second);
	first = gpu_turn(data, LOCK_EX, 0, &f);
	ok(first >= 0, "then he does");
	is_int(gpu_turn_look(data, 0, &none, &f), -EBUSY, "and nobody looks");
	ok(none == -1 && strcmp(f.text, "a GPU is being reset; try again in a minute") == 0, "as he reads");
	close(first);
	ok(gpu_turn_look(NULL, 0, &none, &f) == 0 && none == -1, "without an agent's folder everybody may");
	ok(gpu_turn_look("/nonexistent", 0, &none, &f) == 0 && none == -1, "also where it is missing");
}

/* Another process that has the turn until it is killed: children of this one would have its descriptor, too. */
static pid_t somebody_has(int how)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		exit(99);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (gpu_turn(data, how, 0, NULL) < 0 || write(ready[1], "1", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		exit(99);
	close(ready[0]);
	return pid;
}

static void somebody_ends(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void waits(void)
{
	pid_t looks = somebody_has(LOCK_SH), resets = fork();
	int status = -1;

	if (resets == 0)
		_exit(gpu_turn(data, LOCK_EX, 60000, NULL) < 0);
	is_int(waitpid(resets, &status, WNOHANG), 0, "who would reset waits while somebody looks");
	somebody_ends(looks);
	ok(waitpid(resets, &status, 0) == resets && status == 0, "and then does");
}

/* One look, of the inventory or of the health. */
static void look(struct selfcheck *c, bool inventory)
{
	c->inventory_due_ms = inventory ? 0 : INT64_MAX;
	c->health_due_ms = inventory ? INT64_MAX : 0;
	selfcheck_turn(c);
	c->health_due_ms = INT64_MAX;
	for (; c->job.pid; selfcheck_turn(c))
		loop_wait(c->loop, 100);
}

static const struct health_finding *found(const struct selfcheck *c, const char *check)
{
	for (size_t i = 0; i < c->report.count; i++)
		if (strcmp(c->report.list[i].check, check) == 0)
			return &c->report.list[i];
	return NULL;
}

static void looks(void)
{
	static const struct driver driver = { .name = "fake", .devices = DEVICES_NODES };
	static const struct wallclock clock;
	static struct selfcheck c;
	pid_t turn;

	c = (struct selfcheck){ .data = data, .sysfs_root = root, .driver = &driver, .clock = &clock };
	c.health_ms = 1;
	if (loop_new(&c.loop))
		exit(99);
	turn = somebody_has(LOCK_EX);
	look(&c, true);
	ok(!c.inventory && c.inventory_due_ms <= clock_ms() + 5000,
		"while a GPU is reset there is no inventory, but soon after");
	somebody_ends(turn);
	look(&c, true);
	has_str(c.inventory ? c.inventory : "", "in turn", "the inventory is read in turn");

	look(&c, false);
	ok(found(&c, "nvml") && strstr(found(&c, "nvml")->text, "in turn"), "and the health is");
	turn = somebody_has(LOCK_EX);
	look(&c, false);
	ok(found(&c, "disk"), "while a GPU is reset, the rest is looked at");
	ok(found(&c, "nvml") && found(&c, "ecc") && c.report.count == 3, "and what the library said still holds");
	is_int(c.report.health, HEALTH_UNHEALTHY, "as badly");
	look(&c, false);
	is_int(c.report.count, 3, "once");
	somebody_ends(turn);
	look(&c, false);
	ok(!found(&c, "disk") && c.report.count == 2, "then all is looked at again");
	selfcheck_release(&c);
	loop_free(c.loop);
}

static bool was_locked(void)
{
	return unlink(locked) == 0;
}

static void limits(void)
{
	static const struct log quiet = { 0 };
	struct envelope e = { .wall = 3000000, .reserve = 100000 };
	struct powercheck c = { .log = &quiet, .data = data, .sysfs_root = root };
	pid_t turn;

	if (loop_new(&c.loop) || supply_parse("white", &e.supply, NULL) || envelope_save(data, &e, NULL))
		exit(99);
	was_locked();
	turn = somebody_has(LOCK_EX);
	powercheck_turn(&c);
	ok(c.job.pid && !was_locked(), "limits of power wait while a GPU is reset, and the agent goes on");
	somebody_ends(turn);
	for (; c.job.pid; powercheck_turn(&c))
		loop_wait(c.loop, 100);
	ok(c.known && was_locked(), "and are looked at in turn");
	powercheck_release(&c);
	loop_free(c.loop);
}

static int power_shown(void)
{
	static struct flags o = { .verb = "power", .word_count = 0 };
	int status = -1;
	pid_t pid;

	snprintf(o.data, sizeof o.data, "%.500s", data);
	o.sysfs_root = root;
	pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(99);
		_exit(verb_power(&o));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	char path[900], folder[600];

	plan_none;
	tree_unpack("rtx4090x2", root, sizeof root);
	snprintf(data, sizeof data, "%s/agent", root);
	mkdir(data, 0700);
	snprintf(path, sizeof path, "%s/state", root);
	mkdir(path, 0700);
	setenv("FAKE_NVML", "good", 1);
	setenv("FAKE_NVML_STATE", path, 1);
	snprintf(locked, sizeof locked, "%s/locked", path);
	snprintf(path, sizeof path, "%s/gpus.turn", data);
	setenv("FAKE_NVML_LOCK", path, 1);
	snprintf(path, sizeof path, "-> %s/tests/lib/.libs/fakenvml.so", getcwd(folder, sizeof folder));
	tree_put(root, "lib/libnvidia-ml.so.1", path);
	turns();
	waits();
	looks();
	limits();
	was_locked();
	is_int(power_shown(), 0, "'power show'");
	ok(was_locked(), "is in turn, too");
	tree_remove(root);
	return done();
}
