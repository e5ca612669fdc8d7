/* SPDX-License-Identifier: Apache-2.0 */
/* When a machine measures itself for the market, and that nothing is made on it meanwhile. */
#include "agentd/verifier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "base/clock.h"
#include "market/client.h"
#include "market/reason.h"

enum { NOW = 1800000000, HOUR = 3600 };

static bool due(struct work_host h, enum verifier_machine is)
{
	struct work w = { .hosts = (struct work_host[]){ { .asks_proof = false }, h }, .host_count = 2 };

	return verifier_due(&w, NOW, is);
}

static void when(void)
{
	struct work_host h = { .asks_proof = true, .verified = true, .verified_at = NOW - 3 * HOUR };
	struct work_host asked = { .asks_proof = true, .verify_now = true };

	ok(!verifier_due(NULL, NOW, MACHINE_EMPTY), "not before the market has said anything");
	ok(!due((struct work_host){ .asks_proof = false }, MACHINE_EMPTY), "not for a type that asks for nothing");
	ok(due((struct work_host){ .asks_proof = true }, MACHINE_EMPTY), "where nothing is proven");
	ok(!due((struct work_host){ .asks_proof = true }, MACHINE_ORDERED), "but a node that is ordered comes first");
	ok(due(asked, MACHINE_ORDERED), "except where the market asks");
	ok(!due(asked, MACHINE_TAKEN), "and never beside a node, not even then");
	h.verified_until = NOW + 6 * HOUR;
	ok(!due(h, MACHINE_EMPTY), "not while a proof holds for long");
	h.verified_until = NOW + HOUR;
	ok(due(h, MACHINE_EMPTY), "but before it ends");
	ok(!due(h, MACHINE_TAKEN), "and again not while a node runs");
	h.verified = false;
	ok(due(h, MACHINE_EMPTY), "where it has failed");
}

static enum verifier_machine machine_with(struct node one)
{
	struct node *nodes[] = { &one };
	struct roster r = { .nodes = nodes, .count = 1 };

	return verifier_machine(&r, true);
}

static void what_is_here(void)
{
	struct roster none = { .count = 0 };

	is_int(verifier_machine(&none, false), MACHINE_TAKEN, "what runs is not known at the start");
	is_int(verifier_machine(&none, true), MACHINE_EMPTY, "no node");
	is_int(machine_with((struct node){ .life = LIFE_PENDING }), MACHINE_ORDERED, "one that is ordered");
	is_int(machine_with((struct node){ .life = LIFE_PENDING, .touched_ms = 1 }), MACHINE_TAKEN,
		"one that is being made");
	is_int(machine_with((struct node){ .life = LIFE_PENDING, .is_known = true, .is = NODE_STOPPED }), MACHINE_TAKEN,
		"one that was made before a restart");
	is_int(machine_with((struct node){ .life = LIFE_READY, .is_known = true, .is = NODE_STOPPED }), MACHINE_TAKEN,
		"one that is stopped");
	is_int(machine_with((struct node){ .life = LIFE_RUNNING, .is_known = true, .is = NODE_RUNNING }), MACHINE_TAKEN,
		"one that runs");
	is_int(machine_with((struct node){ .life = LIFE_FAILED, .is_known = true, .is = NODE_ABSENT }), MACHINE_EMPTY,
		"one that failed, of which nothing is left");
	is_int(machine_with((struct node){ .life = LIFE_FAILED }), MACHINE_TAKEN, "one of which something may be left");
}

static int sleeps(void *arg, struct buf *out, struct fail *f)
{
	(void)arg;
	(void)out;
	(void)f;
	pause();
	return 0;
}

/* While the child measures, nodes wait and say why; when it has ended they do not. */
static void nodes_wait(const char *data)
{
	static const struct log quiet = { 0 };
	struct node *n = node_new("vm_000000000000a");
	struct roster r = { .data = data, .log = &quiet, .nodes = &n, .count = 1 };
	struct workers w = { .roster = &r, .looked = true, .clock = &(struct wallclock){ 0 } };
	struct verifier v = { .log = &quiet, .data = data, .workers = &w, .step = VERIFIER_MEASURES, .sent = true };
	struct fail f = { 0 };
	char nodes[64];

	snprintf(nodes, sizeof nodes, "%s/nodes", data);
	if (mkdir(nodes, 0700) || !n || loop_new(&v.loop) || node_folder(data, n->id, &f) ||
		job_begin(&v.job, v.loop, 1, 60000, sleeps, NULL, &f))
		abort();
	n->life = LIFE_PENDING;
	is_int(verifier_turn(&v) == v.job.due_ms && verifier_holds(&v), true, "while it measures it holds nodes back");
	is_str(n->message, "waits until the machine has been measured", "which say so");
	v.job.due_ms = clock_ms();
	verifier_turn(&v);
	is_int(v.step, VERIFIER_RESTS, "a measurement that takes too long ends");
	ok(!verifier_holds(&v) && !*n->message, "and nodes go on");
	v = (struct verifier){ .loop = v.loop, .step = VERIFIER_ASKS, .asks_ms = clock_ms() };
	ok(verifier_holds(&v), "they wait for the market's nonce, too");
	v.asks_ms = clock_ms() - 31000;
	ok(!verifier_holds(&v), "but not for a market that is silent");
	verifier_release(&v);
	loop_free(v.loop);
	node_forget(data, n->id);
	rmdir(nodes);
	rmdir(data);
	node_free(n);
}

