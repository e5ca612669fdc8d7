/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/local/localmarket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/trade/tokenfile.h"

enum { BODY_MAX = 65536, OFFERS_MAX = 256, NAME_MAX_LEN = 64 };

/* ---- The link ---------------------------------------------------------------------------- */

/* As a flag of this line: it wins, and goes with the line. */
static int say_url(struct nanopod *np, const struct localstate *s, struct fail *f)
{
	char *url;
	int rc;

	if (asprintf(&url, "unix:%s", s->socket) < 0)
		command_nomem();
	rc = settings_set(np->settings, SETTING_ID_URL, LAYER_LINE, url, "nanopod local", f);
	free(url);
	return rc;
}

int localmarket_open_by(struct nanopod *np, const struct localstate *s, unsigned flags, struct market_link **out)
{
	struct fail f = { 0 };

	if (say_url(np, s, &f))
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	return market_sign_in(np, NULL, flags, out);
}

int localmarket_open(struct nanopod *np, const struct localstate *s, struct market_link **out)
{
	return localmarket_open_by(np, s, 0, out);
}

bool localmarket_answers(struct nanopod *np, const struct localstate *s)
{
	struct market_link *m;
	bool fine;

	if (access(s->socket, F_OK) < 0 || localmarket_open(np, s, &m))
		return false;
	fine = market_get(m, "/np/v1") == 0;
	market_sign_out(m);
	return fine;
}

/* {…} by pairs of names and values, ending with NULL: all texts. */
static void put_texts(struct buf *body, const char *const *pairs)
{
	struct json j = json_to(body);

	buf_clear(body);
	json_begin_object(&j, NULL);
	for (; *pairs; pairs += 2)
		json_text(&j, pairs[0], pairs[1]);
	json_end(&j);
	if (j.error)
		command_nomem();
}

/* ---- Accounts and money ------------------------------------------------------------------ */

static int need_account(struct market_link *m, const char *name)
{
	struct buf body;
	int rc = market_get(m, "/np/v1/accounts/%s", name);

	if (rc == REASON_NOT_FOUND) {
		buf_init(&body, BODY_MAX);
		put_texts(&body, (const char *[]){ "name", name, NULL });
		rc = market_send(m, "POST", "/np/v1/accounts", &body, NULL);
		buf_release(&body);
	}
	return rc;
}

/* The idempotency key is always the same, so that an interrupted command credits nothing twice. */
static int need_money(struct market_link *m, struct localstate *s, const char *dollars)
{
	struct buf body;
	int rc;

	if (localstate_get(s, "money"))
		return 0;
	buf_init(&body, BODY_MAX);
	put_texts(&body, (const char *[]){ "amount_dollars", dollars, NULL });
	rc = market_send(m, "POST", "/np/v1/accounts/" LOCAL_BUYER "/credits", &body, "local-first-credit");
	buf_release(&body);
	return rc ? rc : localstate_set(s, "money", dollars, &m->fail);
}

static int new_token(struct market_link *m, const char *account, const char *name, const char *const *scopes,
	char **out)
{
	struct model_token_new want = { .name = name, .scopes = scopes };
	struct model_token got;
	struct buf body;
	char path[200];
	int rc;

	while (scopes[want.scope_count])
		want.scope_count++;
	snprintf(path, sizeof path, "/np/v1/accounts/%s/tokens", account);
	buf_init(&body, BODY_MAX);
	if (wire_put_token(&body, &want))
		command_nomem();
	rc = market_send(m, "POST", path, &body, NULL);
	buf_release(&body);
	rc = rc ? rc : wire_token(m->doc, WIRE_WHOLE, &got, &m->fail);
	if (!rc && (!got.token || !(*out = strdup(got.token))))
		rc = fail_set(&m->fail, CLIENT_BAD_ANSWER, "the market gave no token");
	return rc;
}

static bool token_works(struct market_link *m, const struct localstate *s)
{
	struct client_setup setup = { .stop_fd = -1 };
	struct client_answer a;
	struct client *c = NULL;
	char *token = NULL, *url = NULL;
	struct fail f = { 0 };
	bool fine = false;

	(void)m;
	client_answer_init(&a);
	if (token_read_file(s->token, &token, &f) == 0 &&
		asprintf(&url, "http://127.0.0.1:%ld", localstate_number(s, "port")) > 0) {
		setup.url = url;
		setup.token = token;
		fine = client_new(&setup, &c, &f) == 0 &&
			client_send(c, &(struct client_call){ .method = "GET", .path = "/np/v1/whoami" }, &a, &f) == 0;
	}
	client_free(c);
	client_answer_release(&a);
	token_free(token);
	free(url);
	return fine;
}

