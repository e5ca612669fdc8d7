/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/proxy/proxyfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "conf/conf.h"

enum { TIMEOUT_DEFAULT = 600, TIMEOUT_MOST = 3600, SPOOL_SIZE_DEFAULT = 64, SPOOL_SIZE_MOST = 1 << 16 };

#define PROXY_MODEL_SIGNS "/._:@+-"

static bool proxyfile_name(const char *text)
{
	return gateway_word(text, PROXY_MODEL_SIGNS);
}

static bool proxyfile_path(const char *text)
{
	return *text == '/' && gateway_word(text, "/._-~");
}

/* Port 0: any that is free. */
static bool proxyfile_listen(const char *text)
{
	return strchr(text, ':') && gateway_word(text, ".-:[]");
}

/* Whose a budget is: "acme", "acct_…", "tok_…". */
static bool proxyfile_owner(const char *text)
{
	return *text && strlen(text) < GATEWAY_TEXT;
}

static int proxyfile_number(const struct gateway_reader *r, const struct conf *map, const char *name, long min,
	long max, long *out)
{
	const struct conf *value = conf_get(map, name);

	if (!value || (value->text && str_to_long(value->text, min, max, out) == 0))
		return 0;
	return conf_fail(r->file, value, r->f, "'%s' must be a whole number from %ld to %ld", name, min, max);
}

/* A list of this member, of up to max things; *items: as many of `size` bytes, all 0. */
static int proxyfile_list(const struct gateway_reader *r, const struct conf *map, const char *name, size_t max,
	size_t size, const struct conf **list, void **items)
{
	*list = conf_get(map, name);
	if (!*list || (*list)->type != CONF_LIST || (*list)->count == 0 || (*list)->count > max)
		return conf_fail(r->file, *list ? *list : map, r->f, "'%s' needs a list of 1 to %zu", name, max);
	*items = calloc((*list)->count, size);
	return *items ? 0 : fail_set(r->f, -ENOMEM, "out of memory");
}

static int proxyfile_read_backend(const struct gateway_reader *r, const struct conf *from, const char *model,
	struct proxyfile_backend *b)
{
	static const char *const keys[] = { "address", "reservation", "port", "weight", "priority", "model", "key-file",
		NULL };
	bool map = from->type == CONF_MAP;
	const struct conf *address = map ? conf_get(from, "address") : from;
	const char *text = address && address->type == CONF_TEXT ? address->text : "";
	bool tls = str_starts(text, "https://");
	const char *where = tls || str_starts(text, "http://") ? strstr(text, "://") + 3 : text;
	int rc = map ? conf_known(r->file, from, keys, r->f) : 0;

	b->weight = 1;
	snprintf(b->model, sizeof b->model, "%s", model);
	if (rc)
		return rc;
	if (map && conf_get(from, "reservation")) {
		rc = gateway_read_reservation(r, from, b->reservation, &b->port);
		if (rc == 0 && address)
			rc = conf_fail(r->file, address, r->f, "give 'address' or 'reservation', not both");
		if (rc)
			return rc;
	} else if (!gateway_address(where)) {
		return conf_fail(r->file, address ? address : from, r->f,
			"a backend is HOST:PORT, https://HOST:PORT, {address: HOST:PORT, weight: 2} or {reservation: "
			"NAME, port: 8000}");
	} else {
		snprintf(b->url, sizeof b->url, "%s://%s", tls ? "https" : "http", where);
	}
	if (!map)
		return 0;
	rc = proxyfile_number(r, from, "weight", 1, 100, &b->weight);
	rc = rc ? rc : proxyfile_number(r, from, "priority", 0, 100, &b->priority);
	rc = rc ? rc
		: gateway_text(r, from, "model", proxyfile_name, "the backend's name of the model", true, b->model);
	return rc ? rc : gateway_read_key(r, from, "key-file", b->key);
}

