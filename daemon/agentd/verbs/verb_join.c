/* SPDX-License-Identifier: Apache-2.0 */
/* Joins and leaves a market. A join whose answer was lost is repeated with the same key: the market recognises it. */
#include "agentd/verbs/verbs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/market/verb_http.h"
#include "agentd/machine/inventory.h"
#include "agentd/os/gpu_turn.h"
#include "agentd/os/statefile.h"
#include "agentd/datadir.h"
#include "agentd/device/gpu_slices.h"
#include "agentd/market/work.h"
#include "market/client.h"

enum { TOKEN_MAX = 512, TURN_MS = 30000, STATUS_BUSY = 5 };

int verb_fail(int status, const char *text)
{
	fprintf(stderr, "nanopod-agentd: %s\n", text);
	return status;
}

int verb_turn(const struct flags *o, int *turn)
{
	struct fail f = { 0 };

	return gpu_turn_look(o->data, TURN_MS, turn, &f) ? verb_fail(STATUS_BUSY, f.text) : 0;
}

static int join_fail_exit(int rc, const struct fail *f)
{
	return verb_fail(verb_http_exit(rc), f->text);
}

/* Reads it from the environment, and removes it there, or one line of standard input. */
static int verb_join_read_token(char room[TOKEN_MAX], struct fail *f)
{
	const char *given = getenv("NANOPOD_JOIN_TOKEN");

	room[0] = '\0';
	if (given && *given) {
		snprintf(room, TOKEN_MAX, "%s", given);
		unsetenv("NANOPOD_JOIN_TOKEN");
	} else {
		if (isatty(STDIN_FILENO))
			fputs("join token: ", stderr);
		if (!fgets(room, TOKEN_MAX, stdin))
			room[0] = '\0';
	}
	room[strcspn(room, "\r\n")] = '\0';
	if (!*room)
		return fail_set(f, CLIENT_BAD_SETUP,
			"no join token: pass one on standard input or in NANOPOD_JOIN_TOKEN; the account's owner "
			"makes it with 'nanopod token create --scope join'");
	return client_check_token_text(room, f);
}

/* The market asks which driver makes nodes here before it takes a host that needs a device. */
static json_t *join_inventory_now(const struct flags *o, drivers all)
{
	struct inventory_setup setup = { .root = o->sysfs_root, .data = o->data };
	const struct driver *d = drivers_find(all, o->driver);
	struct driver_terms terms;
	struct datadir_setup place;
	struct inventory *v = NULL;
	json_t *j = NULL;
	struct buf text;
	int turn;

	datadir_setup(&place, o, NULL);
	if (d || drivers_choose(all, o->driver, &place.setup, &d, NULL) == 0) {
		drivers_terms(d, &place.setup, &terms);
		drivers_tell(d, &terms, &setup);
	}
	buf_init(&text, INVENTORY_JSON_MAX);
	if (verb_turn(o, &turn) == 0 && inventory_read(&setup, &v) == 0 && gpu_slices_keep(o->data, v, NULL) == 0 &&
		inventory_json(v, &text) == 0)
		j = json_loadb(buf_text(&text), text.len, 0, NULL);
	if (turn >= 0)
		close(turn);
	free(v);
	buf_release(&text);
	return j;
}

/* With the old identity gone, nobody would own its nodes. */
static bool join_has_nodes(const char *data)
{
	char path[STATEFILE_PATH];
	struct dirent *e;
	bool any = false;
	DIR *d = statefile_path(path, data, "nodes", NULL) == 0 ? opendir(path) : NULL;

	while (d && !any && (e = readdir(d)))
		any = work_is_id(e->d_name, "inst_");
	if (d)
		closedir(d);
	return any;
}

