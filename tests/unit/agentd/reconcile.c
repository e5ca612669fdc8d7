/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next step for a node in every case: checks each combination of life, what runs and what is wanted against rules
 * that hold for all of them, and one by one those that a lease goes through.
 */
#include "../../lib/tap.h"

#include "agentd/reconcile.h"

enum { NOW = 1000000, MS = 5000000 };

static struct picture healthy(enum life life, enum node_is is)
{
	return (struct picture){ .life = life,
		.is = is,
		.is_known = true,
		.heard = true,
		.wanted = true,
		.healthy = true,
		.told = true,
		.shipped = true,
		.now = NOW,
		.end_at = NOW + 3600,
		.ms = MS };
}

static void step_is(const struct picture *p, enum step step, const char *what)
{
	is_str(step_word(reconcile(p).step), step_word(step), "%s", what);
}

static void becomes(const struct picture *p, enum life life, enum cause cause, const char *what)
{
	struct decision d = reconcile(p);

	ok(d.step == STEP_BECOME && d.life == life && d.cause == cause, "%s", what);
	if (d.step != STEP_BECOME || d.life != life || d.cause != cause)
		diag("%s %s %s", step_word(d.step), life_word(d.life), cause_word(d.cause));
}

/* ---- Every case ----------------------------------------------------------------------------- */

static const char *broken;

static bool touches(enum step s)
{
	return s == STEP_STOP || s == STEP_DESTROY || s == STEP_QUARANTINE || s == STEP_RETRY;
}

static bool makes(enum step s)
{
	return s == STEP_CREATE || s == STEP_START;
}

static const char *judge(const struct picture *p)
{
	struct decision d = reconcile(p);
	bool lives = p->life == LIFE_PENDING || p->life == LIFE_READY || p->life == LIFE_RUNNING;

	if (d.step >= STEP_COUNT)
		return "an unknown step";
	if (d.step == STEP_BECOME && (d.life == p->life || !life_legal(p->life, d.life)))
		return "a change of life that is not legal";
	if (d.step == STEP_FORGET && p->life != LIFE_TERMINATED)
		return "forgotten while something may be left";
	if (d.step == STEP_BECOME && d.life == LIFE_TERMINATED && !(p->is_known && p->is == NODE_ABSENT))
		return "ended while something may be left";
	if (makes(d.step) && (p->fenced || !lives || !p->wanted))
		return "made, and it is not wanted";
	if (d.step == STEP_START && p->withheld)
		return "started while nothing may start";
	if (makes(d.step) && p->measured)
		return "made while the machine is measured";
	if (makes(d.step) && p->now >= p->end_at + RECONCILE_SLACK)
		return "made after its end";
	if (lives && touches(d.step) && p->wanted && p->now < p->end_at && d.step != STEP_RETRY)
		return "touched while it is wanted";
	if (d.step == STEP_DESTROY && p->is_known && p->is == NODE_RUNNING)
		return "wiped while it runs";
	if (d.step != STEP_BECOME && d.step != STEP_NONE && d.step != STEP_FORGET && p->due_ms > p->ms)
		return "a step in a pause";
	if (d.step == STEP_CREATE && p->is_known && p->is != NODE_ABSENT && p->life != LIFE_PENDING)
		return "made twice";
	return NULL;
}

static void every_case(void)
{
	unsigned long count = 0;

	for (unsigned bits = 0; bits < 1u << 18 && !broken; bits++)
		for (unsigned life = 0; life < LIFE_COUNT && !broken; life++)
			for (unsigned is = 0; is < 3 && !broken; is++) {
				struct picture p = { .life = (enum life)life,
					.is = (enum node_is)is,
					.is_known = bits & 1,
					.heard = bits & 2,
					.wanted = bits & 4,
					.healthy = bits & 8,
					.fenced = bits & 16,
					.rekey = bits & 32,
					.told = bits & 64,
					.shipped = bits & 128,
					.host_taken = bits & 256,
					.withheld = bits & 65536,
					.measured = bits & 131072,
					.tries = bits & 512 ? RECONCILE_TRIES : 1,
					.quick_stops = bits & 1024 ? RECONCILE_TRIES : 0,
					.now = NOW,
					.end_at = bits & 2048 ? NOW - 10
						: bits & 4096 ? NOW - 1000
							      : NOW + 1000,
					.ms = MS,
					.due_ms = bits & 8192 ? MS + 1 : 0,
					.drain_ms = bits & 16384 ? MS + 1 : 0,
					.ssh_ms = bits & 32768 ? MS - 1 : 0,
					.ship_ms = bits & 16384 ? MS + 1 : 0,
					.remove_ms = bits & 32768 ? MS + 1 : 0 };

				broken = judge(&p);
				count++;
				if (broken)
					diag("bits %x, life %s, is %u", bits, life_word((enum life)life), is);
			}
	ok(!broken, "%lu cases obey the rules: %s", count, broken ? broken : "all");
}