static int64_t rests_after(struct verifier *v, int rc, const char *body)
{
	struct link_event e = { .kind = LINK_SENT, .tag = VERIFIER_TAG_RESULT, .rc = rc };

	buf_init(&e.body, 1000);
	buf_adds(&e.body, body);
	v->step = VERIFIER_TELLS;
	v->text = strdup("measured");
	verifier_sent(v, &e);
	buf_release(&e.body);
	return v->step == VERIFIER_RESTS ? (v->again_ms - clock_ms() + 30000) / 60000 : -1;
}

/* A machine that fails is measured ever more seldom, and what was lost on the way is not measured anew. */
static void how_often(void)
{
	static const char failed[] = "{\"hosts\":[{\"name\":\"a\"},{\"name\":\"b\",\"reason\":\"slow\"}]}";
	static const struct log quiet = { 0 };
	struct verifier v = { .log = &quiet, .workers = &(struct workers){ .looked = true } };

	is_int(rests_after(&v, 0, "{\"hosts\":[{\"name\":\"a\"}]}"), 1, "one that passes may be looked at in a minute");
	is_int(rests_after(&v, 0, failed), 1, "one that fails, too");
	is_int(rests_after(&v, 0, failed), 2, "again: two");
	is_int(rests_after(&v, REASON_INVALID, ""), 4, "refused: four");
	ok(v.soon_ms <= clock_ms() + 60000, "but a minute where the market asks in a lease");
	for (int i = 0; i < 20; i++)
		rests_after(&v, 0, failed);
	is_int(rests_after(&v, 0, failed), 360, "at most six hours");
	is_int(rests_after(&v, CLIENT_LOST, ""), -1, "what was lost on the way is sent again");
	is_str(v.text, "measured", "as it is");
	verifier_release(&v);
	rests_after(&v, 0, "{\"hosts\":[{\"name\":\"a\"}]}");
	is_int(rests_after(&v, 0, failed), 1, "and one that has passed begins anew");
	verifier_release(&v);
}

/* No request leaves. */
static void turns(struct verifier *v)
{
	v->sent = true;
	verifier_turn(v);
}

/*
 * After it has passed, the market's wish that it answered may still be at hand: only a newer one makes it measure at
 * once, so that a buyer's node does not wait for nothing.
 */
static void how_soon(void)
{
	static const char passed[] = "{\"hosts\":[{\"name\":\"a\"}]}", failed[] = "{\"hosts\":[{\"reason\":\"slow\"}]}";
	static const struct log quiet = { 0 };
	struct work_host host = { .asks_proof = true, .verify_now = true };
	struct work work = { .version = "7", .hosts = &host, .host_count = 1 };
	struct roster none = { .count = 0 };
	struct workers workers = { .roster = &none, .looked = true, .work = &work, .clock = &(struct wallclock){ 0 } };
	struct verifier v = { .log = &quiet, .workers = &workers };

	rests_after(&v, 0, passed);
	turns(&v);
	is_int(v.step, VERIFIER_RESTS, "what the market asked for before it had the answer is done");
	snprintf(work.version, sizeof work.version, "8");
	host.verify_now = false;
	turns(&v);
	is_int(v.step, VERIFIER_RESTS, "what it asks for in its own time has a minute's rest");
	host.verify_now = true;
	turns(&v);
	is_int(v.step, VERIFIER_ASKS, "what it asks for in a lease since is begun at once");
	rests_after(&v, 0, failed);
	snprintf(work.version, sizeof work.version, "9");
	turns(&v);
	is_int(v.step, VERIFIER_RESTS, "but not by a machine that has failed");
	verifier_release(&v);
}

static void hears(void *arg, enum log_level level, const char *text)
{
	char *said = arg;

	(void)level;
	snprintf(said, 300, "%s", text);
}

/* What the market says goes to a log that people read on terminals. */
static void what_is_said(void)
{
	char said[300] = "";
	const struct log log = { hears, said, LOG_WARN };
	struct verifier v = { .log = &log };

	rests_after(&v, 0,
		"{\"hosts\":[{\"name\":\"\\u001b]0;a\",\"reason\":\"b\\u009b2J\\r\\n\\u007fgr\\u00fc\\u00df\"}]}");
	is_str(said, "host '?]0;a' is not proven: b??2J???gr\303\274\303\237",
		"no control reaches a terminal, all letters do");
	verifier_release(&v);
}

int main(void)
{
	char data[] = "/tmp/verifier-XXXXXX";

	plan_none;
	when();
	what_is_here();
	how_often();
	how_soon();
	what_is_said();
	if (!mkdtemp(data))
		abort();
	nodes_wait(data);
	return done();
}
