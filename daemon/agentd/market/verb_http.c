/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/verb_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agentd/market/http_child.h"
#include "agentd/market/work.h"
#include "agentd/os/statefile.h"
#include "market/client.h"

enum { TRIES = 4, WHOLE_MS = 60000 };

/* Every request of a verb is safe to repeat: the market recognises what it did. */
int verb_http(const struct identity *i, const char *token, const char *method, const char *path, json_t *body,
	json_t **out, int *status, struct fail *f)
{
	struct http_child_setup setup = { .url = i->url, .pin = i->pin, .plain = i->plain };
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct timespec pause = { .tv_sec = 1 };
	struct http_reply r = { .rc = 0 };
	struct http_child *c = NULL;
	int rc = body && !text ? fail_set(f, -ENOMEM, "out of memory") : http_child_new(&setup, &c, f);

	json_decref(body);
	for (int n = 0; !rc && n < TRIES; n++) {
		if (n)
			nanosleep(&pause, NULL);
		buf_release(&r.body);
		http_child_ask(c, token, method, path, text ? strdup(text) : NULL, WHOLE_MS);
		http_child_wait(c, &r);
		if (r.rc != CLIENT_UNREACHABLE && r.rc != CLIENT_LOST && r.rc != REASON_UNAVAILABLE)
			break;
	}
	if (!rc && r.rc)
		rc = fail_set(f, r.rc, "%s", r.fail.text);
	if (status)
		*status = r.status;
	if (out)
		*out = rc ? NULL : json_loadb(buf_text(&r.body), r.body.len, 0, NULL);
	buf_release(&r.body);
	http_child_free(c);
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	return rc;
}

int verb_http_time(const struct identity *i, int64_t *now, struct fail *f)
{
	json_t *j = NULL;
	int rc = verb_http(i, NULL, "GET", "/np/v1", NULL, &j, NULL, f);
	int64_t at = statefile_int(j, "now", 0);

	json_decref(j);
	if (!rc && (at <= 0 || !work_is_time(at)))
		rc = fail_set(f, CLIENT_BAD_ANSWER, "the server at '%s' is not a market that supports agents", i->url);
	if (!rc)
		*now = at;
	return rc;
}

int verb_http_session(const char *data, struct identity *i, char token[VERB_HTTP_TOKEN], struct fail *f)
{
	char path[128];
	json_t *body = NULL, *j = NULL;
	int64_t now = 0;
	int rc = verb_http_time(i, &now, f);

	rc = rc ? rc : identity_session(data, i, now, &body, f);
	if (rc)
		return rc;
	snprintf(path, sizeof path, "/np/v1/agents/%s/session", i->agent);
	rc = verb_http(i, NULL, "POST", path, body, &j, NULL, f);
	statefile_text(j, "token", token, VERB_HTTP_TOKEN);
	json_decref(j);
	return rc || *token ? rc : fail_set(f, CLIENT_BAD_ANSWER, "the market gave a session without a token");
}

int verb_http_exit(int rc)
{
	if (rc == 0)
		return 0;
	if (rc == -EBUSY)
		return 5;
	return rc < REASON_BASE + 1000 && rc > -5000 && rc <= -1000 ? client_status(rc) : 1;
}