static int proxyfile_read_aliases(const struct gateway_reader *r, const struct conf *from, struct proxyfile_model *m)
{
	const struct conf *list = conf_get(from, "aliases");

	if (!list)
		return 0;
	if (list->type != CONF_LIST || list->count > PROXY_ALIASES)
		return conf_fail(r->file, list, r->f, "'aliases' needs a list of up to %d names", PROXY_ALIASES);
	for (size_t i = 0; i < list->count; i++) {
		const struct conf *alias = &list->items[i];

		if (alias->type != CONF_TEXT || !proxyfile_name(alias->text))
			return conf_fail(r->file, alias, r->f, "an alias has letters, digits and " PROXY_MODEL_SIGNS);
		memcpy(m->aliases[m->alias_count++], alias->text, strlen(alias->text) + 1);
	}
	return 0;
}

static int proxyfile_read_model(const struct gateway_reader *r, const struct conf *from, struct proxyfile_model *m)
{
	static const char *const keys[] = { "name", "aliases", "backends", "key-file", NULL };
	const struct conf *list = NULL;
	char key[GATEWAY_TEXT] = "";
	int rc = conf_expect(r->file, from, CONF_MAP, r->f);

	rc = rc ? rc : conf_known(r->file, from, keys, r->f);
	rc = rc ? rc
		: gateway_text(r, from, "name", proxyfile_name, "a name of letters, digits and " PROXY_MODEL_SIGNS,
			  false, m->name);
	rc = rc ? rc : proxyfile_read_aliases(r, from, m);
	rc = rc ? rc : gateway_read_key(r, from, "key-file", key);
	rc = rc ? rc
		: proxyfile_list(r, from, "backends", PROXY_MODEL_BACKENDS, sizeof *m->backends, &list,
			  (void **)&m->backends);
	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		memcpy(m->backends[i].key, key, sizeof key);
		rc = proxyfile_read_backend(r, &list->items[i], m->name, &m->backends[i]);
		m->count++;
	}
	explicit_bzero(key, sizeof key);
	return rc;
}

static int proxyfile_read_models(const struct gateway_reader *r, const struct conf *root, struct proxyfile *p)
{
	const struct conf *list = NULL;
	int rc = proxyfile_list(r, root, "models", PROXY_MODELS, sizeof *p->models, &list, (void **)&p->models);

	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		struct proxyfile_model *m = &p->models[i];

		p->model_count++;
		rc = proxyfile_read_model(r, &list->items[i], m);
		p->model_count--; /* it is not found yet, but its backends are released */
		for (size_t k = 0; rc == 0 && k <= m->alias_count; k++)
			if (proxyfile_model(p, k ? m->aliases[k - 1] : m->name))
				rc = conf_fail(r->file, &list->items[i], r->f, "two models have the name '%s'",
					k ? m->aliases[k - 1] : m->name);
		p->model_count++;
	}
	return rc;
}

static int proxyfile_read_budget(const struct gateway_reader *r, const struct conf *from, struct proxyfile_budget *b)
{
	static const char *const keys[] = { "account", "token", "day", "total", NULL };
	int rc = conf_expect(r->file, from, CONF_MAP, r->f);

	rc = rc ? rc : conf_known(r->file, from, keys, r->f);
	rc = rc ? rc : gateway_text(r, from, "account", proxyfile_owner, "an account's id or name", true, b->account);
	rc = rc ? rc : gateway_text(r, from, "token", proxyfile_owner, "a token's id", true, b->token);
	rc = rc ? rc : proxyfile_number(r, from, "day", 1, LONG_MAX, &b->day);
	rc = rc ? rc : proxyfile_number(r, from, "total", 1, LONG_MAX, &b->total);
	if (rc == 0 && *b->account && *b->token)
		return conf_fail(r->file, from, r->f, "give 'account' or 'token', not both");
	if (rc == 0 && !b->day && !b->total)
		return conf_fail(r->file, from, r->f, "a budget needs 'day' or 'total', e.g. {day: 1000000}");
	return rc;
}

static bool proxyfile_follows(const struct proxyfile *p)
{
	for (size_t i = 0; i < p->model_count; i++)
		for (size_t k = 0; k < p->models[i].count; k++)
			if (*p->models[i].backends[k].reservation)
				return true;
	return false;
}

