/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the nodes in an agent's folder, and ends them without an agent. */
#include "agentd/verbs/verbs.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/market/verb_http.h"
#include "agentd/step_child.h"
#include "agentd/os/job.h"
#include "agentd/os/kept_volumes.h"
#include "agentd/os/statefile.h"
#include "agentd/datadir.h"
#include "agentd/powercheck.h"
#include "agentd/roster.h"
#include "market/claims.h"

enum { AT_ONCE = 8, HALT_MS = 120000, HALT_GRACE_MS = 5000 };

static void nodes_no_sink(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "nanopod-agentd: %s\n", text);
}

/* ---- Status ------------------------------------------------------------------------------- */

static json_t *verb_nodes_node_json(const struct node *n, const struct driver_setup *s)
{
	json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o}", "id", n->id, "name",
		n->name, "host", n->host, "tenant", n->tenant, "pool", n->pool, "network",
		*n->network ? n->network : n->pool, "driver", n->driver, "state", life_text(n->life), "reason",
		cause_word(n->cause), "message", n->message, "slot", (json_int_t)n->slot, "port",
		(json_int_t)(n->port ? n->port : s->first_port + n->slot), "end_at",
		n->end_at == INT64_MAX ? json_null() : json_integer(n->end_at));

	return j ? j : json_null();
}

static void print_node(const struct node *n)
{
	char end[64] = "no end";
	time_t at = (time_t)n->end_at;
	struct tm tm;

	if (n->end_at != INT64_MAX && gmtime_r(&at, &tm))
		strftime(end, sizeof end, "until %Y-%m-%d %H:%M UTC", &tm);
	printf("%-20s %-12s %-8s %s%s%s\n", n->id, life_text(n->life), n->driver, end, *n->message ? "  " : "",
		n->message);
}

static void nodes_find_verified(const struct flags *o, char *room, size_t size)
{
	struct claims c = { .count = 0 };
	struct buf text;

	buf_init(&text, CLAIMS_BYTES);
	if (verb_verify_kept(o->data, &text, &c, NULL) == 0)
		verb_verify_when(&c, room, size);
	claims_release(&c);
	buf_release(&text);
}

/* What the agent last found out by trying disk and memory; NULL: it has not yet. */
static json_t *status_probe(const struct flags *o)
{
	char path[STATEFILE_PATH];
	json_t *j = NULL;
	struct fail f;

	if (statefile_path(path, o->data, "probe.json", NULL) == 0 && statefile_load(path, &j, &f) != 0)
		j = NULL;
	return j;
}

static void print_probe(const json_t *probe)
{
	time_t at = (time_t)statefile_int(probe, "at", 0);
	char when[64] = "", text[512];
	struct tm tm;

	if (!probe || !gmtime_r(&at, &tm))
		return;
	strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &tm);
	statefile_text(probe, "text", text, sizeof text);
	printf("probe of disk and memory %s on %s%s%s\n", statefile_bool(probe, "passed") ? "passed" : "FAILED", when,
		*text ? ": " : "", text);
}

static void verb_nodes_add_stray(void *arg, const struct stray_volume *v)
{
	json_array_append_new(arg,
		json_pack("{s:s, s:I, s:s, s:s, s:b}", "path", v->path, "held_bytes", (json_int_t)v->held, "market",
			v->home.url, "agent", v->home.agent, "put_aside", (int)v->aside));
}

static void print_stray(void *arg, const struct stray_volume *v)
{
	(void)arg;
	printf("volume without an owner in %s: %lld MiB of %s; no node sees it, and its room is not sold. If nobody "
	       "needs it: rm -r %s\n",
		v->path, (long long)(v->held >> 20), *v->home.url ? v->home.url : "an unknown market", v->path);
}

