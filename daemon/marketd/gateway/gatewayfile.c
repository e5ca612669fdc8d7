/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/gateway/gatewayfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "conf/conf.h"
#include "marketd/gateway/gatewayfile_own.h"

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

bool gateway_word(const char *text, const char *more)
{
	size_t len = strlen(text), n = 0;

	while (n < len && (strspn(text + n, WORD) || strchr(more, text[n])))
		n++;
	return len > 0 && n == len && len < GATEWAY_TEXT;
}

bool gateway_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	long port;

	return colon && colon > text && gateway_word(text, ".-:[]") && str_to_long(colon + 1, 1, 65535, &port) == 0 &&
		(*text == '[' ? colon[-1] == ']' : !memchr(text, ':', (size_t)(colon - text)));
}

bool gateway_listen(const char *text)
{
	long port;

	return str_to_long(text, 1, 65535, &port) == 0 || gateway_address(text);
}

bool gateway_file(const char *text)
{
	return *text == '/' && gateway_word(text, "/._-");
}

static bool gateway_path(const char *text)
{
	return *text == '/' && text[strlen(text) - 1] == '/' && gateway_word(text, "/._-~");
}

int gateway_text(const struct gateway_reader *r, const struct conf *map, const char *name, bool (*good)(const char *),
	const char *form, bool may_lack, char out[GATEWAY_TEXT])
{
	const struct conf *value = conf_get(map, name);

	if (!value && may_lack)
		return 0;
	if (!value || value->type != CONF_TEXT || !good(value->text))
		return conf_fail(r->file, value ? value : map, r->f, "'%s' must be %s", name, form);
	memcpy(out, value->text, strlen(value->text) + 1);
	return 0;
}

static int gateway_read_backend(const struct gateway_reader *r, const struct conf *from, struct gateway_backend *b)
{
	static const char *const keys[] = { "address", "weight", NULL };
	const struct conf *weight = from->type == CONF_MAP ? conf_get(from, "weight") : NULL,
			  *address = from->type == CONF_MAP ? conf_get(from, "address") : from;
	int rc = from->type == CONF_MAP ? conf_known(r->file, from, keys, r->f) : 0;

	b->weight = 1;
	if (rc)
		return rc;
	if (!address || address->type != CONF_TEXT || !gateway_address(address->text))
		return conf_fail(r->file, from, r->f,
			"a backend is HOST:PORT or {address: HOST:PORT, weight: 2}, e.g. 10.0.0.2:8000");
	if (weight && (!weight->text || str_to_long(weight->text, 1, 100, &b->weight) != 0))
		return conf_fail(r->file, weight, r->f, "'weight' must be a whole number from 1 to 100");
	memcpy(b->address, address->text, strlen(address->text) + 1);
	return 0;
}

/* It may hold a key. */
static void gateway_wipe(struct buf *text)
{
	if (text->data)
		explicit_bzero(text->data, text->len);
	buf_release(text);
}

int gateway_read_key(const struct gateway_reader *r, const struct conf *from, char key[GATEWAY_TEXT])
{
	const struct conf *path = conf_get(from, "key-file");
	struct buf text;
	size_t len;
	int rc;

	if (!path)
		return 0;
	if (path->type != CONF_TEXT)
		return conf_fail(r->file, path, r->f, "'key-file' must be the file with the key of the backends");
	buf_init(&text, GATEWAY_TEXT);
	rc = buf_read_file(&text, path->text);
	len = rc == 0 ? strcspn(buf_text(&text), "\r\n") : 0;
	if (rc) {
		rc = fail_errno(r->f, rc, -rc, "cannot read '%s'", path->text);
	} else {
		memcpy(key, buf_text(&text), len);
		key[len] = '\0';
		if (!gateway_word(key, "._~+/=-"))
			rc = conf_fail(r->file, path, r->f, "'%s' needs a key of one word: letters, digits and ._~+/=-",
				path->text);
	}
	gateway_wipe(&text);
	return rc;
}

static int gateway_read_route(const struct gateway_reader *r, const struct conf *from, struct gateway_route *to)
{
	static const char *const keys[] = { "path", "backends", "key-file", NULL };
	const struct conf *list;
	int rc = conf_expect(r->file, from, CONF_MAP, r->f);

	rc = rc ? rc : conf_known(r->file, from, keys, r->f);
	rc = rc ? rc
		: gateway_text(r, from, "path", gateway_path, "a path that begins and ends with '/', e.g. /v1/", false,
			  to->path);
	rc = rc ? rc : gateway_read_key(r, from, to->key);
	if (rc)
		return rc;
	list = conf_get(from, "backends");
	if (!list || list->type != CONF_LIST || list->count == 0 || list->count > GATEWAY_BACKENDS)
		return conf_fail(r->file, list ? list : from, r->f,
			"'backends' needs a list of up to %d, e.g. [10.0.0.2:8000]", GATEWAY_BACKENDS);
	to->backends = calloc(list->count, sizeof *to->backends);
	if (!to->backends)
		return fail_set(r->f, -ENOMEM, "out of memory");
	to->count = list->count;
	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		rc = gateway_read_backend(r, &list->items[i], &to->backends[i]);
		for (size_t k = 0; rc == 0 && k < i; k++)
			if (strcmp(to->backends[k].address, to->backends[i].address) == 0)
				rc = conf_fail(r->file, &list->items[i], r->f, "two backends have the address '%s'",
					to->backends[i].address);
	}
	return rc;
}

