/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/roster.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agentd/os/port.h"
#include "agentd/os/statefile.h"

enum { PORTS_TRIED = 64 };

struct node *roster_find(const struct roster *r, const char *id)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->nodes[i]->id, id) == 0)
			return r->nodes[i];
	return NULL;
}

static int roster_put(struct roster *r, struct node *n)
{
	if (r->count == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 16;
		struct node **grown = realloc(r->nodes, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		r->nodes = grown;
		r->cap = cap;
	}
	assert(r->count < r->cap && n->slot < NODE_SLOTS);
	r->nodes[r->count++] = n;
	return 0;
}

/* Slots of nodes, and those whose port a node has in place of its own. */
static void roster_mark_taken(const struct roster *r, unsigned char taken[NODE_SLOTS / 8])
{
	memset(taken, 0, NODE_SLOTS / 8);
	for (size_t i = 0; i < r->count; i++) {
		unsigned slot = r->nodes[i]->slot, other = r->nodes[i]->port;

		taken[slot / 8] |= (unsigned char)(1u << slot % 8);
		other -= other ? r->setup->first_port : 0;
		if (r->nodes[i]->port && other < NODE_SLOTS)
			taken[other / 8] |= (unsigned char)(1u << other % 8);
	}
}

unsigned roster_port(const struct roster *r, const struct node *n)
{
	return n->port ? n->port : r->setup->first_port + n->slot;
}

unsigned roster_other_port(const struct roster *r, const struct node *n)
{
	unsigned char taken[NODE_SLOTS / 8];

	roster_mark_taken(r, taken);
	for (unsigned s = 0, tried = 0; s < NODE_SLOTS && tried < PORTS_TRIED; s++) {
		unsigned port = r->setup->first_port + s;

		if (taken[s / 8] & 1u << s % 8 || port == roster_port(r, n))
			continue;
		if (port_free(r->setup->listen, port, NULL) == 0)
			return port;
		tried++;
	}
	return 0;
}

/* A new node needs its port, too, which another program may have: then the next slot, unless many are taken. */
static int roster_free_slot(const struct roster *r, bool fresh)
{
	unsigned char taken[NODE_SLOTS / 8];
	int first = -1;

	roster_mark_taken(r, taken);
	for (int s = 0, tried = 0; s < NODE_SLOTS && tried < PORTS_TRIED; s++) {
		struct fail f = { 0 };

		if (taken[s / 8] & 1u << s % 8)
			continue;
		if (!fresh || port_free(r->setup->listen, r->setup->first_port + (unsigned)s, &f) == 0)
			return s;
		first = first < 0 ? s : first;
		tried++;
		log_at(r->log, LOG_WARN, "%s; trying the next port", f.text);
	}
	return first;
}

void roster_save(const struct roster *r, const struct node *n)
{
	struct fail f = { 0 };

	if (node_save(r->data, n, &f) != 0)
		log_at(r->log, LOG_ERROR, "%s", f.text);
}

/* ---- At the start ------------------------------------------------------------------------- */

static int roster_load_one(struct roster *r, const char *id, const char *driver)
{
	struct node *n = NULL;
	struct fail f = { 0 };
	int rc = node_load(r->data, id, &n, &f);

	if (rc && r->reads)
		return 0;
	if (rc == -ENOENT && node_forget(r->data, id) == 0)
		return 0; /* the machine stopped right after its folder was made */
	if (rc && rc != -ENOMEM) {
		log_at(r->log, LOG_ERROR, "cannot use the journal of '%s', so it counts as not ordered: %s", id,
			f.text);
		return roster_add_unknown(r, id, driver, 0) ? 0 : -EIO;
	}
	if (rc)
		return rc;
	n->wanted = n->life == LIFE_PENDING || n->life == LIFE_READY || n->life == LIFE_RUNNING;
	rc = roster_put(r, n);
	if (rc)
		node_free(n);
	return rc;
}

int roster_load(struct roster *r, const char *driver, struct fail *f)
{
	char path[STATEFILE_PATH];
	struct dirent *e;
	int rc = statefile_path(path, r->data, "nodes", NULL);
	DIR *d;

	if (!rc && !r->reads && mkdir(path, 0700) != 0 && errno != EEXIST)
		rc = -errno;
	d = rc ? NULL : opendir(path);
	if (!d && r->reads && errno == ENOENT)
		return 0;
	if (!d)
		return fail_errno(f, rc ? rc : -errno, rc ? -rc : errno, "cannot open '%s'", path);
	/* Those with a journal first: the others get free slots. */
	for (int pass = 0; pass < 2; pass++) {
		rewinddir(d);
		while (!rc && (e = readdir(d))) {
			char at[STATEFILE_PATH];
			bool has = work_is_id(e->d_name, "inst_") &&
				statefile_path(at, path, e->d_name, "node.json") == 0;
			struct stat st;

			if (has && pass == 0 && !r->reads) {
				char folder[STATEFILE_PATH];

				if (statefile_path(folder, path, e->d_name, NULL) == 0)
					statefile_tidy(folder, "node.json");
			}
			if (has && (stat(at, &st) == 0) == (pass == 0))
				rc = roster_find(r, e->d_name) ? 0 : roster_load_one(r, e->d_name, driver);
		}
	}
	closedir(d);
	return rc ? fail_errno(f, rc, -rc, "cannot read the journals in '%s'", path) : 0;
}

void roster_release(struct roster *r)
{
	for (size_t i = 0; i < r->count; i++)
		node_free(r->nodes[i]);
	free(r->nodes);
	r->nodes = NULL;
	r->count = r->cap = 0;
}

/* A tenant's process can imitate the name of an unknown node, so unknown nodes never get all slots. */
static bool roster_too_many_unknown(const struct roster *r)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += r->nodes[i]->life == LIFE_UNKNOWN;
	return count >= NODE_SLOTS / 4;
}