static int proxyfile_read_root(const struct gateway_reader *r, struct proxyfile *p)
{
	static const char *const keys[] = { "market", "market-ca", "token-file", "listen", "tls-cert", "tls-key",
		"spool", "spool-size", "health", "timeout", "models", "budgets", NULL };
	const struct conf *root = &r->file->root, *list = NULL;
	char address[GATEWAY_TEXT];
	bool tls;
	int rc = conf_known(r->file, root, keys, r->f);

	rc = rc ? rc : gateway_read_market(r, address, &tls);
	if (rc == 0)
		snprintf(p->market, sizeof p->market, "%s://%s", tls ? "https" : "http", address);
	rc = rc ? rc : gateway_text(r, root, "market-ca", gateway_file, "a file's whole path", true, p->market_ca);
	rc = rc ? rc
		: gateway_text(r, root, "listen", proxyfile_listen, "ADDR:PORT, e.g. 127.0.0.1:8480", false, p->listen);
	rc = rc ? rc : gateway_text(r, root, "tls-cert", gateway_file, "a file's whole path", true, p->cert);
	rc = rc ? rc : gateway_text(r, root, "tls-key", gateway_file, "a file's whole path", true, p->cert_key);
	rc = rc ? rc
		: gateway_text(r, root, "spool", gateway_file, "the whole path of the file of usage", false, p->spool);
	rc = rc ? rc : proxyfile_number(r, root, "spool-size", 1, SPOOL_SIZE_MOST, &p->spool_size);
	rc = rc ? rc : gateway_text(r, root, "health", proxyfile_path, "a path, e.g. /health", true, p->health);
	rc = rc ? rc : proxyfile_number(r, root, "timeout", 1, TIMEOUT_MOST, &p->timeout);
	if (rc == 0 && !*p->cert != !*p->cert_key)
		return conf_fail(r->file, root, r->f, "give both 'tls-cert' and 'tls-key'");
	rc = rc ? rc : proxyfile_read_models(r, root, p);
	rc = rc ? rc : gateway_read_token(r, proxyfile_follows(p), p->token);
	if (rc || !conf_get(root, "budgets"))
		return rc;
	rc = proxyfile_list(r, root, "budgets", PROXY_BUDGETS, sizeof *p->budgets, &list, (void **)&p->budgets);
	for (size_t i = 0; rc == 0 && i < list->count; i++)
		rc = proxyfile_read_budget(r, &list->items[i], &p->budgets[p->budget_count++]);
	return rc;
}

int proxyfile_read(const char *path, struct proxyfile *out, struct fail *f)
{
	struct gateway_reader r = { .f = f };
	struct conf_file *file;
	int rc = conf_read(path, &file, f);

	if (rc)
		return rc;
	*out = (struct proxyfile){ .timeout = TIMEOUT_DEFAULT,
		.spool_size = SPOOL_SIZE_DEFAULT,
		.health = "/v1/models" };
	r.file = file;
	rc = proxyfile_read_root(&r, out);
	if (rc)
		proxyfile_release(out);
	conf_free(file);
	return rc;
}

void proxyfile_release(struct proxyfile *p)
{
	for (size_t i = 0; i < p->model_count; i++) {
		struct proxyfile_model *m = &p->models[i];

		if (m->backends)
			explicit_bzero(m->backends, m->count * sizeof *m->backends);
		free(m->backends);
	}
	free(p->models);
	free(p->budgets);
	explicit_bzero(p->token, sizeof p->token);
	*p = (struct proxyfile){ 0 };
}

const struct proxyfile_model *proxyfile_model(const struct proxyfile *p, const char *name)
{
	for (size_t i = 0; i < p->model_count; i++) {
		const struct proxyfile_model *m = &p->models[i];

		if (strcmp(m->name, name) == 0)
			return m;
		for (size_t k = 0; k < m->alias_count; k++)
			if (strcmp(m->aliases[k], name) == 0)
				return m;
	}
	return NULL;
}
