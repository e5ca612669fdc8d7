/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/purchase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/frame/reshape.h"
#include "cli/frame/retype.h"
#include "cli/frame/settings.h"
#include "cli/trade/census.h"

enum { BODY_MAX = 1 << 20, CLOCKS_APART = 300 };

void purchase_init(struct purchase *p, struct market_link *m)
{
	*p = (struct purchase){ .m = m };
}

void purchase_release(struct purchase *p)
{
	resume_file_free(p->file);
	for (size_t i = 0; i < p->node_count; i++)
		free(p->nodes[i]);
	*p = (struct purchase){ .m = p->m };
}

static void keep_text(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%s", text ? text : "");
}

static void purchase_recall(struct purchase *p)
{
	keep_text(p->pool, sizeof p->pool, resume_file_get(p->file, "pool"));
	keep_text(p->name, sizeof p->name, resume_file_get(p->file, "name"));
	p->own_pool = !resume_file_get(p->file, "into");
}

int purchase_match(struct market_link *m, const struct options *o, const char *verb, const char *subject,
	struct buf *out)
{
	const char *profile = settings_profile(m->np->settings);
	int rc = market_whoami(m);

	if (rc)
		return rc;
	if (buf_addf(out, "%s\n%s\n%s\n%s\n%s\n", verb, m->url, m->who.account_id ? m->who.account_id : "",
		    profile ? profile : "", subject))
		command_nomem();
	retype_same(o, out);
	return 0;
}

int purchase_find(struct purchase *p, const char *match, const char *begun)
{
	int rc = resume_file_find(match, &p->file, &p->m->fail);

	if (rc || !p->file)
		return rc;
	if (begun && !purchase_kept(p, begun) && !purchase_kept(p, "order")) {
		purchase_end(p);
		purchase_init(p, p->m);
		return 0;
	}
	p->resumed = true;
	purchase_recall(p);
	return 0;
}

int purchase_begin(struct purchase *p, const char *match, const char *command, int64_t now)
{
	return p->m->explain ? 0 : resume_file_new(match, command, now, &p->file, &p->m->fail);
}

int purchase_keep(struct purchase *p, const char *name, const char *value)
{
	int rc = p->file ? resume_file_set(p->file, name, value, &p->m->fail) : 0;

	if (!rc && strcmp(name, "pool") == 0)
		keep_text(p->pool, sizeof p->pool, value);
	if (!rc && strcmp(name, "name") == 0)
		keep_text(p->name, sizeof p->name, value);
	if (!rc && !p->file && strcmp(name, "into") == 0)
		p->own_pool = false;
	return rc;
}

const char *purchase_kept(const struct purchase *p, const char *name)
{
	return p->file ? resume_file_get(p->file, name) : NULL;
}

int purchase_keep_body(struct purchase *p, const char *step, const struct buf *body)
{
	char name[RESUME_FILE_KEY];

	snprintf(name, sizeof name, "%s.body", step);
	return purchase_kept(p, name) ? 0 : purchase_keep(p, name, buf_text(body));
}

int purchase_post(struct purchase *p, const char *step, const char *path, const struct buf *body)
{
	char name[RESUME_FILE_KEY], key[RESUME_FILE_KEY];
	const char *kept;
	struct buf again;
	int rc = 0;

	snprintf(name, sizeof name, "%s.body", step);
	kept = purchase_kept(p, name);
	rc = purchase_keep_body(p, step, body);
	if (rc)
		return rc;
	buf_init(&again, BODY_MAX);
	if (buf_adds(&again, kept ? kept : buf_text(body)))
		command_nomem();
	rc = market_send(p->m, "POST", path, &again, p->file ? resume_file_key(p->file, step, key) : NULL);
	buf_release(&again);
	p->sent |= rc != MARKET_EXPLAINED && p->m->answer.sent != CLIENT_NOT_SENT;
	p->replayed |= rc == 0 && p->m->answer.replayed;
	return rc;
}

/* ---- The pool -------------------------------------------------------------------------- */

struct first {
	char path[256], best[256];
};

static int take_workspace(void *arg, struct doc *d, long at, struct fail *f)
{
	struct first *w = arg;
	struct model_workspace one;
	int rc = wire_workspace(d, at, &one, f);

	if (rc)
		return rc;
	if (!*w->path)
		keep_text(w->path, sizeof w->path, one.id ? one.id : one.path);
	if (one.name && strcmp(one.name, "default") == 0)
		keep_text(w->best, sizeof w->best, one.id ? one.id : one.path);
	return 0;
}

