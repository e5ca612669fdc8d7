/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/verify.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agentd/machine/gpuchild.h"
#include "agentd/machine/verify_part.h"
#include "base/buf.h"

enum { DEADLINE = 60 * 1000, RESULTS = 128, STATUS_FAILURE = 1, STATUS_CHECK = 11 };

static const struct {
	const char *name;
	verify_fn run;
	const char *silent;          /* what to do if it gives no answer */
} checks[] = {
	{ "disk", verify_disk, "look for disk errors in 'dmesg'" },
	{ "network", verify_network, "check the network: 'ip route', 'ping'" },
	{ "clock", verify_clock, "" },
	{ "ssh", verify_ssh, "check the network: 'ip route', 'ping'" },
	{ "drivers", verify_drivers, "nanopod host drivers" },
	{ "gpu", verify_gpus, "nvidia-smi; if it hangs too, restart the machine" },
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
	if (gpuchild_run(verify_work, &j, s->deadline_ms > 0 ? s->deadline_ms : DEADLINE, &told, &why) ||
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

	fprintf(out, "%-8s %-12s ", words[r->is], r->check);
	if (r->measured)
		fprintf(out, "%" PRId64 " %s (%" PRId64 " to %" PRId64 " in 3 runs)%s", r->value, r->unit, r->least,
			r->most, *r->text ? "; " : "");
	fprintf(out, "%s\n", r->text);
	if (*r->mend)
		fprintf(out, "%-8s %-12s to fix it: %s\n", "", "", r->mend);
	fflush(out);
}

static void verify_date_text(char room[32])
{
	time_t now = time(NULL);
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(room, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
		room[0] = '\0';
}

static json_t *verify_result_json(const struct verify_result *r)
{
	static const char *const words[] = { "ok", "failed", "skipped" };
	json_t *o = json_object();

	json_object_set_new(o, "check", json_string(r->check));
	json_object_set_new(o, "result", json_string(words[r->is]));
	if (r->measured) {
		json_object_set_new(o, "value", json_integer(r->value));
		json_object_set_new(o, "least", json_integer(r->least));
		json_object_set_new(o, "most", json_integer(r->most));
		json_object_set_new(o, "runs", json_integer(3));
		json_object_set_new(o, "unit", json_string(r->unit));
	}
	if (*r->text)
		json_object_set_new(o, "text", json_string(r->text));
	if (*r->mend)
		json_object_set_new(o, "mend", json_string(r->mend));
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

int verify_verb(const struct verify_setup *s, bool json, FILE *out, FILE *err)
{
	struct verify_result list[VERIFY_EACH];
	json_t *all = json_array();
	int failed = 0, skipped = 0, passed = 0, bad = 0;
	char date[32];

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