static int verb_nodes_show(const struct flags *o, const struct identity *i, const struct roster *r)
{
	char power[POWERCHECK_TEXT];
	struct datadir_setup place;
	json_t *list = json_array(), *probe = status_probe(o), *strays = json_array(), *j;
	long pid = 0;
	bool runs = datadir_held(o->data, &pid);
	char *text, verified[128] = "";

	nodes_find_verified(o, verified, sizeof verified);
	datadir_setup(&place, o, i);
	powercheck_told(o->data, power, sizeof power);
	for (size_t n = 0; n < r->count; n++)
		json_array_append_new(list, verb_nodes_node_json(r->nodes[n], &place.setup));
	j = json_pack("{s:s, s:s, s:s, s:s, s:b, s:I, s:b, s:I, s:s, s:O?, s:o}", "agent", i->agent, "name", i->name,
		"account", i->account, "url", i->url, "running", runs, "pid", (json_int_t)pid, "fenced", i->fenced,
		"generation", (json_int_t)i->generation, "data", o->data, "probe", probe, "nodes", list);
	volumes_stray(o->data, verb_nodes_add_stray, strays);
	json_object_set_new(j, "stray_volumes", strays);
	json_object_set_new(j, "verified", *verified ? json_string(verified) : json_null());
	if (j && runs && *power)
		json_object_set_new(j, "power", json_string(power));
	text = j ? json_dumps(j, JSON_INDENT(2)) : NULL;
	if (o->json)
		printf("%s\n", text ? text : "null");
	free(text);
	json_decref(j);
	if (o->json) {
		json_decref(probe);
		return fflush(stdout) != 0;
	}
	printf("%s (%s) of %s\n", i->agent, i->name, i->url);
	if (runs)
		printf("agent running (process %ld)\n", pid);
	else
		printf("agent not running\n");
	if (*verified)
		printf("verified: %s\n", verified);
	else
		printf("not verified: 'nanopod host verify' measures this machine\n");
	if (runs && *power)
		printf("POWER: %s\n", power);
	if (i->fenced)
		printf("FENCED: this identity is in use elsewhere\n");
	print_probe(probe);
	json_decref(probe);
	for (size_t n = 0; n < r->count; n++)
		print_node(r->nodes[n]);
	if (!r->count)
		printf("no nodes\n");
	volumes_stray(o->data, print_stray, NULL);
	return fflush(stdout) != 0;
}

int verb_status(const struct flags *o)
{
	struct log log = { .sink = nodes_no_sink, .level = LOG_ERROR };
	struct roster r = { .data = o->data, .log = &log, .reads = true };
	struct identity i = { 0 };
	struct fail f = { 0 };
	int rc = identity_load(o->data, &i, &f), status;

	if (rc)
		return verb_fail(rc == -ENOENT ? 3 : 1, f.text);
	rc = roster_load(&r, "", &f);
	status = rc ? verb_fail(1, f.text) : verb_nodes_show(o, &i, &r);
	roster_release(&r);
	identity_release(&i);
	return status;
}

/* ---- Halt --------------------------------------------------------------------------------- */

struct halt {
	struct step_child work;
	bool destroy;
	char id[WORK_ID];
	struct job job;
};

static int nodes_halt_one(void *arg, struct buf *out, struct fail *f)
{
	struct halt *h = arg;
	int rc;

	h->work.step = STEP_STOP;
	h->work.grace_ms = HALT_GRACE_MS;
	rc = step_child_do(&h->work, out, f);
	h->work.step = STEP_DESTROY;
	if (!rc && h->destroy)
		rc = step_child_destroy(&h->work, f);
	return rc;
}

static bool verb_nodes_collect(struct halt *h, struct loop *loop, const struct flags *o, struct roster *r, int *failed)
{
	struct node *n = roster_find(r, h->id);

	if (!h->job.pid || !job_ended(&h->job, loop))
		return false;
	if (h->job.rc) {
		fprintf(stderr, "nanopod-agentd: %s: %s\n", h->id, h->job.fail.text);
		(*failed)++;
	} else {
		if (!o->json)
			printf("%s %s\n", h->id, o->destroy ? "wiped" : "stopped");
		if (o->destroy && n)
			roster_forget(r, n);
	}
	job_release(&h->job, loop);
	return true;
}