/* Where pools are made: the workspace "default", else the first. */
static int find_workspace(struct purchase *p, struct first *w)
{
	bool explain = p->m->explain;
	int rc;

	*w = (struct first){ "", "" };
	p->m->explain = false;
	rc = market_each(p->m, "/v2/workspaces", take_workspace, w);
	p->m->explain = explain;
	if (!rc && !*w->path)
		rc = fail_set(&p->m->fail, REASON_NOT_FOUND,
			"you have no workspace on this market to put a reservation into");
	if (*w->best)
		keep_text(w->path, sizeof w->path, w->best);
	return rc;
}

/* An earlier command or a retry of the client may have sent it: "name taken" may mean taken by us. */
static bool asked_before(const struct purchase *p)
{
	return p->resumed || p->m->answer.tries > 1;
}

/*
 * Some markets keep no idempotency keys for pools and say that the name is taken. The pool is ours if it is
 * not older than this purchase and empty; we must not buy into an older reservation by mistake.
 */
static int adopt_pool(struct purchase *p, int rc)
{
	struct reservation r;
	char id[sizeof p->pool];
	bool ours;

	if (!asked_before(p) ||
		(rc != REASON_NAME_TAKEN && rc != REASON_INVALID && rc != REASON_MALFORMED &&
			rc != REASON_WRONG_STATE) ||
		!p->file || reservation_look(p->m, p->name, &r))
		return rc;
	ours = r.count == 0 && r.created_at + CLOCKS_APART >= resume_file_begun(p->file);
	keep_text(id, sizeof id, r.id);
	reservation_release(&r);
	if (!ours)
		return rc;
	p->replayed = true;
	return purchase_keep(p, "pool", id);
}

int purchase_pool(struct purchase *p)
{
	struct model_pool pool;
	struct first w = { "", "" };
	struct fail why;
	struct buf body;
	int rc = 0;

	if (*p->pool)
		return 0;
	if (!purchase_kept(p, "pool.body"))
		rc = find_workspace(p, &w);
	if (rc)
		return rc;
	buf_init(&body, BODY_MAX);
	if (wire_put_pool(&body, p->name, w.path))
		command_nomem();
	rc = purchase_post(p, "pool", "/v2/pools", &body);
	buf_release(&body);
	if (rc == MARKET_EXPLAINED) {
		keep_text(p->pool, sizeof p->pool, "POOL-ID");
		return 0;
	}
	if (rc) {
		why = p->m->fail;
		rc = adopt_pool(p, rc);
		if (rc)
			p->m->fail = why;
		return rc;
	}
	rc = wire_pool(p->m->doc, WIRE_WHOLE, &pool, &p->m->fail);
	return rc ? rc : purchase_keep(p, "pool", pool.id);
}

bool purchase_undo_pool(struct purchase *p)
{
	struct fail why = p->m->fail;
	char path[128];
	int rc;

	if (!p->own_pool || !*p->pool || p->m->explain)
		return false;
	snprintf(path, sizeof path, "/v2/pools/%s", p->pool);
	rc = market_send(p->m, "DELETE", path, NULL, NULL);
	p->m->fail = why;
	return rc == 0 || rc == REASON_NOT_FOUND;
}

/* ---- The order ------------------------------------------------------------------------- */

int purchase_order(struct purchase *p, struct model_order_new *o)
{
	const char *known = purchase_kept(p, "order");
	struct buf body;
	int rc;

	if (known) {
		p->replayed = true;
		return order_status_look(p->m, known, &p->order);
	}
	o->pool = p->pool;
	buf_init(&body, BODY_MAX);
	if (wire_put_order(&body, o))
		command_nomem();
	rc = purchase_post(p, "order", "/v2/orders", &body);
	buf_release(&body);
	if (rc == MARKET_EXPLAINED) {
		p->order = (struct order_status){ .status = MODEL_ORDER_FILLED, .filled_nodes = o->nodes };
		keep_text(p->order.sku, sizeof p->order.sku, o->sku);
		return 0;
	}
	rc = rc ? rc : order_status_take(p->m, &p->order);
	return rc ? rc : purchase_keep(p, "order", p->order.id);
}

/* ---- The nodes ------------------------------------------------------------------------- */

