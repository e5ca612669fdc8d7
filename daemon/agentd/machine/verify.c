/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/verify.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "agentd/machine/gpuchild.h"
#include "agentd/machine/verify_part.h"
#include "base/buf.h"
#include "market/challenge.h"

enum { DEADLINE = 60 * 1000, RESULTS = 128, STATUS_FAILURE = 1, STATUS_CHECK = 11 };

static const struct {
	const char *name;
	verify_fn run;
	const char *silent;          /* what to do if it gives no answer */
	int deadlines;               /* how many it may take: it has children with one each */
} checks[] = {
	{ "disk", verify_disk, "look for disk errors in 'dmesg'", 1 },
	{ "network", verify_network, "check the network: 'ip route', 'ping'", 1 },
	{ "clock", verify_clock, "", 1 },
	{ "ssh", verify_ssh, "check the network: 'ip route', 'ping'", 1 },
	{ "drivers", verify_drivers, "nanopod host drivers", 1 },
	{ "gpu", verify_gpus, "nvidia-smi; if it hangs too, restart the machine", 1 },
	{ "opencl", verify_opencl, "clinfo; if it hangs too, restart the machine", 20 },
};

/* ---- One check, in a child ------------------------------------------------------------------------- */

struct job {
	const struct verify_setup *setup;
	verify_fn run;
};

static int verify_work(void *arg, int fd)
{
	const struct job *j = arg;
	struct verify_result list[VERIFY_EACH];
	int count = 0;

	memset(list, 0, sizeof list);
	j->run(j->setup, list, &count);
	return gpuchild_write(fd, list, (size_t)count * sizeof *list);
}

static int verify_run_one(const struct verify_setup *s, size_t i, struct verify_result list[VERIFY_EACH])
{
	struct job j = { s, checks[i].run };
	struct fail why = { 0 };
	struct buf told;
	int count = 0;

	buf_init(&told, VERIFY_EACH * sizeof *list + 1);
	if (gpuchild_run(verify_work, &j, s->deadline_ms * checks[i].deadlines, &told, &why) ||
		told.len % sizeof *list) {
		struct verify_result *r = verify_begin(list, &count, checks[i].name);

		verify_fail(r, checks[i].silent, "%s", *why.text ? why.text : "its answer is invalid");
	} else if (told.len) {
		memcpy(list, told.data, told.len);
		count = (int)(told.len / sizeof *list);
	}
	buf_release(&told);
	return count;
}

/* ---- Telling ---------------------------------------------------------------------------------------- */

static void verify_show(FILE *out, const struct verify_result *r)
{
	static const char *const words[] = { "ok", "FAILED", "skipped" };

	fprintf(out, "%-8s %-16s ", words[r->is], r->check);
	if (r->measured)
		fprintf(out, "%" PRId64 " %s (%" PRId64 " to %" PRId64 " in %d runs)%s", r->value, r->unit, r->least,
			r->most, r->runs, *r->text ? "; " : "");
	fprintf(out, "%s\n", r->text);
	if (*r->mend)
		fprintf(out, "%-8s %-16s to fix it: %s\n", "", "", r->mend);
	fflush(out);
}

static void verify_date_text(char room[32])
{
	time_t now = time(NULL);
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(room, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
		room[0] = '\0';
}

static void verify_put_text(json_t *o, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(o, key, json_string(text));
}

static json_t *verify_result_json(const struct verify_result *r)
{
	static const char *const words[] = { "ok", "failed", "skipped" };
	json_t *o = json_object();

	json_object_set_new(o, "check", json_string(r->check));
	json_object_set_new(o, "result", json_string(words[r->is]));
	if (r->measured) {
		json_object_set_new(o, "median", json_integer(r->value));
		json_object_set_new(o, "least", json_integer(r->least));
		json_object_set_new(o, "most", json_integer(r->most));
		json_object_set_new(o, "runs", json_integer(r->runs));
		json_object_set_new(o, "unit", json_string(r->unit));
	}
	json_object_set_new(o, "at", json_integer(r->at));
	verify_put_text(o, "device", r->device);
	verify_put_text(o, "method", r->method);
	verify_put_text(o, "answer", r->answer);
	verify_put_text(o, "text", r->text);
	verify_put_text(o, "mend", r->mend);
	return o;
}

static int verify_show_json(FILE *out, json_t *list, int failed)
{
	json_t *root = json_object();
	char date[32], *text;

	verify_date_text(date);
	json_object_set_new(root, "object", json_string("verification"));
	json_object_set_new(root, "at", json_string(date));
	json_object_set_new(root, "passed", json_boolean(!failed));
	json_object_set(root, "checks", list);
	text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	if (!text)
		return -1;
	fprintf(out, "%s\n", text);
	free(text);
	return fflush(out);
}

/* Nobody else gave a nonce, so nobody can know this one either. */
static int verify_make_nonce(char room[CHALLENGE_NONCE + 1])
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return -1;
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(room + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int verify_verb(const struct verify_setup *given, bool json, FILE *out, FILE *err)
{
	struct verify_setup setup = *given, *s = &setup;
	char nonce[CHALLENGE_NONCE + 1];
	struct verify_result list[VERIFY_EACH];
	json_t *all = json_array();
	int failed = 0, skipped = 0, passed = 0, bad = 0;
	char date[32];

	setup.deadline_ms = given->deadline_ms > 0 ? given->deadline_ms : DEADLINE;
	if (!setup.nonce && verify_make_nonce(nonce)) {
		json_decref(all);
		fprintf(err, "nanopod-agentd: no random numbers available\n");
		return STATUS_FAILURE;
	}
	if (!setup.nonce)
		setup.nonce = nonce;
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		int count = verify_run_one(s, i, list);

		for (int k = 0; k < count; k++) {
			failed += list[k].is == VERIFY_FAILED;
			skipped += list[k].is == VERIFY_SKIPPED;
			passed += list[k].is == VERIFY_OK;
			if (json)
				json_array_append_new(all, verify_result_json(&list[k]));
			else
				verify_show(out, &list[k]);
		}
	}
	verify_date_text(date);
	if (json)
		bad = verify_show_json(out, all, failed);
	else
		bad = fprintf(out, "%d passed, %d failed, %d skipped, %s\n", passed, failed, skipped, date) < 0 ||
			fflush(out);
	json_decref(all);
	if (bad || ferror(out)) {
		fprintf(err, "nanopod-agentd: cannot write the results\n");
		return STATUS_FAILURE;
	}
	return failed ? STATUS_CHECK : 0;
}