int gateway_read_market(const struct gateway_reader *r, char out[GATEWAY_TEXT], bool *tls)
{
	const struct conf *url = conf_get(&r->file->root, "market");
	const char *text = url && url->text ? url->text : "", *at = strstr(text, "://");

	*tls = str_starts(text, "https://");
	if (!at || (!*tls && !str_starts(text, "http://")) || !gateway_address(at + 3))
		return conf_fail(r->file, url ? url : &r->file->root, r->f,
			"'market' must be where the market listens, e.g. http://127.0.0.1:8470");
	memcpy(out, at + 3, strlen(at + 3) + 1);
	return 0;
}

static int gateway_read_root(const struct gateway_reader *r, struct gateway *g)
{
	static const char *const keys[] = { "market", "listen", "tls-cert", "tls-key", "routes", NULL };
	const struct conf *root = &r->file->root, *routes = conf_get(root, "routes");
	int rc = conf_known(r->file, root, keys, r->f);

	rc = rc ? rc : gateway_read_market(r, g->market, &g->tls);
	rc = rc ? rc
		: gateway_text(r, root, "listen", gateway_listen, "a port or ADDR:PORT, e.g. 127.0.0.1:8080", true,
			  g->listen);
	rc = rc ? rc : gateway_text(r, root, "tls-cert", gateway_file, "a file's whole path", true, g->cert);
	rc = rc ? rc : gateway_text(r, root, "tls-key", gateway_file, "a file's whole path", true, g->cert_key);
	if (rc == 0 && !*g->cert != !*g->cert_key)
		return conf_fail(r->file, root, r->f, "give both 'tls-cert' and 'tls-key'");
	if (rc == 0 && (!routes || routes->type != CONF_LIST || routes->count == 0 || routes->count > GATEWAY_ROUTES))
		return conf_fail(r->file, routes ? routes : root, r->f,
			"'routes' needs a list of up to %d, e.g. 'routes: [{path: /v1/, backends: [10.0.0.2:8000]}]'",
			GATEWAY_ROUTES);
	if (rc)
		return rc;
	g->routes = calloc(routes->count, sizeof *g->routes);
	if (!g->routes)
		return fail_set(r->f, -ENOMEM, "out of memory");
	g->count = routes->count;
	for (size_t i = 0; rc == 0 && i < routes->count; i++) {
		rc = gateway_read_route(r, &routes->items[i], &g->routes[i]);
		for (size_t k = 0; rc == 0 && k < i; k++)
			if (strcmp(g->routes[k].path, g->routes[i].path) == 0)
				rc = conf_fail(r->file, &routes->items[i], r->f, "two routes have the path '%s'",
					g->routes[i].path);
	}
	return rc;
}

int gateway_read(const char *path, struct gateway *out, struct fail *f)
{
	struct gateway_reader r = { .f = f };
	struct conf_file *file;
	int rc = conf_read(path, &file, f);

	if (rc)
		return rc;
	*out = (struct gateway){ 0 };
	r.file = file;
	rc = gateway_read_root(&r, out);
	if (rc)
		gateway_release(out);
	conf_free(file);
	return rc;
}

void gateway_release(struct gateway *g)
{
	for (size_t i = 0; i < g->count; i++) {
		explicit_bzero(g->routes[i].key, sizeof g->routes[i].key);
		free(g->routes[i].backends);
	}
	free(g->routes);
	*g = (struct gateway){ 0 };
}

/* Only root and the file's owner read keys of backends. */
static mode_t gateway_mode(const struct gateway *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (*g->routes[i].key)
			return 0600;
	return 0644;
}

static int gateway_put(const struct gateway_job *job, const struct gateway *g, const struct buf *text, struct fail *f)
{
	int rc = 0;

	if (!job->to)
		return fwrite(buf_text(text), 1, text->len, job->out) == text->len && fflush(job->out) == 0
			? 0
			: fail_errno(f, -EIO, errno, "cannot print the file");
	rc = file_replace(job->to, buf_text(text), text->len, gateway_mode(g));
	rc = rc ? rc : file_sync_folder(job->to);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", job->to) : 0;
}

int gateway_run(const struct gateway_job *job)
{
	struct gateway g;
	struct fail f = { 0 };
	struct buf text;
	int rc = gateway_read(job->path, &g, &f);

	if (rc == 0) {
		buf_init(&text, GATEWAY_BYTES);
		rc = strcmp(job->kind, "nginx") == 0 ? gateway_nginx(&g, &text) : gateway_apisix(&g, &text);
		rc = rc ? fail_set(&f, rc, "out of memory") : gateway_put(job, &g, &text, &f);
		gateway_wipe(&text);
		gateway_release(&g);
	}
	if (rc)
		fprintf(job->err, "nanopod-marketd: %s\n", f.text);
	return rc != 0;
}
