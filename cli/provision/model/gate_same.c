/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what is wrong when nodes are compared: two that share an identity, and one that differs from the others. */
#include "cli/provision/model/gate_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "cli/frame/command.h"

enum { CLOCK_STOPS_US = 60 * 1000000, CLOCK_SAID_US = 2 * 1000000 };

/* ---- Two that are one ------------------------------------------------------------------ */

static char *gate_same_lower(const char *text)
{
	char *out = strdup(text);

	if (!out)
		command_nomem();
	for (char *p = out; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p + ('a' - 'A'));
	return out;
}

/* For each member, another one with the same value, or itself. */
static size_t *find_twins(const struct gate_look *l, enum gate g, const char *key)
{
	size_t *twins = calloc(l->c->count, sizeof *twins);
	struct table seen;

	if (!twins)
		command_nomem();
	table_init(&seen);
	for (size_t m = 0; m < l->c->count; m++) {
		char *value = gate_same_lower(facts_get(&l->all[m], key));
		size_t first = (size_t)(uintptr_t)table_get(&seen, value);

		twins[m] = m;
		if (*value && gate_wants(l, g, m)) {
			if (first && twins[first - 1] == first - 1)
				twins[first - 1] = m;
			if (first)
				twins[m] = first - 1;
			else if (table_set(&seen, value, (void *)(uintptr_t)(m + 1)))
				command_nomem();
		}
		free(value);
	}
	table_release(&seen);
	return twins;
}

static void gate_same_look_names(struct gate_look *l)
{
	size_t *twins = find_twins(l, GATE_NAME, "hostname");
	char hint[128];

	for (size_t m = 0; m < l->c->count; m++) {
		const char *name = l->c->members[m], *host = facts_get(&l->all[m], "hostname");

		/* gate_alone.c already reported invalid names. */
		if (twins[m] == m || !facts_hostname(host) || strcmp(host, "localhost") == 0)
			continue;
		snprintf(hint, sizeof hint, "hostnamectl set-hostname %.*s", (int)strcspn(name, ".:"),
			facts_hostname(name) ? name : "NAME");
		gate_say(l, GATE_NAME, true, m, hint, "the host name of '%s' is '%s', as is that of '%s'", name, host,
			l->c->members[twins[m]]);
	}
	free(twins);
}

static void look_machines(struct gate_look *l)
{
	size_t *twins = find_twins(l, GATE_MACHINE, "machine_id");

	for (size_t m = 0; m < l->c->count; m++)
		if (twins[m] != m)
			gate_say(l, GATE_MACHINE, true, m,
				"rm /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup",
				"'%s' has the machine-id of '%s': one was cloned from the other", l->c->members[m],
				l->c->members[twins[m]]);
	free(twins);
}

static void look_addresses(struct gate_look *l)
{
	size_t *twins = find_twins(l, GATE_ADDRESS, "address");

	for (size_t m = 0; m < l->c->count; m++) {
		const char *address = facts_get(&l->all[m], "address");

		if (twins[m] != m && facts_address(address) && !str_starts(address, "127.") &&
			strcmp(address, "::1") != 0)
			gate_say(l, GATE_ADDRESS, true, m, "ip -br address",
				"the address of '%s' is %s, as is that of '%s'", l->c->members[m], address,
				l->c->members[twins[m]]);
	}
	free(twins);
}

/* ---- Clocks ---------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t gate_same_distance(int64_t a, int64_t b)
{
	return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/* Of an even number, take the middle one that is nearer to the clock here. */
static bool gate_same_median(const struct gate_look *l, int64_t *out)
{
	int64_t *all = calloc(l->c->count + 1, sizeof *all);
	size_t n = 0;

	if (!all)
		command_nomem();
	for (size_t m = 0; m < l->c->count; m++)
		if (gate_wants(l, GATE_CLOCK, m))
			all[n++] = l->all[m].skew_us;
	qsort(all, n, sizeof *all, by_value);
	if (n)
		*out = all[n / 2];
	if (n && n % 2 == 0 && gate_same_distance(all[n / 2 - 1], 0) < gate_same_distance(all[n / 2], 0))
		*out = all[n / 2 - 1];
	free(all);
	return n > 1;
}

