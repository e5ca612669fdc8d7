/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agentd/os/statefile.h"
#include "agentd/datadir.h"
#include "agentd/powercheck.h"
#include "agentd/reporter.h"
#include "agentd/sampler.h"
#include "agentd/sharecheck.h"
#include "agentd/verifier.h"
#include "base/clock.h"

enum {
	KIND_SIGNAL = 1,
	KIND_LINK,
	KIND_JOB,
	WAIT_MAX_MS = 60000,
	STATUS_FENCED = 5,
	MEMORY_PARTS = 10,
	PIDS_PARTS = 4,
	PIDS_MIN = 256,
	PIDS_MOST = 16384,
	PIDS_KERNEL = 1 << 22,
	MEMORY_LEAST = 256 << 20,
	DISK_LEAST = 1 << 30
};

struct agent {
	const struct flags *o;
	const struct log *log;
	struct identity id;
	struct datadir_setup place;
	struct wallclock clock;
	struct loop *loop;
	struct loop_watch signal_watch;
	int lock, signals;
	struct room room;
	struct roster roster;
	struct workers workers;
	struct selfcheck check;
	struct powercheck power;
	struct sharecheck shares;
	struct sampler samples;
	struct reporter reporter;
	struct volumes volumes;
	struct verifier verifier;
	size_t lives; /* nodes, when last looked */
	struct link *link;
	bool ending;
};

/* ---- Beginning ---------------------------------------------------------------------------- */

static int run_open_signals(struct agent *a, struct fail *f)
{
	sigset_t set;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	a->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a->signals < 0)
		return fail_errno(f, -errno, errno, "cannot read signals");
	a->signal_watch.kind = KIND_SIGNAL;
	rc = loop_watch(a->loop, &a->signal_watch, a->signals, LOOP_READ);
	return rc ? fail_errno(f, rc, -rc, "cannot watch signals") : 0;
}

static int run_open_data(struct agent *a, struct fail *f)
{
	int rc = datadir_open(a->o->data, false, f);

	rc = rc ? rc : datadir_lock(a->o->data, &a->lock, f);
	rc = rc ? rc : identity_load(a->o->data, &a->id, f);
	if (rc)
		return rc;
	statefile_tidy(a->o->data, "agent.json");
	statefile_tidy(a->o->data, "key");
	statefile_tidy(a->o->data, "probe.json");
	datadir_setup(&a->place, a->o, &a->id);
	a->clock.file = a->o->test_clock;
	rc = loop_new(&a->loop);
	return rc ? fail_errno(f, rc, -rc, "cannot make a loop") : 0;
}

/* A driver that does not work must not keep the agent from nodes that another driver made. */
static int run_open_workers(struct agent *a, drivers all, struct fail *f)
{
	const struct driver *driver = NULL;
	int rc = drivers_choose(all, a->o->driver, &a->place.setup, &driver, f);

	if (rc)
		return rc;
	a->roster.data = a->o->data;
	a->roster.log = a->log;
	a->roster.setup = &a->place.setup;
	a->lives = SIZE_MAX; /* disk and memory are tried at the start, too */
	a->roster.room = &a->room;
	a->room = (struct room){ .data = a->o->data, .sysfs_root = a->o->sysfs_root, .log = a->log };
	drivers_terms(driver, &a->place.setup, &a->room.terms);
	rc = room_load(&a->room, f);
	rc = rc ? rc : roster_load(&a->roster, driver->name, f);
	for (size_t i = 0; !rc && i < a->roster.count; i++)
		rc = room_keep(&a->room, a->roster.nodes[i]);
	if (rc)
		return rc;
	a->workers = (struct workers){ .loop = a->loop,
		.watch_kind = KIND_JOB,
		.log = a->log,
		.all = all,
		.driver = driver,
		.setup = &a->place.setup,
		.clock = &a->clock,
		.roster = &a->roster,
		.times = { .grace_ms = a->o->grace * 1000,
			.unknown_ms = a->o->unknown_grace * 1000,
			.ssh_ms = a->o->ssh_within * 1000,
			.look_ms = a->o->look * 1000 } };
	a->workers.share.driver = driver->name;
	a->workers.share.devices = driver->devices != DEVICES_NONE;
	workers_begin(&a->workers);
	a->check = (struct selfcheck){ .loop = a->loop,
		.watch_kind = KIND_JOB,
		.data = a->o->data,
		.driver = driver,
		.terms = a->room.terms,
		.sysfs_root = a->o->sysfs_root,
		.kmsg = a->o->kmsg,
		.health_ms = a->o->look < 3 ? 10000 : 30000, /* a market hears of it within a minute */
		.clock = &a->clock };
	a->power = (struct powercheck){ .loop = a->loop,
		.watch_kind = KIND_JOB,
		.log = a->log,
		.data = a->o->data,
		.sysfs_root = a->o->sysfs_root };
	a->shares = (struct sharecheck){ .watch_kind = KIND_JOB, .workers = &a->workers };
	a->samples = (struct sampler){ .watch_kind = KIND_JOB,
		.workers = &a->workers,
		.check = &a->check,
		.every_ms = a->o->look < 3 ? 2000 : 30000,
		.sysfs_root = a->o->sysfs_root,
		.metrics = *a->o->metrics ? a->o->metrics : NULL };
	return 0;
}

