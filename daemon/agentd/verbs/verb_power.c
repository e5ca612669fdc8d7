/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod-agentd power: shows, plans and sets what this machine may draw. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/datadir.h"
#include "agentd/os/statefile.h"
#include "agentd/power/change.h"
#include "agentd/power/power_devices.h"
#include "agentd/power/power_show.h"
#include "agentd/power/sweep.h"
#include "agentd/roster.h"
#include "agentd/verbs/verbs.h"
#include "base/str.h"

enum { STATUS_USAGE = 2, STATUS_DENIED = 4, STATUS_CONFLICT = 5, LOCK_MS = 30000, SAMPLE_MS = 250, MEGA = 1000 * 1000 };

#define RESERVE_USUAL (100 * 1000)
#define SUPPLY_USUAL "white"

/* What the words of `set` and `plan` ask for, laid over what is set. */
struct power_wish {
	struct envelope e;
	bool none; /* envelope=none: forget all */
	int64_t price;
	struct {
		long number;
		int64_t cap;
	} caps[ENVELOPE_GPUS];
	size_t cap_count;
};

static int verb_power_exit(int rc)
{
	return rc == -EPERM || rc == -EACCES ? STATUS_DENIED
		: rc == -ENOSPC || rc == -ERANGE || rc == -ENODATA || rc == -EBUSY || rc == -ENODEV || rc == -ENOENT
		? STATUS_CONFLICT
		: 1;
}

/* ---- Words ------------------------------------------------------------------------------------- */

static int verb_power_watts(const char *name, const char *text, bool zero, int64_t *out, struct fail *f)
{
	if (zero && (strcmp(text, "0") == 0 || strcmp(text, "0W") == 0)) {
		*out = 0;
		return 0;
	}
	return supply_watts(text, out)
		? fail_set(f, -EINVAL, "'%s=%.60s' is invalid; use watts, e.g. %s=1440W", name, text, name)
		: 0;
}

/* "0:450W"; "0:none" takes a cap away. */
static int verb_power_cap(struct power_wish *w, const char *text, struct fail *f)
{
	const char *colon = strchr(text, ':');
	char number[16];
	int64_t cap = 0;
	long n;

	if (!colon || (size_t)(colon - text) >= sizeof number || w->cap_count == ENVELOPE_GPUS)
		return fail_set(f, -EINVAL, "'gpu=%.60s' is invalid; use e.g. gpu=0:450W", text);
	snprintf(number, sizeof number, "%.*s", (int)(colon - text), text);
	if (str_to_long(number, 0, ENVELOPE_GPUS - 1, &n) ||
		(strcmp(colon + 1, "none") && supply_watts(colon + 1, &cap)))
		return fail_set(f, -EINVAL, "'gpu=%.60s' is invalid; use e.g. gpu=0:450W", text);
	w->caps[w->cap_count].number = n;
	w->caps[w->cap_count++].cap = cap;
	return 0;
}

/* Dollars with up to six decimals. */
static int verb_power_price(const char *text, int64_t *out, struct fail *f)
{
	int64_t n = 0, part = MEGA / 10;
	const char *at = text;

	for (; isdigit((unsigned char)*at) && n < 1000 * (int64_t)MEGA; at++)
		n = n * 10 + (*at - '0') * MEGA;
	if (at > text && *at == '.')
		for (at++; isdigit((unsigned char)*at) && part; at++, part /= 10)
			n += (*at - '0') * part;
	if (at == text || *at || !n || n > 1000 * (int64_t)MEGA)
		return fail_set(f, -EINVAL, "'price-kwh=%.60s' is invalid; use dollars, e.g. price-kwh=0.30", text);
	*out = n;
	return 0;
}

