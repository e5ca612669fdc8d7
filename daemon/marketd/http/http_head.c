/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libmicrohttpd before 1.0 lets pass in a request's head: a NUL, which ends a text for us and not for a proxy,
 * a bare LF, and folded lines. It leaves the head where it read it and ends each part with a NUL, so the parts of a
 * plain head lie side by side: CR and LF apart, or the space of the first line.
 */
#include <microhttpd.h>

#include <string.h>

#include "marketd/http/http_hooks.h"

#if MHD_VERSION < 0x01000000

enum { HEAD_EOL = 2 };

struct head_walk {
	const char *at; /* where the next part begins in a plain head */
	bool plain;
};

static enum MHD_Result head_field(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct head_walk *w = cls;

	(void)kind;
	w->plain = w->plain && name == w->at && value;
	if (!w->plain)
		return MHD_NO;
	w->at = value + strlen(value) + HEAD_EOL;
	return MHD_YES;
}

bool head_plain(const struct exchange *x, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *size = MHD_get_connection_info(x->conn->mhd,
		MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct head_walk w = { .at = version + strlen(version) + HEAD_EOL };

	w.plain = method + strlen(method) + 1 == x->target_at && x->target_at + strlen(x->target) + 1 == version;
	if (w.plain)
		MHD_get_connection_values(x->conn->mhd, MHD_HEADER_KIND, head_field, &w);
	return w.plain && size && method + size->header_size == w.at + HEAD_EOL;
}

#else

bool head_plain(const struct exchange *x, const char *method, const char *version)
{
	(void)x, (void)method, (void)version;
	return true;
}

#endif
