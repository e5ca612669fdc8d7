/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/verifier.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/verify/verify.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"

/* A market waits ten minutes where a lease began, of which the nodes before it take some to end. */
enum { MEASURE_MS = 420000, WRITE_MS = 30000 };
enum { AGAIN_MS = 60000, REST_MOST = 6 * 3600000, LOOK_MS = 5000, ASK_MS = 30000 };

static const char verifier_waits[] = "waits until the machine has been measured";

/* ---- When ------------------------------------------------------------------------------------- */

/* Before the last third of its time is over. */
static bool verifier_host_due(const struct work_host *h, int64_t now)
{
	if (!h->verified || h->verified_until <= now)
		return true;
	return now >= h->verified_until - (h->verified_until - h->verified_at) / 3;
}

bool verifier_due(const struct work *w, int64_t now, enum verifier_machine is)
{
	for (size_t i = 0; w && is != MACHINE_TAKEN && i < w->host_count; i++) {
		const struct work_host *h = &w->hosts[i];

		if (h->asks_proof && (h->verify_now || (is == MACHINE_EMPTY && verifier_host_due(h, now))))
			return true;
	}
	return false;
}

enum verifier_machine verifier_machine(const struct roster *r, bool looked)
{
	enum verifier_machine is = MACHINE_EMPTY;

	if (!looked)
		return MACHINE_TAKEN;
	for (size_t i = 0; i < r->count; i++) {
		const struct node *n = r->nodes[i];
		bool absent = n->is_known && n->is == NODE_ABSENT;

		if (n->life == LIFE_FAILED && absent)
			continue;
		if (n->life != LIFE_PENDING || n->touched_ms || (n->is_known && !absent))
			return MACHINE_TAKEN;
		is = MACHINE_ORDERED;
	}
	return is;
}

static enum verifier_machine verifier_sees(const struct verifier *v)
{
	return verifier_machine(v->workers->roster, v->workers->looked);
}

bool verifier_holds(const struct verifier *v)
{
	return v->step == VERIFIER_MEASURES || (v->step == VERIFIER_ASKS && clock_ms() < v->asks_ms + ASK_MS);
}

/* What nodes wait for is said of them, for 'status'. */
static void verifier_tell_nodes(const struct verifier *v)
{
	struct roster *r = v->workers->roster;

	for (size_t i = 0; i < r->count; i++) {
		struct node *n = r->nodes[i];
		bool told = strcmp(n->message, verifier_waits) == 0, waits = v->step == VERIFIER_MEASURES;

		if (n->life != LIFE_PENDING || told == waits || (waits && *n->message))
			continue;
		node_say(n, "%s", waits ? verifier_waits : "");
		log_at(v->log, LOG_INFO, "%s: %s", n->id, waits ? verifier_waits : "the machine has been measured");
		roster_save(r, n);
	}
}

/* ---- In the child ----------------------------------------------------------------------------- */

static int verifier_measure(void *arg, struct buf *out, struct fail *f)
{
	const struct verifier *v = arg;
	struct verify_setup setup = { .root = v->sysfs_root,
		.data = v->data,
		.market = v->id->url,
		.nonce = v->nonce,
		.within_ms = MEASURE_MS - WRITE_MS,
		.opencl = v->sysfs_root ? "" : NULL };
	struct claims c = { .count = 0 };
	int rc = verify_run(&setup, NULL, &c);

	if (rc)
		rc = fail_errno(f, rc, -rc, "cannot measure this machine");
	rc = rc ? rc : identity_sign_claims(v->id, &c, f);
	rc = rc ? rc : claims_write(&c, out);
	claims_release(&c);
	return rc;
}

/* For 'host verify --last' and 'status'. */
static void verifier_keep(const struct verifier *v)
{
	char path[STATEFILE_PATH];
	struct fail f = { 0 };

	if (statefile_path(path, v->data, "verify.json", NULL) == 0 &&
		statefile_bytes(path, v->text, strlen(v->text), 0600, &f))
		log_at(v->log, LOG_WARN, "the measurements are not kept: %s", f.text);
}

/* ---- Steps ------------------------------------------------------------------------------------ */

static void verifier_rest(struct verifier *v, int64_t ms)
{
	free(v->text);
	v->text = NULL;
	v->told[0] = '\0';
	v->step = VERIFIER_RESTS;
	v->again_ms = v->soon_ms = clock_ms() + ms;
}

/* Twice as long after each failure: measuring wears a machine's disk, and its journal at the market grows. */
static void verifier_failed(struct verifier *v)
{
	int64_t ms = v->rest_ms > AGAIN_MS ? v->rest_ms : AGAIN_MS;

	verifier_rest(v, ms);
	v->soon_ms = clock_ms() + AGAIN_MS;
	v->rest_ms = ms < REST_MOST / 2 ? ms * 2 : REST_MOST;
	if (ms > AGAIN_MS)
		log_at(v->log, LOG_INFO, "measures again in %" PRId64 " minutes, or after a new start", ms / 60000);
}

static void verifier_ask(struct verifier *v)
{
	v->sent = true;
	link_send(v->link, VERIFIER_TAG_NONCE, "POST", "/np/v1/agent/nonce", NULL);
}