static int verb_power_word(struct power_wish *w, const char *word, struct fail *f)
{
	const char *sign = strchr(word, '='), *value = sign ? sign + 1 : "";
	size_t len = sign ? (size_t)(sign - word) : 0;

	if (len == 8 && strncmp(word, "envelope", len) == 0) {
		w->none = strcmp(value, "none") == 0;
		return w->none ? 0 : verb_power_watts("envelope", value, false, &w->e.wall, f);
	}
	if (len == 3 && strncmp(word, "psu", len) == 0)
		return supply_parse(value, &w->e.supply, f);
	if (len == 7 && strncmp(word, "reserve", len) == 0)
		return verb_power_watts("reserve", value, true, &w->e.reserve, f);
	if (len == 3 && strncmp(word, "cpu", len) == 0)
		return verb_power_watts("cpu", value, true, &w->e.cpu, f);
	if (len == 3 && strncmp(word, "gpu", len) == 0)
		return verb_power_cap(w, value, f);
	if (len == 9 && strncmp(word, "price-kwh", len) == 0)
		return verb_power_price(value, &w->price, f);
	return fail_set(f, -EINVAL,
		"unexpected argument '%.60s'; available: envelope=WATTS psu=CLASS[:WATTS] reserve=WATTS cpu=WATTS "
		"gpu=N:WATTS price-kwh=DOLLARS",
		word);
}

/* Begins with what is set; a damaged file counts as nothing, so that it can be set again. */
static int verb_power_wish(const struct flags *o, struct power_wish *w, struct fail *f)
{
	int rc = 0;

	memset(w, 0, sizeof *w);
	if (envelope_load(o->data, &w->e, NULL)) {
		w->e.reserve = RESERVE_USUAL;
		supply_parse(SUPPLY_USUAL, &w->e.supply, NULL);
	}
	for (int i = 1; !rc && i < o->word_count; i++)
		rc = verb_power_word(w, o->words[i], f);
	if (!rc && !w->none && !w->e.wall)
		rc = fail_set(f, -EINVAL, "nothing is set yet: envelope=WATTS is required, e.g. envelope=1440W");
	return rc;
}

/* The GPUs that are there now, with old caps and new ones. */
static int verb_power_take_gpus(const struct power_wish *w, struct hold *h, struct fail *f)
{
	struct power_device list[POWER_DEVICES];
	size_t count = power_find(h->root, list), gpus = 0;
	struct envelope old = h->e;

	h->e.gpu_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct envelope_gpu *g = &h->e.gpus[h->e.gpu_count];

		if (list[i].kind != POWER_GPU || h->e.gpu_count == ENVELOPE_GPUS)
			continue;
		memcpy(g->address, list[i].address, sizeof g->address);
		g->cap = envelope_cap(&old, list[i].address);
		for (size_t k = 0; k < w->cap_count; k++)
			if (w->caps[k].number == (long)list[i].number)
				g->cap = w->caps[k].cap;
		h->e.gpu_count++;
		gpus++;
	}
	for (size_t k = 0; k < w->cap_count; k++)
		if (w->caps[k].number >= (long)gpus)
			return fail_set(f, -EINVAL, "no GPU %ld; this machine has %zu", w->caps[k].number, gpus);
	return 0;
}

/* ---- Verbs --------------------------------------------------------------------------------------- */

static int verb_power_show(const struct flags *o)
{
	struct hold h = { .data = o->data, .root = o->sysfs_root };
	struct fail f = { 0 }, why = { 0 };
	int rc = envelope_load(o->data, &h.e, &f);
	bool set = !rc, holds;

	if (rc && rc != -ENOENT && rc != -EACCES)
		return verb_fail(verb_power_exit(rc), f.text);
	rc = set ? hold_plan(&h, &why) : 0;
	if (!set)
		h.count = power_find(h.root, h.list);
	nanosleep(&(struct timespec){ .tv_nsec = SAMPLE_MS * 1000000L }, NULL);
	power_read(h.root, h.list, h.count); /* counters of energy tell power only the second time */
	holds = set && !rc && change_done(&h.e, h.list, h.count, &why);
	if (set && !holds && !*why.text)
		fail_set(&why, -EIO, "what is in force does not fit the envelope");
	return power_show(&(struct power_view){ .h = &h, .set = set, .wrong = set && !holds ? why.text : NULL },
		o->json, stdout);
}