/* From any state that is wanted and works, successful steps lead to running; from any other, to nothing. */
static void apply(struct picture *p, const struct decision *d)
{
	if (d->step == STEP_BECOME) {
		p->life = d->life;
		p->cause = d->cause;
	} else if (d->step == STEP_CREATE) {
		p->is = NODE_STOPPED;
		p->is_known = true;
		if (p->life == LIFE_PENDING)
			p->life = LIFE_READY;
	} else if (d->step == STEP_START) {
		p->is = NODE_RUNNING;
	} else if (d->step == STEP_REKEY) {
		p->rekey = false;
	} else if (d->step == STEP_TRY_SSH) {
		p->life = LIFE_RUNNING;
	} else if (d->step == STEP_DESTROY) {
		p->is = NODE_ABSENT;
		p->is_known = true;
	} else if (touches(d->step)) {
		p->is = NODE_STOPPED;
		p->is_known = true;
		p->ssh_ms = 0;
	}
}

static void all_ways_lead(bool wanted)
{
	bool good = true;

	for (unsigned life = 0; life < LIFE_COUNT && good; life++)
		for (unsigned is = 0; is < 3 && good; is++)
			for (unsigned rekey = 0; rekey < 2 && good; rekey++) {
				struct picture p = healthy((enum life)life, (enum node_is)is);
				struct decision d = { 0 };

				if (wanted &&
					(life == LIFE_FAILED || life == LIFE_TERMINATED || life == LIFE_UNKNOWN ||
						life == LIFE_DRAINING))
					continue;
				p.wanted = wanted;
				p.rekey = rekey;
				for (int i = 0; i < 20 && d.step != STEP_FORGET; i++) {
					d = reconcile(&p);
					apply(&p, &d);
				}
				good = wanted ? p.life == LIFE_RUNNING && p.is == NODE_RUNNING && !p.rekey
					      : d.step == STEP_FORGET && p.is == NODE_ABSENT;
				if (!good)
					diag("life %s, is %u ended as %s, %d", life_word((enum life)life), is,
						life_word(p.life), (int)p.is);
			}
	ok(good, wanted ? "all that is wanted comes up" : "all that is not wanted goes, and is forgotten");
}

/* ---- A lease -------------------------------------------------------------------------------- */

static void lease_end(void)
{
	struct picture p = healthy(LIFE_RUNNING, NODE_RUNNING);

	step_is(&p, STEP_NONE, "what runs and is wanted is let be");
	p.now = p.end_at + 10;
	step_is(&p, STEP_NONE, "a market that is heard has the word for half a minute after the end");
	p.now = p.end_at + RECONCILE_SLACK;
	becomes(&p, LIFE_DRAINING, CAUSE_LEASE_OVER, "and not longer");
	p.healthy = false;
	p.now = p.end_at - 1;
	step_is(&p, STEP_NONE, "a market that is away changes nothing before the end");
	p.now = p.end_at;
	becomes(&p, LIFE_DRAINING, CAUSE_LEASE_OVER, "which then comes by the clock of this machine");
	p = healthy(LIFE_RUNNING, NODE_RUNNING);
	p.wanted = false;
	becomes(&p, LIFE_DRAINING, CAUSE_ENDED, "the market ends it early");
	p.heard = false;
	step_is(&p, STEP_NONE, "before the market was heard nothing is taken from its silence");
	p = healthy(LIFE_RUNNING, NODE_RUNNING);
	p.end_at = NOW + 1;
	step_is(&p, STEP_NONE, "the last second");
	p.end_at = NOW + 3600;
	step_is(&p, STEP_NONE, "extended in it: not touched");
	p.end_at = NOW - RECONCILE_SLACK;
	becomes(&p, LIFE_DRAINING, CAUSE_LEASE_OVER, "an end that moved to before now is obeyed");
	p.end_at = INT64_MAX;
	step_is(&p, STEP_NONE, "no end");
	p = healthy(LIFE_PENDING, NODE_ABSENT);
	p.wanted = false;
	becomes(&p, LIFE_TERMINATED, CAUSE_ENDED, "what was never made needs no end");
	p.is_known = false;
	becomes(&p, LIFE_DRAINING, CAUSE_ENDED, "but only where that is known");
}