/* What its nodes are called, before a number. */
static const char *purchase_node_name(const struct purchase *p)
{
	const char *name = purchase_kept(p, "node-name");

	return name ? name : p->name;
}

/* How many nodes to start, and the number of the first. Asked once, then kept: started nodes change the answer. */
static int plan_nodes(struct purchase *p, int64_t now, long *first, long *count)
{
	struct census c = { .sku = p->order.sku, .name = purchase_node_name(p) };
	struct reservation r = { 0 };
	const struct reservation_part *part;
	char path[128], text[32];
	int64_t need = p->order.filled_nodes;
	int rc;

	if (purchase_kept(p, "nodes")) {
		str_to_long(purchase_kept(p, "first"), 0, 1000000, first);
		return str_to_long(purchase_kept(p, "nodes"), 0, PURCHASE_NODES, count);
	}
	if (!p->own_pool && !p->m->explain) {
		snprintf(path, sizeof path, "/v2/instances?limit=200&pool=%s", p->pool);
		rc = market_each(p->m, path, census_count, &c);
		rc = rc ? rc : reservation_look(p->m, p->pool, &r);
		part = rc ? NULL : reservation_part(&r, p->order.sku);
		if (part && census_missing(&c, part, now) < need)
			need = census_missing(&c, part, now);
		census_release(&c);
		if (rc)
			return rc < 0 ? rc
				      : fail_set(&p->m->fail, REASON_NOT_FOUND, "the reservation '%s' no longer exists",
						p->name);
		reservation_release(&r);
	}
	*first = c.next;
	*count = need < 0 ? 0 : need > PURCHASE_NODES ? PURCHASE_NODES : (long)need;
	snprintf(text, sizeof text, "%ld", *first);
	rc = purchase_keep(p, "first", text);
	snprintf(text, sizeof text, "%ld", *count);
	return rc ? rc : purchase_keep(p, "nodes", text);
}

static int purchase_take_image(void *arg, struct doc *d, long at, struct fail *f)
{
	struct first *w = arg;
	struct model_image one;
	int rc = wire_image(d, at, &one, f);

	if (rc)
		return rc;
	if (!*w->path)
		keep_text(w->path, sizeof w->path, one.id);
	if (*w->best == '?' &&
		((one.name && strcmp(one.name, w->best + 1) == 0) || (one.id && strcmp(one.id, w->best + 1) == 0))) {
		keep_text(w->path, sizeof w->path, one.id);
		w->best[0] = '!';
		return 1;
	}
	return 0;
}

/* The market lists public images under its own workspace, and yours without a workspace. */
static int find_image(struct purchase *p, const char *image, struct first *w)
{
	static const char *const paths[] = { "/v2/images?limit=50&workspace=sfc%3Aworkspace%3Asfcompute%3Apublic",
		"/v2/images?limit=50" };
	bool explain = p->m->explain;
	int rc = 0;

	*w = (struct first){ "", "" };
	if (image)
		snprintf(w->best, sizeof w->best, "?%s", image);
	p->m->explain = false;
	for (size_t i = 0; i < 2 && *w->best != '!' && (image || !*w->path); i++)
		rc = market_each(p->m, paths[i], purchase_take_image, w);
	p->m->explain = explain;
	if (*w->path && (!image || *w->best == '!'))
		return 0;
	if (rc)
		return rc;
	return image ? fail_set(&p->m->fail, REASON_NOT_FOUND, "this market has no image '%.60s'", image)
		     : fail_set(&p->m->fail, REASON_NOT_FOUND, "this market has no image to start nodes from");
}

int purchase_check_image(struct purchase *p, const char *image)
{
	struct first w;

	return find_image(p, image, &w);
}

static void note_node(struct purchase *p, const char *text)
{
	p->nodes[p->node_count] = strdup(text);
	if (!p->nodes[p->node_count++])
		command_nomem();
}

