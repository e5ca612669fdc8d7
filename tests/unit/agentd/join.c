/* SPDX-License-Identifier: Apache-2.0 */
/* What `join` says of hosts, where the market's answers are not what they should be: they may steer no terminal. */
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "agentd/market/verb_http.h"
#include "agentd/verbs/verbs.h"

static const char *host; /* what the market says of one */

int __wrap_verb_http(const struct identity *i, const char *token, const char *method, const char *path, json_t *body,
	json_t **out, int *http, struct fail *f);
int __wrap_verb_http_session(const char *data, struct identity *i, char token[VERB_HTTP_TOKEN], struct fail *f);

int __wrap_verb_http(const struct identity *i, const char *token, const char *method, const char *path, json_t *body,
	json_t **out, int *http, struct fail *f)
{
	(void)i;
	(void)token;
	(void)method;
	(void)http;
	(void)f;
	json_decref(body);
	*out = strcmp(path, "/np/v1/agents/join") == 0
		? json_pack("{s:s, s:s}", "id", "agt_00000001", "account", "acct_00000001")
		: json_loads(host, 0, NULL);
	return 0;
}

int __wrap_verb_http_session(const char *data, struct identity *i, char token[VERB_HTTP_TOKEN], struct fail *f)
{
	(void)data;
	(void)i;
	(void)f;
	snprintf(token, VERB_HTTP_TOKEN, "session");
	return 0;
}

/* Its exit status; what it printed is in said. */
static int join(struct flags *o, char *said, size_t size)
{
	static const struct driver *const none[] = { NULL };
	FILE *to = tmpfile();
	int keep = dup(STDOUT_FILENO), status;
	size_t n;

	fflush(stdout);
	if (!to || keep < 0 || dup2(fileno(to), STDOUT_FILENO) < 0)
		exit(99);
	status = verb_join(o, none);
	fflush(stdout);
	dup2(keep, STDOUT_FILENO);
	close(keep);
	rewind(to);
	n = fread(said, 1, size - 1, to);
	said[n] = '\0';
	fclose(to);
	return status;
}

static int join_remove(const char *path, const struct stat *s, int type, struct FTW *at)
{
	(void)s;
	(void)type;
	(void)at;
	return remove(path);
}

int main(void)
{
	char url[] = "http://127.0.0.1:1";
	struct flags o = { .verb = "join",
		.words = { url },
		.word_count = 1,
		.driver = "auto",
		.name = "m1",
		.type = "cpu",
		.nodes = 1 };
	char said[4096];

	plan_none;
	snprintf(o.data, sizeof o.data, "%s/nanopod-join.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(o.data))
		return 99;
	setenv("NANOPOD_JOIN_TOKEN", "token", 1);
	host = "{\"id\": \"host_00000001\", \"name\": \"m1\\u001b]0;mine\\u0007\"}";
	is_int(join(&o, said, sizeof said), 0, "a machine joins");
	has_str(said, "host m1 (host_00000001)\n", "its host has the name that was asked for");
	ok(!strpbrk(said, "\033\007"), "and nothing of the market's steers the terminal");
	host = "{\"id\": \"host_\\u001b[2J\", \"name\": \"m1\"}";
	is_int(join(&o, said, sizeof said), 1, "an id that is none is no host");
	ok(!strstr(said, "host m1") && !strchr(said, '\033'), "and is not printed");
	host = "{}";
	is_int(join(&o, said, sizeof said), 1, "nor is an answer without one");
	ok(!strstr(said, "host ") && !strstr(said, "null"), "and nothing is said of it");
	is_int(nftw(o.data, join_remove, 8, FTW_DEPTH | FTW_PHYS), 0, "(the folder is gone)");
	return done();
}