struct node *roster_add_unknown(struct roster *r, const char *id, const char *driver, int64_t now)
{
	int slot = roster_too_many_unknown(r) ? -1 : roster_free_slot(r, false);
	struct node *n = slot < 0 ? NULL : node_new(id);
	struct fail f = { 0 };

	if (!n)
		return NULL;
	n->slot = (unsigned)slot;
	n->life = LIFE_UNKNOWN;
	n->cause = CAUSE_NOT_ORDERED;
	n->since = now;
	snprintf(n->driver, sizeof n->driver, "%s", driver);
	work_host_name(id, NULL, n->name);
	if (node_folder(r->data, id, &f) != 0 || node_save(r->data, n, &f) != 0 || roster_put(r, n) != 0) {
		log_at(r->log, LOG_ERROR, "%s", f.text);
		node_free(n);
		return NULL;
	}
	return n;
}

int roster_forget(struct roster *r, struct node *n)
{
	int rc = node_forget(r->data, n->id);

	if (rc)
		return rc;
	assert(roster_find(r, n->id) == n);
	for (size_t i = 0; i < r->count; i++)
		if (r->nodes[i] == n)
			r->nodes[i--] = r->nodes[--r->count];
	node_free(n);
	return 0;
}

/* ---- What the market wants ---------------------------------------------------------------- */

static enum cause roster_wrong(const struct work_node *w)
{
	return w->buyers ? CAUSE_BAD_WISH : CAUSE_BAD_ORDER;
}

bool roster_has(const void *roster, const char *host)
{
	const struct roster *r = roster;

	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->nodes[i]->host, host) == 0 && r->nodes[i]->life != LIFE_TERMINATED)
			return true;
	return false;
}

/* Has the host a node that nothing ends? */
static bool roster_stays(const void *roster, const char *host)
{
	const struct roster *r = roster;

	for (size_t i = 0; i < r->count; i++) {
		const struct node *n = r->nodes[i];

		if (strcmp(n->host, host) == 0 && n->wanted &&
			(n->life == LIFE_PENDING || n->life == LIFE_READY || n->life == LIFE_RUNNING))
			return true;
	}
	return false;
}

/* What its type promises, and of the rest the machine's share. Processors of its own need no other limit. */
static void roster_size(struct node *n, const struct contract *c, const struct roster_share *share)
{
	n->contract = *c;
	n->memory = c->memory ? c->memory : share->memory;
	n->disk = c->disk ? c->disk : share->disk;
	n->cpu_milli = c->vcpus ? c->vcpus * 1000 : share->cpu_milli;
	n->pids = share->pids;
	if (!c->vcpus)
		memcpy(n->cores, share->cores, sizeof n->cores);
}

/* Why this machine cannot make it at all. */
static enum cause roster_unable(const struct work *w, const struct work_node *wanted, const struct roster_share *share,
	int slot)
{
	if (*wanted->wrong)
		return roster_wrong(wanted);
	if (wanted->contract.gpus && !share->devices)
		return CAUSE_NO_DEVICES;
	for (size_t i = 0; i < w->host_count && !share->devices; i++)
		if (w->hosts[i].contract.gpus && strcmp(w->hosts[i].id, wanted->host) == 0)
			return CAUSE_NO_DEVICES;
	return slot < 0 ? CAUSE_NO_SLOT : CAUSE_NONE;
}

