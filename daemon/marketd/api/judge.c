/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/judge.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/challenge.h"
#include "marketd/api/tally.h"

enum { GPU_PARTS = 720720 }; /* every share divides it */

static json_t *judge_requires(const struct sku *s)
{
	json_t *properties = s && s->properties ? json_loads(s->properties, 0, NULL) : NULL;
	json_t *more = json_incref(json_object_get(properties, "requires"));

	json_decref(properties);
	return more;
}

bool judge_asks(const json_t *properties)
{
	const json_t *more = json_object_get(properties, "requires");

	return json_is_true(json_object_get(more, "verified")) || json_object_size(json_object_get(more, "floors"));
}

int judge_recheck(const struct sku *s)
{
	json_t *more = judge_requires(s);
	int percent = (int)json_integer_value(json_object_get(more, "recheck_percent"));

	json_decref(more);
	return percent;
}

/* What agents measure for the market; a floor of something else would never be reached. */
static bool judge_name(const char *name)
{
	static const char *const names[] = { "disk_write", "disk_read", "disk_random", "disk_fsync", "memory_copy",
		"network", "pcie_link", "gpu_memory", "gpu_read", "gpu_sums", "gpu_upload", "gpu_download",
		"opencl_memory", "opencl_read", "opencl_sums" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static const char *judge_wrong_floors(const json_t *floors)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)floors, name, value)
	{
		if (!judge_name(name))
			return "a floor is one of disk_write, disk_read, disk_random, disk_fsync, memory_copy, "
			       "network, "
			       "pcie_link, gpu_memory, gpu_read, gpu_sums, gpu_upload, gpu_download, opencl_memory, "
			       "opencl_read, opencl_sums";
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return "a floor is a whole number, in the unit in which 'nanopod-agentd verify' prints it";
	}
	return NULL;
}

const char *judge_wrong(const json_t *properties)
{
	const json_t *more = json_object_get(properties, "requires"), *tier;
	const json_t *tiers = json_object_get(more, "tiers");
	const char *wrong = judge_wrong_floors(json_object_get(more, "floors"));
	bool asks = judge_asks(properties);
	size_t i;

	if (!wrong && json_is_false(json_object_get(more, "verified")) && asks)
		wrong = "floors are for verified hosts: drop them, or 'verified': false";
	json_array_foreach(tiers, i, tier)
	{
		if (!wrong)
			wrong = judge_wrong_floors(json_object_get(tier, "floors"));
	}
	if (!wrong && !asks && (json_array_size(tiers) || json_integer_value(json_object_get(more, "recheck_percent"))))
		wrong = "'tiers' and 'recheck_percent' are for verified hosts: drop them, or add 'verified': true";
	return wrong;
}

/* ---- What was measured ----------------------------------------------------------------------- */

/* "gpu 0 sums" and "opencl 0 sums": "gpu_sums"; "disk write": "disk_write". */
static void judge_check_name(const struct claim *c, char room[40])
{
	const char *p = c->check;
	size_t n = 0;

	if (strncmp(p, "opencl ", 7) == 0) {
		n = (size_t)snprintf(room, 40, "%s", *c->device ? "gpu" : "opencl");
		p += 6;
	}
	for (; *p && n + 1 < 40; p++)
		if (isalpha((unsigned char)*p) || *p == '_')
			room[n++] = *p;
		else if (*p == ' ' && n && room[n - 1] != '_')
			room[n++] = '_';
	room[n] = '\0';
}

/* The less the better. */
static bool judge_less(const struct claim *c)
{
	return strcmp(c->unit, "us") == 0 || strcmp(c->unit, "%") == 0;
}

static bool judge_reaches(const struct claim *c, int64_t floor)
{
	return judge_less(c) ? c->value <= floor : c->value >= floor;
}

/* Every one that was measured must reach it, and one must have been. */
static bool judge_floor(const struct claims *c, const char *name, int64_t floor, char *why, size_t size)
{
	bool found = false;
	char check[40];

	for (size_t i = 0; i < c->count; i++) {
		const struct claim *one = &c->list[i];

		judge_check_name(one, check);
		if (!one->measured || strcmp(check, name) != 0)
			continue;
		found = true;
		if (judge_reaches(one, floor))
			continue;
		if (why)
			snprintf(why, size, "%s: %" PRId64 " %s, but its type asks for %" PRId64, name, one->value,
				one->unit, floor);
		return false;
	}
	if (!found && why)
		snprintf(why, size, "%s was not measured, and its type asks for %" PRId64, name, floor);
	return found;
}

static bool judge_reaches_all(const struct claims *c, const json_t *floors, char *why, size_t size)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)floors, name, value)
	{
		if (!judge_floor(c, name, json_integer_value(value), why, size))
			return false;
	}
	return true;
}

/* ---- GPUs -------------------------------------------------------------------------------------- */

