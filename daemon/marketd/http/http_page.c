/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page for people, beside the API and no part of it: GET / and the files that it names. It knows neither tokens nor
 * the market, and has no data: what it shows it asks of the API, as anybody could.
 */
#include <microhttpd.h>

#include <string.h>

#include "market/reason.h"
#include "marketd/http/http_own.h"
#include "marketd/web/web.h"

/* Rows for the metrics: one for all assets, whatever their names are. */
static const struct route webpage_route = { .method = METHOD_GET, .path = "/" };
static const struct route webpage_asset_route = { .method = METHOD_GET, .path = WEB_ASSETS "{file}" };

static const char *const webpage_header_list[][2] = {
	/* Nothing but the page's own files and this market's API; no frame, form, plugin or inline script. */
	{ "Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Permissions-Policy", "camera=(), geolocation=(), microphone=()" },
};

static const char *webpage_header(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->conn->mhd, MHD_HEADER_KIND, name);
}

bool webpage_answer(struct exchange *x)
{
	const struct web_file *f = x->http->set.no_pages ? NULL : web_find(x->q.path);
	struct reply *r = &x->r;

	if (!f || (!web_lasts(f) && !web_takes_page(webpage_header(x, "Accept"))))
		return false;
	r->route = web_lasts(f) ? &webpage_asset_route : &webpage_route;
	if (x->q.method != METHOD_GET) {
		r->allow = METHOD_GET;
		api_refuse(&x->q, r, REASON_METHOD, NULL, "%s does not take that method", x->q.path);
		return true;
	}
	x->file = f;
	x->packed = web_takes_gzip(webpage_header(x, "Accept-Encoding"));
	r->status = web_same(webpage_header(x, "If-None-Match"), f) ? 304 : 200;
	r->type = f->type;
	return true;
}

struct MHD_Response *webpage_response(const struct exchange *x)
{
	const struct web_file *f = x->file;
	const unsigned char *data = x->packed ? f->packed : f->plain;
	size_t len = x->packed ? f->packed_len : f->plain_len;

	if (x->r.status != 200)
		return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	return MHD_create_response_from_buffer(len, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);
}

void webpage_headers(const struct exchange *x, struct MHD_Response *response)
{
	const struct web_file *f = x->file;
	bool lasts = web_lasts(f);

	for (size_t i = 0; i < sizeof webpage_header_list / sizeof *webpage_header_list; i++)
		MHD_add_response_header(response, webpage_header_list[i][0], webpage_header_list[i][1]);
	MHD_add_response_header(response, "Cache-Control", lasts ? "public, max-age=31536000, immutable" : "no-cache");
	MHD_add_response_header(response, "Vary", lasts ? "Accept-Encoding" : "Accept, Accept-Encoding");
	MHD_add_response_header(response, "ETag", x->packed ? f->packed_etag : f->etag);
	if (x->packed && x->r.status == 200)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
}