static int need_token(struct market_link *m, struct localstate *s)
{
	static const char *const scopes[] = { "read", "trade", "nodes", "tokens", "host", NULL };
	char *token = NULL;
	int rc;

	if (access(s->token, F_OK) == 0 && token_works(m, s))
		return 0;
	rc = new_token(m, LOCAL_BUYER, "nanopod local", scopes, &token);
	rc = rc ? rc : token_write(s->token, token, &m->fail);
	token_free(token);
	return rc;
}

/* The lowest layer above the defaults: who names another market reaches that one. */
static int need_settings(struct market_link *m, struct localstate *s)
{
	struct buf text;
	int rc;

	buf_init(&text, BODY_MAX);
	rc = buf_addf(&text, "# written by 'nanopod local start', removed by 'nanopod local stop'\n"
		"url: http://127.0.0.1:%ld\ntoken-file: \"%s\"\n",
		localstate_number(s, "port"), s->token);
	rc = rc ? rc : file_replace(s->config, buf_text(&text), text.len, 0600);
	buf_release(&text);
	return rc ? fail_errno(&m->fail, CLIENT_BAD_SETUP, -rc, "cannot write '%s'", s->config) : 0;
}

int localmarket_people(struct market_link *m, struct localstate *s, const char *dollars)
{
	int rc = need_account(m, LOCAL_BUYER);

	rc = rc ? rc : need_account(m, LOCAL_OWNER);
	rc = rc ? rc : need_money(m, s, dollars);
	rc = rc ? rc : need_token(m, s);
	rc = rc ? rc : need_settings(m, s);
	return rc ? market_fail(m, "cannot set up the local market") : 0;
}

/* ---- What is sold ------------------------------------------------------------------------ */

struct hunt {
	const char *alias;
	bool found;
};

static int look_at_sku(void *arg, struct doc *d, long at, struct fail *f)
{
	struct hunt *h = arg;
	struct model_sku s;
	int rc = wire_sku(d, at, &s, f);

	h->found = h->found || (!rc && s.alias && strcmp(s.alias, h->alias) == 0);
	return rc ? rc : h->found;
}

enum { SHARE_MOST = 16 }; /* vCPUs of one core, as the market allows */

/* The disk leaves as much again: other files of this machine grow, and what is promised has to stay. */
void localmarket_size(struct localtype *t, const struct model_sizes *has, long nodes)
{
	static const int64_t mib = 1 << 20, gib = 1 << 30;

	if (has->vcpus >= nodes) {
		t->vcpus = has->vcpus / nodes;
	} else if (has->vcpus > 0 && nodes <= SHARE_MOST * has->vcpus) {
		t->vcpus = 1;
		t->overcommit = (nodes + has->vcpus - 1) / has->vcpus;
	}
	if (has->memory >= 128 * mib * nodes)
		t->memory = has->memory / nodes / (64 * mib) * (64 * mib);
	if (has->disk >= 2 * gib * nodes)
		t->disk = has->disk / 2 / nodes / gib * gib;
	if (t->disk > 32 * gib)
		t->disk = 32 * gib;
}

static void put_promise(struct json *j, const struct localtype *t)
{
	if (t->vcpus)
		json_int(j, "num_vcpus", t->vcpus);
	if (t->memory)
		json_int(j, "memory", t->memory);
	if (t->disk)
		json_int(j, "local_storage", t->disk);
	if (t->overcommit > 1) {
		json_begin_object(j, "requires");
		json_int(j, "overcommit", t->overcommit);
		json_end(j);
	}
}

int localmarket_type(struct market_link *m, const struct localtype *t)
{
	struct hunt h = { .alias = t->name };
	struct buf body;
	struct json j;
	int rc = market_each(m, "/v2/instance_skus?limit=200", look_at_sku, &h);

	if (!rc && !h.found) {
		buf_init(&body, BODY_MAX);
		j = json_to(&body);
		json_begin_object(&j, NULL);
		json_text(&j, "alias", t->name);
		json_int(&j, "gpus", t->gpus);
		json_begin_object(&j, "properties");
		json_text(&j, "region", "here");
		if (*t->accelerator)
			json_text(&j, "accelerator", t->accelerator);
		put_promise(&j, t);
		json_end(&j);
		json_end(&j);
		if (j.error)
			command_nomem();
		rc = market_send(m, "POST", "/np/v1/skus", &body, NULL);
		buf_release(&body);
	}
	return rc ? market_fail(m, "cannot create the type '%s'", t->name) : 0;
}

int localmarket_join_token(struct market_link *m, char **out)
{
	static const char *const scopes[] = { "join", NULL };

	return new_token(m, LOCAL_OWNER, "this machine", scopes, out) ? market_fail(m, "cannot let this machine join")
								      : 0;
}