static void draining(void)
{
	struct picture p = healthy(LIFE_DRAINING, NODE_RUNNING);

	p.wanted = false;
	p.end_at = NOW - 60;
	p.drain_ms = MS + 1000;
	is_int(reconcile(&p).look_ms, MS + 1000, "the grace is waited for");
	step_is(&p, STEP_NONE, "in it nothing is done");
	p.ms = p.drain_ms;
	step_is(&p, STEP_STOP, "then it is stopped");
	p.is = NODE_STOPPED;
	p.shipped = false;
	p.ship_ms = p.ms + 20;
	step_is(&p, STEP_NONE, "its last words are taken to the market");
	p.ms = p.ship_ms;
	step_is(&p, STEP_DESTROY, "for a while, then it is wiped");
	p.is = NODE_ABSENT;
	becomes(&p, LIFE_TERMINATED, CAUSE_NONE, "and that is its end");
	p = healthy(LIFE_DRAINING, NODE_RUNNING);
	p.cause = CAUSE_LEASE_OVER;
	p.drain_ms = MS + 1000;
	becomes(&p, LIFE_READY, CAUSE_NONE, "extended while the market was away: it goes on, untouched");
	p.is = NODE_STOPPED;
	step_is(&p, STEP_DESTROY, "where it was stopped already it is too late");
}

static void failures(void)
{
	struct picture p = healthy(LIFE_PENDING, NODE_ABSENT);

	p.tries = RECONCILE_TRIES;
	becomes(&p, LIFE_FAILED, CAUSE_CREATE_FAILED, "five times not made");
	p = healthy(LIFE_READY, NODE_STOPPED);
	p.tries = RECONCILE_TRIES;
	becomes(&p, LIFE_FAILED, CAUSE_START_FAILED, "five times not started");
	p.tries = 0;
	p.quick_stops = RECONCILE_TRIES;
	becomes(&p, LIFE_FAILED, CAUSE_KEEPS_STOPPING, "five quick ends");
	p = healthy(LIFE_READY, NODE_RUNNING);
	p.ssh_ms = MS;
	step_is(&p, STEP_RETRY, "SSH that does not answer: stopped, and begun anew");
	p.tries = RECONCILE_TRIES - 1;
	becomes(&p, LIFE_FAILED, CAUSE_SSH_SILENT, "and in the end given up");
	p.script = true;
	becomes(&p, LIFE_RUNNING, CAUSE_NONE, "but where its buyer's own script may have closed SSH, it runs");
	p = healthy(LIFE_FAILED, NODE_RUNNING);
	step_is(&p, STEP_STOP, "what was given up is stopped");
	p.is = NODE_ABSENT;
	step_is(&p, STEP_NONE, "and its journal is kept until the market lets it go");
	p.wanted = false;
	becomes(&p, LIFE_TERMINATED, CAUSE_NONE, "then it goes");
	p = healthy(LIFE_RUNNING, NODE_STOPPED);
	becomes(&p, LIFE_READY, CAUSE_NONE, "a node that powers off is to come back");
	p = healthy(LIFE_READY, NODE_STOPPED);
	step_is(&p, STEP_START, "and is started");
	p.withheld = true;
	step_is(&p, STEP_NONE, "but not while nothing may start");
	p.life = LIFE_PENDING;
	p.is = NODE_ABSENT;
	step_is(&p, STEP_CREATE, "when it is made all the same");
	p.withheld = false;
	p.life = LIFE_READY;
	p.is = NODE_STOPPED;
	p.rekey = true;
	step_is(&p, STEP_REKEY, "with the keys that are wanted by then");
}

static void others(void)
{
	struct picture p = healthy(LIFE_UNKNOWN, NODE_RUNNING);

	p.wanted = false;
	p.remove_ms = MS + 600000;
	step_is(&p, STEP_QUARANTINE, "what nobody ordered is stopped");
	p.is = NODE_STOPPED;
	is_int(reconcile(&p).look_ms, p.remove_ms, "and kept for a while");
	p.ms = p.remove_ms;
	step_is(&p, STEP_DESTROY, "then wiped");
	p = healthy(LIFE_RUNNING, NODE_STOPPED);
	p.fenced = true;
	becomes(&p, LIFE_READY, CAUSE_NONE, "fenced: what stops");
	p.life = LIFE_READY;
	step_is(&p, STEP_NONE, "is not started again");
	p = healthy(LIFE_PENDING, NODE_ABSENT);
	p.fenced = true;
	step_is(&p, STEP_NONE, "and nothing new is made");
	p = healthy(LIFE_RUNNING, NODE_RUNNING);
	p.fenced = true;
	p.wanted = p.healthy = false;
	step_is(&p, STEP_NONE, "what runs goes on");
	p.now = p.end_at;
	becomes(&p, LIFE_DRAINING, CAUSE_LEASE_OVER, "until its end by the clock");
	p = healthy(LIFE_PENDING, NODE_ABSENT);
	p.host_taken = true;
	step_is(&p, STEP_NONE, "a machine that is handed over whole is handed over to one");
}

int main(void)
{
	every_case();
	all_ways_lead(true);
	all_ways_lead(false);
	lease_end();
	draining();
	failures();
	others();
	ok(life_legal(LIFE_RUNNING, LIFE_RUNNING) && !life_legal(LIFE_TERMINATED, LIFE_RUNNING),
		"what is over does not come back");
	return done();
}
