/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/work.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/market/resources.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/table.h"

bool work_is_id(const char *text, const char *prefix)
{
	size_t len = strlen(text);

	if (!str_starts(text, prefix) || len <= strlen(prefix) || len >= WORK_ID)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_' && *text != '-')
			return false;
	return true;
}

bool work_is_time(int64_t at)
{
	return at >= 0 && at < INT64_C(1) << 40;
}

void work_host_name(const char *name, const char *id, char room[WORK_NAME])
{
	size_t n = 0;

	for (; *name && n + 1 < WORK_NAME; name++) {
		char c = (char)tolower((unsigned char)*name);

		if (isalnum((unsigned char)c) && (unsigned char)c < 0x80)
			room[n++] = c;
		else if (n && room[n - 1] != '-')
			room[n++] = '-';
	}
	while (n && room[n - 1] == '-')
		n--;
	room[n] = '\0';
	if (!n && id)
		work_host_name(id, NULL, room);
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int work_wrong(struct fail *f, const char *what)
{
	return fail_set(f, -EPROTO, "the market's work document is invalid: '%s'", what);
}

/* A text of printable characters that fits. */
static bool work_text_into(const json_t *j, const char *name, char *room, size_t size)
{
	const char *text = json_string_value(json_object_get(j, name));

	if (!text || strlen(text) >= size || strlen(text) != json_string_length(json_object_get(j, name)))
		return false;
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	memcpy(room, text, strlen(text) + 1);
	return true;
}

static bool work_id_into(const json_t *j, const char *name, const char *prefix, char room[WORK_ID])
{
	return work_text_into(j, name, room, WORK_ID) && work_is_id(room, prefix);
}

static bool work_time_into(const json_t *j, const char *name, int64_t *out)
{
	const json_t *v = json_object_get(j, name);

	if (!json_is_integer(v) || !work_is_time(json_integer_value(v)))
		return false;
	*out = json_integer_value(v);
	return true;
}

static bool work_missing(const json_t *j, const char *name)
{
	const json_t *v = json_object_get(j, name);

	return !v || json_is_null(v);
}

/* An image's name becomes part of a path. */
static bool work_image_is_good(const char *image)
{
	for (const char *p = image; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_-.:+", *p))
			return false;
	return *image != '.';
}

/* What the market itself wrote counts before what it passes on from the buyer. */
static void work_node_wrong(struct work_node *n, const char *member, bool buyers)
{
	if (*n->wrong && (buyers || !n->buyers))
		return;
	snprintf(n->wrong, sizeof n->wrong, "%s", member);
	n->buyers = buyers;
}

static int work_read_user_data(const json_t *j, struct work_node *out, struct fail *f)
{
	const json_t *v = json_object_get(j, "user_data");
	struct buf bytes;
	int rc;

	if (work_missing(j, "user_data"))
		return 0;
	buf_init(&bytes, WORK_USER_DATA + 64);
	rc = json_is_string(v) ? base64_take(json_string_value(v), json_string_length(v), &bytes) : -EPROTO;
	if (rc == 0) {
		out->user_data_len = bytes.len;
		out->user_data = buf_steal(&bytes);
	}
	buf_release(&bytes);
	if (rc == -ENOMEM || (!rc && !out->user_data && out->user_data_len))
		return fail_set(f, -ENOMEM, "out of memory");
	if (rc)
		work_node_wrong(out, "user_data", true);
	return 0;
}

/* The members besides its id. */
static int work_read_members(const json_t *j, struct work_node *out, struct fail *f)
{
	char name[WORK_TEXT] = "", status[32];

	if (!work_id_into(j, "host", "host_", out->host))
		work_node_wrong(out, "host", false);
	if (!work_id_into(j, "tenant", "acct_", out->tenant))
		work_node_wrong(out, "tenant", false);
	if (!work_missing(j, "image") &&
		(!work_text_into(j, "image", out->image, sizeof out->image) || !work_image_is_good(out->image))) {
		out->image[0] = '\0';
		work_node_wrong(out, "image", true);
	}
	if (!work_text_into(j, "status", status, sizeof status))
		work_node_wrong(out, "status", false);
	else
		out->running = strcmp(status, "running") == 0;
	out->end_at = INT64_MAX;
	if (!work_missing(j, "end_at") && !work_time_into(j, "end_at", &out->end_at))
		work_node_wrong(out, "end_at", false);
	if (!resources_read(json_object_get(j, "resources"), &out->contract))
		work_node_wrong(out, "resources", false);
	/* Without a pool the node would see those of its account's other pools. Only a market of before sends none. */
	if (!work_missing(j, "pool") && !work_text_into(j, "pool", out->pool, sizeof out->pool))
		work_node_wrong(out, "pool", false);
	if (!work_missing(j, "network") && !work_text_into(j, "network", out->network, sizeof out->network))
		work_node_wrong(out, "network", false);
	/* These are only for display. */
	if (!work_text_into(j, "type", out->type, sizeof out->type))
		out->type[0] = '\0';
	if (!work_text_into(j, "name", name, sizeof name))
		name[0] = '\0';
	work_host_name(name, out->id, out->name);
	return work_read_user_data(j, out, f);
}

/* Without its id the agent cannot know which of its nodes an entry is about. */
static int work_read_node(const json_t *j, const struct table *seen, struct work_node *out, struct fail *f)
{
	if (!json_is_object(j) || !work_id_into(j, "id", "inst_", out->id))
		return work_wrong(f, "node id");
	if (table_get(seen, out->id))
		return work_wrong(f, "two nodes with the same id");
	return work_read_members(j, out, f);
}

static int work_read_nodes(const json_t *list, struct work *w, struct fail *f)
{
	struct table seen;
	int rc = 0;

	if (!json_is_array(list) || json_array_size(list) > WORK_NODES)
		return work_wrong(f, "nodes");
	w->nodes = calloc(json_array_size(list) + 1, sizeof *w->nodes);
	if (!w->nodes)
		return fail_set(f, -ENOMEM, "out of memory");
	table_init(&seen);
	for (size_t i = 0; !rc && i < json_array_size(list); i++) {
		struct work_node *n = &w->nodes[w->node_count++];

		rc = work_read_node(json_array_get(list, i), &seen, n, f);
		if (!rc && table_set(&seen, n->id, n) != 0)
			rc = fail_set(f, -ENOMEM, "out of memory");
	}
	table_release(&seen);
	return rc;
}

/* What makes no sense counts as no proof, so that the machine is measured. */
static void work_read_proof(const json_t *j, struct work_host *h)
{
	const char *state = json_string_value(json_object_get(j, "state"));

	h->asks_proof = json_is_object(j);
	h->verified = state && strcmp(state, "verified") == 0;
	h->verify_now = json_is_true(json_object_get(j, "now"));
	if (!work_time_into(j, "at", &h->verified_at) || !work_time_into(j, "until", &h->verified_until) ||
		h->verified_until < h->verified_at) {
		h->verified = false;
		h->verified_at = h->verified_until = 0;
	}
}

static int work_read_hosts(const json_t *list, struct work *w, struct fail *f)
{
	if (!json_is_array(list) || json_array_size(list) > WORK_HOSTS)
		return work_wrong(f, "hosts");
	w->hosts = calloc(json_array_size(list) + 1, sizeof *w->hosts);
	if (!w->hosts)
		return fail_set(f, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *j = json_array_get(list, i);
		struct work_host *h = &w->hosts[w->host_count++];

		if (!json_is_object(j) || !work_id_into(j, "id", "host_", h->id))
			return work_wrong(f, "host id");
		if (!work_text_into(j, "type", h->type, sizeof h->type) ||
			!work_text_into(j, "name", h->name, sizeof h->name))
			h->name[0] = '\0'; /* only for display */
		if (!resources_read(json_object_get(j, "resources"), &h->contract))
			snprintf(h->wrong, sizeof h->wrong, "resources");
		work_read_proof(json_object_get(j, "verification"), h);
	}
	return 0;
}

/* Those that are wrong count as none: nothing depends on them but what to pin, and that stays. */
static void work_read_keys(const json_t *list, struct work *w)
{
	size_t n, at = 0;
	json_t *key;

	json_array_foreach(list, n, key)
	{
		const char *text = json_string_value(key);
		size_t len = text ? strlen(text) : sizeof w->keys;

		if (at + len + 2 > sizeof w->keys) {
			w->keys[0] = '\0';
			return;
		}
		at += (size_t)snprintf(w->keys + at, sizeof w->keys - at, "%s%s", at ? ";" : "", text);
	}
}

/* One that is wrong is passed over: the agent keeps what it has of it. A market of before sends none. */
static int work_read_volumes(const json_t *list, struct work *w, struct fail *f)
{
	size_t count = json_array_size(list) < WORK_VOLUMES ? json_array_size(list) : WORK_VOLUMES;

	w->volumes = calloc(count + 1, sizeof *w->volumes);
	if (!w->volumes)
		return fail_set(f, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		const json_t *j = json_array_get(list, i), *bytes = json_object_get(j, "bytes");
		struct work_volume *v = &w->volumes[w->volume_count];
		char state[16];

		*v = (struct work_volume){ 0 };
		if (!work_id_into(j, "id", "vol_", v->id) || !work_id_into(j, "tenant", "acct_", v->tenant) ||
			!work_text_into(j, "name", v->name, sizeof v->name) || !work_is_id(v->name, "") ||
			!work_text_into(j, "state", state, sizeof state) || !json_is_integer(bytes) ||
			json_integer_value(bytes) < 1 || json_integer_value(bytes) > INT64_C(1) << 51)
			continue;
		v->bytes = json_integer_value(bytes);
		v->mounted = strcmp(state, "mounted") == 0;
		v->deleted = strcmp(state, "deleted") == 0;
		w->volume_count++;
	}
	return 0;
}

static int work_read_whole(const json_t *j, struct work *w, struct fail *f)
{
	char object[16];
	int rc;

	if (!json_is_object(j) || !work_text_into(j, "object", object, sizeof object) || strcmp(object, "work") != 0)
		return work_wrong(f, "object");
	if (!work_text_into(j, "version", w->version, sizeof w->version) || !*w->version)
		return work_wrong(f, "version");
	if (!work_time_into(j, "now", &w->now) || !w->now)
		return work_wrong(f, "now");
	w->test_clock = json_is_true(json_object_get(j, "test_clock"));
	work_read_keys(json_object_get(j, "tls_keys"), w);
	if (!work_id_into(json_object_get(j, "agent"), "id", "agt_", w->agent))
		return work_wrong(f, "agent");
	if (!work_text_into(json_object_get(j, "agent"), "name", w->agent_name, sizeof w->agent_name))
		w->agent_name[0] = '\0';
	rc = work_read_hosts(json_object_get(j, "hosts"), w, f);
	rc = rc ? rc : work_read_volumes(json_object_get(j, "volumes"), w, f);
	return rc ? rc : work_read_nodes(json_object_get(j, "nodes"), w, f);
}

int work_parse(const char *text, size_t len, struct work **out, struct fail *f)
{
	struct work *w = calloc(1, sizeof *w);
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	int rc = w ? 0 : fail_set(f, -ENOMEM, "out of memory");

	if (!rc)
		rc = j ? work_read_whole(j, w, f) : work_wrong(f, "not JSON");
	json_decref(j);
	if (rc) {
		work_free(w);
		return rc;
	}
	*out = w;
	return 0;
}

void work_free(struct work *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->node_count; i++)
		free(w->nodes[i].user_data);
	free(w->nodes);
	free(w->volumes);
	free(w->hosts);
	free(w);
}
