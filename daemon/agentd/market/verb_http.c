/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/verb_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agentd/os/statefile.h"
#include "market/client.h"

enum { TRIES = 4 };

static int verb_http_connect_to(const struct identity *i, const char *token, struct client **out, struct fail *f)
{
	struct client_setup setup = { .url = i->url, .token = token, .plain = i->plain, .tries = 1 };

	setup.pin = *i->pin ? i->pin : NULL;
	return client_new(&setup, out, f);
}

/* Every request of a verb is safe to repeat: the market recognises what it did. */
int verb_http(const struct identity *i, const char *token, const char *method, const char *path, json_t *body,
	json_t **out, int *status, struct fail *f)
{
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct client_call call = { .method = method, .path = path, .body = text, .once = true };
	struct timespec pause = { .tv_sec = 1 };
	struct client *c = NULL;
	struct client_answer a;
	int rc = verb_http_connect_to(i, token, &c, f);

	json_decref(body);
	client_answer_init(&a);
	for (int n = 0; !rc; n++) {
		rc = client_send(c, &call, &a, f);
		if (!rc || n + 1 == TRIES ||
			(rc != CLIENT_UNREACHABLE && rc != CLIENT_LOST && rc != REASON_UNAVAILABLE))
			break;
		nanosleep(&pause, NULL);
		rc = 0;
	}
	if (status)
		*status = a.status;
	if (out)
		*out = rc ? NULL : json_loadb(buf_text(&a.body), a.body.len, 0, NULL);
	client_answer_release(&a);
	client_free(c);
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
	if (!rc && at <= 0)
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
