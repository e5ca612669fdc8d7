/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/node_journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/hash.h"
#include "agentd/market/resources.h"
#include "agentd/os/statefile.h"
#include "agentd/userdata.h"

static const char *const life_words[] = {
#define NODE_X(name, word, text) word,
	LIVES(NODE_X)
#undef NODE_X
};

static const char *const life_texts[] = {
#define NODE_X(name, word, text) text,
	LIVES(NODE_X)
#undef NODE_X
};

static const char *const cause_words[] = {
#define NODE_X(name, word, text) word,
	CAUSES(NODE_X)
#undef NODE_X
};

static const char *const cause_texts[] = {
#define NODE_X(name, word, text) text,
	CAUSES(NODE_X)
#undef NODE_X
};

/* legal[from]: a bit for each life that may follow. */
#define TO(life) (1u << LIFE_##life)
static const unsigned legal[LIFE_COUNT] = {
	[LIFE_PENDING] = TO(READY) | TO(DRAINING) | TO(FAILED) | TO(TERMINATED),
	[LIFE_READY] = TO(RUNNING) | TO(DRAINING) | TO(FAILED),
	[LIFE_RUNNING] = TO(READY) | TO(DRAINING) | TO(FAILED),
	[LIFE_DRAINING] = TO(READY) | TO(TERMINATED),   /* READY: the market came back and had extended it */
	[LIFE_TERMINATED] = 0,
	[LIFE_FAILED] = TO(TERMINATED),
	[LIFE_UNKNOWN] = TO(TERMINATED),
};
#undef TO

const char *life_word(enum life l)
{
	return l < LIFE_COUNT ? life_words[l] : "?";
}

const char *life_text(enum life l)
{
	return l < LIFE_COUNT ? life_texts[l] : "?";
}

const char *cause_word(enum cause c)
{
	return c < CAUSE_COUNT ? cause_words[c] : "?";
}

const char *cause_text(enum cause c)
{
	return c < CAUSE_COUNT ? cause_texts[c] : "?";
}

bool life_legal(enum life from, enum life to)
{
	return from == to || (from < LIFE_COUNT && to < LIFE_COUNT && (legal[from] & 1u << to));
}

int node_become(struct node *n, enum life to, enum cause cause, int64_t now)
{
	if (!life_legal(n->life, to))
		return -EINVAL;
	if (n->life != to) {
		n->since = now;
		n->told = false;
	}
	n->life = to;
	n->cause = cause;
	n->ran = n->ran || to == LIFE_RUNNING;
	return 0;
}

void node_say(struct node *n, const char *fmt, ...)
{
	json_t *probe;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(n->message, sizeof n->message, fmt, ap);
	va_end(ap);
	probe = json_string(n->message);
	for (char *p = n->message; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f || (!probe && (unsigned char)*p >= 0x80))
			*p = '?';
	json_decref(probe);
}

uint64_t node_hash(const void *data, size_t len)
{
	uint64_t h = hash_more(HASH_BEGIN, data, len);

	return h ? h : 1;
}

struct node *node_new(const char *id)
{
	struct node *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	snprintf(n->id, sizeof n->id, "%s", id);
	n->end_at = INT64_MAX;
	n->console.next = 1;
	return n;
}

void node_free(struct node *n)
{
	if (n)
		free(n->user_data);
	free(n);
}

int node_set_user_data(struct node *n, const char *data, size_t len)
{
	char *copy = data ? malloc(len + 1) : NULL;
	struct userdata u;

	if (data && !copy)
		return -ENOMEM;
	if (copy) {
		memcpy(copy, data, len);
		copy[len] = '\0';
	}
	free(n->user_data);
	n->user_data = copy;
	n->user_data_len = copy ? len : 0;
	userdata_read(copy, n->user_data_len, &u);
	n->script = n->script || u.script.len > 0;
	userdata_release(&u);
	return 0;
}

/* ---- The journal -------------------------------------------------------------------------- */