static void roster_take_new(struct roster *r, const struct work *all, const struct work_node *w,
	const struct roster_share *share, int64_t now)
{
	int slot = roster_free_slot(r, true);
	struct node *n = node_new(w->id);
	struct fail f = { 0 };

	if (!n)
		return;
	snprintf(n->name, sizeof n->name, "%s", w->name);
	snprintf(n->host, sizeof n->host, "%s", w->host);
	snprintf(n->tenant, sizeof n->tenant, "%s", w->tenant);
	snprintf(n->pool, sizeof n->pool, "%s", w->pool);
	snprintf(n->network, sizeof n->network, "%s", w->network);
	snprintf(n->type, sizeof n->type, "%s", w->type);
	snprintf(n->image, sizeof n->image, "%s", w->image);
	snprintf(n->driver, sizeof n->driver, "%s", share->driver);
	n->slot = slot < 0 ? NODE_SLOTS - 1 : (unsigned)slot;
	roster_size(n, &w->contract, share);
	n->cause = roster_unable(all, w, share, slot);
	if (!n->cause && room_place(r->room, w->host, &w->contract, roster_has, r, n->cores, &f) != 0) {
		if (room_later(r->room, all, w->host, &w->contract, roster_stays, r)) {
			log_at(r->log, LOG_INFO, "%s (%s): waits until nodes that end make room: %s", w->id, w->name,
				f.text);
			node_free(n);
			return;
		}
		n->cause = CAUSE_NO_ROOM;
	}
	n->life = n->cause ? LIFE_FAILED : LIFE_PENDING;
	if (n->cause)
		node_say(n, "%s%s%s%s%s", cause_text(n->cause), *w->wrong || *f.text ? ": " : "", *w->wrong ? "'" : "",
			*w->wrong ? w->wrong : f.text, *w->wrong ? "'" : "");
	n->end_at = w->end_at;
	n->since = now;
	n->wanted = true;
	if (node_set_user_data(n, w->user_data, w->user_data_len) != 0 || node_folder(r->data, n->id, &f) != 0 ||
		node_save(r->data, n, &f) != 0 || roster_put(r, n) != 0) {
		log_at(r->log, LOG_ERROR, "cannot begin '%s': %s", w->id, *f.text ? f.text : "out of memory");
		node_free(n);
		return;
	}
	if (n->life == LIFE_FAILED)
		log_at(r->log, LOG_ERROR, "%s (%s): failed: %s", n->id, n->name, n->message);
	else
		log_at(r->log, LOG_INFO, "%s (%s): ordered, slot %u", n->id, n->name, n->slot);
}

/* A node that is here and whose entry is wrong stays as it is: nothing in the entry can be relied on. */
static void roster_take_old(const struct roster *r, struct node *n, const struct work_node *w)
{
	bool same = n->user_data_len == w->user_data_len && !n->user_data == !w->user_data &&
		(!n->user_data_len || memcmp(n->user_data, w->user_data, n->user_data_len) == 0);
	bool changed = n->end_at != w->end_at || !same;

	n->wanted = true;
	if (*w->wrong) {
		if (!n->wrong && n->cause != roster_wrong(w))
			log_at(r->log, LOG_ERROR, "%s: %s: '%s'; it stays as it is", n->id, cause_text(roster_wrong(w)),
				w->wrong);
		n->wrong = true;
		return;
	}
	n->wrong = false;
	n->market_running = w->running;
	if (n->life == LIFE_RUNNING && !w->running)
		n->told = false;
	if (!changed)
		return;
	if (n->end_at != w->end_at)
		log_at(r->log, LOG_INFO, "%s: new end %lld, was %lld", n->id, (long long)w->end_at,
			(long long)n->end_at);
	n->end_at = w->end_at;
	if (!same && node_set_user_data(n, w->user_data, w->user_data_len) != 0)
		log_at(r->log, LOG_ERROR, "%s: out of memory for its user data", n->id);
	roster_save(r, n);
}

/* What nobody has to himself any more, or somebody now has. */
static bool roster_rebind(struct roster *r, const struct roster_share *share)
{
	bool any = false;

	for (size_t i = 0; i < r->count; i++) {
		struct node *n = r->nodes[i];

		if (share->none_left || n->contract.vcpus || n->life == LIFE_UNKNOWN ||
			strcmp(n->cores, share->cores) == 0)
			continue;
		log_at(r->log, LOG_INFO, "%s: may use %s%s now", n->id,
			*share->cores ? "processors " : "all processors", share->cores);
		memcpy(n->cores, share->cores, sizeof n->cores);
		roster_save(r, n);
		any = true;
	}
	return any;
}

bool roster_take(struct roster *r, const struct work *w, const struct roster_share *share, int64_t now)
{
	bool rebound;

	for (size_t i = 0; i < r->count; i++)
		r->nodes[i]->wanted = false;
	for (size_t i = 0; i < w->node_count; i++) {
		struct node *n = roster_find(r, w->nodes[i].id);

		if (n)
			roster_take_old(r, n, &w->nodes[i]);
	}
	rebound = roster_rebind(r, share);
	/* Only now is it known which of the old ones end and make room. */
	for (size_t i = 0; i < w->node_count; i++)
		if (!roster_find(r, w->nodes[i].id) && w->nodes[i].end_at > now)
			roster_take_new(r, w, &w->nodes[i], share, now);
	return rebound;
}
