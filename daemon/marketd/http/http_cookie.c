/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cookie of the page's session: a token that a browser sends by itself, wherever a request for this market comes
 * from. So it counts only in requests of the market's own page.
 */
#include <microhttpd.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "marketd/api/authorize.h"
#include "marketd/http/http_own.h"

/* Kept by browsers for this host alone: no other host, path or script can set or read a cookie of that name. */
#define COOKIE_NAME "__Host-nanopod"
#define COOKIE_GUARDS "; Path=/; Secure; HttpOnly; SameSite=Strict"
#define COOKIE_PROOF "Nanopod-Page" /* no page of another origin may send it, as this market never allows that */

static const char *cookie_asked(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->conn->mhd, MHD_HEADER_KIND, name);
}

static bool cookie_origin_is(const char *origin, const char *host)
{
	const char *name = strstr(origin, "://");

	return name && host && strcasecmp(name + 3, host) == 0;
}

/* Browsers say where a request comes from, with a header that no script can set. */
static bool cookie_same_origin(const struct exchange *x)
{
	const char *site = cookie_asked(x, "Sec-Fetch-Site"), *origin = cookie_asked(x, "Origin");
	bool reads = x->q.method == METHOD_GET;

	if (!reads && !cookie_asked(x, COOKIE_PROOF))
		return false;
	if (site) /* none: typed by a person */
		return strcmp(site, "same-origin") == 0 || (reads && strcmp(site, "none") == 0);
	return !origin || cookie_origin_is(origin, cookie_asked(x, "Host"));
}

bool cookie_take(struct exchange *x)
{
	const char *header = cookie_asked(x, "Authorization"), *cookie = NULL;
	const struct market *m = x->http->api->market;

	x->q.page = !x->http->set.no_pages && cookie_asked(x, COOKIE_PROOF) && cookie_same_origin(x);
	x->q.origin = x->q.page ? cookie_asked(x, "Origin") : NULL;
	if (!header && !x->http->set.no_pages)
		cookie = MHD_lookup_connection_value(x->conn->mhd, MHD_COOKIE_KIND, COOKIE_NAME);
	if (!cookie) {
		auth_header(market_engine(m), header, market_now(m), &x->q);
		return true;
	}
	if (!cookie_same_origin(x))
		return false;
	auth_cookie(market_engine(m), cookie, market_now(m), &x->q);
	return true;
}

void cookie_header(const struct exchange *x, struct MHD_Response *response)
{
	const struct reply *r = &x->r;
	bool ends = r->session_life < 0;
	char text[256];

	snprintf(text, sizeof text, COOKIE_NAME "=%s; Max-Age=%" PRId64 COOKIE_GUARDS, ends ? "" : r->session,
		ends ? 0 : r->session_life);
	MHD_add_response_header(response, "Set-Cookie", text);
	explicit_bzero(text, sizeof text);
}