static json_t *node_encode(const struct node *n)
{
	struct buf data;
	json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id", n->id, "name", n->name,
		"host", n->host, "tenant", n->tenant, "type", n->type, "image", n->image, "driver", n->driver,
		"message", n->message, "state", life_word(n->life), "reason", cause_word(n->cause));
	json_t *numbers = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "slot", (json_int_t)n->slot,
		"tries", (json_int_t)n->tries, "pids", (json_int_t)n->pids, "falls", (json_int_t)n->quick_stops,
		"cpu_milli", (json_int_t)n->cpu_milli, "memory", (json_int_t)n->memory, "disk", (json_int_t)n->disk,
		"since", (json_int_t)n->since, "keys_in", (json_int_t)(n->keys_in >> 1));
	json_t *console = json_pack("{s:I, s:I, s:I, s:I, s:I}", "next", (json_int_t)n->console.next, "offset",
		(json_int_t)n->console.offset, "inode", (json_int_t)n->console.inode, "left_lines",
		(json_int_t)n->console.left_lines, "left_bytes", (json_int_t)n->console.left_bytes);
	json_t *contract = resources_json(&n->contract);
	bool good = j && numbers && console && json_object_update(j, numbers) == 0 &&
		json_object_set(j, "console", console) == 0;

	if (good && n->end_at != INT64_MAX)
		good = json_object_set_new(j, "end_at", json_integer(n->end_at)) == 0;
	if (good && n->port)
		good = json_object_set_new(j, "port", json_integer(n->port)) == 0;
	if (good && *n->cores)
		good = json_object_set_new(j, "cores", json_string(n->cores)) == 0;
	if (good && contract)
		good = json_object_set(j, "contract", contract) == 0;
	if (good && *n->pool)
		good = json_object_set_new(j, "pool", json_string(n->pool)) == 0;
	if (good && *n->network)
		good = json_object_set_new(j, "network", json_string(n->network)) == 0;
	if (good && n->script)
		good = json_object_set_new(j, "script", json_true()) == 0;
	if (good && n->ran)
		good = json_object_set_new(j, "ran", json_true()) == 0;
	buf_init(&data, STATEFILE_MAX / 2);
	if (good && n->user_data)
		good = buf_add_base64(&data, n->user_data, n->user_data_len) == 0 &&
			json_object_set_new(j, "user_data", json_string(buf_text(&data))) == 0;
	buf_release(&data);
	json_decref(numbers);
	json_decref(console);
	json_decref(contract);
	if (good)
		return j;
	json_decref(j);
	return NULL;
}