static int run_begin(struct agent *a, drivers all, struct fail *f)
{
	int rc = run_open_data(a, f);

	rc = rc ? rc : run_open_signals(a, f);
	rc = rc ? rc : run_open_workers(a, all, f);
	rc = rc ? rc : link_new(a->loop, KIND_LINK, a->o->data, &a->id, a->log, &a->link, f);
	if (rc)
		return rc;
	a->reporter = (struct reporter){ .log = a->log,
		.workers = &a->workers,
		.check = &a->check,
		.power = &a->power,
		.shares = &a->shares,
		.samples = &a->samples,
		.volumes = &a->volumes,
		.link = a->link,
		.address = a->o->address };
	a->verifier = (struct verifier){ .loop = a->loop,
		.watch_kind = KIND_JOB,
		.log = a->log,
		.data = a->o->data,
		.sysfs_root = a->o->sysfs_root,
		.id = &a->id,
		.link = a->link,
		.workers = &a->workers };
	for (size_t i = 0; i < a->o->open_count; i++) {
		char text[OPENING_TEXT];

		opening_text(&a->o->open[i], text);
		log_at(a->log, LOG_INFO, "nodes may reach %s (--allow-net)", text);
	}
	volumes_begin(&a->volumes, &a->id);
	log_at(a->log, LOG_INFO, "ready %s driver %s", a->id.agent, a->workers.driver->name);
	return 0;
}

/* ---- The market's word -------------------------------------------------------------------- */

/* The processes that this machine can have: one number of the kernel's for all of them, nodes or not. */
static long run_pids(void)
{
	static const char *const files[] = { "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max" };
	long least = PIDS_KERNEL, one;

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct buf b;

		buf_init(&b, 64);
		if (buf_read_file(&b, files[i]) == 0 && sscanf(buf_text(&b), "%ld", &one) == 1 && one < least)
			least = one;
		buf_release(&b);
	}
	return least;
}

static int64_t run_part(int64_t whole, int64_t promised, size_t hosts, int64_t least)
{
	int64_t part = (whole - promised) / (int64_t)(hosts ? hosts : 1);

	return part < least ? least : part;
}

/*
 * What no type promises, its hosts share equally: this machine, less what it needs itself and what is promised. The
 * disk of a virtual machine has a usual size, and other drivers cannot limit theirs.
 */
static void run_share_out(struct agent *a, const struct work *w)
{
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
		cores = sysconf(_SC_NPROCESSORS_ONLN), promised_cpu, promised_memory, promised_disk;
	struct roster_share *s = &a->workers.share;
	size_t cpus = 0, memories = 0, disks = 0;

	room_take(&a->room, w, roster_has, &a->roster);
	room_promised(&a->room, &promised_cpu, &promised_memory, &promised_disk);
	for (size_t i = 0; i < w->host_count; i++) {
		cpus += !w->hosts[i].contract.vcpus;
		memories += !w->hosts[i].contract.memory;
		disks += !w->hosts[i].contract.disk;
	}
	s->memory = run_part(memory / MEMORY_PARTS * (MEMORY_PARTS - 1) - (int64_t)memories * a->room.terms.node_memory,
		promised_memory, memories, MEMORY_LEAST);
	s->cpu_milli = (unsigned)run_part(cores * 1000, promised_cpu, cpus, 1000);
	s->pids = (unsigned)run_part(run_pids() / PIDS_PARTS * (PIDS_PARTS - 1), 0, w->host_count, PIDS_MIN);
	s->pids = s->pids > PIDS_MOST ? PIDS_MOST : s->pids;
	s->disk = 0;
	if (strcmp(s->driver, "ns") == 0 && a->room.capacity.disk >= 0)
		s->disk = run_part(a->room.capacity.disk, promised_disk, disks, DISK_LEAST);
	s->none_left = !room_rest(&a->room, s->cores);
}

static void run_on_work(struct agent *a, const struct link_event *e)
{
	char version[WORK_VERSION];
	struct work *w = NULL;
	struct fail f = { 0 };
	bool kept;
	int rc = work_parse(buf_text(&e->body), e->body.len, &w, &f);

	if (!rc && strcmp(w->agent, a->id.agent) != 0)
		rc = fail_set(&f, -EPROTO, "the market's work document is for '%s'", w->agent);
	else if (!rc && volumes_take(&a->volumes, w) != 0) /* before nodes start that see them */
		rc = fail_set(&f, -ENOMEM, "out of memory");
	if (rc) {
		work_free(w);
		log_at(a->log, LOG_ERROR, "%s; nothing changes", f.text);
		link_unusable(a->link);
		return;
	}
	memcpy(version, w->version, sizeof version);
	wallclock_learn(&a->clock, w->now, w->test_clock);
	kept = link_keys(a->link, w->keys);
	a->place.setup.volumes = a->volumes.all;
	a->place.setup.volume_count = a->volumes.count;
	run_share_out(a, w);
	workers_take(&a->workers, w);
	if (a->volumes.fresh)
		a->workers.look_due_ms = 0; /* a look gives them to nodes that run */
	if (kept)
		link_have(a->link, version);
	else
		link_unusable(a->link); /* so that the market tells them again */
}

