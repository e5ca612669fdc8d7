/* SPDX-License-Identifier: Apache-2.0 */
/* Measures this machine, signs what was found with the agent's key, and keeps it for 'verify --last' and 'status'. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/verbs/bom.h"
#include "agentd/datadir.h"
#include "agentd/device/host_gpus.h"
#include "agentd/machine/verify/verify.h"
#include "agentd/market/uplink_speed.h"
#include "agentd/market/verb_http.h"
#include "agentd/os/statefile.h"
#include "agentd/verbs/verbs.h"
#include "market/claims.h"
#include "market/client.h"

enum { FAILURE = 1, USAGE = 2, NONE = 3, CHECK = 11 };

#define KEPT "verify.json"

int verb_verify_kept(const char *data, struct buf *text, struct claims *out, struct fail *f)
{
	char path[STATEFILE_PATH];
	int rc = statefile_path(path, data, KEPT, NULL);

	rc = rc ? rc : buf_read_file(text, path);
	if (rc == -ENOENT)
		return fail_set(f, rc, "no verification was kept in '%s': 'nanopod-agentd verify' makes one", data);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot read '%s'", path);
	return claims_read(text->data, text->len, out, f);
}

void verb_verify_when(const struct claims *c, char *room, size_t size)
{
	time_t at = (time_t)c->at;
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm))
		strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(room, size, "%zu passed, %zu failed, %zu skipped, %s", claims_number(c, CLAIM_OK),
		claims_number(c, CLAIM_FAILED), claims_number(c, CLAIM_SKIPPED), date);
}

/* Its end for people, or all of it for programs. */
static int verb_verify_end(const struct flags *o, const struct claims *c, const struct buf *text)
{
	char when[128];

	verb_verify_when(c, when, sizeof when);
	if (printf("%s\n", o->json ? buf_text(text) : when) < 0 || fflush(stdout))
		return verb_fail(FAILURE, "cannot write the results");
	return claims_number(c, CLAIM_FAILED) ? CHECK : 0;
}

static int verb_verify_last(const struct flags *o)
{
	struct claims c = { .count = 0 };
	struct fail f = { 0 };
	struct buf text, line;
	int rc, status;

	buf_init(&text, CLAIMS_BYTES);
	buf_init(&line, CLAIMS_BYTES);
	rc = verb_verify_kept(o->data, &text, &c, &f);
	for (size_t i = 0; !rc && !o->json && i < c.count; i++)
		rc = claim_text(&c.list[i], &line);
	if (rc) {
		status = verb_fail(rc == -ENOENT ? NONE : FAILURE, *f.text ? f.text : "out of memory");
	} else {
		while (text.len && text.data[text.len - 1] == '\n')
			buf_cut(&text, text.len - 1);
		fputs(buf_text(&line), stdout);
		status = verb_verify_end(o, &c, &text);
	}
	buf_release(&line);
	buf_release(&text);
	claims_release(&c);
	return status;
}

/* Who has no folder yet keeps nothing; a folder that cannot be written to is said. */
static void verb_verify_keep(const struct flags *o, struct buf *text)
{
	char path[STATEFILE_PATH];
	struct fail f = { 0 };

	if (access(o->data, F_OK) == 0 && statefile_path(path, o->data, KEPT, NULL) == 0 &&
		statefile_bytes(path, text->data, text->len, 0600, &f))
		fprintf(stderr, "nanopod-agentd: the results are not kept: %s\n", f.text);
}

/* ---- The way to the market ---------------------------------------------------------------------- */

static struct claim *verb_verify_speed_claim(struct claim list[], int *count, const char *check, const char *method)
{
	struct claim *c = &list[(*count)++];

	*c = (struct claim){ .at = time(NULL) };
	snprintf(c->check, sizeof c->check, "%s", check);
	snprintf(c->method, sizeof c->method, "%s", method);
	return c;
}

static void verb_verify_put(struct claim list[], int *count, const char *check, const struct uplink_series *s,
	const char *unit, const char *method, const char *text)
{
	struct claim *c;

	if (!s->runs)
		return;
	c = verb_verify_speed_claim(list, count, check, method);
	c->measured = true;
	c->value = s->median;
	c->least = s->least;
	c->most = s->most;
	c->runs = s->runs;
	snprintf(c->unit, sizeof c->unit, "%s", unit);
	snprintf(c->text, sizeof c->text, "%s", text);
}