static int node_journal_word_at(const json_t *j, const char *name, const char *const words[], size_t count)
{
	const char *word = json_string_value(json_object_get(j, name));

	for (size_t i = 0; word && i < count; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

static int node_journal_decode_user_data(const json_t *j, struct node *n)
{
	const json_t *v = json_object_get(j, "user_data");
	struct buf bytes;
	int rc;

	if (!v)
		return 0;
	buf_init(&bytes, STATEFILE_MAX);
	rc = json_is_string(v) ? base64_take(json_string_value(v), json_string_length(v), &bytes) : -EINVAL;
	rc = rc ? rc : node_set_user_data(n, buf_text(&bytes), bytes.len);
	buf_release(&bytes);
	return rc;
}

static int node_decode(const json_t *j, struct node *n)
{
	const json_t *console = json_object_get(j, "console");
	int life = node_journal_word_at(j, "state", life_words, LIFE_COUNT),
	    cause = node_journal_word_at(j, "reason", cause_words, CAUSE_COUNT);
	int64_t slot = statefile_int(j, "slot", -1);
	char id[WORK_ID];

	statefile_text(j, "id", id, sizeof id);
	if (life < 0 || cause < 0 || slot < 0 || slot >= NODE_SLOTS || strcmp(id, n->id) != 0)
		return -EINVAL;
	statefile_text(j, "name", n->name, sizeof n->name);
	statefile_text(j, "host", n->host, sizeof n->host);
	statefile_text(j, "tenant", n->tenant, sizeof n->tenant);
	statefile_text(j, "pool", n->pool, sizeof n->pool);
	statefile_text(j, "network", n->network, sizeof n->network);
	statefile_text(j, "type", n->type, sizeof n->type);
	statefile_text(j, "image", n->image, sizeof n->image);
	statefile_text(j, "driver", n->driver, sizeof n->driver);
	statefile_text(j, "message", n->message, sizeof n->message);
	n->life = (enum life)life;
	n->cause = (enum cause)cause;
	n->slot = (unsigned)slot;
	n->tries = (unsigned)statefile_int(j, "tries", 0);
	n->quick_stops = (unsigned)statefile_int(j, "falls", 0);
	n->cpu_milli = (unsigned)statefile_int(j, "cpu_milli", 0);
	n->pids = (unsigned)statefile_int(j, "pids", 0);
	n->memory = statefile_int(j, "memory", 0);
	n->disk = statefile_int(j, "disk", 0);
	n->since = statefile_int(j, "since", 0);
	n->end_at = statefile_int(j, "end_at", INT64_MAX);
	n->keys_in = (uint64_t)statefile_int(j, "keys_in", 0) << 1;
	n->port = (unsigned)statefile_int(j, "port", 0);
	statefile_text(j, "cores", n->cores, sizeof n->cores);
	if (n->port > 65535 || !resources_read(json_object_get(j, "contract"), &n->contract))
		return -EINVAL;
	n->script = statefile_bool(j, "script");
	n->ran = statefile_bool(j, "ran") || n->life == LIFE_RUNNING; /* journals of before have only that */
	n->console.next = statefile_int(console, "next", 1);
	n->console.offset = statefile_int(console, "offset", 0);
	n->console.inode = statefile_int(console, "inode", 0);
	n->console.left_lines = statefile_int(console, "left_lines", 0);
	n->console.left_bytes = statefile_int(console, "left_bytes", 0);
	if (n->console.next < 1 || n->console.offset < 0)
		n->console = (struct console_at){ .next = 1 };
	return node_journal_decode_user_data(j, n);
}

static int node_path_of(char room[STATEFILE_PATH], const char *data, const char *id, const char *last)
{
	char nodes[STATEFILE_PATH];
	int rc = statefile_path(nodes, data, "nodes", NULL);

	return rc ? rc : statefile_path(room, nodes, id, last);
}

int node_folder(const char *data, const char *id, struct fail *f)
{
	char path[STATEFILE_PATH];
	int rc = node_path_of(path, data, id, NULL);

	if (!rc && mkdir(path, 0700) != 0 && errno != EEXIST)
		rc = -errno;
	return rc ? fail_errno(f, rc, -rc, "cannot make the folder of '%s'", id) : 0;
}

int node_save(const char *data, const struct node *n, struct fail *f)
{
	char path[STATEFILE_PATH];
	int rc = node_path_of(path, data, n->id, "node.json");

	if (rc)
		return fail_set(f, rc, "the path of '%s' is too long", data);
	return statefile_json(path, node_encode(n), f);
}

int node_load(const char *data, const char *id, struct node **out, struct fail *f)
{
	struct node *n = node_new(id);
	char path[STATEFILE_PATH];
	json_t *j = NULL;
	int rc = n ? node_path_of(path, data, id, "node.json") : -ENOMEM;

	rc = rc ? fail_set(f, rc, "cannot read the journal of '%s'", id) : statefile_load(path, &j, f);
	if (!rc && (rc = node_decode(j, n)) != 0)
		fail_set(f, rc, "'%s' is damaged", path);
	json_decref(j);
	if (rc) {
		node_free(n);
		return rc;
	}
	*out = n;
	return 0;
}

int node_forget(const char *data, const char *id)
{
	static const char *const own[] = { "node.json", "lock", NULL };
	char path[STATEFILE_PATH];
	int rc = node_path_of(path, data, id, NULL);

	if (!rc)
		statefile_tidy(path, "node.json");
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		rc = node_path_of(path, data, id, own[i]);
		if (rc)
			return rc;
		if ((own[i] ? unlink(path) : rmdir(path)) != 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}