static bool judge_sums(const struct claim *c)
{
	size_t len = strlen(c->check);

	return c->is == CLAIM_OK && c->measured && *c->device && *c->answer && len > 5 &&
		strcmp(c->check + len - 5, " sums") == 0;
}

/* The GPUs of an agent's inventory, without those that are part of a processor. */
static bool judge_lists(const json_t *inventory, const char *device)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(json_object_get(inventory, "gpus"), i, gpu)
	{
		const char *address = json_string_value(json_object_get(gpu, "address"));

		if (address && strcmp(address, device) == 0)
			return !json_is_true(json_object_get(gpu, "integrated"));
	}
	return false;
}

/* The first sums of each GPU that its agent lists, at most CHALLENGE_GPUS. Returns how many. */
static size_t judge_gpus(const struct agent *a, const struct claims *c, const struct claim *list[CHALLENGE_GPUS])
{
	json_t *inventory = a->inventory ? json_loads(a->inventory, 0, NULL) : NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->count && n < CHALLENGE_GPUS; i++) {
		const struct claim *one = &c->list[i];
		bool again = !judge_sums(one);

		for (size_t k = 0; k < n; k++)
			again = again || strcmp(list[k]->device, one->device) == 0;
		if (!again && judge_lists(inventory, one->device))
			list[n++] = one;
	}
	json_decref(inventory);
	return n;
}

int judge_answers(const struct agent *a, const struct claims *c, struct fail *f)
{
	const struct claim *list[CHALLENGE_GPUS];
	size_t count = judge_gpus(a, c, list);

	for (size_t i = 0; i < count; i++) {
		const struct claim *one = list[i];
		uint64_t rounds = 0, answer = 0, want;
		int used = 0;

		if (sscanf(one->answer, "%10" SCNu64 ":%16" SCNx64 "%n", &rounds, &answer, &used) != 2 ||
			one->answer[used] || rounds < CHALLENGE_ROUNDS_LEAST || rounds > CHALLENGE_ROUNDS_MOST)
			return fail_set(f, -EBADMSG, "the answer of '%s' is none", one->check);
		want = challenge_answer(challenge_seed(c->nonce, one->device), rounds);
		if (answer != want)
			return fail_set(f, -EBADMSG, "'%s' did not compute what the nonce asks for", one->check);
	}
	return 0;
}

/* ---- Hosts ------------------------------------------------------------------------------------- */

static const struct claim *judge_failed(const struct claims *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].is == CLAIM_FAILED)
			return &c->list[i];
	return NULL;
}

/* What a node has of GPUs, in parts of one. */
static int64_t judge_parts(const struct sku *s, const struct capacity *has)
{
	struct promise p = promise_of(s);
	int64_t per = tally_per_gpu(has, &p);

	return p.gpus * GPU_PARTS / (per ? per : 1);
}

/* *parts: of the machine's GPUs, those that no host before has. */
static void judge_host(const struct sku *s, const struct claims *c, const struct capacity *has, int64_t *parts,
	struct verdict *v)
{
	const struct claim *failed = judge_failed(c);
	json_t *more = judge_requires(s);
	int64_t hours = json_integer_value(json_object_get(more, "verify_hours")), need = judge_parts(s, has);

	v->minutes = 60 * (hours > 0 ? hours : JUDGE_HOURS);
	if (failed)
		snprintf(v->why, sizeof v->why, "%s: %.200s", failed->check, failed->text);
	else if (need > *parts && need < GPU_PARTS)
		snprintf(v->why, sizeof v->why, "no GPU that computed what was asked of it has room for its share");
	else if (need > *parts)
		snprintf(v->why, sizeof v->why, "%" PRId64 " of its %d GPUs computed what was asked of them",
			*parts / GPU_PARTS, (int)s->gpus);
	else
		v->below = !judge_reaches_all(c, json_object_get(more, "floors"), v->why, sizeof v->why);
	v->passed = !*v->why;
	*parts -= need <= *parts ? need : 0;
	json_decref(more);
}

size_t judge_hosts(const struct engine *e, const struct agent *a, const struct claims *c, struct verdict *list,
	size_t most)
{
	const struct claim *computed[CHALLENGE_GPUS];
	int64_t parts = (int64_t)judge_gpus(a, c, computed) * GPU_PARTS;
	struct capacity has = { .kinds = 0 };
	size_t n = 0;

	tally_capacity_of(a, &has);
	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h && n < most;
		h = engine_host_of_agent(e, a->id, h->id)) {
		const struct sku *s = engine_sku(e, h->sku);

		list[n] = (struct verdict){ .host = h->id };
		judge_host(s, c, &has, &parts, &list[n]);
		n += (s && s->proof) || h->proof != PROOF_NONE;
	}
	return n;
}

json_t *judge_floors(const struct sku *s)
{
	json_t *more = judge_requires(s), *floors = json_incref(json_object_get(more, "floors"));

	json_decref(more);
	return floors;
}