static int ask_to_join(const struct flags *o, drivers all, struct identity *i, const char *token, struct fail *f)
{
	json_t *inventory = join_inventory_now(o, all), *j = NULL, *body;
	struct buf key;
	int rc;

	buf_init(&key, 128);
	rc = identity_public(i, &key, f);
	body = rc ? NULL
		  : json_pack("{s:s, s:s, s:s}", "name", i->name, "public_key", buf_text(&key), "machine", i->machine);
	if (body && inventory)
		json_object_set(body, "inventory", inventory);
	json_decref(inventory);
	buf_release(&key);
	if (!rc && !body)
		rc = fail_set(f, CLIENT_BAD_SETUP, "the name of this machine is not valid UTF-8; set one with --name");
	rc = rc ? rc : verb_http(i, token, "POST", "/np/v1/agents/join", body, &j, NULL, f);
	statefile_text(j, "id", i->agent, sizeof i->agent);
	statefile_text(j, "account", i->account, sizeof i->account);
	json_decref(j);
	if (!rc && !work_is_id(i->agent, "agt_"))
		rc = fail_set(f, CLIENT_BAD_ANSWER, "the server at '%.200s' is not a market that supports agents",
			i->url);
	return rc;
}

/* Makes a new identity, which is on disk when this returns 0. */
static int join_anew(const struct flags *o, drivers all, struct identity *i, struct fail *f)
{
	char token[TOKEN_MAX];
	int rc;

	memset(i, 0, sizeof *i);
	i->plain = o->plain;
	rc = identity_take_url(i, o->words[0], f);
	rc = rc ? rc : verb_join_read_token(token, f);
	if (rc)
		return rc;
	if (o->name)
		snprintf(i->name, sizeof i->name, "%s", o->name);
	else if (gethostname(i->name, sizeof i->name - 1) != 0)
		snprintf(i->name, sizeof i->name, "machine");
	rc = identity_find_machine(o->data, i->machine, f);
	rc = rc ? rc : identity_make_key(o->data, i, f);
	rc = rc ? rc : ask_to_join(o, all, i, token, f);
	rc = rc ? rc : identity_save(o->data, i, f);
	explicit_bzero(token, sizeof token);
	return rc;
}

/* ---- Hosts -------------------------------------------------------------------------------- */

static int verb_join_add_host(const struct identity *i, const char *token, const char *name, const char *type,
	json_t *made, struct fail *f)
{
	json_t *j = NULL;
	int rc = verb_http(i, token, "POST", "/np/v1/agent/hosts",
		json_pack("{s:s, s:s}", "name", name, "instance_sku", type), &j, NULL, f);
	const char *id = json_string_value(json_object_get(j, "id"));

	if (!rc && !(id && work_is_id(id, "host_")))
		rc = fail_set(f, CLIENT_BAD_ANSWER, "the market's answer for the host '%s' has no valid id", name);
	/* It is printed: as we asked for it, not as the market writes it. */
	if (!rc && json_object_set_new(j, "name", json_string(name)) == 0)
		json_array_append(made, j);
	json_decref(j);
	return rc;
}

/* --host NAME=TYPE …, or --nodes N of --type, named after the machine. */
static int verb_join_add_hosts(const struct flags *o, const struct identity *i, const char *token, json_t *made,
	struct fail *f)
{
	char name[IDENTITY_NAME + 16];
	int rc = 0;

	for (int n = 0; n < o->host_count && !rc; n++) {
		const char *sign = strchr(o->hosts[n], '=');

		snprintf(name, sizeof name, "%.*s", (int)(sign - o->hosts[n]), o->hosts[n]);
		rc = verb_join_add_host(i, token, name, sign + 1, made, f);
	}
	for (long n = 1; o->type && n <= o->nodes && !rc; n++) {
		snprintf(name, sizeof name, o->nodes > 1 ? "%s-%ld" : "%s", o->name ? o->name : i->name, n);
		rc = verb_join_add_host(i, token, name, o->type, made, f);
	}
	return rc;
}

static void verb_join_tell(const struct flags *o, const struct identity *i, bool was, const json_t *made)
{
	json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:b, s:O}", "agent", i->agent, "name", i->name, "account",
		i->account, "url", i->url, "joined_before", was, "hosts", made);
	char *text = o->json ? json_dumps(j, JSON_INDENT(2)) : NULL;
	const json_t *h;
	size_t n;

	if (text)
		printf("%s\n", text);
	free(text);
	json_decref(j);
	if (o->json)
		return;
	printf("%s %s as %s (%s)\n", was ? "already joined" : "joined", i->url, i->name, i->agent);
	json_array_foreach(made, n, h) printf("host %s (%s)\n", json_string_value(json_object_get(h, "name")),
		json_string_value(json_object_get(h, "id")));
}