static int verb_verify_speed_list(int rc, const struct uplink_speed *s, const char *why, struct claim list[])
{
	static const char requests[] = "empty requests on one connection",
			  bytes[] = "up to 1 MB a request, less the round trip";
	struct claim *c;
	int n = 0;

	verb_verify_put(list, &n, "market latency", &s->latency, "us", requests, "a request and its answer");
	verb_verify_put(list, &n, "market jitter", &s->jitter, "us", requests, "between one request and the next");
	if (s->sent) {
		struct uplink_series lost = { s->lost * 100 / s->sent, s->lost * 100 / s->sent, s->lost * 100 / s->sent,
			s->sent };

		verb_verify_put(list, &n, "market loss", &lost, "%", requests, "requests without an answer");
	}
	verb_verify_put(list, &n, "market down", &s->down, "kbit/s", bytes, "from the market to this machine");
	verb_verify_put(list, &n, "market up", &s->up, "kbit/s", bytes, "from this machine to the market");
	if (rc) {
		c = verb_verify_speed_claim(list, &n, "market speed", "");
		c->is = rc == -ENOTSUP || rc == -EBUSY || rc == REASON_RATE ? CLAIM_SKIPPED : CLAIM_FAILED;
		snprintf(c->text, sizeof c->text, "%.*s", (int)sizeof c->text - 1,
			rc == -ENOTSUP ? "this market offers no speed test; an update of nanopod-marketd does" : why);
		if (c->is == CLAIM_FAILED)
			snprintf(c->mend, sizeof c->mend,
				"check the line to the market; 'nanopod host verify' tries again");
	}
	return n;
}

/* A new session would end that of the agent that runs here, so only one of both measures. */
static int verb_verify_speed(const struct flags *o, struct identity *i, FILE *show, struct claims *c)
{
	struct claim list[8] = { 0 };
	struct uplink_speed s = { .sent = 0 };
	char token[VERB_HTTP_TOKEN] = "";
	struct fail f = { 0 };
	struct buf line;
	int lock = -1, rc = datadir_lock(o->data, &lock, &f), n;

	rc = rc ? rc : verb_http_session(o->data, i, token, &f);
	rc = rc ? rc : uplink_speed(i, token, &s, &f);
	explicit_bzero(token, sizeof token);
	if (lock >= 0)
		close(lock);
	n = verb_verify_speed_list(rc, &s, f.text, list);
	buf_init(&line, 8192);
	rc = 0;
	for (int k = 0; !rc && k < n; k++) {
		rc = claims_add(c, &list[k]);
		rc = rc ? rc : claim_text(&list[k], &line);
	}
	if (!rc && show && (fputs(buf_text(&line), show) < 0 || fflush(show)))
		rc = -EIO;
	buf_release(&line);
	return rc;
}

static int verb_verify_run(const struct flags *o, struct identity *i, const struct verify_setup *setup)
{
	struct claims c = { .count = 0 };
	struct fail f = { 0 };
	struct buf text;
	int rc = verify_run(setup, o->json ? NULL : stdout, &c), status;

	buf_init(&text, 2 * CLAIMS_BYTES);
	if (!rc && i)
		rc = verb_verify_speed(o, i, o->json ? NULL : stdout, &c);
	if (rc)
		fail_errno(&f, rc, -rc, "cannot write the results");
	if (!rc && i)
		rc = identity_sign_claims(i, &c, &f);
	rc = rc ? rc : claims_write(&c, &text);
	if (!rc)
		verb_verify_keep(o, &text);
	status = rc ? verb_fail(FAILURE, *f.text ? f.text : "out of memory") : verb_verify_end(o, &c, &text);
	buf_release(&text);
	claims_release(&c);
	return status;
}

static int verb_verify_bom(const struct flags *o)
{
	int turn, status = verb_turn(o, &turn);

	status = status ? status : bom_verb(o->bom, o->sysfs_root, o->json, stdout, stderr);
	if (turn >= 0)
		close(turn);
	return status;
}

int verb_verify(const struct flags *o, drivers all)
{
	struct identity i = { 0 };
	struct fail f = { 0 };
	struct datadir_setup place;
	struct verify_setup setup = { .root = o->sysfs_root,
		.data = o->data,
		.nonce = o->nonce,
		.address = o->address,
		.listen = o->listen,
		.first_port = (unsigned)o->first_port,
		.ports = 1,
		.drivers = all,
		.gpus = host_gpus_promised(o->data),
		.opencl = o->sysfs_root ? "" : NULL,
		.driver_setup = &place.setup };
	bool joined;
	int status;

	if (o->bom)
		return verb_verify_bom(o);
	if (o->last)
		return verb_verify_last(o);
	if (o->nonce && claims_nonce(o->nonce, &f))
		return verb_fail(USAGE, f.text);
	joined = identity_load(o->data, &i, NULL) == 0;
	setup.market = joined ? i.url : NULL;
	datadir_setup(&place, o, NULL);
	if (joined && verb_http_time(&i, &setup.market_now, NULL) == 0) {
		setup.clock_known = true;
		setup.local_now = time(NULL);
	}
	status = verb_verify_run(o, joined ? &i : NULL, &setup);
	identity_release(&i);
	return status;
}