static int one_node(struct purchase *p, const char *image, long number)
{
	const char *data = purchase_kept(p, "userdata");
	struct model_instance_new node = { .pool = p->pool, .image = image, .sku = p->order.sku, .user_data = data,
		.user_data_len = data ? strlen(data) : 0 };
	char name[300], step[40];
	struct model_instance made;
	struct buf body;
	int rc;

	snprintf(name, sizeof name, "%s-%ld", purchase_node_name(p), number);
	snprintf(step, sizeof step, "node-%ld", number);
	if (purchase_kept(p, step)) {
		note_node(p, purchase_kept(p, step));
		return 0;
	}
	node.name = name;
	buf_init(&body, BODY_MAX);
	if (wire_put_instance(&body, &node))
		command_nomem();
	rc = purchase_post(p, step, "/v2/instances", &body);
	buf_release(&body);
	if (rc == MARKET_EXPLAINED)
		return 0;
	/* As with pools: our own earlier request took the name. */
	if (rc == REASON_NAME_TAKEN && asked_before(p)) {
		note_node(p, name);
		return purchase_keep(p, step, name);
	}
	rc = rc ? rc : wire_instance(p->m->doc, WIRE_WHOLE, &made, &p->m->fail);
	if (rc)
		return rc;
	note_node(p, made.name ? made.name : made.id);
	return purchase_keep(p, step, made.name ? made.name : made.id);
}

int purchase_nodes(struct purchase *p, const char *image, int64_t now)
{
	const char *known = purchase_kept(p, "image");
	struct first w;
	long first = 0, count = 0;
	int rc = plan_nodes(p, now, &first, &count);

	if (rc || !count)
		return rc;
	if (known) {
		keep_text(w.path, sizeof w.path, known);
	} else {
		rc = find_image(p, image, &w);
		rc = rc ? rc : purchase_keep(p, "image", w.path);
	}
	for (long i = 0; !rc && i < count; i++)
		rc = one_node(p, w.path, first + i);
	return rc;
}

/* ---- The end --------------------------------------------------------------------------- */

bool purchase_nothing_done(const struct purchase *p, int code)
{
	if (code == CLIENT_UNREACHABLE || code == CLIENT_UNTRUSTED || code == CLIENT_BAD_SETUP ||
		code == CLIENT_NO_HTTP)
		return !p->resumed && !p->sent;
	if (code == CLIENT_STOPPED)
		return !p->resumed && !p->sent;
	if (code <= REASON_BASE || code == REASON_INTERNAL)
		return false;
	/* The market has not done what it refuses. For these reasons the same request may succeed later. */
	if (client_refused_try(code))
		return !p->resumed && !*p->pool;
	return code > REASON_BASE && code < REASON_END;
}

enum status purchase_status(int code)
{
	bool known = code == -EPROTO || code <= REASON_END;

	return known ? (enum status)client_status(code) : STATUS_FAILURE;
}

void purchase_end(struct purchase *p)
{
	struct fail why = { 0 };

	if (p->file && resume_file_end(p->file, &why))
		print_warn(p->m->np, "%s", why.text);
	p->file = NULL;
}

int purchase_told(struct purchase *p, int status)
{
	status = reshape_finish(p->m->np, status);
	if (status != STATUS_FAILURE && status != STATUS_PIPE)
		purchase_end(p);
	return status;
}

/* ---- Cancelled ------------------------------------------------------------------------- */

bool purchase_was_cancelled(struct purchase *p)
{
	const char *id = purchase_kept(p, "order");
	struct fail why = p->m->fail;
	struct order_status order;
	int rc = id ? order_status_look(p->m, id, &order) : REASON_NOT_FOUND;

	p->m->fail = why;
	if (rc || order.status != MODEL_ORDER_CANCELLED || !order.standing || order.filled_minutes ||
		(order.reason && order.reason != REASON_EXPIRED))
		return false;
	purchase_undo_pool(p);
	purchase_end(p);
	return true;
}

struct matches {
	char *list[64];
	size_t count;
};

static bool purchase_take_match(void *arg, const struct resume_file *i)
{
	struct matches *all = arg;

	if (resume_file_get(i, "order") && !(all->list[all->count++] = strdup(resume_file_get(i, "match"))))
		command_nomem();
	return all->count < sizeof all->list / sizeof *all->list;
}

/* Nobody may begin a purchase while the files are listed, so the market is asked afterwards. */
void purchase_forget_cancelled(struct market_link *m)
{
	struct matches all = { .count = 0 };
	struct purchase p;
	char *prefix;

	if (m->explain)
		return;
	if (asprintf(&prefix, "buy\n%s\n", m->url) < 0)
		command_nomem();
	resume_file_each(prefix, purchase_take_match, &all);
	free(prefix);
	for (size_t i = 0; i < all.count; i++) {
		purchase_init(&p, m);
		if (purchase_find(&p, all.list[i], NULL) == 0 && p.file)
			purchase_was_cancelled(&p);
		purchase_release(&p);
		free(all.list[i]);
	}
}