static void run_on_link(struct agent *a)
{
	struct link_event e;

	for (;;) {
		link_next(a->link, &e);
		switch (e.kind) {
		case LINK_NOTHING: return;
		case LINK_WORK:
			run_on_work(a, &e);
			break;
		case LINK_SENT:
			if (!verifier_sent(&a->verifier, &e))
				reporter_sent(&a->reporter, &e);
			break;
		case LINK_OPENED:
			reporter_opened(&a->reporter);
			verifier_opened(&a->verifier);
			break;
		case LINK_FENCED: a->workers.fenced = true; break;
		}
		buf_release(&e.body);
	}
}

/* ---- Turns -------------------------------------------------------------------------------- */

static void run_on_signal(struct agent *a)
{
	struct signalfd_siginfo info;

	while (read(a->signals, &info, sizeof info) == sizeof info)
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			a->ending = true;
}

/* Takes one event a turn: the others stay ready until their turn. */
static void run_on_ready(struct agent *a)
{
	struct loop_watch *w;
	struct loop_timer *t;
	uint32_t ready;

	if (loop_next(a->loop, &w, &ready, &t) == 1 && w && w->kind == KIND_SIGNAL)
		run_on_signal(a);
}

/* A lease brings a node and takes it away. */
static void run_probe_leases(struct agent *a)
{
	if (a->roster.count != a->lives)
		selfcheck_probe(&a->check);
	a->lives = a->roster.count;
	a->check.idle = a->lives == 0;
}

static int64_t run_turn(struct agent *a)
{
	int64_t next, at, power, verify;

	run_on_link(a);
	verify = verifier_turn(&a->verifier);
	a->workers.measured = verifier_holds(&a->verifier);
	a->power.asks = workers_would_start(&a->workers);
	power = powercheck_turn(&a->power);
	a->workers.withheld = !powercheck_open(&a->power);
	a->workers.healthy = link_healthy(a->link);
	a->workers.link_open = a->workers.healthy; /* a market that is away takes no console */
	next = workers_turn(&a->workers);
	if (a->workers.forgot && a->workers.work) {
		a->workers.forgot = false;
		run_share_out(a, a->workers.work);
		workers_take_again(&a->workers);
		next = clock_ms();
	}
	next = power < next ? power : next;
	run_probe_leases(a);
	at = sharecheck_turn(&a->shares);
	next = at < next ? at : next;
	at = sampler_turn(&a->samples);
	next = at < next ? at : next;
	at = selfcheck_turn(&a->check);
	next = at < next ? at : next;
	at = reporter_turn(&a->reporter);
	next = at < next ? at : next;
	return verify < next ? verify : next;
}

static int run_serve_nodes(struct agent *a)
{
	while (!a->ending) {
		int64_t next = run_turn(a), ms = next - clock_ms();
		int rc;

		if (a->workers.fenced && a->workers.looked && a->roster.count == 0) {
			log_at(a->log, LOG_ERROR, "fenced, and no node is left here: exiting");
			return STATUS_FENCED;
		}
		ms = ms < 0 ? 0 : ms > WAIT_MAX_MS ? WAIT_MAX_MS : ms;
		rc = loop_wait(a->loop, (int)ms);
		if (rc && rc != -EINTR) {
			log_at(a->log, LOG_ERROR, "cannot wait: %s", strerror(-rc));
			return 1;
		}
		run_on_ready(a);
	}
	log_at(a->log, LOG_INFO, "exiting; nodes keep running");
	return 0;
}

static void run_end(struct agent *a)
{
	link_free(a->link);
	if (a->workers.loop) {
		if (a->reporter.workers)
			reporter_end(&a->reporter);
		workers_release(&a->workers);
		selfcheck_release(&a->check);
		powercheck_release(&a->power);
		if (a->verifier.loop)
			verifier_release(&a->verifier);
		sharecheck_release(&a->shares);
		sampler_release(&a->samples);
	}
	volumes_release(&a->volumes);
	roster_release(&a->roster);
	room_release(&a->room);
	if (a->signals >= 0)
		close(a->signals);
	loop_free(a->loop);
	identity_release(&a->id);
	if (a->lock >= 0)
		close(a->lock);
}

int run(const struct flags *o, drivers all, const struct log *log)
{
	struct agent a = { .o = o, .log = log, .lock = -1, .signals = -1, .volumes = { .data = o->data, .log = log } };
	struct fail f = { 0 };
	int status = 1;

	if (run_begin(&a, all, &f) == 0)
		status = run_serve_nodes(&a);
	else
		log_at(log, LOG_ERROR, "%s", f.text);
	run_end(&a);
	return status;
}