static int verb_join_add_all(const struct flags *o, struct identity *i, bool was)
{
	char token[VERB_HTTP_TOKEN] = "";
	json_t *made = json_array();
	struct fail f = { 0 };
	int rc = 0;

	if (o->host_count || o->type)
		rc = verb_http_session(o->data, i, token, &f);
	if (*token)
		rc = rc ? rc : verb_join_add_hosts(o, i, token, made, &f);
	explicit_bzero(token, sizeof token);
	verb_join_tell(o, i, was, made);
	json_decref(made);
	if (rc)
		fputs("nanopod-agentd: joined, but the market does not have all hosts yet: repeat the command\n",
			stderr);
	return rc ? join_fail_exit(rc, &f) : fflush(stdout) != 0;
}

int verb_join(const struct flags *o, drivers all)
{
	struct identity i = { 0 }, wanted = { 0 };
	struct fail f = { 0 };
	int lock = -1, rc, status;
	bool was;

	if (o->word_count != 1)
		return verb_fail(2, "URL is required, e.g. nanopod-agentd join https://market.example");
	rc = datadir_open(o->data, true, &f);
	rc = rc ? rc : datadir_lock(o->data, &lock, &f);
	if (rc)
		return join_fail_exit(rc, &f);
	rc = identity_load(o->data, &i, &f);
	was = rc == 0 && !i.fenced;
	wanted.plain = o->plain;
	if (was && (identity_take_url(&wanted, o->words[0], &f) != 0 || strcmp(wanted.url, i.url) != 0)) {
		snprintf(f.text, sizeof f.text,
			"this machine has joined '%.300s' as %s; run 'nanopod-agentd leave' first", i.url, i.agent);
		rc = -EBUSY;
	} else if (!was && rc != -ENOENT && rc != 0) {
		; /* the identity is damaged: do not overwrite it */
	} else if (!was) {
		bool fenced = i.fenced;

		identity_release(&i);
		rc = fenced && join_has_nodes(o->data) ? fail_set(&f, -EBUSY,
								 "nodes of the old identity are still here: "
								 "run 'nanopod-agentd halt --destroy' first")
						       : 0;
		if (!rc && fenced)
			identity_forget(o->data);
		rc = rc ? rc : join_anew(o, all, &i, &f);
	}
	status = rc ? join_fail_exit(rc, &f) : verb_join_add_all(o, &i, was);
	identity_release(&i);
	close(lock);
	return status;
}

/* ---- Leaving ------------------------------------------------------------------------------ */

int verb_leave(const struct flags *o)
{
	char token[VERB_HTTP_TOKEN] = "";
	struct identity i = { 0 };
	struct fail f = { 0 };
	int lock = -1, http = 0, rc;

	rc = datadir_open(o->data, false, &f);
	rc = rc ? rc : datadir_lock(o->data, &lock, &f);
	rc = rc ? rc : identity_load(o->data, &i, &f);
	if (rc)
		return rc == -ENOENT ? verb_fail(3, f.text) : join_fail_exit(rc, &f);
	if (join_has_nodes(o->data)) {
		rc = fail_set(&f, -EBUSY,
			"nodes are still here; run the agent until their leases have ended ('nanopod-agentd status' "
			"lists them)");
	} else if (!i.fenced) {
		rc = verb_http_session(o->data, &i, token, &f);
		rc = rc ? rc : verb_http(&i, token, "DELETE", "/np/v1/agent", NULL, NULL, &http, &f);
		explicit_bzero(token, sizeof token);
		if (rc == REASON_UNAUTHENTICATED) /* the market has already removed it */
			rc = 0;
	}
	if (!rc) {
		identity_forget(o->data);
		if (o->json)
			printf("{\"agent\": \"%s\", \"left\": true}\n", i.agent);
		else
			printf("%s has left %s\n", i.agent, i.url);
	}
	identity_release(&i);
	close(lock);
	return rc ? join_fail_exit(rc, &f) : fflush(stdout) != 0;
}
