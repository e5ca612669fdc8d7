/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a gateway does, in the words of each: it asks the market before every request, lets nothing through that the
 * market did not allow, and keeps the customer's token from the backends.
 */
#include <string.h>

#include "marketd/gateway/gatewayfile_own.h"

#define GATEWAY_HEAD \
	"# Written by nanopod-marketd gateway; what is changed here by hand is lost when it writes again.\n"

/* ---- nginx ------------------------------------------------------------------------------ */

/*
 * nginx takes no upstream without a server: of one that is down it answers 502. It must close an idle connection before
 * the backend does, five seconds in many: a POST on its way meanwhile would get 502.
 */
static int nginx_backends(const struct gateway_route *route, size_t number, struct buf *out)
{
	int rc = buf_addf(out, "upstream nanopod_%zu {\n\tleast_conn;\n%s", number,
		route->server_count ? "" : "\tserver 127.0.0.1:1 down;\n");

	for (size_t i = 0; rc == 0 && i < route->server_count; i++)
		rc = buf_addf(out, "\tserver %s weight=%ld max_fails=1 fail_timeout=5s;\n", route->servers[i].address,
			route->servers[i].weight);
	return rc ? rc : buf_adds(out, "\tkeepalive 32;\n\tkeepalive_timeout 4s;\n}\n");
}

static int nginx_market(const struct gateway *g, struct buf *out)
{
	int rc = buf_addf(out, "upstream nanopod_market {\n\tserver %s max_fails=0;\n\tkeepalive 32;\n}\n", g->market);
	const char *port = strrchr(g->market, ':');

	rc = rc ? rc
		: buf_addf(out, "server {\n\tlisten %s%s;\n", *g->listen ? g->listen : "8080", *g->cert ? " ssl" : "");
	if (rc == 0 && *g->cert)
		rc = buf_addf(out, "\tssl_certificate %s;\n\tssl_certificate_key %s;\n", g->cert, g->cert_key);
	rc = rc ? rc
		: buf_addf(out,
			  "\tlocation = /_nanopod_authz {\n\t\tinternal;\n\t\tproxy_pass "
			  "%s://nanopod_market/np/v1/authz;\n",
			  g->tls ? "https" : "http");
	if (rc == 0 && g->tls)
		rc = buf_addf(out,
			"\t\tproxy_ssl_server_name on;\n\t\tproxy_ssl_name %.*s;\n\t\tproxy_ssl_verify on;\n"
			"\t\tproxy_ssl_trusted_certificate %s;\n",
			(int)(port - g->market), g->market,
			*g->market_ca ? g->market_ca : "/etc/ssl/certs/ca-certificates.crt");
	return rc ? rc
		  : buf_adds(out,
			    "\t\tproxy_http_version 1.1;\n"
			    "\t\tproxy_pass_request_body off;\n"
			    "\t\tproxy_set_header Connection \"\";\n"
			    "\t\tproxy_set_header Content-Length \"\";\n"
			    "\t\tproxy_set_header Cookie \"\";\n"
			    "\t\tproxy_set_header X-Original-Method $request_method;\n"
			    "\t\tproxy_set_header X-Original-Host $host;\n"
			    "\t\tproxy_set_header X-Original-URI $request_uri;\n"
			    "\t\tproxy_set_header X-Forwarded-For $remote_addr;\n"
			    "\t\tproxy_connect_timeout 2s;\n"
			    "\t\tproxy_read_timeout 5s;\n"
			    "\t}\n");
}