static void show_time(uint64_t us, char *room, size_t size)
{
	uint64_t s = us / 1000000;

	if (s < 10)
		snprintf(room, size, "%" PRIu64 ".%" PRIu64 " s", s, us / 100000 % 10);
	else if (s < 7200)
		snprintf(room, size, "%" PRIu64 " s", s);
	else if (s < 172800)
		snprintf(room, size, "%" PRIu64 " h", s / 3600);
	else
		snprintf(room, size, "%" PRIu64 " days", s / 86400);
}

static void look_clocks(struct gate_look *l)
{
	int64_t middle;
	char far[32];

	if (!gate_same_median(l, &middle))
		return;
	for (size_t m = 0; m < l->c->count; m++) {
		const struct facts *f = &l->all[m];
		uint64_t off = gate_same_distance(f->skew_us, middle),
			 error = f->skew_error_us > 0 ? (uint64_t)f->skew_error_us : 0;

		/* Report only what exceeds the error of the measurement. */
		if (!gate_wants(l, GATE_CLOCK, m) || off < error || off - error <= CLOCK_SAID_US)
			continue;
		show_time(off, far, sizeof far);
		gate_say(l, GATE_CLOCK, off - error > CLOCK_STOPS_US, m, "timedatectl set-ntp true",
			"the clock of '%s' is %s %s the others", l->c->members[m], far,
			f->skew_us > middle ? "ahead of" : "behind");
	}
}

/* ---- One that is unlike the others ----------------------------------------------------- */

/* The most common value other than "", the first of equals. NULL: all agree. */
static const char *most_common(const char *const *values, size_t count)
{
	const char *best = NULL;
	size_t most = 0, kinds = 0;
	struct table counts;

	table_init(&counts);
	for (size_t m = 0; m < count; m++) {
		size_t n = (size_t)(uintptr_t)table_get(&counts, values[m]) + 1;

		kinds += *values[m] && n == 1;
		if (*values[m] && table_set(&counts, values[m], (void *)(uintptr_t)n))
			command_nomem();
	}
	for (size_t m = 0; m < count && kinds > 1; m++) {
		size_t n = (size_t)(uintptr_t)table_get(&counts, values[m]);

		if (n > most) {
			most = n;
			best = values[m];
		}
	}
	table_release(&counts);
	return best;
}

static const char **gate_same_gather(const struct gate_look *l, enum gate g,
	const char *(*value)(const struct gate_look *, size_t))
{
	const char **values = calloc(l->c->count + 1, sizeof *values);

	if (!values)
		command_nomem();
	for (size_t m = 0; m < l->c->count; m++)
		values[m] = gate_wants(l, g, m) ? value(l, m) : "";
	return values;
}

static const char *arch_of(const struct gate_look *l, size_t m)
{
	return facts_get(&l->all[m], "arch");
}

static const char *release_of(const struct gate_look *l, size_t m)
{
	const char *name = facts_get(&l->all[m], "os_codename");

	return *name ? name : facts_get(&l->all[m], "os_version");
}

static const char *mtu_of(const struct gate_look *l, size_t m)
{
	return facts_get(&l->all[m], "mtu");
}

static const char *gpus_of(const struct gate_look *l, size_t m)
{
	const char *count = facts_get(&l->all[m], "gpu_count");

	return strcmp(count, "0") == 0 ? "" : count;
}

/* A node without GPUs, such as a controller, needs none. */
static const char *ports_of(const struct gate_look *l, size_t m)
{
	const char *count = facts_get(&l->all[m], "rdma_count");

	return strcmp(count, "0") == 0 && !*gpus_of(l, m) ? "" : count;
}

