/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/table.h"
#include "cli/nodes/gpus.h"
#include "cli/nodes/hostnames.h"
#include "cli/nodes/nodecache.h"
#include "cli/nodes/nodestart.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/trade/market_clock.h"
#include "cli/trade/reservation.h"
#include "cli/frame/settings.h"
#include "cli/trade/tokenfile.h"
#include "market/when.h"

enum { PATH_BYTES = 4096 };

/* ---- Reading --------------------------------------------------------------------------- */

static char *node_copy(const char *text)
{
	char *s = text ? strdup(text) : NULL;

	if (text && !s)
		command_nomem();
	return s;
}

static void take_ssh(struct node *n, const struct model_ssh *s, const char *user)
{
	if (!s->hostname || !node_host_is_plain(s->hostname) || s->port < 1 || s->port > 65535 ||
		(user && !node_user_is_plain(user)))
		return;
	n->hostname = node_copy(s->hostname);
	n->port = (unsigned)s->port;
	n->user = node_copy(user);
	n->keys = calloc(NODE_KEYS_MAX, sizeof *n->keys);
	if (!n->keys)
		command_nomem();
	for (size_t i = 0; i < s->key_count && n->key_count < NODE_KEYS_MAX; i++) {
		char *key;

		if (!s->keys[i].type || !s->keys[i].key)
			continue;
		if (asprintf(&key, "%s %s", s->keys[i].type, s->keys[i].key) < 0)
			command_nomem();
		if (node_key_is_plain(key))
			n->keys[n->key_count++] = key;
		else
			free(key);
	}
}

static void take_gpus(struct node *n, const struct model_gpu *gpus, size_t count)
{
	char room[GPUS_TEXT];
	struct buf list;

	buf_init(&list, WIRE_BYTES_MAX);
	gpus_json(gpus, count, &list);
	n->gpus = node_copy(gpus_text(gpus, count, room));
	n->gpus_json = node_copy(buf_text(&list));
	buf_release(&list);
}

/* It is a host's name for ssh, in its settings and files. */
static int node_check_id(const char *id, struct fail *f)
{
	return node_name_is_plain(id) ? 0 : fail_set(f, -EPROTO, "'%.60s' is no id of a node", id);
}

static int take_node(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_node one;
	struct node *n;
	int rc = wire_node(d, at, &one, f);

	rc = rc ? rc : node_check_id(one.id, f);
	if (rc)
		return rc;
	n = nodes_add(arg);
	if (!n)
		return 1;
	n->id = node_copy(one.id);
	n->name = node_copy(one.name ? one.name : one.id);
	n->status = one.status;
	n->status_text = node_copy(one.status_text);
	n->message = node_copy(one.status_message);
	n->host_down = one.host_down;
	n->ends_early = one.ends_early;
	n->pool = node_copy(one.reservation.id ? one.reservation.id : "");
	n->reservation = node_copy(one.reservation.name ? one.reservation.name : n->pool);
	n->type = node_copy(one.type);
	n->zone = node_copy(one.zone);
	n->proof = node_copy(one.proof_asked ? one.proof : NULL);
	n->start = one.start_at;
	n->end = one.end_at;
	n->created = one.created_at;
	n->updated = one.updated_at;
	take_ssh(n, &one.ssh, one.user);
	take_gpus(n, one.gpus, one.gpu_count);
	return 0;
}

static int load_ours(struct market_link *m, const char *reservation, bool all, struct nodes *into)
{
	struct buf path;
	int rc;

	buf_init(&path, PATH_BYTES);
	if (buf_addf(&path, "/np/v1/nodes?state=%s&limit=200%s", all ? "all" : "live",
		    reservation ? "&reservation=" : "") ||
		(reservation && client_quote(&path, reservation)))
		command_nomem();
	rc = market_each(m, buf_text(&path), take_node, into);
	buf_release(&path);
	return rc;
}

/* ---- A market that is not ours - --------------------------------------------------------- */

struct instance_listing {
	struct nodes *into;
	bool all;
};