static int nginx_route(const struct gateway_route *route, size_t number, struct buf *out)
{
	int rc = buf_addf(out,
		"\tlocation %s {\n"
		"\t\tauth_request /_nanopod_authz;\n"
		"\t\tauth_request_set $nanopod_status $upstream_status;\n"
		"\t\tauth_request_set $nanopod_retry $upstream_http_retry_after;\n"
		"\t\tauth_request_set $nanopod_account $upstream_http_x_nanopod_account;\n"
		"\t\tauth_request_set $nanopod_plan $upstream_http_x_nanopod_plan;\n"
		"\t\tauth_request_set $nanopod_rate $upstream_http_x_nanopod_rate;\n"
		"\t\terror_page 500 = @nanopod_refused;\n"
		"\t\tproxy_pass http://nanopod_%zu;\n"
		"\t\tproxy_http_version 1.1;\n"
		"\t\tproxy_buffering off;\n"
		"\t\tproxy_read_timeout 600s;\n"
		"\t\tproxy_next_upstream error timeout http_502 http_503;\n"
		"\t\tclient_max_body_size 64m;\n"
		"\t\tproxy_set_header Connection \"\";\n"
		"\t\tproxy_set_header Host $host;\n"
		"\t\tproxy_set_header X-Nanopod-Account $nanopod_account;\n"
		"\t\tproxy_set_header X-Nanopod-Plan $nanopod_plan;\n"
		"\t\tproxy_set_header X-Nanopod-Rate $nanopod_rate;\n",
		route->path, number);

	return rc ? rc
		  : buf_addf(out, "\t\tproxy_set_header Authorization \"%s%s\";\n\t}\n", *route->key ? "Bearer " : "",
			    route->key);
}

int gateway_nginx(const struct gateway *g, struct buf *out)
{
	int rc = buf_adds(out, GATEWAY_HEAD "# A part of nginx's http { }: e.g. /etc/nginx/conf.d/nanopod.conf.\n");

	for (size_t i = 0; rc == 0 && i < g->count; i++)
		rc = nginx_backends(&g->routes[i], i + 1, out);
	rc = rc ? rc : nginx_market(g, out);
	for (size_t i = 0; rc == 0 && i < g->count; i++)
		rc = nginx_route(&g->routes[i], i + 1, out);
	/* auth_request knows 401 and 403; all else becomes 500, and comes here. */
	return rc ? rc
		  : buf_adds(out,
			    "\tlocation @nanopod_refused {\n"
			    "\t\tinternal;\n"
			    "\t\tadd_header Retry-After $nanopod_retry always;\n"
			    "\t\tif ($nanopod_status = 402) {\n\t\t\treturn 402;\n\t\t}\n"
			    "\t\tif ($nanopod_status = 429) {\n\t\t\treturn 429;\n\t\t}\n"
			    "\t\treturn 503;\n"
			    "\t}\n"
			    "}\n");
}

/* ---- APISIX ----------------------------------------------------------------------------- */

/*
 * The market's answer has no Authorization, so APISIX removes the customer's from what the backend gets. The backend's
 * key must come after that: proxy-rewrite would set it before the market is asked, who then knows nobody.
 */
static int apisix_route(const struct gateway *g, const struct gateway_route *route, size_t number, struct buf *out)
{
	int rc = buf_addf(out,
		"  - id: nanopod-%zu\n"
		"    uri: \"%s*\"\n"
		"    plugins:\n"
		"      forward-auth:\n"
		"        uri: \"%s://%s/np/v1/authz\"\n"
		"        request_method: GET\n"
		"        request_headers: [Authorization]\n"
		"        upstream_headers: [X-Nanopod-Account, X-Nanopod-Plan, X-Nanopod-Rate, Authorization]\n"
		"        client_headers: [Retry-After, WWW-Authenticate]\n"
		"        timeout: 5000\n"
		"        allow_degradation: false\n"
		"        status_on_error: 503\n",
		number, route->path, g->tls ? "https" : "http", g->market);

	if (rc == 0 && *route->key)
		rc = buf_addf(out,
			"      serverless-post-function:\n"
			"        phase: access\n"
			"        functions:\n"
			"          - return function(conf, ctx) require(\"apisix.core\").request.set_header(ctx, "
			"\"Authorization\", \"Bearer %s\") end\n",
			route->key);
	rc = rc ? rc
		: buf_addf(out, "    upstream:\n      type: least_conn\n      retries: 1\n      nodes:%s\n",
			  route->server_count ? "" : " {}");
	for (size_t i = 0; rc == 0 && i < route->server_count; i++)
		rc = buf_addf(out, "        \"%s\": %ld\n", route->servers[i].address, route->servers[i].weight);
	return rc;
}

/* APISIX ignores a file that does not end so: it may be half of one. */
int gateway_apisix(const struct gateway *g, struct buf *out)
{
	int rc = buf_adds(out, GATEWAY_HEAD "routes:\n");

	for (size_t i = 0; rc == 0 && i < g->count; i++)
		rc = apisix_route(g, &g->routes[i], i + 1, out);
	return rc ? rc : buf_adds(out, "#END\n");
}