static int verb_power_plan(const struct flags *o)
{
	static struct curves curves;
	struct hold h = { .data = o->data, .root = o->sysfs_root };
	struct power_wish w;
	struct fail f = { 0 };
	int rc = verb_power_wish(o, &w, &f);

	if (!rc && w.none)
		rc = fail_set(&f, -EINVAL, "'envelope=none' is for 'power set'");
	h.e = w.e;
	rc = rc ? rc : verb_power_take_gpus(&w, &h, &f);
	if (rc)
		return verb_fail(STATUS_USAGE, f.text);
	rc = hold_plan(&h, &f);
	if (rc)
		return verb_fail(verb_power_exit(rc), f.text);
	curve_load(o->data, &curves);
	return power_show_plan(&(struct power_view){ .h = &h, .set = true, .curves = &curves, .price = w.price },
		o->json, stdout);
}

/* The settings go to disk before the limits change, so that whoever comes next finishes what is cut off here. */
static int verb_power_take(struct hold *h, struct fail *f)
{
	int rc = hold_plan(h, f);

	if (!rc && change_done(&h->e, h->list, h->count, NULL))
		return envelope_save(h->data, &h->e, f);
	rc = rc ? rc : envelope_save(h->data, &h->e, f);
	return rc ? rc : hold_change(h, f);
}

static int verb_power_forget(const struct flags *o, struct fail *f)
{
	char path[STATEFILE_PATH];

	if (statefile_path(path, o->data, "power.json", NULL) || (unlink(path) != 0 && errno != ENOENT))
		return fail_errno(f, -errno, errno, "cannot remove '%s'", path);
	if (!o->json)
		printf("Nothing is set any more; the limits stay until the driver or the machine is started again.\n");
	else
		printf("{\"object\": \"power\", \"set\": false}\n");
	return fflush(stdout) ? -EIO : 0;
}

static int verb_power_set(const struct flags *o)
{
	struct hold h = { .data = o->data, .root = o->sysfs_root };
	struct power_wish w;
	struct fail f = { 0 };
	int lock = -1, rc = verb_power_wish(o, &w, &f);

	h.e = w.e;
	if (!rc && !w.none)
		rc = verb_power_take_gpus(&w, &h, &f);
	if (rc)
		return verb_fail(STATUS_USAGE, f.text);
	rc = datadir_open(o->data, true, &f);
	rc = rc ? rc : hold_lock(o->data, LOCK_MS, &lock, &f);
	if (!rc && w.none)
		rc = verb_power_forget(o, &f);
	else
		rc = rc ? rc : verb_power_take(&h, &f);
	if (lock >= 0)
		close(lock);
	if (rc)
		return verb_fail(verb_power_exit(rc), f.text);
	return w.none ? 0 : power_show(&(struct power_view){ .h = &h, .set = true }, o->json, stdout);
}

/* ---- Sweeping ------------------------------------------------------------------------------------ */