static int node_take_instance(void *arg, struct doc *d, long at, struct fail *f)
{
	struct instance_listing *l = arg;
	struct model_instance i;
	struct node *n;
	int rc = wire_instance(d, at, &i, f);

	if (rc || (!l->all && i.status != MODEL_INSTANCE_AWAITING && i.status != MODEL_INSTANCE_RUNNING))
		return rc;
	rc = node_check_id(i.id, f);
	if (rc)
		return rc;
	n = nodes_add(l->into);
	if (!n)
		return 1;
	n->id = node_copy(i.id);
	n->name = node_copy(i.name ? i.name : i.id);
	n->status = i.status;
	n->status_text = node_copy(i.status_text);
	n->pool = node_copy(i.pool.id ? i.pool.id : "");
	n->reservation = node_copy(i.pool.name ? i.pool.name : n->pool);
	n->type = node_copy(i.sku.name ? i.sku.name : i.sku.id);
	n->end = i.shutdown_at;
	n->created = i.created_at;
	n->updated = i.updated_at;
	take_gpus(n, i.gpus, i.gpu_count);
	return 0;
}

/* No address yet is not a failure: the node just cannot be reached. */
static int ask_way(struct market_link *m, struct node *n)
{
	struct model_ssh s;
	int rc;

	if (n->status != MODEL_INSTANCE_RUNNING)
		return 0;
	rc = market_get(m, "/v2/instances/%s/ssh", n->id);
	if (rc == REASON_NOT_FOUND || rc == REASON_WRONG_STATE || rc == REASON_INVALID)
		return 0;
	rc = rc ? rc : wire_ssh(m->doc, WIRE_WHOLE, &s, &m->fail);
	if (!rc)
		take_ssh(n, &s, NULL);
	return rc;
}

static int load_other(struct market_link *m, const char *reservation, bool all, struct nodes *into)
{
	struct instance_listing l = { .into = into, .all = all };
	struct reservation r = { 0 };
	char path[200] = "/v2/instances?limit=200";
	int rc = reservation ? reservation_look(m, reservation, &r) : 0;

	if (rc == 1)
		return fail_set(&m->fail, REASON_NOT_FOUND, "no reservation '%.60s'", reservation);
	if (rc)
		return rc;
	if (r.id)
		snprintf(path, sizeof path, "/v2/instances?limit=200&pool=%.100s", r.id);
	reservation_release(&r);
	rc = market_each(m, path, node_take_instance, &l);
	for (size_t i = 0; i < into->count && !rc; i++)
		rc = ask_way(m, &into->list[i]);
	return rc;
}

/* ---- All of them ------------------------------------------------------------------------- */

/* "train-2" before "train-10". */
static int node_by_name(const void *x, const void *y)
{
	const struct node *a = x, *b = y;
	int rc = strverscmp(a->name, b->name);

	return rc ? rc : (a->created > b->created) - (a->created < b->created);
}

/* By the market's clock, which need not be ours. */
static void nodes_measure_starts(struct market_link *m, struct nodes *n)
{
	struct market_clock clock = { .at = (int64_t)time(NULL), .asked_ms = clock_ms() };

	if (m->about_doc)
		market_clock_read(m, &clock);
	for (size_t i = 0; i < n->count; i++)
		n->list[i].start_ms = clock.asked_ms + (n->list[i].start - clock.at) * 1000;
}

int nodes_load(struct market_link *m, const char *reservation, bool all, struct nodes **out)
{
	struct nodes *n = calloc(1, sizeof *n);
	int rc = market_ours(m);

	if (!n)
		command_nomem();
	if (rc >= 0)
		rc = rc ? load_ours(m, reservation, all, n) : load_other(m, reservation, all, n);
	if (rc) {
		nodes_free(n);
		return rc;
	}
	if (n->count)
		qsort(n->list, n->count, sizeof *n->list, node_by_name);
	nodes_measure_starts(m, n);
	if (m->where)
		nodecache_write(m->np, m->url, n, reservation);
	*out = n;
	return 0;
}

/* ---- Looking ----------------------------------------------------------------------------- */

bool node_reachable(const struct node *n)
{
	return n->status == MODEL_INSTANCE_RUNNING && n->hostname;
}

const struct node *nodes_find(const struct nodes *n, const char *name)
{
	const struct node *ended = NULL;

	for (size_t i = 0; n && i < n->count; i++) {
		const struct node *one = &n->list[i];

		if (strcmp(one->id, name) == 0)
			return one;
		if (strcmp(one->name, name) != 0)
			continue;
		if (node_lives(one))
			return one;
		ended = one;
	}
	return ended;
}

const struct node *nodes_of_host(const struct nodes *n, const char *host)
{
	const char *at = strrchr(host, '@');

	return n && n->chosen ? nodes_find(n, at ? at + 1 : host) : NULL;
}