/* ---- Offers ------------------------------------------------------------------------------ */

struct offering {
	struct localhosts count;
	char ids[OFFERS_MAX][NAME_MAX_LEN]; /* hosts that are not offered yet */
	size_t left;
	const struct localstate *s;
};

static int look_at_host(void *arg, struct doc *d, long at, struct fail *f)
{
	struct offering *o = arg;
	struct model_host h;
	char name[NAME_MAX_LEN + 16];
	int rc = wire_host(d, at, &h, f);

	if (rc)
		return rc;
	o->count.all++;
	o->count.up += h.state && strcmp(h.state, "up") == 0;
	snprintf(name, sizeof name, "offer.%.60s", h.id);
	if (o->s && !localstate_get(o->s, name) && o->left < OFFERS_MAX)
		snprintf(o->ids[o->left++], NAME_MAX_LEN, "%s", h.id);
	return 0;
}

/* Always the same key, so that an interrupted command offers nothing twice. */
static int offer_one(struct market_link *m, struct localstate *s, const char *id, const char *price)
{
	char path[160], name[NAME_MAX_LEN + 16], key[NAME_MAX_LEN + 32];
	struct model_order order;
	struct buf body;
	int rc;

	snprintf(path, sizeof path, "/np/v1/hosts/%s/offers?account=" LOCAL_OWNER, id);
	snprintf(name, sizeof name, "offer.%.60s", id);
	snprintf(key, sizeof key, "local-offer-%.60s", id);
	buf_init(&body, BODY_MAX);
	put_texts(&body, (const char *[]){ "price_dollars_per_node_hour", price, NULL });
	rc = market_send(m, "POST", path, &body, key);
	buf_release(&body);
	rc = rc ? rc : wire_order(m->doc, WIRE_WHOLE, &order, &m->fail);
	return rc ? rc : localstate_set(s, name, order.id, &m->fail);
}

int localmarket_hosts(struct market_link *m, struct localstate *s, const char *offer, struct localhosts *out)
{
	struct offering *o = calloc(1, sizeof *o);
	int rc;

	if (!o)
		command_nomem();
	o->s = s;
	rc = market_each(m, "/np/v1/hosts?account=" LOCAL_OWNER, look_at_host, o);
	for (size_t i = 0; offer && !rc && i < o->left; i++)
		rc = offer_one(m, s, o->ids[i], offer);
	*out = o->count;
	free(o);
	return rc ? market_fail(m, "cannot offer this machine's nodes") : 0;
}

/* ---- Nodes ------------------------------------------------------------------------------- */

static bool local_localmarket_answers(const struct model_node *n)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)n->ssh.port) };
	int fd, rc;

	if (inet_pton(AF_INET, n->ssh.hostname, &sa.sin_addr) != 1)
		return true;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? 0 : connect(fd, (const struct sockaddr *)&sa, sizeof sa);
	if (fd >= 0)
		close(fd);
	return rc == 0;
}

static int look_at_node(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_node n;
	size_t *silent = arg;
	int rc = wire_node(d, at, &n, f);

	*silent += !rc && n.ssh.hostname && !local_localmarket_answers(&n);
	return rc;
}

static int look_for_failed(void *arg, struct doc *d, long at, struct fail *f)
{
	struct localfailure *last = arg;
	struct model_node n;
	int rc = wire_node(d, at, &n, f);

	if (rc || n.status != MODEL_INSTANCE_FAILED || n.ended_at < last->at || (n.end_at && n.end_at <= time(NULL)))
		return rc;
	last->at = n.ended_at;
	snprintf(last->name, sizeof last->name, "%s", n.name);
	snprintf(last->why, sizeof last->why, "%s", n.status_message ? n.status_message : "its host gave no reason");
	return 0;
}

static int look_at_agent_up(void *arg, struct doc *d, long at, struct fail *f)
{
	struct model_agent a;
	int rc = wire_agent(d, at, &a, f);

	*(bool *)arg |= !rc && strcmp(a.state, "up") == 0;
	return rc;
}

int localmarket_failure(struct market_link *m, struct localfailure *out)
{
	bool up = false;
	int rc = market_each(m, "/np/v1/agents?account=" LOCAL_OWNER, look_at_agent_up, &up);

	*out = (struct localfailure){ .at = 0 };
	if (!rc && up)
		rc = market_each(m, "/np/v1/nodes?state=all&limit=200&account=" LOCAL_BUYER, look_for_failed, out);
	return rc;
}

size_t localmarket_silent(struct market_link *m)
{
	size_t silent = 0;

	return market_each(m, "/np/v1/nodes?state=live&limit=200&account=" LOCAL_BUYER, look_at_node, &silent) ? 0
													       : silent;
}