static void verb_power_no_log(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

/* Nodes that run would be slowed down, and would disturb what is measured. */
static int verb_power_no_nodes(const struct flags *o, struct fail *f)
{
	struct log log = { .sink = verb_power_no_log, .level = LOG_ERROR };
	struct roster r = { .data = o->data, .log = &log, .reads = true };
	int rc = roster_load(&r, "", f);

	for (size_t i = 0; !rc && i < r.count; i++)
		if (r.nodes[i]->life != LIFE_PENDING && r.nodes[i]->life != LIFE_TERMINATED &&
			r.nodes[i]->life != LIFE_FAILED)
			rc = fail_set(f, -EBUSY, "the node '%s' is on this machine; measure when none is",
				r.nodes[i]->name);
	roster_release(&r);
	return rc;
}

/* To the standard error, where a person waits. */
static void verb_power_said(const struct power_device *d, const struct curve_point *p)
{
	char label[32];

	fprintf(stderr, "%s at %lld W: %lld million multiplications a second\n", power_label(d, label),
		(long long)(p->limit / 1000), (long long)(p->speed / MEGA));
}

/* "steps=5", "gpu=0". */
static int verb_power_sweep_words(const struct flags *o, long *steps, long *gpu, struct fail *f)
{
	*steps = 6;
	*gpu = -1;
	for (int i = 1; i < o->word_count; i++) {
		const char *word = o->words[i];

		if ((!str_starts(word, "steps=") || str_to_long(word + 6, 2, CURVE_POINTS, steps)) &&
			(!str_starts(word, "gpu=") || str_to_long(word + 4, 0, POWER_DEVICES, gpu)))
			return fail_set(f, -EINVAL, "unexpected argument '%.60s'; available: gpu=N steps=2…%d", word,
				CURVE_POINTS);
	}
	return 0;
}

static int verb_power_sweep_all(const struct flags *o, long steps, long gpu, int lock, struct fail *f)
{
	static struct power_device list[POWER_DEVICES];
	static struct curves curves;
	size_t count = power_find(o->sysfs_root, list), measured = 0;
	struct sweep_guard guard;
	int rc = sweep_guard(o->sysfs_root, list, count, lock, &guard, f);

	if (rc)
		return rc;
	curve_load(o->data, &curves);
	for (size_t i = 0; !rc && i < count; i++) {
		struct curve one;

		if (list[i].kind != POWER_GPU || (gpu >= 0 && list[i].number != (unsigned)gpu) ||
			(gpu < 0 && list[i].way != &power_nvml))
			continue;
		rc = sweep_gpu(o->sysfs_root, list, count, i, (size_t)steps, verb_power_said, &one, f);
		if (!rc)
			curve_put(&curves, &one);
		measured++;
	}
	if (sweep_end(&guard) && !rc)
		rc = fail_set(f, -EIO, "a limit could not be put back; type 'nanopod host power show'");
	if (!rc && !measured)
		rc = fail_set(f, -ENOTSUP, "no GPU to measure: only the speed of NVIDIA's can be");
	return rc ? rc : curve_save(o->data, &curves, f);
}

static int verb_power_sweep(const struct flags *o)
{
	struct fail f = { 0 };
	int lock = -1, rc;
	long steps, gpu;

	if (verb_power_sweep_words(o, &steps, &gpu, &f))
		return verb_fail(STATUS_USAGE, f.text);
	rc = datadir_open(o->data, true, &f);
	rc = rc ? rc : hold_lock(o->data, LOCK_MS, &lock, &f);
	rc = rc ? rc : verb_power_no_nodes(o, &f);
	rc = rc ? rc : verb_power_sweep_all(o, steps, gpu, lock, &f);
	if (lock >= 0)
		close(lock);
	if (rc)
		return verb_fail(rc == -ENOTSUP ? STATUS_CONFLICT : verb_power_exit(rc), f.text);
	printf(o->json ? "{\"object\": \"power_sweep\", \"measured\": true}\n"
		       : "Measured; 'nanopod host power plan' now tells what limits cost in speed.\n");
	return fflush(stdout) != 0;
}

/* All of them open the GPUs. */
static int verb_power_in_turn(const struct flags *o, int (*verb)(const struct flags *o))
{
	int turn, status = verb_turn(o, &turn);

	status = status ? status : verb(o);
	if (turn >= 0)
		close(turn);
	return status;
}

int verb_power(const struct flags *o)
{
	const char *what = o->word_count ? o->words[0] : "show";

	if (strcmp(what, "show") == 0 && o->word_count <= 1)
		return verb_power_in_turn(o, verb_power_show);
	if (strcmp(what, "plan") == 0)
		return verb_power_in_turn(o, verb_power_plan);
	if (strcmp(what, "set") == 0)
		return verb_power_in_turn(o, verb_power_set);
	if (strcmp(what, "sweep") == 0)
		return verb_power_in_turn(o, verb_power_sweep);
	fprintf(stderr, "nanopod-agentd: unexpected argument '%s'; available: power show, plan, set, sweep\n",
		strcmp(what, "show") == 0 ? o->words[1] : what);
	return STATUS_USAGE;
}