const char *node_word(enum model_instance_status status, const char *text)
{
	switch (status) {
	case MODEL_INSTANCE_AWAITING:
		return "pending";
	case MODEL_INSTANCE_RUNNING:
		return "running";
	case MODEL_INSTANCE_TERMINATED:
		return "ended";
	case MODEL_INSTANCE_FAILED:
		return "failed";
	case MODEL_INSTANCE_UNKNOWN:
		break;
	}
	return text ? text : "unknown";
}

const char *node_state(const struct node *n)
{
	return node_word(n->status, n->status_text);
}

const char *node_state_told(const struct node *n)
{
	return n->status == MODEL_INSTANCE_RUNNING && n->host_down ? "running (host down)" : node_state(n);
}

/* Nobody can extend on a host that goes out of service. */
void node_tell_end(struct nanopod *np, const struct node *n)
{
	if (n->status == MODEL_INSTANCE_RUNNING && !n->ends_early)
		reservation_tell_soon(np, n->reservation, n->end, (int64_t)time(NULL));
}

int node_unreachable(struct nanopod *np, const struct node *n)
{
	char hint[400], room[NODESTART_TEXT];
	const char *why = node_why(n, room);

	if (n->status == MODEL_INSTANCE_AWAITING) {
		snprintf(hint, sizeof hint, "'--wait' waits for it; 'nanopod nodes -r %.200s' shows its status",
			n->reservation);
		return print_fail(np, STATUS_CONFLICT, hint, "cannot reach '%s': pending: %s", n->name, why);
	}
	snprintf(hint, sizeof hint, "'nanopod nodes -r %.200s --all' shows how it ended", n->reservation);
	if (n->status == MODEL_INSTANCE_RUNNING)
		return print_fail(np, STATUS_CONFLICT, hint,
			"cannot reach '%s': it runs, but its host has not told its address yet", n->name);
	return print_fail(np, STATUS_CONFLICT, hint, "cannot reach '%s': %s%s%s", n->name, node_state_told(n),
		why ? ": " : "", why ? why : "");
}

int node_keyless(struct nanopod *np, const struct node *n)
{
	char hint[400];

	snprintf(hint, sizeof hint,
		"'nanopod replace %.100s' makes another; if you know its key, 'nanopod ssh %s%s%.150s -p %u' asks you "
		"to confirm it",
		n->name, n->user ? n->user : "", n->user ? "@" : "", n->hostname, n->port);
	return print_fail(np, STATUS_CONFLICT, hint,
		"cannot trust '%s': the market has no host key of it, so another machine could pose as it", n->name);
}

/* ---- What a command knows ---------------------------------------------------------------- */

static void node_remember(const struct nodes *n, const char *url)
{
	const char **names = calloc(n->count + 1, sizeof *names), **help = calloc(n->count + 1, sizeof *help);

	if (!names || !help)
		command_nomem();
	for (size_t i = 0; i < n->count; i++) {
		names[i] = n->list[i].name;
		help[i] = n->list[i].reservation;
	}
	remember_all(REMEMBER_NODES, url, names, help, n->count);
	free(names);
	free(help);
}

/* 0 or a negative code in m->fail. */
static int node_know(struct nanopod *np, struct market_link *m)
{
	struct nodes *n;
	int rc = nodes_load(m, NULL, false, &n);

	if (rc)
		return rc;
	node_remember(n, m->where);
	np->nodes_kept = false;
	n->chosen = true;
	nodes_free(np->nodes);
	np->nodes = n;
	return 0;
}

/* True where the market could not be asked, or could not answer. Not where it refused. */
static bool node_market_away(const struct market_link *m)
{
	return m->fail.code == CLIENT_UNREACHABLE || m->fail.code == CLIENT_LOST || m->answer.status >= 500;
}

/* What it said last, where it is away. True: np->nodes has it. */
static bool node_know_kept(struct nanopod *np, const struct market_link *m)
{
	char when[WHEN_TEXT];
	struct fail f = { 0 };
	struct nodes *n;
	int64_t looked;
	int rc = m->where && node_market_away(m) ? nodecache_read(np, m->url, &n, &looked, &f) : -ENOENT;

	if (rc && rc != -ENOENT)
		print_warn(np, "%s", f.text);
	if (rc)
		return false;
	if (!np->nodes_kept)
		print_note(np, "the market does not answer; using nodes known at %s",
			when_local(looked, command_now(np), when));
	np->nodes_kept = true;
	n->chosen = true;
	nodes_free(np->nodes);
	np->nodes = n;
	return true;
}