static void verifier_begin(struct verifier *v)
{
	struct fail f = { 0 };

	log_at(v->log, LOG_INFO, "measures this machine for the market");
	v->step = VERIFIER_MEASURES;
	if (job_begin(&v->job, v->loop, v->watch_kind, MEASURE_MS, verifier_measure, v, &f) == 0)
		return;
	log_at(v->log, LOG_WARN, "cannot measure this machine: %s", f.text);
	v->job.pid = 0;
	verifier_failed(v);
}

static void verifier_measured(struct verifier *v)
{
	if (v->job.rc)
		log_at(v->log, LOG_WARN, "cannot measure this machine: %s", v->job.fail.text);
	else
		v->text = buf_steal(&v->job.said);
	job_release(&v->job, v->loop);
	if (!v->text) {
		verifier_failed(v);
		return;
	}
	verifier_keep(v);
	v->step = VERIFIER_TELLS;
}

static void verifier_tell(struct verifier *v)
{
	json_t *j = json_pack("{s:s}", "verification", v->text);
	char *body = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	if (!body) {
		verifier_rest(v, AGAIN_MS);
		return;
	}
	v->sent = true;
	link_send(v->link, VERIFIER_TAG_RESULT, "POST", "/np/v1/agent/verification", body);
}

static void verifier_got_nonce(struct verifier *v, const struct link_event *e)
{
	json_t *j = e->rc ? NULL : json_loadb(buf_text(&e->body), e->body.len, 0, NULL);
	const char *nonce = json_string_value(json_object_get(j, "nonce"));

	if (nonce && claims_nonce(nonce, NULL) == 0 && verifier_sees(v) != MACHINE_TAKEN) {
		snprintf(v->nonce, sizeof v->nonce, "%s", nonce);
		verifier_begin(v);
	} else {
		verifier_rest(v, AGAIN_MS);
	}
	json_decref(j);
}

/* What the market found of each host. Are all of them proven? */
static bool verifier_got_results(const struct verifier *v, const struct link_event *e)
{
	bool proven = !e->rc;
	json_t *j = json_loadb(buf_text(&e->body), e->body.len, 0, NULL), *one;
	size_t i;

	if (e->rc)
		log_at(v->log, LOG_WARN, "the market does not take the measurements: %s", e->fail.text);
	json_array_foreach(json_object_get(j, "hosts"), i, one)
	{
		const char *name = json_string_value(json_object_get(one, "name"));
		const char *why = json_string_value(json_object_get(one, "reason"));

		log_at(v->log, why ? LOG_WARN : LOG_INFO, "host '%s' is %s%s", name ? name : "",
			why ? "not proven: " : "proven", why ? why : "");
		proven = proven && !why;
	}
	json_decref(j);
	return proven;
}

bool verifier_sent(struct verifier *v, const struct link_event *e)
{
	if (e->tag != VERIFIER_TAG_NONCE && e->tag != VERIFIER_TAG_RESULT)
		return false;
	v->sent = false;
	if (e->tag == VERIFIER_TAG_NONCE && v->step == VERIFIER_ASKS) {
		verifier_got_nonce(v, e);
	} else if (e->tag == VERIFIER_TAG_RESULT && v->step == VERIFIER_TELLS) {
		/* What was lost on the way is sent again; the market takes it once. */
		if (link_later(e->rc))
			return true;
		if (!verifier_got_results(v, e)) {
			verifier_failed(v);
			return true;
		}
		v->rest_ms = 0;
		verifier_rest(v, AGAIN_MS);
		if (v->workers->work)
			memcpy(v->told, v->workers->work->version, sizeof v->told);
	}
	return true;
}

void verifier_opened(struct verifier *v)
{
	if (v->job.pid)
		job_release(&v->job, v->loop);
	v->job.pid = 0;
	v->sent = false;
	v->rest_ms = 0;
	verifier_rest(v, 0);
}

static bool verifier_may(const struct verifier *v)
{
	const struct work *w = v->workers->work;
	int64_t now = clock_ms();
	bool anew = w && *v->told && strcmp(v->told, w->version) != 0;

	for (size_t i = 0; w && (anew || v->soon_ms <= now) && i < w->host_count; i++)
		if (w->hosts[i].verify_now)
			return true;
	return v->again_ms <= now;
}

int64_t verifier_turn(struct verifier *v)
{
	if (v->step == VERIFIER_MEASURES && job_ended(&v->job, v->loop))
		verifier_measured(v);
	if (v->step == VERIFIER_RESTS && verifier_may(v) &&
		verifier_due(v->workers->work, wallclock_now(v->workers->clock), verifier_sees(v))) {
		v->step = VERIFIER_ASKS;
		v->asks_ms = clock_ms();
	}
	verifier_tell_nodes(v);
	if (v->step == VERIFIER_MEASURES)
		return v->job.due_ms;
	if (v->sent || !link_can_send(v->link))
		return clock_ms() + LOOK_MS;
	if (v->step == VERIFIER_TELLS)
		verifier_tell(v);
	else if (v->step == VERIFIER_ASKS)
		verifier_ask(v);
	return clock_ms() + LOOK_MS;
}

void verifier_release(struct verifier *v)
{
	if (v->job.pid)
		job_release(&v->job, v->loop);
	free(v->text);
	v->text = NULL;
}