bool judge_short(const json_t *floors, const char *text, char *why, size_t size)
{
	struct claims c = { .count = 0 };
	bool reaches;

	if (text)
		claims_read(text, strlen(text), &c, NULL);
	reaches = judge_reaches_all(&c, floors, why, size);
	claims_release(&c);
	return !reaches;
}

/* The worst that was measured by that name; false: nothing was. */
static bool judge_worst(const struct claims *c, const char *name, struct claim *worst)
{
	bool found = false;
	char check[40];

	for (size_t i = 0; i < c->count; i++) {
		judge_check_name(&c->list[i], check);
		if (!c->list[i].measured || strcmp(check, name) != 0 ||
			(found && judge_reaches(&c->list[i], worst->value)))
			continue;
		*worst = c->list[i];
		found = true;
	}
	return found;
}

/* At least so many percent of what was measured earlier; of what is the better the less, at most so much more? */
static bool judge_like(const struct claim *now, const struct claim *old, int percent)
{
	int64_t part = old->value / 100 * percent + old->value % 100 * percent / 100;
	int64_t more = old->value > INT64_MAX / 100 ? INT64_MAX : old->value * 100 / percent;

	return strcmp(now->unit, old->unit) == 0 && judge_reaches(now, judge_less(now) ? more : part);
}

bool judge_holds(const struct sku *s, const struct claims *c, const char *earlier, int percent)
{
	struct claims was = { .count = 0 };
	json_t *floors = judge_floors(s), *value;
	bool holds = true;
	const char *name;

	if (earlier)
		claims_read(earlier, strlen(earlier), &was, NULL);
	json_object_foreach(floors, name, value)
	{
		struct claim old, now;

		if (!judge_floor(c, name, json_integer_value(value), NULL, 0) && judge_worst(&was, name, &old))
			holds = holds && judge_worst(c, name, &now) && judge_like(&now, &old, percent);
	}
	claims_release(&was);
	json_decref(floors);
	return holds;
}

/* ---- For people -------------------------------------------------------------------------------- */

json_t *judge_tier(const struct sku *s, const struct claims *c)
{
	json_t *more = judge_requires(s), *tier, *name = NULL;
	size_t i;

	json_array_foreach(json_object_get(more, "tiers"), i, tier)
	{
		if (!name && judge_reaches_all(c, json_object_get(tier, "floors"), NULL, 0))
			name = json_incref(json_object_get(tier, "name"));
	}
	json_decref(more);
	return name ? name : json_null();
}

/* As in Linux: 4 to 8 digits of a domain, bus, device, function. */
static bool judge_address(const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t domain = strspn(text, hex);

	text += domain;
	return domain >= 4 && domain <= 8 && *text == ':' && strspn(text + 1, hex) == 2 && text[3] == ':' &&
		strspn(text + 4, hex) == 2 && text[6] == '.' && text[7] >= '0' && text[7] <= '7' && !text[8];
}

/* The number in the name of a check, "0" in "gpu 0 sums"; "": there is none, or more than a number of a part. */
static void judge_number(const char *check, char room[4])
{
	static const char digits[] = "0123456789";
	const char *first = check + strcspn(check, digits);
	size_t len = strspn(first, digits);

	room[0] = '\0';
	if (len && len <= 3 && !first[len + strcspn(first + len, digits)])
		snprintf(room, 4, "%.*s", (int)len, first);
}

/*
 * A check in words of the market: "gpu 0 sums". Nothing of it, nor of the device, is text that the seller chose: buyers
 * are not told whose host it is. false: no type can ask for it.
 */
static bool judge_public(const struct claim *c, char check[48])
{
	static const char *const units[] = { "MB/s", "M/s", "reads/s", "kbit/s", "us", "%", "lanes" };
	bool known = false;
	char name[40], number[4], *rest;

	judge_check_name(c, name);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		known = known || strcmp(c->unit, units[i]) == 0;
	if (!known || !judge_name(name) || (*c->device && !judge_address(c->device)))
		return false;
	judge_number(c->check, number);
	rest = strchr(name, '_');
	if (rest)
		*rest++ = '\0';
	snprintf(check, 48, "%s%s%s%s%s", name, *number ? " " : "", number, rest ? " " : "", rest ? rest : "");
	return true;
}

json_t *judge_measured(const struct claims *c, size_t most, bool buyers)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->count && json_array_size(list) < most; i++) {
		const struct claim *one = &c->list[i];
		char check[48];

		if (one->measured && (!buyers || judge_public(one, check)))
			json_array_append_new(list,
				json_pack("{s:s, s:I, s:I, s:I, s:s, s:s, s:I}", "check", buyers ? check : one->check,
					"median", (json_int_t)one->value, "least", (json_int_t)one->least, "most",
					(json_int_t)one->most, "unit", one->unit, "device", one->device, "at",
					(json_int_t)one->at));
	}
	return list;
}