/* Where it would do with what is kept, it does not wait long for a market that is silent. */
static unsigned node_patience(const struct nanopod *np)
{
	const char *url = settings_text(np->settings, SETTING_ID_URL);
	struct nodes *n = NULL;
	int64_t looked;
	bool kept = url && nodecache_read(np, url, &n, &looked, NULL) == 0;

	nodes_free(n);
	return kept ? MARKET_BRIEFLY : 0;
}

int nodes_know_again(struct nanopod *np)
{
	struct market_link *m;
	int rc = market_sign_in(np, NULL, node_patience(np), &m);

	if (rc)
		return rc;
	rc = node_know(np, m);
	if (rc)
		rc = node_know_kept(np, m) ? 0 : market_fail(m, "cannot list your nodes");
	market_sign_out(m);
	return rc;
}

int nodes_know(struct nanopod *np)
{
	return np->nodes ? 0 : nodes_know_again(np);
}

/* ---- Is it a node? ----------------------------------------------------------------------- */

static void note_name(void *arg, const char *name, const char *help)
{
	/* help: its reservation, whose name may stand for its nodes */
	if (table_set(arg, name, arg) || (help && table_set(arg, help, arg)))
		command_nomem();
}

static const char *node_bare(const char *host)
{
	const char *at = strrchr(host, '@');

	return at ? at + 1 : host;
}

bool nodes_can_ask(const struct nanopod *np)
{
	const char *url = settings_text(np->settings, SETTING_ID_URL);
	char *token = NULL, *where = NULL;
	struct fail why = { 0 };
	int rc;

	if (!url || np->nodes)
		return false;
	rc = token_find(np->settings, &token, &where, &why);
	token_free(token);
	free(where);
	return rc == 0;
}

struct hunt {
	const char *name;
	bool found;
};

static void node_compare(void *arg, const char *name)
{
	struct hunt *h = arg;

	h->found = h->found || strcmp(h->name, name) == 0;
}

/* A host that ssh knows already is not looked up at the market. */
static bool is_known(const struct settings *s, const char *host)
{
	const char *config = settings_text(s, SETTING_ID_SSH_CONFIG), *known = settings_text(s, SETTING_ID_KNOWN_HOSTS);
	struct hunt h = { .name = node_bare(host) };
	struct in6_addr room;

	if (strcmp(h.name, "localhost") == 0 || strchr(h.name, ':') || inet_pton(AF_INET, h.name, &room) == 1)
		return true;
	if (config && !settings_none(s, SETTING_ID_SSH_CONFIG))
		hostnames_config(config, node_compare, &h);
	if (known && !h.found && !settings_none(s, SETTING_ID_KNOWN_HOSTS))
		hostnames_known(known, node_compare, &h);
	return h.found;
}

void nodes_guess(struct nanopod *np, const char *const *names, size_t count, bool sure)
{
	const char *known = NULL;
	struct market_link *m;
	struct table told;

	if (!count || np->nodes_kept || !nodes_can_ask(np))
		return;
	table_init(&told);
	remember_each(REMEMBER_NODES, settings_text(np->settings, SETTING_ID_URL), note_name, &told);
	for (size_t i = 0; i < count && !known; i++)
		known = table_get(&told, node_bare(names[i])) ? node_bare(names[i]) : NULL;
	table_release(&told);
	/* Where nodes were never listed, as on a new machine, a name that ssh does not know may be one. */
	sure = sure ||
		(!remember_any(REMEMBER_NODES, settings_text(np->settings, SETTING_ID_URL)) &&
			!is_known(np->settings, names[0]));
	if ((!known && !sure) || market_sign_in(np, NULL, MARKET_BRIEFLY, &m))
		return;
	if (node_know(np, m) && m->fail.code != CLIENT_STOPPED && !node_know_kept(np, m)) {
		np->nodes_kept = true;
		print_note(np,
			"cannot ask the market whether '%s' is a node of yours (%s): nanopod takes it for a host like "
			"others",
			known ? known : node_bare(names[0]), m->fail.text);
	}
	market_sign_out(m);
}

bool nodes_look_again(struct nanopod *np)
{
	struct market_link *m;
	bool fine;

	if (market_sign_in(np, NULL, MARKET_BRIEFLY, &m))
		return false;
	fine = node_know(np, m) == 0;
	market_sign_out(m);
	return fine;
}

bool nodes_host_known(const struct nanopod *np, const char *host)
{
	return is_known(np->settings, host);
}

void nodes_guess_host(struct nanopod *np, const char *host)
{
	nodes_guess(np, &host, 1, !is_known(np->settings, host));
}
