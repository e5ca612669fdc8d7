/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/gateway/gatewayfile_own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "conf/conf.h"
#include "marketd/gateway/reserved.h"

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
	static const char *const keys[] = { "address", "reservation", "port", "weight", NULL };
	bool map = from->type == CONF_MAP, follows = map && conf_get(from, "reservation");
	const struct conf *weight = map ? conf_get(from, "weight") : NULL,
			  *address = map ? conf_get(from, "address") : from;
	int rc = map ? conf_known(r->file, from, keys, r->f) : 0;

	b->weight = 1;
	if (rc == 0 && follows)
		rc = gateway_read_reservation(r, from, b->reservation, &b->port);
	if (rc == 0 && follows && address)
		rc = conf_fail(r->file, address, r->f, "give 'address' or 'reservation', not both");
	if (rc)
		return rc;
	if (!follows && (!address || address->type != CONF_TEXT || !gateway_address(address->text)))
		return conf_fail(r->file, from, r->f,
			"a backend is HOST:PORT, {address: HOST:PORT, weight: 2} or {reservation: NAME, port: 8000}");
	if (weight && (!weight->text || str_to_long(weight->text, 1, 100, &b->weight) != 0))
		return conf_fail(r->file, weight, r->f, "'weight' must be a whole number from 1 to 100");
	if (!follows)
		memcpy(b->address, address->text, strlen(address->text) + 1);
	return 0;
}

/* It may hold a key. */
void gateway_wipe(struct buf *text)
{
	if (text->data)
		explicit_bzero(text->data, text->len);
	buf_release(text);
}

int gateway_read_key(const struct gateway_reader *r, const struct conf *from, const char *name, char key[GATEWAY_TEXT])
{
	const struct conf *path = conf_get(from, name);
	struct buf text;
	size_t len;
	int rc;

	if (!path)
		return 0;
	if (path->type != CONF_TEXT)
		return conf_fail(r->file, path, r->f, "'%s' must be a file with a key", name);
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

static bool gateway_reservation(const char *text)
{
	return gateway_word(text, "._-");
}

int gateway_read_reservation(const struct gateway_reader *r, const struct conf *from, char name[GATEWAY_TEXT],
	long *port)
{
	const struct conf *value = conf_get(from, "port");
	int rc = gateway_text(r, from, "reservation", gateway_reservation, "the name of a reservation", false, name);

	if (rc == 0 && (!value || !value->text || str_to_long(value->text, 1, 65535, port) != 0))
		return conf_fail(r->file, value ? value : from, r->f,
			"a reservation needs the port of its nodes, e.g. {reservation: serve, port: 8000}");
	return rc;
}

int gateway_read_token(const struct gateway_reader *r, bool needed, char token[GATEWAY_TEXT])
{
	int rc = gateway_read_key(r, &r->file->root, "token-file", token);

	if (rc == 0 && needed && !*token)
		return conf_fail(r->file, &r->file->root, r->f,
			"backends of a reservation need 'token-file': a token of its account, e.g. of "
			"'nanopod token create gateway --scope read'");
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
	rc = rc ? rc : gateway_read_key(r, from, "key-file", to->key);
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
			if (*to->backends[i].address && strcmp(to->backends[k].address, to->backends[i].address) == 0)
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

static bool gateway_reload_valid(const char *text)
{
	return *text && strlen(text) < GATEWAY_TEXT && !text[strcspn(text, "\r\n")];
}

bool gateway_follows(const struct gateway *g)
{
	for (size_t i = 0; i < g->count; i++)
		for (size_t k = 0; k < g->routes[i].count; k++)
			if (*g->routes[i].backends[k].reservation)
				return true;
	return false;
}

static int gateway_read_seconds(const struct gateway_reader *r, const char *name, long *out)
{
	const struct conf *most = conf_get(&r->file->root, name);

	*out = 60;
	if (most && (!most->text || str_to_long(most->text, 1, 3600, out) != 0))
		return conf_fail(r->file, most, r->f, "'%s' must be whole seconds from 1 to 3600", name);
	return 0;
}

static int gateway_read_root(const struct gateway_reader *r, struct gateway *g)
{
	static const char *const keys[] = { "market", "market-ca", "token-file", "reload", "reload-timeout",
		"names-timeout", "listen", "tls-cert", "tls-key", "routes", NULL };
	const struct conf *root = &r->file->root, *routes = conf_get(root, "routes");
	int rc = conf_known(r->file, root, keys, r->f);

	rc = rc ? rc : gateway_read_market(r, g->market, &g->tls);
	rc = rc ? rc : gateway_text(r, root, "market-ca", gateway_file, "a file's whole path", true, g->market_ca);
	rc = rc ? rc
		: gateway_text(r, root, "reload", gateway_reload_valid, "a command of up to 255 bytes", true,
			  g->reload);
	rc = rc ? rc : gateway_read_seconds(r, "reload-timeout", &g->reload_s);
	rc = rc ? rc : gateway_read_seconds(r, "names-timeout", &g->names_s);
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
	return rc ? rc : gateway_read_token(r, gateway_follows(g), g->token);
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
		free(g->routes[i].servers);
	}
	free(g->routes);
	explicit_bzero(g->token, sizeof g->token);
	*g = (struct gateway){ 0 };
}

/* ---- What the backends are now ------------------------------------------------------------ */

static int gateway_add(struct gateway_route *to, const char *address, long weight)
{
	struct gateway_server *more;

	for (size_t i = 0; i < to->server_count; i++)
		if (strcmp(to->servers[i].address, address) == 0)
			return 0;
	if (to->server_count >= GATEWAY_BACKENDS)
		return 0;
	more = realloc(to->servers, (to->server_count + 1) * sizeof *more);
	if (!more)
		return -ENOMEM;
	to->servers = more;
	snprintf(more[to->server_count].address, sizeof more->address, "%s", address);
	more[to->server_count++].weight = weight;
	return 0;
}

static int gateway_add_nodes(struct gateway_route *to, const struct gateway_backend *b, const struct reserved *nodes)
{
	char address[GATEWAY_TEXT + 8];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < nodes->count; i++) {
		snprintf(address, sizeof address, "%s:%ld", nodes->hosts[i], b->port);
		rc = gateway_add(to, address, b->weight);
	}
	return rc;
}

static int gateway_compare(const void *a, const void *b)
{
	return strcmp(((const struct gateway_server *)a)->address, ((const struct gateway_server *)b)->address);
}

/* In the order of their addresses, as the market may list nodes in another one each time. */
int gateway_serve_from(struct gateway *g, const struct reserved *reserved, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < g->count; i++) {
		struct gateway_route *to = &g->routes[i];

		to->server_count = 0;
		for (size_t k = 0; rc == 0 && k < to->count; k++) {
			const struct gateway_backend *b = &to->backends[k];

			if (*b->address)
				rc = gateway_add(to, b->address, b->weight);
			for (size_t n = 0; rc == 0 && n < count; n++)
				if (*b->reservation && strcmp(reserved[n].name, b->reservation) == 0)
					rc = gateway_add_nodes(to, b, &reserved[n]);
		}
		if (to->server_count)
			qsort(to->servers, to->server_count, sizeof *to->servers, gateway_compare);
	}
	return rc;
}