static bool nodes_begin_one(struct halt *h, struct loop *loop, const struct flags *o, const struct node *n,
	const struct driver_setup *s, drivers all)
{
	struct fail f = { 0 };
	int rc = step_child_init(&h->work, n, NULL, s);

	h->work.driver = drivers_find(all, n->driver);
	h->destroy = o->destroy;
	memcpy(h->id, n->id, sizeof h->id);
	if (!rc && !h->work.driver)
		rc = fail_set(&f, -ENOENT, "this program has no driver '%s'", n->driver);
	rc = rc ? rc : job_begin(&h->job, loop, 1, HALT_MS, nodes_halt_one, h, &f);
	if (rc)
		fprintf(stderr, "nanopod-agentd: %s: %s\n", n->id, f.text);
	return rc == 0;
}

/* Collects ids first: nodes leave the list as they are wiped. */
static int nodes_halt_all(const struct flags *o, struct loop *loop, struct roster *r, const struct driver_setup *s,
	drivers all)
{
	static struct halt children[AT_ONCE];
	char(*ids)[WORK_ID] = calloc(r->count + 1, sizeof *ids);
	size_t count = r->count, at = 0, busy = 0;
	int failed = 0;

	for (size_t i = 0; ids && i < count; i++)
		memcpy(ids[i], r->nodes[i]->id, WORK_ID);
	while (ids && (at < count || busy)) {
		for (size_t i = 0; i < AT_ONCE && at < count; i++) {
			const struct node *n = children[i].job.pid ? NULL : roster_find(r, ids[at]);

			if (children[i].job.pid)
				continue;
			at++;
			if (n && nodes_begin_one(&children[i], loop, o, n, s, all))
				busy++;
			else
				failed++;
		}
		loop_wait(loop, 100);
		for (size_t i = 0; i < AT_ONCE; i++)
			busy -= verb_nodes_collect(&children[i], loop, o, r, &failed);
	}
	free(ids);
	return failed;
}

/* Adds what runs and has no journal. */
static void nodes_add_listed(void *arg, const char *id)
{
	struct roster *r = arg;

	if (work_is_id(id, "inst_") && !roster_find(r, id))
		roster_add_unknown(r, id, r->lists, 0);
}

static int nodes_halt_here(const struct flags *o, drivers all, const struct identity *i, struct roster *r,
	struct fail *f)
{
	struct datadir_setup place;
	struct loop *loop = NULL;
	size_t before;
	int failed, rc = loop_new(&loop);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot make a loop");
	datadir_setup(&place, o, i);
	r->setup = &place.setup; /* where the ports of nodes begin */
	rc = roster_load(r, "", f);
	for (drivers d = all; !rc && *d; d++) {
		r->lists = (*d)->name;
		(*d)->list(&place.setup, nodes_add_listed, r, NULL);
	}
	before = r->count;
	place.setup.for_good = o->destroy;
	failed = rc ? 0 : nodes_halt_all(o, loop, r, &place.setup, all);
	for (drivers d = all; !rc && *d; d++)
		if ((*d)->tidy)
			(*d)->tidy(&place.setup, NULL);
	loop_free(loop);
	if (!rc && o->json)
		printf("{\"nodes\": %zu, \"failed\": %d, \"destroyed\": %s}\n", before, failed,
			o->destroy ? "true" : "false");
	return rc ? rc : failed ? fail_set(f, -EIO, "cannot stop %d nodes", failed) : 0;
}

int verb_halt(const struct flags *o, drivers all)
{
	struct log log = { .sink = nodes_no_sink, .level = LOG_ERROR };
	struct roster r = { .data = o->data, .log = &log };
	struct identity i = { 0 };
	struct fail f = { 0 };
	int lock = -1, rc = datadir_open(o->data, false, &f);

	if (rc == -ENOENT)
		return 0;
	rc = rc ? rc : datadir_lock(o->data, &lock, &f);
	if (rc)
		return verb_fail(verb_http_exit(rc), f.text);
	rc = identity_load(o->data, &i, &f);
	if (rc == -ENOENT) /* it never joined, so it has no nodes */
		rc = 0;
	else if (!rc)
		rc = nodes_halt_here(o, all, &i, &r, &f);
	roster_release(&r);
	identity_release(&i);
	close(lock);
	return rc ? verb_fail(1, f.text) : fflush(stdout) != 0;
}