static void look_alike(struct gate_look *l)
{
	static const struct {
		enum gate gate;
		bool counted;
		const char *(*value)(const struct gate_look *, size_t);
		const char *what, *hint;
	} rows[] = {
		{ GATE_SYSTEM, false, arch_of, "processor", "" },
		{ GATE_SYSTEM, false, release_of, "release", "" },
		{ GATE_MTU, false, mtu_of, "MTU", "ip link set dev DEVICE mtu " },
		{ GATE_GPU, true, gpus_of, "GPUs", "lspci -d ::0302" },
		{ GATE_RDMA, true, ports_of, "RDMA ports", "ibstat" },
	};
	char hint[96];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char **values = gate_same_gather(l, rows[i].gate, rows[i].value),
			   *common = most_common(values, l->c->count);
		const char *what = rows[i].what;

		for (size_t m = 0; common && m < l->c->count; m++) {
			const char *value = values[m], *name = l->c->members[m];

			if (!*value || strcmp(value, common) == 0)
				continue;
			snprintf(hint, sizeof hint, "%s%.16s", rows[i].hint, rows[i].gate == GATE_MTU ? common : "");
			if (rows[i].counted)
				gate_say(l, rows[i].gate, false, m, hint, "'%s' has %.32s %s, others have %.32s", name,
					value, what, common);
			else
				gate_say(l, rows[i].gate, false, m, hint,
					"the %s of '%s' is %.32s, that of others is %.32s", what, name, value, common);
		}
		free(values);
	}
}

/* ---- Versions -------------------------------------------------------------------------- */

enum { LINE_BYTES = 32 };

/* "1:22.05.8-4" as "22.05": the part of a version that must match between nodes. */
static void line_of(const char *version, char room[LINE_BYTES])
{
	const char *epoch = strchr(version, ':'), *end;

	if (epoch && strspn(version, "0123456789") == (size_t)(epoch - version))
		version = epoch + 1;
	end = version + strcspn(version, ".-+~");
	if (*end == '.')
		end += 1 + strcspn(end + 1, ".-+~");
	snprintf(room, LINE_BYTES, "%.*s", (int)(end - version), version);
}

/* The version that the node has or would get; unknown if packages come from an uploaded folder. */
static const char *version_of(const struct gate_look *l, size_t m, const char *package)
{
	char key[128], name[96];
	const char *have;
	size_t n = 0;

	for (; package[n] && n < sizeof name - 1; n++)
		name[n] = strchr("+-.", package[n]) ? '_' : package[n];
	name[n] = '\0';
	snprintf(key, sizeof key, "installed_%s", name);
	have = facts_get(&l->all[m], key);
	if (*have)
		return have;
	for (size_t i = 0; i < l->c->use_count; i++)
		if (*pairs_or(&l->c->uses[i].settings, "airgap", ""))
			return "";
	snprintf(key, sizeof key, "candidate_%s", name);
	return facts_get(&l->all[m], key);
}

/* One finding for each node and stack is enough, because all its programs come from one source. */
static void look_package(struct gate_look *l, const struct use *u, const char *package, bool *said)
{
	char (*lines)[LINE_BYTES] = calloc(l->c->count + 1, sizeof *lines);
	const char **values = calloc(l->c->count + 1, sizeof *values), *common;

	if (!lines || !values)
		command_nomem();
	for (size_t m = 0; m < l->c->count; m++) {
		if (gate_wants(l, GATE_VERSION, m) && u->roles[m])
			line_of(version_of(l, m, package), lines[m]);
		values[m] = lines[m];
	}
	common = most_common(values, l->c->count);
	for (size_t m = 0; common && m < l->c->count; m++) {
		if (!*values[m] || strcmp(values[m], common) == 0 || said[m])
			continue;
		said[m] = true;
		gate_say(l, GATE_VERSION, true, m, "",
			"'%s' has or would get %.32s %s, others %s: these versions are incompatible", l->c->members[m],
			package, values[m], common);
	}
	free(lines);
	free(values);
}

/* Only packages named after the stack must match; its other packages need not. */
static void look_versions(struct gate_look *l)
{
	for (size_t i = 0; i < l->c->use_count; i++) {
		const struct use *u = &l->c->uses[i];
		bool *said;

		if (!u->stack->gates || !strstr(u->stack->gates, gate_name(GATE_VERSION)) || !u->stack->packages)
			continue;
		said = calloc(l->c->count + 1, sizeof *said);
		if (!said)
			command_nomem();
		for (char **package = u->stack->packages; *package; package++)
			if (str_starts(*package, u->stack->name))
				look_package(l, u, *package, said);
		free(said);
	}
}

void gate_same(struct gate_look *l)
{
	gate_same_look_names(l);
	look_machines(l);
	look_addresses(l);
	look_clocks(l);
	look_alike(l);
	look_versions(l);
}
